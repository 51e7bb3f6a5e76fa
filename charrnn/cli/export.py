"""A web page (.html) is one file that works in any browser without a network connection. It draws
new texts, colours any text by surprisal and shows the likeliest next characters. It does not
contain the training texts. A module (.mjs) is the same without the page. A header (.h) is C99 that
allocates no memory.

A .safetensors file loads into the RNN, GRU or LSTM of PyTorch; it gives the same probabilities, but
not the same texts. A .npz file is a model for charrnn without its training state, with matrices
that are rounded to 16 bits: about a tenth of the size. It still draws and scores. The path of the
corpus is reduced to its file name.

The others take --cell tanh, gru and lstm with --ends symbol and halt, without --clock.

# one web page, for a friend without charrnn
charrnn export names.html --title Heroes

# a module for a web page of your own
charrnn export names.mjs

# a small model file, without the training text of train --counts
charrnn export small.npz --without-counts
"""

from dataclasses import MISSING, dataclass
from os import fsencode
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import quote as quote_url

import charrnn
from charrnn.cli.console import Console, check_output
from charrnn.cli.shared_options import CommandOptions, force_option, model_option, nested
from charrnn.export.write import SUFFIXES, ExportOptions, export_to
from charrnn.settings.values import File, setting
from charrnn.system.visible import visible_line

NEXT_STEP = {
    ".html": "Open it in a browser.",
    ".mjs": 'Use it with: import model from "./{url}"; model.sample({{ seed: 1 }})',
    ".h": "The comment at its top shows how to use it.",
    ".npz": "Use it with: charrnn sample -m {path}",
}


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    out: Path = setting(
        File(),
        f"The file to write. The suffix selects the format: {', '.join(SUFFIXES)}.",
        default=MISSING,
        names=("FILE",),
        short="Write to this file",
    )
    about: dict[str, Any] = nested(ExportOptions)
    model: Path = model_option()
    force: bool = force_option("FILE")


def run(options: Options, console: Console) -> None:
    path, about = options.out, ExportOptions(**options.about)
    suffix, model = about.suffix_for(path), charrnn.load(options.model)
    check_output(path, "FILE", options.model, force=options.force)
    export_to(path, model.trained, about, force=options.force)
    if model.trained.counted is not None and suffix != ".npz":
        console.note(f"{path} holds the network without the counts")
    elif model.trained.counted is not None and not about.without_counts:
        console.note(f"{path} holds the training text; --without-counts leaves it out")
    size = path.stat().st_size
    if options.as_json:
        facts = {"file": str(path), "kind": suffix[1:], "bytes": size}
        console.json("export", {**facts, "from": str(options.model)})
        return
    if not console.quiet:  # the file is the result
        console.out.write_lines([visible_line(f"{path}  {size:,} bytes")])
    if suffix in NEXT_STEP:
        url = quote_url(fsencode(path.name))
        console.note(NEXT_STEP[suffix].format(url=url, path=quote(str(path))))
