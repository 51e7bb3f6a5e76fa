"""Clean the lines of a list: bullets, numbers, quotes, commas, comments, a heading, repeats.

Towns:              (dropped)
1. Paris,           Paris
(2) "New York";     New York
- [ ] Wien          Wien
# more to come      (dropped)
Paris               (dropped)
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

CLEAR_BULLETS: Final = "•‣◦▪●"  # need no space after them
BULLETS: Final = rf"{CLEAR_BULLETS}*+·–—\-"
BULLET: Final = re.compile(rf"(?:[{BULLETS}]\s+(?:\[[ xX]\]\s+)?|[{CLEAR_BULLETS}])(?=\S)")
NUMBERING: Final = re.compile(r"(?:\d{1,9}[.)]|\(\d{1,9}\))\s+(?=\S)")
END_MARKS: Final = re.compile(r"(?<=\S)\s*[,;]+$")
EMPTY: Final = re.compile(rf"(?:[,;{BULLETS}]|\d{{1,9}}[.)]|\(\d{{1,9}}\))+")
COMMENT: Final = re.compile(r"#(?:[\s#!]|$)|//")
QUOTES: Final = ('""', "''", "“”", "„“", "„”", "‘’", "«»", "»«", "‹›", "``", "「」")
HEADINGS: Final = {  # of columns and lists
    *("name", "names", "first name", "firstname", "given name", "last name", "surname"),
    *("title", "word", "words", "text", "label", "term", "sentence", "line", "string", "id"),
}
SHOWN: Final = 3  # examples of changed lines
SHORT: Final = 3  # words of a line in a list
RULES: Final = {  # in words, for one line and for several
    "bullet": ("begins with a bullet", "begin with a bullet"),
    "number": ("begins with a number", "begin with a number"),
    "mark": ("ends in a comma or semicolon", "end in a comma or semicolon"),
    "quotes": ("stands in quotes", "stand in quotes"),
    "comment": ("is a comment", "are comments"),
    "heading": ("is a heading", "are headings"),
    "empty": ("is empty but for marks", "are empty but for marks"),
    "repeat": ("is a repeat", "are repeats"),
}


def clean(line: str) -> tuple[str, list[str]]:
    """Return the line without mess, and the rules that changed it; outer spaces do not count."""
    text, rules = line.strip(), []
    if EMPTY.fullmatch(text):
        return "", ["empty"]
    for rule, pattern in (("bullet", BULLET), ("number", NUMBERING), ("bullet", BULLET)):
        match = pattern.match(text)
        if match:
            text = text[match.end() :]
            rules += [rule] if rule not in rules else []
    bare = END_MARKS.sub("", text)
    if bare != text:
        rules.append("mark")
    for first, last in QUOTES:
        inner = bare[1:-1]
        if bare[:1] == first and bare[-1:] == last and inner.strip():
            if first not in inner and last not in inner:
                bare = inner
                rules.append("quotes")
            break
    return bare.strip(), rules


@dataclass
class Tidied:
    """Counts of what was cleaned, and examples; repeats are looked for in all texts."""

    lines: Counter[str] = field(default_factory=Counter)  # rule -> lines
    examples: list[tuple[str, str]] = field(default_factory=list)  # a line before and after
    kept: set[str] = field(default_factory=set)

    def tidy(self, text: str) -> str:
        """Return the lines of a text without mess; comments, a heading and repeats are dropped."""
        lines = [line for line in text.split("\n") if line.strip()]
        tidied: list[str] = []
        for number, line in enumerate(lines):
            bare, rules = clean(line)
            is_heading = bare.endswith(":") or (bare.casefold() in HEADINGS and len(lines) > 1)
            if COMMENT.match(line.strip()):
                bare, rules = "", ["comment"]
            elif number == 0 and is_heading:
                bare, rules = "", ["heading"]
            elif bare in self.kept:
                bare, rules = "", ["repeat"]
            self.lines.update(rules)
            if bare and rules and len(self.examples) < SHOWN:
                self.examples.append((line, bare))
            if bare:
                self.kept.add(bare)
                tidied.append(bare + "\n")
        return "".join(tidied)

    def in_words(self) -> str:
        return mess_in_words(self.lines)


def mess_in_words(lines: Counter[str]) -> str:
    """Say how many lines each rule changed or dropped."""
    counted = [(lines[rule], words) for rule, words in RULES.items() if lines[rule]]
    return ", ".join(f"{count:,} {words[count > 1]}" for count, words in counted)


def clean_lines(text: str) -> str:
    """Return a text with each line cleaned, and none dropped: a text to score."""
    return "\n".join(clean(line)[0] for line in text.split("\n"))


def untidy(lines: Sequence[str]) -> Counter[str]:
    """Return how many lines of a list each rule would change; nothing if few would change.

    A list has lines of a few words. In plays and poems most lines are longer.
    """
    counts: Counter[str] = Counter()
    changed = short = 0
    for line in lines:
        bare, rules = clean(line)
        if len(bare.split()) <= SHORT:
            short += 1
            changed += bool(rules)
            counts.update(rules)
    is_list = 2 * short >= len(lines)
    return counts if is_list and 10 * changed >= short > 0 else Counter()
