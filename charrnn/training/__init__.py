"""Truncated back-propagation through time over a corpus, as a generator of small events."""
