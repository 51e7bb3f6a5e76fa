"""Every fault of a list that is numbered, tried from outside: as a user would meet it."""
