"""Names to text: open files, pipes and standard input, decompress, decode and normalise.

    bytes --decode--> str --CRLF, CR to LF--> --drop bad lines, BOM--> --column, strip--> --NFC-->

Each stage holds back the characters that the next block could still change. A model file keeps the
places of its corpus relative to its own folder, so both can move together.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import select
import stat
import sys
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, Literal

from charrnn.corpus.columns import Records, column_of, lines_of_script, strip_lines, whole_lines
from charrnn.errors import CorpusError
from charrnn.settings.corpus import Reading
from charrnn.text import question

OF_SCRIPT = {"given-names-latin": ("given-names", "latin")}  # the lines of a corpus in a script
NAMES = ("dinosaurs", "given-names", *OF_SCRIPT, "reber", "verses")  # come with the program
MODELS = ("dinosaurs", "given-names", "latin", "reber", "verses")  # trained models, likewise
OURS = f"{', '.join(MODELS[:-1])} or {MODELS[-1]}"
HOMES = Path(__file__).parents[1:3]  # of data, installed or in a checkout

BLOCK: Final = 1 << 17  # bytes: arrays made from one block fit into the cache
PATIENCE_SECONDS: Final = 5.0  # a named pipe that stays silent for longer has no writer
INHERITED: Final = ("/dev/fd/", "/dev/stdin", "/proc/")  # pipes of the shell: <(command)
PACKED: Final = {
    "gzip": (".gz", re.compile(rb"\x1f\x8b\x08")),
    "xz": (".xz", re.compile(rb"\xfd7zXZ\x00")),
    "bzip2": (".bz2", re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")),
}
COPY_AGAIN: Final = "Copy or download it again."


def path_of(source: str) -> str:
    """Return the path of a corpus that comes with the program; any other name stays as it is."""
    whole, _ = OF_SCRIPT.get(source, (source, ""))
    return _packaged(source, NAMES, f"data/{whole}.txt")


def model_at(path: str | os.PathLike[str]) -> str:
    """Return the path of a model that comes with the program; any other path stays as it is."""
    name = os.fspath(path)
    return _packaged(name, MODELS, f"models/{name}.npz")


def _packaged(name: str, known: tuple[str, ...], file: str) -> str:
    if name in known and not os.path.lexists(name):  # a file of that name comes first
        files = (home / file for home in HOMES)
        return next((str(each) for each in files if each.is_file()), name)
    return name


def is_of_script(source: str) -> bool:
    """Return whether the source is a part of a corpus that comes with the program."""
    return source in OF_SCRIPT and path_of(source) != source


def name_of(source: str) -> str:
    """Return the name of a source for messages."""
    return "standard input" if source == "-" else source


def is_stream(name: str) -> bool:
    """Return whether the source can be read only once: standard input, or a pipe of the shell."""
    return name == "-" or name.startswith(INHERITED)


def byte_blocks(source: str) -> Iterator[bytes]:
    """Yield the bytes of a file, or of standard input for "-", decompressed, block by block."""
    name = name_of(source)
    if is_of_script(source):
        whole = b"".join(byte_blocks(path_of(source))).decode()
        yield "".join(lines_of_script([whole], OF_SCRIPT[source][1])).encode()
        return
    with _open(source) as stream:
        try:
            packing = _packing(source, stream.peek(10))
            if packing:
                yield from _unpacked(stream, _unpacker(packing))
            while block := stream.read1(BLOCK):
                yield block
        except EOFError:
            what = f"{name} is cut short: its {packing} data has no end"
            raise CorpusError(what, COPY_AGAIN) from None
        except (
            OSError,
            zlib.error,
            getattr(sys.modules.get("lzma"), "LZMAError", OSError),
        ) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise _unreadable(name, error) from None
            is_sum = "incorrect data check" in str(error)
            wrong = "does not match its checksum" if is_sum else "cannot be unpacked"
            what = f"{name} is damaged: its {packing} data {wrong}"
            raise CorpusError(what, COPY_AGAIN) from None


def check_source(source: str) -> int:
    """Return the file mode of a source; raise CorpusError if it cannot be read."""
    if source == "-":
        return 0
    if not source:
        raise CorpusError("a name is empty", "Check that the variable in the shell is set.")
    source = path_of(source)
    try:
        mode = os.stat(source).st_mode
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None
    if stat.S_ISDIR(mode):
        files = os.path.join(source, "*.txt")
        raise CorpusError(f"{source} is a folder", f"Name the files in it, such as {files}")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise _device(source)
    return mode


def _open(source: str) -> AbstractContextManager[io.BufferedReader]:
    if source == "-":
        return nullcontext(_standard_input())
    mode = check_source(source)
    source = path_of(source)
    try:
        if stat.S_ISFIFO(mode) and not source.startswith(INHERITED):
            return _open_named_pipe(source)
        stream = open(source, "rb")  # noqa: SIM115  byte_blocks closes it
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from None
    if stat.S_ISCHR(mode) and not stream.isatty():  # /dev/zero never ends
        stream.close()
        raise _device(source)
    return stream


def _standard_input() -> io.BufferedReader:
    if sys.stdin is None:
        raise CorpusError("standard input is closed", "Name a file, or pipe a text in.")
    stream = sys.stdin.buffer
    if isinstance(stream, io.BufferedReader):
        with suppress(AttributeError, OSError):  # not supported by every system and stream
            os.set_blocking(stream.fileno(), True)  # or "nothing yet" would look like the end
        return stream
    return io.BufferedReader(io.BytesIO(stream.read()))  # a replacement, already in memory


def _open_named_pipe(path: str) -> io.BufferedReader:
    """Open a pipe that has a writer; a plain open would wait for a writer forever."""
    pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not select.select([pipe], [], [], PATIENCE_SECONDS)[0]:
            hint = "Start the writer first, or pipe it into charrnn and name the corpus -"
            raise CorpusError(f"{path} is a pipe without a writer", hint)
        os.set_blocking(pipe, True)
        return os.fdopen(pipe, "rb")
    except BaseException:
        os.close(pipe)
        raise


def _packing(source: str, head: bytes) -> str | None:
    """Return how the bytes are packed, if they are. The content decides, not the name."""
    for packing, (_, magic) in PACKED.items():
        if magic.match(head):
            return packing
    for packing, (suffix, _) in PACKED.items():
        if head and source.endswith(suffix):
            what = f"{source} is named like a {packing} file and does not start like one"
            hint = f"Copy it again if it is damaged; if it is plain text, drop the {suffix}"
            raise CorpusError(what, hint)
    return None


def _unpacked(stream: io.BufferedReader, unpacker: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the content of all streams in a packed file; EOFError if one is cut short.

    NULs may follow a stream. Anything else is damage, at which the next unpacker raises an error.
    """
    data = stream.read1(BLOCK)
    while data:
        part = unpacker()
        while not part.eof:
            block = part.decompress(data, max_length=BLOCK)
            data = getattr(part, "unconsumed_tail", b"")
            if block:
                yield block
            elif not data and not part.eof and not (data := stream.read1(BLOCK)):
                raise EOFError
        data = part.unused_data.lstrip(b"\0")
        while not data and (more := stream.read1(BLOCK)):
            data = more.lstrip(b"\0")


