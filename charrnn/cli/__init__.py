"""The command line: options, terminal output, signals and exit statuses.

``app`` reads the command line and runs a command. A small command is one file; train, eval, sample
and sweep are folders, with ``options.py`` and ``run.py``. Options are parsed without numpy, which
is imported with the work. ``terminal`` draws tables, curves, colours and progress bars.
"""
