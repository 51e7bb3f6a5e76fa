"""A trained model: it samples, scores, fills gaps and embeds texts.

model = charrnn.load("names.npz")
model.sample(count=3, temperature=0.8, seed=1)
model.score(["Tyrannosaurus"]).bits_per_character
model.save("copy.npz")
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from typing import TYPE_CHECKING, Unpack

import numpy as np

from charrnn.errors import CharrnnError, ModelFileError, SettingError
from charrnn.export.write import ExportOptions, export_to
from charrnn.files import model_file
from charrnn.files.model_contents import Checkpoint, CorpusRecord, Trained
from charrnn.files.model_corpus import conditions_on, texts_like
from charrnn.network.arrays import Array64, Integers, softmax
from charrnn.network.parameters import LanguageModel, Parameters, still_to_come
from charrnn.network.step import Network
from charrnn.notebook import Surprisal, plot
from charrnn.prediction import scoring
from charrnn.prediction.embed import Vectors, embed
from charrnn.prediction.filling import FillConfig, Filled, fill
from charrnn.prediction.losses import Score
from charrnn.prediction.predictor import Predictor, Use, combine
from charrnn.prediction.sample_conditions import choose, limit_length
from charrnn.prediction.sampling import Sampler
from charrnn.settings.drawing import Drawing, SampleConfig
from charrnn.settings.training import Fitted
from charrnn.settings.values import SIZE, Flag, OneOf, Text, Whole, check, with_settings
from charrnn.spread.workers import in_parallel
from charrnn.system import visible
from charrnn.system.packaged import model_at
from charrnn.text.corpus import Corpus, Texts, check_texts, files_in
from charrnn.text.counts import Ngrams, counts_of
from charrnn.text.examples import join_examples
from charrnn.text.vocabulary import END, Vocabulary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WHOLE_FROM_0 = Whole(0, 1 << 40)
USE = OneOf(Use)


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model, which does not change: several threads may use it at once."""

    trained: Trained
    checkpoint: Checkpoint | None = None  # the run, where that is at hand
    origin: str | None = None  # the file that it was loaded from
    learned_from: Corpus | None = None  # the texts of ``fit``, while it lives
    mixed: tuple[Model, ...] = ()  # the models of a mixture; their first has its ``trained``

    def __repr__(self) -> str:
        if self.mixed:
            return f"<charrnn.Model: a mixture of {len(self.mixed)} models>"
        size, best = self.parameters.architecture, self.trained.best
        is_known = self.corpus.held_out_characters  # else the best loss is one of training
        loss = f", {best[1]:.3f} nats per character" if best and is_known else ""
        layers = f"{size.layers} x {visible.count(size.hidden, f'{size.cell_name} unit')}"
        counts = "" if self.trained.counted is None else ", and counts"
        return f"<charrnn.Model: {layers}{counts}, {size.symbols} symbols{loss}>"

    @property
    def language_model(self) -> LanguageModel:
        """The network and its vocabulary."""
        return self._single.model

    @property
    def parameters(self) -> Parameters:
        """The parameters of the network."""
        return self._single.model.parameters

    @property
    def _single(self) -> Trained:
        """What was trained; ModelFileError for a mixture, which is only used to draw and score."""
        if self.mixed:
            raise ModelFileError("a mixture has no network of its own", "Use one of its models.")
        return self.trained

    @property
    def vocabulary(self) -> Vocabulary:
        """The characters that the model knows."""
        return self.trained.model.vocabulary

    @property
    def config(self) -> Fitted:
        """The settings of training, with nothing left open."""
        return self.trained.config

    @property
    def corpus(self) -> CorpusRecord:
        """The record of the training corpus: its files, reading, sizes and baselines."""
        return self.trained.corpus

    @cached_property
    def counts(self) -> Ngrams | None:
        """The counts of the training text, if the model keeps it."""
        if self.mixed:
            return self.predictor().counts
        return counts_of(self.trained.counted, self.vocabulary)

    @property
    def labels(self) -> list[str]:
        """The labels that the model knows."""
        return list(self.vocabulary.labels)

    def predictor(self, use: str | None = None) -> Predictor:
        """Return the predictor of network and counts, or of a part.

        use: "network", "counts" or "both" of a model with counts; default: both, if it has them.
        """
        if self.mixed:
            counted = [model.trained.counted is not None for model in self.mixed]
            uses = [use if has or not any(counted) else None for has in counted]
            return combine([m.predictor(part) for m, part in zip(self.mixed, uses, strict=True)])
        chosen: Use = "both" if use is None else check("use", use, USE)
        if use is not None and chosen != "network" and self.counts is None:
            what = f"use {chosen} needs counts, and the model has none"
            raise ModelFileError(what, "Train a model with [counts], or leave [use] out.", "use")
        return Predictor([self.language_model], self.counts, chosen, self.trained.mixture)

    def sample(
        self,
        count: int = 1,
        *,
        prime: str | Sequence[str] = "",
        label: str | None = None,
        novel: bool = False,
        not_in: Texts | None = None,
        unique: bool = False,
        without: Sequence[str] = (),
        known_words: bool = False,
        distance: int | None = None,
        shortest: int | None = None,
        longest: int | None = None,
        best: bool = False,
        use: str | None = None,
        **drawing: Unpack[Drawing],
    ) -> list[str]:
        """Return new texts; CharrnnError if too few are found.

        count: How many texts.
        prime: The text that each begins with; of several, each begins ``count`` texts.
        label: The label of each; by default drawn by frequency.
        novel: Show no training text, compared without case and outer spaces.
        not_in: Texts, or paths of files with texts, that may not be shown.
        unique: Show no text twice.
        without: Words that no text contains, in capitals or not.
        known_words: Show only words of the training corpus.
        distance: The fewest edits from a training text or an earlier one.
        shortest: The fewest characters; by default 1.
        longest: The most characters.
        best: Return the likeliest of ten times as many novel and unique texts.
        drawing: Settings of SampleConfig, by name.
        """
        count = check("count", count, WHOLE_FROM_0)
        shortest = None if shortest is None else check("shortest", shortest, WHOLE_FROM_0)
        longest = None if longest is None else check("longest", longest, WHOLE_FROM_0)
        distance = None if distance is None else check("distance", distance, SIZE)
        primes = each_of(prime, "prime")
        base = with_settings(SampleConfig(), drawing, Model.sample)
        configs = [limit_length(base, text, shortest, longest) for text in primes]
        taken: Iterable[str] = ()
        if not_in is not None:
            files = files_in(not_in)
            taken = texts_like(self.corpus, files)
            taken = taken if files else check_texts(not_in, "not_in", or_files=True)
        learned = [model.learned_from or model.trained for model in self.mixed or (self,)]
        choice = {"novel": novel, "best": best, "unique": unique, "known_words": known_words}
        choice = {name: check(name, value, Flag()) for name, value in choice.items()}
        limits = {"distance": distance, "shortest": shortest, "longest": longest}
        wishes = {"without": check_texts(without, "without"), **choice, **limits}
        conditions = conditions_on(learned, taken, partial(warnings.warn, stacklevel=3), **wishes)
        predictor, samples = self.predictor(use), list[str]()
        for text, config in zip(primes, configs, strict=True):
            sampler = Sampler(predictor, config, text, label, may_be_empty=shortest == 0)
            samples += [sample.text for sample in choose(sampler, count, conditions)]
        if len(samples) < count * len(primes):
            hint = "Lower [count], raise" if count > 1 else "Raise"
            what = f"found only {len(samples):,} of {visible.count(count * len(primes), 'sample')}"
            raise CharrnnError(what, f"{hint} [temperature], or allow more texts.")
        return samples

    def stream(
        self,
        *,
        prime: str = "",
        label: str | None = None,
        use: str | None = None,
        **drawing: Unpack[Drawing],
    ) -> Iterator[str]:
        """Yield the characters of one text as they are sampled, without the prime."""
        config = with_settings(SampleConfig(), drawing, Model.stream)
        stream = Sampler(self.predictor(use), config, check("prime", prime, Text()), label).stream()
        return (character for character in stream if character)

    def score(
        self,
        texts: Iterable[str],
        labels: Iterable[str] | None = None,
        cores: int = 1,
        *,
        use: str | None = None,
    ) -> Score:
        """Return the score of these texts, each an example with its END.

        texts: The texts, an iterable of str; a str alone is one text.
        labels: The label of each; by default, the sum over all labels is scored.
        cores: How many processes share the work; each takes a moment to start.
        """
        kinds = None if labels is None else each_of(labels, "labels")
        groups = scoring.groups_with(each_of(texts), kinds)
        return sum(in_parallel(scoring.total_of, self.predictor(use), groups, cores), Score())

    def label_probabilities(self, texts: Iterable[str], *, use: str | None = None) -> Array64:
        """Return the probability of each label for each text by Bayes' rule, (n, L).

        texts: The texts, an iterable of str; a str alone is one text.
        """
        predictor, parts = self.predictor(use), [np.empty((0, len(self.labels)))]
        if not self.labels:
            raise SettingError("the model has no labels", "Train one with labels.", "label")
        for group in scoring.groups_of(each_of(texts)):
            ids = self.vocabulary.encode_codes(join_examples(group))
            parts.append(softmax(scoring.score_by_label(predictor, ids)[1]))
        return np.concatenate(parts)

    def classify(self, texts: Iterable[str], *, use: str | None = None) -> list[tuple[str, float]]:
        """Return the likeliest label of each text and its probability."""
        return scoring.likeliest(self.vocabulary, self.label_probabilities(texts, use=use))

    def scores(
        self,
        texts: Iterable[str],
        cores: int = 1,
        *,
        labels: Iterable[str] | None = None,
        use: str | None = None,
    ) -> list[Score]:
        """Return the score of each text; all are read side by side.

        cores: How many processes share the work; each takes a moment to start.
        """
        kinds = None if labels is None else each_of(labels, "labels")
        groups = scoring.groups_with(each_of(texts), kinds)
        parts = in_parallel(scoring.columns_of, self.predictor(use), groups, cores)
        return [score for columns in parts for score in map(Score, *columns)]

    def surprisal(
        self, text: str, *, label: str | None = None, use: str | None = None
    ) -> Surprisal:
        """Return the loss of each character of a text, and of its END."""
        text = check("text", text, Text())
        group = scoring.Group([text], None if label is None else check_texts([label], "labels"))
        scored = scoring.score_texts(self.predictor(use), group, ranking=True)
        assert scored.ranks is not None
        return Surprisal(text, scored.nats.tolist(), scored.ranks.tolist())

    def embed(self, texts: Iterable[str], *, label: str | None = None) -> Vectors:
        """Return a vector for each text, (N, H): the last state of the top layer."""
        model, texts = self.language_model, each_of(texts)
        kinds = None if label is None else check_texts([label], "labels") * len(texts)
        if kinds is None and self.labels:  # else no counts are needed, which take a moment
            kinds = [kind for kind, _ in self.classify(texts)]
        return embed(model, texts, scoring.labels_to_read(self.vocabulary, texts, kinds))

    def fill(
        self,
        text: str,
        *,
        label: str | None = None,
        count: int = 5,
        max_gap: int = 8,
        beam: int = 4096,
    ) -> Filled:
        """Return the likeliest fillings of a text and their probabilities.

        text: The text, where _ is a missing character and * a gap of some characters.
        count: Show this many fillings.
        max_gap: Fill at most this many characters into a gap.
        beam: Try at most this many beginnings of each length.
        """
        text = check("text", text, Text())
        how = FillConfig(count=count, max_gap=max_gap, beam=beam)
        return fill(self.predictor(), text, how, label)

    def logits(self, ids: Sequence[int] | Integers, *, label: str | None = None) -> Array64:
        """Return the logits (T, K) after each of these ids, read from a zero state.

        A model with labels reads this label where an END stands.

        ids: A row of symbols, whole numbers from 0 to K - 1.
        """
        x, symbols = np.asarray(ids), self.vocabulary.symbols
        first = self.vocabulary.id_of(label)
        is_whole = x.dtype.kind in "iu" and ((x >= 0) & (x < symbols)).all()
        if x.ndim != 1 or (len(x) and not is_whole):
            what = f"ids are a row of whole numbers from 0 to {symbols - 1}"
            raise SettingError(what, "Give those of vocabulary.encode.")
        x, network = x.astype(np.intp), Network(self.parameters)
        to_come = np.append(still_to_come(x[1:]), 0)
        o: Array64 = np.empty((len(x), symbols))
        for t, symbol in enumerate(x):
            if symbol == END or t == 0:
                state = network.zeros(1, to_come=int(to_come[t]))
            o[t] = network.step(np.array([first if symbol == END else symbol]), state)[0]
        return o

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the learning curve, and return its Axes; needs matplotlib.

        ax: The Axes to draw into; by default new ones.
        """
        return plot(self, ax=ax)

    def export(
        self,
        path: str | PathLike[str],
        *,
        force: bool = False,
        title: str | None = None,
        prefix: str | None = None,
        without_counts: bool = False,
    ) -> None:
        """Write a file without the run; its suffix decides the format.

        path: The name of the file, which ends in .html, .mjs, .h, .safetensors or .npz.
        force: Replace a file that is there.
        title: The title of a page; default: the name of the file.
        prefix: Names in a C header begin with this; default: the name of the file.
        without_counts: Leave the training text out of a .npz file.
        """
        export_to(path, self._single, ExportOptions(title, prefix, without_counts), force=force)

    def save(self, path: str | PathLike[str], *, force: bool = False) -> None:
        """Write the model into a file, with the run after ``fit``; replace an older model.

        A loaded model is copied, with the run if its file has one. A changed one, or that of a
        Run, is written in full precision without a run. Models without a run never replace a run.
        """
        trained = self._single
        with model_file.locked_model(path, force=force):
            run = self.checkpoint
            if run is not None and model_file.are_same(run.trained, trained):
                model_file.save(path, run)
            else:
                model_file.save_loaded(path, trained, self.origin)


def load(path: str | PathLike[str] = "model.npz") -> Model:
    """Return the model in a file, or an included one.

    path: A file, or dinosaurs, given-names, latin, reber or verses.
    """
    return Model(model_file.load_trained(path), origin=os.path.abspath(model_at(path)))


def mix(*models: Model) -> Model:
    """Return a mixture: the mean probabilities of networks, with the counts of the longest text.

    models: Models that know the same characters.
    """
    if not models or not all(isinstance(model, Model) for model in models):
        raise SettingError("there is no model to mix", "Give models, such as those of load.")
    parts = tuple(part for model in models for part in model.mixed or (model,))
    if len(parts) == 1:
        return parts[0]
    mixture = Model(parts[0].trained, mixed=parts)
    mixture.predictor("network")  # which tests whether they go together
    return mixture


def each_of(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Return the texts, to score, say; a str alone is one text."""
    return check_texts([texts] if isinstance(texts, str) else texts, name)
