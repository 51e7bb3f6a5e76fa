"""Atomic replacement of files, and the lock that a run holds on its model.

At every moment the path refers to all of the old content or all of the new. A killed run leaves a
temporary file, which the next run removes, and a lock, which stops no other run. The lock file
is beside the target of a link, so two names of one model share one lock. Readers take no lock.
"""

from __future__ import annotations

import atexit
import errno
import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO

from charrnn.errors import ModelBusyError, ModelExistsError, SaveError

Path = str | os.PathLike[str]

Recognise = Callable[[bytes], bool]  # whether charrnn wrote a file that begins with these bytes

_FAR = 1 << 30  # the offset of the locked byte, which others cannot read on Windows
TICK = 0.1  # seconds between two attempts to lock a file
_SLICE = 1 << 20  # bytes written at a time, so that signals are handled in between
_temporaries: set[str] = set()  # temporary files of this process
_held: dict[str, tuple[str, os.stat_result]] = {}  # locked paths: their targets and folders

_REMEDIES = {
    errno.ENOSPC: "Free some room",
    errno.EDQUOT: "Free some room",
    errno.ENOENT: "Make the folder first",
    errno.ELOOP: "Fix the link, which leads to itself",
}
_OF_PLACES = (  # errors that do not depend on the size of the file
    *(errno.ELOOP, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR),
    errno.EINVAL,
)


@contextmanager
def locked(path: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep every other process and thread out of `locked` for the same file; first wait for those
    inside, for some seconds.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    beside = os.path.join(folder, f".{name}.lock")
    try:
        file = _hold(beside, time.monotonic() + patience)
    except BlockingIOError as busy:
        what = f"{os.fspath(path)} is being written by another run{busy.strerror}"
        hint = "Wait until that run has ended, or name another file with [path]."
        raise ModelBusyError(what, hint) from busy
    except OSError as error:
        what = f"{os.fspath(path)} cannot be locked: {error.strerror}"
        raise SaveError(what, remedy(error)) from error
    try:
        _held[os.fspath(path)] = target, os.stat(folder)
        yield
    finally:
        _held.pop(os.fspath(path), None)
        # Remove the file while it is locked: a run that has opened it meanwhile finds it gone and
        # tries again. Windows removes no open file.
        if sys.platform == "win32":
            os.close(file)
        with suppress(OSError):
            os.unlink(beside)
        if sys.platform != "win32":
            os.close(file)


def take(file: int) -> bool:
    """Lock an open file and return True, or False if another holds it.

    Raise OSError if its filesystem has no locks.
    """
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


def take_if_supported(file: int) -> bool:
    """Return what ``take`` does, or True if the filesystem has no locks."""
    try:
        return take(file)
    except OSError:  # some network filesystems have no locks
        return True


def _hold(beside: str, until: float) -> int:
    """Open and lock the lock file. Raise BlockingIOError with the holder if it is still locked."""
    flags = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    while True:
        try:
            file = os.open(beside, flags | os.O_RDWR | os.O_CREAT, 0o666)
        except PermissionError:
            if not os.path.exists(beside):
                raise
            file = os.open(beside, flags | os.O_RDONLY)  # left by a run of another user
        try:
            if take_if_supported(file):
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(file), os.stat(beside)):
                        with suppress(OSError):  # the number only improves a message
                            os.truncate(file, 0)
                            os.write(file, str(os.getpid()).encode())
                        return file
            elif time.monotonic() < until:
                time.sleep(TICK)
            else:
                number = os.read(file, 20)
                holder = f" (process {int(number)})" if number.isdigit() else ""
                raise BlockingIOError(errno.EWOULDBLOCK, holder)
        except BaseException:
            os.close(file)
            raise
        # Try again: it is still locked, or the last run removed the file after we opened it and
        # before we locked it, and others do not see a file without a name.
        os.close(file)


def replace(path: Path, size: int, pieces: Iterable[bytes | memoryview]) -> None:
    """Replace a file, or the target of a link, by the pieces, of `size` bytes in all.

    Raise SaveError if that fails, or the error of making a piece.
    """
    with ExitStack() as stack:
        with _save_errors(path, size):
            target = _target(path)
            _sweep(target)
            file, temporary = stack.enter_context(_temporary(target))
        for piece in pieces:
            with _save_errors(path, size):
                rest = memoryview(piece)
                while rest:
                    rest = rest[file.write(rest[:_SLICE]) :]
        with _save_errors(path, size):
            os.fsync(file.fileno())
            if sys.platform == "win32":  # Windows renames no open file
                file.close()
            os.replace(temporary, target)
            file.close()  # only now: without its lock another run could have removed it
    try:
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        what = f"{os.fspath(path)} was saved, but may not outlast a power cut: {error.strerror}"
        raise SaveError(what, "The disk may be failing: copy the file to another one.") from error


