"""Model files: a JSON text and named arrays in one .npz; ``safe_writing`` replaces them.

``U1`` to ``c`` are the best parameters, ``last`` and ``average`` the current ones in one row,
``adam.m`` and so on the moments, ``lane.1`` and so on the states, ``counted`` the text for n-gram
counts. A slim file holds the best parameters alone; an exported one has matrices of 16-bit floats.

The file is what ``numpy.savez`` would write, with charrnn.json as its first member. A load
unpickles nothing, and compares sizes and headers with the settings and the file before it
allocates anything.
"""

import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, is_dataclass, replace
from io import BytesIO
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from charrnn.errors import ModelFileError, ResumeError, SaveError
from charrnn.files.model_contents import Checkpoint, CorpusRecord, Trained
from charrnn.files.safe_writing import Note, PathName, locked, replaced
from charrnn.network.parameters import Architecture, LanguageModel, Parameters, architecture_of
from charrnn.prediction.predictor import EVEN
from charrnn.settings.training import Fitted
from charrnn.system.packaged import MODELS, model_at
from charrnn.system.visible import did_you_mean, either
from charrnn.text.vocabulary import Vocabulary
from charrnn.training.optimizer import MOMENTS
from charrnn.training.state import Best, TrainState

Arrays = dict[str, NDArray[Any]]
Layout = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]

FORMAT: Final = 7
JSON_MEMBER: Final = "charrnn.json"
ZIP_HEADER: Final = 30  # bytes before the name of the first member
LARGEST_NUMBER: Final = (1 << 64) - 1  # of the facts: a seed
MANY_PARTS: Final = 1000  # lists and objects of JSON, besides check-ups
STRING: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?')  # of JSON
TOO_LARGE: Final = 1e20  # a parameter that no training leads to; its square is finite


def built(kind: Any, value: Any) -> Any:
    """Return a value of JSON as an annotation says; an exception if it is of another kind."""
    origin, inner = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: built(hints[name], item) for name, item in value.items()})
    if origin is UnionType:  # X | None
        return None if value is None else built(inner[0], value)
    if origin is dict:  # dict[str, X]
        return {name: built(inner[1], item) for name, item in value.items()}
    if origin is list or inner[1:] == (...,):  # list[X] or tuple[X, ...]
        return origin(built(inner[0], item) for item in value)
    if origin is tuple:  # tuple[X, Y]
        return tuple(built(*pair) for pair in zip(inner, value, strict=True))
    if origin is Literal:
        fits = value in inner
    elif kind is float:  # which a whole number also is, and True is not
        fits = type(value) in (int, float) and abs(value) <= LARGEST_NUMBER
    else:
        fits = type(value) is kind and (kind is not int or 0 <= value <= LARGEST_NUMBER)
    if not fits:
        raise ValueError(f"{value!r:.40} makes no sense")
    return value


def layout(
    config: Fitted, architecture: Architecture, counted: int | None, slim: bool, exact: bool
) -> Layout:
    """Return shape and type of each array in a file with these facts."""
    single = np.dtype("<f4")
    matrix = np.dtype("<f2") if slim and not exact else single
    shapes = architecture.shapes.items()
    arrays = {name: (shape, matrix if len(shape) == 2 else single) for name, shape in shapes}
    if not slim:
        moments = [f"{config.optimizer}.{name}" for name in MOMENTS[config.optimizer]]
        for name in ("last", "average", *moments):
            arrays[name] = (architecture.parameter_count,), single
        for name in architecture.state_names:
            arrays[f"lane.{name}"] = (config.batch, config.hidden), single
    if counted is not None:
        largest = architecture.symbols + architecture.labels
        arrays["counted"] = (counted,), np.min_scalar_type(largest).newbyteorder("<")
    return arrays


def load_trained(path: PathName, named: str = "model") -> Trained:
    """Return the part of a file, named by this setting, that sampling and scoring need."""
    return read(path, named)[0]


