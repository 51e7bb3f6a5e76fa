"""Faults 1 to 9: texts that are empty, small, broken, strange, huge or not there."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from charrnn import model_file as checkpoint
from tests.child import PYTHON
from tests.faults.limits import MEBIBYTE, unprivileged
from tests.program import CHARRNN, SMALL, Program


def vocabulary(path: Path) -> str:
    """The characters that a model knows."""
    return checkpoint.load_trained(path).model.vocabulary.characters


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b" \t\r\n\r\n \n", b"\xef\xbb\xbf\n\n"])
def test_01_a_text_with_nothing_in_it_is_empty(trained: Program, content: bytes) -> None:
    trained.write("text", content)
    hint = "A corpus needs at least one visible character."
    trained.refuses("train", "text", "--force", what="text is empty", hint=hint)
    valid = ("train", "names.txt", "--force", "--valid", "text")
    trained.refuses(*valid, what="text is empty", hint=hint)


def test_01_standard_input_with_nothing_in_it_is_empty(trained: Program) -> None:
    what, hint = "standard input is empty", "A corpus needs at least one visible character."
    trained.refuses("train", "-", "--force", what=what, hint=hint)


@pytest.mark.parametrize("content", ["a", "a\n", "aaaaaaaa", "ab\n", "a\nb\n", "one example here"])
@pytest.mark.parametrize("held_out", ["0.1", "0.99", "0"])
def test_01_a_text_with_next_to_nothing_in_it_trains(
    program: Program, content: str, held_out: str
) -> None:
    program.write("text", content)
    program.train("text", "--holdout", held_out).says("held out")
    assert set(vocabulary(program / "model.npz")) <= set(content)


def test_02_a_text_smaller_than_the_plan_shrinks_it_and_says_so(program: Program) -> None:
    program.write("text", "abc\ndef\n")
    done = program.train("text", "--batch", "5000", "--bptt", "3000")
    done.says("--bptt from 3000 to 4", "--batch from 5000 to 1", "the corpus is too small")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"ab\ncd\xb1\n", "byte 5, in line 2, is 0xb1"),
        (b"ab\r\rc\xc0\xafd", "byte 5, in line 3, is 0xc0"),
        (b"ab\xed\xa0\x80", "byte 2, in line 1, is 0xed"),
        (b"a\n" * 200_000 + b"\xff\n", "byte 400000, in line 200001, is 0xff"),
        (b"ab\xe2\x82", "byte 2, in line 1, is 0xe2"),
    ],
)
def test_03_a_text_that_is_not_utf8_is_refused_with_the_place(
    trained: Program, content: bytes, place: str
) -> None:
    trained.write("text", content)
    what, hint = ["text is not UTF-8", place], "--encoding"
    trained.refuses("train", "text", "--force", what=what, hint=hint)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32"])
def test_03_a_text_that_is_wider_than_utf8_is_recognised(trained: Program, encoding: str) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    trained.write("text", (mark + "anna\nbob\n").encode(encoding))
    name = encoding[:6]
    trained.refuses(
        *("train", "text", "--force"),
        what=f"text looks like {name.upper()}",
        hint=f"Try --encoding {name}",
    )
    trained.train("text", "--force", "--encoding", name).says()
    assert set(vocabulary(trained / "model.npz")) < set("anbo")


NO_TEXTS = {
    b"\x7fELF\2\1\1\0\0": "text looks binary: there is a NUL at byte 7",
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": "text looks binary: there is a NUL at byte 8",
    b"text\n\0text\n": "text looks binary: there is a NUL at byte 5",
}


@pytest.mark.parametrize("content", NO_TEXTS)
def test_03_what_is_no_text_is_said(trained: Program, content: bytes) -> None:
    trained.write("text", content)
    what = NO_TEXTS[content]
    hint = "A corpus is text. If only a few bytes are wrong, use --errors replace or skip."
    trained.refuses("train", "text", "--force", what=what, hint=hint)


def test_03_a_text_in_another_encoding_is_shown_as_it_would_be_read(trained: Program) -> None:
    trained.write("text", "Иван\nМария\n".encode("cp1251"))
    trained.refuses(
        *("train", "text", "--force"),
        what="text is not UTF-8: byte 0, in line 1, is 0xc8",
        hint="--encoding cp1251, which gives 'Иван'",
    )


def test_04_byte_order_marks_and_line_ends_make_no_difference(program: Program) -> None:
    names = (program / "names.txt").read_bytes()
    program.write("unix", names)
    program.write("marked", b"\xef\xbb\xbf" + names)
    program.write("windows", names.replace(b"\n", b"\r\n"))
    program.write("mac", names.replace(b"\n", b"\r"))
    for name in ("unix", "marked", "windows", "mac"):
        program.train(name, "-m", f"{name}.npz").says()
    models = [checkpoint.load(program / f"{name}.npz") for name in ("unix", "marked", "windows")]
    models.append(checkpoint.load(program / "mac.npz"))
    assert len({run.corpus.fingerprint for run in models}) == 1
    assert len({run.vocabulary for run in models}) == 1
    assert len({run.state.parameters.flat.tobytes() for run in models}) == 1
    program.train("windows", "-m", "kept.npz", "--newlines", "keep").says()
    assert vocabulary(program / "kept.npz") == "\r" + models[0].vocabulary.characters


def test_04_composed_and_decomposed_letters_agree_where_that_is_asked_for(program: Program) -> None:
    program.write("NFC", unicodedata.normalize("NFC", "é\nü\nÅ\n" * 9))
    program.write("NFD", unicodedata.normalize("NFD", "é\nü\nÅ\n" * 9))
    for form in ("NFC", "NFD"):
        program.train(form, "-m", f"{form}.npz", "--normalize", "NFC").says()
    program.train("NFD", "-m", "NFD-as-it-is.npz").says()
    assert vocabulary(program / "NFD.npz") == vocabulary(program / "NFC.npz") == "Åéü"
    assert vocabulary(program / "NFD-as-it-is.npz") == "Aeu\u0301\u0308\u030a"


STRANGE = {
    "zalgo": "Z\u0351\u036b\u0343a\u0334\u0335l\u0320\u0368g\u034co\u0321\n",
    "family": "👨\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈\n",
    "right to left": "שלום\u200f עולם\n\u202eabc\u202c\n",
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \U0010ffff\U000e0001\n",
    "controls": "\x1b[31mred\x1b[0m\x07\x7f\x9b\u2028\u2029\x85\n",
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_05_every_script_trains_samples_and_is_scored(program: Program, text: str) -> None:
    program.write("text", text * 9)
    program.train("text", "--holdout", "0").says()
    drawn = program.run("sample", "--max-chars", "50", "-n", "3")
    drawn.says()
    assert set(drawn.out) <= set(text) | {"\n"}
    scored = program.run("eval", "text", "--json")
    scored.says()
    assert '"unknown": 0' in scored.out


def test_05_five_thousand_characters_work(program: Program) -> None:
    characters = [chr(0x4E00 + i) for i in range(5000)]
    lines = ["".join(characters[at : at + 25]) for at in range(0, 5000, 25)]
    program.write("text", "\n".join(lines * 2) + "\n")
    program.train("text", "--holdout", "0").says("5,002 symbols")
    program.run("sample", "--max-chars", "9").says()
    program.run("eval", "text").says()


def hundred_thousand() -> str:
    codes = [code for code in range(0x3400, 0x3400 + 102_048) if not 0xD800 <= code < 0xE000]
    return "\n".join("".join(map(chr, codes[at : at + 50])) for at in range(0, len(codes), 50))


@pytest.mark.long
def test_05_a_hundred_thousand_characters_work(program: Program) -> None:
    program.write("text", hundred_thousand())
    with program.going("train", "text", *SMALL, "--minutes", "0.001", "--holdout", "0") as child:
        child.end().says("100,002 symbols")


NO_FILES = {
    "folder": ("folder is a folder", "folder/*.txt"),
    "missing.txt": ("missing.txt does not exist", "Check the name"),
    "dinosaur": ("dinosaur does not exist", "Did you mean dinosaurs? Check the name"),
    "": ("a name is empty", "the shell"),
    "link": ("link is a broken link to nowhere", "Fix the link."),
    "/dev/zero": ("/dev/zero is a device, not a text", "Name a file"),
    "/dev/urandom": ("/dev/urandom is a device, not a text", "Name a file"),
}


@pytest.mark.parametrize("name", NO_FILES)
def test_06_what_is_no_file_is_said_with_its_path(trained: Program, name: str) -> None:
    (trained / "folder").mkdir()
    (trained / "link").symlink_to("nowhere")
    what, hint = NO_FILES[name]
    trained.refuses("train", name, "--force", what=what, hint=hint)


@pytest.mark.usefixtures("impatient")
def test_06_a_pipe_that_nobody_writes_to_is_said(trained: Program) -> None:
    os.mkfifo(trained / "pipe")
    what, hint = "pipe is a pipe without a writer", "Start the writer first"
    trained.refuses("train", "pipe", "--force", what=what, hint=hint)


def test_06_a_text_that_is_a_pipe_is_read_to_its_end(program: Program) -> None:
    os.mkfifo(program / "pipe")
    with program.going("train", "pipe", *SMALL) as child:
        with child.open_pipe(program / "pipe") as pipe:
            pipe.write((program / "names.txt").read_bytes())
        child.end().says("pipe")


def test_06_a_file_that_may_not_be_read_is_said(trained: Program) -> None:
    trained.write("text", "secret").chmod(0)
    what, hint = "text may not be read", "Change its permissions"
    line = ("train", "text", "--force")
    trained.refuses(*line, what=what, hint=hint, preexec_fn=unprivileged)


def test_06_a_terminal_that_is_waited_for_is_told_so(program: Program) -> None:
    import pty

    ours, theirs = pty.openpty()
    with program.going("train", "-", *SMALL, stdin=theirs) as child:
        child.until(lambda: "waiting for text from the keyboard; Ctrl-D ends it" in child.err)
        os.write(ours, b"anna\nbob\n\x04")
        child.end().says("standard input")
    os.close(theirs)
    os.close(ours)


# A process begins with the peak of the one that started it: that has to be a small one.
PEAK = """
import os, sys
pid = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak_of(program: Program, *args: str) -> int:
    """The most memory that a run had, in bytes."""
    by = [*PYTHON, "-S", "-c", PEAK, *CHARRNN[1:]]
    ran = program.run("train", *SMALL, *args, "--quiet", by=by)
    ran.says()
    return int(ran.lines[-1]) * 1024


