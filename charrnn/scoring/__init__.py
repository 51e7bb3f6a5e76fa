"""How surprised a model is by a text, and what that is to be compared with."""
