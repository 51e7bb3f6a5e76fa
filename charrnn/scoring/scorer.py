"""How surprised the network is by a text, symbol by symbol.

The negative log-likelihood of an example is the sum of -log P(y(t) | y(1) .. y(t-1)) over its
characters and its END (10.32, 10.33). Chunks of the text are read side by side only to be quick:
what a symbol costs does not depend on how the work was cut.

A character that was never seen has a probability too, so that no text has an infinite loss.

A text cut into chunks that are read side by side, and put together as if it had been one.

    the text       ...a long example, or many short ones...
    stretch 0      |-------------------|
    stretch 1                   ~~~~~~~|------------------|         ~ read to warm up: not counted
    stretch 2                                      ~~~~~~~|-----------------|

Where an example begins the state is zero, so a cut there costs nothing, and cuts move there if they
can. Elsewhere a stretch must start from the state in which the one before it ends. Recurrent
networks forget: after a few hundred symbols their state does not depend on where they started, but
for the rounding. So a stretch warms up on what stands before it, and afterwards both states are
compared. Where they differ the network remembers for longer, and the stretch is read again.

Chunks of a text read side by side, and mended where they do not meet.

After a pass, the state in which each chunk ends is compared with the state from which the next one
started. Where they differ, the next one is read again from the state that it should have had, until
it is in a state in which it was before: from there on all is as it was. A network that remembers
for very long never is, and then the rest is read in one go. So the result is that of reading symbol
after symbol, to the last bit where states are on a grid.

The rank of an END where the length comes first: how many lengths are likelier than this."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from charrnn.corpus.corpus import Examples, ended_codes
from charrnn.network.inputs import Counts, read_after, read_before, still_to_come
from charrnn.network.layer import SMALL
from charrnn.network.parameters import Array, Integers, LanguageModel, Parameters
from charrnn.network.readout import ExactReadout, add_novelty
from charrnn.network.rounding import OFTEN, Grid
from charrnn.network.threads import Parallel
from charrnn.network.unfolded import State, Window
from charrnn.scoring.pieces import Floats, Ranks, pieces
from charrnn.scoring.score import Score, tally
from charrnn.vocabulary import END, UNKNOWN, Ids

Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Text:
    """What is read, and where what is found goes."""

    ids: Ids  # (S,)
    before: int  # the symbol in front of it
    index: int  # of that symbol in its example, counted from the END before it
    nats: NDArray[np.float64]  # (S,)
    ranks: NDArray[np.int32] | None  # (S,)
    since: int | None = None  # characters of the example before it, where they are to be counted
    logits: NDArray[np.float64] | None = None  # (S, K)  of what came at each place


STEPS: Final = 64  # symbols of each stretch in a window
SHORTEST: Final = 64  # symbols of a stretch, where no stretch has to warm up


@dataclass(frozen=True)
class Chunks:
    """Lanes over a text. Lane i counts the symbols from first[i] on, as far as stop[i]."""

    reads_from: Places  # (B,)
    first: Places  # (B,)
    stop: Places  # (B,)
    of_longest: int | None = None  # symbols to read of the longest, where others have that one

    def __len__(self) -> int:
        return len(self.first)

    @property
    def longest(self) -> int:
        """For how many steps they are read."""
        if self.of_longest is not None:
            return self.of_longest
        return int((self.stop - self.reads_from).max(initial=0))

    def part(self, lanes: slice) -> Chunks:
        """Some of them, read for as many steps as all would be: so no sum is rounded otherwise."""
        of = self.reads_from[lanes], self.first[lanes], self.stop[lanes]
        return Chunks(*of, self.longest)

    @property
    def places(self) -> slice:
        """The symbols that they count."""
        return slice(int(self.first[0]), int(self.stop[-1])) if len(self) else slice(0, 0)

    def padded(self, lanes: int) -> Chunks:
        """The same and some that are empty, so that there are so many lanes."""
        none = np.zeros(lanes - len(self), np.int64)
        return Chunks(
            np.concatenate([self.reads_from, none]),
            np.concatenate([self.first, none]),
            np.concatenate([self.stop, none]),
            self.of_longest,
        )

    def without_warming_up(self, these: NDArray[np.bool_]) -> Chunks:
        """Some of them, to be read from where they begin."""
        return Chunks(self.first[these], self.first[these], self.stop[these])


def cut(ids: Ids, most: int, warm_up: int, carry: bool) -> Chunks:
    """Chunks of about one length, as many as are of use."""
    begins = np.zeros(0, np.int64) if carry else np.flatnonzero(ids[:-1] == END) + 1
    for shortest in (SHORTEST, 4 * warm_up):
        lanes = max(1, min(most, len(ids) // shortest))
        bounds = _moved(len(ids) * np.arange(lanes + 1, dtype=np.int64) // lanes, begins)
        first, stop = bounds[:-1], bounds[1:]
        before = np.searchsorted(begins, first, side="right")
        example = np.concatenate([[0], begins])[before]
        if (example[1:] == first[1:]).all():
            break
    return Chunks(np.maximum(example, first - warm_up).clip(0), first, stop)


def _moved(bounds: Places, begins: Places) -> Places:
    """The bounds, each at the nearest beginning of an example if that is near enough."""
    if not len(begins):
        return bounds
    slack = int(bounds[1]) // 4
    after = np.searchsorted(begins, bounds[1:-1])
    left = begins[np.maximum(after - 1, 0)]
    right = begins[np.minimum(after, len(begins) - 1)]
    inner = bounds[1:-1]
    nearest = np.where(np.abs(inner - left) <= np.abs(right - inner), left, right)
    moved = np.where(np.abs(nearest - inner) <= slack, nearest, inner)
    return np.concatenate([bounds[:1], moved, bounds[-1:]])


def windows(text: Text, chunks: Chunks, carry: bool) -> Iterator[tuple[int, Window, Places]]:
    """How many steps have been read, the next window, and where each of its targets stands.

    The place is -1 where a target does not count.
    """
    ids = text.ids
    settles = settling(text, carry)
    clock = left = None
    if text.since is not None:
        clock, left = read_before(ids, text.since), still_to_come(ids)
    for at in range(0, chunks.longest, STEPS):
        steps = min(STEPS, chunks.longest - at)
        places = chunks.reads_from + at + np.arange(steps)[:, None]
        inside = places < chunks.stop
        here = np.where(inside, places, 0)
        y = ids[here].astype(np.intp)
        x = ids[np.where(inside & (places > 0), places - 1, 0)].astype(np.intp)
        x[places == 0] = text.before
        counted = inside & (places >= chunks.first)
        settled = inside & settles[here]
        window = Window(x, y, None if carry else x == END, settles=settled)
        if clock is not None and left is not None:
            window = replace(window, clock=clock[here], left=left[here])
        yield at, window, np.where(counted, places, -1)


def settling(text: Text, carry: bool) -> NDArray[np.bool_]:
    """Where the state settles once what stands before a place was read, (S,)."""
    if carry:
        index: Places = np.arange(len(text.ids)) + text.index
    else:
        index = read_before(text.ids, text.index)
    return np.asarray(index % OFTEN == OFTEN - 1)


FEW: Final = (4, 16)  # lanes, where there are not enough chunks for all
PANEL: Final = 32  # columns of a product in pieces that is still quick
WORTHWHILE: Final = 1 << 20  # multiply-adds a step and thread: a step is short, without gradient
SEAM: Final = 1e-5  # how far apart two states may be, where chunks meet and there is no grid
PASSES: Final = 3  # in which chunks are mended, before the rest is read in one go

Marks = NDArray[np.uint64]  # (windows, B) by which a state is known again


@dataclass(eq=False)
class Pass:
    """What is known of each chunk once it was read."""

    begun: State  # where each stood when it began to count
    ended: State  # and where it ended
    marks: Marks  # after each window, from where it was read


class ChunkReader:
    """A network unfolded for several chunks at once."""

    def __init__(
        self,
        model: LanguageModel,
        workers: int,
        *,
        on_grid: bool = True,
        ranking: bool = False,
        keeping: bool = False,
    ) -> None:
        self.grid = Grid.of(model.architecture) if on_grid else None
        self.p = self.grid.parameters(model.parameters) if self.grid else model.parameters
        architecture = self.p.architecture
        self.carry = model.carry
        lanes = lanes_for(architecture.hidden)
        self.workers = max(1, min(workers, lanes * architecture.hidden**2 // WORTHWHILE))
        self.most = lanes * self.workers  # chunks that are of use
        self.ranking, self.keeping = ranking, keeping
        self._parallels: dict[int, Parallel] = {}
        rng = np.random.default_rng(0)  # odd numbers, one for each number of a state
        self._odd = rng.integers(0, 1 << 63, architecture.hidden, np.uint64) * np.uint64(2) + 1

    def zeros(self, lanes: int) -> State:
        """Where so many lanes start that have read nothing."""
        shape = (lanes, self.p.architecture.hidden)
        return [np.zeros(shape, self.p.flat.dtype) for _ in self.p.architecture.state_names]

    def read(self, text: Text, chunks: Chunks, state: State) -> State:
        """Read the text from this state (1, H); the state it ends in."""
        begun = self.zeros(len(chunks))
        for h, kept in zip(begun, state, strict=True):
            h[:1] = kept
        done = self.pass_over(text, chunks, begun)
        for _ in range(PASSES):
            apart = self._apart(text, chunks, done)
            if not apart.any():
                break
            self._mend(text, chunks, done, apart)
        else:
            apart = self._apart(text, chunks, done)
            if apart.any():
                lane = int(np.argmax(apart))
                first = chunks.first[lane : lane + 1]
                rest = Chunks(first, first, chunks.stop[-1:])
                done = self.pass_over(text, rest, [h[lane - 1 : lane] for h in done.ended])
        return [h[-1:].copy() for h in done.ended]

    def pass_over(
        self, text: Text, chunks: Chunks, state: State, known: Marks | None = None
    ) -> Pass:
        """Read each chunk from a state of its own; no further than until all are in states in
        which they are known to have been.
        """
        count = len(chunks)
        lanes = next((few for few in FEW if few >= count), self.most)
        if chunks.of_longest is not None:
            lanes = self.most // self.workers
        parallel = self._parallel(lanes)
        chunks = chunks.padded(lanes)
        begun = self.zeros(lanes)
        for h, given in zip(begun, state, strict=True):
            h[:count] = given
        ended = [h.copy() for h in begun]
        marks: list[NDArray[np.uint64]] = []
        parallel.start_from(begun)
        for at, window, places in windows(text, chunks, self.carry):
            nats = parallel.nats(self.p, window)
            counted = places >= 0
            text.nats[places[counted]] = nats[counted]
            if text.ranks is not None:
                text.ranks[places[counted]] = ranks_of(parallel, len(window.x))[counted]
            if text.logits is not None:
                text.logits[places[counted]] = logits_of(parallel, len(window.x))[counted]
            steps = at + len(window.x)
            note(parallel, at, steps, chunks.first - chunks.reads_from, begun)
            note(parallel, at, steps, chunks.stop - chunks.reads_from, ended)
            if self.grid:
                marks.append(self._marks(parallel)[:count])
                if known is not None and np.array_equal(marks[-1:], known[len(marks) - 1 :][:1]):
                    break
        return Pass(
            [h[:count] for h in begun],
            [h[:count] for h in ended],
            np.array(marks, np.uint64).reshape(-1, count),
        )

    def share(self, chunks: Chunks, number: int, processes: int) -> Chunks:
        """Those that one of several processes reads: what a thread would, in the same lanes."""
        if processes == 1:
            return chunks
        if len(chunks) <= FEW[-1]:
            return chunks if number == 0 else chunks.part(slice(0))
        each = self.most // self.workers
        return chunks.part(slice(each * number, each * (number + 1)))

    def _mend(self, text: Text, chunks: Chunks, done: Pass, apart: NDArray[np.bool_]) -> None:
        """Read some of them again, each from where the one before it ended."""
        these = np.flatnonzero(apart)
        right = [h[these - 1] for h in done.ended]
        skipped = (chunks.first - chunks.reads_from)[these]
        known = self._known(done.marks, these, skipped)
        again = self.pass_over(text, chunks.without_warming_up(apart), right, known)
        read = len(again.marks)
        has_met = np.zeros(len(these), np.bool_)
        if 0 < read <= len(known):
            has_met = again.marks[-1] == known[read - 1]
        for number, (old, new) in enumerate(zip(right, again.ended, strict=True)):
            done.begun[number][apart] = old
            done.ended[number][these[~has_met]] = new[~has_met]
        for j, start in self._aligned(skipped):
            count = min(read, len(done.marks) - start)
            done.marks[start : start + count, these[j]] = again.marks[:count, j]

    def _known(self, marks: Marks, these: NDArray[np.intp], skipped: Places) -> Marks:
        """The marks of some chunks, counted from where they begin; 0 where there are none."""
        known = np.zeros((len(marks), len(these)), np.uint64)
        for j, start in self._aligned(skipped):
            own = marks[start:, these[j]]
            known[: len(own), j] = own
        return known

    def _aligned(self, skipped: Places) -> list[tuple[int, int]]:
        """Those whose windows, read from the beginning, end where they ended after warming up."""
        return [(j, s // STEPS) for j, s in enumerate(skipped.tolist()) if s % STEPS == 0]

    def _apart(self, text: Text, chunks: Chunks, done: Pass) -> NDArray[np.bool_]:
        """Which of them did not start from where the one before ended, and should have."""
        apart = np.zeros(len(chunks), np.bool_)
        seam = 0.0 if self.grid else SEAM
        for start, end in zip(done.begun, done.ended, strict=True):
            apart[1:] |= np.abs(start[1:] - end[:-1]).max(axis=1) > seam
        if not self.carry:
            apart[1:] &= text.ids[chunks.first[1:] - 1] != END
        return apart

    def _marks(self, parallel: Parallel) -> NDArray[np.uint64]:
        """64 bits a lane, (B,), by which the states that a window ended in are known again."""
        lanes = [
            sum(
                (state[0].view(np.uint64) * self._odd * np.uint64(2 * number + 1)).sum(axis=1)
                for number, state in enumerate(part.states)
            )
            for part in parallel.parts
        ]
        return np.concatenate(lanes)

    def _parallel(self, lanes: int) -> Parallel:
        if lanes not in self._parallels:
            workers = self.workers if lanes == self.most else 1
            architecture = self.p.architecture
            parallel = Parallel(architecture, STEPS, lanes, workers, self.p.flat.dtype, self.grid)
            for part in parallel.parts:
                part.readout = ExactReadout(
                    architecture,
                    STEPS * part.lanes,
                    UNKNOWN,
                    on_grid=self.grid is not None,
                    ranking=self.ranking,
                    keeping=self.keeping,
                )
            self._parallels[lanes] = parallel
        return self._parallels[lanes]


def lanes_for(hidden: int) -> int:
    """As many for each thread as a product in pieces can take; if too few, enough for a whole."""
    lanes = min(64, SMALL // (PANEL * hidden) // 8 * 8)
    return lanes if lanes >= 32 else 128


def ranks_of(parallel: Parallel, steps: int) -> NDArray[np.integer]:
    """The ranks that the last window's targets had, (T, B)."""
    readouts = [part.readout for part in parallel.parts]
    return np.concatenate(
        [r.ranks.reshape(steps, -1) for r in readouts if isinstance(r, ExactReadout)], axis=1
    )


