"""The loss is the mean surprisal per character in bits. Each example (a line, say) counts its
characters and its end. A character that the model has never seen costs its share of all characters
of Unicode, so the loss is always finite. Rank 1 is the likeliest symbol.

A line is odd if it is far more surprising than any line should be: --above 1.5x shows those with
more than 1.5 times the bits per character of the oddest held-out line of the training. U+FFFD takes
the place of bytes that cannot be decoded, with a warning; --errors strict refuses them.

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
import shlex
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import tee
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import charrnn
from charrnn.cli import shared_options as shared
from charrnn.cli.console import Console, only_one, option_for
from charrnn.cli.shared_options import LEARNED, flag
from charrnn.errors import ABOVE, CorpusError, ModelFileError, SettingError, unbracketed
from charrnn.settings.corpus import Reading
from charrnn.settings.values import COUNT, Text, setting
from charrnn.system.cores import cores_for
from charrnn.system.packaged import CORPORA
from charrnn.system.visible import count

if TYPE_CHECKING:
    from charrnn.cli.eval_screen import Rows
    from charrnn.files.model_corpus import Example
    from charrnn.model import Model
    from charrnn.prediction.predictor import Predictor, Use
    from charrnn.prediction.scoring import Group, ScoredTexts
    from charrnn.text.corpus import Corpus

MIXTURE = "mixture"  # the name of all models together


class Threshold(Text):
    """A number of bits per character, or a multiple of those of the oddest held-out example."""

    def checked(self, value: Any) -> str:
        if not 0 <= float(value.removesuffix("x")) < math.inf:
            raise ValueError("not allowed")
        return str(value)


@dataclass(frozen=True, kw_only=True)
class Options(shared.CommandOptions):
    FIRST = "sources held_out per_example top above per_char baselines label use models"
    sources: tuple[str, ...] = shared.text_option("Score these files")
    held_out: bool = flag(
        "Read the held-out text, even if text is piped in.", short="Score the held-out text"
    )
    examples: str | None = shared.examples_option()
    reading: dict[str, Any] = shared.nested(
        Reading, encoding=LEARNED, normalize=LEARNED, column=LEARNED, tidy=LEARNED, errors="replace"
    )
    per_example: bool = flag("Show a row for each example|, as it is scored.")
    top: int | None = setting(COUNT, "Show the N oddest examples|, most surprising first.")
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
        "Score all texts under this label.", default_in_words="the known one, else the sum over all"
    )
    use: str | None = shared.use_option()
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
    from charrnn.cli import eval_screen as screen
    from charrnn.files.model_corpus import NAME_A_TEXT, rebuild_corpus

    began = time.monotonic()
    models = {shown_name(path): charrnn.load(path) for path in options.models}
    first, model = next(iter(models.items()))
    predictors = {name: model.predictor(options.use) for name, model in models.items()}
    if len(models) > 1:
        mixture = charrnn.mix(*(models[shown_name(path)] for path in options.models))
        predictors = {MIXTURE: mixture.predictor(options.use), **predictors}
    predictor = next(iter(predictors.values()))
    oddest, learned = oddest_of(models, predictor.use, options), predictor.vocabulary.labels
    rows = new_rows(oddest, learned, options, console)
    hint = "Leave out [baselines], which count that corpus. " if options.baselines else ""
    hint = f"{hint}{'' if options.sources else NAME_A_TEXT}".rstrip()
    corpus = rebuild_corpus(model.corpus, hint) if hint else None
    held_out = None if options.sources else corpus
    for name, other in models.items() if held_out else ():
        if other.corpus.may_know(model.corpus):
            console.warn(f"{name} may have learned what {first} holds out: name a new text")
        if other.corpus.held_out_characters != model.corpus.held_out_characters:
            for each in predictors.values():  # for another text, the mean of the weights of halves
                each.halves = each.weights[None] if each.counts is other.counts else each.halves
    groups = groups_to_score(model, held_out, options, console)
    rows.write_head()
    split = None if held_out is None else len(held_out.held_out.ids) // 2
    scored = score_groups(groups, split, predictors, rows, options, console)
    above = [of_model.count_above(rows.limit) for of_model in scored.values()] or [rows.count]
    if scored and (options.as_json or above[0] or not (options.above and console.quiet)):
        seconds = time.monotonic() - began  # without those of the baselines
        records = screen.records_of(scored, first, corpus if options.baselines else None, learned)
        for record, number in zip(records, above, strict=True):
            record["seconds"] = seconds
            record |= {"above": options.above, "above_count": number} if options.above else {}
        screen.show_records(records, console, as_json=options.as_json)
    if options.above and above[0]:
        console.note(f"{count(above[0], 'example')} above {options.above}")
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
        what = f"{option_for(next(iter(options.reading), 'examples'))} needs TEXT"
        raise SettingError(what, "Held-out text is read as in training.")
    for source in options.sources:
        if source.isalnum() and source not in CORPORA and not os.path.lexists(source):
            command = shlex.join(["charrnn", "eval", *shared.typed_models(*options.models)])
            hint = unbracketed(f"To score a word: echo {source} | {command}")
            raise CorpusError(f"{source} does not exist", hint)


def new_rows(
    oddest: float | None, labels: Iterable[str], options: Options, console: Console
) -> Rows:
    """Return the rows that are asked for. A limit of 1.5x is a multiple of the oddest example."""
    from charrnn.cli.eval_screen import Rows

    limit = -math.inf
    if options.above is not None:
        unit = (oddest or 0.0) if options.above.endswith("x") else math.log(2)
        limit = float(options.above.removesuffix("x")) * unit
    kind: Any = "examples" if options.per_example or options.top else ""
    kind = "characters" if options.per_char else kind
    shown = (options.sources, () if options.label else labels)
    return Rows(console.out, kind, options.as_json, *shown, oddest, limit, options.top)


def groups_to_score(
    model: Model, held_out: Corpus | None, options: Options, console: Console
) -> Iterable[list[Example]]:
    """Return the examples in groups: in a list, or as they come where rows of a pipe are shown."""
    from charrnn.files.model_corpus import examples_in, held_out_examples
    from charrnn.prediction.scoring import groups_of

    console.note_if_waiting(options.sources)
    is_live = options.sources == ("-",) and options.per_example and not options.top
    typed = {"errors": "replace", **options.reading}
    how: Any = {"needs_column": options.above is not None, "is_live": is_live, "warn": console.warn}
    files = examples_in(model.corpus, options.sources, typed, options.examples, **how)
    if held_out is not None:
        files = iter([held_out_examples(held_out)])
    groups = (group for examples in files for group in groups_of(examples, attrgetter("text")))
    return groups if is_live else list(groups)


def oddest_of(models: Mapping[str, Model], use: Use, options: Options) -> float | None:
    """Return the nats of the oddest held-out example, or None; ModelFileError if --above needs it.

    Texts without a label are compared with its sum over all labels.
    """
    from charrnn.prediction.losses import ENOUGH_EXAMPLES
    from charrnn.prediction.scoring import MOST_SUMMED

    model, *others = models.values()
    trained, labels = model.trained, len(model.labels)
    is_given = not labels or options.label is not None or "label_by" in options.reading
    known = trained.oddest if is_given or not options.sources else trained.oddest_sums
    held_out = model.corpus.held_out_examples
    cut = "lines" if options.reading.keys() & {"column", "tidy"} else options.examples
    if others:
        why = "several models have no common unit"
    elif cut not in (None, model.corpus.config.examples):
        why = "examples are not cut as in training"
    elif use in known:
        return known[use]
    elif held_out < ENOUGH_EXAMPLES:
        needed = f"and {ENOUGH_EXAMPLES} are needed"
        why = f"the training held out {count(held_out, 'example')}, {needed}"
    elif known is trained.oddest_sums and labels > MOST_SUMMED:
        why = f"{labels} labels need --label"
    else:
        why = "the unit is not known"
    if (options.above or "").endswith("x"):
        raise ModelFileError(f"--above {options.above}: {why}", "Or name bits: --above 4.")
    return None


def texts_of(
    groups: Iterable[list[Example]], split: int | None, label: str | None
) -> Iterator[Group]:
    """Yield the texts of each group, and the middle of the held-out text, counted from there."""
    from charrnn.prediction.scoring import Group

    for examples in groups:
        texts = [example.text for example in examples]
        labels = [example.label if label is None else label for example in examples]
        known = [name for name in labels if name is not None]  # of all, or of none
        yield Group(texts, known or None, split, telling=label is None)
        split = None if split is None else split - sum(len(text) + 1 for text in texts)


def score_groups(
    groups: Iterable[list[Example]],
    split: int | None,  # the middle of the held-out text
    predictors: dict[str, Predictor],
    rows: Rows,
    options: Options,
    console: Console,
) -> dict[str, ScoredTexts]:
    """Score the groups and add them to the rows. If these are not shown, return all by model."""
    from charrnn.prediction.losses import Score, in_bits
    from charrnn.prediction.scoring import join_groups, score_group
    from charrnn.spread.workers import open_executor
    from charrnn.text.reading import name_of

    total, used = Score(), [*predictors.values()][: 1 if rows.kind else None]
    cores = min(len(groups), cores_for(options.cores)) if isinstance(groups, list) else 1
    results: list[list[ScoredTexts]] = []
    groups, copies = tee(groups)
    with open_executor(used, cores, options.scheduler) as executor:
        texts = texts_of(copies, split, options.label)
        work = executor(partial(score_group, ranking=options.per_char), texts)
        for examples, scored in zip(groups, work, strict=True):
            rows.add(examples, scored[0])
            total += scored[0].total
            results += [] if rows.kind else [scored]
    console.out.write_lines(line for _, line in rows.top_rows)
    if not total.ends:
        what = f"nothing was scored: no text is in {', '.join(map(name_of, options.sources))}"
        hint = "Name a text with a visible character, or score the held-out text by --held-out."
        raise CorpusError(what, hint)
    if rows.kind:
        size = f"{count(total.characters, 'character')} and {count(total.ends, 'end')}"
        console.note(f"{in_bits(total.nats_per_character)} bits per character, over {size}")
    by_model = map(join_groups, zip(*results, strict=True))
    return dict(zip(predictors, by_model, strict=False))  # none without results


def shown_name(path: Path) -> str:
    return os.path.join(os.curdir, path) if str(path) == MIXTURE else str(path)
