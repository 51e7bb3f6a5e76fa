"""The sums over a text, and what to think of them: a short table, or one object for programs."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping

from charrnn import escaping
from charrnn.cli import layout
from charrnn.cli.console import Talk, write_json
from charrnn.cli.layout import BOLD, CYAN, Fact
from charrnn.cli.numbers import clock, count, counted
from charrnn.corpus.corpus import Corpus
from charrnn.scoring.baselines import Heard, comparisons
from charrnn.scoring.blocks import Piece
from charrnn.scoring.markov import Baseline
from charrnn.scoring.score import Mean, Score

FIRST = 20  # columns for a name
HEAD = f"{'nats':>{FIRST + 8}}{'bits':>9}{'perplexity':>13}"
ENDS = (FIRST + 8 + 9 + 13, FIRST + 8 + 9, FIRST + 8)  # of the columns, where a window cuts them


class Verdict:
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

    def show(self, talk: Talk, *, as_json: bool, is_aside: bool) -> None:
        """Show it on stdout, unless that has rows on it."""
        if is_aside:
            talk.note(self.in_a_line())
        elif as_json:
            write_json("eval", self.as_json())
        else:
            layout.say(self.facts(), sys.stdout)
            sys.stdout.write("\n" + "".join(f"{line}\n" for line in self.table()))

    def facts(self) -> list[Fact]:
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

    def table(self) -> list[str]:
        """The loss in all its forms, and in the order of merit, if it is to be compared."""
        score = self.score
        lines = [
            layout.paint(narrowed(HEAD), CYAN, sys.stdout),
            layout.paint(line("per character", score.overall), BOLD, sys.stdout),
            line("ends not counted", score.without_end),
        ]
        if score.unknown:
            lines.append(line("unseen not counted", score.without_unknown))
        lines.append(narrowed(f"{'per byte':{FIRST}}{'':8}{score.bits_per_byte:9.3f}"))
        if self.baselines:
            lines += ["", layout.paint("compared", CYAN, sys.stdout), *self.ranking()]
        return lines

    def ranking(self) -> list[str]:
        """The model among the others, the worst first."""
        means = {one.name: Mean(one.nats_per_character, 1) for one in self.baselines}
        means[self.model] = self.score.overall
        lines = []
        for name in sorted(means, key=lambda name: -means[name].nats_per_character):
            text = line(name, means[name])
            lines.append(layout.paint(text, BOLD, sys.stdout) if name == self.model else text)
        return lines

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


def line(name: str, mean: Mean) -> str:
    """A line of the table."""
    nats, bits = mean.nats_per_character, mean.bits_per_character
    return narrowed(f"{fitted(name):{FIRST}}{nats:8.3f}{bits:9.3f}{shown(mean.perplexity):>13}")


def narrowed(text: str) -> str:
    """The text without the columns for which the window has no room."""
    room = layout.width(sys.stdout)
    return text[: next((end for end in ENDS if end <= room), ENDS[-1])].rstrip()


def fitted(name: str) -> str:
    """The name, or the end of it."""
    name = escaping.visible_line(name)
    return name if len(name) < FIRST else f"..{name[3 - FIRST :]}"


def shown(perplexity: float) -> str:
    """A perplexity of any size."""
    return f"{perplexity:.2f}" if perplexity < 1e6 else f"{perplexity:.2e}"
