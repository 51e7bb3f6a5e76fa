"""Settings, each declared once: its type, range or choices, help and default."""
