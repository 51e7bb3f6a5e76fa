"""What a network has made of its texts, how far gradients reach, and how like them it writes."""
