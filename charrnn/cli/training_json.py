"""A run for programs: one name for one thing, in a plan, in a summary and in what a file holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from charrnn.corpus.warnings import Warned
from charrnn.cost import Plan
from charrnn.model_file.schema import CorpusRecord
from charrnn.presets import FOREVER
from charrnn.settings.training import Fitted


def plan_json(
    plan: Plan, record: CorpusRecord, symbols: int, rate: float, left: float, timed: float | None
) -> dict[str, Any]:
    """The plan, at so many characters a second, with so many seconds left of its epochs, and so
    many minutes where the clock may end it.
    """
    ends = [left] if plan.steps is not None else []
    ends += [60 * timed] if timed is not None else []
    return {
        "corpus": corpus_json(record, symbols),
        "parameters": plan.parameters,
        "hidden": plan.config.hidden,
        "layers": plan.config.layers,
        "symbols": symbols,
        "memory_bytes": plan.memory_bytes,
        "steps_per_epoch": plan.steps_per_epoch,
        "steps": plan.steps,
        "seconds": min(ends),
        "characters_per_second": rate,
        "settings": settings_json(plan.config),
        "baselines": in_order(record.baselines),
    }


def corpus_json(record: CorpusRecord, symbols: int) -> dict[str, Any]:
    """The corpus: what most programs ask for first, and then all that is remembered of it."""
    promised = {
        "examples": record.examples,
        "characters": record.characters,
        "symbols": symbols,
        "held_out_examples": record.held_out_examples,
        "held_out_characters": record.held_out_characters,
        "examples_are": record.examples_are,
    }
    rest = asdict(record)
    for name in ("baselines", "places", "known"):  # beside the corpus; for the file alone
        del rest[name]
    return promised | rest


def settings_json(config: Fitted) -> dict[str, Any]:
    """The settings; null where there is no limit."""
    return {
        name: None if name == "epochs" and value == FOREVER else value
        for name, value in asdict(config).items()
    }


def warnings_json(found: Iterable[Warned]) -> list[dict[str, Any]]:
    """What is doubtful about the corpus."""
    return [asdict(one) for one in found]


def in_order(losses: Mapping[str, float]) -> dict[str, float]:
    """Baselines from the simplest to the longest memory; a file has them in the order of names."""
    first = ("uniform", "unigram")

    def place(name: str) -> tuple[int, str]:
        return (first.index(name), "") if name in first else (len(name) + 1, name)

    return {name: losses[name] for name in sorted(losses, key=place)}
