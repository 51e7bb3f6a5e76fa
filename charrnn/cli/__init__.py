"""The command line: a file for each command; app, options and console for all of them."""
