"""Files of models and of their runs, whole at every moment.

Read `model_contents` first, then `model_file`. `texts` reads texts as a model's corpus was read;
`metrics` and `json_lines` write a line an event.

This folder imports `training` and what that imports.
"""
