"""``eval --part I/N`` writes the exact sums of a part of a text; ``eval --add`` adds them up.

"part": {"number": 2, "of": 8, "text": hash, "scores": [{"model": .., "sums": {..}}, ..]}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from charrnn.json_lines import parse
from charrnn.scoring.pieces import Extent
from charrnn.scoring.score import Score
from charrnn.settings.corpus import Reading
from charrnn.settings.using import Part, Parts

SAME = "Add up parts of one text, scored by the same models in the same way."
Scored = Mapping[str, Any]  # the JSON object of a part


def part_json(
    part: Part, extent: Extent, options: Options, summaries: Sequence[Summary]
) -> dict[str, object]:
    """Return the sums of a part, and what identifies the text and the models."""
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
    """Show the result for the whole text from its parts."""
    parts = read_parts(options.sources)
    first = parts[0]
    check_complete(parts)
    summaries = []
    for index, score in enumerate(first["part"]["scores"]):
        summary = Summary(first["text"], score["examples_are"], score["model"])
        summary.ends_apart = score["ends_apart"]
        for scored in parts:
            sums = dict(scored["part"]["scores"][index]["sums"])
            summary.score += Score(**sums.pop(""))
            for name, more in sums.items():
                summary.parts[name] = summary.parts.get(name, Score()) + Score(**more)
        summary.seconds = sum(scored["seconds"] for scored in parts)
        summaries.append(summary)
    alarm = None
    if first["part"]["above"] is not None:
        alarm = Alarm(first["part"]["above"], of_characters=False)
        alarm.count = sum(scored["above"] for scored in parts)
    more = {"fast": first["fast"], "above": alarm and alarm.count}
    show(summaries, console, more, as_json=options.as_json, is_aside=False)
    if alarm is not None:
        alarm.ring(console)


def read_parts(sources: Sequence[str]) -> list[Scored]:
    """Return the parts in these files, ordered by their numbers."""
    parts: dict[int, Scored] = {}
    for source in sources:
        name = name_of(source)
        lines = "".join(blocks(source, Reading())).splitlines()
        if not lines:
            raise CorpusError(f"{name} is empty", "Check that the job that writes it has finished.")
        for line in lines:
            scored = parse_part(line, name)
            number = scored["part"]["number"]
            if number in parts:
                raise CorpusError(f"{name} holds part {number} a second time", SAME)
            parts[number] = scored
    return [parts[number] for number in sorted(parts)]


def parse_part(line: str, name: str) -> Scored:
    """Return the part on a line; raise CorpusError if the line holds anything else."""
    try:
        scored = parse(line)
        part = scored["part"]
        assert scored["schema"] == "charrnn.eval/1"
        Parts().plain(Part(part["number"], part["of"]))
        assert isinstance(scored["seconds"], float)
        assert {"fast", "above"} <= scored.keys()
        assert {"text", "models", "use", "above"} <= part.keys()
        assert part["scores"]
        for score in part["scores"]:
            assert {"model", "examples_are", "ends_apart"} <= score.keys()
            for sums in (score["sums"][""], *score["sums"].values()):
                assert all(type(value) is int for value in sums.values())
                Score(**sums)
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError):
        raise CorpusError(
            f"{name} is not the result of a part", "Write it with charrnn eval --part I/N --json."
        ) from None
    return scored


def check_complete(parts: Sequence[Scored]) -> None:
    """Raise CorpusError unless these are all parts of one text, scored in one way."""

    def kind(scored: Scored) -> list[object]:
        part = scored["part"]
        models = [score["model"] for score in part["scores"]]
        same = [part[name] for name in ("of", "text", "models", "use", "above")]
        return [*same, models, scored["fast"]]

    for scored in parts:
        if kind(scored) != kind(parts[0]):
            number = scored["part"]["number"]
            raise CorpusError(f"part {number} does not match the first part", SAME)
    of = parts[0]["part"]["of"]
    missing = sorted({*range(1, of + 1)} - {scored["part"]["number"] for scored in parts})
    if missing:
        names = ", ".join(f"{number}/{of}" for number in missing[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        raise CorpusError(f"missing parts: {names}{more}", "Score them, and add all parts up.")
