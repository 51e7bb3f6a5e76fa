"""What a learning curve shows, whatever it is drawn with: losses over steps, and a line to beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from charrnn.errors import CharrnnError, SettingError
from charrnn.model_file.checkpoint import Trained
from charrnn.model_file.schema import CorpusRecord


class HasTrained(Protocol):
    """A model, as far as it is looked at here."""

    @property
    def trained(self) -> Trained:
        """What its run has come to."""
        ...


class Curve(NamedTuple):
    """All of it, in nats per character."""

    steps: list[float]
    learning: list[float]
    held_out: list[float]  # none where nothing was held out
    best: tuple[float, float] | None  # the step of the lowest held-out loss, and that
    baseline: tuple[str, float] | None  # the best by counting


def curve_of(trained: Trained) -> Curve | None:
    """The curve of a run; None where nobody kept it, or there was no check-up."""
    longest = trained.longest
    if not longest.history:
        return None
    rows: list[Mapping[str, float]] = [*first_row(trained.corpus), *longest.history]
    held_out = [row["held_out"] for row in rows if "held_out" in row]
    if len(held_out) < len(rows):
        rows, held_out = [*longest.history], []
    best = None
    if held_out and longest.best is not None:
        step, nats = longest.best
        best = float(step), nats
    baselines = trained.corpus.baselines
    baseline = (best_of(baselines), min(baselines.values())) if baselines else None
    steps, learning = [row["step"] for row in rows], [row["train"] for row in rows]
    return Curve(steps, learning, held_out, best, baseline)


def curves_of(models: Mapping[str, HasTrained]) -> dict[str, Curve]:
    """The curves of several; CharrnnError where one has none, or is no model."""
    found = {}
    for name, model in models.items():
        if not isinstance(getattr(model, "trained", None), Trained):
            raise SettingError(
                f"a model cannot be {type(model).__name__}",
                "Give what charrnn.load or charrnn.fit has made.",
                "models",
            )
        curve = curve_of(model.trained)
        if curve is None:
            raise CharrnnError(
                f"there is no curve of {name or 'this model'}: nothing is known of how it learned",
                "A slim model has no history: take the one that it was made of."
                if model.trained.slim
                else "Train it until its first check-up.",
            )
        found[name] = curve
    return found


def share_a_corpus(models: Mapping[str, HasTrained]) -> bool:
    """Whether all have learned from the same, so that there is one line to beat."""
    return len({model.trained.corpus.fingerprint for model in models.values()}) == 1


def first_row(corpus: CorpusRecord) -> list[Mapping[str, float]]:
    """What a network loses before its first step, where that is known and it began from nothing."""
    begins = corpus.baselines.get("unigram")
    return (
        [] if begins is None or corpus.known else [{"step": 0, "train": begins, "held_out": begins}]
    )


def best_of(losses: Mapping[str, float]) -> str:
    """The name of the best of these baselines."""
    return min(losses, key=lambda name: losses[name])
