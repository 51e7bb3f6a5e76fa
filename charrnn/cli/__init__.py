"""The command line: a folder or a file for each command, on top of shared ones.

``app`` has the commands, ``options`` what is typed, ``console`` what is written, ``errors`` and
``signals`` how a run ends, ``terminal/`` the tables and curves. A command is imported only when it
runs, and its options without numpy, so that help appears at once.
"""
