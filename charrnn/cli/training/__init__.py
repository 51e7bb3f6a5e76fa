"""What ``charrnn train`` shows and does around the learning itself."""
