"""What a person looks at outside of a terminal: figures, cells of a notebook, its progress bar."""
