"""Networks for tests: by hand, with known output and probabilities; and with random weights."""

import json
import math
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from charrnn.model import Model
from charrnn.network.arrays import Array, Integers
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS, Lengths
from charrnn.network.parameters import Architecture, LanguageModel, Parameters, initial
from charrnn.network.through_time import LaneStates, Masks, Unfolded, Window
from charrnn.runs import train
from charrnn.settings.training import TrainConfig
from charrnn.text.vocabulary import END as END_ID
from charrnn.text.vocabulary import Vocabulary

END = ""  # as a key among characters
UNKNOWN = "?"

Facts = dict[str, Any]
Odds = Mapping[str, float]  # the probability of each character, of END and of UNKNOWN
COIN = {"a": 0.3, "b": 0.3, END: 0.4}


def vocabulary_of(characters: str) -> Vocabulary:
    return Vocabulary("".join(sorted(set(characters))), novelty=0.01)


def log_odds(odds: Odds, characters: str) -> list[float]:
    chances = [odds.get(key, 0.0) for key in (END, UNKNOWN, *characters)]
    return [math.log(chance) if chance else -1000.0 for chance in chances]


def independent(odds: Odds) -> LanguageModel:
    """Return a model with zero weights and c = log p: all symbols are drawn independently."""
    vocabulary = vocabulary_of("".join(key for key in odds if key not in (END, UNKNOWN)))
    p = Parameters.zeros(Architecture(vocabulary.symbols, 3, 1))
    p["c"][...] = log_odds(odds, vocabulary.characters)
    return LanguageModel(p, vocabulary)


def markov(after: Mapping[str, Odds]) -> LanguageModel:
    """Return a bigram model: U = 20 I and W = 0, so V holds the odds after each symbol."""
    vocabulary = vocabulary_of("".join(after))
    p = Parameters.zeros(Architecture(vocabulary.symbols, vocabulary.symbols, 1))
    p["U1"][...] = 20 * np.eye(vocabulary.symbols)
    for column, key in enumerate((END, UNKNOWN, *vocabulary.characters)):
        p["V"][:, column] = log_odds(after.get(key, {END: 1.0}), vocabulary.characters)
    return LanguageModel(p, vocabulary)


def speller(word: str) -> LanguageModel:
    """Return a model that draws this word only; its letters must differ."""
    return markov({here: {there: 1.0} for here, there in pairwise([END, *word, END])})


def babbler(
    characters: str = "abcdefgh", hidden: int = 12, layers: int = 2, seed: int = 0
) -> LanguageModel:
    """Return a model with random weights, whose output depends on all characters before."""
    vocabulary = vocabulary_of(characters)
    p = Parameters.zeros(Architecture(vocabulary.symbols, hidden, layers))
    p.flat[...] = np.random.default_rng(seed).standard_normal(p.flat.shape)
    for name in p:
        if p[name].shape == (hidden, hidden):
            p[name][...] *= hidden**-0.5
    return LanguageModel(p, vocabulary)


MANY = "".join(map(chr, range(0x4E00, 0x4E00 + 6000)))  # characters of a large vocabulary


