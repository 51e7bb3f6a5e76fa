"""Measure how well a model predicts a text, and find its odd lines.

The loss is the mean surprisal per character in bits. Each example (a line, say) counts its
characters and its end. A character that the model has never seen costs its share of all characters
of Unicode, so the loss is always finite. Rank 1 is the likeliest symbol.

A line is odd if it is far more surprising than any line should be: --above 1.5x shows those with
more than 1.5 times the bits per character of the oddest held-out line of the training.

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

import heapq
import math
import os
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from charrnn.cli import options
from charrnn.cli.console import ABOVE, BOLD, CYAN, Console, Output, count, has_text, json_line
from charrnn.cli.options import CommandOptions, exclusive, flag, group
from charrnn.errors import CharrnnError, CorpusError, ModelFileError, SettingError
from charrnn.settings import CORPUS, COUNT, CorpusConfig, Reading, Values, ensure, setting
from charrnn.system import NAMES, cores_for
from charrnn.text import Raw, Visible, clusters, encodable, visible, visible_line

if TYPE_CHECKING:
    from rich.text import Text as Rich

    from charrnn.checkpoint import CorpusRecord
    from charrnn.corpus import Corpus
    from charrnn.counts import Baseline
    from charrnn.model import Model
    from charrnn.predictor import Predictor, Use
    from charrnn.score import Difference, Mean
    from charrnn.scorer import Scored
    from charrnn.texts import Example

SCORING, ROWS = PANELS = "Scoring", "Rows and colours"  # of help
of_scoring, of_rows = (partial(setting, panel=panel) for panel in PANELS)
MIXTURE = "mixture"  # the name of the mean of several models
ELLIPSIS = "..."
STYLES = (  # of the bands of surprisal; the lowest keeps the colours of the terminal
    "",
    *(f"#ffffff on {ground}" for ground in ("#55585f", "#75672f", "#a3690f", "#cc4a1a", "#d3123f")),
    "bold #ffffff on #c400a0",
)


class Threshold(NamedTuple):
    """Bits per character, or a multiple of those of the oddest held-out example."""

    typed: str
    number: float
    is_multiple: bool


class Thresholds(Values):
    """Thresholds as they are typed: 4 or 1.5x."""

    def plain(self, value: Any) -> Threshold:
        ensure(0 <= value.number < math.inf)
        return cast(Threshold, value)

    def read(self, typed: Any) -> Threshold:
        if isinstance(typed, Threshold):
            return typed
        number = str(typed).removesuffix("x")
        return Threshold(str(typed), float(number), number != str(typed))


BITS_OR_MULTIPLE = Thresholds(
    "BITS|Rx", "a number of bits of at least 0, or a multiple such as 1.5x"
)


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    FIRST = (
        *("sources", "held_out", "per_example", "top", "above", "per_char", "baselines", "use"),
        "models",
    )
    sources: tuple[str, ...] = options.sources(
        "TEXT",
        "Files to read, or - for standard input. Without TEXT, text that is piped in is read, else"
        " the held-out part of the training corpus.",
    )
    held_out: bool = flag(
        "Read the held-out part of the training corpus, even if text is piped in.", panel=CORPUS
    )
    examples: str | None = options.like(CorpusConfig, "examples", default_in_words="as in training")
    reading: dict[str, Any] = group(Reading, default_in_words="as in training")
    per_example: bool = flag("Show a row for each example, as it is scored.", panel=ROWS)
    top: int | None = of_rows(COUNT, "Show the N oddest examples, the most surprising first.")
    above: Threshold | None = of_rows(
        BITS_OR_MULTIPLE,
        "Exit with status 3 if an example has more bits per character than this, or more than R"
        " times those of the oddest held-out example of the training, such as 1.5x. Rows show only"
        " these. With --per-char, test single characters.",
    )
    per_char: bool = flag(
        "Show the text coloured by surprisal; without colours, a row for each character with its"
        " nats and rank.",
        panel=ROWS,
    )
    baselines: bool = flag("Compare with counting.", panel=SCORING)
    use: Use | None = options.use(SCORING)
    models: tuple[Path, ...] = options.models(
        "Several are compared with each other and with the mean of their probabilities. Repeatable."
    )
    cores: int | None = options.cores()
    scheduler: str | None = options.scheduler()

    @property
    def shows_rows(self) -> bool:
        return self.per_example or self.top is not None or self.per_char

    @property
    def is_live(self) -> bool:
        """Return True if rows appear as the lines of standard input come."""
        return self.sources == ("-",) and self.per_example and self.top is None


class Line(NamedTuple):
    """A line of the table: a mean, and the difference of the model's mean from it."""

    name: str
    mean: Mean
    apart: Difference | None = None


