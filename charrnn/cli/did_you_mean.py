"""What was meant by a word that is not one of ours: a slip of the finger, or a word that other
programs of the kind use.

Rather nothing is guessed than something silly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from difflib import get_close_matches

CLOSE = 0.75  # how alike a slip and what was meant are; all alike is 1

COMMANDS = {
    "sample": ("generate", "gen", "predict", "draw", "write", "inference"),
    "eval": ("score", "test", "evaluate", "predict", "perplexity", "validate"),
    "train": ("fit", "learn", "finetune", "fine-tune", "resume"),
    "sweep": ("grid", "search", "grid-search", "tune", "hyperopt"),
    "info": ("show", "inspect", "describe", "summary", "plot"),
}
OPTIONS = {
    ("train", "--hidden"): ("rnn-size", "hidden-size", "n-hidden", "num-units", "units", "width"),
    ("train", "--layers"): ("num-layers", "n-layers", "n-layer", "depth"),
    ("train", "--bptt"): ("seq-length", "seq-len", "sequence-length", "block-size", "max-length"),
    ("train", "--batch"): ("batch-size", "lanes"),
    ("train", "--epochs"): ("max-epochs", "num-epochs", "n-epochs", "max-iters", "steps"),
    ("train", "--lr"): ("learning-rate", "rate", "step-size"),
    ("train", "--clip"): ("grad-clip", "clip-grad", "max-norm"),
    ("train", "--cell lstm"): ("lstm",),
    ("train", "--cell gru"): ("gru",),
    ("train", "--cell"): ("rnn", "rnn-type", "cell-type"),
    ("train", "--holdout"): ("val-frac", "val-split", "validation-split", "test-frac"),
    ("train", "--valid"): ("val", "validation", "val-file", "dev"),
    ("train", "--check-every"): ("eval-interval", "eval-val-every", "print-every", "log-interval"),
    ("train", "--from"): ("init-from", "initialize-from", "pretrained", "finetune", "start-from"),
    ("train", "-m"): ("o", "output", "out", "save", "save-dir", "checkpoint", "checkpoint-dir"),
    ("train", "--threads"): ("workers", "num-workers", "jobs", "j", "cpus"),
    ("sample", "-m"): ("checkpoint", "load", "weights"),
    ("sample", "--max-chars"): ("length", "len", "max-length", "max-tokens", "max-new-tokens"),
    ("sample", "--temp"): ("temperature",),
    ("sample", "-n"): ("num-samples", "samples", "num"),
    ("sample", "--prime"): ("primetext", "prime-text", "prompt", "start", "start-text", "prefix"),
}
LIKE = {"sweep": "train"}  # which has its options
NO_NEED = ("gpu", "cuda", "device", "gpuid", "gpu-backend", "use-gpu")
ARGUMENT = re.compile(r"unexpected extra arguments?(?:\(s\))? \((\S+\.npz)\b")


def meant_by_command(typed: str, commands: Iterable[str]) -> str:
    """A question to ask about a command that there is not, or nothing."""
    known = [name for name, words in COMMANDS.items() if typed.lower() in words]
    return question(known or get_close_matches(typed, list(commands), 3, CLOSE))


def meant_by_option(typed: str, command: str, options: Collection[str]) -> str:
    """What to say of an option that this command has not, or nothing."""
    word = typed.lstrip("-").lower().replace("_", "-")
    if word in NO_NEED:
        return "It needs no graphics card: leave that out. "
    found = {where: name for (where, name), words in OPTIONS.items() if word in words}
    own = found.get(command, found.get(LIKE.get(command, ""), ""))
    if own and (command in found or own.partition(" ")[0] in options):
        return question([own])
    bare = {name.lstrip("-"): name for name in options if len(name) > 2}
    near = get_close_matches(word, list(bare), 1, CLOSE) if len(word) > 1 else []
    if near or not found:
        return question([bare[one] for one in near])
    return question([f"{name} of charrnn {where}" for where, name in found.items()])


def meant_by_argument(message: str, command: str) -> str:
    """What to type for a model that stands where no text can, or nothing."""
    model = ARGUMENT.search(message)
    return f"A model is named with -m: {command} -m {model[1]}. " if model else ""


def question(names: Collection[str]) -> str:
    """Whether one of these was meant; nothing where there are none."""
    return f"Did you mean {' or '.join(names)}? " if names else ""
