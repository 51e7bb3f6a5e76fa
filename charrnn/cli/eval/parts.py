"""``eval --part I/N``: the sums of a part, whole numbers of units that add up exactly; and ``eval
--add``, which adds them up.

    "part": {"number": 2, "of": 8, "text": hash, "scores": [{"model": .., "sums": {..}}, ..]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import blake2b
from typing import Any

from charrnn.cli.console import Console
from charrnn.cli.eval.options import Options
from charrnn.cli.eval.rows import Alarm
from charrnn.cli.eval.summary import Summary, show
from charrnn.corpus.decoding import blocks
from charrnn.corpus.files import name_of
from charrnn.errors import CorpusError
from charrnn.scoring.pieces import Extent
from charrnn.scoring.score import Score
from charrnn.settings.corpus import Reading
from charrnn.settings.using import Part

SAME = "Add up parts of one text, scored by the same models in the same way."


def part_json(
    part: Part, extent: Extent, options: Options, summaries: Sequence[Summary]
) -> dict[str, object]:
    """All that it takes to add a part to the others, and to see that it is one of them."""
    return {
        **part._asdict(),
        "text": extent.digest,
        "models": [
            blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in options.models
        ],
        "use": options.use,
        "above": options.above,
        "scores": [
            {
                "model": summary.model,
                "examples_are": summary.examples_are,
                "ends_apart": summary.ends_apart,
                "sums": {
                    name: asdict(score)
                    for name, score in {"": summary.score, **summary.parts}.items()
                },
            }
            for summary in summaries
        ],
    }


def add_up(options: Options, console: Console) -> None:
    """Show what the parts of a text come to together."""
    found = dict(read_parts(options.sources))
    first = next(iter(found.values()))
    check_complete(found, first)
    summaries = []
    for at, score in enumerate(first["part"]["scores"]):
        summary = Summary(first["text"], score["examples_are"], score["model"], None)
        summary.ends_apart = score["ends_apart"]
        for one in found.values():
            sums = dict(one["part"]["scores"][at]["sums"])
            summary.score += Score(**sums.pop(""))
            for name, more in sums.items():
                summary.parts[name] = summary.parts.get(name, Score()) + Score(**more)
        summary.seconds = sum(one["seconds"] for one in found.values())
        summaries.append(summary)
    alarm = None
    if first["part"]["above"] is not None:
        alarm = Alarm(first["part"]["above"], of_characters=False)
        alarm.found = sum(one["above"] for one in found.values())
    more = {"fast": first["fast"], "above": None if alarm is None else alarm.found}
    show(summaries, console, more, as_json=options.as_json, is_aside=False)
    if alarm is not None:
        alarm.tell(console)


def read_parts(sources: Sequence[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each part by its number, in the order of the numbers."""
    found: dict[int, Mapping[str, Any]] = {}
    for source in sources:
        name = name_of(source)
        lines = "".join(blocks(source, Reading())).splitlines()
        if not lines:
            raise CorpusError(
                f"{name} is empty", "Has the job that was to write it come to its end?"
            )
        for line in lines:
            one = part_in(line, name)
            number = one["part"]["number"]
            if number in found:
                raise CorpusError(f"part {number} is there twice, in {name} too", SAME)
            found[number] = one
    yield from sorted(found.items())


def part_in(line: str, name: str) -> Mapping[str, Any]:
    """What a line says of a part, as far as it is one."""
    try:
        one = json.loads(line)
        part = one["part"]
        assert one["schema"] == "charrnn.eval/1"
        assert 1 <= part["number"] <= part["of"]
        assert isinstance(one["seconds"], float)
        for score in part["scores"]:
            for sums in score["sums"].values():
                assert all(type(value) is int for value in sums.values())
                Score(**sums)
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError):
        raise CorpusError(
            f"{name} is not what a part wrote", "Write it with charrnn eval --part I/N --json."
        ) from None
    return dict(one)


def check_complete(found: Mapping[int, Mapping[str, Any]], first: Mapping[str, Any]) -> None:
    """CorpusError unless these are all parts of one text, scored in one way."""

    def kind(one: Mapping[str, Any]) -> list[object]:
        part = one["part"]
        models = [score["model"] for score in part["scores"]]
        return [part[name] for name in ("of", "text", "models", "use", "above")] + [models]

    for number, one in found.items():
        if kind(one) != kind(first) or one["fast"] != first["fast"]:
            raise CorpusError(f"part {number} is not of the same whole as the first", SAME)
    of = first["part"]["of"]
    missing = [number for number in range(1, of + 1) if number not in found]
    if missing:
        names = ", ".join(f"{number}/{of}" for number in missing[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise CorpusError(f"these parts are missing: {names}{more}", "Score them, and add all up.")
