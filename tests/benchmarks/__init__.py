"""Measurements of speed and quality: ``python -m tests.benchmarks``. No figure is judged."""
