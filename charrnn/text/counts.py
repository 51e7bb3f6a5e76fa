"""N-grams of a text: the baselines that a network should beat, and a model to mix with it.

Interpolated modified Kneser-Ney smoothing:

    P(w | h) = (c(hw) - D(c) + freed(h) P(w | h')) / c(h)

h' is the context h without its first symbol; below the single symbols lies 1 / K. c counts
occurrences in the highest order, and in the others how many symbols come before the n-gram. Each
n-gram loses D(c), for c = 1, 2 and more; freed(h) is their sum over the n-grams of a context.

The n-grams are a trie. Node 0 is the empty context, 1 to K are the symbols, then come the pairs
that occur, the triples and so on. The nodes of an order are sorted by ``key = parent K + symbol``,
so the children of a node are neighbours, and a search finds one. An n-gram may begin with END, and
ends at the next END. Where texts have labels, that of its text takes the place of its first END:

    ids   a  n  n  a  R1   e  v  e  R2      as a labelled text is kept, K = R0
    x    R1  a  n  n  a   R2  e  v  e       as it is read
    y     a  n  n  a  END  e  v  e  END     as it is predicted

A label is the child of the empty context, and nothing predicts it: its share is 0.
"""

from functools import cached_property
from math import log
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from charrnn.text.examples import excerpt_of
from charrnn.text.vocabulary import END, UNKNOWN, Ids, Vocabulary

Floats = NDArray[np.float64]
Nodes = NDArray[np.int64]
Columns = NDArray[np.unsignedinteger[Any]]

NONE: Final = -1
HIGHEST, ALONE = 9, 7  # orders beside a network, and alone or where windows take several words
READY: Final = 1 << 22  # probabilities in the rows made beforehand, at most
WORD: Final = 64  # bits
KNOWLEDGE: Final = 3  # numbers that say how well a context is known, each about 1 at most
LOG_OF_MANY: Final = 5.0  # of about 150 occurrences

COUNTED, SCORED = 10_000_000, 1 << 17  # symbols that are counted, or predicted, at most
JUDGED: Final = 1 << 17, 1 << 14  # symbols counted and predicted to estimate the loss of a text


