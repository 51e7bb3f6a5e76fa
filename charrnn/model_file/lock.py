"""One run, one file: a second run that would write to the same model is refused.

The lock is on a small file beside the model, `.model.npz.lock`, and it is the operating system
that holds it: it lets go when the process ends, however it ends. So a lock file that a killed
run left behind stops nobody, and the next run that passes takes it away. It stands beside the
file that a link leads to, so two names of one model have one lock. Readers take no lock.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from charrnn.errors import ModelBusyError, SaveError

_FAR = 1 << 30  # on Windows a locked byte cannot be read, so the byte is one that nobody reads


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else is inside `with locked(path):`, in this process or in any other."""
    folder, name = os.path.split(os.path.realpath(path))
    beside = os.path.join(folder, f".{name}.lock")
    try:
        file = _hold(beside)
    except BlockingIOError as busy:
        raise ModelBusyError(
            f"{os.fspath(path)} is being written by another run{busy.strerror}",
            "Wait until that run has ended, or name another file.",
        ) from busy
    except OSError as error:
        raise SaveError(
            f"{os.fspath(path)} cannot be locked: {error.strerror}",
            "Name a file in a folder that can be written to.",
            "folder",
        ) from error
    try:
        yield
    finally:
        _let_go(file, beside)


def take(file: int) -> bool:
    """Whether the open file is now locked by us; OSError where its filesystem has no locks."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _hold(beside: str) -> int:
    """The lock file, open and ours; BlockingIOError, with who has it, where it is not."""
    while True:
        file = _open(beside)
        try:
            if not _take_where_possible(file):
                raise BlockingIOError(errno.EWOULDBLOCK, _who_wrote(file))
            if _still_stands(file, beside):
                with suppress(OSError):  # only a courtesy to whoever comes second
                    os.truncate(file, 0)
                    os.write(file, str(os.getpid()).encode())
                return file
        except BaseException:
            os.close(file)
            raise
        # The run before us removed the file between our opening it and our locking it: what we
        # hold has no name any more, and a third run would lock a new file of that name.
        os.close(file)


def _open(beside: str) -> int:
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        return os.open(beside, flags | os.O_RDWR | os.O_CREAT, 0o666)
    except PermissionError:
        if not os.path.exists(beside):
            raise
        return os.open(beside, flags | os.O_RDONLY)  # left by another user's run; will do


def _take_where_possible(file: int) -> bool:
    try:
        return take(file)
    except OSError:  # some network filesystems have no locks; to train on one is no crime
        return True


def _still_stands(file: int, beside: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(beside))
    except FileNotFoundError:
        return False


def _who_wrote(file: int) -> str:
    number = os.read(file, 20)
    return f" (process {int(number)})" if number.isdigit() else ""


def _let_go(file: int, beside: str) -> None:
    # Removed while it is still held, so whoever opened it meanwhile finds that it is gone and
    # tries again. Windows removes no open file, and refuses where somebody else has it open.
    if sys.platform == "win32":
        os.close(file)
        with suppress(OSError):
            os.unlink(beside)
    else:
        with suppress(OSError):
            os.unlink(beside)
        os.close(file)