Row = tuple[dict[str, Any], Any]  # the figures of an example, and the nats of each symbol


def run(options: Options, console: Console) -> None:
    """Score the text and show the result. Raise SystemExit if something is above --above."""
    if not options.held_out and not options.sources and has_text(console):
        options = replace(options, sources=("-",))
    check(options)
    from charrnn.reading import name_of
    from charrnn.runs import load
    from charrnn.score import Score, score_of
    from charrnn.texts import held_out_examples

    began, above = time.monotonic(), options.above
    models = [load(path) for path in options.models]
    predictors = predictors_of(models, options, console)
    oddest = oddest_of(models[0], predictors, options)
    corpus = corpus_of(models[0], options) if options.baselines or not options.sources else None
    console.note_if_waiting(options.sources)
    if corpus is None or options.sources:
        groups = grouped(read(models[0].corpus, options, console))
    else:
        groups = grouped([held_out_examples(corpus)])
        warn_of_other_corpora(models, options, console)
    cores = 1 if options.is_live else cores_for(options.cores)
    if options.scheduler is None and not options.is_live:
        first = list(islice(groups, 2))
        cores, groups = (cores if len(first) == 2 else 1), chain(first, groups)
    from charrnn.cluster import map_in_order, open_executor  # slow to import

    sent: deque[list[Example]] = deque()

    def texts() -> Iterator[list[str]]:
        for group in groups:
            sent.append(group)
            yield [example.text for example in group]

    total, above_count = Score(), 0
    scored: list[list[Scored]] = []
    best: list[Row] = []
    shared = [*predictors.values()][: 1 if options.shows_rows else None], options.per_char
    if (
        options.shows_rows
        and not options.per_char
        and console.out.is_terminal
        and not options.as_json
    ):
        head = f"{'line':>{place_width(options)}}  bits/char  x oddest  text"
        console.out.write_lines([console.out.paint(Visible(head), CYAN)])
    with open_executor(shared, cores, options.scheduler) as executor:
        for results in map_in_order(executor, score_all, texts()):
            group, scores = sent.popleft(), results[0]
            total += score_of(scores)
            if options.per_char:
                above_count += write_characters(scores, options, console)
                continue
            rows = rows_of(group, scores, oddest, options) if above or options.shows_rows else []
            above_count += len(rows) if above else 0
            if options.top is not None:
                best = heapq.nlargest(options.top, [*best, *rows], key=bits_of)
            elif options.per_example:
                write_rows(rows, options, console)
            if not options.shows_rows:
                scored.append(results)
    write_rows(best, options, console)
    if total.overall.count and not options.shows_rows:
        facts: dict[str, object] = {"seconds": time.monotonic() - began}
        facts |= {} if above is None else {"above": above.typed, "above_count": above_count}
        show(scored, predictors, corpus, options, console, facts)
    elif total.overall.count:
        size = f"{count(total.characters, 'character')} and {count(total.ends, 'end')}"
        console.note(f"{total.bits_per_character:.4f} bits per character, over {size}")
    elif not (options.shows_rows or above):
        name = ", ".join(map(name_of, options.sources))
        hint = "" if options.sources != ("-",) else "; --held-out scores the held-out text"
        raise CorpusError(f"{name} is empty{hint}", "Name a text with a visible character.")
    if above_count and above is not None:
        what = count(above_count, "character" if options.per_char else "example")
        console.note(f"{what} above {above.typed}{'' if above.is_multiple else ' bits'}")
        raise SystemExit(ABOVE)


def bits_of(row: Row) -> float:
    return float(row[0]["bits_per_character"])


def check(options: Options) -> None:
    """Raise SettingError if options exclude or need each other."""
    flags = {
        "--per-example": options.per_example,
        "--top": options.top is not None,
        "--per-char": options.per_char,
        "--baselines": options.baselines,
    }
    shown = [name for name, is_typed in flags.items() if is_typed]
    if len(shown) > 1 and (options.per_char or options.baselines):
        raise exclusive(shown[0], shown[-1])
    if options.cores is not None and options.scheduler is not None:
        raise exclusive("--cores", "--scheduler")
    if options.held_out and options.sources:
        raise exclusive("--held-out", options.sources[0])
    if not options.sources and (options.examples or options.reading):
        name = "examples" if options.examples else next(iter(options.reading))
        raise SettingError(f"--{name} needs TEXT", "Held-out text is read as in training.")
    if options.examples in ("paragraphs", "files") and "column" in options.reading:
        what = f"--column and --examples {options.examples} exclude each other"
        raise SettingError(what, "With --column, each row is an example.")
    if options.above is not None and options.above.is_multiple and options.per_char:
        raise SettingError("--per-char tests characters in bits", "Name bits: --above 10.")


