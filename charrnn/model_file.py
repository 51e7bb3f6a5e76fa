"""Model files: a JSON text and named arrays in one .npz, replaced as a whole and locked.

``U1`` to ``c`` are the best parameters, ``last`` the current ones in one row, ``adam.m`` and so on
the moments, ``lane.1`` and so on the states, ``counted`` the text for n-gram counts. A slim file
holds the best parameters alone, with matrices of 16-bit floats.

The file is what ``numpy.savez`` would write, with charrnn.json as its first member. A load
unpickles and decompresses nothing, and compares sizes and headers with the settings and the file
before it allocates anything. zipfile compares the CRC-32 of each member.
"""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass, replace
from difflib import get_close_matches
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from charrnn import errors, saving
from charrnn.checkpoint import Checkpoint, Counters, Trained
from charrnn.network.architecture import Architecture, architecture_of
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.settings import Fitted
from charrnn.system import MODELS, OURS, model_at
from charrnn.text import question
from charrnn.training.optimizers import MOMENTS
from charrnn.training.state import Best, TrainState
from charrnn.vocabulary import Vocabulary

Path = str | os.PathLike[str]
Arrays = dict[str, NDArray[Any]]
Specs = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]

FORMAT: Final = 4
JSON_MEMBER: Final = "charrnn.json"
MOST: Final = 1 << 62  # of all numbers in it
TOO_LARGE: Final = 1e20  # a parameter that no training leads to; its square is finite


def built(kind: Any, value: Any) -> Any:
    """Return a value of JSON as an annotation says; an exception if it is of another kind."""
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind) or is_typeddict(kind):
        hints = get_type_hints(kind)
        items = {name: built(hints[name], item) for name, item in value.items()}
        if is_typeddict(kind) and items.keys() != hints.keys():
            raise ValueError("numbers are missing")
        return kind(**items)
    if origin is UnionType:  # X | None
        return None if value is None else built(inner[0], value)
    if origin is dict:
        return {name: built(inner[1], item) for name, item in value.items()}
    if origin is tuple or origin is list:
        kinds = inner if origin is tuple and inner[-1] is not ... else inner[:1] * len(value)
        return origin(built(kind, item) for kind, item in zip(kinds, value, strict=True))
    if kind in (int, float) and type(value) in (int, kind):
        is_allowed = abs(value) <= MOST and (kind is float or value >= 0)
    else:
        is_allowed = value in inner if origin is Literal else type(value) is kind
    if not is_allowed:
        raise ValueError(f"{value!r:.40} makes no sense")
    return value


def specs(config: Fitted, architecture: Architecture, counted: int | None, slim: bool) -> Specs:
    """Return the shape and the type of each array in a file with these facts."""
    single = np.dtype(np.float32)
    matrix = np.dtype(np.float16) if slim else single
    arrays: Specs = {
        name: (shape, matrix if len(shape) == 2 else single)
        for name, shape in architecture.shapes.items()
    }
    if not slim:
        moments = [f"{config.optimizer}.{name}" for name in MOMENTS[config.optimizer]]
        lanes = [f"lane.{name}" for name in architecture.state_names]
        arrays |= dict.fromkeys(["last", *moments], ((architecture.parameter_count,), single))
        arrays |= dict.fromkeys(lanes, ((config.batch, config.hidden), single))
    if counted is not None:  # the number K is a break between two pieces of text
        arrays["counted"] = (counted,), np.min_scalar_type(architecture.symbols)
    return arrays


# Load


def load_trained(path: Path) -> Trained:
    """Return the part of a file that sampling and scoring need."""
    return load_all(path)[0]


def load(path: Path) -> Checkpoint:
    """Return the run in a file."""
    trained, arrays = load_all(path)
    if trained.slim:
        what = f"{os.fspath(path)} is slim: it can sample and score, but holds no run to resume"
        hint = "Resume the file that it was made from, or train a new model."
        raise errors.ResumeError(what, hint)
    model, rule = trained.model, trained.config.optimizer
    state = TrainState(
        Parameters(model.architecture, arrays["last"]),
        {name: arrays[f"{rule}.{name}"] for name in MOMENTS[rule]},
        [arrays[f"lane.{name}"] for name in model.architecture.state_names],
        best=None if trained.best is None else Best(*trained.best, model.parameters.flat),
        history=trained.history,
        **trained.counters,
    )
    rest = trained.corpus, state, trained.counted, trained.oddest, trained.mixture
    return Checkpoint(model.vocabulary, trained.config, *rest)


def load_all(path: Path) -> tuple[Trained, Arrays]:
    """Return what a file holds. Raise ModelFileError for a file that cannot be used."""
    name = os.fspath(path)
    try:
        if not is_model(model_at(path)):
            raise errors.ModelFileError(f"{name} is not a model of charrnn", "Name another.")
        with zipfile.ZipFile(model_at(path)) as archive:
            return read(path, archive)
    except FileNotFoundError as error:
        near = question(get_close_matches(name, MODELS))
        hint = f"{near}Train one first, or name another with [model]: a file, or {OURS}."
        raise errors.ModelFileError(f"there is no model {name}", hint) from error
    except OSError as error:
        what = f"{name} cannot be read: {error.strerror or error}"
        raise errors.ModelFileError(what, "Name another model with [model].") from error
    except (errors.ModelFileError, MemoryError):
        raise
    except Exception as error:  # whatever a stranger's file leads to
        what = f"{name} is not a model of charrnn, or is damaged: {str(error)!a:.200}"
        hint = "Restore it from a copy, or train it again."
        raise errors.ModelFileError(what, hint) from error