def _unpacker(packing: str) -> Callable[[], Any]:
    try:  # some builds of Python lack a module
        if packing == "gzip":
            return partial(zlib.decompressobj, wbits=16 + zlib.MAX_WBITS)
        if packing == "xz":
            lzma = import_module("lzma")
            return partial(lzma.LZMADecompressor, lzma.FORMAT_XZ)
        return partial(import_module("bz2").BZ2Decompressor)
    except ImportError:
        what = f"this Python cannot unpack {packing}"
        raise CorpusError(what, "Unpack the file first.") from None


def _device(path: str) -> CorpusError:
    return CorpusError(f"{path} is a device, not a text", "Name a file, or - for standard input.")


def _unreadable(name: str, error: OSError | ValueError) -> CorpusError:
    """Return the error that states why the file cannot be read."""
    if isinstance(error, FileNotFoundError):
        if os.path.islink(name):
            return CorpusError(f"{name} is a broken link to {os.readlink(name)}", "Fix the link.")
        near = question(get_close_matches(name, NAMES))
        hint = f"{near}Check the name, and the folder you are in."
        return CorpusError(f"{name} does not exist", hint)
    if isinstance(error, PermissionError):
        return CorpusError(f"{name} may not be read", "Change its permissions, or copy it.")
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return CorpusError(f"{name} is a link that leads to itself", "Fix the link.")
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return CorpusError(f"{name} cannot be read: {reason}", "Check the name, and the disk it is on.")