def predictors_of(
    models: Sequence[Model], options: Options, console: Console
) -> dict[str, Predictor]:
    """Return the predictors by name: for several models, their mixture comes first."""
    from charrnn.predictor import combine

    named = {
        str(path): model.predictor(options.use)
        for path, model in zip(options.models, models, strict=True)
    }
    if len(named) == 1:
        return named
    try:
        return {MIXTURE: combine([*named.values()]), **named}
    except CharrnnError as error:
        if options.shows_rows or options.above is not None:
            raise
        console.warn(f"{error.what}: the models are compared, but not mixed")
        return named


def oddest_of(model: Model, predictors: Mapping[str, Predictor], options: Options) -> float | None:
    """Return the nats per character of the oddest held-out example; None if it is not known."""
    predictor, *others = predictors.values()
    record, oddest, why = model.corpus, model.trained.oddest[predictor.use], ""
    if others:
        why = "several models have no common oddest example"
    elif options.examples not in (None, record.config.examples):
        why = f"the model was trained on {record.examples_are}"
    elif oddest is None:
        why = "the model has no record of its held-out examples, which must be 20 or more"
    if why and options.above is not None and options.above.is_multiple:
        raise ModelFileError(f"--above {options.above.typed}: {why}", "Name bits: --above 4.")
    return None if why else oddest


def corpus_of(model: Model, options: Options) -> Corpus:
    """Return the corpus of the model, for its held-out text or for --baselines."""
    from charrnn.texts import rebuild_corpus

    try:
        return rebuild_corpus(model.corpus, model.vocabulary)
    except CorpusError as error:
        if not options.sources:
            raise
        what = f"--baselines counts the training text, but {error.what}"
        raise CorpusError(what, "Leave out --baselines.") from error


def warn_of_other_corpora(models: Sequence[Model], options: Options, console: Console) -> None:
    """Warn if a model may have been trained on the held-out text of the first model."""
    for path, model in zip(options.models, models, strict=True):
        if model.corpus.fingerprint != models[0].corpus.fingerprint:
            console.warn(f"{path} may have been trained on held-out text of {options.models[0]}")


def read(record: CorpusRecord, options: Options, console: Console) -> Iterator[list[Example]]:
    """Return the examples of each text; of standard input as they come, if they are shown so."""
    from charrnn.texts import examples_in

    def lacking(what: str) -> None:
        if options.above is not None:
            raise CorpusError(what, "Name a column with --column, or leave out --above.")
        console.warn(f"{what}: whole lines are scored")

    for source in options.sources:
        if source.isalnum() and source not in NAMES and not os.path.lexists(source):
            hint = f"To score a word: echo {source} | charrnn eval"
            raise CorpusError(f"{source} does not exist", hint)
    kind: Any = options.examples or record.config.examples
    return examples_in(record, options.sources, options.reading, kind, lacking, options.is_live)


def grouped(lists: Iterable[list[Example]]) -> Iterator[list[Example]]:
    """Yield the examples in groups that are scored together."""
    from charrnn.scorer import groups_of

    for examples in lists:
        rest = iter(examples)
        for texts in groups_of(example.text for example in examples):
            yield [*islice(rest, len(texts))]


def score_all(shared: tuple[list[Predictor], bool], texts: list[str]) -> list[Scored]:
    """Return the scores of a group of texts by each predictor; a worker calls this."""
    from charrnn.scorer import score_group

    predictors, ranking = shared
    return [score_group(predictor, texts, ranking=ranking) for predictor in predictors]


