"""The sums over a text, and what to think of them: a short table, or one object for programs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from charrnn.cli.console import BOLD, CYAN, Console, Output
from charrnn.cli.numbers import clock, count, counted
from charrnn.cli.table import Column, Entry, Table, entries
from charrnn.corpus.corpus import Corpus
from charrnn.escaping import Visible, visible_line
from charrnn.scoring.baselines import Heard, comparisons
from charrnn.scoring.blocks import Piece
from charrnn.scoring.markov import Baseline
from charrnn.scoring.score import Mean, Score

FIRST = 20  # columns for a name
COLUMNS = (
    Column("", FIRST, is_left=True),
    Column("nats", 8),
    Column("bits", 9, 1),
    Column("perplexity", 13, 2),
)


class Summary:
    """Adds up what it hears."""

    def __init__(self, name: str, examples_are: str, model: str, rate: float | None) -> None:
        self.name = name
        self.examples_are = examples_are
        self.model = model
        self.rate = rate
        self.score = Score()
        self.baselines: list[Baseline] = []
        self._began = time.monotonic()
        self._seconds = 0.0

    def hear(self, piece: Piece) -> None:
        """Add a piece."""
        self.score += piece.score()

    def finish(self) -> None:
        """Stop the clock."""
        self._seconds = time.monotonic() - self._began

    def compare(self, corpus: Corpus, heard: Heard) -> None:
        """Find out what others make of the same text."""
        self.baselines = list(comparisons(corpus, heard))

    @property
    def characters_per_second(self) -> float:
        """Ends counted."""
        return self.score.overall.count / max(self._seconds, 1e-9)

    def sums(self) -> Mapping[str, str]:
        """What is worth a place above the text in colours."""
        overall = self.score.overall
        sums = {
            "bits per character": f"{overall.bits_per_character:.3f}",
            "perplexity": shown(overall.perplexity),
            "characters": f"{self.score.characters:,}",
            "examples": f"{self.score.ends:,}",
            "never seen before": f"{self.score.unknown:,}",
            "model": self.model,
        }
        return sums if self.rate is None else sums | {"learning at": f"{self.rate:g}"}

    def show(self, console: Console, *, as_json: bool, is_aside: bool) -> None:
        """Show it on stdout, unless that has rows on it."""
        if is_aside:
            console.note(self.in_a_line())
        elif as_json:
            console.json("eval", self.as_json())
        else:
            console.out.write_lines(entries(self.in_words(), console.out))
            console.out.write_lines(self.table(console.out))

    def in_words(self) -> list[Entry]:
        """What was scored, and by what."""
        score = self.score
        text = f"{count(score.ends, 'example', are=self.nature)}, {score.characters:,} characters"
        learning = "" if self.rate is None else f", learning at {self.rate:g} while it reads"
        speed = f"{counted(self.characters_per_second)} characters a second"
        unseen = count(score.unknown, "character")
        return [
            ("text", self.name),
            ("", f"{text}, {score.bytes:,} bytes"),
            ("model", self.model + learning),
            *([("unseen", f"{unseen} never seen in training")] if score.unknown else []),
            ("time", f"{clock(self._seconds)}, {speed}"),
        ]

    @property
    def nature(self) -> str:
        """What examples are called: nothing, where that was found out on the way."""
        return "" if self.examples_are == "auto" else self.examples_are

    def table(self, output: Output) -> Iterator[Visible]:
        """The loss in all its forms, and in the order of merit, if it is to be compared."""
        score, table = self.score, Table(COLUMNS, output.width, output)
        yield Visible("")
        yield table.head()
        yield output.paint(table.row(cells("per character", score.overall)), BOLD)
        yield table.row(cells("ends not counted", score.without_end))
        if score.unknown:
            yield table.row(cells("unseen not counted", score.without_unknown))
        yield table.row({"": "per byte", "bits": f"{score.bits_per_byte:.3f}"})
        if self.baselines:
            yield Visible("")
            yield output.paint(Visible("compared"), CYAN)
            means = {one.name: Mean(one.nats_per_character, 1) for one in self.baselines}
            means[self.model] = score.overall
            for name in sorted(means, key=lambda name: -means[name].nats_per_character):
                row = table.row(cells(name, means[name]))
                yield output.paint(row, BOLD) if name == self.model else row

    def in_a_line(self) -> str:
        """The loss, where there is no room for more."""
        overall = self.score.overall
        learning = "" if self.rate is None else f", learning at {self.rate:g}"
        return (
            f"{overall.nats_per_character:.4f} nats or {overall.bits_per_character:.4f} bits per"
            f" character, over {count(self.score.characters, 'character')} and"
            f" {count(self.score.ends, 'end')}{learning}"
        )

    def as_json(self) -> dict[str, object]:
        """All of it for programs."""
        return {
            "text": self.name,
            "examples": self.score.ends,
            **self.score.figures(),
            "baselines": {
                one.name: Mean(one.nats_per_character, 1).per_character() for one in self.baselines
            },
            "model": self.model,
            "dynamic": self.rate,
            "seconds": self._seconds,
            "characters_per_second": self.characters_per_second,
        }


def cells(name: str, mean: Mean) -> dict[str, str]:
    """What stands in a row of the table."""
    return {
        "": fitted(name),
        "nats": f"{mean.nats_per_character:.3f}",
        "bits": f"{mean.bits_per_character:.3f}",
        "perplexity": shown(mean.perplexity),
    }


def fitted(name: str) -> str:
    """The name, or the end of it."""
    name = visible_line(name)
    return name if len(name) < FIRST else f"..{name[3 - FIRST :]}"


def shown(perplexity: float) -> str:
    """A perplexity of any size."""
    return f"{perplexity:.2f}" if perplexity < 1e6 else f"{perplexity:.2e}"
