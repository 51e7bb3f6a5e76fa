"""``charrnn sample``: read the prime, draw, select and write samples, and note copies of texts.

A file or pipe gets the exact text. A terminal gets whole graphemes with control characters made
visible, and with --surprise in the colour of their surprisal.
"""

from __future__ import annotations

import os
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, tee
from typing import TYPE_CHECKING

import numpy as np

from charrnn.cli.console import CYAN, Console
from charrnn.cli.files import FigureFile
from charrnn.cli.options import MODEL, note_if_refused
from charrnn.cli.sample.options import USUAL, Options
from charrnn.cli.terminal.tables import count
from charrnn.corpus.checks import TextSet, hash_of
from charrnn.corpus.files import blocks, is_stream, path_of
from charrnn.corpus.segmentation import END_CODE, codes_of_ids
from charrnn.errors import CharrnnError, CorpusError, ModelFileError
from charrnn.model import Model
from charrnn.runs import load
from charrnn.sampling import sampler as samplers
from charrnn.sampling.copied import Runs, copied_runs
from charrnn.sampling.sampler import Conditions, Fragment, Sample, SampleConfig, Sampler
from charrnn.scoring.predictor import OTHER_VOCABULARY, combine
from charrnn.settings.corpus import Reading
from charrnn.text import Raw, Visible, encodable, goes_on, joined, visible
from charrnn.texts import check_files_exist, codes_in, codes_like, example_lengths
from charrnn.vocabulary import Codes, Vocabulary, codes_of

if TYPE_CHECKING:
    from charrnn.cli.terminal.colours import Painter


SOON = 0.01  # seconds between two writes: each takes about as long as drawing a character
FEW_BYTES = 1 << 20  # of a corpus: a larger one is searched for runs only with --show-copied
SHOWN = 40  # characters of the longest run


class SampleWriter:
    """Writes samples, each soon after its last characters."""

    def __init__(self, options: Options, prime: str, console: Console, *, newlines: bool) -> None:
        """With ``newlines``, a blank line separates two samples."""
        self._output = console.out
        self._is_exact = options.raw or not console.out.is_terminal
        self._painter: Painter | None = None
        if options.surprise and not options.as_json:
            from charrnn.cli.terminal.colours import Painter

            self._painter = Painter(console.out)
            if self._painter.has_colours:
                console.say(Painter(console.err).legend())
        self._before = "" if options.hide_prime else prime
        between = "\n" if newlines and not options.null else ""
        self._next_before = between + self._before
        self._after = Visible("\0" if options.null else "\n")
        self._held, self._held_nats = "", 0.0  # the grapheme that is not complete
        self._waiting: list[Visible | Raw] = []
        self._flushed = float("-inf")

    def write(self, pieces: Iterable[Fragment | Sample]) -> None:
        has_begun = False
        try:
            for piece in pieces:
                if not has_begun:
                    has_begun = True
                    self._write(self._shown(self._before, [0.0] * len(self._before)))
                    self._before = self._next_before
                self._write(self._shown(piece.text, piece.nats))
                if piece.ended:
                    self._write(self._rest())
                    self._write(self._after)
                    has_begun = False
        finally:
            self._flush()

    def _shown(self, text: str, nats: Sequence[float]) -> Visible | Raw:
        if self._is_exact:
            return Raw(text)
        ready = []
        for character, surprisal in zip(text, nats, strict=False):  # END has nats, no character
            if not goes_on(self._held, character):
                ready.append(self._rest())
            self._held += character
            self._held_nats += surprisal
        return joined(ready)

    def _rest(self) -> Visible:
        held, nats = self._held, self._held_nats
        self._held, self._held_nats = "", 0.0
        return visible(held) if self._painter is None else self._painter.paint(held, nats)

    def _write(self, text: Visible | Raw) -> None:
        """Write at once if the last write was a while ago, else with one of the next texts."""
        self._waiting.append(text)
        if time.monotonic() - self._flushed >= SOON:
            self._flush()

    def _flush(self) -> None:
        texts, self._waiting = self._waiting, []
        if any(texts):
            self._output.write(*texts)
        self._flushed = time.monotonic()


