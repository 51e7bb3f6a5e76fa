"""Say it loudly.

Louder than [b]bold[/b], and :smile: stays what it is.

# a greeting, very loud
charrnn shout hello -t 2

charrnn shout "a line that is long enough to be wrapped in any window, and is not" --seed 3
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from charrnn.cli import app, options, signals
from charrnn.cli.console import Console
from charrnn.errors import CharrnnError, CorpusError, SettingError
from charrnn.settings import SEED, CorpusConfig, Reading, Real, Text, setting
from charrnn.text import Raw
from tests.child import PYTHON

FOR_EVER = 300.0  # seconds; every test gives up earlier


@dataclass(frozen=True, kw_only=True)
class Loudness:
    temp: float = setting(
        Real(0.01, 100), "How loud.", panel="Loudness", default=1.0, names=("-t", "--temp")
    )
    share: float | None = setting(Real(0, 1, without=0), "Of what?", panel="Loudness")
    seed: int | None = setting(SEED, "Where to start.")


@dataclass(frozen=True, kw_only=True)
class Options(options.CommandOptions):
    words: tuple[str, ...] = options.sources("WORD", "What to shout.", is_required=True)
    loudness: dict[str, Any] = options.group(Loudness)
    model: Path = options.model()
    cutting: dict[str, Any] = options.group(CorpusConfig, "examples")
    reading: dict[str, Any] = options.group(Reading)
    cores: int | None = options.cores()
    raw: bool = options.flag("As it is.")
    fault: str | None = setting(Text("KIND"), "Fail so.")
    act: str | None = setting(Text("KIND"), "Do so.")


def run(options: Options, console: Console) -> None:
    """Do what the options say."""
    console.note(f"going to shout {options.words[0]}")
    console.warn("this is [red]loud[/red]")
    if options.fault is not None:
        FAULTS[options.fault]()
    if options.act is not None:
        ACTS[options.act](console)
    if options.as_json:
        facts = {**options.loudness, **options.cutting, "model": str(options.model)}
        console.json("shout", {"words": options.words, **facts})
        console.json("shout", {"loss": float("nan"), "curve": (float("inf"), 1.5)})
    else:
        for word in options.words:
            console.out.write(Raw(word)) if options.raw else console.result(word)
            console.result("\n")


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


def _sleep_until(condition: Callable[[], bool]) -> None:
    """Sleep in naps: a signal just before a system call is noticed only after that call."""
    end = time.monotonic() + FOR_EVER
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def _wait(console: Console) -> None:
    """Work step by step until a signal comes, then save, as training does."""
    with signals.watched(console.quiet) as stop:
        print("ready", file=sys.stderr, flush=True)
        _sleep_until(lambda: stop.requested)
    console.result("saved\n")
    raise SystemExit(stop.status)


def _wait_on(console: Console) -> None:
    """Work on a step that never ends; what follows must not be cut short."""
    with signals.watched(console.quiet):
        try:
            print("ready", file=sys.stderr, flush=True)
            _sleep_until(lambda: False)
        finally:
            console.result("cleaned up\n")


def _sleep(console: Console) -> None:
    try:
        print("ready", file=sys.stderr, flush=True)
        _sleep_until(lambda: False)
    finally:
        console.result("cleaned up\n")


def _bar(console: Console) -> None:
    from tqdm import tqdm

    for step in tqdm(range(3), disable=not console.is_animated, mininterval=0):
        if step == 1:
            console.note("half way")


ACTS: dict[str, Callable[[Console], None]] = {
    "wait": _wait,
    "wait-on": _wait_on,
    "sleep": _sleep,
    "bar": _bar,
}

SHOUT = [*PYTHON, "-m", "tests.shout"]
LINE = "Say it loudly."

if __name__ == "__main__":
    from charrnn import __main__

    app.COMMANDS["shout"] = LINE
    sys.modules["charrnn.cli.shout"] = sys.modules["__main__"]
    __main__.run()
