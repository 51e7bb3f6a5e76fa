"""Export of a model to a file for people who do not have charrnn.

Read `write` first. Each other module makes one kind of file, and `assets` has their pages and code.

This folder imports `files` and what that imports.
"""
