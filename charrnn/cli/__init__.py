"""The command line: a file for each command.

Read `app` first (Typer and the commands), then `typer_options` (what Typer makes of settings),
`shared_options` and `console`, which all commands have. `train_screen` shows a training, and
`eval_screen` what `eval` finds.

This folder imports all others.
"""
