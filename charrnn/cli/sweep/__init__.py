"""The sweep command: its options, the runs and their table."""
