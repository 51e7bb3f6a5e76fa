"""Files that are replaced as a whole, and the lock that keeps two runs out of one file.

At every moment a path refers to all of the old content or all of the new. A killed save leaves a
temporary file, which the next one replaces, and a lock file, which stops no other run.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import IO

from charrnn.errors import SaveError

try:
    import fcntl
except ImportError:  # Windows: two runs into one file are not noticed
    fcntl = None  # type: ignore[assignment]

Path = str | os.PathLike[str]


@contextmanager
def target_of(path: Path) -> Iterator[str]:
    """Yield the file that a path leads to; an OSError of the block becomes a SaveError."""
    try:
        target = os.path.realpath(path)
        if os.path.exists(target) and not os.path.isfile(target):
            raise OSError(errno.EINVAL, "it is not a regular file")
        yield target
    except OSError as error:
        what = f"{os.fspath(path)} cannot be saved: {error.strerror or error}"
        raise SaveError(what, remedy(error)) from error


def remedy(error: object, another: str = "name another file") -> str:
    """Return what to do after a failed save. ``another`` asks for another file or folder."""
    first = {errno.ENOSPC: "Free some room, or ", errno.ENOENT: "Make the folder first, or "}
    advice = first.get(getattr(error, "errno", 0) or 0, "") + another
    return f"{advice[0].upper()}{advice[1:]}."


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new file that takes the place of the old one at the end, if all goes well.

    The caller holds the lock. A file that a killed save has left is replaced, too.
    """
    with target_of(path) as target:
        folder, name = os.path.split(target)
        temporary = os.path.join(folder, f".{name}.tmp")
        try:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            with suppress(OSError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(temporary, target)
        finally:
            with suppress(OSError):
                os.unlink(temporary)
        if os.name != "nt":  # Windows opens no folder
            descriptor = os.open(folder, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def check_writable(path: Path) -> None:
    """Raise SaveError if a file could not be saved. Use it before long work."""
    with target_of(path) as target, tempfile.TemporaryFile(dir=os.path.dirname(target)):
        pass


def keep_old(path: Path) -> str | None:
    """Give the model at a path a second name, model.1.npz or the next free number, and return it.

    The first name stays until a save replaces it, so a kill in between loses neither.
    """
    with target_of(path) as target:
        if not os.path.isfile(target):
            return None
        stem, suffix = os.path.splitext(target)
        for number in count(1):
            old = f"{stem}.{number}{suffix}"
            if os.path.exists(old) and os.path.samefile(target, old):
                break  # a run was killed before it saved
            if not os.path.lexists(old):
                try:
                    os.link(target, old)
                except OSError:  # a filesystem without links
                    shutil.copyfile(target, old)
                break
        return os.path.join(os.path.dirname(path), os.path.basename(old))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep all other runs out of ``locked`` for the same file, or raise SaveError."""
    with target_of(path) as target:
        folder, name = os.path.split(target)
        lock = os.path.join(folder, f".{name}.lock")
        while True:
            file = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(file)
                what = f"{os.fspath(path)} is being written by another run"
                hint = "Wait until that run has ended, or name another file with [path]."
                raise SaveError(what, hint) from error
            # The last run may have removed the file after it was opened and before it was locked.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), os.stat(lock)):
                    break
            os.close(file)
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock)
        os.close(file)
