"""Truncated back-propagation through time over a corpus, as a generator of small events.

Read `loop` first, then `state` and `optimizer`, `batches` (windows, and the texts of check-ups),
`noise` and `processes`. `automatic_settings` fits sizes to a corpus; `plan` says what a run costs.

This folder imports `prediction` and what that imports.
"""
