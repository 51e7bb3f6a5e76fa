"""Every setting, once: its type, its range or choices, the words of its help, its default.

A configuration checks itself by its fields, and the command line makes its options of the same
fields. So a setting is added here and where it is used, and nowhere else.
"""
