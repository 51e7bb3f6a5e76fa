"""A command made for the tests of the terminal: it shouts, and fails in every way there is.

python -m tests.shout shout WORD... [OPTIONS]
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from typing import Annotated

from charrnn.cli import app, console, options, signals, values
from charrnn.errors import CharrnnError, CorpusError, SettingError
from tests.child import PYTHON

FOR_EVER = 300.0  # seconds, in which every test has lost its patience
EXAMPLES = """
# a greeting, very loud
charrnn shout hello -t 2

charrnn shout "a line that is long enough to be wrapped in any window, and is not" --seed 3
"""

Temperature = Annotated[
    float | None,
    options.option(
        "-t",
        "--temp",
        kind=values.real(0.01, 100),
        about="How loud.",
        default="1.0",
        panel="Loudness",
    ),
]
Share = Annotated[
    float | None,
    options.option(
        "--share", kind=values.real(0, 1, above=True), about="Of what?", panel="Loudness"
    ),
]
Seed = Annotated[
    int | None,
    options.option("--seed", kind=values.whole(0, 2**64 - 1), about="Where to start."),
]
FAULT = options.option("--fault", kind=values.text("KIND"), about="Fail so.")
ACT = options.option("--act", kind=values.text("KIND"), about="Do so.")


def shout(
    words: Annotated[list[str], options.sources("WORD", "What to shout.")],
    temp: Temperature = None,
    share: Share = None,
    model: options.Model = options.MODEL,
    examples: options.Examples = None,
    encoding: options.Encoding = None,
    newlines: options.Newlines = None,
    normalize: options.Normalize = None,
    seed: Seed = None,
    threads: options.Threads = None,
    raw: Annotated[bool, options.flag("--raw", about="As it is.")] = False,
    fault: Annotated[str | None, FAULT] = None,
    act: Annotated[str | None, ACT] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Say it loudly.

    Louder than [b]bold[/b], and :smile: stays what it is.
    """
    talk = console.Talk(quiet)
    talk.note(f"going to shout {words[0]}")
    talk.warn("this is [red]loud[/red]")
    if fault is not None:
        FAULTS[fault]()
    if act is not None:
        ACTS[act](talk)
    if as_json:
        facts = options.given(temp=temp, share=share, examples=examples, seed=seed)
        console.write_json("shout", {"words": words, "model": str(model), **facts})
        console.write_json("shout", {"loss": float("nan"), "curve": (float("inf"), 1.5)})
    else:
        for word in words:
            console.write_result(word, raw=raw)
            console.write_result("\n")


def _raise(error: BaseException) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def _recurse() -> None:
    _recurse()


FAULTS: dict[str, Callable[[], None]] = {
    "known": _raise(CharrnnError("it is \x1b[31mbroken\nin two", "Mend it.")),
    "corpus": _raise(CorpusError("\udcff.txt is empty")),
    "setting": _raise(SettingError("lr is 0", "Take one above 0.")),
    "memory": _raise(MemoryError("8 GB")),
    "interrupt": _raise(KeyboardInterrupt()),
    "exit": _raise(SystemExit(7)),
    "gone": lambda: os.chdir("nowhere"),
    "disk": _raise(OSError(errno.ENOSPC, "No space left on device")),
    "bug": _raise(ValueError("a bug")),
    "recursion": _recurse,
}


def _wait(talk: console.Talk) -> None:
    """What training does: one step after another, until it is asked to stop; then it saves."""
    with signals.watched(talk) as stop:
        print("ready", file=sys.stderr, flush=True)
        end = time.monotonic() + FOR_EVER
        while not stop.requested and time.monotonic() < end:
            time.sleep(0.01)
    console.write_result("saved\n")
    raise SystemExit(stop.status)


def _wait_on(talk: console.Talk) -> None:
    """A step that takes for ever, and a save that must not be cut short."""
    with signals.watched(talk):
        try:
            print("ready", file=sys.stderr, flush=True)
            time.sleep(FOR_EVER)
            time.sleep(FOR_EVER)
        finally:
            console.write_result("cleaned up\n")


def _sleep(_talk: console.Talk) -> None:
    try:
        print("ready", file=sys.stderr, flush=True)
        time.sleep(FOR_EVER)
    finally:
        console.write_result("cleaned up\n")


def _bar(talk: console.Talk) -> None:
    from tqdm import tqdm

    for step in tqdm(range(3), disable=not talk.animated, mininterval=0):
        if step == 1:
            talk.note("half way")


ACTS: dict[str, Callable[[console.Talk], None]] = {
    "wait": _wait,
    "wait-on": _wait_on,
    "sleep": _sleep,
    "bar": _bar,
}

SHOUT = [*PYTHON, "-m", "tests.shout"]
ENTRY = app.Entry("tests.shout:shout", "Say it loudly.")

if __name__ == "__main__":
    from charrnn.__main__ import run

    app.COMMANDS["shout"] = ENTRY
    run()
