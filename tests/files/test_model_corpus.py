"""A corpus is found again from any folder, and beside a model that has moved together with it."""

import gzip
import lzma
import os
import shutil
import tempfile
from collections.abc import Callable, Set
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import charrnn
from charrnn import errors
from charrnn.files.model_corpus import conditions_on, texts_like
from charrnn.text import reading
from charrnn.text.corpus import read_files
from tests.child import touched
from tests.networks import Facts, forge
from tests.program import BRIEF, Program


@pytest.fixture
def program(program: Program) -> Program:
    for folder in ("models", "texts", "away"):
        (program / folder).mkdir()
    (program / "names.txt").rename(program / "texts" / "names.txt")
    return program


def test_the_corpus_is_found_by_an_odd_path(program: Program) -> None:
    (program / "texts/deep").mkdir()
    Path("link").symlink_to("texts/deep")
    shutil.copy("texts/names.txt", "-")
    for name in ("link/../names.txt", f"/{program / 'texts/names.txt'}", "./-"):
        program.run("train", name, *BRIEF, "--force").says()
        assert program.run("eval").status == 0
    program.run("train", "texts/names.txt", *BRIEF, "-m", "link/m.npz").says()
    for name in ("texts/deep/m.npz", "link/m.npz"):
        assert program.run("eval", "-m", name).status == 0


@pytest.mark.parametrize("absolute", [False, True])
def test_the_corpus_is_found_from_afar(program: Program, absolute: bool) -> None:
    name = (program / "texts/names.txt") if absolute else "texts/names.txt"
    program.run("train", name, *BRIEF, "-m", "models/m.npz").says()
    assert bytes(program.folder) not in (program / "models/m.npz").read_bytes()
    program.run("export", "away/slim.npz", "-m", "models/m.npz").says()
    assert b"texts/" not in (program / "away/slim.npz").read_bytes()
    here = program.run("eval", "--json", "-m", "models/m.npz").json
    os.chdir("away")
    there = program.run("eval", "--json", "-m", "../models/m.npz", cwd=program / "away").json
    assert there["nats"] == here["nats"]
    info = program.run("info", "--json", "-m", "../models/m.npz", cwd=program / "away").json
    assert info["resume"]["is_possible"]
    again = ("train", "--resume", "--epochs", "3", "-m", "../models/m.npz", "--json")
    assert program.run(*again, cwd=program / "away").json["settings"]["epochs"] == 3
    assert list(charrnn.resume("../models/m.npz", epochs=4))


def test_a_model_and_its_corpus_may_move_together(program: Program) -> None:
    program.run("train", "texts/names.txt", *BRIEF, "-m", "models/m.npz").says()
    (program / "elsewhere").mkdir()
    for folder in ("models", "texts"):
        shutil.move(program / folder, program / "elsewhere" / folder)
    (program / "texts").mkdir()
    program.write("texts/names.txt", "something else\n")  # is not taken for it
    assert program.run("eval", "-m", "elsewhere/models/m.npz").status == 0


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0", "pipe"])
def test_fault_47_what_is_no_file_is_noted_as_standard_input(program: Program, name: str) -> None:
    if name == "pipe":
        os.mkfifo("pipe")
    program.write("-", "")
    names = ["texts/names.txt", name, "dinosaurs"]
    corpus = read_files(names, read=lambda source: b"anna\nbob\n")
    record = charrnn.load("dinosaurs").corpus.with_files_of(corpus)
    assert record.sources == ("texts/names.txt", "-", "dinosaurs")
    assert record.files.keys() == {"texts/names.txt", "dinosaurs"}


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no /dev/shm")
def test_fault_47_a_corpus_in_shared_memory_is_a_file(program: Program) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        shutil.copy("texts/names.txt", folder)
        program.run("train", f"{folder}/names.txt", *BRIEF).says()
        assert program.run("info", "--json").json["corpus"]["sources"][0].endswith("names.txt")
        assert program.run("eval").status == 0
        program.run("train", "--resume", "--epochs", "3").says()


def test_fault_47_a_file_with_the_name_of_a_corpus_is_not_taken_for_that(program: Program) -> None:
    shutil.copy("texts/names.txt", "dinosaurs")
    program.run("train", "dinosaurs", *BRIEF, "-m", "models/m.npz").says()
    assert charrnn.load("models/m.npz").corpus.sources == (os.path.join(".", "dinosaurs"),)
    assert program.run("eval", "-m", "models/m.npz").status == 0
    program.run("export", "slim.npz", "-m", "models/m.npz").says()
    assert program.run("eval", "-m", "slim.npz").status == 0
    Path("dinosaurs").unlink()
    gone = os.path.join(".", "dinosaurs") + " is gone"
    program.refuses("eval", "-m", "slim.npz", what=gone, hint="Without the corpus, name a text.")


