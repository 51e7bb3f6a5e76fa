"""Is this a charrnn model at all? Before anything else, and whatever it may be instead."""

from __future__ import annotations

import os
import stat
from io import FileIO

from charrnn.errors import NotAModelError
from charrnn.model_file import npz

_START = npz.local_header(npz.JSON_MEMBER, 0, 0)  # that of an empty text
_NAME = slice(30, 30 + len(npz.JSON_MEMBER))
HEAD_SIZE = _NAME.stop  # bytes from the beginning, enough to tell


def open_regular(path: str | os.PathLike[str]) -> FileIO:
    """The file, open for reading; NotAModelError where it is a folder, a FIFO, a device."""
    # Looked at before it is opened, as to open a tape or a FIFO is to do something to it; and
    # opened without waiting, and looked at again, as it can be another file by then.
    _check_kind(path, os.stat(path))
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    file = FileIO(os.open(path, flags), "rb")
    try:
        _check_kind(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def is_model(head: bytes) -> bool:
    """Whether a file that begins so is a model, or was one once."""
    return head[_NAME] == _START[_NAME]


def check_ours(path: str, head: bytes, label: bytes) -> None:
    """NotAModelError unless the first bytes or the last ones show that this was once a model.

    Either will do, as the other may be what is damaged.
    """
    if label == npz.SEAL_LABEL or is_model(head):
        return
    if not head:
        raise _not_a_model(path, ": it is empty")
    if len(head) == HEAD_SIZE or head[:14] != _START[:14][: len(head)]:
        raise _not_a_model(path)


def _check_kind(path: str | os.PathLike[str], status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise _not_a_model(os.fspath(path), ": it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise _not_a_model(os.fspath(path), ": it is not a regular file")


def _not_a_model(path: str, why: str = "") -> NotAModelError:
    hint = "Name a file that a run was saved to."
    return NotAModelError(f"{path} is not a charrnn model{why}", hint)
