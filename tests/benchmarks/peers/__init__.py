"""The same training step in other people's libraries, to be run by a Python that has them."""
