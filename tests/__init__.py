"""The tests, as a package: ``python -m tests.make_pages``."""
