"""Small texts, on which a network trains in no time."""

WORDS = [
    *("anna", "bob", "clara", "dora", "emil", "fritz", "gustav", "hanna"),
    *("ida", "jo", "karl", "lena", "mia", "nora", "otto", "paula"),
]
NAMES = "\n".join(WORDS * 4) + "\n"