NAMED = 12  # unknown characters of a prime that a note names
SMALL_CORPUS = 1 << 22  # bytes: a larger one is not searched for copies
FEW_CHARACTERS = 1 << 14  # whose runs are looked for, unless --show-copied is given


def run(options: Options, threads: int, console: Console) -> None:
    if not options.models:
        usual = MODEL if any(map(os.path.lexists, (MODEL, USUAL))) else USUAL
        options = replace(options, models=(usual,))
        if usual == USUAL:
            yours = "train one of your own: charrnn train FILE"
            console.note(f"there is no {MODEL}, so {USUAL}, a model of the package, draws; {yours}")
    file = FigureFile.of(options.plot, options.force, *options.models, *options.files)
    models = [load(path) for path in options.models]
    model = models[0]
    for path, one in zip(options.models, models, strict=True):
        if one.vocabulary.characters != model.vocabulary.characters:
            what = f"the vocabularies of {path} and {options.models[0]} differ"
            raise ModelFileError(what, OTHER_VOCABULARY)
    predictor = combine([one.predictor(options.use) for one in models])
    texts = {(one.corpus.fingerprint, one.corpus.sources): one for one in models}
    distinct = tuple(texts.values())  # a model of each text
    reading = model.corpus.reading_of(options.prime_file or "-", options.reading)
    console.note_if_waiting(options.files)
    prime = read_prime(options, model, reading)
    config = SampleConfig(**options.sampling)
    config = samplers.limit_length(config, prime, options.shortest, options.longest)
    note_prime(prime, model.vocabulary, console)

    temperatures = options.temperatures or (SampleConfig.temperature,)
    tally = Tally(prime, lengths=None if file is None else {})
    if not (console.quiet or options.novel) and are_at_hand(distinct, SMALL_CORPUS):
        tally.hashes = []
    if not (console.quiet or options.show_copied):
        kept = [one.trained.counted for one in distinct if one.trained.counted is not None]
        is_short = bool(kept) and sum(map(len, kept)) <= FEW_BYTES
        if is_short or are_at_hand(distinct, FEW_BYTES, options.novel):
            tally.texts = []
    if prime and not options.hide_prime and (options.as_json or options.best):
        tally.shown, tally.nats = prime, samplers.nats_of(prime, predictor)
    conditions = conditions_of(options, prime, model)
    seen = TextSet() if options.unique else None  # samples of all temperatures
    newlines = "\n" in model.vocabulary.characters or "\n" in prime
    writer = SampleWriter(options, prime, console, newlines=newlines)
    for temperature in temperatures:
        if len(temperatures) > 1:
            console.note(f"temperature {temperature:g}")
        tally.temperature = temperature
        drawing = replace(config, temperature=temperature)
        sampler = Sampler(predictor, drawing, prime, threads)
        written = tally.written
        samples: Iterable[Sample | None] | None = None
        if conditions is not None or options.as_json or options.show_copied:
            samples = samplers.redraw(sampler, options.numbers, conditions, seen)
        if samples is None:
            writer.write(tally.of(sampler.fragments(options.numbers)))
            continue
        chosen: Iterable[Sample] = filter(None, samples)
        if options.best:
            chosen = samplers.likeliest(chosen, options.count, tally.nats, len(tally.shown))
        if options.show_copied:
            chosen, again = tee(chosen)
            known = partial(known_texts, distinct, options)
            runs = copied_runs((sample.text for sample in again), known)
            chosen = (replace(one, copied=own) for one, own in zip(chosen, runs, strict=True))
        if options.as_json:
            write_json(chosen, tally, console)
        elif options.show_copied:
            write_rows(tally.of(chosen), "" if options.hide_prime else prime, console)
        else:
            writer.write(tally.of(chosen))
        if tally.written - written < options.count:
            tally.is_certain &= sampler.is_deterministic
    note_if_refused(console)
    if tally.limited:
        many = f"{tally.limited:,} of {tally.written:,} samples"
        which = many if tally.written > 1 else "the sample"
        console.note(f"{which} reached --max-chars {config.max_characters} before the end")
    if tally.hashes:
        note_copies(tally.hashes, distinct, console)
    if tally.texts:
        note_runs(tally.texts, distinct, options, console)
    if file is not None:
        plot_lengths(tally.lengths or {}, model, file, console)
    check_complete(tally, options, len(temperatures))