def test_a_file_that_came_later_is_not_taken_for_the_corpus(program: Program) -> None:
    program.run("train", "dinosaurs", *BRIEF).says()
    program.write("dinosaurs", "anna\n")
    for epochs in "34":
        program.run("train", "--resume", "--epochs", epochs).says()
    assert charrnn.load("model.npz").corpus.sources == ("dinosaurs",)


def named(*sources: str, content: bytes = b"", **more: Any) -> Callable[[Facts, Any], None]:
    """Return a change of a model: it names these files, with the size and hash of a content."""
    mark = [len(content), sha256(content).hexdigest()]

    def change(document: Facts, _: Any) -> None:
        files = {name: mark for names in (sources, *more.values()) for name in names}
        document["facts"]["corpus"].update(sources=sources, files=files, **more)

    return change


QUIET = [  # commands that need no texts
    *(("info",), ("info", "--json"), ("export", "a.html"), ("export", "a.npz"), ("sample", "-q")),
    *(("eval", "texts/names.txt"), ("embed", "texts/names.txt", "-o", "a.npy"), ("fill", "an_a")),
    *(("unfold", "anna"), ("reach", "texts/names.txt"), ("sample", "-q", "--json", "-n", "3")),
    ("train", "texts/names.txt", "--from", "model.npz", "-m", "b.npz", "--epochs", "1"),
]
NEEDY = [  # commands that need them, and what to do
    *((("sample", "--novel"), "--not-in in place of --novel."), (("eval",), "name a text.")),
    *(((name,), "name a text.") for name in ("embed", "reach")),
    (("eval", "texts/names.txt", "--baselines"), "Leave out --baselines, which count that corpus."),
    (("train", "--resume", "--epochs", "9"), "Type the texts: charrnn train CORPUS --resume."),
]


BAIT = ("bait", "/bait", "../bait", "//bait/share", r"\\bait\share", "dinosaurs/bait")


def test_fault_29_without_need_nothing_that_a_model_names_is_looked_at(trained: Program) -> None:
    trained.write("bait", "")
    forge(Path("model.npz"), named(*BAIT, valid=["bait2"]))
    with touched() as paths:
        for line in QUIET:
            ran = trained.run(*line)
            assert ran.status == 0, (line, ran.err)
        charrnn.load("model.npz").save("again.npz")
    assert str(trained / "again.npz") in paths
    assert [path for path in paths if "bait" in path] == []


@pytest.mark.parametrize(
    "name", ["/dev/zero", "pipe", "texts", "/{}", r"\\names.txt", "", "\0", "nowhere"]
)
def test_fault_29_nothing_but_a_regular_file_is_opened(trained: Program, name: str) -> None:
    os.mkfifo("pipe")
    content = Path("texts/names.txt").read_bytes()
    trained.write(r"\\names.txt", content)
    forge(Path("model.npz"), named(name.format(trained / "texts/names.txt"), content=content))
    for line, hint in NEEDY:
        trained.refuses(*line, what="is gone", hint=hint)
    assert trained.run("sample", "-n", "2").err == ""
    best = trained.run("sample", "--best", "-n", "2")
    assert (best.status, "is gone: samples may be copies of it" in best.err) == (0, True)


def test_fault_29_another_file_of_that_name_is_not_read(trained: Program) -> None:
    """What is said does not depend on what is in it."""
    Path("secret").symlink_to("texts/names.txt")  # links are as good as files
    content = Path("secret").read_bytes()
    forge(Path("model.npz"), named("secret", content=content))
    assert trained.run("eval").status == 0
    for other in (content[::-1], content + b"a", content[1:], b""):
        Path("texts/names.txt").write_bytes(other)
        for line, hint in NEEDY:
            trained.refuses(*line, what="secret has changed", hint=hint)
        with pytest.raises(errors.ResumeError, match="secret has changed"):
            charrnn.resume("model.npz")


def test_fault_29_no_more_is_read_than_the_record_says(trained: Program) -> None:
    with open("huge", "wb") as file:
        file.truncate(1 << 40)
    forge(Path("model.npz"), named("huge", content=b"anna\n"))
    assert "huge has changed" in trained.run("eval").err


def test_fault_29_files_that_are_typed_are_outside_this_rule(trained: Program) -> None:
    forge(Path("model.npz"), named("nowhere", content=b"anna\n"))
    trained.run("sample", "--not-in", "texts/names.txt").says("")
    trained.run("train", "texts/names.txt", "--resume", "--epochs", "2").says()
    assert charrnn.load("model.npz").corpus.sources == (os.path.join("texts", "names.txt"),)
    assert trained.run("eval").status == 0
    piped, same = Path("texts/names.txt").read_bytes(), ("--valid", "texts/names.txt", "-mb.npz")
    trained.run("train", "-", *same, *BRIEF, stdin=piped).says()
    trained.run("train", "texts/names.txt", *same, "--resume", "--epochs", "4").says()
    assert trained.run("eval", "-m", "b.npz").status == 0


