"""Which encoding some bytes may have that are not UTF-8: a guess, from what they would read.

Each candidate reads the bytes, and what it reads is weighed: letters that are frequent in its
languages speak for it, rare ones and signs against it, and so do words that no one spells. That is
enough to tell apart what is offered to somebody who will look at it.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final

SAMPLE: Final = 4096  # bytes that are looked at
SHOWN: Final = 30  # characters of what would be read
BEFORE: Final = 10  # of them before the first that is not ASCII
PLAUSIBLE: Final = 0.5  # the weight of what is offered, at least
NEAR: Final = 0.8  # of the best one's, at least
OFFERED: Final = 3

Weigh = Callable[[str], float]


def _letters(frequent: str, rare: str = "", weight: float = 1.0) -> Weigh:
    weights = {
        **{letter.upper(): 0.4 * weight for letter in rare},
        **{letter.upper(): 0.8 * weight for letter in frequent},
        **dict.fromkeys("«»„“”’…–—", 0.5 * weight),
        **dict.fromkeys(rare, 0.4 * weight),
        **dict.fromkeys(frequent, weight),
    }
    return lambda character: weights.get(character, 0.0)


def _first_byte(character: str, encoding: str) -> int:
    try:
        return character.encode(encoding)[0]
    except UnicodeError:
        return 0


def _japanese(character: str) -> float:
    if "\u3040" <= character < "\u3100" or character in "、。「」・":
        return 1.0
    return 0.9 if 0xB0 <= _first_byte(character, "euc_jp") < 0xD0 else 0.1


def _simplified(character: str) -> float:
    if character in "，。、；：？！“”《》（）\u3000":
        return 0.95
    return 0.95 if 0xB0 <= _first_byte(character, "gb2312") < 0xD8 else 0.2


def _traditional(character: str) -> float:
    return 0.95 if 0xA1 <= _first_byte(character, "big5") < 0xC7 else 0.2


def _korean(character: str) -> float:
    return 1.0 if 0xB0 <= _first_byte(character, "euc_kr") < 0xC9 else 0.2


_russian = _letters("оеаинтсрвлкмдпу", "яыьгзбчйхжшюцщэфъёіїєґ")
_western = _letters("éèàçùâêîôûëïüöäßñáíóúåøæãõœ", "ìòýðþÿ")
_central = _letters("ąćęłńóśźżáčďéěíňřšťúůýžľőűöüäß", "ĺŕôâăîșţ", 0.9)
_turkish = _letters("ğşıçöüİ", "âîû", 0.95)
_greek = _letters("αοιετσνηυρπκμλςίόάέήύώγδ", "βζθξφχψϊϋΰ")
_hebrew = _letters("אבגדהוזחטיכלמנסעפצקרשת", "םןךףץ", 0.95)
_arabic = _letters("اليمونتربةعدسفكحهجقش", "صطخذضزءأإآئىثظغؤ", 0.8)

LATIN: Final = {"cp1252": _western, "cp1250": _central, "cp1254": _turkish}
ALPHABETS: Final = {
    "cp1251": _russian,
    "koi8-r": _russian,
    "cp866": _russian,
    "iso8859-5": _russian,
    "cp1253": _greek,
    "cp1255": _hebrew,
    "cp1256": _arabic,
}
IDEOGRAPHS: Final = {
    "shift_jis": _japanese,
    "euc_jp": _japanese,
    "gb18030": _simplified,
    "big5": _traditional,
    "euc_kr": _korean,
}
UTF8: Final[dict[str, Weigh]] = {"utf-8": lambda character: 2.0}  # never by chance


def likely(sample: bytes, but: str) -> list[tuple[str, str]]:
    """Encodings that may be meant, the likeliest first, each with what it would read.

    They are told from the first SAMPLE bytes. Never is the one among them that was tried.
    """
    tried = codecs.lookup(but).name
    weighed: list[tuple[float, str, str]] = []
    for encoding, weigh in {**UTF8, **LATIN, **ALPHABETS, **IDEOGRAPHS}.items():
        if codecs.lookup(encoding).name == tried:
            continue
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(sample[:SAMPLE])
        except UnicodeError:
            continue
        if all(text != other for _, _, other in weighed):  # or it says nothing new
            weighed.append((_weight(text, encoding, weigh), encoding, text))
    weighed.sort(key=lambda found: -found[0])
    best = max(PLAUSIBLE, NEAR * weighed[0][0]) if weighed else 0.0
    return [(name, _shown(text)) for weight, name, text in weighed[:OFFERED] if weight >= best]


def _weight(text: str, encoding: str, weigh: Weigh) -> float:
    strange = [character for character in text if not character.isascii()]
    if not strange:
        return 0.0
    spelt = encoding in LATIN or encoding in ALPHABETS
    odd = _odd_letters(text, encoding in LATIN) if spelt else 0
    return sum(map(weigh, strange)) / len(strange) * (1 - odd / len(strange))


def _odd_letters(text: str, is_latin: bool) -> int:
    """How many letters beyond ASCII stand where none does.

    Three accents in a row are rare in Latin. In other alphabets no ASCII letter comes before one in
    a word, nor a small letter before a capital.
    """
    odd = 0
    for two, one, letter in zip("  " + text, " " + text, text, strict=False):
        if letter.isascii() or not (letter.isalpha() and one.isalpha()):
            continue
        if is_latin:
            odd += two.isalpha() and not one.isascii() and not two.isascii()
        else:
            odd += one.isascii() or (one.islower() and letter.isupper())
    return odd


def _shown(text: str) -> str:
    """What stands around the first character beyond ASCII, on one line, nothing in it obeyed."""
    line = next(line for line in text.split("\n") if not line.isascii())
    first = next(at for at, character in enumerate(line) if not character.isascii())
    start = max(0, first - BEFORE)
    shown = line[start : start + SHOWN].strip()
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


def wide(head: bytes) -> str | None:
    """The UTF-16 or UTF-32 without a mark that a file begins in: told by where the NULs stand."""
    head = head[: min(len(head), SAMPLE) // 4 * 4] or head[: len(head) // 2 * 2]
    nuls = [head[place::4].count(0) for place in range(4)]
    units = len(head) // 4
    if units and nuls[2] == nuls[3] == units:
        return "utf-32-le"
    if units and nuls[0] == nuls[1] == units:
        return "utf-32-be"
    even, odd = nuls[0] + nuls[2], nuls[1] + nuls[3]
    if not even + odd or (even and odd) or (even + odd < 16 and 4 * (even + odd) < len(head)):
        return None
    encoding = "utf-16-le" if odd else "utf-16-be"
    try:
        codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeError:
        return None
    return encoding
