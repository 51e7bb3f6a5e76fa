"""What ``charrnn sample`` does: load, read the prime, draw, write."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from charrnn.cli import thread_count
from charrnn.cli.console import Console
from charrnn.cli.prime import note_prime, prime_shown, read_prime
from charrnn.cli.sample_output import Frame, Samples, style_for
from charrnn.cli.shared_work import cluster_for
from charrnn.corpus.reading import Reading
from charrnn.errors import CharrnnError, ModelFileError, SettingError
from charrnn.escaping import Visible, encodable
from charrnn.model import Model
from charrnn.prediction.predictor import OTHER_VOCABULARY, together
from charrnn.runs import load
from charrnn.sampling.sampler import Piece, Sample, SampleConfig, Sampler, random_seed

if TYPE_CHECKING:
    from charrnn.cli.choosing_samples import Wanted
    from charrnn.cli.copies_of_corpus import Copies
    from charrnn.cli.figure_file import FigureFile
    from charrnn.cli.sample import Options
    from charrnn.cluster.pool import Cluster


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


def run(options: Options, workers: int, file: FigureFile | None, console: Console) -> None:
    """Do all of it."""
    temperatures = options.temperatures or (SampleConfig.temperature,)
    config = SampleConfig(**options.sampling)
    if file is not None:
        file.check(*(os.path.join(os.curdir, path) for path in options.models), *options.files)
    models = [load(path) for path in options.models]
    model = models[0]
    check_same_vocabulary(options, models)
    predictor = together([one.predictor(options.use) for one in models])
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
            sampler = Sampler(predictor, how, prime, workers)
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
    from charrnn.cluster.sampling import SamplingJob, drawn

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
    from charrnn.cli.copies_of_corpus import Copies, is_at_hand

    return Copies(model) if is_at_hand(model) else None


def wishes_of(
    options: Options, prime: str, before: tuple[str, float], model: Model, reading: Reading
) -> Wanted | None:
    """Which samples are wanted, where not all are."""
    lengths = options.shortest is not None or options.longest is not None
    if not (options.novel or options.unique or options.best or lengths):
        return None
    from charrnn.cli.choosing_samples import wanted

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
        from charrnn.cli.surprisal_colours import Painter

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
        texts.check_there(record)
        kinds = record.config.kinds(len(record.source_files))
        lengths["corpus"] = texts.lengths(
            texts.codes_in(record.source_files, kinds, record.config.reading)
        )
    except (CharrnnError, OSError) as error:
        console.note(f"the samples stand alone: {error}")
    for temperature, some in drawn.items():
        lengths["samples" if len(drawn) == 1 else f"temperature {temperature:g}"] = some
    file.write(partial(figures.plot_lengths, lengths), console)


def check_all_are_there(tally: Tally, options: Options, times: int) -> None:
    """Raise CharrnnError where there are less than were asked for."""
    asked = options.count * times
    if tally.written == asked:
        return
    from charrnn.sampling.redrawing import ATTEMPTS

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
