"""Settings, each declared once: its type, range or choices, help and default.

A configuration checks itself by its fields, and the command line makes its options of them.
"""
