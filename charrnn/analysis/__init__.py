"""Analyses of a trained network: text vectors, the reach of its gradients, and what it draws."""
