"""The loss at a step depends on the state k steps earlier. If gradients vanish, the dependence
shrinks with k; if they explode, it grows. The horizon is --bptt, and the decay per step is the
factor of the norm from k to k + 1. Then comes the spectral radius of W, the recurrent weights, and
last the share of the norms that --bptt cuts off: if it is large, --bptt is too short. Below is the
mean norm for some k.

# is --bptt long enough?
charrnn reach

# does an LSTM reach further?
charrnn train verses --cell lstm -m lstm.npz
charrnn reach -m lstm.npz

# the norms, for another program
charrnn reach --json | jq -r '.norms[]'
"""

from dataclasses import dataclass
from pathlib import Path

import charrnn
from charrnn.cli.console import Console
from charrnn.cli.embed import texts_to_read
from charrnn.cli.shared_options import CommandOptions, model_option, text_option
from charrnn.settings.values import COUNT, setting
from charrnn.system.visible import Visible

LABELS = 22  # columns of the row labels


@dataclass(frozen=True, kw_only=True)
class Options(CommandOptions):
    sources: tuple[str, ...] = text_option("Read these files", "the held-out part")
    bptt: int | None = setting(
        COUNT,
        "Measure the share that windows of this many steps cut off.",
        default_in_words="as in training",
        short="Set the window to compare with",
    )
    model: Path = model_option()


def run(options: Options, console: Console) -> None:
    from charrnn.prediction.reach import reach_of
    from charrnn.prediction.scoring import labels_to_read
    from charrnn.text.examples import join_examples

    model = charrnn.load(options.model)
    texts = texts_to_read(model, options.sources, console)
    ids = model.vocabulary.encode_codes(join_examples(texts))
    kinds = [kind for kind, _ in model.classify(texts)] if model.labels else None
    labels = labels_to_read(model.vocabulary, texts, kinds)
    reach, horizon = reach_of(model.language_model, ids, labels), options.bptt or model.config.bptt
    share = reach.cut_off_share(horizon)
    if options.as_json:
        facts = {"model": str(options.model), "horizon": horizon, "norms": reach.norms}
        facts |= {"decay_per_step": reach.decay_per_step, "spectral_radius": reach.spectral_radius}
        console.json("reach", facts | {"cut_off_share": share})
        return
    figures = {
        "horizon (--bptt)": str(horizon),
        "decay per step": three_digits(reach.decay_per_step),
        "spectral radius of W": three_digits(reach.spectral_radius),
        "cut off by --bptt": f"{share:.1%}",
    }
    rows = [Visible(f"{label:{LABELS}} {text:>8}") for label, text in figures.items()]
    rows += [Visible(""), console.out.paint(Visible("steps back, and the mean norm"), "cyan")]
    last = len(reach.norms) - 1
    for steps in sorted({0, last, *(1 << k for k in range(last.bit_length()))}):
        rows.append(Visible(f"{steps:>{LABELS}} {three_digits(reach.norms[steps]):>8}"))
    console.out.write_lines(rows)


def three_digits(value: float | None) -> str:
    """Return a number of any size with three digits; "-" for none."""
    return "-" if value is None else f"{value:#.3g}".rstrip(".")