class Ngrams:
    """The smoothed n-grams of a text, which may be labelled."""

    def __init__(self, ids: Ids, symbols: int, highest: int | None = None, labels: int = 0) -> None:
        """Count the n-grams of a text with K symbols and L labels."""
        self.size, self.predicted, self.symbols = len(ids), symbols, symbols + labels
        self.highest = highest or max(ALONE, min(HIGHEST, WORD // self.symbols.bit_length()))
        varieties = self._count(*read_and_predicted(ids, symbols))
        levels = [self._level(order, counts) for order, counts in enumerate(varieties, 1)]
        self.share = np.concatenate([np.zeros(1), *(share for share, _ in levels)])
        self.backoff = np.concatenate([backoff for _, backoff in levels])
        # The children of context i are the nodes first[i] to first[i + 1] - 1.
        children = np.bincount(self.keys // self.symbols, minlength=len(self.backoff))
        self.first = np.append(1, 1 + np.cumsum(children, dtype=np.int32)).astype(np.int32)
        # The last symbol of each node from 1 on.
        self.last = (self.keys % self.symbols).astype(np.min_scalar_type(self.symbols))
        # The longest context that has a row: see rows.
        stops = [stop for stop in self.starts[1:-1] if stop * self.symbols <= READY]
        self.ready = max(0, len(stops) - 1)

    def _count(self, x: Ids, ids: Ids) -> list[NDArray[np.uint32]]:
        """Make the trie; return the counts that each order uses."""
        symbols, columns = self.symbols, windows(x, ids, self.symbols, self.highest)
        starts = [0, 1, 1 + symbols]  # the first node of each order; the last is the end
        keys = [np.arange(symbols)]
        occurrences = [np.bincount(ids, minlength=symbols).astype(np.uint32)]
        occurrences[0][self.predicted :] = np.bincount(x, minlength=symbols)[self.predicted :]
        suffix = [np.zeros(1, np.int32), np.zeros(symbols, np.int32)]
        varieties = []
        node = columns[0].astype(np.int32)  # of the n-gram at the beginning of each window
        # whether the beginning of a window differs from that of the window before
        differs = np.append(True, columns[0, 1:] != columns[0, :-1])[: len(ids)]
        for column in columns[1:]:
            differs[1:] |= column[1:] != column[:-1]
            is_ngram = column > 0
            is_new = is_ngram & differs
            new = np.flatnonzero(is_new)  # the windows in which the n-grams are new
            parent, last = node[new].astype(np.int64), column[new].astype(np.int64) - 1
            keys.append(parent * symbols + last)
            occurrences.append(np.add.reduceat(is_ngram, new, dtype=np.uint32))
            shorter_parent = suffix[-1][parent - starts[-2]].astype(np.int64)
            shorter = find(keys[-2], shorter_parent * symbols + last, starts[-2])
            predecessors = np.bincount(shorter - starts[-2], minlength=len(keys[-2]))
            variety = np.where(predecessors > 0, predecessors, occurrences[-2])
            varieties.append(variety.astype(np.uint32))
            suffix.append(shorter.astype(np.int32))
            node = np.cumsum(is_new, dtype=np.int32) + np.int32(starts[-1] - 1)
            starts.append(starts[-1] + len(new))
        self.starts = starts
        self.keys: Nodes = np.concatenate(keys)  # of the nodes from 1 on
        self.occurrences = np.concatenate(occurrences)  # of the same
        self.suffix = np.concatenate(suffix[: self.highest])  # h' of each context h
        return [*varieties, occurrences[-1]]

    def _level(self, order: int, counts: NDArray[np.uint32]) -> tuple[Floats, Floats]:
        """Return (c - D) / c(h) of each n-gram of an order, and freed(h) / c(h) of each context."""
        if order == 1:  # labels are read alone
            counts = np.where(np.arange(self.symbols) < self.predicted, counts, 0)
        parents = self.keys[self._nodes(order)] // self.symbols - self.starts[order - 1]
        contexts = self.starts[order] - self.starts[order - 1]
        lost = discounts(counts)[np.minimum(counts, 3)]
        total = np.bincount(parents, counts, contexts)
        freed = np.bincount(parents, lost, contexts)
        backoff: Floats = np.ones(contexts)  # 1: nothing follows
        np.divide(freed, total, out=backoff, where=total > 0)
        share = counts - lost
        np.divide(share, total[parents], out=share, where=counts > 0)
        return share, backoff

    def _nodes(self, order: int) -> slice:
        """Return the nodes of an order as indices of keys and occurrences."""
        return slice(self.starts[order] - 1, self.starts[order + 1] - 1)

    @cached_property
    def rows(self) -> Floats:
        """P(. | h) of all contexts of up to ``ready`` symbols, a row each."""
        rows: Floats = np.empty((self.starts[self.ready + 1], self.symbols))
        rows[0] = np.where(np.arange(self.symbols) < self.predicted, 1 / self.predicted, 0)
        for length in range(self.ready + 1):
            start, stop = self.starts[length], self.starts[length + 1]
            longer = rows[start:stop]
            np.take(rows, self.suffix[start:stop], 0, longer, "clip")
            self._add(longer, np.arange(start, stop), np.arange(stop - start))
        return rows

    def _add(self, rows: Floats, nodes: Nodes, lanes: NDArray[np.intp]) -> None:
        """Turn P(. | h') into P(. | h) in these lanes of the rows, with contexts h = nodes."""
        scale = np.ones(len(rows))
        scale[lanes] = self.backoff[nodes]
        rows *= scale[:, None]
        first = self.first[nodes]
        sizes = self.first[nodes + 1] - first
        children = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        place = np.repeat(lanes * self.symbols, sizes) + self.last[children - 1]
        rows.reshape(-1)[place] += self.share[children]

    def empty_contexts(self, lanes: int) -> Nodes:
        """Return a state, before anything is read: a node or NONE for each length, (B, lengths)."""
        return np.full((lanes, self.highest - 1), NONE, np.int64)

    def read(self, x: NDArray[Any], state: Nodes) -> None:
        """Advance the state by one symbol a lane, x (B,)."""
        children = find(self.keys, state[:, :-1] * self.symbols + x[:, None], 1)
        state[:, 1:] = np.where(state[:, :-1] == NONE, NONE, children)
        state[:, 0] = x + 1

    def probabilities(self, state: Nodes) -> Floats:
        """Return P(. | h) of each lane, (B, K)."""
        length = (state[:, : self.ready] != NONE).sum(1)  # a context that occurs has an h', too
        nodes = np.concatenate([np.zeros((len(state), 1), np.int64), state], 1)
        rows: Floats = self.rows.take(nodes[np.arange(len(state)), length], 0)
        for at in range(self.ready, self.highest - 1):
            lanes = np.flatnonzero(state[:, at] != NONE)
            if not len(lanes):
                break
            self._add(rows, state[lanes, at], lanes)
        return rows[:, : self.predicted]

    def knowledge(self, state: Nodes) -> Floats:
        """Return what is known of each context: 1, the length that occurs, how often, (B, 3)."""
        length = (state != NONE).sum(1)  # at least 1: a symbol was read
        longest = state[np.arange(len(state)), length - 1]
        occurrences = np.log1p(self.occurrences[longest - 1]) / LOG_OF_MANY
        return np.stack([np.ones(len(state)), length / state.shape[1], occurrences], 1)

    def nats_by_order(self, ids: Ids) -> list[Floats]:
        """Return the nats of each symbol after an END, by the n-grams of up to 1, 2 ... symbols."""
        nats = []
        x, ids = read_and_predicted(ids, self.predicted)
        p = np.full(len(ids), 1 / self.predicted)  # P(w | h')
        context = np.zeros(len(ids), np.int64)
        for order in range(1, self.highest + 1):
            nodes = self._nodes(order)
            ngram = find(self.keys[nodes], context * self.symbols + ids, nodes.start + 1)
            ngram[context == NONE] = NONE
            h, hw = np.flatnonzero(context != NONE), np.flatnonzero(ngram != NONE)
            first, above = self.starts[order - 1], p.copy()  # above: with this order the highest
            share, backoff = self._level(order, self.occurrences[nodes])
            above[h] *= backoff[context[h] - first]
            above[hw] += share[ngram[hw] - nodes.start - 1]
            nats.append(-np.log(above))
            p[h] *= self.backoff[context[h]]
            p[hw] += self.share[ngram[hw]]
            context = np.append(NONE, ngram)[: len(ids)] if order > 1 else x.astype(np.int64) + 1
        return nats


def read_and_predicted(ids: Ids, symbols: int) -> tuple[Ids, Ids]:
    """Return what is read before each symbol of a text, which may be labelled, and the symbols."""
    predicted, stops = predicted_in(ids, symbols), np.flatnonzero(ids >= symbols)
    x = np.append(ids.dtype.type(END), predicted)[: len(ids)]
    x[np.append(0, stops + 1)[: len(stops)]] = ids[stops]
    return x, predicted


def predicted_in(ids: Ids, symbols: int) -> Ids:
    """Return the symbols of a text, which may be labelled."""
    is_label = ids >= symbols
    return np.where(is_label, ids.dtype.type(END), ids) if is_label.any() else ids


def windows(x: Ids, ids: Ids, symbols: int, width: int) -> Columns:
    """Return x and what follows up to END, as id + 1, then 0: sorted columns (width, S)."""
    size = len(ids)
    text: Any = np.zeros(size + width, np.min_scalar_type(symbols))
    text[1 : size + 1] = ids
    text[: size + 1] += 1
    columns = np.empty((width, size), text.dtype)
    columns[0] = x
    columns[0] += 1
    goes_on = np.ones(size, np.bool_)
    for place, column in enumerate(columns[1:], 1):
        np.multiply(text[place : place + size], goes_on, out=column)
        goes_on &= column != END + 1
    return columns[:, np.lexsort(columns[::-1])]


def find(keys: Nodes, wanted: Nodes, first: int) -> Nodes:
    """Return the nodes with these keys, or NONE; ``first`` is the node of the first key."""
    if not len(keys):
        return np.full(wanted.shape, NONE, np.int64)
    at = keys.searchsorted(wanted)
    np.minimum(at, len(keys) - 1, out=at)
    return np.where(keys[at] == wanted, at + first, NONE)


def discounts(counts: NDArray[np.uint32]) -> Floats:
    """Return D(c) for c = 0, 1, 2, and 3 or more, by Chen and Goodman."""
    n = [int(np.count_nonzero(counts == j)) for j in range(5)]
    lost = np.array([0.0, 0.5, 1.0, 1.5])  # where a small text does not determine them
    for j in (1, 2, 3):
        if n[1] and n[2] and n[j] and n[j + 1]:
            discount = j - (j + 1) * n[1] / (n[1] + 2 * n[2]) * n[j + 1] / n[j]
            if discount > 0:  # else a context could leave nothing for new symbols
                lost[j] = discount
    return lost


class Baseline(NamedTuple):
    """The loss of one model on the held-out text, END included."""

    name: str  # "uniform", "unigram", "markov-1" .. "markov-6": characters of context
    nats_per_character: float
    nats: Floats  # of an excerpt


def baselines(
    train: Ids, text: Ids, vocabulary: Vocabulary, counted: int = COUNTED, scored: int = SCORED
) -> list[Baseline]:
    """Return uniform, unigram and the n-grams of each order, for texts that may be labelled."""
    places, is_counted = excerpt_of(predicted_in(text, vocabulary.symbols), scored)
    text = text[places]
    if not len(text):
        return []
    sample = sample_of(train, vocabulary.symbols, counted)
    ngrams = Ngrams(sample, vocabulary.symbols, ALONE, len(vocabulary.labels))
    naming = np.where(text == UNKNOWN, vocabulary.unseen_nats, 0.0)
    uniform = np.full(len(text), log(vocabulary.symbols))
    names = ["uniform", "unigram", *(f"markov-{n}" for n in range(1, ALONE))]
    by_order = [(nats + naming)[is_counted] for nats in [uniform, *ngrams.nats_by_order(text)]]
    named = zip(names, by_order, strict=True)
    return [Baseline(name, float(nats.mean()), nats) for name, nats in named]


def counts_of(counted: Ids | None, vocabulary: Vocabulary) -> Ngrams | None:
    """Return the n-grams of the text that a model keeps, if it does."""
    if counted is None:
        return None
    return Ngrams(counted, vocabulary.symbols, labels=len(vocabulary.labels))


def sample_of(ids: Ids, symbols: int, most: int = COUNTED) -> Ids:
    """Return a text, which may be labelled, or evenly spaced pieces of a long one."""
    return ids if len(ids) <= most else ids[excerpt_of(predicted_in(ids, symbols), most)[0]]
