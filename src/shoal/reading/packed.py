"""Text files that are packed with gzip, zip or zstd, unpacked up to a limit.

A few kilobytes can unpack to more than any machine holds. What unpacks to more than `MOST_TIMES` its own size, and to
more than `ALWAYS_BYTES`, is refused by name while it is read.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from shoal.errors import InputError, did_you_mean

ENDINGS = (".gz", ".zip", ".zst")
MOST_TIMES = 200
"""How many times its own size a file may unpack to: tables of text do so 5 to 20 times."""
ALWAYS_BYTES = 1 << 28
"""What any file may unpack to."""
STEP = 1 << 24


class Bytes(Protocol):
    """What bytes are read from."""

    def read(self, n: int = -1, /) -> bytes:
        """The next bytes."""


def is_packed(path: str | Path) -> bool:
    """Whether the name of a file says that it is packed."""
    return Path(path).suffix.lower() in ENDINGS


def unpacked(path: Path, data: bytes, member: str | None = None) -> bytes:
    """The unpacked content of a file whose name says that it is packed, and of any other as it is.

    Raises
    ------
    InputError
        It cannot be unpacked, unpacks to more than the limit, or is a zip file of which the member cannot be told.
    """
    if not is_packed(path):
        return data
    with explained(path):
        return b"".join(_pieces(_opened(path, io.BytesIO(data), member), STEP, path, len(data)))


@contextmanager
def opened(path: Path, member: str | None = None) -> Iterator[Bytes]:
    """A file, unpacked where its name says that it is packed; up to the limit."""
    with path.open("rb") as file:
        if not is_packed(path):
            yield file
            return
        with explained(path):
            yield _Limited(_opened(path, file, member), path, path.stat().st_size)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Errors of those who unpack, in our words."""
    kinds = {".gz": "gzip", ".zip": "zip", ".zst": "zstd"}
    try:
        yield
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        kind = kinds.get(path.suffix.lower(), "packed")
        raise InputError(
            f"'{path.name}' is cut short or is not a {kind} file, or it is encrypted. Fetch or pack it again."
        ) from error


def _opened(path: Path, file: BinaryIO, member: str | None) -> Bytes:
    match path.suffix.lower():
        case ".gz":
            return cast("Bytes", gzip.GzipFile(fileobj=file))
        case ".zip":
            book = zipfile.ZipFile(file)
            return book.open(_member(path, book, member))
        case _:
            import pyarrow as pa

            return cast("Bytes", pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd"))


def _member(path: Path, book: zipfile.ZipFile, member: str | None) -> str:
    """The file inside that is meant: the only one, or the one that is named."""
    names = _members(book)
    if member is not None:
        if member not in names:
            raise InputError(
                f"'{path.name}' holds no file '{member}'. It holds: {', '.join(names) or 'none'}."
                f"{did_you_mean(member, names)}"
            )
        return member
    if len(names) != 1:
        held = f"{len(names):,} files: {', '.join(names)}. Name one of them with member=." if names else "no file."
        raise InputError(f"'{path.name}' holds {held}")
    return names[0]


def members_of(path: Path) -> list[str]:
    """The names of the files inside of a zip file; none of any other file."""
    if path.suffix.lower() != ".zip":
        return []
    with explained(path), zipfile.ZipFile(path) as book:
        return _members(book)


def _members(book: zipfile.ZipFile) -> list[str]:
    return [each.filename for each in book.infolist() if not each.is_dir() and not _is_of_system(each.filename)]


def _is_of_system(name: str) -> bool:
    """Whether a file inside was put there by a system and not by a person."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2] in (".DS_Store", "Thumbs.db")


def _pieces(file: Bytes, n: int, path: Path, packed: int) -> Iterator[bytes]:
    limited = _Limited(file, path, packed)
    while piece := limited.read(n):
        yield piece


class _Limited:
    """Bytes that are counted, and refused beyond the limit."""

    def __init__(self, file: Any, path: Path, packed: int) -> None:
        self.file, self.name = file, path.name
        self.most = max(ALWAYS_BYTES, MOST_TIMES * packed)
        self.n_bytes = 0

    def read(self, n: int = -1, /) -> bytes:
        """The next bytes."""
        chunk: bytes = self.file.read(n)
        self.n_bytes += len(chunk)
        if self.n_bytes > self.most:
            raise InputError(
                f"'{self.name}' unpacks to more than {self.most / 1e6:,.0f} MB, {MOST_TIMES:,} times its own size, "
                "which no table does. Where it is one, unpack it yourself, and name the file."
            )
        return chunk
