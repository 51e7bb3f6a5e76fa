"""Counts: what followed what, in the text that was learned from; smoothed, it is a model too."""