def read_prime(options: Options, model: Model, reading: Reading) -> str:
    """Return the text that samples continue: that of --prime-file, of --prime, or none."""
    if options.prime_file is None:
        return as_read(options.prime or "", reading)
    text = "".join(blocks(options.prime_file, reading))
    return text.removesuffix("\n") if model.examples_are in ("lines", "texts") else text


def as_read(text: str, reading: Reading) -> str:
    """Return a text of the command line, decoded and normalised as a corpus would be."""
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes that the locale cannot decode may be UTF-8
        with suppress(UnicodeDecodeError):
            text = os.fsencode(text).decode()
    if reading.newlines == "translate":
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if reading.normalize == "none" else unicodedata.normalize(reading.normalize, text)


def note_prime(prime: str, vocabulary: Vocabulary, console: Console) -> None:
    """Note unknown characters of a prime, and a beginning that is too far back to be read."""
    if len(prime) > samplers.REACH:
        read = f"only its last {samplers.REACH:,} characters are read and matter"
        console.note(f"the prime is long: {read}")
    unknown = vocabulary.unknown_in(prime)
    if unknown:
        names = " ".join(f"{character} (U+{ord(character):04X})" for character in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED:,} more" if len(unknown) > NAMED else ""
        console.note(f"not in the vocabulary, read as unknown: {names}{more}")


def conditions_of(options: Options, prime: str, model: Model) -> Conditions | None:
    """Return the conditions on samples, or None if every sample is shown as it is drawn."""
    lengths = options.shortest, options.longest
    if not (options.novel or options.unique or options.best or lengths != (None, None)):
        return None
    known = None
    if options.novel:
        codes = codes_like(model.corpus, options.novel, options.reading)
        known = TextSet(codes, ignoring_case=options.ignore_case)
    return Conditions(prime, known, *lengths)


@dataclass
class Tally:
    """Counts the samples that are written."""

    prime: str
    shown: str = ""  # the prime as part of each sample: empty with --hide-prime
    nats: float = 0.0  # of it, at the model's own probabilities
    hashes: list[int] | None = None  # of samples, to find copies of training texts
    lengths: dict[float, list[int]] | None = None  # by temperature, for --plot
    texts: list[str] | None = None  # the first samples, to find runs of training texts
    temperature: float = 1.0
    written: int = 0
    drawn: int = 0  # characters of ``texts``
    limited: int = 0  # samples that reached --max-chars
    is_certain: bool = True  # more attempts cannot find missing samples

    def of(self, pieces: Iterable[Fragment | Sample]) -> Iterator[Fragment | Sample]:
        """Yield these pieces, and count each sample that ends."""
        begun: list[str] = []
        for piece in pieces:
            begun.append(piece.text)
            if piece.ended is not None:
                self.add("".join(begun), piece.ended)
                begun = []
            yield piece

    def add(self, text: str, ended: str) -> None:
        self.written += 1
        self.limited += ended == "limit"
        if self.lengths is not None:
            self.lengths.setdefault(self.temperature, []).append(len(self.prime + text))
        if self.hashes is not None:
            self.hashes.append(hash_of(self.prime + text))
        if self.texts is not None and self.drawn < FEW_CHARACTERS:
            self.texts.append(text)
            self.drawn += len(text)


def write_rows(samples: Iterable[Fragment | Sample], prime: str, console: Console) -> None:
    """Write each sample on a line, after the length of its longest run in known texts."""
    output = console.out
    if output.is_terminal:
        output.write_lines([output.paint(Visible("copied  text"), CYAN)])
    for sample in samples:
        runs = getattr(sample, "copied", None)
        row = f"{len(runs.longest) if runs else 0:6}  " + (prime + sample.text).replace("\n", "\\n")
        console.result(f"{row}\n")


def write_json(samples: Iterable[Sample], tally: Tally, console: Console) -> None:
    for sample in samples:
        tally.add(sample.text, sample.ended)
        text, nats = tally.shown + sample.text, tally.nats + sum(sample.nats)
        fields = {
            "text": encodable(text),
            "characters": len(text),
            "nats": nats,
            "nats_per_character": nats / (len(text) + (sample.ended == "end")),
            "ended": sample.ended,
            "temperature": tally.temperature,
        }
        if sample.copied is not None:
            fields["copied_longest"] = len(sample.copied.longest)
            fields["copied_median"] = sample.copied.median
        console.json("sample", fields)


