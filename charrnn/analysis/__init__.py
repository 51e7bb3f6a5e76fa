"""What a trained network has made of its texts: a vector for each, and how far gradients reach."""
