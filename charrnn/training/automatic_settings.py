"""Settings that fit a corpus or a model."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from charrnn.errors import CharrnnError, ResumeError, SettingError, in_words
from charrnn.network.arrays import ceil_div
from charrnn.network.cells import CELLS
from charrnn.network.parameters import LanguageModel
from charrnn.prediction.predictor import check_mixable
from charrnn.settings.training import AUTOMATIC, Fitted, TrainConfig
from charrnn.settings.values import LARGEST
from charrnn.text.corpus import Corpus

FOREVER = 1 << 40  # epochs of a run that minutes alone end
# Products of a core in a second, and cores: assumed, so that plans do not depend on a machine.
SPEED, USUAL_CORES = 1e10, 2
HIGHEST_LR = 0.02
MOST_DROPOUT, MOST_DROPCONNECT = 0.3, 0.4
BLANK_SHARE = 0.05  # of dropconnect; without blanks an unseen character misleads far more
# Fewer need a higher rate, and less noise if minutes cut the run short.
# charrnn sweep plays.txt --hidden 176 --epochs 5 --try lr=0.004,0.008,0.012,0.016 --seeds 3
FEW_STEPS = 2_000
USUAL_DECAY, MOST_SHRINKING = 0.1, 1.5  # weight decay; about the most of decay x rate x steps
# The least shares that a run from a model takes of the rate and the passes of a fresh start, and
# the symbols of a list that takes all of them.
LEAST_LR, LEAST_PASSES, WHOLE_START = 0.4, 0.12, 10_000
# What stands for open settings in each run, and in one of train --book.
UNLESS_TYPED: dict[str, Any] = {"optimizer": "adam", "schedule": "cosine", "clip": 1.0}
OFF_IN_BOOK = ("warmup", "dropout", "dropconnect", "blank", "weight_decay")
OF_BOOK: dict[str, Any] = {"layers": 1, "optimizer": "sgd", "schedule": "constant", "clip": 5.0}
OF_BOOK |= dict.fromkeys(OFF_IN_BOOK, 0)
# Its rate on a text of some symbols or fewer; it grows with the cube root, up to four times.
# charrnn sweep dinosaurs --book --try lr=0.1,0.2,0.4,0.8,1.6; plays.txt, too, with --minutes 0.6
BOOK_LR, BOOK_SYMBOLS = 0.2, 15_000
CHECKUPS = 40  # in a whole run, unless a long held-out text makes them too costly
FEWEST_CHECKUPS = 8  # with fewer, each scores a part of the held-out text
TRAINED_PER_SCORED = 15  # symbols between two check-ups, for each symbol scored
LEAST_SCORED = 1 << 14  # symbols of a check-up, if so many are held out
FEWEST_BEFORE_STOP = 12  # check-ups of a run that automatic patience may end
WORK_OF_TWO_SHARDS = 1.2e7  # products of a step from which two processes are faster
FEWEST_LANES = 8  # of two shards together, or of each part where many are asked for
# For some lengths of the training text in symbols, what suits a run that has time enough
TANH_SIZES: Mapping[str, Sequence[int]] = {
    "length": (250, 4_000, 15_000, 60_000, 200_000, 1_000_000, 4_000_000),
    "hidden": (64, 64, 160, 160, 256, 512, 1024),
    "passes": (480, 140, 128, 57, 31, 20, 20),
    "batch": (8, 8, 32, 16, 64, 32, 64),
    "bptt": (16, 16, 16, 32, 32, 64, 64),
}
GATED_SIZES: Mapping[str, Sequence[int]] = {
    "length": (4_000, 15_000, 60_000, 200_000, 1_000_000, 4_000_000),
    "hidden": (48, 128, 128, 256, 384, 768),
    "passes": (60, 48, 28, 23, 20, 20),
    "batch": (4, 16, 16, 64, 32, 64),
    "bptt": (16, 16, 32, 32, 64, 64),
}


class Recipe:
    """How the settings of a cell follow from a corpus."""

    def __init__(self, cell: str) -> None:
        is_gated = cell in ("gru", "lstm")
        self.sizes = GATED_SIZES if is_gated else TANH_SIZES
        # A run without minutes computes so many products of weights, times the root of the symbols.
        self.products = 6e9 if is_gated else 3e9
        # A run reads so many symbols for each weight; if it cannot, the network is smaller.
        self.symbols_per_weight = 8 if is_gated else 14
        # A run that has time for more passes, and for more than FEW_STEPS, grows the network.
        self.passes_before_growing = 5 if is_gated else math.inf
        # Noise grows by the logarithm of passes x weights / symbols: from none at the first number
        # to all of it at the second.
        self.dropout_from = (4.5, 30) if is_gated else (15, 400)
        self.dropconnect_from = (17.5, 640) if is_gated else (35, 610)
        # Held-out text of which counting has the first loss or less is easy, and needs this share
        # of the noise. From the second loss on, text needs it all.
        self.easy_nats = {"gru": (1.5, 1.6), "lstm": (1.35, 1.45)}.get(cell, (1.55, 1.6))
        self.easy_noise = 0.5 if is_gated else 0.75
        self.lr = 0.006 if is_gated else 0.004
        # A step of fewer targets has a lower rate.
        # charrnn sweep dinosaurs --batch 4 --try lr=0.0014,0.004 --seeds 3
        self.small_step = 1 if is_gated else 512
        self.most_work = math.inf if is_gated else 2e9  # symbols x hidden; more have a lower rate
        # The work of a step beside its products takes as long as so many.
        self.overhead = 1.7e6 if is_gated else 8e5

    def at(self, length: int, name: str) -> float:
        """Return a value of the sizes for a text of this length, interpolated on log scales."""
        lengths, values = ([math.log(n) for n in self.sizes[column]] for column in ("length", name))
        return math.exp(np.interp(math.log(length), lengths, values))

    def nearest(self, length: int, name: str) -> int:
        """Return a value for the nearest of the lengths."""
        distances = [abs(math.log(size / length)) for size in self.sizes["length"]]
        return self.sizes[name][distances.index(min(distances))]


def weights_of(hidden: int, layers: int, cell: str) -> int:
    """Return the weights between units, which take most of the time."""
    return CELLS[cell].gates * (2 * layers - 1) * hidden**2


def fit_settings(config: TrainConfig, corpus: Corpus, model: LanguageModel | None = None) -> Fitted:
    """Return the settings with every open one chosen, none larger than the corpus can fill."""
    if model is not None and model.vocabulary.labels and not corpus.vocabulary.labels:
        what = "the model to start from has labels, and the corpus has none"
        raise SettingError(what, "Add [label_by].", "label_by")
    if config.counts:
        check_mixable(config.ends)
    length = len(corpus.train.ids)
    usual = OF_BOOK if config.book else UNLESS_TYPED
    config = replace(config, **{k: v for k, v in usual.items() if getattr(config, k) is None})
    if config.bptt == 0:
        longest = int(np.max(np.diff(corpus.train.starts)))  # symbols of an example, with its END
        if longest > LARGEST:
            what = f"bptt 0 means the longest example, and that has {longest:,} symbols"
            raise SettingError(what, f"It may be a whole number up to {LARGEST}.", "bptt")
        config = replace(config, bptt=longest)
    fit = NetworkFit(config, length, 1.0 if model is None else min(1.0, length / WHOLE_START))
    typed = {name: value for name, value in asdict(config).items() if value is not None}
    settings = fit.choose_settings() | fit.choose_noise(corpus.counting_loss) | typed
    bptt = min(config.bptt or fit.recipe.nearest(length, "bptt"), length)
    batch = max(1, min(config.batch or fit.recipe.nearest(length, "batch"), length // bptt))
    steps = ceil_div(int(fit.share_of_passes * fit.passes * length) + 1, batch * bptt)
    interval = checkup_interval(len(corpus.held_out.ids), batch * bptt, steps)
    shards = config.shards or usual_shards(fit.weights * batch * bptt, batch, config.cores)
    chosen: dict[str, Any] = {"check_every": interval, "warmup": min(200, steps // 20)}
    if config.epochs is None and settings["epochs"] != FOREVER and len(corpus.held_out):
        chosen["patience"] = AUTOMATIC
    chosen |= settings | {"bptt": bptt, "batch": batch, "shards": min(shards, batch)}
    return Fitted(**chosen)


class NetworkFit:
    """The choice of a network, its passes, rate and noise. Each line follows from those above it.

    All are those of a fresh start. A run from a model, on few symbols, has a share of them.
    """

    def __init__(self, config: TrainConfig, length: int, start_share: float) -> None:
        self.config, self.length, self.recipe = config, length, Recipe(config.cell)
        self.share_of_passes = 1.0 if config.epochs else max(LEAST_PASSES, start_share)
        self.share_of_rate = max(LEAST_LR, start_share)
        self.cores = config.cores or USUAL_CORES
        self.layers = config.layers or (1 if config.cell == "output" else 2)
        # Between those of two sizes; the run takes the nearest.
        self.mean_batch = config.batch or self.recipe.at(length, "batch")
        mean_bptt = config.bptt or self.recipe.at(length, "bptt")
        self.targets = min(length, self.mean_batch * mean_bptt)  # of a step
        if config.minutes is None:  # how many products of weights, one a weight and symbol
            symbols = min(length, self.recipe.sizes["length"][-1])
            self.products = self.recipe.products * math.sqrt(symbols)
        else:
            self.products = 60 * config.minutes * self.cores * SPEED
        self.usual_hidden = self.choose_hidden()
        self.hidden = config.hidden or self.usual_hidden
        self.weights = weights_of(self.hidden, self.layers, config.cell)
        self.passes = self.wanted_passes = config.epochs or self.choose_passes()
        if config.minutes is not None:
            overhead = self.cores * self.recipe.overhead / self.mean_batch  # all cores wait for it
            affordable = self.products / ((self.weights + overhead) * length)
            self.passes = min(self.passes, affordable / self.share_of_passes)
        self.steps = self.passes * length / self.targets

    def choose_hidden(self) -> int:
        """Return the units of a layer that the text can fill and the run can afford."""
        # With w weights in a network of one unit, products = w hidden^2 symbols read.
        recipe, w = self.recipe, weights_of(1, self.layers, self.config.cell)
        read_in_passes = recipe.passes_before_growing * self.length
        read_in_steps = FEW_STEPS * self.targets
        by_time = math.sqrt(self.products / w / max(read_in_passes, read_in_steps))
        # With symbols read = symbols per weight x w hidden^2, the products grow as hidden^4.
        by_weights = math.pow(self.products / recipe.symbols_per_weight / w**2, 0.25)
        hidden = min(recipe.at(self.length, "hidden"), max(by_time, by_weights))
        return max(8, 8 * round(hidden / 8))

    def choose_passes(self) -> float:
        """Return the passes, before minutes limit them: with these, more for a smaller network."""
        passes = self.recipe.at(self.length, "passes")
        if self.config.minutes is not None:
            return passes * max(1, (self.recipe.at(self.length, "hidden") / self.hidden) ** 2)
        # whatever [hidden] is
        weights = weights_of(self.usual_hidden, self.layers, self.config.cell)
        return min(passes, max(1, self.products / (weights * self.length)))

    def choose_settings(self) -> dict[str, Any]:
        """Return the sizes, the epochs, the rate and the weight decay of the run."""
        epochs = max(1, round(self.share_of_passes * self.passes))
        lr = self.config.lr or float(f"{self.share_of_rate * self.choose_lr():.2g}")
        decay = min(USUAL_DECAY, MOST_SHRINKING / (lr * self.share_of_passes * self.steps))
        return {
            "hidden": self.hidden,
            "layers": self.layers,
            "epochs": FOREVER if self.passes < self.wanted_passes else epochs,
            "lr": lr,
            "weight_decay": float(f"{decay:.2g}") if self.config.optimizer == "adam" else 0.0,
        }

    def choose_lr(self) -> float:
        """Return the learning rate: lower for small steps and long runs, higher for few steps."""
        if self.config.book and self.config.optimizer == "sgd":
            return BOOK_LR * math.cbrt(min(64.0, max(1.0, self.length / BOOK_SYMBOLS)))
        recipe, targets = self.recipe, self.targets
        usual_targets = recipe.at(self.length, "batch") * recipe.at(self.length, "bptt")
        for_small_step = targets / min(usual_targets, recipe.small_step)
        for_long_run = recipe.most_work / (self.passes * self.length * self.hidden)
        for_few_steps = FEW_STEPS / self.steps * min(1.0, targets / recipe.small_step)
        lowered = math.sqrt(min(1.0, for_small_step, for_long_run))
        return lowered * min(HIGHEST_LR, recipe.lr * max(1.0, for_few_steps))

    def choose_noise(self, counting: float) -> dict[str, float]:
        """Return the shares that are dropped: more for weights that read a text more often.

        Text of which counting has a low loss needs less, and so does a run that ends early.
        """
        recipe, reuse = self.recipe, math.log(self.passes * self.weights / self.length)
        needed = float(np.interp(counting, recipe.easy_nats, (recipe.easy_noise, 1)))
        if self.config.minutes is not None:
            needed *= min(1.0, max(self.steps / FEW_STEPS, self.passes / self.wanted_passes))
        risen = float(np.interp(reuse, np.log(recipe.dropout_from), (0, 1)))
        dropout = round(needed * MOST_DROPOUT * risen, 2)
        dropconnect = self.config.dropconnect
        if dropconnect is None:
            risen = float(np.interp(reuse, np.log(recipe.dropconnect_from), (0, 1)))
            dropconnect = round(needed * MOST_DROPCONNECT * risen, 2)
        blank = round(BLANK_SHARE * dropconnect, 2)
        return {"dropout": dropout, "dropconnect": dropconnect, "blank": blank}


def checkup_interval(held_out: int, targets: int, steps: int) -> int:
    """Return the steps between check-ups, which score a fifteenth of what is read at most."""
    least = ceil_div(TRAINED_PER_SCORED * held_out, targets)
    if least > steps // FEWEST_CHECKUPS:  # so few check-ups score a part of the held-out text
        least = ceil_div(TRAINED_PER_SCORED * min(held_out, LEAST_SCORED), targets)
    return max(1, steps // CHECKUPS, least)


def usual_patience(until_best: int) -> int:
    """Return a quarter of the check-ups that led to the best; a run has at least 12 in all."""
    return max(until_best // 4, FEWEST_BEFORE_STOP - until_best)


def usual_shards(products: float, lanes: int, cores: int | None) -> int:
    """Return the number of shards for a step of so many products, or for cores as asked for."""
    if cores is not None and cores > 2:
        return max(1, min(cores, lanes // FEWEST_LANES))
    return 2 if products >= WORK_OF_TWO_SHARDS and lanes >= FEWEST_LANES else 1


def fit_pace(config: Fitted, typed: TrainConfig, held_out: int, speed: float) -> Fitted:
    """Return the settings with check-ups and warm-up for a time limit, by characters a second."""
    if config.minutes is None:
        return config
    targets = config.batch * config.bptt
    steps = int(speed * 60 * config.minutes / targets)
    interval = checkup_interval(held_out, targets, steps)
    if config.epochs != FOREVER:  # the epochs may end before the minutes
        interval = min(interval, config.check_every)
    warmup = min(config.warmup, steps // 20) if typed.warmup is None else typed.warmup
    return replace(config, check_every=typed.check_every or interval, warmup=warmup)


def settings_to_show(config: Fitted) -> dict[str, Any]:
    """Return the settings by name, without cores, on which no figure depends."""
    settings = asdict(config)
    del settings["cores"]
    epochs = None if config.epochs == FOREVER else config.epochs  # None: minutes alone end the run
    return settings | {"epochs": epochs}


def sizes_of(model: LanguageModel) -> dict[str, Any]:
    """Return the settings that the parameters of a model decide."""
    a = model.architecture
    sizes = {"hidden": a.hidden, "layers": a.layers, "cell": a.cell_name, "ends": a.head_name}
    return sizes | {"clock": a.clock, "teacher_forcing": a.forced}


def take_sizes(config: TrainConfig, model: LanguageModel) -> TrainConfig:
    """Return the settings with the sizes of the model; SettingError if they have others."""
    if config.init_radius != TrainConfig.init_radius:
        what = f"init_radius {config.init_radius:g} is for new weights, and the model has its own"
        raise SettingError(what, "Leave it out, or train without that model.", "init_radius")
    settings = ((f.name, getattr(config, f.name), f.default) for f in fields(config))
    check_sizes({name: value for name, value, usual in settings if value != usual}, model)
    return replace(config, **sizes_of(model))


def check_sizes(typed: Mapping[str, Any], model: LanguageModel) -> None:
    """Raise SettingError if a size is typed that the model does not have."""
    sizes = sizes_of(model)
    hint = "Leave it out; or train a start with it, on the list given-names-latin, say, and name"
    hint += " that model with [start_from]."
    wanted = {name: typed[name] for name in sizes if name in typed}
    check_agreement("the model to start from", sizes, wanted, hint, error=SettingError)


def check_agreement(
    holder: object,
    had: Mapping[str, Any],
    wanted: Mapping[str, Any],
    hint: str,
    *,
    may_rise: Collection[str] = (),  # a limit that was None cannot be raised
    error: type[CharrnnError] = ResumeError,
) -> None:
    """Raise an error that names both values if a wanted setting is not what the holder has."""
    for name, value in wanted.items():
        old = had[name]
        if value != old and (name not in may_rise or old is None or value < old):
            has = in_words(name, old).removeprefix(f"{name} ")
            what = f"{in_words(name, value)} contradicts {holder}, which has {has}"
            is_limit = name in may_rise and old is not None
            raise error(what, f"[{name}] may be raised, not lowered." if is_limit else hint, name)
