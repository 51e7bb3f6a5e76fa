"""Files to numbered examples: opening, decoding, cutting, holding some out, and checks."""
