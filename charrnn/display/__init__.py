"""Output outside of a terminal: figures, notebook cells and the progress bar of Python."""
