"""Clean the lines of a list: bullets, numbers, quotes, notes, commas, comments, headings, repeats.

Towns:              (dropped)
1. Paris,           Paris
(2) "New York";     New York
- [ ] Wien (old)    Wien
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
BULLET: Final = re.compile(rf"\A(?:[{BULLETS}]\s+(?:\[[ xX]\]\s+)?|[{CLEAR_BULLETS}])(?=\S)")
NUMBERING: Final = re.compile(r"\A(?:\d{1,9}[.)]|\(\d{1,9}\))\s+(?=\S)")
NOTE: Final = r"(?:\([^()]*\)|\[[^\[\]]*\])"
NOTES: Final = re.compile(rf"\A{NOTE}\s+(?=\S)|(?<=\S)\s+{NOTE}$")
END_MARKS: Final = re.compile(r"(?<=\S)\s*[,;]+$")
PATTERNS: Final = {"bullet": BULLET, "number": NUMBERING, "note": NOTES, "mark": END_MARKS}
EMPTY: Final = re.compile(rf"(?:[,;{BULLETS}]|\d{{1,9}}[.)]|\(\d{{1,9}}\))+")
COMMENT: Final = re.compile(r"#(?:[\s#!]|$)|//")
QUOTES: Final = ('""', "''", "“”", "„“", "„”", "‘’", "«»", "»«", "‹›", "``", "「」")
HEADINGS: Final = {  # of columns and lists
    *("name", "names", "first name", "firstname", "given name", "last name", "surname"),
    *("title", "word", "words", "text", "label", "term", "sentence", "line", "string", "id"),
}
APOSTROPHE: Final = re.compile(r"(?<=\w)['’](?=\w)")
SHOWN: Final = 3  # lines of each rule
LOUD: Final = 3  # words in capitals: a heading
SHORT: Final = 3  # words of a line in a list
RULES: Final = {  # in words, for one line and for several
    "bullet": ("begins with a bullet", "begin with a bullet"),
    "number": ("begins with a number", "begin with a number"),
    "note": ("has a note in brackets", "have notes in brackets"),
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
    while change := first_change(text):
        rule, text = change
        rules += [rule] if rule not in rules else []
    return ("", ["empty"]) if EMPTY.fullmatch(text) else (text, rules)


def first_change(text: str) -> tuple[str, str] | None:
    """Return the first rule that changes a line, and the line that it makes of it."""
    for rule, pattern in PATTERNS.items():
        bare = pattern.sub("", text)
        if bare != text:
            return rule, bare.strip()
    inner = text[1:-1]
    marks = APOSTROPHE.sub("", inner)
    for first, last in QUOTES:
        if (text[:1], text[-1:]) == (first, last) and inner.strip():
            return ("quotes", inner.strip()) if first not in marks and last not in marks else None
    return None


@dataclass
class Tidied:
    """Counts of what was cleaned, and examples; repeats are looked for in all texts of a label."""

    lines: Counter[str] = field(default_factory=Counter)  # rule -> lines
    examples: dict[str, list[str]] = field(default_factory=dict)  # rule -> lines, before and after
    known: dict[str, set[str]] = field(default_factory=dict)  # label -> lines without case

    def tidy(self, text: str, label: str = "") -> str:
        """Return the lines of a text without mess; comments, headings and repeats are dropped."""
        lines = [line for line in text.split("\n") if line.strip()]
        is_quiet = 2 * sum(map(str.isupper, lines)) < len(lines)
        tidied, known = list[str](), self.known.setdefault(label, set())
        is_top = True  # whether all lines above were dropped
        for number, line in enumerate(lines, 1):
            bare, rules = clean(line)
            is_column = is_top and bare.casefold() in HEADINGS and number < len(lines)
            is_loud = is_quiet and bare.isupper() and len(bare.split()) >= LOUD
            if COMMENT.match(line.strip()):
                bare, rules = "", ["comment"]
            elif bare.endswith(":") or is_column or is_loud:
                bare, rules = "", ["heading"]
            elif bare.casefold() in known:
                bare, rules = "", ["repeat"]
            is_top = is_top and not bare and rules != ["repeat"]
            self.lines.update(rules)
            for rule in rules:
                shown = self.examples.setdefault(rule, [])
                if len(shown) < SHOWN:
                    shown.append(f"{line.strip()} -> {bare}" if bare else line.strip())
            if bare:
                known.add(bare.casefold())
                tidied.append(bare + "\n")
        return "".join(tidied)


def mess_in_words(lines: Counter[str]) -> list[tuple[str, str]]:
    """Return each rule, and in words how many lines it changed or dropped."""
    counted = [(rule, lines[rule]) for rule in RULES if lines[rule]]
    return [(rule, f"{count:,} {RULES[rule][count > 1]}") for rule, count in counted]


def untidy(lines: Sequence[str]) -> Counter[str]:
    """Return how many lines of a list each rule would change; nothing if few would change."""
    counts: Counter[str] = Counter()
    changed = short = 0
    for line in lines:
        bare, rules = clean(line)
        if len(bare.split()) <= SHORT:
            short += 1
            changed += bool(rules)
            counts.update(rules)
    is_list = 2 * short >= len(lines)  # in plays and poems most are longer
    return counts if is_list and 10 * changed >= short > 0 else Counter()
