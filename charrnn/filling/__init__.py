"""Characters that are missing in the middle of a text, where what comes after counts too."""
