"""What ``charrnn sample`` does: load, read the prime, draw, write.

The text that samples go on from: how it is read, and what is said and shown of it.

Which samples are wanted: not known, not said before, of some length, the best of many.

How many samples stand in the corpus word for word: told where that is soon known."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nsmallest
from typing import TYPE_CHECKING

from charrnn.cli import options as thread_count
from charrnn.cli.console import Console
from charrnn.cli.files import FigureFile
from charrnn.cli.options import cluster_for
from charrnn.cli.sample.options import Options
from charrnn.cli.sample.output import Frame, Samples, style_for
from charrnn.corpus.decoding import blocks
from charrnn.corpus.files import path_of
from charrnn.corpus.text_set import TextSet, hash_of
from charrnn.errors import CharrnnError, ModelFileError, SettingError
from charrnn.model import Model
from charrnn.runs import load
from charrnn.sampling.constraints import Wishes, redrawn
from charrnn.sampling.sampler import REACH, Piece, Sample, SampleConfig, Sampler, random_seed
from charrnn.scoring.predictor import OTHER_VOCABULARY, Predictor, combine
from charrnn.scoring.texts import check_files_exist, codes_in
from charrnn.settings.corpus import Reading
from charrnn.text import Visible, encodable
from charrnn.vocabulary import Vocabulary

if TYPE_CHECKING:
    from charrnn.cluster.pool import Cluster


NAMED = 12  # of the characters that were never seen


def read_prime(options: Options, model: Model, reading: Reading) -> str:
    """The text to go on from."""
    if options.prime_file is not None:
        return prime_in_file(options.prime_file, reading, model.examples_are)
    return as_read(options.prime or "", reading)


def as_read(text: str, reading: Reading) -> str:
    """A text from the command line, with newlines and letters as a corpus would have them."""
    text = as_typed(text)
    if reading.newlines == "translate":
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if reading.normalize == "none" else unicodedata.normalize(reading.normalize, text)


def as_typed(text: str) -> str:
    """The text. Bytes that the locale has no letters for are those of UTF-8, if they can be."""
    try:
        text.encode()
    except UnicodeEncodeError:
        with suppress(UnicodeDecodeError):
            return os.fsencode(text).decode()
    return text


def prime_in_file(source: str, reading: Reading, examples_are: str) -> str:
    """The text of a file. Where examples are lines, a newline at its end is none of the text."""
    text = "".join(blocks(source, reading))
    return text.removesuffix("\n") if examples_are in ("lines", "texts") else text


def note_prime(prime: str, vocabulary: Vocabulary, console: Console) -> None:
    """Say what of a prime cannot be taken as it is."""
    if len(prime) > REACH:
        console.note(
            f"the prime is long: its last {REACH:,} characters are read, and no more matter"
        )
    unknown = vocabulary.unknown_in(prime)
    if unknown:
        names = " ".join(f"{character} (U+{ord(character):04X})" for character in unknown[:NAMED])
        more = f" and {len(unknown) - NAMED:,} more" if len(unknown) > NAMED else ""
        console.note(f"never seen in training, and read as unknown: {names}{more}")


def nats_of(prime: str, predictor: Predictor) -> float:
    """What the model says of the prime."""
    if (
        len(predictor.used_networks) == 1
        and predictor.used_networks[0].architecture.head.lengths is not None
    ):
        from charrnn.sampling.lengths import nats_of_beginning

        return nats_of_beginning(predictor.used_networks[0], prime)
    from charrnn.scoring.mixed import scorer_of

    scorer = scorer_of(predictor)
    return float(scorer.read(predictor.vocabulary.encode(prime))[0].sum())


def prime_shown(options: Options, prime: str, predictor: Predictor) -> tuple[str, float]:
    """What of the prime is shown, and what it cost."""
    if options.hide_prime or not prime:
        return "", 0.0
    return prime, nats_of(prime, predictor)


@dataclass
class Wanted:
    """What was asked for, for samples of one prime."""

    options: Options
    wishes: Wishes
    before: tuple[str, float]  # what is shown of the prime, and what it cost
    said: TextSet = field(default_factory=TextSet)  # at whatever temperature

    def samples(self, sampler: Sampler) -> Iterator[Sample]:
        """Those that are wanted, as many as were found."""
        said = self.said if self.options.unique else None
        wishes = self.wishes
        return self.chosen(
            redrawn(sampler, self.options.numbers, wishes.whole, wishes.refuses, said)
        )

    def chosen(self, found: Iterator[Sample | None]) -> Iterator[Sample]:
        """The same, of those that somebody has drawn; None is one that was given up."""
        wanted = (sample for sample in found if sample is not None)
        if self.options.best:
            return iter(nsmallest(self.options.count, wanted, key=self.nats_per_character))
        return wanted

    def nats_per_character(self, sample: Sample) -> float:
        """What a symbol of the text that is shown cost, its end counted where it was drawn."""
        prime, nats = self.before
        return (nats + sum(sample.nats)) / (len(prime) + len(sample.nats))


def wanted(
    options: Options, prime: str, before: tuple[str, float], model: Model, reading: Reading
) -> Wanted:
    """The same with the corpus read that is not to be repeated, if there is one."""
    known = None
    if options.novel:
        codes = codes_in(options.novel, model.corpus.config.examples, reading)
        known = TextSet(codes, ignoring_case=options.ignore_case)
    return Wanted(options, Wishes(prime, known, options.shortest, options.longest), before)


SOON_READ = 1 << 22  # bytes of a corpus


def is_at_hand(model: Model) -> bool:
    """Whether what the model learned from is there, and not large."""
    with suppress(CharrnnError, OSError):
        check_files_exist(model.corpus)
        files = [path_of(name) for name in model.corpus.source_files]
        return all(map(os.path.isfile, files)) and sum(map(os.path.getsize, files)) <= SOON_READ
    return False


class Copies:
    """Remembers samples until the corpus is looked through, when nobody waits for them any more."""

    def __init__(self, model: Model) -> None:
        self._corpus = model.corpus
        self._hashes: list[int] = []

    def add(self, text: str) -> None:
        """One more sample, its prime included."""
        self._hashes.append(hash_of(text))

    def tell(self, console: Console) -> None:
        """Say how many stand there. Of a single one it is said only if it does."""
        with suppress(CharrnnError, OSError):
            corpus = self._corpus
            files = corpus.source_files
            kinds = corpus.config.kinds(len(files))
            known = TextSet(codes_in(files, kinds, corpus.config.reading))
            copies, drawn = sum(map(known.has_hash, self._hashes)), len(self._hashes)
            if drawn > 1:
                console.note(f"word for word in the corpus: {copies:,} of {drawn:,} samples")
            elif copies:
                console.note("the sample stands in the corpus word for word")


@dataclass
class Tally:
    """What became of the samples."""

    prime: str
    copies: Copies | None = None
    written: int = 0
    limited: int = 0  # of those
    temperature: float = 1.0
    is_certain: bool = True  # nothing was left to chance where samples were given up
    lengths: dict[float, list[int]] | None = None  # by temperature, where asked for

    def of(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Let them pass, counted."""
        for sample in samples:
            self._count(sample.text, sample.ended)
            yield sample

    def of_pieces(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """The same, where they come in pieces."""
        begun: list[str] = []
        for piece in pieces:
            if self.copies is not None or self.lengths is not None:
                begun.append(piece.text)
            if piece.ended is not None:
                self._count("".join(begun), piece.ended)
                begun = []
            yield piece

    def _count(self, text: str, ended: str) -> None:
        self.written += 1
        self.limited += ended == "limit"
        if self.lengths is not None:
            self.lengths.setdefault(self.temperature, []).append(len(self.prime + text))
        if self.copies is not None:
            self.copies.add(self.prime + text)


def run(options: Options, threads: int, console: Console) -> None:
    """Draw and write the samples."""
    file = None if options.plot is None else FigureFile(options.plot, force=options.force)
    temperatures = options.temperatures or (SampleConfig.temperature,)
    config = SampleConfig(**options.sampling)
    if file is not None:
        file.check(*options.models, *options.files)
    models = [load(path) for path in options.models]
    model = models[0]
    check_same_vocabulary(options, models)
    predictor = combine([one.predictor(options.use) for one in models])
    reading = replace(model.reading, **options.reading)
    console.note_if_waiting(options.files)
    prime = read_prime(options, model, reading)
    check_long_enough(options.shortest, prime, config)
    config = no_longer_than(options.longest, prime, config)
    note_prime(prime, model.vocabulary, console)

    lengths: dict[float, list[int]] | None = None if file is None else {}
    tally = Tally(prime, copies_of(options, model, console), lengths=lengths)
    before = "", 0.0
    if options.as_json or options.best:
        before = prime_shown(options, prime, predictor)
    wishes = wishes_of(options, prime, before, model, reading)
    write = writer(options, prime, model, console)
    with cluster_for(options.processes, options.scheduler, console) as cluster:
        for temperature in temperatures:
            how = replace(config, temperature=temperature)
            if len(temperatures) > 1:
                console.note(f"temperature {temperature:g}")
            tally.temperature = temperature
            sampler = Sampler(predictor, how, prime, threads)
            written = tally.written
            if cluster is None:
                samples = None if wishes is None else wishes.samples(sampler)
            else:
                samples = drawn_by_workers(cluster, options, models, how, prime, wishes)
            if options.as_json:
                drawn = sampler.samples(options.numbers) if samples is None else samples
                write_lines(tally.of(drawn), console, before, temperature)
            else:
                whole = None if samples is None else map(whole_piece, samples)
                write(tally.of_pieces(whole or sampler.pieces(options.numbers)))
            if tally.written - written < options.count:
                tally.is_certain &= sampler.always_the_same
    thread_count.note_if_refused(console)
    note_limited(tally, options, config, console)
    if tally.copies is not None and tally.written:
        tally.copies.tell(console)
    if file is not None:
        plot_lengths(tally.lengths or {}, model, file, console)
    check_all_are_there(tally, options, len(temperatures))


def check_same_vocabulary(options: Options, models: Sequence[Model]) -> None:
    """Raise ModelFileError, with its name, where a model knows other characters than the first."""
    first = options.models[0]
    for path, model in zip(options.models, models, strict=True):
        if model.vocabulary.characters != models[0].vocabulary.characters:
            raise ModelFileError(f"{path} has not the vocabulary of {first}", OTHER_VOCABULARY)


def drawn_by_workers(
    cluster: Cluster,
    options: Options,
    models: Sequence[Model],
    config: SampleConfig,
    prime: str,
    wanted: Wanted | None,
) -> Iterator[Sample]:
    """The samples, drawn by others."""
    from charrnn.cluster.jobs import SamplingJob, drawn

    slim = tuple(model.slim() for model in models)
    seed = random_seed() if config.seed is None else config.seed
    wishes = None if wanted is None else wanted.wishes
    job = SamplingJob(slim, replace(config, seed=seed), prime, options.use, wishes)
    found = drawn(cluster, job, options.numbers)
    return (one for one in found if one) if wanted is None else wanted.chosen(found)


def check_long_enough(shortest: int | None, prime: str, config: SampleConfig) -> None:
    """Raise SettingError where no sample can be as long as is asked."""
    longest = len(prime) + config.max_characters
    if (shortest or 0) > longest:
        raise SettingError(
            f"--shortest {shortest}: a sample has {longest} characters at most",
            "Raise --max-chars.",
        )


def no_longer_than(longest: int | None, prime: str, config: SampleConfig) -> SampleConfig:
    """The same; nothing is drawn beyond what shows that a sample is too long."""
    if longest is None:
        return config
    left = longest - len(prime)
    if left < 0:
        raise SettingError(f"the prime has more than {longest} characters", "Raise --longest.")
    return replace(config, max_characters=min(config.max_characters, left + 1))


def copies_of(options: Options, model: Model, console: Console) -> Copies | None:
    """What counts samples that are none of its own, where somebody is to be told."""
    if console.quiet or options.novel or not model.corpus.sources:
        return None

    return Copies(model) if is_at_hand(model) else None


def wishes_of(
    options: Options, prime: str, before: tuple[str, float], model: Model, reading: Reading
) -> Wanted | None:
    """Which samples are wanted, where not all are."""
    lengths = options.shortest is not None or options.longest is not None
    if not (options.novel or options.unique or options.best or lengths):
        return None

    return wanted(options, prime, before, model, reading)


def whole_piece(sample: Sample) -> Piece:
    """A sample in one piece."""
    return Piece(sample.number, sample.text, sample.nats, sample.ended)


def write_lines(
    samples: Iterable[Sample], console: Console, before: tuple[str, float], temperature: float
) -> None:
    """A line of JSON for each sample."""
    prime, prime_nats = before
    for sample in samples:
        text = prime + sample.text
        nats = prime_nats + sum(sample.nats)
        symbols = len(text) + (sample.ended == "end")
        console.json(
            "sample",
            {
                "text": encodable(text),
                "characters": len(text),
                "nats": nats,
                "nats_per_character": nats / symbols,
                "ended": sample.ended,
                "temperature": temperature,
            },
        )


def writer(
    options: Options, prime: str, model: Model, console: Console
) -> Callable[[Iterable[Piece]], None]:
    """What writes samples as text; more of them may follow."""
    painter = None
    if options.surprise and not options.as_json:
        from charrnn.cli.terminal.colours import Painter

        painter = Painter(console.out)
        if painter.has_colours:
            console.say(Painter(console.err).legend())
    has_newlines = "\n" in model.vocabulary.characters or "\n" in prime
    frame = Frame(
        before="" if options.hide_prime else prime,
        after=Visible("\0" if options.null else "\n"),
        between="\n" if has_newlines and not options.null else "",
    )
    style = style_for(console.out, raw=options.raw, painter=painter)
    samples = Samples(console.out, style, frame)
    return samples.write


def note_limited(tally: Tally, options: Options, config: SampleConfig, console: Console) -> None:
    """Say which samples were cut off."""
    if tally.limited:
        many = f"{tally.limited:,} of {tally.written:,} samples"
        console.note(
            f"{many if tally.written > 1 else 'the sample'} reached --max-chars"
            f" {config.max_characters} before the end"
        )


def plot_lengths(
    drawn: Mapping[float, list[int]], model: Model, file: FigureFile, console: Console
) -> None:
    """Draw how long the samples are, beside those of the corpus where it is at hand."""
    from charrnn.display import figures
    from charrnn.scoring import texts

    lengths: dict[str, list[int]] = {}
    record = model.corpus
    try:
        texts.check_files_exist(record)
        kinds = record.config.kinds(len(record.source_files))
        lengths["corpus"] = texts.example_lengths(
            texts.codes_in(record.source_files, kinds, record.config.reading)
        )
    except (CharrnnError, OSError) as error:
        console.note(f"the samples stand alone: {error}")
    for temperature, some in drawn.items():
        lengths["samples" if len(drawn) == 1 else f"temperature {temperature:g}"] = some
    file.draw(partial(figures.plot_lengths, lengths), console)


def check_all_are_there(tally: Tally, options: Options, times: int) -> None:
    """Raise CharrnnError where there are less than were asked for."""
    asked = options.count * times
    if tally.written == asked:
        return
    from charrnn.sampling.constraints import ATTEMPTS

    wishes = {
        "novel": options.novel,
        "unique": options.unique,
        f"of {options.shortest} characters or more": options.shortest,
        f"of {options.longest} characters or less": options.longest,
    }
    wished = " and ".join(wish for wish, is_so in wishes.items() if is_so)
    given_up = f"gave up {asked - tally.written:,} of {asked:,} samples"
    if tally.is_certain:
        raise CharrnnError(
            f"{given_up}: each draw is the same, and no other is {wished}",
            "Leave --top-k 1 out, or -t 0.",
        )
    raise CharrnnError(
        f"{given_up}: {ATTEMPTS} draws brought nothing {wished}",
        "Ask for fewer, or raise the temperature with -t.",
    )
