"""Files to examples, a part of them held out, all in numbers: what a network learns from."""
