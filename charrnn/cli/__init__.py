"""The command line: a file for each command; app, options, console, progress and scores for them."""
