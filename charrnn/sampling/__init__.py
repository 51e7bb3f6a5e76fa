"""New text, drawn one symbol after the other until END."""
