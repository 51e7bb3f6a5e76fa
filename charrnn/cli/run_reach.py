"""What ``charrnn reach`` does: read the text, let gradients walk back, tell how far they came."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from charrnn.analysis.reach import Reach, reach_of
from charrnn.cli.console import Console
from charrnn.cli.figure_file import FigureFile, names_of
from charrnn.cli.reach_report import Found, report
from charrnn.cli.texts_to_read import Reads, codes_for, note_if_several
from charrnn.corpus.segmentation import END_CODE
from charrnn.display.figures import plot_reach
from charrnn.errors import CorpusError
from charrnn.model import Model
from charrnn.runs import load
from charrnn.vocabulary import END, Ids

if TYPE_CHECKING:
    from charrnn.cli.reach import Options

RIGHT: Final = 0.99  # a cosine that is as good as 1
LONG: Final = 2  # times as long as it needs to be


def run(options: Options, file: FigureFile | None, console: Console) -> None:
    """Do all of it."""
    reads = Reads(options.sources, options.examples, options.reading)
    console.note_if_waiting(options.sources)
    if file is not None:
        file.check(*options.sources, *(os.path.join(os.curdir, path) for path in options.models))
    found = [find(path, reads, console) for path in options.models]
    if file is not None:
        reaches = [one.reach for one in found]
        named = dict(zip(names_of(options.models), reaches, strict=True))
        file.write(partial(plot_reach, named), console)
    if not options.as_json:
        console.out.write_lines(report(found, console.out))
        return
    for one in found:
        console.json("reach", described(one))


def find(path: Path, reads: Reads, console: Console) -> Found:
    """How far the gradients of that model reach."""
    model = load(path)
    note_if_several(model, console)
    ids = ids_of(model, reads)
    if not len(ids):
        raise CorpusError("there is no example in what was read", "Name a text that is not empty.")
    horizon = model.config.bptt
    reach = reach_of(model.language_model, ids, (horizon,))
    size = model.parameters.architecture
    network = f"{size.layers} x {size.hidden} {size.cell_name}"
    return Found(str(path), network, horizon, reach, advice(reach, horizon))


def ids_of(model: Model, reads: Reads) -> Ids:
    """The text in symbols."""
    blocks = [np.zeros(0, model.vocabulary.dtype)]
    for codes in codes_for(model, reads):
        ids = model.vocabulary.encode_codes(codes)
        ids[codes == END_CODE] = END
        blocks.append(ids)
    return np.concatenate(blocks)


def advice(reach: Reach, horizon: int) -> str:
    """What to do about the horizon. A window of so many steps carries a loss half as far back, in
    the mean, for some losses come early in it.
    """
    needed = min(steps for steps, cosine in reach.cosine.items() if cosine >= RIGHT)
    wanted = min(2 * needed, max(reach.cosine))
    if reach.explodes:
        return (
            "gradients do not shrink on their way back, so that any --bptt cuts through them: keep"
            " --clip, or try --cell gru"
        )
    why = f"{needed} {'step is' if needed == 1 else 'steps are'} enough for a cosine of {RIGHT}"
    if horizon < needed:
        return f"try --bptt {wanted}: {why}, and {horizon} have {reach.cosine[horizon]:.2f}"
    if horizon > LONG * wanted:
        return f"--bptt {wanted} would do: {why}"
    return f"--bptt {horizon} is long enough: {why}"


def described(found: Found) -> dict[str, Any]:
    """All of it for programs."""
    reach = found.reach
    return {
        "model": found.model,
        "horizon": found.horizon,
        "norms": reach.norms,
        "losses": reach.losses,
        "decay_per_step": reach.decay_per_step,
        "spectral_radius": reach.spectral_radius,
        "cut_off_share": reach.cut_off_share(found.horizon),
        "cosine": {str(steps): cosine for steps, cosine in reach.cosine.items()},
        "advice": found.advice,
    }
