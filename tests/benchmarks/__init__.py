"""How fast and how good: ``python -m tests.benchmarks`` measures, prints, and judges nothing."""