def load(path: PathName) -> Checkpoint:
    """Return the run in a file."""
    trained, arrays = read(path)
    if trained.slim:
        what = f"{os.fspath(path)} is slim: it can sample and score, but holds no run to resume"
        raise ResumeError(what, "Resume the file that it was made from, or train a new model.")
    model, rule = trained.model, trained.config.optimizer
    state = TrainState(
        Parameters(model.architecture, arrays["last"]),
        {name: arrays[f"{rule}.{name}"] for name in MOMENTS[rule]},
        arrays["average"],
        [arrays[f"lane.{name}"] for name in model.architecture.state_names],
        best=None if trained.best is None else Best(*trained.best, model.parameters.flat),
        history=trained.history,
        **asdict(trained.counters),
    )
    return Checkpoint(vocabulary=model.vocabulary, state=state, **trained.shared())


def read(path: PathName, named: str = "model") -> tuple[Trained, Arrays]:
    """Return what a file holds. Raise ModelFileError for a file that cannot be used."""
    name, file = os.fspath(path), model_at(path)
    try:
        if not is_model(file):
            raise ModelFileError(f"{name} is not a model of charrnn", "Name another.")
        with zipfile.ZipFile(file) as archive:
            return read_archive(archive, name)
    except (ModelFileError, MemoryError):
        raise
    except Exception as error:  # whatever a stranger's file leads to
        what = f"{name} is not a model of charrnn, or is damaged: {str(error)!a:.200}"
        hint = "Restore it from a copy, or train it again."
        if isinstance(error, FileNotFoundError):
            what, near = f"there is no model {name}", did_you_mean(name, MODELS)
            hint = f"{near} Train one, or name another with [{named}]: a file, or {either(MODELS)}."
        elif isinstance(error, OSError):
            what = f"{name} cannot be read: {error.strerror or error}"
            hint = f"Name another model with [{named}]."
        raise ModelFileError(what, hint.strip()) from error


