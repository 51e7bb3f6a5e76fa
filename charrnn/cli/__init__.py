"""The command line: a file for each command, and app, options, console and progress for all."""