def plot_lengths(
    drawn: Mapping[float, list[int]], model: Model, file: FigureFile, console: Console
) -> None:
    from charrnn import display

    lengths: dict[str, list[int]] = {}
    try:
        lengths["corpus"] = example_lengths(training_texts(model))
    except (CharrnnError, OSError) as error:
        console.note(f"the figure has no lengths of the corpus: {error}")
    for temperature, each in drawn.items():
        lengths["samples" if len(drawn) == 1 else f"temperature {temperature:g}"] = each
    file.draw(partial(display.plot_lengths, lengths), console)


def check_complete(tally: Tally, options: Options, temperatures: int) -> None:
    requested = options.count * temperatures
    if tally.written == requested:
        return
    tests = {
        "--novel": options.novel,
        "--unique": options.unique,
        f"--shortest {options.shortest}": options.shortest,
        f"--longest {options.longest}": options.longest,
    }
    given = " and ".join(test for test, is_given in tests.items() if is_given)
    found = f"found only {tally.written:,} of {requested:,} samples"
    if tally.is_certain:
        one = options.sampling.get("top_k") == 1
        hint = "Leave out --top-k 1." if one else "Raise -t above 0."
        raise CharrnnError(f"{found}: every attempt gives the same text, which fails {given}", hint)
    what = f"{found}: {samplers.ATTEMPTS} attempts at one of them did not pass {given}"
    raise CharrnnError(what, f"Lower -n, raise -t, or leave out {given}.")


def training_texts(model: Model) -> Iterator[Codes]:
    corpus = model.corpus
    check_files_exist(corpus)
    kinds = corpus.config.kinds(len(corpus.sources))
    return codes_in(corpus.sources, kinds, corpus.config.reading)


def known_texts(models: Sequence[Model], options: Options) -> Iterator[Codes]:
    """Yield the training texts, from their files or as models count them, and that of --novel."""
    for model in models:
        counted = model.trained.counted
        try:
            yield from training_texts(model)
        except CorpusError as error:
            if counted is None and not options.novel:
                raise CorpusError(error.what, "Name the corpus with --novel.") from None
            if counted is not None:
                characters = codes_of(model.vocabulary.characters)
                yield from codes_of_ids(counted, np.append(characters, END_CODE))  # for breaks
    files = [name for name in options.novel if not is_stream(name)]  # which were read before
    yield from codes_like(models[0].corpus, files, options.reading)


def are_at_hand(models: Sequence[Model], most: int, novel: Sequence[str] = ()) -> bool:
    """Return True if the corpora of models, or --novel, can be read and have few bytes."""
    names = list(novel)
    with suppress(CharrnnError):
        for model in models:
            check_files_exist(model.corpus)
            names += model.corpus.sources
    with suppress(OSError):
        files = list(map(path_of, names))
        is_small = all(map(os.path.isfile, files)) and sum(map(os.path.getsize, files)) <= most
        return bool(files) and is_small
    return False


def note_copies(hashes: Sequence[int], models: Sequence[Model], console: Console) -> None:
    with suppress(CharrnnError, OSError):
        texts = TextSet(chain.from_iterable(map(training_texts, models)))
        copies = sum(map(texts.has_hash, hashes))
        if len(hashes) > 1:
            console.note(f"exact copies of training texts: {copies:,} of {len(hashes):,} samples")
        elif copies:
            console.note("the sample is an exact copy of a training text")


def note_runs(
    samples: list[str], models: Sequence[Model], options: Options, console: Console
) -> None:
    """Note how long the runs of samples are that stand in the training texts."""
    with suppress(CharrnnError, OSError):
        runs = list(copied_runs(samples, partial(known_texts, models, options)))
        longest = max((each.longest for each in runs), key=len)
        median = Runs([size for each in runs for size in each.lengths], longest).median
        if longest:
            shown = repr(longest) if len(longest) <= SHOWN else f"{longest[:SHOWN]!r}..."
            most = f"at most {count(len(longest), 'character')} in a row, {shown}"
            console.note(f"copied from known texts: {most}; the median run has {median}")
