"""New text, drawn one conditional after the other until the end is drawn."""
