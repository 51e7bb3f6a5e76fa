"""Draw on the terminal: tables, curves, colours and progress bars."""
