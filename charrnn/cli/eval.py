"""The loss is the mean surprisal per character in bits. Each example (a line, say) counts its
characters and its end. A character that the model has never seen costs its share of all characters
of Unicode, so the loss is always finite. Rank 1 is the likeliest symbol.

A line is odd if it is far more surprising than any line should be: --above 1.5x shows those with
more than 1.5 times the bits per character of the oddest held-out line of the training. Bytes that
cannot be decoded are unknown characters, with a warning; --errors strict refuses them.

# the loss on the held-out text, beside counting
charrnn eval --baselines

# the ten oddest lines of a log
charrnn eval today.log --top 10

# report odd lines as they come; the exit status is 3 if there are any
tail -f server.log | charrnn eval - --per-example --above 1.5x

# colour the characters by surprisal
charrnn eval letter.txt --per-char

# compare two models, and the mean of both
charrnn eval play.txt -m small.npz -m large.npz
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from itertools import tee
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from charrnn.cli import options as shared
from charrnn.cli.console import Console, count, json_line, only_one
from charrnn.cli.options import flag
from charrnn.cli.scores import excerpt, records_of, show_records, write_characters
from charrnn.errors import ABOVE, CorpusError, ModelFileError, SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.values import COUNT, Values, ensure, setting
from charrnn.system.cores import cores_for
from charrnn.system.packaged import CORPORA
from charrnn.system.visible import Visible, visible_line

if TYPE_CHECKING:
    from charrnn.files.model_corpus import Example
    from charrnn.model import Model
    from charrnn.prediction.predictor import Predictor, Use
    from charrnn.prediction.scoring import Group, ScoredTexts
    from charrnn.text.corpus import Corpus

Row = tuple[float, Visible]  # the nats per character of an example, and its line
MIXTURE = "mixture"  # the name of all models together


class Threshold(Values):
    """A number of bits per character, or a multiple of those of the oddest held-out example."""

    def checked(self, value: Any) -> str:
        ensure(0 <= float(value.removesuffix("x")) < math.inf)
        return str(value)


@dataclass(frozen=True, kw_only=True)
class Options(shared.CommandOptions):
    FIRST = "sources held_out per_example top above per_char baselines label use models"
    sources: tuple[str, ...] = shared.text_option("Score these files")
    held_out: bool = flag(
        "Read the held-out text, even if text is piped in.", short="Score the held-out text"
    )
    examples: str | None = shared.field_of(
        CorpusConfig, "examples", default_in_words="as in training"
    )
    reading: dict[str, Any] = shared.nested(Reading, default_in_words="as in training")
    per_example: bool = flag("Show a row for each example|, as it is scored.")
    top: int | None = setting(COUNT, "Show the N oddest examples|, the most surprising first.")
    above: str | None = setting(
        Threshold("BITS|Rx", "a number of bits of at least 0, or a multiple such as 1.5x"),
        "Exit with status 3 if an example has more bits per character than this, or than R times"
        " the oddest held-out one, as by 1.5x. Rows show only these.",
        short="Exit with 3 if one is odder",
    )
    per_char: bool = flag(
        "Show the text coloured by surprisal; without colours, a row for each character with its"
        " nats and rank.",
        short="Colour the text by surprisal",
    )
    baselines: bool = flag(short="Compare with counting")
    label: str | None = shared.label_option(
        "Score all texts under this label.", default_in_words="all labels, by their frequency"
    )
    use: Use | None = shared.use_option()
    models: tuple[Path, ...] = shared.models_option(
        "Several are compared with each other and with the mean of their probabilities."
        " Repeatable.",
        short="Score with this model",
    )
    cores: int | None = shared.cores_option()
    scheduler: str | None = shared.scheduler_option()


def run(options: Options, console: Console) -> None:
    """Score the text and show the result. Raise SystemExit if something is above --above."""
    if not options.held_out and not options.sources:
        options = replace(options, sources=console.piped())
    check(options)
    from charrnn.files.model_corpus import NAME_A_TEXT, rebuild_corpus
    from charrnn.model import load, mix

    began = time.monotonic()
    models = {shown_name(path): load(path) for path in options.models}
    first = shown_name(options.models[0])
    model, learned = models[first], models[first].vocabulary.labels
    predictors = {name: model.predictor(options.use) for name, model in models.items()}
    if len(models) > 1:
        predictors = {MIXTURE: mix(*models.values()).predictor(options.use), **predictors}
    use = next(iter(predictors.values())).use
    rows = Rows(oddest_of(models, use, options), learned, options, console)
    needs_corpus = options.baselines or not options.sources
    hint = "Leave out [baselines], which count that corpus." if options.sources else NAME_A_TEXT
    corpus = rebuild_corpus(model.corpus, hint) if needs_corpus else None
    groups = groups_to_score(model, corpus, options, console)
    rows.write_head()
    split = None if corpus is None or options.sources else len(corpus.held_out.ids) // 2
    scored = score_groups(groups, split, predictors, rows)
    if scored and (options.as_json or rows.count or not (options.above and console.quiet)):
        facts: dict[str, Any] = {"seconds": time.monotonic() - began}
        facts |= {"above": options.above, "above_count": rows.count} if options.above else {}
        records = records_of(scored, first, corpus if options.baselines else None, learned)
        show_records([record | facts for record in records], console, as_json=options.as_json)
    if options.above and rows.count:
        console.note(f"{count(rows.count, 'example')} above {options.above}")
        raise SystemExit(ABOVE)


def check(options: Options) -> None:
    """Raise an error if options exclude each other, or a word was typed in place of a file."""
    rows = {"--top": options.top} if options.top else {"--per-example": options.per_example}
    only_one({"--per-char": options.per_char, "--baselines": options.baselines, **rows})
    only_one({"--per-char": options.per_char, "--above": options.above})
    only_one({"--cores": options.cores, "--scheduler": options.scheduler})
    only_one({"--held-out": options.held_out, "TEXT": options.sources})
    only_one({"--label": options.label, "--label-by": options.reading.get("label_by")})
    if not options.sources and (options.examples or options.reading):
        name = next(iter(options.reading), "examples")
        raise SettingError(f"--{name} needs TEXT", "Held-out text is read as in training.")
    for source in options.sources:
        if source.isalnum() and source not in CORPORA and not os.path.lexists(source):
            hint = f"To score a word: echo {source} | charrnn eval"
            raise CorpusError(f"{source} does not exist", hint)


def shown_name(path: Path) -> str:
    return os.path.join(os.curdir, path) if str(path) == MIXTURE else str(path)


def groups_to_score(
    model: Model, corpus: Corpus | None, options: Options, console: Console
) -> Iterable[list[Example]]:
    """Return the examples in groups: in a list, or as they come where rows of a pipe are shown."""
    from charrnn.files.model_corpus import examples_in, held_out_examples
    from charrnn.prediction.scoring import groups_of

    console.note_if_waiting(options.sources)
    is_live = options.sources == ("-",) and options.per_example and not options.top
    kind: Any = options.examples or model.corpus.config.examples
    typed = {"errors": "replace", **options.reading}
    how = {"needs_column": options.above is not None, "is_live": is_live}
    files = examples_in(model.corpus, options.sources, typed, kind, console.warn, **how)
    if corpus is not None and not options.sources:
        files = iter([held_out_examples(corpus)])
    groups = (group for examples in files for group in groups_of(examples, attrgetter("text")))
    return groups if is_live else list(groups)


def score_groups(
    groups: Iterable[list[Example]], split: int | None, predictors: dict[str, Predictor], rows: Rows
) -> dict[str, ScoredTexts]:
    """Score the groups and add them to the rows. If these are not shown, return all by model."""
    from charrnn.prediction.losses import Score, in_bits
    from charrnn.prediction.scoring import join_groups, score_group
    from charrnn.spread.workers import open_executor
    from charrnn.text.reading import name_of

    options, console, total = rows.options, rows.console, Score()
    used = [*predictors.values()][: 1 if rows.are_shown else None]
    cores = min(len(groups), cores_for(options.cores)) if isinstance(groups, list) else 1
    results: list[list[ScoredTexts]] = []
    groups, copies = tee(groups)
    with open_executor(used, cores, options.scheduler) as executor:
        texts = texts_of(copies, split, options.label)
        work = executor(partial(score_group, ranking=options.per_char), texts)
        for examples, scored in zip(groups, work, strict=True):
            rows.add(examples, scored[0])
            total += scored[0].total
            results += [] if rows.are_shown else [scored]
    console.out.write_lines(line for _, line in rows.top_rows)
    if not total.ends:
        what = f"nothing was scored: {', '.join(map(name_of, options.sources))} is empty"
        hint = "Name a text with a visible character, or score the held-out text by --held-out."
        raise CorpusError(what, hint)
    if rows.are_shown:
        size = f"{count(total.characters, 'character')} and {count(total.ends, 'end')}"
        console.note(f"{in_bits(total.nats_per_character)} bits per character, over {size}")
    by_model = map(join_groups, zip(*results, strict=True))
    return dict(zip(predictors, by_model, strict=False))  # none without results


def texts_of(
    groups: Iterable[list[Example]], split: int | None, label: str | None
) -> Iterator[Group]:
    """Yield the texts of each group, and the middle of the held-out text, counted from there."""
    from charrnn.prediction.scoring import Group

    for examples in groups:
        texts = [example.text for example in examples]
        labels = [example.label if label is None else label for example in examples]
        known = [name for name in labels if name is not None]  # of all, or of none
        yield Group(texts, split, known or None, telling=label is None)
        split = None if split is None else split - sum(len(text) + 1 for text in texts)


def oddest_of(models: dict[str, Model], use: Use, options: Options) -> float | None:
    """Return the nats of the oddest held-out example, or None; ModelFileError if --above needs it.

    Texts without a label are compared with its sum over all labels.
    """
    from charrnn.prediction.losses import ENOUGH_EXAMPLES
    from charrnn.prediction.scoring import MOST_SUMMED

    model, *others = models.values()
    trained, labels = model.trained, len(model.vocabulary.labels)
    is_given = not labels or options.label is not None or "label_by" in options.reading
    known = trained.oddest if is_given or not options.sources else trained.oddest_sums
    held_out = count(model.corpus.held_out_examples, "example")
    if others:
        why = "several models have no common unit"
    elif options.examples not in (None, model.corpus.config.examples):
        why = "examples are not cut as in training"
    elif use in known:
        return known[use]
    elif model.corpus.held_out_examples < ENOUGH_EXAMPLES:
        why = f"the training held out {held_out}, and {ENOUGH_EXAMPLES} are needed"
    else:
        is_unsummed = known is trained.oddest_sums and labels > MOST_SUMMED
        why = f"{labels} labels need --label" if is_unsummed else "the unit is not known"
    if (options.above or "").endswith("x"):
        raise ModelFileError(f"--above {options.above}: {why}", "Or name bits: --above 4.")
    return None


def limit_of(above: str | None, oddest: float | None) -> float:
    """Return --above in nats per character, of which the oddest held-out example has so many."""
    if above is None:
        return -math.inf
    number = float(above.removesuffix("x"))
    return number * (oddest or 0.0) if above.endswith("x") else number * math.log(2)


class Rows:
    """A row for each character, or for each example above the limit: as it comes, or the oddest."""

    def __init__(
        self, oddest: float | None, labels: Iterable[str], options: Options, console: Console
    ) -> None:
        self.oddest, self.limit = oddest, limit_of(options.above, oddest)
        self.options, self.console, self.output = options, console, console.out
        self.label_width = 0 if options.label else min(20, max(map(len, labels), default=0))
        names = max(map(len, options.sources)) if len(options.sources) > 1 else 0
        self.place_width = 8 + min(16, names)  # columns for a line, and for its file if several
        self.are_of_examples = options.per_example or options.top is not None
        self.are_shown = self.are_of_examples or options.per_char
        self.count, self.top_rows = 0, list[Row]()

    def write_head(self) -> None:
        if self.are_of_examples and self.output.is_terminal and not self.options.as_json:
            label = f"{'label':{self.label_width}}  prob.  " if self.label_width else ""
            head = f"{'line':>{self.place_width}}  bits/char  x oddest  {label}text"
            self.output.write_lines([self.output.paint(Visible(head), "cyan")])

    def add(self, examples: list[Example], scored: ScoredTexts) -> None:
        """Write the characters, or count the examples above the limit and write or keep them."""
        if self.options.per_char:
            write_characters(scored, self.options.as_json, self.output)
        elif self.are_shown or self.options.above:
            rows = list(self._rows(examples, scored))
            self.count += len(rows)
            if self.options.top:
                self.top_rows = nlargest(self.options.top, self.top_rows + rows, itemgetter(0))
            elif self.options.per_example:
                self.output.write_lines(line for _, line in rows)

    def _rows(self, examples: list[Example], scored: ScoredTexts) -> Iterator[Row]:
        by_use = {use: scored.totals(nats).tolist() for use, nats in scored.nats_by_use.items()}
        for i, (example, score) in enumerate(zip(examples, scored.scores(), strict=True)):
            loss = score.nats_per_character
            if loss <= self.limit:
                continue
            if not self.options.as_json:
                yield loss, self._line(example, loss, scored, i)
                continue
            file = {"file": example.file} if len(self.options.sources) > 1 else {}
            row: dict[str, Any] = {"number": example.number, "text": example.text, **file}
            row |= {"characters": score.characters, "unknown": score.unknown}
            row |= {"nats": score.nats, **score.per_character()}
            row["x_oddest"] = loss / self.oddest if self.oddest else None
            if scored.likeliest:
                row["label"], row["label_probability"] = scored.likeliest[i]
            if len(by_use) > 1:
                row["by_use"] = {use: {"nats": nats[i]} for use, nats in by_use.items()}
            yield loss, json_line("eval.example", row)

    def _line(self, example: Example, loss: float, scored: ScoredTexts, i: int) -> Visible:
        from charrnn.prediction.losses import in_bits

        width, size, label = self.place_width, self.label_width, ""
        place = f"{example.file}:{example.number}" if width > 8 else f"{example.number}"
        text = example.text.replace("\n", "\\n")
        if scored.likeliest:
            name, chance = scored.likeliest[i]
            label = f"{visible_line(name)[:size]:{size}}  {chance:5.2f}  "
        if self.output.is_terminal:
            room = self.output.window - width - 24 - len(label)
            text = excerpt(example.text, scored.nats[scored.of_text(i)], room)
        times = f"{loss / self.oddest:.2f}" if self.oddest else "-"
        shown = f"{in_bits(loss):>9}  {times:>8}  {label}{text}"
        return Visible(f"{visible_line(place)[-width:]:>{width}}  {shown}")
