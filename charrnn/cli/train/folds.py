"""--folds of train and eval: the loss on all of a corpus, from networks trained for the purpose."""

from __future__ import annotations

from collections.abc import Iterator

from charrnn.cli.console import Console
from charrnn.cli.signals import Stop
from charrnn.cli.terminal.tables import Fact, count, of_bits
from charrnn.corpus.corpus import Corpus
from charrnn.folds import CrossValidated, Fold, cross_validate, join
from charrnn.scoring.score import Mean
from charrnn.settings.training import Fitted


def validate(
    corpus: Corpus,
    config: Fitted,
    number: int,
    console: Console,
    stop: Stop | None = None,
    use: str | None = None,
) -> CrossValidated | None:
    """Train and score all folds; return None if a signal came."""
    console.note(f"cross-validation: training {count(number, 'more network')}")
    done: list[Fold] = []
    for fold in cross_validate(corpus, config, number, use or "both"):
        if stop is not None and stop.requested:
            console.note(f"cross-validation stopped after {len(done):,} of {number:,} folds")
            return None
        if fold is not None:
            done.append(fold)
            loss = f"{float(fold.nats.mean()):.3f} nats per character"
            console.note(f"fold {len(done):,} of {number:,}: {loss}")
    return join(done)


def fold_facts(found: CrossValidated) -> Iterator[Fact]:
    """Yield the loss over all folds, and how it compares with counting."""
    nats, error = found.loss
    figures = {
        "folds": found.folds,
        **Mean(nats, 1).per_character(),
        "error": found.loss.as_json()["standard_error"],
        "baseline": found.baseline,
        **found.difference.as_json(),
    }
    loss = f"{of_bits(nats)} per character of the whole corpus (standard error {error:.3f})"
    yield Fact("folds", figures, "folds", loss)
    yield Fact(text=found.difference.compared(f"{found.baseline}, the best baseline"))
