"""What ``charrnn eval`` shows and does around the scoring itself."""