def peak_bytes(act: Callable[[], object]) -> int:
    """Return the most memory that was in use at once while a function ran, beside that before."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def saved(speaker: LanguageModel, path: Path, examples_are: str = "lines", **corpus: Any) -> Path:
    """Save a model file, as if the model had been trained on examples of this kind."""
    p, vocabulary, size = speaker.parameters, speaker.vocabulary, speaker.architecture
    config = TrainConfig(hidden=size.hidden, layers=size.layers, batch=1, bptt=8)
    run = train([vocabulary.characters], config, holdout=0.0)
    checkpoint = run.checkpoint
    checkpoint.vocabulary = vocabulary
    checkpoint.corpus = replace(checkpoint.corpus, examples_are=examples_are, **corpus)
    checkpoint.state.average[...] = p.flat
    run.save(path)
    return path


def forge(path: Path, change: Callable[[Facts, dict[str, Any]], Any], **how: Any) -> None:
    """Change the facts and the arrays of a file, with valid checksums."""
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("charrnn.json"))
        arrays = {
            name: np.load(BytesIO(archive.read(name)))
            for name in archive.namelist()
            if name.endswith(".npy")
        }
    change(document, arrays)
    with zipfile.ZipFile(path, "w", **how) as archive:
        archive.writestr("charrnn.json", json.dumps(document))
        for name, array in arrays.items():
            content = BytesIO()
            np.save(content, array)
            archive.writestr(name, content.getvalue())


# Each cell, head, number of layers and number of units appears at least twice.
MODELS: Sequence[dict[str, Any]] = [
    {"cell": "tanh", "ends": "symbol", "layers": 1, "hidden": 40},
    {"cell": "tanh", "ends": "halt", "layers": 3, "hidden": 5},
    {"cell": "gru", "ends": "symbol", "layers": 2, "hidden": 5},
    {"cell": "gru", "ends": "halt", "layers": 1, "hidden": 1},
    {"cell": "lstm", "ends": "symbol", "layers": 2, "hidden": 40},
    {"cell": "lstm", "ends": "halt", "layers": 1, "hidden": 5},
]
IDS = ["-".join(map(str, model.values())) for model in MODELS]
LABELS = ["10", "2", "2", "2", '</b>\\ "é?%s', "__proto__", "__proto__"]  # of a text each
FEW = 60  # symbols; states move to the coarser grid only later
CHARACTERS = "abcé€😀"


def model_of(
    text: str = CHARACTERS,
    *,
    seed: int = 0,
    scale: float = 1.0,
    labels: Sequence[str] | None = None,
    **size: Any,
) -> Model:
    """Return a model with random weights for the characters of a text, once with each label."""
    texts, config = [text] * len(labels or [""]), TrainConfig(batch=1, bptt=8, **size)
    run = train(texts, config, holdout=0.0, labels=labels)
    p = run.checkpoint.latest.parameters
    p.flat[...] = scale * np.random.default_rng(seed).standard_normal(p.flat.shape)
    for name in p:
        if p[name].ndim == 2 and name != "U1":
            p[name][...] *= p.architecture.hidden**-0.5
    p["c"][0] -= 1  # END is less likely, so texts are longer
    return run.model


def random_ids(model: Model, length: int) -> Integers:
    """Return END and then random symbols other than END."""
    ids = np.random.default_rng(0).integers(1, model.vocabulary.symbols, length + 1)
    ids[0] = 0
    return ids


STEPS, LANES, SYMBOLS = 6, 3, 7
SHAPES = [
    Architecture(SYMBOLS, 5, layers, cell, head, forced, clock)
    for cell, head, layers, clock, forced in product(
        CELLS, HEADS, (1, 2, 3), (False, True), (False, True)
    )
    if (cell == "output" and layers == 1) or (cell != "output" and not forced)
]
Slopes = dict[str, tuple[Array, float]]  # for each array a direction, and the slope along it


def parameters_of(shape: Architecture) -> Parameters:
    """Return parameters in float64 whose every number matters."""
    rng = np.random.default_rng(0)
    p = initial(shape, np.log(np.full(shape.symbols, 1 / shape.symbols)), rng)
    p = Parameters(shape, p.flat.astype(np.float64))
    p.flat[...] = 0.6 * rng.standard_normal(p.flat.shape)
    if shape.head_name == "length":
        Lengths.initialize(p, rng.integers(0, 40, 50))
    return p


def drawing_lengths(characters: str = "abcd", novelty: float = 0.01) -> LanguageModel:
    p = parameters_of(Architecture(len(characters) + 2, 5, 1, head_name="length"))
    p["tau.place"][...] = np.log(np.linspace(0.5, 5, len(p["tau.place"])))
    return LanguageModel(p, Vocabulary(characters, novelty))


def window(symbols: int = SYMBOLS, *, resets: bool = True, idle: bool = False) -> Window:
    """Return steps of which some begin an example, also in the middle and in two lanes at once."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, symbols, (2, STEPS, LANES))
    x[0, 0] = x[2, 1] = x[2, 2] = y[1, 0] = y[3, 2] = END_ID
    clock, to_come = rng.integers(0, 20, (2, STEPS, LANES))
    clock[1, 0] = 0  # the text that ends there is empty
    to_come = np.where(y == END_ID, 0, to_come + 1)
    nothing = np.arange(STEPS * LANES).reshape(STEPS, LANES) > 15 if idle else None
    return Window(x, y, (x == END_ID) & resets, nothing, clock=clock, to_come=to_come)


