"""What ``--try NAME=VALUE,VALUE`` says: the values of a setting, checked as its option is."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from charrnn.cli.did_you_mean import meant_by_option
from charrnn.cli.options import not_one_of
from charrnn.errors import SettingError
from charrnn.settings.corpus import CorpusConfig, Reading
from charrnn.settings.fields import Flag, Setting, settings_of
from charrnn.settings.sweeping import words_to_try
from charrnn.settings.training import TrainConfig

SAID = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
HELP = "Try 'charrnn sweep --help'."


def values_tried(typed: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """The values by the names of their settings; SettingError where one is none."""
    settings = settings_of(TrainConfig)
    known = {f"--{word}": (name, settings[name]) for word, name in words_to_try().items()}
    found: dict[str, tuple[Any, ...]] = {}
    for one in typed:
        word, equals, values = one.partition("=")
        option = "--" + word.strip().lstrip("-").replace("_", "-")
        if not equals or not word.strip():
            raise SettingError(
                f"--try {one} names no values", f"Write --try NAME=VALUE,VALUE. {HELP}"
            )
        if option not in known:
            raise no_such(option, known)
        name, setting = known[option]
        if name in found:
            raise SettingError(
                f"{option} is tried twice",
                "Write all of its values in one --try, with commas between.",
            )
        found[name] = tuple(value_of(option, setting, value) for value in values.split(","))
        for place, value in enumerate(found[name]):
            if value in found[name][:place]:
                raise SettingError(
                    f"--try {option.lstrip('-')}: {values.split(',')[place]} is there twice",
                    "Leave one of them out.",
                )
    return found


def no_such(option: str, known: Iterable[str]) -> SettingError:
    """What to say of an option that cannot be tried."""
    word = option.lstrip("-")
    if option in ("--seed", "--seeds"):
        return SettingError(f"--try {word}: seeds have an option", "Write --seeds 0-4.")
    if option == "--threads":
        return SettingError(
            "--try threads: each run has one thread", "How many go on at once is --threads."
        )
    of_corpus = {
        option
        for config in (CorpusConfig, Reading)
        for name, one in settings_of(config).items()
        for option in one.options(name)
    }
    if option in of_corpus or option in ("--valid", "--from"):
        return SettingError(
            f"--try {word}: that is the same for all runs, or their losses could not be compared",
            f"Make a sweep for each value, into a folder of its own: {option} VALUE -o FOLDER.",
        )
    meant = meant_by_option(option, "train", [*known])
    return SettingError(f"--try {word}: train has no such option", f"{meant}{HELP}")


def value_of(option: str, setting: Setting, typed: str) -> Any:
    """The value; SettingError where it is none."""
    word = typed.strip()
    with suppress(ValueError, KeyError):
        if isinstance(setting.values, Flag):
            return SAID[word.lower()]
        return setting.values.plain(setting.values.read(word))
    allowed = "yes or no" if isinstance(setting.values, Flag) else setting.values.allowed
    raise SettingError(f"--try {option.lstrip('-')}: {not_one_of(typed, allowed)}", HELP)
