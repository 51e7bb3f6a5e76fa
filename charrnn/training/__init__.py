"""Truncated back-propagation through time over a corpus, told as a sequence of small events."""
