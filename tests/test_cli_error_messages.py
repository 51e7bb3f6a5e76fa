"""Every fault has its status and its words, and a bug keeps its traceback."""

from __future__ import annotations

import pytest

from tests.program import Program

SEEN_FIRST = "going to shout hey\ncharrnn: warning: this is [red]loud[/red]\n"


@pytest.mark.parametrize(
    ("fault", "status", "said"),
    [
        ("known", 1, "charrnn: error: it is \\x1b[31mbroken\\nin two\nMend it.\n"),
        ("corpus", 1, "charrnn: error: \\udcff.txt is empty\n"),
        ("setting", 2, "charrnn: error: lr is 0\nTake one above 0.\n"),
        (
            "memory",
            1,
            "charrnn: error: not enough memory: 8 GB\n"
            "Try a smaller network, a smaller batch or shorter windows.\n",
        ),
        ("gone", 1, "charrnn: error: nowhere: No such file or directory\n"),
        ("disk", 1, "charrnn: error: No space left on device\n"),
        ("interrupt", 130, ""),
        ("exit", 7, ""),
    ],
)
def test_a_fault_is_told_and_has_its_status(
    shout: Program,
    fault: str,
    status: int,
    said: str,
) -> None:
    ran = shout.run("shout", "hey", "--fault", fault)
    assert (ran.status, ran.out, ran.err) == (status, "", SEEN_FIRST + said)


def test_a_traceback_is_shown_to_who_asks_for_it(shout: Program) -> None:
    assert "Traceback" not in shout.run("shout", "hey", "--fault", "known").err
    shown = shout.run("shout", "hey", "--fault", "known", env={"CHARRNN_DEBUG": "1"})
    assert "Traceback" in shown.err
    assert shown.err.endswith("Mend it.\n")
    assert shown.status == 1


@pytest.mark.parametrize(("fault", "error"), [("bug", "ValueError"), ("recursion", "Recursion")])
def test_a_bug_keeps_its_traceback(shout: Program, fault: str, error: str) -> None:
    done = shout.run("shout", "hey", "--fault", fault, child=True)
    assert "Traceback" in done.err
    assert error in done.err
    assert done.status == 1
