"""Model files: a JSON text and named arrays in one .npz, replaced as a whole and locked.

``U1`` to ``c`` are the best parameters, ``last`` the current ones in one row, ``adam.m`` and so on
the moments, ``lane.1`` and so on the states, ``counted`` the text for n-gram counts. A slim file
holds the best parameters alone, and its matrices are 16-bit floats. Without [minutes] a file holds
no time: a resumed run ends in the same bytes.

The file is what ``numpy.savez`` would write, with charrnn.json as its first member. A load
unpickles and decompresses nothing. It compares the sizes of all members, and the header of each
array, with the settings and with the file before it allocates anything. zipfile compares the CRC-32
of each member.
"""

from __future__ import annotations

import json
import os
import stat
import tokenize
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, fields, replace
from difflib import get_close_matches
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from charrnn import errors, saving
from charrnn.checkpoint import COUNTERS, USES, Checkpoint, CorpusRecord, Trained
from charrnn.network.architecture import Architecture
from charrnn.network.parameters import LanguageModel, Parameters
from charrnn.settings import Fitted
from charrnn.system import MODELS, OURS, model_at
from charrnn.text import question
from charrnn.training.optimizers import MOMENTS
from charrnn.training.state import Best, TrainState, architecture_of
from charrnn.vocabulary import Vocabulary

Path = str | os.PathLike[str]
Arrays = dict[str, NDArray[Any]]
Specs = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]  # the shape and the type of each array
Row = dict[str, float]

FORMAT: Final = 4
JSON_MEMBER: Final = "charrnn.json"
HEAD: Final = 30 + len(JSON_MEMBER)  # bytes that show whether a file is a model
LARGEST: Final = 64 << 20  # bytes of JSON: all of Unicode as a vocabulary takes 13 MB
MOST: Final = 1 << 62  # of all numbers in it
TOO_LARGE: Final = 1e20  # a parameter that no training leads to; its square is finite
BLOCK: Final = 1 << 20  # bytes read at a time
UNREADABLE: Final = (
    *(zipfile.BadZipFile, ValueError, LookupError, TypeError, AttributeError, EOFError),
    *(SyntaxError, tokenize.TokenError, NotImplementedError, RuntimeError, OverflowError),
    errors.SettingError,
)

FACTS: Final[dict[str, Any]] = {  # the types of all values in the JSON text: see fits
    "vocabulary": {"characters": str, "novelty": float},
    "settings": {str: (None, bool, int, float, str)},  # these two check themselves
    "corpus": {
        **{name: [str] for name in ("sources", "valid")},
        **dict.fromkeys(("fingerprint", "digest", "examples_are", "known"), str),
        **dict.fromkeys(("examples", "characters"), int),
        **dict.fromkeys(("held_out_examples", "held_out_characters"), int),
        "reading": {str: (None, bool, int, float, str)},
        "baselines": {str: float},
        "holdout": float,
    },
    "counters": dict.fromkeys(COUNTERS, int) | {"nats": float, "minutes": float},
    "best": (None, [float]),
    "history": [
        {"step": int, "characters": int}
        | dict.fromkeys(("train", "train_while_hidden", "held_out"), float)
    ],
    "counted": (None, int),
    "oddest": dict.fromkeys(USES, (None, float)),
    "mixture": [float],
    "slim": bool,
}


def specs(config: Fitted, architecture: Architecture, counted: int | None, slim: bool) -> Specs:
    """Return the arrays of a file with these facts."""
    shapes = dict(architecture.shapes)
    if not slim:
        every = (architecture.parameter_count,)
        shapes["last"] = every
        shapes |= {f"{config.optimizer}.{name}": every for name in MOMENTS[config.optimizer]}
        lane = config.batch, config.hidden
        shapes |= {f"lane.{name}": lane for name in architecture.state_names}
    half, single = np.dtype(np.float16), np.dtype(np.float32)
    arrays: Specs = {}
    for name, shape in shapes.items():
        arrays[name] = shape, half if slim and len(shape) == 2 else single
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
    others = trained.counted, trained.oddest, trained.mixture
    return Checkpoint(model.vocabulary, trained.config, trained.corpus, state, *others)


