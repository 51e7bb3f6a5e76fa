"""Runs from Python and from the command line."""

from __future__ import annotations

from pathlib import Path

import charrnn
from charrnn.texts import rebuild_corpus
from tests.program import Program

SMALL = ("--hidden", "3", "--layers", "1", "--epochs", "1")


def test_seeds_share_a_vocabulary_and_a_held_out_text(program: Program) -> None:
    names = [*Path("names.txt").read_text("utf-8").split(), "Żółw", "ßÆ", "Ñandú", "Éva", "Łyna"]
    program.write("more.txt", "\n".join(names))
    for seed in ("1", "2"):
        program.run("train", "more.txt", *SMALL, "--seed", seed, "-m", f"{seed}.npz", "-q").says()
    program.run("sweep", "more.txt", *SMALL, "--seeds", "3-4", "-o", "sweep", "-q").says()
    files = [Path("1.npz"), Path("2.npz"), *Path("sweep").glob("*.npz")]
    models = [charrnn.load(file) for file in files]
    models += [charrnn.fit(names, hidden=3, layers=1, epochs=1, seed=seed) for seed in (5, 6)]
    assert len({model.config.seed for model in models}) == 6
    assert len({model.vocabulary for model in models}) == 1
    held_out = [rebuild_corpus(one.corpus, one.vocabulary).held_out.ids for one in models[:4]]
    assert len({ids.tobytes() for ids in held_out}) == 1
    assert len({model.corpus.held_out_characters for model in models}) == 1
    assert program.run("eval", "-m", "1.npz", "-m", "2.npz", "--json").status == 0
