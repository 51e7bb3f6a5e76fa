"""A file is replaced by a whole new one, or stays as it was.

    write `.model.npz.4242.1f3a9c0d.tmp` in the same folder, flush and sync it,
    rename it over `model.npz`, sync the folder.

At every moment the name leads to all of the old or all of the new. A run that is killed leaves
its temporary file behind; the next one sweeps it away, and knows by the lock on it that nobody
is still writing. (Python ignores SIGXFSZ, so a limit on file sizes arrives as EFBIG, an OSError
like the others.)

One run, one file: a second run that would write to the same model is refused.

The lock is on a small file beside the model, `.model.npz.lock`, and it is the operating system
that holds it: it lets go when the process ends, however it ends. So a lock file that a killed
run left behind stops nobody, and the next run that passes takes it away. It stands beside the
file that a link leads to, so two names of one model have one lock. Readers take no lock."""

from __future__ import annotations

import atexit
import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import FileIO

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


_made: set[str] = set()  # temporary files of this process, until they are gone
_SLICE = 1 << 20  # bytes a write, so that a signal is heard between two of them

_HINTS = {
    errno.ENOSPC: "Free some room, or name a file elsewhere.",
    errno.EDQUOT: "Free some room, or name a file elsewhere.",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f), or make the network smaller.",
    errno.ENOENT: "Make the folder first, or name a file elsewhere.",
    errno.ELOOP: "Mend the link, which leads to itself, or name a file elsewhere.",
}
_KEYS = {errno.EFBIG: "size"} | dict.fromkeys(set(_HINTS) - {errno.EFBIG}, "elsewhere")
# No file could be there, however small.
_OF_PLACES = (
    errno.ELOOP,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EINVAL,
)
_HINT = "Name a file in a folder that can be written to."


def replace(path: str | os.PathLike[str], size: int, pieces: Iterable[bytes | memoryview]) -> None:
    """Write the pieces, `size` bytes in all, to the file or to the target of the link.

    SaveError where that fails. What goes wrong while a piece is made is not told as that.
    """
    with ExitStack() as stack:
        with _refusing(path, size):
            target = _target(path)
            sweep(target)
            file, temporary = stack.enter_context(_temporary(target))
        for piece in pieces:
            with _refusing(path, size):
                _write(file, memoryview(piece))
        with _refusing(path, size):
            os.fsync(file.fileno())
            if sys.platform == "win32":  # which renames no open file
                file.close()
            os.replace(temporary, target)
            # The lock goes with the file: had we closed it before the rename, another run
            # could have swept it away in between.
            file.close()
    try:
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        raise SaveError(
            f"{os.fspath(path)} was saved, but may not outlast a power cut: {error.strerror}",
            "The disk may be failing: copy the file to another one.",
        ) from error


def check_writable(path: str | os.PathLike[str], size: int) -> None:
    """Find out before the work, not after it, whether a file of that size could be saved."""
    with _refusing(path, size):
        target = _target(path)
        if os.path.exists(target) and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, "the file is protected against writing")
        _check_folder(target)
        sweep(target)
        room = shutil.disk_usage(os.path.dirname(target))
        if room.free < size and room.total > 0:  # some network filesystems know neither
            raise OSError(errno.ENOSPC, f"only {room.free:,} bytes are free")
        with _temporary(target) as (file, temporary):
            if sys.platform != "win32":  # which removes no open file
                os.unlink(temporary)  # not every folder gives back what it has taken
            file.truncate(size)  # costs nothing, and meets the limit on file sizes


def _check_folder(target: str) -> None:
    """Raise PermissionError where the folder is sticky and the file somebody else's."""
    folder = os.stat(os.path.dirname(target))
    if not folder.st_mode & stat.S_ISVTX or folder.st_uid == os.geteuid():
        return
    with suppress(FileNotFoundError):
        try:  # to change its mode into the one that it has: who may do that may replace it
            os.chmod(target, stat.S_IMODE(os.stat(target).st_mode))
        except PermissionError:
            raise PermissionError(
                errno.EPERM, "in this folder only its owner may replace it"
            ) from None


