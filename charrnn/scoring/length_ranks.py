"""The rank of an END where the length comes first: how many lengths are likelier than this."""

from __future__ import annotations

from typing import Final

import numpy as np

from charrnn.network.inputs import Counts
from charrnn.network.parameters import Integers, Parameters
from charrnn.scoring.pieces import Ranks
from charrnn.vocabulary import END, Ids

LOOKED_AT: Final = 1 << 16  # lengths, to find out which are likelier than another
FEWEST: Final = 1 << 8  # of them


def rank_ends(p: Parameters, ids: Ids, before: Counts, ranks: Ranks) -> None:
    """Set the ranks of the ENDs among these symbols, by the parameters that the nats are of.

    ``before`` is how many characters of its example come before each symbol, (S,).
    """
    ends = ids == END
    if ends.any():
        ranks[ends] = 1 + likelier_lengths(p, before[ends])


def likelier_lengths(p: Parameters, tau: Integers) -> Integers:
    """How many lengths are likelier than each of these, (n,), as far as anybody would look."""
    lengths = p.architecture.head.lengths
    assert lengths is not None
    nats = lengths.nats(p, tau)
    many, least = FEWEST, -nats.max()  # of log P
    while many < LOOKED_AT and lengths.log_at_least(p, np.array([float(many)])) >= least:
        many *= 4  # one of all that are as long or longer may be likelier, until together none is
    every = np.sort(lengths.nats(p, np.arange(many)))
    return every.searchsorted(nats)
