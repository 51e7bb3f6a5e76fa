"""Signals while it works, while it saves and while it sleeps, once and twice."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.child import Child
from tests.program import Program

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
SAID = "saving after this step; Ctrl-C stops at once\n"


@contextmanager
def at_work(shout: Program, act: str, *options: str, **how: Any) -> Iterator[Child]:
    """A child that has said that it is ready."""
    with shout.going("shout", "hey", "--act", act, *options, **how) as child:
        child.until(lambda: child.err.endswith("ready\n"))
        yield child


def said_since(child: Child) -> str:
    """What it has said since it was ready."""
    return child.err.partition("ready\n")[2]


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [("SIGINT", "SIGINT", 130), ("SIGTERM", "SIGTERM", 143), ("SIGHUP", "SIGTERM", 143)],
)
def test_it_is_told_in_the_middle_of_a_step_and_the_second_stops_at_once_and_cleans_up(
    shout: Program, first: str, second: str, status: int
) -> None:
    with at_work(shout, "wait-on") as child:  # its step never ends
        child.send(signal.Signals[first])
        child.until(lambda: said_since(child).endswith(SAID))
        told = said_since(child)
        child.send(signal.Signals[second])
        ended = child.end()
        assert (ended.status, ended.out, said_since(child)) == (status, "cleaned up\n", told)


def test_a_closing_terminal_may_hang_up_twice(shout: Program) -> None:
    with at_work(shout, "wait") as child:
        child.send(signal.SIGHUP)
        child.send(signal.SIGHUP)
        ended = child.end()
    assert (ended.status, ended.out) == (129, "saved\n")


def test_with_quiet_a_signal_is_obeyed_without_a_word(shout: Program) -> None:
    with at_work(shout, "wait", "-q") as child:
        child.send(signal.SIGINT)
        ended = child.end()
    assert (ended.status, ended.out, ended.err) == (130, "saved\n", "ready\n")


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_outside_of_training_a_signal_ends_it_cleanly(
    shout: Program, name: str, status: int
) -> None:
    with at_work(shout, "sleep") as child:
        child.send(signal.Signals[name])
        ended = child.end()
        assert (ended.status, ended.out, said_since(child)) == (status, "cleaned up\n", "")


def test_handlers_are_put_back(shout: Program) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    shout.run("shout", "hey")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