def logits_of(parallel: Parallel, steps: int) -> Array:
    """The logits that the last window's targets were among, (T, B, K)."""
    readouts = [part.readout for part in parallel.parts]
    kept = [r.logits for r in readouts if isinstance(r, ExactReadout)]
    return np.concatenate([o.reshape(steps, -1, o.shape[1]) for o in kept], axis=1)


def note(parallel: Parallel, at: int, now: int, when: Places, states: State) -> None:
    """Write down the states of the lanes that had reached a certain step in the last window."""
    lanes = np.flatnonzero((when > at) & (when <= now))
    if not len(lanes):
        return
    for number, h in enumerate(states):
        for part, start, stop in zip(
            parallel.parts, parallel.bounds, parallel.bounds[1:], strict=False
        ):
            own = lanes[(lanes >= start) & (lanes < stop)]
            seen: Array = part.states[number]
            h[own] = seen[when[own] - at, own - start]


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


__all__ = ["Score", "Scorer"]

WARM_UP: Final = 256  # symbols read before a stretch: twice as many as most networks remember
CHECKUP_WARM_UP: Final = 128
RUINED: Final = 1e15  # nats, where parameters have grown out of bounds


class Scorer:
    """A model that reads on and on, and says what each symbol cost it.

    A text has one score, to the last bit, however it arrives and whoever computes it; ``fast`` has
    the precision of training instead, in half the time.
    """

    def __init__(
        self,
        model: LanguageModel,
        workers: int = 1,
        *,
        ranking: bool = False,
        fast: bool = False,
        keeping: bool = False,
    ) -> None:
        """With ``keeping``, ``logits`` is for the symbols that were read last."""
        self.model = model
        self.vocabulary = model.vocabulary
        self.ranking = ranking
        self.wants_whole = model.architecture.head.lengths is not None
        self._counts = bool(model.architecture.inputs)
        self._reader = ChunkReader(
            model, workers, on_grid=not fast, ranking=ranking, keeping=keeping
        )
        self._keeping = keeping
        self.logits: Floats | None = None
        self.parts: dict[str, Floats] = {}  # one that reads alone has none
        self.begin()

    def begin(self) -> None:
        """Forget what was read: the next symbol is the first of a text."""
        self._before, self._index, self._since = END, 0, 0
        self._state = self._reader.zeros(1)

    def read(self, ids: Ids) -> tuple[Floats, Ranks | None]:
        """The surprisal of every symbol, given all that was read since the beginning; its rank.

        It may be called with one piece of a text after the other, cut anywhere; where they are to
        be whole, only after an END.
        """
        ranks = np.zeros(len(ids), np.int32) if self.ranking else None
        since, room = self._since if self._counts else None, self._room(ids)
        text = Text(ids, self._before, self._index, np.zeros(len(ids)), ranks, since, room)
        if len(ids):
            chunks = cut(ids, self._reader.most, WARM_UP, self.model.carry)
            self._state = self._reader.read(text, chunks, self._state)
            self._before, self._index = int(ids[-1]), self._index_after(ids)
            self._since = read_after(ids, self._since)
        add_novelty(self.model, ids, text.nats, ranks)
        if ranks is not None and self.wants_whole:
            rank_ends(self.model.parameters, ids, read_before(ids), ranks)
        return text.nats, ranks

    def _room(self, ids: Ids) -> Floats | None:
        """Where their logits go, (S, K), if anybody wants them."""
        self.logits = np.empty((len(ids), self.vocabulary.symbols)) if self._keeping else None
        return self.logits

    def _index_after(self, ids: Ids) -> int:
        """The index of the last symbol in its example, or in all that was read where they carry."""
        return self._index + len(ids) if self.model.carry else read_after(ids, self._index)

    def nats(self, examples: Examples) -> Floats:
        """The surprisal of every symbol of ``examples.ids``, read from their beginning."""
        self.begin()
        return self.read(examples.ids)[0]

    def score(self, examples: Examples) -> Score:
        """The sums over these examples."""
        return tally(examples.ids, self.nats(examples))

    def score_texts(self, texts: Iterable[str]) -> Score:
        """The sums over texts that are an example each, bytes among them."""
        return sum((piece.score() for piece in pieces(self, ended_codes(texts))), Score())

    def nats_in_chunks(self, examples: Examples) -> Floats:
        """Nearly the same as nats, sooner: nobody looks whether the chunks meet."""
        return self._in_chunks(examples, 0, 1)[0]

    def score_in_chunks(
        self,
        examples: Examples,
        counted: NDArray[np.bool_],
        number: int = 0,
        processes: int = 1,
    ) -> Score:
        """The sums of those over the symbols that count, or over what one of several processes has
        to read: what all of them find adds up to the same.
        """
        nats, here = self._in_chunks(examples, number, processes)
        chosen = counted[here]
        return tally(examples.ids[here][chosen], nats[here][chosen])

    def _in_chunks(self, examples: Examples, number: int, processes: int) -> tuple[Floats, slice]:
        """The surprisal of every symbol, and where it is that of a symbol which was read here."""
        ids, here = examples.ids, slice(0)
        since, room = 0 if self._counts else None, self._room(ids)
        text = Text(ids, END, 0, np.zeros(len(ids)), None, since, room)
        if len(ids):
            chunks = cut(ids, self._reader.most, CHECKUP_WARM_UP, self.model.carry)
            chunks = self._reader.share(chunks, number, processes)
            if len(chunks):
                self._reader.pass_over(text, chunks, self._reader.zeros(len(chunks)))
            here = chunks.places
        np.nan_to_num(text.nats, copy=False, nan=RUINED, posinf=RUINED)
        add_novelty(self.model, ids, text.nats, None)
        return text.nats, here