def is_model(path: Path) -> bool:
    """Return whether a file begins as a model does; to open a pipe would block."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return False
    with open(path, "rb") as file:
        return file.read(30 + len(JSON_MEMBER))[30:] == JSON_MEMBER.encode()


def read(path: Path, archive: zipfile.ZipFile) -> tuple[Trained, Arrays]:
    """Return what an open file holds."""
    members = archive.infolist()
    if any(member.compress_type for member in members):
        raise ValueError("a member is compressed")
    if sum(member.file_size for member in members) > os.path.getsize(model_at(path)):
        raise ValueError("its members are larger than the file")
    document = json.loads(archive.read(JSON_MEMBER).decode("ascii"))
    version = built(int, document["format"])
    if version != FORMAT:
        newer = f"a newer charrnn: format {version} is unknown"
        age = newer if version > FORMAT else "charrnn 0.2 or older; train again"
        raise errors.ModelFileError(f"{os.fspath(path)} was written by {age}")
    facts = document["facts"]
    vocabulary = built(Vocabulary, facts.pop("vocabulary"))
    config = built(Fitted, facts.pop("settings"))
    architecture = architecture_of(config, vocabulary.symbols)
    counted_size = built(int | None, facts.pop("counted"))
    hints = get_type_hints(Trained)
    values = {name: built(hints[name], value) for name, value in facts.items()}
    shapes = specs(config, architecture, counted_size, values["slim"])
    arrays = {name: read_array(archive, name, *shapes[name]) for name in shapes}
    counted = arrays.pop("counted", None)
    if counted is not None and int(counted.max(initial=0)) > vocabulary.symbols:
        raise ValueError("the text for counts has unknown symbols")
    best = np.concatenate([arrays[name].reshape(-1) for name in architecture.shapes], dtype="f4")
    model = LanguageModel(Parameters(architecture, best), vocabulary)
    if not values["slim"]:
        values["corpus"] = values["corpus"].beside(os.path.abspath(model_at(path)))
    return Trained(model, config, counted=counted, **values), arrays


def read_array(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return an array of finite numbers. Look at its header before it is allocated."""
    little = dtype.newbyteorder("<")
    member: Any
    with archive.open(f"{name}.npy") as member:
        if npy.read_magic(member) != (1, 0):
            raise ValueError(f"{name} has another version of .npy")
        if npy.read_array_header_1_0(member) != (shape, False, little):
            raise ValueError(f"{name} is not {shape} {dtype}")
        array = np.frombuffer(member.read(), little).reshape(shape).astype(dtype)
    if not are_usable(array):
        raise ValueError(f"{name} holds a number that is not finite, or too large")
    return array


def are_usable(array: NDArray[Any]) -> bool:
    """Return whether all numbers are finite, and far from infinite."""
    return array.dtype.kind != "f" or float(np.abs(array).max(initial=0)) < TOO_LARGE


# Save


def save(path: Path, run: Checkpoint) -> None:
    """Write the run whole, or raise SaveError and leave the old file."""
    state, p = run.state, run.state.parameters
    arrays: Arrays = {**run.trained.model.parameters, "last": p.flat}
    arrays |= {f"{run.config.optimizer}.{name}": m for name, m in state.moments.items()}
    names = p.architecture.state_names
    arrays |= {f"lane.{name}": h for name, h in zip(names, state.lanes, strict=True)}
    write(path, run.trained, arrays)


def save_slim(path: Path, trained: Trained) -> None:
    """Write the model without its run, and without the folders of its corpus."""
    counters: Counters = {**trained.counters, "window": 0, "nats": 0.0, "since": 0}
    corpus = trained.corpus.renamed(os.path.basename)
    trained = replace(trained, counters=counters, corpus=corpus, history=[], slim=True)
    with np.errstate(over="ignore"):  # write refuses infinity
        arrays = {
            name: array.astype(np.float16) if array.ndim == 2 else array
            for name, array in trained.model.parameters.items()
        }
    write(path, trained, arrays)


def write(path: Path, trained: Trained, arrays: Arrays) -> None:
    """Write a file. Equal content gives equal bytes: each member has the date 1980-01-01."""
    for name, array in arrays.items():
        if not are_usable(array):
            what = f"{os.fspath(path)} was not saved: {name} holds a number that is not finite"
            raise errors.SaveError(what, "The last save is untouched. Try a smaller [lr].")
    names = [field.name for field in fields(trained) if field.name not in ("model", "config")]
    facts = {name: getattr(trained, name) for name in names}
    facts["vocabulary"] = asdict(trained.model.vocabulary)
    facts["settings"] = asdict(trained.config)
    del facts["settings"]["cores"]  # any number of processes writes the same bytes
    folder = None if trained.slim else os.path.dirname(os.path.abspath(path))
    facts["corpus"] = asdict(trained.corpus.seen_from(folder))
    if trained.counted is not None:
        facts["counted"] = len(trained.counted)
        kind = np.min_scalar_type(trained.model.vocabulary.symbols)
        arrays["counted"] = trained.counted.astype(kind, copy=False)
    document = {"facts": facts, "format": FORMAT}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    with saving.replaced(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(JSON_MEMBER), text)
        for name in sorted(arrays):
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                little = np.asarray(arrays[name], arrays[name].dtype.newbyteorder("<"), order="C")
                npy.write_array(member, little, (1, 0), allow_pickle=False)


@contextmanager
def locked(path: Path, *, force: bool) -> Iterator[None]:
    """Lock a model file. Raise SaveError for another file in its place, unless forced."""
    with saving.locked(path):
        if not force and os.path.isfile(path) and os.path.getsize(path) and not is_model(path):
            what = f"{os.fspath(path)} already exists, and charrnn has not written it"
            raise errors.SaveError(what, "Name another file, or add [force] to replace it.")
        yield
