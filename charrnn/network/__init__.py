"""The network of chapter 10.2: numpy and nothing else, arrays in, arrays out."""
