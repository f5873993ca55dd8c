"""The bytes of a text file to UTF-8, or an error that says where they are not in the encoding asked for."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from shoal.errors import InputError

CHUNK_BYTES = 1 << 23


def as_utf8(name: str, data: bytes, encoding: str) -> bytes:
    """The content as UTF-8 without byte order mark, or an InputError that says where it is not in the encoding."""
    pieces = (data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES))
    chunks = utf8_chunks(name, pieces, encoding)
    if not is_utf8(encoding):
        return b"".join(chunks)
    for _ in chunks:  # nothing of it is changed
        pass
    return data.removeprefix(codecs.BOM_UTF8)


def utf8_chunks(name: str, chunks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The content of a file, chunk by chunk, as UTF-8 without byte order mark and without NUL bytes.

    The first chunk must have four bytes or more, or be all there is.

    Raises
    ------
    InputError
        Somewhere it is not in the encoding, or has a NUL byte, which no text holds; the message gives the line.
    """
    reading = _Decoding(name, encoding)
    for chunk in chunks:
        yield reading.decoded(chunk)
    yield reading.decoded(b"", final=True)


class _Decoding:
    """A decoder that knows at which byte and in which line it is."""

    def __init__(self, name: str, encoding: str) -> None:
        self.name, self.encoding = name, encoding
        self.is_utf8 = is_utf8(encoding)
        self.decoder = codecs.getincrementaldecoder("utf-8" if self.is_utf8 else encoding)()
        self.first = b""
        self.n_bytes = self.n_feeds = self.n_returns = 0
        self.is_at_start = True

    def decoded(self, chunk: bytes, *, final: bool = False) -> bytes:
        """The next bytes as UTF-8."""
        if not self.n_bytes:
            self._begin(chunk)
        waiting = self.decoder.getstate()[0]
        is_plain = self.is_utf8 and chunk.isascii() and not waiting
        text = chunk if is_plain else self._as_utf8(chunk, waiting, final=final)
        if text and self.is_at_start:
            self.is_at_start = False
            text = text.removeprefix(codecs.BOM_UTF8)
        self._refuse_nul(text)
        self.n_bytes += len(chunk)
        self.n_feeds += text.count(b"\n")
        self.n_returns += 0 if self.n_feeds else text.count(b"\r")  # lines are counted by feeds where there are some
        return text

    def _begin(self, chunk: bytes) -> None:
        self.first = chunk[:4]
        if chunk.startswith(codecs.BOM_UTF8) and not self.is_utf8:
            raise InputError(
                f"{self.name} begins with the mark of UTF-8, but was to be read as {self.encoding}. Use "
                "encoding='utf-8'."
            )

    def _as_utf8(self, chunk: bytes, waiting: bytes, *, final: bool) -> bytes:
        try:
            text = self.decoder.decode(chunk, final)
            return chunk if self.is_utf8 else text.encode()
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(self.encoding, errors="replace")
            line = self._line(before.count("\n"), before.count("\r"))
            raise InputError(
                f"{self.name}, line {line:,}: the byte at position {self.n_bytes - len(waiting) + error.start:,} is "
                f"not {self.encoding}. {self._advice()}"
            ) from None
        except UnicodeError:
            raise InputError(f"{self.name} is not {self.encoding}. {self._advice()}") from None

    def _refuse_nul(self, text: bytes) -> None:
        offset = text.find(b"\0")
        if offset >= 0:
            line = self._line(text.count(b"\n", 0, offset), text.count(b"\r", 0, offset))
            raise InputError(
                f"{self.name}, line {line:,}: a NUL byte. This is not plain text, or it is damaged, or it is in an "
                "encoding such as UTF-16: then use encoding='utf-16'."
            )

    def _line(self, n_feeds: int, n_returns: int) -> int:
        """The line, counted from 1: by line feeds, or by carriage returns where there are none."""
        return (self.n_feeds + n_feeds or self.n_returns + n_returns) + 1

    def _advice(self) -> str:
        if self.first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "The file begins with the mark of UTF-16: use encoding='utf-16'."
        other = "'cp1252' or encoding='latin-1'" if self.is_utf8 else "'utf-8'"
        return f"Name the encoding of the file, for instance encoding={other}."


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8, with a mark or without."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


def lines_before(data: bytes, offset: int) -> int:
    """How many line ends stand before a byte: line feeds, or carriage returns where there are none."""
    return data.count(b"\n", 0, offset) or data.count(b"\r", 0, offset)