def load_all(path: Path) -> tuple[Trained, Arrays]:
    """Return what a file holds. Raise ModelFileError for a file that cannot be used."""
    name = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(model_at(path)).st_mode):  # to open a pipe would block
            what = f"{name} is not a model of charrnn: it is no regular file"
            raise errors.NotAModelError(what, "Name another.")
        with open(model_at(path), "rb") as file:
            if not is_model(file.read(HEAD)):
                raise errors.NotAModelError(f"{name} is not a model of charrnn", "Name another.")
            with zipfile.ZipFile(file) as archive:
                return read(path, archive, os.fstat(file.fileno()).st_size)
    except FileNotFoundError as error:
        near = question(get_close_matches(name, MODELS))
        hint = f"{near}Train one first, or name another with [model]: a file, or {OURS}."
        raise errors.ModelFileError(f"there is no model {name}", hint) from error
    except OSError as error:
        what = f"{name} cannot be read: {error.strerror or error}"
        raise errors.ModelFileError(what, "Name another model with [model].") from error
    except MemoryError as error:
        what = f"{name} needs more memory than there is"
        raise errors.ModelFileError(what, "Use a machine with more memory.") from error
    except UNREADABLE as error:
        what = f"{name} is not a model of charrnn, or is damaged: {str(error)!a:.200}"
        raise errors.DamagedModelError(
            what, "Restore it from a copy, or train it again."
        ) from error


def is_model(head: bytes) -> bool:
    """Return whether a file that starts with these bytes is a model, perhaps a damaged one."""
    return head[30:HEAD] == JSON_MEMBER.encode()


