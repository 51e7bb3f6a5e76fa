"""The model file while a run goes on: it can be written, and nobody else writes to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from charrnn.cli.output_file import check_may_be_replaced
from charrnn.errors import ModelExistsError, ResumeError
from charrnn.model_file import container
from charrnn.model_file.lock import locked
from charrnn.model_file.recognition import is_model

if TYPE_CHECKING:
    from charrnn.cli.train import Options

SMALLEST = 1 << 12  # bytes: no model has fewer


@contextmanager
def model_file_held(options: Options) -> Iterator[None]:
    """The model file is ours alone in here, and can be written; a dry run does not touch it."""
    if options.dry_run:
        yield
        return
    container.check_writable(options.model, SMALLEST)
    check_there(options)
    with locked(options.model):
        check_there(options)  # it may have come between the look and the lock
        yield


def check_there(options: Options) -> None:
    """Raise where a model would be lost, or is not there to go on with."""
    is_there = os.path.exists(options.model)
    if options.resume and not is_there:
        raise ResumeError(
            f"there is no {options.model} to go on with",
            f"Train one first: {options.line('train', 'CORPUS')}",
        )
    if is_there and not options.resume and not options.force:
        check_may_be_replaced(options.model, is_model, force=False, option="-m")
        raise ModelExistsError(
            f"{options.model} is there already",
            f"Go on with it: {options.line('train', '--resume')}. Or replace it with --force, or"
            " name another file with -m.",
        )