def is_model(path: PathName) -> bool:
    """Return whether a file begins as a model does; to open a pipe would block."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return False
    with open(path, "rb") as file:
        return file.read(ZIP_HEADER + len(JSON_MEMBER))[ZIP_HEADER:] == JSON_MEMBER.encode()


def read_archive(archive: zipfile.ZipFile, name: str) -> tuple[Trained, Arrays]:
    """Return what an open file holds."""
    members, file = archive.infolist(), os.path.realpath(str(archive.filename))
    is_packed = any(member.compress_type for member in members)
    if is_packed or sum(member.file_size for member in members) > os.path.getsize(file):
        raise ValueError("its members are compressed, or larger than the file")
    text = archive.read(JSON_MEMBER).decode("ascii")
    parts = sum(map(STRING.sub("", text).count, "[{"))  # brackets in a name are none
    if parts > MANY_PARTS + len(text) // 50:  # a check-up has 60 bytes
        raise ValueError("its facts would take far more memory than the file")
    document = json.loads(text)
    version = built(int, document["format"])
    if version not in (FORMAT, FORMAT - 1):
        newer = f"a newer charrnn: format {version} is unknown"
        age = newer if version > FORMAT else "an older charrnn; train again"
        raise ModelFileError(f"{name} was written by {age}")
    facts, hints = document["facts"], get_type_hints(Trained)
    if version < FORMAT:
        rename_facts(facts)
    vocabulary = built(Vocabulary, facts.pop("vocabulary"))
    config = built(Fitted, facts.pop("settings"))
    counted_size = built(int | None, facts.pop("counted", None))
    values = {name: built(hints[name], value) for name, value in facts.items()}
    check_facts(config, values)
    architecture = architecture_of(config, vocabulary)
    is_slim = values.get("slim", False)
    shapes = layout(config, architecture, counted_size, is_slim, values.get("exact", False))
    arrays = {name: read_array(archive, name, *shapes[name]) for name in shapes}
    counted = arrays.pop("counted", None)
    known = vocabulary.symbols + len(vocabulary.labels)
    if counted is not None and int(counted.max(initial=0)) >= known:
        raise ValueError("the text for counts has unknown symbols")
    best = np.concatenate([arrays[name].reshape(-1) for name in architecture.shapes], dtype="f4")
    model = LanguageModel(Parameters(architecture, best), vocabulary)
    values["corpus"] = values["corpus"].moved(os.path.dirname(file), os.curdir)
    return Trained(model=model, config=config, counted=counted, **values), arrays


def check_facts(config: Fitted, values: Mapping[str, Any]) -> None:
    """Raise an exception for facts that could not be used."""
    corpus: CorpusRecord = values["corpus"]
    corpus.known.encode()  # no half of a surrogate pair
    for name in corpus.names:
        name.encode("utf-8", "surrogateescape")  # as Python names files
    if corpus.config.examples == "auto" or config.bptt < 1:
        raise ValueError("examples are unknown, or windows have no time steps")
    needed = {"step", "train", "train_with_noise"}
    if not all(needed <= row.keys() for row in values.get("history", ())):
        raise ValueError("a check-up lacks its step or its losses")
    if values.get("best") and not 0 < values["best"][0] <= values["counters"].step:
        raise ValueError("the best check-up is of no step")
    if len(values.get("mixture", EVEN)) not in (6, 12):
        raise ValueError("a mixture has six weights, or six for each half of the held-out text")


def rename_facts(facts: dict[str, Any]) -> None:
    """Give the facts of format 6 the names of format 7."""
    facts["settings"]["shards"] = facts["settings"].pop("parts")
    facts["oddest"] = without_empty(facts["oddest"])
    for row in facts["history"]:
        row["train_with_noise"] = row.pop("train_while_hidden")


def without_empty(value: Any) -> Any:
    """Return a value of JSON without the keys of empty values, which the defaults stand for."""
    if not isinstance(value, dict):
        return value
    inner = {name: without_empty(item) for name, item in value.items()}
    return {name: item for name, item in inner.items() if item not in (None, "", (), [], {})}


def read_array(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return an array of finite numbers. Look at its header before it is allocated."""
    member = BytesIO(archive.read(f"{name}.npy"))
    is_known = npy.read_magic(member) == (1, 0)
    if not is_known or npy.read_array_header_1_0(member) != (shape, False, dtype):
        raise ValueError(f"{name} is not {shape} {dtype}")
    array = np.frombuffer(member.read(), dtype).reshape(shape).astype(dtype.newbyteorder("="))
    if not are_usable(name, array):
        raise ValueError(f"{name} holds a number that is not finite, or too large")
    return array


def are_usable(name: str, array: NDArray[Any]) -> bool:
    """Return whether all numbers are finite, and, but for moments, far from infinite."""
    limit = np.inf if "." in name else TOO_LARGE  # gradients that explode have large squares
    return array.dtype.kind != "f" or float(np.abs(array).max(initial=0)) < limit


def save(path: PathName, run: Checkpoint) -> None:
    """Write the run whole, or raise SaveError and leave the old file."""
    state, p = run.state, run.state.parameters
    arrays: Arrays = {"last": p.flat, "average": state.average}
    arrays |= {f"{run.config.optimizer}.{name}": m for name, m in state.moments.items()}
    names = p.architecture.state_names
    arrays |= {f"lane.{name}": h for name, h in zip(names, state.carried, strict=True)}
    write_beside(path, run.trained, arrays)


def write_beside(path: PathName, trained: Trained, arrays: Arrays) -> None:
    """Write a file with the names of the corpus as seen from the folder of the file."""
    record = trained.corpus.moved(os.curdir, os.path.dirname(os.path.realpath(path)))
    write(path, replace(trained, corpus=record), arrays)


def save_slim(path: PathName, trained: Trained) -> None:
    """Write the model rounded to 16 bits, without its run and the folders of its corpus."""
    record = trained.corpus.renamed(os.path.basename)
    write(path, replace(without_run(trained), corpus=record, exact=False), {})


