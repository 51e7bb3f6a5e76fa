"""What lies around the program.

`signals` is first: Ctrl-C and its kin. Then come `children` (processes that serve this one),
`cores` (processors and memory), `visible` (text made safe to show) and `packaged` (the corpora and
models that are included).

This folder imports nothing but `errors`.
"""
