"""Texts to learn from that are so small that a network has read them in no time."""

WORDS = [
    *("anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna"),
    *("ida", "jo", "karl", "lena", "mia", "nora", "otto", "paula"),
]
NAMES = "\n".join(WORDS * 4) + "\n"
