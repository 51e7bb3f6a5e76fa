"""A taste of what a network would write by now."""

from __future__ import annotations

from collections.abc import Iterator

from charrnn.cli import safety
from charrnn.network.parameters import Parameters
from charrnn.sampling import SampleConfig, Sampler
from charrnn.vocabulary import Vocabulary

LONGEST = 60  # characters


def preview(
    parameters: Parameters, vocabulary: Vocabulary, count: int, seed: int, columns: int
) -> Iterator[str]:
    """Some samples, each on a line that fits, made safe to show; one that goes on ends in dots."""
    longest = max(4, min(LONGEST, columns))
    config = SampleConfig(seed=seed, max_characters=longest + 1)
    for sample in Sampler(parameters, vocabulary, config).samples(range(count)):
        text = safety.visible_line(sample.text)
        yield text if len(text) <= longest else text[: longest - 3] + "..."
