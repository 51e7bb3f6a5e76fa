"""The tests: a file for each room, and shout.py, a command to try the terminal with."""
