"""The options of ``sample``, panel by panel; those that it shares with others are in options."""

from __future__ import annotations

from typing import Annotated

from charrnn.cli import values
from charrnn.cli.options import OUTPUT_PANEL, flag, option

DRAWING_PANEL = "Drawing"
PRIME_PANEL = "Prime"
AGAIN_PANEL = "Drawing again"

# The limits are those of charrnn.sampling, which is not imported here, for numpy comes with it: a
# test holds the two against each other.
Count = Annotated[
    int | None,
    option(
        "-n",
        "--count",
        kind=values.whole(1, 1 << 40),
        about="How many samples; they are drawn side by side.",
        default="1",
        panel=DRAWING_PANEL,
    ),
]
Temp = Annotated[
    float | None,
    option(
        "-t",
        "--temp",
        kind=values.real(0, 1e6),
        about="Below 1 is more careful, above 1 bolder; 0 always takes the most likely character.",
        default="1",
        panel=DRAWING_PANEL,
    ),
]
TopK = Annotated[
    int | None,
    option(
        "--top-k",
        kind=values.whole(1, 1 << 40),
        about="Draw among so many of the most likely characters.",
        default="all",
        panel=DRAWING_PANEL,
    ),
]
TopP = Annotated[
    float | None,
    option(
        "--top-p",
        kind=values.real(0, 1, above=True),
        about="Draw among the fewest characters that have this much of the chance.",
        default="all",
        panel=DRAWING_PANEL,
    ),
]
MaxChars = Annotated[
    int | None,
    option(
        "--max-chars",
        kind=values.whole(1, 1 << 40),
        about="Cut a sample off after so many characters, the prime not counted.",
        default="2000",
        panel=DRAWING_PANEL,
    ),
]
Seed = Annotated[
    int | None,
    option(
        "--seed",
        kind=values.whole(0, 2**64 - 1),
        about="Where random numbers start: same seed, same text, whatever -n is.",
        default="another one each time",
        panel=DRAWING_PANEL,
    ),
]

Prime = Annotated[
    str | None,
    option(
        "-p",
        "--prime",
        kind=values.text(),
        about="Read this first and go on from there.",
        panel=PRIME_PANEL,
    ),
]
PrimeFile = Annotated[
    str | None,
    option(
        "--prime-file",
        kind=values.text("FILE"),
        about="Read this file first, - for standard input. Where examples are lines, its last"
        " newline does not count.",
        panel=PRIME_PANEL,
    ),
]
HidePrime = Annotated[
    bool, flag("--hide-prime", about="Write only what was drawn.", panel=PRIME_PANEL)
]
Encoding = Annotated[
    str | None,
    option(
        "--encoding",
        kind=values.text("NAME"),
        about="How the prime file and the --novel corpus are encoded.",
        default="as in training",
        panel=PRIME_PANEL,
    ),
]

Novel = Annotated[
    list[str] | None,
    option(
        "--novel",
        kind=values.text("CORPUS"),
        about="Draw again what stands in this corpus word for word; may be repeated.",
        panel=AGAIN_PANEL,
    ),
]
Unique = Annotated[
    bool, flag("--unique", about="Draw again what was drawn before.", panel=AGAIN_PANEL)
]

Surprise = Annotated[
    bool,
    flag(
        "--surprise",
        about="Colour each character by how little it was expected, in a terminal.",
        panel=OUTPUT_PANEL,
    ),
]
Null = Annotated[
    bool,
    flag("-0", "--null", about="End samples with NUL, not with a newline.", panel=OUTPUT_PANEL),
]
Raw = Annotated[
    bool,
    flag(
        "--raw",
        about="Let a terminal obey the control characters that come up.",
        panel=OUTPUT_PANEL,
    ),
]
