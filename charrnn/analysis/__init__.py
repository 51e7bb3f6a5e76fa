"""What a network has made of its texts, how far gradients reach, how like them its own texts are."""
