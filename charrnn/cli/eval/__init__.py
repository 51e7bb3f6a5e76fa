"""The eval command: its options, the scoring run and its output."""
