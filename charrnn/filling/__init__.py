"""Filling in missing characters, with the text before and after them taken into account."""
