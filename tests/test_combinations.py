"""What can be chosen together is learned, kept, gone on with, drawn from and scored; what cannot is
refused, with a reason.

An option that changes what a network is gets a row in VARIED, and what contradicts it a row in
REFUSED.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice, product
from pathlib import Path
from typing import Any, Final

import pytest

import charrnn
from charrnn.errors import SettingError
from charrnn.network.cells import CELLS
from charrnn.network.heads import HEADS
from charrnn.sampler import SampleConfig, Sampler
from charrnn.training.loop import Step
from tests.networks import score_texts

Choice = dict[str, Any]

VARIED: Final[dict[str, list[Any]]] = {
    "cell": list(CELLS),
    "ends": list(HEADS),
    "clock": [False, True],
    "reads": ["truth", "forced", "own", "free"],  # what the network reads, and what is fed back
}
READS: Final[dict[str, Choice]] = {
    "truth": {},
    "forced": {"teacher_forcing": True},
    "own": {"own_inputs": 1.0},
    "free": {"free_running": 2},
}
# what cannot be, and how its reason begins
REFUSED: Final[list[tuple[Callable[[Choice], bool], str]]] = [
    (
        lambda c: c["reads"] == "forced" and c["cell"] != "output",
        "teacher_forcing replaces outputs that are fed back",
    ),
]

CHOICES = [dict(zip(VARIED, values, strict=True)) for values in product(*VARIED.values())]
SMALL: Final[Choice] = {"hidden": 4, "batch": 2, "bptt": 5, "check_every": 2}
NAMES = ["anna", "bob", "clara", "dora", "emil", "fritz"]


def reason(choice: Choice) -> str | None:
    """Why this cannot be, if it cannot."""
    return next((why for cannot_be, why in REFUSED if cannot_be(choice)), None)


def named(choice: Choice) -> str:
    """What the test of a choice is called."""
    words = (name if value is True else str(value) for name, value in choice.items() if value)
    return " ".join(words)


def is_usual(choice: Choice) -> bool:
    """Return whether the positions of the values in VARIED have an even sum."""
    return sum(VARIED[name].index(value) for name, value in choice.items()) % 2 == 0


def settings(choice: Choice) -> Choice:
    """The fields of TrainConfig that make it so."""
    given = {name: value for name, value in choice.items() if name != "reads"}
    layers = 1 if choice["cell"] == "output" else 2  # the layers below have no outputs
    return SMALL | given | READS[choice["reads"]] | {"layers": layers}


def stepped(run: charrnn.Run, steps: int) -> charrnn.Run:
    """The run, so many steps on."""
    next(islice((event for event in run if isinstance(event, Step)), steps - 1, None))
    return run


# Half of the choices, in which any two values of two options still meet; all with --long.
POSSIBLE = [
    pytest.param(c, id=named(c), marks=[] if is_usual(c) else pytest.mark.long)
    for c in CHOICES
    if reason(c) is None
]


@pytest.mark.parametrize("choice", POSSIBLE)
def test_it_is_learned_kept_gone_on_with_drawn_from_and_scored(
    tmp_path: Path, choice: Choice
) -> None:
    config = charrnn.TrainConfig(**settings(choice))
    whole, part = tmp_path / "whole.npz", tmp_path / "part.npz"
    stepped(charrnn.train(NAMES, config), 2).save(whole)
    stepped(charrnn.train(NAMES, config), 1).save(part)
    stepped(charrnn.resume(part, NAMES), 1).save(part)
    assert part.read_bytes() == whole.read_bytes()

    model = charrnn.load(whole)
    assert {name: getattr(model.config, name) for name in settings(choice)} == settings(choice)
    sampler = Sampler(model.language_model, SampleConfig(seed=1, max_characters=40), "")
    together = list(sampler.samples(range(8)))
    assert together[2:3] == list(sampler.samples([2]))
    for sample in together:
        if sample.ended == "end":
            scored = score_texts(model.language_model, [sample.text])
            assert sample.nats == pytest.approx(scored.nats, rel=1e-3)
    assert math.isfinite(model.score([*NAMES, "Ж?"]).nats)


@pytest.mark.parametrize("choice", [c for c in CHOICES if reason(c) is not None], ids=named)
def test_it_is_refused_with_a_reason(choice: Choice) -> None:
    with pytest.raises(SettingError, match=reason(choice)):
        charrnn.TrainConfig(**settings(choice))
