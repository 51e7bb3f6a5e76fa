"""A single sample without conditions appears character by character, as it is drawn. Every sample
ends in a newline; if samples may contain newlines, a blank line separates them. The same --seed
gives the same samples, however many there are (except with --best). For each sample that is
skipped, another is drawn.

With --json, each sample is an object on one line. Its text, characters and nats include the prime.
Nats are the negative log-likelihood at temperature 1, without --top-k and --top-p; they include the
end, if drawn, as in charrnn eval. The exit status is 1 if fewer samples are found than requested.

# thirty good names: none is in the corpus, and all differ
charrnn sample -n 30 --best

# ten names, at a higher temperature; three temperatures to compare
charrnn sample -n 10 -t 1.2
charrnn sample -n 5 -t 0.5 -t 0.8 -t 1.2

# continue a text, the same way each time
charrnn sample -p "Ty" --seed 1

# a thousand short names that are in neither list, all different
charrnn sample -n 1000 --longest 8 --novel --not-in taken.txt --unique

# for another program
charrnn sample -n 100 --json | jq -r 'select(.ended == "end") | .text'
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import charrnn
from charrnn.cli import shared_options as shared
from charrnn.cli.console import Console, only_one
from charrnn.cli.shared_options import MODEL, flag, nested, repeatable
from charrnn.errors import CharrnnError, CorpusError, EncodingError, unbracketed
from charrnn.settings.corpus import Reading
from charrnn.settings.drawing import DRAWING, SampleConfig
from charrnn.settings.values import COUNT, SIZE, Text, Whole, setting
from charrnn.system.cores import cores_for
from charrnn.system.visible import count
from charrnn.text.reading import read_typed, text_of

if TYPE_CHECKING:
    from charrnn.prediction.sample_conditions import Conditions
    from charrnn.prediction.sampling import Sampler

USUAL = Path("given-names")  # of the package; drawn from if a folder has no model.npz
WORTH_PROCESSES = 20_000  # samples for which processes are worth their start
CONDITIONS = ["novel", "best", "unique", "known_words", "distance", "shortest", "longest"]
ONE = {"copies": "copy", "repeats": "repeat"}
NAMED = 12  # unknown characters of a prime that a note names
SMALL_CORPUS = 1 << 22  # bytes: a larger one is not searched for copies


@dataclass(frozen=True, kw_only=True)
class Options(shared.CommandOptions):
    FIRST = "count temperatures primes labels seed novel unique without known_words distance"
    FIRST += " shortest longest best models"
    count: int = setting(COUNT, default=1, names=("-n", "--count"), short="Draw this many samples")
    temperatures: tuple[float, ...] = shared.field_of(
        SampleConfig, "temperature", "Repeatable: -n samples of each.", default=(), repeated=True
    )
    primes: tuple[str, ...] = repeatable(
        Text("TEXT|@FILE"),
        "Begin each sample with this text|; @FILE has one a line, and @@ stands for a first @."
        " Repeatable: -n samples of each.",
        names=("-p", "--prime"),
    )
    labels: tuple[str, ...] = shared.label_option(
        "Draw texts with this label (train --label-by). Repeatable.",
        default_in_words="drawn by frequency",
        names=("--label",),
        repeated=True,
        short="Draw texts with this label",
    )
    sampling: dict[str, Any] = nested(SampleConfig, "top_k", "top_p", "max_characters", "seed")
    novel: bool = flag("Skip texts of the corpus|; case and outer spaces do not count.")
    not_in: tuple[str, ...] = repeatable(
        shared.Source("FILE"), "Skip texts of this file|. Repeatable.", panel=DRAWING
    )
    unique: bool = flag(short="Skip repeated samples")
    without: tuple[str, ...] = repeatable(
        Text("WORD|@FILE"),
        "Skip samples with this word|, also in a longer one or in capitals; @FILE has one a line."
        " Repeatable.",
    )
    known_words: bool = flag("Skip samples with other words| than those of the corpus.")
    distance: int | None = setting(
        SIZE,
        "Skip near copies|: case aside, fewer than N edits (insert, delete, replace or swap"
        " letters) lead to a training text or an earlier sample.",
    )
    shortest: int | None = setting(
        Whole(0, 1 << 40),
        "Skip shorter samples|, the prime counted; 0 allows an empty one.",
        default_in_words="1",
    )
    longest: int | None = setting(
        COUNT,
        "Skip longer samples|, the prime counted, and those without an end.",
        default_in_words="any",
    )
    best: bool = flag(
        "Show the likeliest (fewest nats per character) of ten times as many novel and unique"
        " samples.",
        short="Show the likeliest of many",
    )
    models: tuple[Path, ...] = shared.models_option(
        "Several are mixed: the mean of their probabilities is used. Repeatable.",
        default=(),
        default_in_words=f"{MODEL} if that exists, else {USUAL}",
        short="Draw from this model",
    )
    use: str | None = shared.use_option()
    cores: int | None = shared.cores_option(panel=DRAWING)
    scheduler: str | None = shared.scheduler_option(panel=DRAWING)


@dataclass
class Shown:
    """Counts of the samples so far, of which none is kept."""

    texts: Set[str] | None  # that samples may be copies of, if known
    words: Set[str] = frozenset()  # folded texts of --not-in, if each is one word
    with_words: int = 0
    samples: int = 0
    limited: int = 0
    copies: int = 0

    def add(self, text: str, ended: str) -> None:
        from charrnn.prediction.sample_conditions import folded, words_in

        self.samples += 1
        self.limited += ended == "limit"
        self.copies += text in (self.texts or ())
        if self.words:
            self.with_words += not self.words.isdisjoint(words_in([folded(text)]))


def run(options: Options, console: Console) -> None:
    """Draw samples and write them. Raise CharrnnError if too few are as they should be."""
    from charrnn.files.model_corpus import conditions_on, texts_like
    from charrnn.prediction.sample_conditions import choose, folded, limit_length
    from charrnn.prediction.sampling import Sampler
    from charrnn.spread.workers import open_executor

    only_one({"--cores": options.cores, "--scheduler": options.scheduler})
    models = load_models(options, console)
    predictor = charrnn.mix(*models).predictor(options.use)
    in_files = [text[1:] for text in (*options.primes, *options.without) if text[:1] == "@"]
    console.note_if_waiting((*options.not_in, *in_files))
    typed = list(lines_of_files(options.primes or [""]))
    if not typed:
        raise CorpusError(f"{options.primes[0][1:]} is empty", "It needs a beginning a line.")
    primes = [as_read(text, models[0], console) for text in typed]
    config, lengths = SampleConfig(**options.sampling), (options.shortest, options.longest)
    limits = {prime: limit_length(config, prime, *lengths) for prime in primes}
    kinds: Sequence[str | None] = options.labels or (None,)
    predictor.vocabulary.label_ids(options.labels)  # an error before the first sample is shown
    combinations = list(product(kinds, primes, options.temperatures or (1.0,)))
    taken = texts_like(models[0].corpus, options.not_in)
    wishes = {name: getattr(options, name) for name in CONDITIONS}
    wishes["without"] = [*lines_of_files(options.without)]
    conditions = conditions_on([model.trained for model in models], taken, console.note, **wishes)
    is_free = not taken and not any(wishes.values())
    streams = is_free and options.count == 1 and not (options.as_json or options.scheduler)
    # For few samples, processes would take longer to start than to draw.
    are_few = options.cores is None and options.count < WORTH_PROCESSES
    cores = 1 if are_few else cores_for(options.cores)
    has_newlines = "\n" in "".join([predictor.vocabulary.characters, *primes])
    has_note = not (options.novel or options.best or conditions.others or console.quiet)
    reading = models[0].corpus.reading  # a line of a table, or before it is tidied, is no word
    are_words = not (reading.column or reading.tidy) and all(len(t.split()) == 1 for t in taken)
    words = {*map(folded, taken)} if are_words else set()
    shown = Shown(texts_for_note(models) if has_note else None, words)
    for label, prime, temperature in combinations:
        if heading := heading_of(label, prime if len(primes) > 1 else "", temperature, options):
            console.note(heading)
        how = replace(limits[prime], temperature=temperature)
        sampler = Sampler(predictor, how, prime, label, may_be_empty=options.shortest == 0)
        if streams:
            console.result("\n" if has_newlines and shown.samples else "")
            shown.add(*write_as_drawn(sampler, console))
            continue
        with open_executor(sampler, cores, options.scheduler) as executor:
            share = partial(executor, Sampler.draw_group)
            for sample in choose(sampler, options.count, conditions, share):
                if options.as_json:
                    console.json("sample", sample.figures() | {"temperature": temperature})
                else:
                    between = "\n" if has_newlines and shown.samples else ""
                    console.result(f"{between}{sample.text}\n")
                shown.add(sample.text, sample.ended)
    note_figures(shown, conditions, options, console)
    if shown.samples < (wanted := options.count * len(combinations)):
        hint = f"{'Lower -n, raise' if options.count > 1 else 'Raise'} -t, or ask for less."
        raise CharrnnError(f"found only {shown.samples:,} of {count(wanted, 'sample')}", hint)


def lines_of_files(typed: Sequence[str]) -> Iterator[str]:
    """Yield what was typed; @FILE stands for the lines of a file, and @@ for a first @."""
    for text in typed:
        if text[:1] != "@" or text[:2] == "@@":
            yield text[text[:1] == "@" :]
            continue
        try:
            lines = text_of(text[1:], Reading()).replace("\r", "\n").split("\n")
        except CorpusError as error:
            hint = unbracketed(f"For {text} itself, type {shlex.quote(f'@{text}')}.")
            hint = "Save it as utf-8." if isinstance(error, EncodingError) else hint
            raise CorpusError(error.what, hint) from error
        yield from filter(str.strip, lines)


def heading_of(label: str | None, prime: str, temperature: float, options: Options) -> str:
    """Return which of several combinations comes next, or nothing for a single one."""
    words = [f"label {label}"] if label and len(options.labels) > 1 else []
    words += [f"prime {prime}"] if prime else []
    words += [f"temperature {temperature:g}"] if len(options.temperatures) > 1 else []
    return ", ".join(words)


def load_models(options: Options, console: Console) -> list[charrnn.Model]:
    """Load the models that are named, else the usual file, else a model of the package."""
    paths = options.models or (MODEL if os.path.lexists(MODEL) else USUAL,)
    if paths == (USUAL,) and not options.models:
        yours = "train one of your own: charrnn train FILE"
        console.note(f"there is no {MODEL}, so {USUAL}, a model of the package, draws; {yours}")
    return [charrnn.load(path) for path in paths]


def write_as_drawn(sampler: Sampler, console: Console) -> tuple[str, str]:
    """Write a sample character by character. Return it, and how it ended."""
    text = piece = sampler.prime
    console.result(text)
    for piece in sampler.stream():
        console.result(piece)
        text += piece
    console.result("\n")
    return text, "limit" if piece else "end"


def note_figures(shown: Shown, conditions: Conditions, options: Options, console: Console) -> None:
    """Note how many samples have no end, were drawn and left out, and are copies."""
    of_all = f"of {count(shown.samples, 'sample')}"
    if shown.limited:
        which = "the sample" if shown.samples == 1 else f"{shown.limited:,} {of_all}"
        limit = SampleConfig(**options.sampling).max_characters
        console.note(f"{which} reached --max-chars {limit} before the end")
    if conditions.rejected:
        left_out = conditions.rejected.items()
        reasons = ", ".join(f"{n:,} {ONE.get(why, why) if n == 1 else why}" for why, n in left_out)
        console.note(f"drew {count(conditions.drawn, 'sample')}, of which left out: {reasons}")
    if shown.texts is not None and shown.samples > 1:
        console.note(f"copies of training texts: {shown.copies:,} {of_all}")
    elif shown.copies:
        console.note("the sample is a copy of a training text")
    if shown.with_words:
        lists = " ".join(f"--without {shlex.quote(f'@{name}')}" for name in options.not_in)
        words = f"words of --not-in stand in {shown.with_words:,} {of_all}"
        console.note(f"{words}: did you mean {lists}?")


def texts_for_note(models: Sequence[charrnn.Model]) -> Set[str] | None:
    """Return the training texts, where these are few and at hand."""
    from charrnn.files.model_corpus import training_texts

    texts = set[str]()
    with suppress(CharrnnError):
        for model in models:
            if sum(size for size, _ in model.corpus.files.values()) > SMALL_CORPUS:
                return None
            texts.update(training_texts(model.trained)[0])
        return texts
    return None


def as_read(text: str, model: charrnn.Model, console: Console, but: str = "") -> str:
    """Return a text of the command line, read as a corpus; note its unknown characters."""
    text = read_typed(text, model.corpus.reading.normalize)
    unknown = [symbol for symbol in model.vocabulary.unknown_in(text) if symbol not in but]
    if unknown:
        names = [f"{symbol} (U+{ord(symbol):04X})" for symbol in unknown[:NAMED]]
        names += ["..."] if len(unknown) > NAMED else []
        console.note(f"not in the vocabulary, read as unknown: {' '.join(names)}")
    return text