def rows_of(
    group: list[Example], scored: Scored, oddest: float | None, options: Options
) -> list[Row]:
    """Return the figures of each example, or of each one above the threshold."""
    from charrnn.score import BITS
    from charrnn.vocabulary import UNKNOWN

    rows, above = list[Row](), options.above
    nats, unknown = scored.totals(scored.nats), scored.totals((scored.ids == UNKNOWN).astype(int))
    parts = scored.parts if len(scored.parts) > 1 else {}
    totals = {part: scored.totals(costs) for part, costs in parts.items()}
    for i, example in enumerate(group):
        loss = float(nats[i]) / (len(example.text) + 1)
        multiple = math.nan if oddest is None else loss / oddest
        figure = multiple if above is not None and above.is_multiple else loss * BITS
        if above is not None and not figure > above.number:
            continue
        row: dict[str, Any] = {"number": example.number, "text": encodable(example.text)}
        row |= {"file": example.file} if len(options.sources) > 1 else {}
        row |= {"characters": len(example.text), "unknown": int(unknown[i])}
        row |= {"nats": float(nats[i]), "nats_per_character": loss}
        row |= {"bits_per_character": loss * BITS, "x_oddest": multiple}
        row |= {"parts": {part: float(total[i]) for part, total in totals.items()}} if parts else {}
        rows.append((row, scored.nats[scored.of_text(i)]))
    return rows


def place_width(options: Options) -> int:
    """Return the columns for the line of an example, and its file if there are several."""
    from charrnn.reading import name_of

    names = [len(visible_line(name_of(source))) + 1 for source in options.sources]
    return 8 + (min(24, max(names)) if len(names) > 1 else 0)


def write_rows(rows: list[Row], options: Options, console: Console) -> None:
    """Write rows as JSON, as lines cut to the width of a terminal, or as whole lines."""
    width, lines = place_width(options), list[str]()
    for row, costs in rows:
        if options.as_json:
            lines.append(json_line("eval.example", row))
            continue
        place = f"{row['file']}:{row['number']}" if "file" in row else f"{row['number']}"
        multiple = "-" if math.isnan(row["x_oddest"]) else f"{row['x_oddest']:.2f}"
        text = row["text"].replace("\n", "\\n")
        if console.out.is_terminal:
            text = excerpt(row["text"], costs, console.out.window - width - 24)
        place = f"{visible_line(place)[-width:]:>{width}}"
        lines.append(f"{place}  {row['bits_per_character']:9.3f}  {multiple:>8}  {text}")
    if lines:
        console.out.write(Raw("\n".join(lines) + "\n"))


def write_characters(scored: Scored, options: Options, console: Console) -> int:
    """Write the coloured text, or a row for each character; return how many are above --above."""
    import numpy as np

    from charrnn.score import BITS
    from charrnn.vocabulary import END

    above = options.above
    assert scored.ranks is not None
    if above is None and not options.as_json and console.out.takes_colour:
        rich = console.out.rich
        for i, text in enumerate(scored.texts):
            costs = scored.nats[scored.of_text(i)].tolist()
            rich.print(coloured(text, costs), end="", soft_wrap=True)
        return 0
    characters, lines = "\0".join([*scored.texts, ""]), list[str]()
    parts = scored.parts if len(scored.parts) > 1 else {}
    least = -1.0 if above is None else above.number
    for i in np.flatnonzero(scored.nats * BITS > least).tolist():
        character = None if scored.ids[i] == END else encodable(characters[i])
        nats, rank = float(scored.nats[i]), int(scored.ranks[i])
        if options.as_json:
            record: dict[str, Any] = {"character": character, "nats": nats, "rank": rank}
            if parts:
                record["parts"] = {name: float(costs[i]) for name, costs in parts.items()}
            lines.append(json_line("eval.character", record))
        else:
            shown = "END" if character is None else visible_line(character)
            lines.append(f"{shown}\t{nats:.3f}\t{rank}")
    if lines:
        console.out.write(Raw("\n".join(lines) + "\n"))
    return len(lines) if above else 0


def coloured(text: str, costs: list[float]) -> Rich:
    """Return a text and its end in colours of surprisal; a cluster has that of its first code."""
    from rich.text import Text as Rich

    from charrnn.score import band_of

    shown, marks = Rich(), {"\n": "\n", "\0": "$\n"}
    for cluster, nats in clusters([*text, "\0"], costs):
        shown.append(visible(marks.get(cluster, cluster)), STYLES[band_of(nats)])
    return shown


def excerpt(text: str, costs: Any, room: int) -> Visible:
    """Return a text on one line, cut around its most surprising characters to fit."""
    import numpy as np

    shown, room = visible_line(text), max(room, 10)
    if len(shown) <= room:
        return shown
    size = max(1, room - 2 * len(ELLIPSIS))
    sums = np.cumsum([0, *costs])
    begin = int(np.argmax(sums[size:] - sums[:-size])) if len(sums) > size else 0
    before, after = ELLIPSIS if begin else "", visible_line(text[begin:])
    cut = after[: room - len(before)]
    return Visible(before + (cut if cut == after else cut[: -len(ELLIPSIS)] + ELLIPSIS))


