"""All that can be set, declared once: its range, its default, its help and its option.

Read `values` first: what a setting may be, and how it is checked. `corpus`, `training` and
`drawing` declare the settings of each part.

This folder imports `errors` and `system`.
"""
