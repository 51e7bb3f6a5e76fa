"""Files that are replaced as a whole, and the lock that keeps two runs out of one file.

At every moment a path refers to all of the old content or all of the new. A killed save leaves a
temporary file, which the next one replaces, and a lock file, which stops no other run.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import IO

from charrnn.errors import SaveError

try:
    import fcntl
except ImportError:  # Windows: two runs into one file are not noticed
    fcntl = None  # type: ignore[assignment]

Name = str | os.PathLike[str]


@contextmanager
def target_of(name: Name) -> Iterator[Path]:
    """Yield the file that a name leads to; an OSError of the block becomes a SaveError."""
    try:
        target = Path(os.path.realpath(name))
        if target.exists() and not target.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")
        yield target
    except OSError as error:
        what = f"{os.fspath(name)} cannot be saved: {error.strerror or error}"
        raise SaveError(what, remedy(error)) from error


def remedy(error: object, another: str = "name another file") -> str:
    """Return what to do after a failed save. ``another`` asks for another file or folder."""
    first = {errno.ENOSPC: "Free some room, or ", errno.ENOENT: "Make the folder first, or "}
    advice = first.get(getattr(error, "errno", 0) or 0, "") + another
    return f"{advice[0].upper()}{advice[1:]}."


@contextmanager
def replaced(name: Name) -> Iterator[IO[bytes]]:
    """Yield a new file that takes the place of the old one at the end, if all goes well.

    The caller holds the lock. A file that a killed save has left is replaced, too.
    """
    with target_of(name) as target:
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.unlink(missing_ok=True)
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):  # of a first save
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        if os.name != "nt":  # Windows opens no folder
            folder = os.open(target.parent, os.O_RDONLY)
            os.fsync(folder)  # or a power cut could bring the old file back
            os.close(folder)


def check_writable(name: Name) -> None:
    """Raise SaveError if a file could not be saved. Use it before long work."""
    with target_of(name) as target, tempfile.TemporaryFile(dir=target.parent):
        pass


def keep_old(name: Name) -> str | None:
    """Give a model a second name, model.1.npz or the next free number, and return that.

    The first name stays until a save replaces it, so a kill in between loses neither.
    """
    with target_of(name) as target:
        if not target.is_file():
            return None
        names = (target.with_name(f"{target.stem}.{i}{target.suffix}") for i in count(1))
        old = next(path for path in names if not os.path.lexists(path) or path.samefile(target))
        try:
            os.link(target, old)
        except FileExistsError:
            pass  # a run was killed before it saved
        except OSError:  # a filesystem without links
            shutil.copyfile(target, old)
        return os.path.join(os.path.dirname(name), old.name)


@contextmanager
def locked(name: Name) -> Iterator[None]:
    """Keep all other runs out of ``locked`` for the same file, or raise SaveError."""
    with target_of(name) as target:
        lock = target.with_name(f".{target.name}.lock")
        file = open(lock, "ab")  # noqa: SIM115
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last run may have removed the file after it was opened and before it was locked.
            is_alone = os.path.samestat(os.fstat(file.fileno()), os.stat(lock))
        except (BlockingIOError, FileNotFoundError):
            is_alone = False
    with file:
        if not is_alone:
            what = f"{os.fspath(name)} is being written by another run"
            hint = "Wait until that run has ended, or name another file with [path]."
            raise SaveError(what, hint)
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(lock)
