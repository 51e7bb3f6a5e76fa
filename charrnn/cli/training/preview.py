"""A taste of what a network would write by now."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size

from charrnn import escaping
from charrnn.network.model import LanguageModel
from charrnn.sampling.sampler import SampleConfig, Sampler

LONGEST = 60  # columns: a Chinese character takes two


def preview(model: LanguageModel, count: int, seed: int, columns: int) -> Iterator[str]:
    """Some samples, each on a line that fits, made safe to show; one that goes on ends in dots."""
    longest = max(4, min(LONGEST, columns))
    config = SampleConfig(seed=seed, max_characters=longest + 1)
    for sample in Sampler(model, config).samples(range(count)):
        text = escaping.visible_line(sample.text)
        fits = cell_len(text) <= longest
        yield text if fits else set_cell_size(text, longest - 3).rstrip() + "..."
