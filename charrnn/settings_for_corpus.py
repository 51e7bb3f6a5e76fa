"""Settings that fit a corpus or a model, and the cost of a run in memory and steps."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from charrnn.corpus import Corpus
from charrnn.counts import COUNTED
from charrnn.default_settings import LARGEST, Fitted, TrainConfig
from charrnn.errors import CharrnnError, CorpusError, ResumeError, SettingError, in_words
from charrnn.network.parameters import Architecture, LanguageModel, architecture_of
from charrnn.training.batches import Epoch
from charrnn.training.loop import LEAST_SCORED, MOMENTS, TRAINED_PER_SCORED

FOREVER = 1 << 40  # epochs of a run that minutes alone end
# Products of a core in a second, and cores: assumed, so that plans do not depend on a machine.
SPEED, USUAL_CORES = 1e10, 2
HIGHEST_LR = 0.02
SETTLED = 2_000  # steps of a run; one that minutes cut shorter needs less dropout
NARROW, WIDE = 64, 256  # units of the layers that were measured: narrow ones bear a higher rate
# A run that starts from a model takes smaller steps, and fewer, the shorter the list. These are the
# least shares of a fresh start, and the symbols of a list that takes all of it.
LEAST_LR, LEAST_PASSES, WHOLE_START = 0.4, 0.12, 10_000
CHECKUPS = 40  # in a whole run, unless a long held-out text makes them too costly
FEWEST_CHECKUPS = 8  # with fewer, each scores a part of the held-out text
WORTHWHILE = 800_000  # units squared x lanes, from which two processes are faster than one
FEWEST_LANES = 8  # of a part, where many are asked for
FITTED = ("hidden", "layers", "dropout", "dropconnect", "blank", "lr", "epochs")


@dataclass(frozen=True)
class Size:
    """Settings for a corpus with this number of symbols, if the run has time enough."""

    symbols: float
    hidden: int
    passes: float
    batch: int
    bptt: int


TANH_SIZES = (
    Size(250, 64, 480, 8, 16),
    Size(4_000, 64, 140, 8, 16),
    Size(15_000, 160, 128, 32, 16),
    Size(60_000, 160, 57, 16, 32),
    Size(200_000, 256, 31, 64, 32),
    Size(1_000_000, 512, 20, 32, 64),
    Size(4_000_000, 1024, 20, 64, 64),
)
GATED_SIZES = (
    Size(250, 48, 240, 4, 16),
    Size(4_000, 48, 60, 4, 16),
    Size(15_000, 128, 48, 16, 16),
    Size(60_000, 128, 28, 16, 32),
    Size(200_000, 256, 23, 64, 32),
    Size(1_000_000, 384, 20, 32, 64),
    Size(4_000_000, 768, 20, 64, 64),
)


@dataclass(frozen=True)
class Recipe:
    """How the settings of a cell follow from a corpus and the products of weights in a run.

    The defaults are those of tanh units.
    """

    sizes: tuple[Size, ...] = TANH_SIZES
    products: float = 3e9  # of a run without minutes, by the root of the symbols
    readings: float = 14  # symbols to read for each weight; fewer need a smaller network
    often: float = math.inf  # passes; a run that could have more, and more steps, is larger
    dropout: float = 0.3  # at most
    # passes x weights / symbols: none is dropped up to the first, all from the second, and between
    # them a share by their logarithms
    dropout_from: tuple[float, float] = (15, 400)
    dropconnect_from: tuple[float, float] = (35, 610)  # to 0.4
    blank: float = 0.05  # as a fraction of dropconnect
    lr: float = 0.004  # of a run of so many steps or more
    steps: float = 1200  # fewer need a higher rate
    targets: float = 512  # of a step; smaller ones need a lower rate, and no higher for few steps
    calls: float = 8e5  # products that take as long as the other work of a step, for all lanes
    clear: tuple[float, float] = (1.55, 1.6)  # nats of counting, from which ``easy`` rises to 1
    easy: float = 0.75  # the share of both that suits held-out text which counting predicts well
    work: float = 2e9  # symbols read x hidden; longer or wider runs need a lower rate

    def at(self, symbols: int, name: str) -> float:
        """Return a value of the sizes for a number of symbols, interpolated between powers."""
        known = [math.log(size.symbols) for size in self.sizes]
        values = [math.log(getattr(size, name)) for size in self.sizes]
        return math.exp(np.interp(math.log(symbols), known, values))

    def nearest(self, symbols: int) -> Size:
        return min(self.sizes, key=lambda size: abs(math.log(size.symbols / symbols)))


TANH = Recipe()
GRU = Recipe(
    sizes=GATED_SIZES,
    products=6e9,
    readings=8,
    often=5,
    dropout_from=(4.5, 30),
    dropconnect_from=(17.5, 640),
    clear=(1.5, 1.6),
    easy=0.5,
    blank=0.25,
    steps=2200,
    targets=1,
    calls=1.7e6,
    work=math.inf,
)
LSTM = replace(GRU, lr=0.006, clear=(1.35, 1.45))


def recipe_of(cell: str) -> Recipe:
    return {"gru": GRU, "lstm": LSTM}.get(cell, TANH)


def weights_of(hidden: int, layers: int, cell: str) -> int:
    """Return the weights between units, which take most of the time."""
    return Architecture(1, 1, 1, cell).cell.gates * (2 * layers - 1) * hidden**2


def fit_settings(
    config: TrainConfig, corpus: Corpus, start_from: LanguageModel | None = None
) -> Fitted:
    """Return the settings with every open one chosen, none larger than the corpus can fill."""
    symbols = len(corpus.train.ids)
    if config.bptt == 0:
        longest = int(np.max(np.diff(corpus.train.starts)))  # symbols of an example, with its END
        if longest > LARGEST:
            what = f"bptt 0 means the longest example, and that has {longest:,} symbols"
            raise SettingError(what, f"It may be a whole number up to {LARGEST}.", "bptt")
        config = replace(config, bptt=longest)
    share = 1.0 if start_from is None else min(1.0, symbols / WHOLE_START)
    typed = {name: value for name, value in asdict(config).items() if value is not None}
    network = fit_network(config, symbols, share, corpus.counting_loss)
    chosen = {**asdict(recipe_of(config.cell).nearest(symbols)), **network, **typed}
    bptt = min(chosen["bptt"], symbols)
    batch = max(1, min(chosen["batch"], symbols // bptt))
    steps = -(-(int(chosen["passes"] * symbols) + 1) // (batch * bptt))
    check_every = config.check_every or usual_checks(len(corpus.held_out.ids), batch * bptt, steps)
    parts = config.parts or usual_parts(chosen["hidden"], batch, config.cores)
    fitted = {
        "bptt": bptt,
        "batch": batch,
        "check_every": check_every,
        "warmup": min(200, steps // 20) if config.warmup is None else config.warmup,
        "parts": min(parts, batch),
        "patience": config.patience,
    }
    if config.epochs is None and chosen["epochs"] != FOREVER and len(corpus.held_out):
        fitted["patience"] = config.patience or 0
    return Fitted(**{name: chosen[name] for name in (*typed, *FITTED)} | fitted)


def usual_checks(held_out: int, targets: int, steps: int) -> int:
    """Return the steps between check-ups, so many that to score so many symbols costs little.

    If few check-ups would remain in the whole run, each scores a part of the held-out text.
    """
    least = -(-TRAINED_PER_SCORED * held_out // targets)
    if least > steps // FEWEST_CHECKUPS:
        least = -(-TRAINED_PER_SCORED * min(held_out, LEAST_SCORED) // targets)
    return max(1, steps // CHECKUPS, least)


def usual_parts(hidden: int, lanes: int, cores: int | None) -> int:
    """Return the number of parts for a network, on a number of cores if that was asked for."""
    if cores is not None and cores > 2:
        return max(1, min(cores, lanes // FEWEST_LANES))
    return 2 if hidden**2 * lanes >= WORTHWHILE else 1


def fit_network(config: TrainConfig, symbols: int, share: float, counting: float) -> dict[str, Any]:
    """Return sizes, passes, epochs, rate and noise that suit each other and what is given.

    ``share`` is the part of a fresh start that a run takes: below 1 for a short list and a model to
    start from. ``counting`` is the loss of n-grams.
    """
    recipe = recipe_of(config.cell)
    layers = config.layers or (1 if config.cell == "output" else 2)
    square = weights_of(1, layers, config.cell)  # weights of a network of one unit
    batch = config.batch or recipe.at(symbols, "batch")
    bptt = config.bptt or recipe.at(symbols, "bptt")
    targets = min(symbols, batch * bptt)  # of a step
    products = products_of_run(recipe, config, symbols)
    usual = usual_hidden(recipe, symbols, targets, products, square)
    hidden = config.hidden or usual
    weights = square * hidden**2
    part = 1.0 if config.epochs else max(LEAST_PASSES, share)  # of the passes of a fresh start
    enough = recipe.at(symbols, "passes")
    if config.minutes is None:
        affordable = max(1, products / (square * usual**2 * symbols))
        wanted = passes = config.epochs or part * min(enough, affordable)
    else:
        larger = max(1, (recipe.at(symbols, "hidden") / hidden) ** 2)
        wanted = config.epochs or part * enough * larger
        overhead = cores_of(config) * recipe.calls / batch  # no process shares it
        passes = min(wanted, products / ((weights + overhead) * symbols))
    fresh = passes / part
    lr = max(LEAST_LR, share) * fit_lr(recipe, symbols, targets, hidden, fresh)
    steps = fresh * symbols / targets
    settled = 1.0 if config.minutes is None else min(1.0, max(steps / SETTLED, passes / wanted))
    return {
        "hidden": hidden,
        "layers": layers,
        "passes": passes,
        "epochs": FOREVER if passes < wanted else max(1, round(passes)),
        "lr": float(f"{lr:.2g}"),
        **fit_noise(recipe, config.dropconnect, fresh * weights / symbols, counting, settled),
    }


def cores_of(config: TrainConfig) -> int:
    return config.cores or USUAL_CORES


def products_of_run(recipe: Recipe, config: TrainConfig, symbols: int) -> float:
    """Return how many products of weights a run computes, one for each weight and symbol."""
    if config.minutes is not None:
        return 60 * config.minutes * cores_of(config) * SPEED
    return recipe.products * math.sqrt(min(symbols, recipe.sizes[-1].symbols))


def usual_hidden(recipe: Recipe, symbols: int, targets: float, products: float, square: int) -> int:
    """Return the units of a layer that a text can fill and a run can afford, a multiple of 8."""
    symbols_read = max(recipe.often * symbols, recipe.steps * targets)
    wide = math.sqrt(products / square / symbols_read)
    affordable = max(wide, math.pow(products / recipe.readings / square**2, 0.25))
    return max(8, 8 * round(min(recipe.at(symbols, "hidden"), affordable) / 8))


def fit_lr(recipe: Recipe, symbols: int, targets: float, hidden: int, passes: float) -> float:
    """Return the learning rate: lower for small steps and long runs, higher for few steps."""
    small = targets / min(recipe.at(symbols, "batch") * recipe.at(symbols, "bptt"), recipe.targets)
    slower = math.sqrt(min(1.0, small, recipe.work / (passes * symbols * hidden)))
    narrow = math.pow(WIDE / min(WIDE, max(NARROW, hidden)), 0.75)
    hurry = (
        narrow * recipe.steps / (passes * symbols / targets) * min(1.0, targets / recipe.targets)
    )
    return slower * min(HIGHEST_LR, recipe.lr * max(1.0, hurry))


def fit_noise(
    recipe: Recipe, dropconnect: float | None, reuse: float, counting: float, settled: float
) -> dict[str, float]:
    """Return the shares that are dropped. Weights that read a text more often need more.

    Text that counting predicts needs less, and so does a run that ends before it has settled.
    """

    def risen(ends: tuple[float, float]) -> float:
        return float(np.interp(math.log(reuse), np.log(ends), (0, 1)))

    needed = settled * float(np.interp(counting, recipe.clear, (recipe.easy, 1)))
    dropout = needed * recipe.dropout * risen(recipe.dropout_from)
    if dropconnect is None:
        dropconnect = round(needed * 0.4 * risen(recipe.dropconnect_from), 2)
    blank = round(recipe.blank * min(0.4, dropconnect), 2)
    return {"dropout": round(dropout, 2), "dropconnect": dropconnect, "blank": blank}


def fit_pace(config: Fitted, typed: TrainConfig, held_out: int, speed: float) -> Fitted:
    """Return the settings with check-ups and warm-up that suit a run with a time limit.

    ``held_out`` counts symbols; ``speed`` is in characters a second.
    """
    if config.minutes is None:
        return config
    targets = config.batch * config.bptt
    steps = int(speed * 60 * config.minutes / targets)
    usual = usual_checks(held_out, targets, steps)
    if config.epochs != FOREVER:
        usual = min(usual, config.check_every)
    check_every = usual if typed.check_every is None else typed.check_every
    warmup = min(config.warmup, steps // 20) if typed.warmup is None else typed.warmup
    return replace(config, check_every=check_every, warmup=warmup)


def known_settings(config: Fitted) -> dict[str, Any]:
    """Return the settings by name; no epochs if minutes alone end the run, and no cores, on which
    no figure depends.
    """
    settings = asdict(config)
    del settings["cores"]
    return settings | ({"epochs": None} if config.epochs == FOREVER else {})


BASE = 45 << 20  # bytes of Python and the packages
COPIES = 6  # of the parameters: current, average, best, thinned, two work buffers
COUNTING, ROWS = 50, 1 << 26  # bytes for the n-grams of each symbol, and for rows made of them


@dataclass(frozen=True)
class Plan:
    """The cost of a run."""

    memory_bytes: int
    steps_per_epoch: int  # of the first; the others differ by a few
    steps: int | None  # None if minutes alone end the run


def plan(config: Fitted, corpus: Corpus) -> Plan:
    """Return the plan for this corpus."""
    per_epoch = Epoch(corpus.train, config.batch, config.bptt, config.seed, 0).windows
    steps = None if config.minutes and config.epochs == FOREVER else per_epoch * config.epochs
    return Plan(memory_bytes(config, corpus), per_epoch, steps)


def memory_bytes(config: Fitted, corpus: Corpus) -> int:
    """Estimate the memory that training takes."""
    symbols, rows = corpus.vocabulary.symbols, config.bptt * config.batch
    a = architecture_of(config, symbols)
    copies = COPIES + len(MOMENTS[config.optimizer]) + config.parts
    numbers = copies * a.parameter_count
    gates = 0 if a.cell.gates == 1 else a.cell.gates  # one is stored in place of the state
    stored = len(a.cell.states) + 1 + gates + a.cell.has_tape + bool(config.dropout)  # of a step
    numbers += rows * config.hidden * (config.layers * stored + 1)
    numbers += 2 * min(rows * symbols, max(1 << 20, 16 * symbols)) * config.parts
    text = corpus.train.ids.nbytes + corpus.held_out.ids.nbytes + 2 * corpus.train.starts.nbytes
    counting = ROWS + COUNTING * min(len(corpus.train.ids), COUNTED) if config.counts else 0
    return BASE + 4 * numbers + text + counting


def check_memory(needed: int, available: int | None) -> None:
    """Raise CorpusError if a plan needs more memory than is available."""
    if available is not None and needed > available:
        needs, free = f"{needed / 2**30:.1f} GiB of memory", f"{available / 2**30:.1f} GiB are free"
        hint = "Try a smaller [hidden], [batch] or [bptt], or a part of the corpus."
        raise CorpusError(f"this run needs about {needs}, and {free}", hint)


def sizes_of(model: LanguageModel) -> dict[str, int | str | bool]:
    """Return the settings that the parameters of a model decide."""
    a = model.architecture
    sizes: dict[str, int | str | bool]
    sizes = {"hidden": a.hidden, "layers": a.layers, "cell": a.cell_name, "ends": a.head_name}
    return sizes | {"clock": "clock" in a.requested, "teacher_forcing": a.forced}


def take_sizes(
    config: TrainConfig, model: LanguageModel, typed: Collection[str] | None = None
) -> TrainConfig:
    """Return the settings with the sizes of the model; SettingError if other sizes were typed.

    Without ``typed``, each setting that differs from its default counts as typed.
    """
    sizes = sizes_of(model)
    hint = "Leave it out, or train without that model."
    if config.init_radius != TrainConfig.init_radius:
        what = f"init_radius {config.init_radius:g} is for new weights, and the model has its own"
        raise SettingError(what, hint, "init_radius")
    if typed is None:
        typed = {f.name for f in fields(config) if getattr(config, f.name) != f.default}
    wanted = {name: getattr(config, name) for name in sizes if name in typed}
    check_agreement("the model to start from", sizes, wanted, hint, error=SettingError)
    return replace(config, **sizes)  # type: ignore[arg-type]


def check_agreement(
    holder: object,
    had: Mapping[str, Any],
    wanted: Mapping[str, Any],
    hint: str,
    *,
    may_rise: Collection[str] = (),  # from None nothing rises
    error: type[CharrnnError] = ResumeError,
) -> None:
    """Raise an error that names both values if a wanted setting is not what the holder has."""
    for name, value in wanted.items():
        old = had[name]
        if value == old or (name in may_rise and old is not None and value > old):
            continue
        has = in_words(name, old).removeprefix(f"{name} ")
        what = f"{in_words(name, value)} contradicts {holder}, which has {has}"
        raise error(
            what, f"[{name}] may be raised, not lowered." if name in may_rise else hint, name
        )