def test_fault_29_validation_files_are_known_again_too(program: Program) -> None:
    program.write("valid.txt", "anna\nbob\n")
    line = ("train", "texts/names.txt", "--valid", "valid.txt", *BRIEF)
    program.run(*line, "-m", "[a].npz").says()
    assert program.run("eval", "-m", "[a].npz").status == 0
    program.write("valid.txt", "anna\ncleo\n")
    program.refuses("eval", "-m", "[a].npz", what="valid.txt has changed", hint="name a text")
    again = ("train", "texts/names.txt", "--resume", "--epochs", "4", "-m", "[a].npz")
    hint = "Type the texts: charrnn train CORPUS --valid FILE -m '[a].npz' --resume."
    program.refuses(*again, what="valid.txt has changed", hint=hint)


def test_fault_29_a_model_that_learned_from_files_of_another_is_told_so(program: Program) -> None:
    program.run("train", "texts/names.txt", *BRIEF).says()
    shutil.copy("texts/names.txt", "copy.txt")
    line = ("train", "copy.txt", "--from", "model.npz", "-m", "b.npz", "--dry-run")
    program.write("valid.txt", "anna\n")
    known, own = "what is held out: see --valid", ("texts/names.txt", "--valid", "valid.txt")
    for more in (("--holdout", "0.2"), ("--valid", "copy.txt")):
        assert known in program.run(*line, *more).out
    for same in ((), ("--valid", "valid.txt"), ("--holdout", "0")):
        assert known not in program.run(*line, *same).out
    program.run("train", *own, "--force", *BRIEF).says()
    assert known not in program.run(*line, *own).out


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_fault_66_a_packed_file_that_a_model_names_cannot_fill_the_memory(
    trained: Program, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(reading, "LEAST_ROOM", 1 << 10)
    packed = pack(b"anna\n" * 5_000)
    trained.write("list", packed)
    forge(Path("model.npz"), named("list", content=packed))
    what = "data is far larger when it is unpacked"
    trained.refuses("sample", "--novel", what=what, hint="--not-in in place of --novel.")
    trained.refuses("eval", what=what, hint="unpack it and name that file.")
    trained.run("train", "list", *BRIEF, "-m", "typed.npz").says()
    again = ("train", "list", "--resume", "--epochs", "2", "--dry-run", "-m", "typed.npz")
    assert trained.run(*again).status == 0
    trained.run("sample", "--not-in", "list").says("")


@pytest.mark.parametrize(("source", "column"), [("a.csv", "x"), ("-", "x"), ("-", "2")])
def test_a_column_is_read_whatever_the_path_is(program: Program, source: str, column: str) -> None:
    table = "n,x\n" + "".join(f"{number},anna {number}\n" for number in range(20))
    program.write("a.csv", table)
    program.run("train", source, "--column", column, *BRIEF, stdin=table.encode()).says()
    record = charrnn.load("model.npz").corpus
    Path("a.csv").rename("b.csv")
    program.write("list", 'b,o\n"anna, 2\nx\n')
    record = replace(record, reading=replace(record.reading, label_by="kind"))  # not of a list
    assert {"1,anna 1", "anna 0", "anna 1"} <= {*texts_like(record, ["b.csv"])}
    assert {"b,o", '"anna, 2'} <= {*texts_like(record, ["list"])}
    with pytest.raises(errors.CorpusError, match="cannot be read"):
        texts_like(record, ["a\0"])


def avoided() -> tuple[Set[str], list[str]]:
    notes: list[str] = []
    names = ("best", "unique", "known_words", "distance", "shortest", "longest")
    wishes: dict[str, Any] = {"novel": True, "without": (), **dict.fromkeys(names)}
    trained = charrnn.load("model.npz").trained
    return conditions_on([trained], (), notes.append, **wishes).known, notes


def test_fault_51_a_model_with_counts_knows_what_was_held_out(program: Program) -> None:
    texts = {f"{first} {second}" for first in "abcdefgh" for second in "abcdefgh"}
    program.write("names.txt", "\n".join(sorted(texts)))
    program.run("train", "names.txt", *BRIEF, "--counts").says()
    assert avoided() == (texts, [])
    Path("names.txt").unlink()
    learned, notes = avoided()
    assert learned < texts
    assert "" not in learned
    assert notes == ["names.txt is gone: samples may be texts that were held out"]
    program.write("all.txt", "anna\n")
    program.run("train", "all.txt", *BRIEF, "--counts", "--holdout", "0").says()
    Path("all.txt").unlink()
    assert avoided() == ({"anna"}, [])
