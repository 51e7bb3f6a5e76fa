"""A bar for a run that is watched from Python, in a terminal or in a notebook.

    |#########            |  43% 00:12<00:16, 1.713 nats held out

A notebook with ipywidgets gets its widget, one without a plain bar, and no warning for it. Where
stderr is neither a terminal nor a notebook's, nothing is drawn.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator

from charrnn.model_file.checkpoint import Checkpoint
from charrnn.training.loop import Checkup, Event
from charrnn.training.members import share_done

FORMAT = "{percentage:3.0f}% |{bar}| {elapsed}<{remaining}{postfix}"


def watched(run: Checkpoint, events: Iterable[Event]) -> Iterator[Event]:
    """The same events; a bar moves meanwhile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what a notebook does not have
        from tqdm.auto import tqdm

    symbols = run.corpus.characters + run.corpus.examples
    # With None a bar is silent off a terminal, and stderr of a notebook is none.
    silent = False if in_a_notebook() else None
    with tqdm(total=1.0, bar_format=FORMAT, disable=silent) as bar:
        for event in events:
            if isinstance(event, Checkup):
                words = f"{event.train_nats_per_character:.3f} nats in training"
                if event.score is not None:
                    words = f"{event.score.nats_per_character:.3f} nats held out"
                bar.set_postfix_str(words, refresh=False)
            bar.update(share_done(run.states, run.config, symbols) - bar.n)
            yield event


def in_a_notebook() -> bool:
    """Whether cells are what runs here, and not lines in a terminal."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and "IPKernelApp" in shell.config
