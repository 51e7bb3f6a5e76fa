"""The command line: a file for each command.

Read `app` first (Typer and the commands), then `options` and `console`, which all commands have.
`train_screen` shows a training, and `eval_screen` what `eval` finds.

This folder imports all others.
"""
