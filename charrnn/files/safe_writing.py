"""Files that are replaced whole, or to which lines are added whole, and locked.

At every moment a path refers to all of the old content or all of the new. A killed save leaves a
temporary file, which the next one replaces, and a lock file, which stops no other run.
"""

import errno
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from charrnn.errors import SaveError, remedy
from charrnn.system.packaged import check_name

try:
    import fcntl
except ImportError:  # Windows: two runs into one file are not noticed
    fcntl = None  # type: ignore[assignment]

PathName = str | os.PathLike[str]
Note = Callable[[str], object]
BEGINNING: Final = b'{"schema": "charrnn.'  # of each line in a LineFile
OPEN_FILES: Final = ("/dev/std", "/dev/fd/", "/proc/")  # names of open files
NO_LINK_NO_WAIT: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@contextmanager
def target_of(path: PathName) -> Iterator[Path]:
    """Yield the file that a path leads to; an OSError of the block becomes a SaveError."""
    check_name(path)
    try:
        try:
            target = Path(os.path.realpath(path))
        except ValueError as error:  # a NUL, or half of a surrogate pair
            raise OSError(errno.EINVAL, str(error)) from error
        is_open = os.path.abspath(path).startswith(OPEN_FILES)
        if is_open or target.exists():
            if is_open or not target.is_file():
                raise OSError(errno.EINVAL, "it is not a regular file")
            if not (target.stat().st_mode & 0o222 and os.access(target, os.W_OK)):  # for root, too
                raise OSError(errno.EACCES, "it is read-only")
        yield target
    except OSError as error:
        what = f"{os.fspath(path)} cannot be saved: {error.strerror or error}"
        raise SaveError(what, remedy(error)) from error


@contextmanager
def replaced(path: PathName) -> Iterator[IO[bytes]]:
    """Yield a new file that takes the place of the old one at the end. The caller has the lock."""
    with target_of(path) as target, written(target, old=target) as file:
        yield file


@contextmanager
def written(target: Path, old: Path) -> Iterator[IO[bytes]]:
    """Yield a new file that gets its name at the end, never more readable than the old one."""
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o600)) as file:
            with suppress(OSError):  # there is no old file, or the filesystem has no modes
                shutil.copymode(old, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        if not old.exists():
            mask = os.umask(0o077)  # to read it is to set it
            os.umask(mask)
            with suppress(OSError):
                temporary.chmod(0o666 & ~mask | 0o600)  # for the next save
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    with suppress(OSError):  # not every folder can be opened, and none on Windows
        folder = os.open(target.parent, os.O_RDONLY)
        with suppress(OSError):
            os.fsync(folder)  # or a power cut could bring the old file back
        os.close(folder)


def check_writable(path: PathName) -> None:
    """Raise SaveError if a file could not be saved. Use it before long work."""
    with target_of(path) as target, tempfile.TemporaryFile(dir=target.parent):
        pass


@contextmanager
def locked(path: PathName, note: Note = lambda _: None) -> Iterator[None]:
    """Keep other runs out of this block for a file, or raise SaveError; without locks, note it."""
    with target_of(path) as target:
        lock = target.with_name(f".{target.name}.lock")
        if os.path.lexists(lock) and not stat.S_ISREG(lock.lstat().st_mode):
            raise OSError(errno.EINVAL, f"{lock.name} beside it is not a regular file")
        how = os.O_CREAT | os.O_WRONLY | NO_LINK_NO_WAIT  # in case one takes its place now
        file = open(os.open(lock, how, 0o666), "ab")  # noqa: SIM115
        is_alone = try_lock(file, lock, note)
    with file:
        if not is_alone:
            what = f"{os.fspath(path)} is being written by another run"
            raise SaveError(what, "Wait until that run has ended, or name another file.")
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(lock)


def try_lock(file: IO[bytes], lock: Path, note: Note) -> bool:
    """Lock an open file. Return False if another run has it, or has just removed it."""
    try:
        if fcntl is not None:
            with suppress(OSError):  # it is another's, or the filesystem has no modes
                os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode | 0o600)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # of some cluster filesystems
        note(f"{lock.parent} has no locks ({error.strerror}): let no other run write this file")
    with suppress(FileNotFoundError):  # it was removed after it was opened and before it was locked
        return os.path.samestat(os.fstat(file.fileno()), os.stat(lock))
    return False


def is_torn(line: bytes) -> bool:
    """Return True for the beginning of a line, whose end was lost in a kill."""
    return not line.endswith(b"\n") and BEGINNING.startswith(line[: len(BEGINNING)])


class LineFile:
    """A file of JSON lines, each appended whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        is_new = not path.exists()
        self._file = open(path, "ab+", buffering=0)  # noqa: SIM115
        if is_new:
            with suppress(OSError):  # the filesystem has no modes
                path.chmod(path.stat().st_mode | 0o600)  # to go on with it

    def lines(self) -> list[bytes]:
        """Return the lines of the file with their ends. The last one may be torn."""
        size = self._file.seek(0, os.SEEK_END)  # 0 for a device, which may be endless
        self._file.seek(0)
        return self._file.read(size).splitlines(keepends=True)

    def keep(self, kept: list[bytes], lines: list[bytes]) -> None:
        """Of the lines of the file, keep some; others may have the file open, and go on writing."""
        if len(kept) == len(lines):
            return
        with open(self._path, "r+b") as file:  # the other one writes at its end alone
            file.seek(sum(map(len, lines)))
            content = b"".join(kept) + file.read()  # lines that came since
            file.seek(0)
            file.write(content)
        self._file.truncate(len(content))

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line. If that fails, raise OSError and leave the file as it was."""
        line, size, end = json.dumps(row, allow_nan=False).encode() + b"\n", 0, 0
        try:
            while size < len(line):
                size += self._file.write(line[size:])
                end = self._file.tell()
        except OSError:
            with suppress(OSError):
                if self._file.seek(0, os.SEEK_END) == end:  # no other one has written since
                    self._file.truncate(end - size)
            raise

    def sync(self) -> None:
        """Make the lines outlast a power cut, if the filesystem can do that."""
        with suppress(OSError):
            os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()
