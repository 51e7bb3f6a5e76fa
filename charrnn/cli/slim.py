"""Write a smaller model file, without the training state.

The small file draws and scores the same texts and is about a quarter of the size. It lacks the
training state and the loss of each check-up, so training cannot be resumed. The path of
the corpus is reduced to its file name.

A model of train --counts needs its training text to draw and score the same. Anyone who gets the
file can read that text; --without-counts leaves it out.

# write a small file of model.npz, to send to a friend
charrnn slim names.npz

# leave out the training text of a model of train --counts
charrnn slim names.npz --without-counts

# a smaller file, whose texts differ now and then
charrnn slim names.npz --bits 8

# draw the same texts from it
charrnn sample -m names.npz -n 10
"""

from __future__ import annotations

import os
from dataclasses import MISSING, dataclass
from pathlib import Path

from charrnn.cli import options
from charrnn.cli.console import Console
from charrnn.cli.files import OutputFile
from charrnn.cli.options import OUTPUT, CommandOptions, NewFile, flag, like
from charrnn.corpus.files import model_at
from charrnn.export import ExportOptions
from charrnn.settings.fields import setting


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    out: Path = setting(
        NewFile(), "The file to write.", panel=OUTPUT, default=MISSING, names=("FILE",)
    )
    model: Path = options.model()
    without_counts: bool = flag(
        "Leave out the training text of a model of train --counts; only the network remains."
    )
    bits: int = like(
        ExportOptions,
        "bits",
        about="Store numbers in this many bits. 16 or 8 change some samples.",
        panel=OUTPUT,
    )
    force: bool = flag("Replace an existing file.")


def run(options: Options, _threads: int, console: Console) -> None:
    from charrnn.cli.terminal.tables import Fact, Report
    from charrnn.runs import load

    model = load(options.model)
    file = OutputFile(options.out, "FILE", force=options.force)
    file.check(options.model, corpus=model.corpus.names)
    before = os.path.getsize(model_at(options.model))
    if model.trained.slim and not options.without_counts:
        console.note(f"{options.model} is already slim")
    slim = model.slim(without_counts=options.without_counts)
    with file.saved():
        slim.save(options.out, force=options.force)
    if slim.trained.counted is not None:
        console.note(f"{options.out} contains the training text; --without-counts leaves it out")
    if options.without_counts and model.trained.counted is None:
        console.note(f"{options.model} has no counts to leave out")
    size = options.out.stat().st_size
    report = Report(
        Fact("model", str(options.out), "model", str(options.out)),
        Fact("from", str(options.model)),
        Fact("bytes", size, "size", f"{size:,} bytes, {size / before:.0%} of {options.model}"),
        Fact("bytes_before", before),
    )
    report.show("slim", console, as_json=options.as_json)
