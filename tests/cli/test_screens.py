"""What each command shows, to the letter: nothing is missing, and no note is there without reason.

A line of stderr begins with "! ". Digits are 9 in the screens of networks that were trained, and in
sizes and times. ``python -m tests.cli.test_screens`` writes them anew: read what has changed.
"""

import re
import tempfile
from pathlib import Path

import pytest

from tests.networks import COIN, END, independent, markov, saved, speller
from tests.program import Program

SCREENS = Path(__file__).parent / "screens.txt"
FOLDER = re.compile(r"\S*/(?=[\w.]+\.npz)")


def filled(folder: Path) -> Program:
    """Return the program in a folder of texts and of models with known probabilities."""
    program = Program(folder)
    program.write("list.txt", "".join(f"- {a}{b},\n" for a in "abcdefgh" for b in "ijklmnop"))
    program.write("more.txt", "".join(f"{a}{b}\n" for a in "abcdefgh" for b in "qrst"))
    program.write("ab.txt", "ab\nb\n\nabЖba\n")
    program.write("it's.txt", "ab\nb\n\nabЖba\n")
    program.write("two.txt", "ab\nb a\n")
    program.write("ab.csv", "id,word\n1,ab\n")
    program.write("row.csv", 'id,word\n1,ab\n2,"b a"\n')
    program.write("table.csv", "id;first name\n" + "".join(f"{n};x{n}\n" for n in range(20)))
    saved(independent(COIN), folder / "coin.npz")
    saved(speller("word"), folder / "word.npz")
    saved(speller("a\nb"), folder / "verse.npz", "paragraphs")
    saved(independent({END: 0.1, "a": 0.85, "b": 0.02, "c": 0.02, "d": 0.01}), folder / "odd.npz")
    saved(independent({"a": 0.2, **dict.fromkeys((END, *"bcdefgh"), 0.1)}), folder / "even.npz")
    after = {END: {"a": 1.0}, "a": {" ": 0.5, "b": 0.5}, " ": {"a": 1.0}, "b": {END: 1.0}}
    saved(markov(after), folder / "model.npz")
    return program


def screen(program: Program, line: str) -> str:
    """Run a command and return what it shows, and its exit status if that is not 0."""
    ran = program.run(*line.split(), env={"COLUMNS": "80"}, stdin=b"")
    rows = [*ran.out.splitlines(), *(f"! {row}".rstrip() for row in ran.err.splitlines())]
    shown = "\n".join([*rows, f"status {ran.status}"] if ran.status else rows)
    shown = re.sub(r"about \S+ s\b|at \S+ characters a second", "about 9 s", FOLDER.sub("", shown))
    varies = "fit" in line or line.split()[0] in ("train", "sweep", "reach")
    return re.sub(r"\d" if varies else r"\d(?=[\d.,]* k?(B|bytes)\b)", "9", shown)


def blocks() -> list[tuple[str, str]]:
    """Return the command lines, and what they show."""
    parts = SCREENS.read_text("utf-8").split("$ ")[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2].strip("\n")) for part in parts]


def test_every_screen_is_that_of_the_file(program: Program, tmp_path: Path) -> None:
    there = filled(tmp_path)
    found = [(line, shown, screen(there, line)) for line, shown in blocks()]
    assert [(line, now) for line, shown, now in found if now != shown] == []


def main() -> None:
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr("charrnn.runs.TRIAL", 0.0)
        there = filled(Path(name))
        whole = [f"$ {line}\n{screen(there, line)}".rstrip() + "\n" for line, _ in blocks()]
    SCREENS.write_text("\n".join(whole), "utf-8")


if __name__ == "__main__":
    main()