def without_run(trained: Trained) -> Trained:
    """Return the model as a file without its run has it."""
    counters = replace(trained.counters, window=0, nats=0.0, targets=0)
    return replace(trained, counters=counters, slim=True, exact=True)


def save_loaded(path: PathName, trained: Trained, origin: str | None) -> None:
    """Copy the file of a model and its run, if neither has changed; else write the model alone."""
    stored, arrays = without_run(trained), Arrays()
    if origin is not None:
        with suppress(ModelFileError):
            loaded, arrays_of_run = read(origin)
            if are_same(loaded, trained):
                stored, arrays = loaded, arrays_of_run
    with suppress(ModelFileError):
        if stored.slim and os.path.exists(path) and not load_trained(path).slim:
            what = f"{os.fspath(path)} holds a run that can be resumed, this model none"
            raise SaveError(what, "Name another file, or remove that one.")
    write_beside(path, stored, arrays)


def are_same(a: Trained, b: Trained) -> bool:
    """Return whether two models have the same facts and numbers, wherever their corpus lies."""
    b = replace(b, corpus=a.corpus) if a.corpus.digest == b.corpus.digest else b
    pairs = (a.model.parameters.flat, b.model.parameters.flat), (a.counted, b.counted)
    has_same_numbers = all(np.array_equal(*pair) for pair in pairs)
    return has_same_numbers and text_of_facts(a, 0) == text_of_facts(b, 0)


def text_of_facts(trained: Trained, counted_size: int | None) -> str:
    """Return the facts of a file as JSON, without cores: any number writes the same bytes."""
    settings = asdict(trained.config)
    del settings["cores"]
    settings["book"] = trained.config.book or None  # left out if False
    exact = trained.exact or None  # left out if False
    facts = vars(trained) | {"settings": settings, "counted": counted_size, "exact": exact}
    del facts["model"], facts["config"]
    for name in ("corpus", "counters"):
        facts[name] = asdict(facts[name])
    facts["vocabulary"] = asdict(trained.model.vocabulary)
    document, compact = {"facts": without_empty(facts), "format": FORMAT}, (",", ":")
    return json.dumps(document, sort_keys=True, separators=compact, allow_nan=False)


def write(path: PathName, trained: Trained, arrays: Arrays) -> None:
    """Write a file. Equal content gives equal bytes: each member has the date 1980-01-01."""
    model, counted = trained.model, trained.counted
    kind = None if counted is None else len(counted), trained.slim, trained.exact
    types = layout(trained.config, model.architecture, *kind)
    by_name = {**arrays, **model.parameters, "counted": counted}
    with np.errstate(over="ignore"):  # infinity in 16 bits is found below
        stored = {name: np.asarray(by_name[name], types[name][1], "C") for name in sorted(types)}
    for name, array in stored.items():
        if not are_usable(name, array):
            what = f"{os.fspath(path)} was not saved: {name} holds a number that is not finite"
            raise SaveError(what, "The last save is untouched. Try a smaller [lr].")
    text = text_of_facts(trained, kind[0])
    with replaced(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(JSON_MEMBER), text)
        for name, array in stored.items():
            info = zipfile.ZipInfo(f"{name}.npy")
            info.file_size = array.nbytes  # only a large one has a header that Pythons differ in
            with archive.open(info, "w") as member:
                npy.write_array(member, array, (1, 0), allow_pickle=False)


@contextmanager
def locked_model(path: PathName, *, force: bool, note: Note = lambda _: None) -> Iterator[None]:
    """Lock a model file. Raise SaveError for another file in its place, unless forced."""
    with locked(path, note):
        check_replaceable(path, force=force)
        yield


def check_replaceable(path: PathName, *, force: bool) -> None:
    if not force and os.path.isfile(path) and os.path.getsize(path) and not is_model(path):
        what = f"{os.fspath(path)} already exists, and charrnn has not written it"
        raise SaveError(what, "Name another file, or add [force] to replace it.")
