"""The command line: a file for each command.

Read `app` first (Typer and the commands), then `options` and `console`, which all commands have.
`progress` shows a training, and `scores` what `eval` finds.

This folder imports all others.
"""
