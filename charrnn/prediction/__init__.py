"""What a network and counts say about texts.

Read `predictor` first: both as one distribution of the next character. `scoring` reads texts with
it, and `losses` has the sums. `sampling` draws texts, and `filling` fills gaps. `embed`, `reach`
and `unfold` look into the network.

This folder imports `network`, `text` and what they import.
"""
