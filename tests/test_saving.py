"""What this program did not write is not replaced, whatever the option, unless by force."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import charrnn
from charrnn.errors import ModelExistsError
from charrnn.model_file import check_may_be_replaced
from tests.program import BRIEF, Program

NOVEL = "It was a dark and stormy night.\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of POSIX")
def test_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for ever
    check_may_be_replaced(tmp_path / "pipe", "")
    check_may_be_replaced(tmp_path, "")  # who writes there will see


def test_training_replaces_no_novel(program: Program) -> None:
    program.write("novel.txt", NOVEL)
    program.refuses(
        *("train", "names.txt", *BRIEF, "-m", "novel.txt"),
        what="novel.txt already exists, and charrnn has not written it",
        hint="Name another file with -m, or replace it with --force.",
    )
    program.refuses(
        *("train", "names.txt", *BRIEF, "--metrics", "novel.txt", "-q"),
        what="novel.txt holds lines that are not metrics of charrnn",
        hint="Name another file with --metrics.",
    )


def test_no_save_from_python_replaces_the_corpus_unless_forced(tmp_path: Path) -> None:
    corpus = tmp_path / "names.txt"
    corpus.write_text("anna\nbob\ncleo\n" * 9)
    run = charrnn.train(corpus, hidden=4, epochs=1, batch=2)
    next(run)
    model = run.model
    for save in (run.save, model.save):
        with pytest.raises(ModelExistsError, match="charrnn has not written it") as refused:
            save(corpus)
        assert refused.value.hint == "Name another file, or say force=True."
        assert corpus.read_text().startswith("anna")
    run.save(tmp_path / "names.npz")
    run.save(tmp_path / "names.npz")  # a model may be replaced
    (tmp_path / "link.npz").symlink_to(corpus)
    with pytest.raises(ModelExistsError):
        run.save(tmp_path / "link.npz")
    model.save(corpus, force=True)
    assert charrnn.load(corpus).sample(2, seed=1) == model.sample(2, seed=1)
