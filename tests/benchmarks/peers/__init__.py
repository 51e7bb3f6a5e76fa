"""The same training step in PyTorch and JAX, run by a Python that has them."""
