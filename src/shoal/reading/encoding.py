"""The bytes of a text file to UTF-8, or an error that says where they are not in the encoding asked for."""

from __future__ import annotations

import codecs
import gzip
import zlib
from pathlib import Path

from shoal.errors import InputError

CHUNK_BYTES = 1 << 23


def unpacked(path: Path, data: bytes) -> bytes:
    """The unpacked content of a file whose name ends with .gz, and of any other as it is."""
    if path.suffix.lower() != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"'{path.name}' is cut short or is not a gzip file. Fetch or pack it again.") from error


def as_utf8(name: str, data: bytes, encoding: str) -> bytes:
    """The content as UTF-8 without byte order mark, or an InputError that says where it is not in the encoding."""
    codec = codecs.lookup(encoding).name
    if codec in ("utf-8", "utf-8-sig"):
        if not data.isascii():
            _check_utf8(name, data, encoding)
        return data.removeprefix(codecs.BOM_UTF8)
    if data.startswith(codecs.BOM_UTF8):
        raise InputError(
            f"{name} begins with the mark of UTF-8, but was to be read as {encoding}. Use --encoding utf-8."
        )
    return _decoded(name, data, encoding).removeprefix("\ufeff").encode()


def _check_utf8(name: str, data: bytes, encoding: str) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(data), CHUNK_BYTES):
            decoder.decode(data[start : start + CHUNK_BYTES])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        _decoded(name, data, encoding)  # raises with the exact place


def _decoded(name: str, data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
        text.encode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(encoding, errors="replace")
        line = (before.count("\n") or before.count("\r")) + 1
        raise InputError(
            f"{name}, line {line:,}: the byte at position {error.start:,} is not {encoding}. "
            + _encoding_advice(data, encoding)
        ) from None
    except UnicodeError:
        raise InputError(f"{name} is not {encoding}. " + _encoding_advice(data, encoding)) from None
    return text


def _encoding_advice(data: bytes, encoding: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "The file begins with the mark of UTF-16: use --encoding utf-16."
    other = "utf-8" if codecs.lookup(encoding).name not in ("utf-8", "utf-8-sig") else "cp1252 or --encoding latin-1"
    return f"Name the encoding of the file, for instance --encoding {other}."


def refuse_nul(name: str, data: bytes) -> None:
    """Raise InputError with the line of the first NUL byte, which no text holds."""
    offset = data.find(b"\0")
    if offset < 0:
        return
    raise InputError(
        f"{name}, line {lines_before(data, offset) + 1:,}: a NUL byte. This is not plain text, or it is damaged, "
        "or it is in an encoding such as UTF-16: then use --encoding utf-16."
    )


def lines_before(data: bytes, offset: int) -> int:
    """How many line ends stand before a byte: line feeds, or carriage returns where there are none."""
    return data.count(b"\n", 0, offset) or data.count(b"\r", 0, offset)