def a_large_text(size: int, end: str) -> str:
    """Words that are drawn from many, so that few of its n-grams are alike."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlucmfw", k=rng.randint(2, 9))) for _ in range(5000)]
    lines = []
    while size > 0:
        lines.append(" ".join(rng.choices(words, k=4)) + end)
        size -= len(lines[-1])
    return "".join(lines)


@pytest.mark.long  # test_corpus.py measures the memory of reading without a child
@pytest.mark.parametrize("line", ["one line", "many lines"])
def test_07_memory_stays_near_two_bytes_a_character(program: Program, line: str) -> None:
    size = 24 * MEBIBYTE
    end = " " if line == "one line" else "\n"
    program.write("large", a_large_text(size, end))
    small = peak_of(program, "names.txt", "-m", "small.npz")
    large = peak_of(program, "large", "-m", "large.npz", "--minutes", "0.001")
    assert large - small < 2 * size + 28 * MEBIBYTE


def test_07_a_text_that_changes_while_training_runs_does_no_harm(program: Program) -> None:
    line = ("train", "names.txt", "--hidden", "8", "--layers", "1", "--epochs", "40")
    program.run(*line, "-m", "undisturbed.npz", "-q")
    with program.going(*line, "--check-every", "1000000") as child:
        child.until(lambda: "to beat" in child.err)
        program.write("names.txt", "quite another text\n")
        child.end().says()
    undisturbed, disturbed = (
        checkpoint.load(program / name) for name in ("undisturbed.npz", "model.npz")
    )
    assert disturbed.state.parameters.flat.tobytes() == undisturbed.state.parameters.flat.tobytes()
    program.refuses(
        *("train", "--resume", "--epochs", "50"),
        what=["not on names.txt (SHA-256"],
        hint="Give the same text in the same order",
    )


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
}


@pytest.mark.parametrize("suffix", PACKED)
def test_08_a_packed_text_that_is_broken_is_said(trained: Program, suffix: str) -> None:
    numbers = "\n".join(map(str, range(5000))).encode()
    packed = PACKED[suffix](numbers)
    trained.write(f"whole.{suffix}", packed)
    trained.train(f"whole.{suffix}", "-m", "whole.npz").says()
    trained.write(f"cut.{suffix}", packed[:-20])
    trained.write(f"wrong.{suffix}", packed[:-30] + bytes([packed[-30] ^ 4]) + packed[-29:])
    hint = "Copy or download it again."
    for name, what in (("cut", "is cut short"), ("wrong", "is damaged")):
        name = f"{name}.{suffix}"
        trained.refuses("train", name, "--force", what=f"{name} {what}", hint=hint)


def test_08_a_wrong_checksum_is_said(trained: Program) -> None:
    packed = bytearray(gzip.compress(b"anna\nbob\n"))
    packed[-8] ^= 1
    trained.write("text.gz", bytes(packed))
    what, hint = "gzip data does not match its checksum", "Copy or download it again."
    trained.refuses("train", "text.gz", "--force", what=what, hint=hint)


ODD = {
    b"two\nlines.txt": r"two\nlines.txt",
    b"red\x1b[31m.txt": r"red\x1b[31m.txt",
    b"\xff\xfe.txt": r"\udcff\udcfe.txt",
    "\u202etxt.exe".encode(): r"\u202etxt.exe",
    b"-q.txt": "-q.txt",
    b"[red]:smile:.txt": "[red]:smile:.txt",
}


@pytest.mark.parametrize("name", ODD)
def test_09_odd_names_work_and_are_made_visible(trained: Program, name: bytes) -> None:
    text = (trained / "names.txt").read_bytes()
    with open(os.fsencode(trained.folder) + b"/" + name, "wb") as file:
        file.write(text)
    model = name + b".npz"
    child = name.startswith(b"\xff")
    done = trained.run("train", *SMALL, "--force", b"-m" + model, "--", name, child=child)
    done.says(ODD[name])
    assert "\x1b" not in done.out
    shown = trained.run("info", b"-m" + model)
    shown.says()
    assert "\x1b" not in shown.out
    missing = b"no-" + name
    what = ODD[name] + " does not exist"
    trained.refuses("train", "--force", "--", missing, what=what, hint="Check the name")
