"""N-gram counts of a text: Markov baselines, and a smoothed model to use beside a network."""
