"""What ``charrnn sample`` shows and does around the drawing itself."""
