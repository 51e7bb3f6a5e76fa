"""The train command: its options, its plan, the run and the summary."""
