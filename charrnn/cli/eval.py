"""The loss is the mean surprisal per character in bits. Each example (a line, say) counts its
characters and its end. A character that the model has never seen costs its share of all characters
of Unicode, so the loss is always finite. Rank 1 is the likeliest symbol.

A line is odd if it is far more surprising than any line should be: --above 1.5x shows those with
more than 1.5 times the bits per character of the oddest held-out line of the training. U+FFFD takes
the place of bytes that cannot be decoded, with a warning; --errors strict refuses them.

# the loss on the held-out text, beside counting
charrnn eval --baselines

# the ten oddest lines of a log
charrnn eval today.log --top 10

# report odd lines as they come; the exit status is 3 if there are any
tail -f server.log | charrnn eval - --per-example --above 1.5x

# colour the characters by surprisal
charrnn eval letter.txt --per-char

# compare two models, and the mean of both
charrnn eval play.txt -m small.npz -m large.npz
"""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import charrnn
from charrnn.cli.console import Console, count, only_one
from charrnn.cli.options import EvalOptions as Options
from charrnn.errors import ABOVE, CorpusError, SettingError
from charrnn.system.packaged import CORPORA

MIXTURE = "mixture"  # the name of all models together


def run(options: Options, console: Console) -> None:
    """Score the text and show the result. Raise SystemExit if something is above --above."""
    if not options.held_out and not options.sources:
        options = replace(options, sources=console.piped())
    check(options)
    from charrnn.cli import eval_screen as screen
    from charrnn.files.model_corpus import NAME_A_TEXT, rebuild_corpus

    began = time.monotonic()
    models = {shown_name(path): charrnn.load(path) for path in options.models}
    first = shown_name(options.models[0])
    model, learned = models[first], models[first].vocabulary.labels
    predictors = {name: model.predictor(options.use) for name, model in models.items()}
    if len(models) > 1:
        mixture = charrnn.mix(*models.values()).predictor(options.use)
        predictors = {MIXTURE: mixture, **predictors}
    use = next(iter(predictors.values())).use
    rows = screen.Rows(screen.oddest_of(models, use, options), learned, options, console)
    needs_corpus = options.baselines or not options.sources
    hint = "Leave out [baselines], which count that corpus." if options.sources else NAME_A_TEXT
    corpus = rebuild_corpus(model.corpus, hint) if needs_corpus else None
    held_out = None if options.sources else corpus
    groups = screen.groups_to_score(model, held_out, options, console)
    rows.write_head()
    split = None if held_out is None else len(held_out.held_out.ids) // 2
    scored = screen.score_groups(groups, split, predictors, rows)
    if scored and (options.as_json or rows.count or not (options.above and console.quiet)):
        facts: dict[str, Any] = {"seconds": time.monotonic() - began}
        facts |= {"above": options.above, "above_count": rows.count} if options.above else {}
        counted = corpus if options.baselines else None
        records = [record | facts for record in screen.records_of(scored, first, counted, learned)]
        screen.show_records(records, console, as_json=options.as_json)
    if options.above and rows.count:
        console.note(f"{count(rows.count, 'example')} above {options.above}")
        raise SystemExit(ABOVE)


def check(options: Options) -> None:
    """Raise an error if options exclude each other, or a word was typed in place of a file."""
    rows = {"--top": options.top} if options.top else {"--per-example": options.per_example}
    only_one({"--per-char": options.per_char, "--baselines": options.baselines, **rows})
    only_one({"--per-char": options.per_char, "--above": options.above})
    only_one({"--cores": options.cores, "--scheduler": options.scheduler})
    only_one({"--held-out": options.held_out, "TEXT": options.sources})
    only_one({"--label": options.label, "--label-by": options.reading.get("label_by")})
    if not options.sources and (options.examples or options.reading):
        name = next(iter(options.reading), "examples")
        raise SettingError(f"--{name} needs TEXT", "Held-out text is read as in training.")
    for source in options.sources:
        if source.isalnum() and source not in CORPORA and not os.path.lexists(source):
            hint = f"To score a word: echo {source} | charrnn eval"
            raise CorpusError(f"{source} does not exist", hint)


def shown_name(path: Path) -> str:
    return os.path.join(os.curdir, path) if str(path) == MIXTURE else str(path)
