"""The sample command: its options, the drawing and its output."""