def sweep(target: str) -> None:
    """Remove the temporary files of this target that no living run holds."""
    folder, name = os.path.split(target)
    ours = re.compile(rf"\.{re.escape(name)}\.\d+\.[0-9a-f]{{8}}\.tmp")
    entries: list[str] = []
    with suppress(PermissionError):  # a folder may be written to and yet not read
        entries = os.listdir(folder)
    for entry in entries:
        if ours.fullmatch(entry):
            with suppress(OSError):  # to tidy up is not what we were asked for
                _remove_if_dead(os.path.join(folder, entry))


def _remove_if_dead(temporary: str) -> None:
    if sys.platform == "win32":  # which removes no file that is open anywhere
        os.unlink(temporary)
        return
    file = os.open(temporary, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if take(file):
            os.unlink(temporary)
    finally:
        os.close(file)


def _target(path: str | os.PathLike[str]) -> str:
    """The file to replace: not the link that leads to it."""
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
    """A new file beside the target, with its mode; gone at the end unless it was renamed."""
    folder, name = os.path.split(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    mode = 0o600 if os.path.exists(target) else 0o666
    while True:
        # The number tells a person whose it is; what makes the name unique is chance, because
        # in two containers that share a folder two runs can have the same number.
        unique = f".{name}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
        temporary = os.path.join(folder, unique)
        file: FileIO | None = None
        _made.add(temporary)  # from before it is: a signal may come as soon as it is
        try:
            file = FileIO(os.open(temporary, flags, mode), "wb")
            if _is_ours(file.fileno()):
                _take_after(target, temporary)
                yield file, temporary
                return
        finally:
            with suppress(OSError):  # after a write that failed, a close may fail too
                if file is not None:
                    file.close()
            _remove(temporary)


@atexit.register
def _remove_all() -> None:
    """Remove what is left: a signal may come even while something else is tidied up."""
    for temporary in [*_made]:
        _remove(temporary)


def _remove(temporary: str) -> None:
    with suppress(OSError):
        os.unlink(temporary)
    _made.discard(temporary)


def _is_ours(file: int) -> bool:
    """Whether no other run, sweeping, got hold of the file between its creation and our lock."""
    try:
        return take(file) and os.fstat(file).st_nlink > 0
    except OSError:  # no locks on this filesystem: then nobody sweeps there either
        return True


def _take_after(target: str, temporary: str) -> None:
    """Give the new file the mode, and where that is allowed the owner, of the old one."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return
    if sys.platform != "win32":
        with suppress(OSError):
            os.chown(temporary, old.st_uid, old.st_gid)
    if os.stat(temporary).st_mode != old.st_mode:  # not every filesystem knows modes
        os.chmod(temporary, stat.S_IMODE(old.st_mode))


def _write(file: FileIO, rest: memoryview) -> None:
    while rest:
        written = file.write(rest[:_SLICE])
        rest = rest[written:]


def _sync_folder(folder: str) -> None:
    if sys.platform == "win32":  # which cannot open a folder
        return
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:  # a folder may be written to and yet not read
        return
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not every filesystem can
            raise
    finally:
        os.close(file)


@contextmanager
def _refusing(path: str | os.PathLike[str], size: int) -> Iterator[None]:
    """What the system refuses in here is a SaveError."""
    try:
        yield
    except OSError as error:
        needed = f" ({size:,} bytes are needed)" if error.errno not in _OF_PLACES else ""
        raise SaveError(
            f"{os.fspath(path)} cannot be saved: {error.strerror or error}{needed}",
            _HINTS.get(error.errno or 0, _HINT),
            _KEYS.get(error.errno or 0, "folder"),
        ) from error
