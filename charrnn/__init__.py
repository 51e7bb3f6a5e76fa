"""A character-level text generator: the recurrent network of *Deep Learning*, chapter 10.2."""

__version__ = "0.1.0"
