"""What a file is that is no text: told by how it begins."""

from __future__ import annotations

from typing import Final, NamedTuple


class FileKind(NamedTuple):
    """What it is, and how to come by the text in it."""

    name: str
    hint: str
    key: str = ""


UNPACK: Final = "Unpack it first."
SAVE_AS_TEXT: Final = "Save it as plain text first."
NO_TEXT: Final = "A corpus is text."

ZIPPED: Final = {  # by a name that stands in the archive
    b"word/": FileKind("a Word document (docx)", SAVE_AS_TEXT),
    b"xl/": FileKind("an Excel workbook (xlsx)", "Save its column of texts as plain text first."),
    b"ppt/": FileKind("a PowerPoint file (pptx)", SAVE_AS_TEXT),
    b"mimetypeapplication/epub": FileKind("an EPUB book", SAVE_AS_TEXT),
    b"mimetypeapplication/vnd.oasis": FileKind("an OpenDocument file", SAVE_AS_TEXT),
    b"charrnn.json": FileKind("a model of charrnn", "Name it as the model.", "model"),
    b".npy": FileKind("a NumPy archive (npz)", NO_TEXT),
    b"": FileKind("a zip archive", UNPACK),
}
BEGINNINGS: Final = {
    b"%PDF-": FileKind("a PDF", "Take the text out of it first, for instance with pdftotext."),
    b"\x89PNG\r\n\x1a\n": FileKind("a PNG image", NO_TEXT),
    b"\xff\xd8\xff": FileKind("a JPEG image", NO_TEXT),
    b"GIF8": FileKind("a GIF image", NO_TEXT),
    b"\x1f\x8b\x08": FileKind("packed twice: there is gzip in it", UNPACK),
    b"\xfd7zXZ\x00": FileKind("packed twice: there is xz in it", UNPACK),
    b"BZh": FileKind("packed twice: there is bzip2 in it", UNPACK),
    b"\x28\xb5\x2f\xfd": FileKind("packed with zstd", UNPACK),
    b"7z\xbc\xaf\x27\x1c": FileKind("a 7z archive", UNPACK),
    b"Rar!\x1a\x07": FileKind("a RAR archive", UNPACK),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": FileKind("an old Office document", SAVE_AS_TEXT),
    b"\x93NUMPY": FileKind("a NumPy array (npy)", NO_TEXT),
    b"\x7fELF": FileKind("a program (ELF)", NO_TEXT),
    b"SQLite format 3\x00": FileKind("an SQLite database", "Export its texts first."),
    b"PAR1": FileKind("a Parquet table", "Export its column of texts first."),
}
TAR_AT: Final = 257


def kind_of(head: bytes) -> FileKind | None:
    """What begins so, if it is one of those that are taken for a text now and then."""
    if head.startswith(b"PK\x03\x04"):
        return next(kind for name, kind in ZIPPED.items() if name in head)
    if head.startswith(b"ustar", TAR_AT):
        return FileKind("a tar archive", UNPACK)
    return next((kind for magic, kind in BEGINNINGS.items() if head.startswith(magic)), None)
