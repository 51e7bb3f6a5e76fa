"""Files of models and of their runs, whole at every moment.

Read `model_contents` first, then `model_file`. `model_corpus` reads texts as the corpus of a model
was read, and that corpus again. `safe_writing` locks files and replaces them whole, and
`saves_and_metrics` says when a run is saved and adds a line of metrics for each event.

This folder imports `training` and what that imports.
"""
