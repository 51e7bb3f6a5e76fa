"""Several that say what comes next, as one that does: networks, counts, both."""
