"""What a network takes over from a model: its sizes, and the numbers of all that both know.

The arrays between the layers are copied as they are. U, V and c have a row for each symbol: that of
a character which both know is copied; a new one is zero in U and V, and in c what its frequency
says, so that it is as likely at first as it is frequent, whatever the state.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields, replace

import numpy as np

from charrnn.errors import SettingError
from charrnn.network.language_model import LanguageModel
from charrnn.network.parameters import Array, Parameters
from charrnn.settings.common import had_in_words
from charrnn.settings.training import TrainConfig
from charrnn.vocabulary import END, UNKNOWN, Vocabulary

OF_SYMBOLS = ("U1", "V", "c")


def sizes_of(model: LanguageModel) -> dict[str, int | str | bool]:
    """The settings that the parameters of a model decide."""
    a = model.architecture
    return {
        "hidden": a.hidden,
        "layers": a.layers,
        "cell": a.cell_name,
        "ends": a.head_name,
        "clock": "clock" in a.asked,
        "teacher_forcing": a.forced,
    }


def sized_like(
    config: TrainConfig, model: LanguageModel, given: Collection[str] | None = None
) -> TrainConfig:
    """The same settings with the sizes of the model; SettingError where others were given.

    Unless it is told what was given, that is all that differs from its default.
    """
    defaults = {one.name: one.default for one in fields(config)}
    sizes = sizes_of(model)
    for name, have in sizes.items():
        wanted = getattr(config, name)
        is_given = name in given if given is not None else wanted != defaults[name]
        if is_given and wanted != have:
            shown = name if wanted is True else f"{name} {wanted}"
            raise SettingError(
                f"{shown} contradicts the model to start from, which {had_in_words(have)}",
                "Leave it out, or train without that model.",
                setting=name,
            )
    return replace(config, **sizes)  # type: ignore[arg-type]


def inherited(
    model: LanguageModel,
    vocabulary: Vocabulary,
    frequencies: Array,  # (K,) of the new vocabulary, in the text that will be learned from
) -> Parameters:
    """The parameters of the model over a vocabulary that has all of its characters, and others."""
    old = model.parameters
    p = Parameters.zeros(replace(old.architecture, symbols=vocabulary.symbols))
    kept = np.array([END, UNKNOWN, *vocabulary.encode(model.vocabulary.characters)])
    new = np.setdiff1d(np.arange(vocabulary.symbols), kept)
    for name in p:
        if name in OF_SYMBOLS:
            p[name][kept] = old[name]
        else:
            p[name][...] = old[name]
    level = np.log(np.exp(old["c"]).sum())  # which the rows of c that are copied add up to
    p["c"][new] = np.log(frequencies[new]) + level
    return p
