"""``charrnn train``: from a corpus to a model file."""

from __future__ import annotations

import typer

from charrnn.cli import options, threads
from charrnn.cli import train_options as own
from charrnn.cli.app import show_help
from charrnn.cli.console import Talk
from charrnn.cli.options import MODEL, given
from charrnn.cli.training.arguments import Asked

EXAMPLES = """
# learn a corpus that comes with the program, then make up ten more of its kind
charrnn train dinosaurs
charrnn sample -n 10

# what would be done, and what is there to beat?
charrnn train names.txt --dry-run

# a whole book, whose paragraphs follow each other, for twenty minutes
charrnn train book.txt.gz -m book.npz --carry --minutes 20

# go on after Ctrl-C, or for longer
charrnn train --resume
charrnn train --resume --epochs 200

# from another program, with a record of every step
cat *.txt | charrnn train - -m all.npz --metrics all.jsonl --json
"""


def train(
    ctx: typer.Context,
    corpus: own.Corpus = None,
    examples: options.Examples = None,
    valid: own.Valid = None,
    holdout: own.Holdout = None,
    encoding: options.Encoding = None,
    newlines: options.Newlines = None,
    normalize: options.Normalize = None,
    carry: own.Carry = None,
    hidden: own.Hidden = None,
    layers: own.Layers = None,
    dropout: own.Dropout = None,
    dropconnect: own.Dropconnect = None,
    blank: own.Blank = None,
    bptt: own.Bptt = None,
    batch: own.Batch = None,
    optimizer: own.Optimizer = None,
    lr: own.Rate = None,
    schedule: own.Schedule = None,
    warmup: own.Warmup = None,
    clip: own.Clip = None,
    weight_decay: own.WeightDecay = None,
    epochs: own.Epochs = None,
    minutes: own.Minutes = None,
    patience: own.Patience = None,
    check_every: own.CheckEvery = None,
    seed: own.Seed = None,
    model: options.Model = MODEL,
    resume: own.Resume = False,
    force: own.Force = False,
    metrics: own.Metrics = None,
    preview: own.Preview = None,
    dry_run: own.DryRun = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    workers: options.Threads = None,
) -> None:
    """Train a network on a corpus.

    It reads the corpus over and over, and learns which character comes next. A part is held out to
    see how well. Sizes that are not given are made to fit, so that a few names train as well as a
    library; the plan says what was chosen, and what simple counting makes of the same text.

    Ctrl-C saves what was learned, and --resume goes on as if nothing had been.
    """
    if not corpus and not resume and not _was_typed(ctx):
        show_help(ctx)
    asked = Asked(
        sources=tuple(corpus or ()),
        valid=tuple(valid or ()),
        cutting=given(examples=examples, holdout=holdout),
        reading=given(encoding=encoding, newlines=newlines, normalize=normalize),
        learning=given(
            carry=carry,
            hidden=hidden,
            layers=layers,
            dropout=dropout,
            dropconnect=dropconnect,
            blank=blank,
            bptt=bptt,
            batch=batch,
            optimizer=optimizer,
            lr=lr,
            schedule=schedule,
            warmup=warmup,
            clip=clip,
            weight_decay=weight_decay,
            epochs=epochs,
            minutes=minutes,
            patience=patience,
            check_every=check_every,
            seed=seed,
            workers=workers,
        ),
        model=model,
        resume=resume,
        force=force,
        metrics=metrics,
        preview=1 if preview is None else preview,
        dry_run=dry_run,
        as_json=as_json,
    )
    asked.check()
    useful = threads.prepare(workers)

    from charrnn.cli.training.run import run

    run(asked, useful, Talk(quiet))


def _was_typed(ctx: typer.Context) -> bool:
    """Whether there is anything on the command line."""
    sources = [ctx.get_parameter_source(name) for name in ctx.params]
    return any(source is not None and source.name == "COMMANDLINE" for source in sources)