def steps_of(w: Window, steps: slice) -> Window:
    return Window(**{name: a[steps] for name, a in vars(w).items() if a is not None})


def state_of(p: Parameters) -> LaneStates:
    """Return a state that is carried in from an earlier window."""
    rng = np.random.default_rng(2)
    shape = (LANES, p.architecture.hidden)
    return [np.tanh(rng.standard_normal(shape)) for _ in p.architecture.state_names]


def masks_of(p: Parameters) -> Masks:
    """Silence a third of the units, and make the others louder."""
    shape = (p.architecture.layers, 1, LANES, p.architecture.hidden)
    return list((np.random.default_rng(3).random(shape) < 2 / 3) * 1.5)


def begun(p: Parameters, h0: LaneStates) -> Unfolded:
    """Return an unfolded network that goes on from this state."""
    unfolded = Unfolded(p.architecture, STEPS, LANES, np.float64)
    for states, first in zip(unfolded.states, h0, strict=True):
        states[0] = first
    return unfolded


def nats_through_time(unfolded: Unfolded, p: Parameters, w: Window) -> Array:
    """Return -log y_hat at y for each place of the window, (T, B). Move the state on."""
    h = unfolded.read(p, w)
    nats = nats_at(p, h.reshape(-1, h.shape[-1]), w.y.reshape(-1))
    lengths = p.architecture.head.lengths
    if lengths is not None:  # END costs what the length costs
        assert w.clock is not None
        is_counted = (w.y == END_ID) if w.idle is None else (w.y == END_ID) & ~w.idle
        nats[is_counted.reshape(-1)] = lengths.nats(p, w.clock[is_counted])
    return nats.reshape(w.y.shape)


def nats_at(p: Parameters, h: Array, y: Integers) -> Array:
    """Return -log y_hat at y for each row: h (R, H), y (R,) -> (R,)."""
    o = h @ p["V"].T + p["c"]
    p.architecture.head.logits(o)
    nats: Array = np.logaddexp.reduce(o, 1) - o[np.arange(len(o)), y]
    return nats


def loss_of(p: Parameters, w: Window, h0: LaneStates, m: Masks | None, into: Parameters) -> float:
    return begun(p, h0).nats_and_gradient(p, w, into, 1.0, m)


def slopes(p: Parameters, loss: Callable[[Array], float]) -> Slopes:
    """Measure central differences of the loss along one random direction an array."""
    rng = np.random.default_rng(4)
    measured = {}
    for name in p:
        direction = p.like()
        direction[name][...] = rng.standard_normal(p[name].shape)
        ahead, back = (loss(p.flat + e * direction.flat) for e in (1e-5, -1e-5))
        measured[name] = direction.flat, (ahead - back) / 2e-5
    return measured


def disagreement(gradient: Parameters, measured: Slopes) -> float:
    """Return how far the gradient is from the measured slopes, at the worst."""
    return max(
        abs(float(gradient.flat @ direction) - slope) / max(1.0, abs(slope))
        for direction, slope in measured.values()
    )