def check_writable(path: Path, size: int) -> None:
    """Raise SaveError if a file of that size could not be saved. Use it before long work."""
    with _save_errors(path, size):
        target = _target(path)
        folder = os.path.dirname(target)
        if os.path.exists(target):
            if not os.access(target, os.W_OK):
                raise PermissionError(errno.EACCES, "the file is protected against writing")
            if os.stat(folder).st_mode & stat.S_ISVTX and os.stat(folder).st_uid != os.geteuid():
                # In a sticky folder, only users who may chmod a file may replace it.
                os.chmod(target, stat.S_IMODE(os.stat(target).st_mode))
        _sweep(target)
        room = shutil.disk_usage(folder)
        if room.free < size and room.total > 0:  # some network filesystems report 0 for both
            raise OSError(errno.ENOSPC, f"only {room.free:,} bytes are free")
        with _temporary(target) as (file, temporary):
            if sys.platform != "win32":  # Windows removes no open file
                os.unlink(temporary)  # fails in an append-only folder
            file.truncate(size)  # costs nothing, and meets the limit on file sizes


def check_may_be_replaced(path: Path, is_ours: Recognise, hint: str) -> None:
    """Raise ModelExistsError if the file exists and was not written by charrnn."""
    with suppress(OSError):  # the attempt to write will show the error
        if not stat.S_ISREG(os.stat(path).st_mode):
            return
        with suppress(OSError), open(path, "rb") as file:
            head = file.read(1 << 16)  # bytes that are enough to recognise a file
            if not head or is_ours(head):
                return
        what = f"{os.fspath(path)} already exists, and charrnn has not written it"
        raise ModelExistsError(what, hint)


def _sweep(target: str) -> None:
    """Remove the temporary files of this target that no living process has locked."""
    folder, name = os.path.split(target)
    ours = re.compile(rf"\.{re.escape(name)}\.\d+\.[0-9a-f]{{8}}\.tmp")
    entries: list[str] = []
    with suppress(PermissionError):  # a folder may be writable but not readable
        entries = os.listdir(folder)
    for entry in entries:
        if ours.fullmatch(entry):
            with suppress(OSError):
                _remove_if_dead(os.path.join(folder, entry))


def _remove_if_dead(temporary: str) -> None:
    if sys.platform == "win32":  # Windows removes no file that is open anywhere
        os.unlink(temporary)
        return
    file = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if take(file):
            os.unlink(temporary)
    finally:
        os.close(file)


def _target(path: Path) -> str:
    """Return the file to replace: the target if the path is a link.

    While the path is locked, a link that is made or changed leads to no other file.
    """
    held, folder = _held.get(os.fspath(path), ("", None))
    with suppress(OSError):  # the folder may have been moved since
        if folder is not None and os.path.samestat(folder, os.stat(os.path.dirname(held))):
            path = held
            if os.path.islink(held):
                return held
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        target = os.path.realpath(path)
        if not os.path.isdir(os.path.dirname(target)):
            raise OSError(errno.ENOENT, f"there is no folder {os.path.dirname(target)}") from None
        return target
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise OSError(errno.EINVAL, f"it is {kind}")
    return os.path.realpath(path)


@contextmanager
def _temporary(target: str) -> Iterator[tuple[FileIO, str]]:
    """Make a locked file beside the target, with its mode. Remove it at the end if it remains."""
    folder, name = os.path.split(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    mode = 0o600 if os.path.exists(target) else 0o666
    while True:
        # The process number informs people. Chance makes the name unique, since two containers
        # that share a folder can have processes of the same number.
        unique = f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        temporary = os.path.join(folder, unique)
        file: FileIO | None = None
        _temporaries.add(temporary)  # before the file exists, since a signal may come at any time
        try:
            file = FileIO(os.open(temporary, flags, mode), "wb")
            # Another run may have swept the file away before it was locked.
            if take_if_supported(file.fileno()) and os.fstat(file.fileno()).st_nlink > 0:
                with suppress(FileNotFoundError):
                    old = os.stat(target).st_mode
                    if os.stat(temporary).st_mode != old:  # some filesystems have no modes
                        os.chmod(temporary, stat.S_IMODE(old))
                yield file, temporary
                return
        finally:
            with suppress(OSError):  # after a failed write, a close may fail too
                if file is not None:
                    file.close()
            _remove(temporary)


def _remove(temporary: str) -> None:
    with suppress(OSError):
        os.unlink(temporary)
    _temporaries.discard(temporary)


atexit.register(lambda: [*map(_remove, [*_temporaries])])  # left by a signal during clean-up


def _sync_folder(folder: str) -> None:
    if sys.platform == "win32":  # Windows opens no folder
        return
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder may be writable but not readable
        return
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # unsupported by some filesystems
            raise
    finally:
        os.close(file)


@contextmanager
def _save_errors(path: Path, size: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        needed = f" ({size:,} bytes are needed)" if error.errno not in _OF_PLACES else ""
        what = f"{os.fspath(path)} cannot be saved: {error.strerror or error}{needed}"
        raise SaveError(what, remedy(error)) from error


def remedy(error: object, another: str = "name a file elsewhere with [path]") -> str:
    """Return what to do after a failed save. ``another`` asks for another file or folder."""
    number = getattr(error, "errno", None) or 0
    if number == errno.EFBIG:
        return "Raise the limit on file sizes (ulimit -f)."
    first = _REMEDIES.get(number)
    return f"{first}, or {another}." if first else f"{another[0].upper()}{another[1:]}."