NOWHERE = ""  # the place of standard input, of our own corpora, and of files in old models


def place_of(name: str) -> str:
    """Return the absolute path of a file, links in its folder resolved."""
    if not is_stream(name) and path_of(name) == name:
        with suppress(OSError):  # the current folder may be gone
            folder, base = os.path.split(os.path.abspath(name))
            return os.path.join(os.path.realpath(folder), base)
    return NOWHERE


def locate(name: str, place: str) -> str:
    """Return the path to read: the recorded place if a file is still there, else the name."""
    if not place or not os.path.exists(place):
        return name
    with suppress(OSError, ValueError):
        if os.path.samefile(name, place):
            return name  # the user knows it by this name
    return place


def relative_place(model: str | os.PathLike[str], place: str) -> str:
    """Return the place relative to the folder of the model file."""
    if place:
        with suppress(OSError, ValueError):  # another drive
            folder = os.path.dirname(os.path.realpath(model))
            return os.path.relpath(place, folder).replace(os.sep, "/")
    return NOWHERE


def absolute_place(model: str | os.PathLike[str], relative: str) -> str:
    """Return the place that is recorded relative to the folder of the model file."""
    if relative:
        with suppress(OSError):
            return os.path.normpath(os.path.join(os.path.realpath(model), "..", relative))
    return NOWHERE


BOM: Final = "\ufeff"
WRONG: Final = "\udfff"  # marks undecodable bytes until their line is dropped; never in a text
HANDLERS: Final = {"strict": "strict", "replace": "replace", "skip": "charrnn.mark"}
HEAD: Final = 4096  # bytes kept from the beginning of a file, for the message


def blocks(source: str, reading: Reading, records: Records | None = None) -> Iterator[str]:
    """Yield the text of a file, or of standard input for "-", in blocks that are never empty.

    ``records`` gets the rows of a table of which a column is read.
    """
    texts = _decode(source, reading)
    if reading.errors == "skip":
        texts = _drop_wrong_lines(texts, reading.wants_bytes_without_nul)
    texts = filter(None, texts)
    texts = chain((text.removeprefix(BOM) for text in islice(texts, 1)), texts)
    if reading.column is not None:
        texts = column_of(texts, reading.column, name_of(source), records)
    if reading.strip:
        texts = strip_lines(texts, reading.strip)
    if reading.normalize != "none":
        texts = normalize(texts, reading.normalize)
    return filter(None, texts)


def _decode(source: str, reading: Reading) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(reading.encoding)(HANDLERS[reading.errors])
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    name, head = name_of(source), b""
    offset, line = 0, 1  # where the block begins
    for block in chain(byte_blocks(source), [b""]):  # an empty one is the last
        head = head if len(head) >= HEAD else head + block
        if reading.wants_bytes_without_nul:
            _check_bytes(name, reading, block, head, offset)
        try:
            text = decoder.decode(block, not block)
        except UnicodeError as error:
            end = offset + len(block)
            raise _undecodable(name, reading.encoding, error, head, end, line) from None
        if reading.newlines == "translate":
            text = newlines.decode(text, not block)
        yield text
        offset += len(block)
        line += text.count("\n")


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return WRONG, error.end


codecs.register_error(HANDLERS["skip"], _mark)


def _drop_wrong_lines(texts: Iterator[str], without_nul: bool) -> Iterator[str]:
    """Drop each line with undecodable bytes, or NULs; a line is held back until it is whole."""
    is_wrong = re.compile(f"[\0{WRONG}]" if without_nul else WRONG).search
    for text in whole_lines(texts):
        right = (line for line in text.split("\n") if not is_wrong(line))
        yield "\n".join(right) if is_wrong(text) else text


# Characters that never combine with the one before them, in any form. All scripts with spaces have
# them in every word; Chinese and Japanese have them in every sentence.
SAFE: Final = "\0-\u02ff\u3400-\u9fff"
HEAP: Final = 1024  # characters in a row that may all be marks
_IS_SAFE: Final = re.compile(f"[{SAFE}]").match
_HEAP: Final = re.compile(f"[^{SAFE}]{{{HEAP}}}")