def read(path: Path, archive: zipfile.ZipFile, size: int) -> tuple[Trained, Arrays]:
    """Return what an open file of this size holds."""
    members = {info.filename: info for info in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise ValueError("a member occurs more than once")
    if any(info.compress_type or info.flag_bits & 1 for info in members.values()):
        raise ValueError("a member is compressed or encrypted")
    if sum(info.file_size for info in members.values()) > size:
        raise ValueError("its members are larger than the file")
    if members[JSON_MEMBER].file_size > LARGEST:
        raise ValueError("its text is too large")
    facts = parse(path, archive.read(JSON_MEMBER))
    vocabulary, config = Vocabulary(**facts["vocabulary"]), Fitted(**facts.pop("settings"))
    if config.bptt == 0 or any(
        f.default is MISSING and getattr(config, f.name) is None for f in fields(Fitted)
    ):
        raise ValueError("a setting is open")
    architecture = architecture_of(config, vocabulary.symbols)
    symbols, slim = facts.pop("counted"), facts["slim"]
    if (symbols is not None) != config.counts:
        raise ValueError("the text for counts contradicts the settings")
    shapes = specs(config, architecture, symbols, slim)
    if members.keys() != {JSON_MEMBER, *(f"{name}.npy" for name in shapes)}:
        raise ValueError("its arrays do not match its settings")
    arrays = {name: read_array(archive, members[f"{name}.npy"], *shapes[name]) for name in shapes}
    counted = arrays.pop("counted", None)
    if counted is not None and int(counted.max(initial=0)) > vocabulary.symbols:
        raise ValueError("the text for counts has unknown symbols")
    best = np.concatenate([arrays[name].reshape(-1) for name in architecture.shapes], dtype="f4")
    del facts["vocabulary"]
    folder = os.path.dirname(os.path.abspath(model_at(path)))
    facts["corpus"] = CorpusRecord.stored(facts["corpus"], None if slim else folder)
    facts["best"], facts["mixture"] = facts["best"] and tuple(facts["best"]), (*facts["mixture"],)
    model = LanguageModel(Parameters(architecture, best), vocabulary)
    return Trained(model, config, counted=counted, **facts), arrays


def read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return an array of finite numbers. Look at its header and its size before it is allocated."""
    member: Any
    with archive.open(info) as member:
        if npy.read_magic(member) != (1, 0):
            raise ValueError(f"{info.filename} has another version of .npy")
        header = npy.read_array_header_1_0(member)
        if header != (shape, False, dtype.newbyteorder("<")):
            raise ValueError(f"{info.filename} should be {shape} {dtype}, not {header}")
        if member.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize != info.file_size:
            raise ValueError(f"{info.filename} has another size than its header")
        array = np.empty(shape, dtype.newbyteorder("<"))
        rest = array.reshape(-1).view(np.uint8).data
        while rest and (done := member.readinto(rest[:BLOCK])):
            rest = rest[done:]
        if rest or member.read(1):  # the read at the end compares the checksum
            raise ValueError(f"{info.filename} is cut short")
    if dtype.kind == "f" and not float(np.abs(array).max(initial=0)) < TOO_LARGE:
        raise ValueError(f"{info.filename} holds a number that is not finite, or too large")
    return array.astype(dtype, copy=False)


def parse(path: Path, text: bytes) -> dict[str, Any]:
    """Return the facts in a JSON text. Raise ValueError for values that charrnn cannot write."""
    document = json.loads(text.decode("ascii"))
    version, facts = document["format"], document["facts"]
    if type(version) is not int or version < 1:
        raise ValueError("its format is no number")
    if version > FORMAT:
        what = f"{os.fspath(path)} was written by a newer charrnn: format {version} is unknown"
        raise errors.OtherVersionError(what, "Install the newest charrnn.")
    if version < FORMAT:
        what = f"{os.fspath(path)} was written by charrnn 0.2 or older; train again"
        raise errors.OtherVersionError(what)
    steps = [row["step"] for row in facts["history"]]
    is_in_order = sorted(set(steps)) == steps and len(facts["mixture"]) == 2
    if not is_in_order or not fits(facts, FACTS):
        raise ValueError("its facts make no sense")
    return dict(facts)


def fits(value: Any, kind: Any) -> bool:
    """Return whether a value is of a kind: a type, alternatives, a list, or a dict by its keys."""
    if isinstance(kind, tuple):
        return any(fits(value, alternative) for alternative in kind)
    if isinstance(kind, list):
        return type(value) is list and all(fits(item, kind[0]) for item in value)
    if isinstance(kind, dict):
        is_known = type(value) is dict and (str in kind or value.keys() <= kind.keys())
        return is_known and all(fits(v, kind.get(str, kind.get(k))) for k, v in value.items())
    if kind in (int, float):
        return type(value) in (int, kind) and abs(value) <= MOST and (kind is float or value >= 0)
    return value is None if kind is None else type(value) is kind


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
    counters = trained.counters | {"window": 0, "nats": 0.0, "since": 0}
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
    if trained.counted is not None:
        kind = np.min_scalar_type(trained.model.vocabulary.symbols)
        arrays["counted"] = trained.counted.astype(kind, copy=False)
    text = text_of(path, trained)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not float(np.abs(array).max(initial=0)) < TOO_LARGE:
            what = f"{os.fspath(path)} was not saved: {name} holds a number that is not finite"
            raise errors.SaveError(what, "The last save is untouched. Try a smaller [lr].")
    with saving.replaced(path) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(JSON_MEMBER), text)
        for name in sorted(arrays):
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                little = np.asarray(arrays[name], arrays[name].dtype.newbyteorder("<"), order="C")
                npy.write_array(member, little, (1, 0), allow_pickle=False)


def text_of(path: Path, trained: Trained) -> bytes:
    """Return the JSON text of a file."""
    counted = trained.counted
    facts = {f.name: getattr(trained, f.name) for f in fields(trained) if f.name != "model"}
    facts["settings"] = asdict(facts.pop("config"))
    del facts["settings"]["cores"]  # any number of processes writes the same bytes
    facts["vocabulary"] = asdict(trained.model.vocabulary)
    facts["corpus"] = trained.corpus.to_store(
        None if trained.slim else os.path.dirname(os.path.abspath(path))
    )
    facts["counted"] = None if counted is None else len(counted)
    document = {"facts": facts, "format": FORMAT}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    if len(text) > LARGEST:
        what = f"{os.fspath(path)} was not saved: its history exceeds {LARGEST:,} bytes"
        raise errors.SaveError(what, "Check less often: fewer check-ups make a shorter history.")
    return text.encode("ascii")


def room_needed(path: Path, run: Checkpoint) -> int:
    """Return about the size of the file in bytes."""
    counted = None if run.counted is None else len(run.counted)
    shapes = specs(run.config, run.state.parameters.architecture, counted, slim=False)
    sizes = (int(np.prod(shape)) * dtype.itemsize + 512 for shape, dtype in shapes.values())
    return len(text_of(path, run.trained)) + sum(sizes)


@contextmanager
def locked(path: Path, *, force: bool) -> Iterator[None]:
    """Lock a model file. Raise ModelExistsError for another file in its place, unless forced."""
    with saving.locked(path):
        if not force:
            hint = "Name another file, or say force=True."
            saving.check_may_be_replaced(path, is_model, hint)
        yield
