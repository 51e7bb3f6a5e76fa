"""Analyses of a trained network: text vectors, the reach of gradients, and drawn texts."""