def normalize(texts: Iterable[str], form: Literal["NFC", "NFKC"]) -> Iterator[str]:
    """Yield the text in this form, cut only before safe characters: the result is exact.

    Only a row of HEAP characters without a safe one is cut too: ordering marks is quadratic.
    """
    held = ""
    for text in texts:
        text, at = held + text, 0
        for heap in _HEAP.finditer(text):
            yield unicodedata.normalize(form, text[at : heap.end()])
            at = heap.end()
        places = range(len(text) - 1, at - 1, -1)
        last = next((place for place in places if _IS_SAFE(text, place)), at)
        yield unicodedata.normalize(form, text[at:last])
        held = text[last:]
    yield unicodedata.normalize(form, held)


MARKS: Final = {  # UTF-32 first: its BOM begins with the BOM of UTF-16
    "utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
COMMON: Final = ("utf-8", "cp1252", "cp1251", "shift_jis", "gb18030", "euc_kr")  # encodings
FAR: Final = 1000  # bytes; beyond them, the beginning of a wrong line is not shown
SKIP: Final = "If only a few bytes are wrong, use [errors] replace or skip."


def _check_bytes(name: str, reading: Reading, block: bytes, head: bytes, offset: int) -> None:
    """Raise CorpusError if the block shows a wider encoding or a binary file."""
    if offset == 0:
        for encoding, marks in MARKS.items():
            if block.startswith(marks):
                what = f"{name} looks like {encoding.upper()}"
                raise CorpusError(what, f"Try [encoding] {encoding}")
    nul = block.find(0)
    if nul >= 0 and reading.errors == "strict":
        what = f"{name} looks binary: there is a NUL at byte {offset + nul}"
        raise _not_a_text(name, head) or CorpusError(what, f"A corpus is text. {SKIP}")


def _not_a_text(name: str, head: bytes, encoding: str = "") -> CorpusError | None:
    """Return the error for a model file, or for UTF-16 without a mark; None for other bytes."""
    if head.startswith(b"PK\x03\x04") and b"charrnn.json" in head:
        hint = "Name a model with [model], or start a training from it with [start_from]."
        return CorpusError(f"{name} is a model of charrnn, not a text", hint)
    nuls = [head[first:HEAD:2].count(0) for first in (0, 1)]
    wide = "utf-16-le" if nuls[1] else "utf-16-be"
    if min(nuls) or 4 * max(nuls) < len(head[:HEAD]) or wide == encoding:
        return None
    return CorpusError(f"{name} looks like UTF-16 without its mark", f"Try [encoding] {wide}")


def _undecodable(
    name: str, encoding: str, error: UnicodeError, head: bytes, end: int, line: int
) -> CorpusError:
    """Return the error that names the first undecodable byte, its line and likely encodings."""
    if (other := _not_a_text(name, head, encoding)) is not None:
        return other
    what, wrong_line = f"{name} is not {encoding.upper()}: {error}", head
    if isinstance(error, UnicodeDecodeError):
        block, start = error.object, error.start  # bytes held back before, then this block
        before = block[:start].decode(encoding, "replace")
        line += before.replace("\r\n", "\n").replace("\r", "\n").count("\n")
        offset = end - len(block) + start
        where = f"byte {offset}, in line {line}, is 0x{block[start]:02x}"
        what = f"{name} is not {encoding.upper()}: {where}"
        begins = max(block.rfind(newline, 0, start) for newline in (b"\n", b"\r")) + 1
        wrong_line = block[begins if start - begins < FAR else start :]
    offers = _offers(re.split(rb"[\r\n]", wrong_line, maxsplit=1)[0][:HEAD], encoding)
    if not offers:
        return CorpusError(what, f"Name the encoding of the text with [encoding]. {SKIP}")
    reads = "; or ".join(f"[encoding] {offer}, which gives '{text}'" for offer, text in offers)
    return CorpusError(what, f"Try {reads}. {SKIP}" if name == name_of("-") else f"Try {reads}.")


def _offers(line: bytes, tried: str) -> list[tuple[str, str]]:
    """Return the common encodings that can decode the line, each with the text it gives."""
    offers = []
    for encoding in COMMON:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(line)
        except UnicodeError:
            continue
        first = next((at for at, c in enumerate(text) if not c.isascii()), None)
        if first is None or codecs.lookup(encoding).name == codecs.lookup(tried).name:
            continue
        start = max(0, first - 10)
        shown = text[start : start + 30].strip()
        if all(c.isprintable() or c.isascii() for c in shown):
            offers.append((encoding, shown))
        if offers and encoding == "utf-8":  # never by chance
            break
    return offers
