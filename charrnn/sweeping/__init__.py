"""Many runs on one corpus: every combination of some settings, from a few seeds each, compared."""
