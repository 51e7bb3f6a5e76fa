"""What a network and counts say about texts.

Read `predictor` first: both as one distribution of the next character, and texts read with it.
`scoring` has their surprisal, and `losses` the sums. `sampling` draws texts, `sample_conditions`
chooses among them, and `filling` fills gaps. `embed`, `reach` and `unfold` look into the network.

This folder imports `network`, `text` and what they import.
"""