def show(
    scored: list[list[Scored]],
    predictors: Mapping[str, Predictor],
    corpus: Corpus | None,
    options: Options,
    console: Console,
    facts: Mapping[str, object],
) -> None:
    """Write an object for each model, or a table of bits per character."""
    import numpy as np

    from charrnn.counts import baselines
    from charrnn.score import Mean, Score, difference_of, differences, json_of, score_of, tally

    ids = np.concatenate([results[0].ids for results in scored])
    parts = [
        {name: np.concatenate([results[i].parts[name] for results in scored]) for name in one.parts}
        for i, one in enumerate(predictors.values())
    ]
    nats = [costs[one.use] for costs, one in zip(parts, predictors.values(), strict=True)]
    first = [*predictors].index(str(options.models[0]))
    counting: Sequence[Baseline] = ()
    if corpus is not None and options.baselines:
        counting = baselines(corpus.train.ids, ids, corpus.vocabulary)
    table: list[Line] = []
    for i, (name, predictor) in enumerate(predictors.items()):
        score = sum((score_of(results[i]) for results in scored), Score())
        apart = None if i == first else difference_of(ids, nats[i], nats[first])
        record: dict[str, Any] = {"examples": score.ends, **score.figures(), **json_of(apart)}
        table.append(Line(name, score.overall, apart))
        if len(predictors) == 1:
            table.append(Line("without ends", score.without_end))
            table.append(Line("per byte", Mean(score.nats, score.bytes)))
        if len(parts[i]) > 1:
            record["parts"] = {}
            for part, costs in parts[i].items():
                apart = None if part == predictor.use else difference_of(ids, nats[i], costs)
                mean = tally(ids, costs).overall
                record["parts"][part] = mean.loss() | json_of(apart)
                table += [Line(f"  {part}", mean, apart)] if len(predictors) == 1 else []
        if counting:
            record["baselines"] = {}
        for baseline in counting:
            apart = differences(baseline, ids, {"": nats[i]}).get("")
            mean = Mean(baseline.nats_per_character, 1)
            record["baselines"][baseline.name] = mean.per_character() | json_of(apart)
            if i == 0:
                shown = None if len(predictors) > 1 else apart
                table.append(Line(f"  {baseline.name}", mean, shown))
        if options.as_json:
            console.json("eval", record | {"model": name} | dict(facts))
    if options.as_json:
        return
    size = f"{count(score.ends, 'example')}, {count(score.characters, 'character')}"
    unknown = f", {score.unknown:,} of them not in the vocabulary" if score.unknown else ""
    console.out.write_lines([visible_line(f"{size}{unknown}"), Visible("")])
    console.out.write_lines(lines_of(table, console.out))
    if any(line.apart is not None for line in table):
        names = ("the row", options.models[0]) if len(predictors) > 1 else ("the model", "the row")
        what = "difference: bits per character of {} less those of {}".format(*names)
        console.note(f"{what}; (=) is below two standard errors")


def lines_of(table: list[Line], output: Output) -> Iterator[Visible]:
    """Yield the table of bits per character, in columns; the names are cut to fit."""
    from charrnn.score import BITS

    has_apart = any(line.apart is not None for line in table)
    room = output.width - (50 if has_apart else 24) if output.is_terminal else 200
    names = [visible_line(line.name) for line in table]
    width = max(len(name) for name in names)
    width = max(12, min(width, room))
    titles = f"{'':{width}}  {'bits/char':>9}  {'perplexity':>11}"
    titles += f"  {'difference':>10}  std error" if has_apart else ""
    yield output.paint(Visible(titles), CYAN)
    for name, line in zip(names, table, strict=True):
        shown = name if len(name) <= width else f"..{name[2 - width :]}"
        mean = line.mean
        text = f"{shown:{width}}  {mean.bits_per_character:9.3f}  {mean.perplexity:11,.4g}"
        if line.apart is not None:
            d, error = line.apart
            mark = " (=)" if line.apart.may_be_chance else ""
            text += f"  {BITS * d:+10.3f}  {BITS * error:9.3f}{mark}"
        yield output.paint(Visible(text), BOLD) if not name.startswith(" ") else Visible(text)
