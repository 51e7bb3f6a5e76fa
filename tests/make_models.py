"""Train the included models: ``python -m tests.make_models [NAME ...]``.

On one machine the files always have the same bytes. Each model learns from a corpus in data/. The
model ``latin`` learns from three of them, in more forms: see ``latin_lines``.
"""

import os
import random
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import charrnn
from charrnn.settings.corpus import Reading
from charrnn.system.cores import ONE_THREAD
from charrnn.system.packaged import MODELS, path_of
from charrnn.text.corpus import read_files
from charrnn.text.reading import text_of

FOLDER = Path(charrnn.__file__).parent / "models"
CORPORA = {"given-names": "given-names-latin"}  # if it has another name than the model
SIZES = ("hidden", "layers", "dropout", "dropconnect", "blank", "batch", "bptt")
OPEN = (*SIZES, "lr", "weight_decay", "epochs", "warmup", "check_every", "shards")
SETTINGS: dict[str, tuple[float, ...]] = {  # written out, so that no new default changes a file
    "dinosaurs": (160, 2, 0.3, 0.4, 0.02, 32, 16, 0.004, 0.1, 140, 200, 105, 2),
    "given-names": (160, 2, 0.3, 0.1, 0.0, 16, 32, 0.002, 0.1, 73, 200, 129, 1),
    "latin": (160, 2, 0.3, 0.0, 0.0, 64, 32, 0.004, 0.1, 20, 88, 144, 2),
    "reber": (64, 1, 0.0, 0.0, 0.0, 16, 32, 0.005, 0.0, 20, 92, 102, 1),
    "verses": (160, 2, 0.3, 0.4, 0.02, 32, 16, 0.004, 0.1, 106, 200, 135, 2),
}
LATIN = ("given-names-latin", "dinosaurs", "verses")


def lines_of(name: str) -> list[str]:
    return [line for line in text_of(path_of(name), Reading()).split("\n") if line]


def latin_lines(names: list[str], genera: list[str], verses: list[str]) -> list[str]:
    """Return lines of many kinds: names, words and verses, and their forms.

    These are names and words in small letters, words with a capital, and names that are joined by
    a space or one of -_. or followed by a number.
    """
    words = sorted({word for line in verses for word in re.findall(r"[A-Za-z']+", line)})
    plain = [line for line in (*names, *genera, *words) if line.isascii()]
    lines = [*names, *genera, *words, *verses]
    lines += [line.lower() for line in (*names, *genera)] + [word.title() for word in words]
    draw = random.Random(1)
    for _ in range(len(names) // 2):
        one, other = draw.choice(plain), draw.choice(plain)
        form = draw.choice(("{} {}", "{}-{}", "{}_{}", "{}.{}", "{}{:.4}", "{}{:.0}{}"))
        number = draw.choice((draw.randint(0, 99), draw.randint(1900, 2030)))
        joined = form.format(one, other, number)
        lines.append(joined if " " in form or "-" in form else joined.lower())
    return list(dict.fromkeys(lines))


def fitted(name: str, texts: Path | list[str]) -> charrnn.Model:
    settings: dict[str, Any] = dict(zip(OPEN, SETTINGS[name], strict=True))
    return charrnn.fit(texts, **settings)


def trained(name: str) -> charrnn.Model:
    if name != "latin":
        return fitted(name, Path(CORPORA.get(name, name)))
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "latin.txt")
        corpus.write_text("\n".join(latin_lines(*map(lines_of, LATIN))) + "\n", encoding="utf-8")
        model = fitted(name, corpus)
    record = model.corpus.with_files_of(read_files(LATIN))
    return charrnn.Model(replace(model.trained, corpus=record))


def main() -> None:
    """Train and write the models that the command line names, or all."""
    if unknown := {*sys.argv[1:]} - {*MODELS}:
        sys.exit(f"{', '.join(sorted(unknown))}: no model; there are {', '.join(MODELS)}")
    os.environ.update(ONE_THREAD)  # before numpy is imported: one BLAS thread, as in the program
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MODELS:
        path = FOLDER / f"{name}.npz"
        model = trained(name)
        model.export(path, force=True)
        print(f"{name}: {path.stat().st_size:,} bytes, {model.trained.best}")


if __name__ == "__main__":
    main()
