"""From the names of files to numbers: what a network reads.

Read `vocabulary` first, then `reading` (files to texts), `tables` (columns and separators), `tidy`
(clean lines), `examples` (texts cut) and `corpus` (examples in numbers). `counts` has the n-grams
of a text.

This folder imports `system` and `settings`.
"""
