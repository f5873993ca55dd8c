"""CSV files to frames of text, exactly or not at all.

The bytes are scanned once with numpy for lines that are short or long, then handed to polars. A file that polars could
read in another way than the standard (a quote inside an unquoted field, lone carriage returns) is read with Python's
csv module instead: slower, and just as exact.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np
import polars as pl

from shoal.errors import InputError, OutputError
from shoal.reading.contract import Format, ReadOptions, WriteOptions
from shoal.reading.encoding import as_utf8, utf8_chunks
from shoal.reading.forms import changes
from shoal.reading.lines import CsvText, LineCheck, StrayQuoteError, counted, shown
from shoal.reading.packed import ENDINGS, Bytes, opened, unpacked
from shoal.reading.source import CsvOptions, Reading, Source, check_is_file, read_bytes
from shoal.table.frames import refuse_patterns

if TYPE_CHECKING:
    from _csv import Reader as _CsvReader

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 18
BLOCK_BYTES = 1 << 26
"""How much of a file is read at a time, where it is read block by block."""
MOST_BYTES_PER_RECORD = 1 << 28
"""A record that goes on for longer is refused where files are read block by block: they may be larger than memory."""
SAMPLE_RECORDS = 100
AnyFrame = TypeVar("AnyFrame", pl.DataFrame, pl.LazyFrame)


@dataclass(frozen=True)
class _Body:
    """The records of a file as text columns, with the line on which each begins."""

    columns: pl.DataFrame
    lines: Sequence[int]
    has_stray_quotes: bool = False
    """Whether a quote stands where the standard has none."""


class Quotes(NamedTuple):
    """How many records hold the quote character in a value, and whether the standard has it everywhere."""

    records: int = 0
    has_stray: bool = False

    def and_(self, other: Quotes) -> Quotes:
        """Those of two blocks together."""
        return Quotes(self.records + other.records, self.has_stray or other.has_stray)


class Csv(Format):
    """Texts between delimiters."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    words: ClassVar[str] = "a CSV file"
    endings: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt", ".asc", ".data", *ENDINGS)
    engines: ClassVar[frozenset[str]] = frozenset({"memory", "stream", "spark"})
    in_app: ClassVar[bool] = True
    is_written: ClassVar[bool] = True
    is_read_back: ClassVar[bool] = False
    is_text: ClassVar[bool] = True

    @classmethod
    def read(cls, path: Path, options: ReadOptions) -> Reading:
        """All columns as texts; what is not told of how the file is written is found in it."""
        if not options.found:
            return read_csv(path, options.csv)
        from shoal.reading.detect import read_detected  # here, since it is built on this module

        return read_detected(path, options.csv, options.found)

    @classmethod
    def write(cls, frame: pl.DataFrame, path: Path, options: WriteOptions) -> None:
        """In the encoding and with the delimiter asked for."""
        refuse_for_csv(frame)
        separator = options.csv.delimiter or ","
        encoding = options.csv.encoding.lower().replace("_", "-")
        missing = missing_in_csv(frame.width)
        if encoding in ("utf-8", "utf8", "utf-8-sig", "ascii", "us-ascii"):
            frame.write_csv(path, separator=separator, include_bom=encoding == "utf-8-sig", null_value=missing)
            return
        path.write_bytes(frame.write_csv(separator=separator, null_value=missing).encode(options.csv.encoding))


def read_csv(path: str | Path, options: CsvOptions | None = None) -> Reading:
    """Read a CSV file (or a gzip-compressed one) as a frame of text columns, nulls where a value is missing.

    Parameters
    ----------
    path
        The file; its first line names the columns.
    options
        How the file is written; see `CsvOptions`.

    Raises
    ------
    InputError
        The file is absent, empty, without records, not in the encoding asked for, has bad column names, a line that is
        short or long, a quote that is never closed, or a NUL byte. The message gives the line.

    Notes
    -----
    Values are kept as they are, white space included; only column names are trimmed. A blank line between records is
    a missing value in a file of one column and an error in any other; blank lines at the end are left out and noted.
    O(n) time and memory in the size of the file.
    """
    return csv_of_bytes(Path(path), read_bytes(Path(path)), options or CsvOptions())


def csv_of_bytes(path: Path, content: bytes, options: CsvOptions) -> Reading:
    """Read a CSV file whose content is at hand, as `read_csv` does; its path only names it."""
    name = f"'{path.name}'"
    return values_of(texts_of(name, as_utf8(name, unpacked(path, content, options.member), options.encoding), options),
                     path, options)  # fmt: skip


@dataclass(frozen=True)
class Texts:
    """The fields of a file as they stand in it, before any means anything."""

    name: str
    frame: pl.DataFrame
    lines: Sequence[int]
    notes: tuple[str, ...]
    delimiter: str


def texts_of(name: str, data: bytes, options: CsvOptions) -> Texts:
    """The fields of a file whose content is at hand, in UTF-8."""
    head = _read_head(name, data, options)
    content_end = _end_without_blank_lines(data)
    if head.start >= content_end:
        raise head.no_records()
    body = _read_body(head.text, head.start, content_end, len(head.names), head.line_end)
    n_blank = data.count(head.end_sign, content_end) - 1
    quotes = _quotes(body, data, options.quote) if body.has_stray_quotes else Quotes()
    notes = (*head.notes, *_notes_on_lines(name, n_blank, quotes))
    return Texts(name, _named(body.columns, head.names), body.lines, notes, head.text.delimiter)


def values_of(texts: Texts, path: Path, options: CsvOptions) -> Reading:
    """The fields of a file as values: some of them missing, numbers and dates in the forms that shoal reads."""
    frame = with_missing(texts.frame, options)
    changed, notes = changes(texts.name, frame.lazy(), options, texts.lines)
    source = Source((path,), "csv", replace(options, delimiter=texts.delimiter))
    return Reading(frame.with_columns(changed), source, (*texts.notes, *notes), texts.lines)


# Block by block


class Block(NamedTuple):
    """Whole records of a file, without the line end of the last."""

    content: bytes
    start: int
    """At which byte behind the header it begins."""
    line: int
    """The line on which it begins."""


@dataclass
class CsvBlocks:
    """A CSV file in blocks: the names of its columns, how it is written, and its records as frames of text."""

    path: Path
    given: CsvOptions
    head: Head
    block_bytes: int
    quotes: Quotes = field(default_factory=Quotes)
    n_blank: int = 0

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return self.head.names

    def options(self) -> CsvOptions:
        """How the file is written, with the delimiter that was found."""
        return replace(self.given, delimiter=self.head.text.delimiter)

    def notes(self) -> list[str]:
        """What there is to tell of the lines, when all blocks were read."""
        return [*self.head.notes, *_notes_on_lines(self.head.text.name, self.n_blank, self.quotes)]

    @property
    def frames(self) -> Iterator[pl.DataFrame]:
        """The records, block by block, each read as `read_csv` reads a file."""
        n_records, self.quotes = 0, Quotes()
        for block in self.cut():
            frame, quotes = records_of_block(block, self.head, self.given)
            n_records += len(frame)
            self.quotes = self.quotes.and_(quotes)
            yield frame
        if not n_records:
            raise self.head.no_records()

    def cut(self) -> Iterator[Block]:
        """The content behind the header, cut behind records in one pass over the bytes.

        Line ends between two blocks are looked at with the second: at the end of the file they mean nothing, and are
        counted. A file of at most one block is one block: where its records end is not asked.
        """
        before, between = None, b""
        waiting = [b"".join(self._content())] if self._is_one_block() else []
        for chunk, end in () if waiting else self._chunks_with_ends():
            waiting.append(chunk[: end or len(chunk)])
            if not end:
                self._refuse_endless(waiting, before)
                continue
            data = between + b"".join(waiting)
            content, waiting, between = _end_without_blank_lines(data), [chunk[end:]], data
            if content:
                before, between = self._block(data[:content], before), data[content:]
                yield before
        data = between + b"".join(waiting)
        content = _end_without_blank_lines(data)
        if content:
            yield self._block(data[:content], before)
        self.n_blank = data.count(self.head.end_sign, content) - 1

    def _is_one_block(self) -> bool:
        return self.path.suffix.lower() != ".gz" and self.path.stat().st_size <= self.block_bytes

    def _chunks_with_ends(self) -> Iterator[tuple[bytes, int]]:
        """The content chunk by chunk, and the place behind the last record that ends in each; 0 where none does."""
        from shoal.kernels.lines import AT_FIELD, last_record_end  # here, since numba is slow to import

        text, state = self.head.text, AT_FIELD
        quote = ord(text.quote) if text.quote else -1
        for chunk in self._content():
            found = np.frombuffer(chunk, np.uint8)
            end, state = last_record_end(found, ord(text.delimiter), quote, ord(self.head.end_sign), state)
            yield chunk, end

    def _block(self, data: bytes, before: Block | None) -> Block:
        """A block, from the line end of the one before on."""
        if before is None:
            return Block(data, 0, self.head.first_line)
        sign = self.head.end_sign
        line = before.line + before.content.count(sign)
        line_end = 2 if sign == b"\n" and data.startswith(b"\r\n") else 1
        if data[line_end - 1 : line_end] != sign:
            raise self.head.text.lone_return(line)
        return Block(data[line_end:], before.start + len(before.content) + line_end, line + 1)

    def _content(self) -> Iterator[bytes]:
        """The bytes behind the header as UTF-8."""
        to_skip = self.head.start
        with opened(self.path, self.given.member) as file:
            for chunk in utf8_chunks(self.head.text.name, _chunks(file, self.block_bytes), self.given.encoding):
                yield chunk[to_skip:]
                to_skip = max(to_skip - len(chunk), 0)

    def _refuse_endless(self, waiting: Sequence[bytes], before: Block | None) -> None:
        if sum(map(len, waiting)) > MOST_BYTES_PER_RECORD:
            line = (
                self.head.first_line if before is None else before.line + before.content.count(self.head.end_sign) + 1
            )
            raise InputError(
                f"{self.head.text.name}, in or after line {line:,}: a record does not end within "
                f"{MOST_BYTES_PER_RECORD // 10**6:,} MB. Where a quote was never closed, close it, or choose another "
                "quote character if this one is part of the text."
            )


def records_of_block(block: Block, head: Head, options: CsvOptions) -> tuple[pl.DataFrame, Quotes]:
    """The records of a block, and what there is to tell of quotes in them."""
    data = head.end_sign + block.content  # whatever stands before a record, LineCheck looks at it
    text = replace(head.text, data=data, first_line=block.line - 1)
    body = _read_body(text, 1, len(data), len(head.names), head.line_end)
    return with_missing(_named(body.columns, head.names), options), _quotes(body, data, text.quote)


def read_csv_blocks(
    path: str | Path, options: CsvOptions | None = None, *, block_bytes: int = BLOCK_BYTES
) -> CsvBlocks:
    """A CSV file that may be larger than memory, to be read block by block.

    The same records as of `read_csv`, but for numbers and dates in other forms, which `changes` finds when
    all blocks were read.

    Raises
    ------
    InputError
        As `read_csv`.
    """
    path = Path(path)
    options = options or CsvOptions()
    check_is_file(path)
    name = f"'{path.name}'"
    with opened(path, options.member) as file:
        sample = b""
        for chunk in utf8_chunks(name, _chunks(file, SAMPLE_BYTES + 4), options.encoding):
            sample += chunk
            if len(sample) > SAMPLE_BYTES:
                break
    head = _read_head(name, sample, options)
    return CsvBlocks(path, options, replace(head, text=replace(head.text, data=b"")), block_bytes)


def _chunks(file: Bytes, n: int) -> Iterator[bytes]:
    chunk = file.read(max(n, 4))  # enough to tell the mark of an encoding
    while chunk:
        yield chunk
        chunk = file.read(n)


# The first lines


@dataclass(frozen=True)
class Head:
    """What the first lines tell: how the file is written, the columns, and where the records begin."""

    text: CsvText
    names: list[str]
    notes: list[str]
    start: int
    line_end: bytes
    first_line: int
    """The line of the first record."""

    @property
    def end_sign(self) -> bytes:
        """The last sign of every line."""
        return self.line_end[-1:]

    def no_records(self) -> InputError:
        """The error for a file that ends with its header."""
        return InputError(f"{self.text.name} has a header with {counted(len(self.names), 'column')} and no records.")


def _read_head(name: str, data: bytes, options: CsvOptions) -> Head:
    if not _end_without_blank_lines(data):
        raise InputError(f"{name} is empty. The first line must name the columns.")
    delimiter = options.delimiter or _find_delimiter(name, data, options.quote)
    text = CsvText(name, data, delimiter, options.delimiter is None, options.quote)
    header, start, line_end = _read_header(text)
    if not options.header:
        names = [f"column {position}" for position in range(1, len(header) + 1)]
        return Head(text, names, [], 0, line_end, 1)
    names, notes = _column_names(text, header)
    return Head(text, names, notes, start, line_end, data.count(line_end[-1:], 0, start) + 1)


def _find_delimiter(name: str, data: bytes, quote: str) -> str:
    """The delimiter among the usual ones that the header and the first records agree on; a comma where none occurs."""
    sample = data[:SAMPLE_BYTES].decode(errors="ignore")
    scores = {}
    for delimiter in DELIMITERS:
        if delimiter == quote:
            continue
        fields = _fields_of_first_records(sample, delimiter, quote, is_cut=len(data) > SAMPLE_BYTES)
        if fields and fields[0] > 1:
            n_agree = sum(n_fields == fields[0] for n_fields in fields)
            scores[delimiter] = (n_agree / len(fields), fields[0])
    if not scores:
        return ","
    best = [delimiter for delimiter, score in scores.items() if score == max(scores.values())]
    if len(best) > 1:
        raise InputError(
            f"{name}: the delimiter may be {' or '.join(map(shown, best))}; the first lines allow either. "
            "Set it with delimiter=."
        )
    return best[0]


def _fields_of_first_records(sample: str, delimiter: str, quote: str, *, is_cut: bool) -> list[int]:
    reader = _csv_reader(io.StringIO(sample, newline=""), delimiter, quote)
    fields: list[int] = []
    with suppress(csv.Error):  # a field too long for the csv module: the records before it have to do
        fields.extend(len(record) for record in islice(reader, SAMPLE_RECORDS + 1))
    if is_cut and len(fields) > 1:
        fields.pop()
    return [n_fields for n_fields in fields if n_fields > 0]


def _read_header(text: CsvText) -> tuple[list[str], int, bytes]:
    """The fields of the first line, the offset at which the records begin, and the kind of line end."""
    match = _header_pattern(text.delimiter, text.quote).match(text.data)
    if match is None:
        raise InputError(
            f"{text.name}, line 1: a quoted column name is never closed, or is followed by text before the next "
            f"delimiter, which is {shown(text.delimiter)}. Correct the header."
        )
    header = match["header"].decode()
    reader = _csv_reader(_lines_with_ends(header, "\n"), text.delimiter, text.quote)
    try:
        return next(reader, [""]), match.end(), match["end"] or b"\n"
    except csv.Error as error:
        raise InputError(f"{text.name}, line 1: the header cannot be read ({error}).") from error


def _header_pattern(delimiter: str, quote: str) -> re.Pattern[bytes]:
    apart = re.escape(delimiter.encode())
    field = b"[^%s\r\n]*+" % apart
    if quote:
        mark = re.escape(quote.encode())
        field = b"(?:%(q)s(?:[^%(q)s]|%(q)s%(q)s)*+%(q)s|(?!%(q)s)%(f)s)" % {b"q": mark, b"f": field}
    return re.compile(b"(?P<header>%s(?:%s%s)*+)(?P<end>\r\n|\n|\r|\\Z)" % (field, apart, field))


def _column_names(text: CsvText, header: list[str]) -> tuple[list[str], list[str]]:
    """The column names without white space around them, checked, and what to tell about them."""
    names = [field.strip() for field in header]
    if header == [""]:
        raise InputError(f"{text.name}, line 1: the line is blank. The first line must name the columns.")
    unnamed = [str(position) for position, name in enumerate(names, start=1) if not name]
    if unnamed:
        raise InputError(
            f"{text.name}: {counted(len(unnamed), 'column')} of {len(names):,} without a name in the header, at "
            f"position {', '.join(unnamed)}. Name every column, or leave it out."
        )
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(
            f"{text.name}: the header names a column more than once: {_listed(repeated)}. "
            "Give each column its own name."
        )
    refuse_patterns(text.name, names)
    n_trimmed = sum(name != field for name, field in zip(names, header, strict=True))
    if not n_trimmed:
        return names, []
    return names, [f"White space around {counted(n_trimmed, 'column name')} in {text.name} was removed."]


# The records


def _read_body(text: CsvText, start: int, end: int, n_columns: int, line_end: bytes) -> _Body:
    has_quotes = bool(text.quote) and text.data.find(text.quote.encode(), start, end) >= 0
    if line_end == b"\r":
        read_lone_returns = _read_slowly if has_quotes else _read_lone_returns
        return read_lone_returns(text, start, end, n_columns, line_end)
    try:
        lines = LineCheck(text, start, end, n_columns, has_quotes=has_quotes).lines_of_records()
    except StrayQuoteError:
        body = _read_slowly(text, start, end, n_columns, b"\n")
        return replace(body, has_stray_quotes=True)
    columns = _read_fast(text, start, end, n_columns, has_quotes=has_quotes)
    if columns is None or columns.height != len(lines):
        return _read_slowly(text, start, end, n_columns, b"\n")
    return _Body(columns, lines)


def _read_lone_returns(text: CsvText, start: int, end: int, n_columns: int, line_end: bytes) -> _Body:
    """Records without quotes whose lines end with a carriage return alone."""
    line_feed = text.data.find(b"\n", start, end)
    if line_feed >= 0:
        raise text.lone_return(text.data.count(line_end, 0, line_feed) + text.first_line)
    same = replace(text, data=text.data.replace(line_end, b"\n"))
    return _read_body(same, start, end, n_columns, b"\n")


def _read_fast(text: CsvText, start: int, end: int, n_columns: int, *, has_quotes: bool) -> pl.DataFrame | None:
    """The body as polars reads it, or None where polars refuses what has passed the check, or might change it."""
    if text.data.find(b"\n" + codecs.BOM_UTF8, start - 1, end) >= 0:  # polars leaves out such a mark before a value
        return None
    # A line of our own, skipped, keeps polars from taking the first value for the beginning of a packed file.
    try:
        return pl.read_csv(
            b"".join([b"-\n", memoryview(text.data)[start:end]]),
            has_header=False,
            skip_lines=1,
            separator=text.delimiter,
            quote_char=text.quote if has_quotes else None,
            schema=_text_columns(n_columns),
            empty_string_is_null=False,
        )
    except pl.exceptions.PolarsError:
        return None


def _read_slowly(text: CsvText, start: int, end: int, n_columns: int, line_end: bytes) -> _Body:
    """The body as Python's csv module reads it, refusing what is not exact."""
    body = text.data[start:end].decode()
    reader = _csv_reader(_lines_with_ends(body, line_end.decode()), text.delimiter, text.quote, strict=True)
    n_lines_before = text.data.count(line_end, 0, start) + text.first_line - 1
    records: list[list[str]] = []
    lines: list[int] = []
    while True:
        line = n_lines_before + reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise _explained(text, line, error) from None
        if max(len(record), 1) != n_columns:
            raise text.ragged(line, len(record), n_columns, is_blank=not record)
        records.append(record or [""])
        lines.append(line)
    return _Body(pl.DataFrame(records, schema=_text_columns(n_columns), orient="row"), lines)


def _explained(text: CsvText, line: int, error: csv.Error) -> InputError:
    reason = str(error)
    if "unexpected end" in reason:
        return text.unclosed_quote(line)
    if "new-line character" in reason:
        return text.lone_return(line)
    if "expected after" in reason:
        return InputError(
            f"{text.name}, line {line:,}: in the record that begins here, text follows a closing quote before the next "
            f"delimiter, which is {shown(text.delimiter)}. Close the quote at the end of the value, and double quotes "
            "inside it."
        )
    return InputError(f"{text.name}, line {line:,}: the record that begins here cannot be read ({reason}).")


def _named(columns: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    return columns.rename(dict(zip(columns.columns, names, strict=True)))


def _text_columns(n_columns: int) -> dict[str, type[pl.String]]:
    return {str(position): pl.String for position in range(n_columns)}


def _quotes(body: _Body, data: bytes, quote: str) -> Quotes:
    if not body.has_stray_quotes and (not quote or 2 * quote.encode() not in data):
        return Quotes()
    has_quote = pl.any_horizontal(pl.all().str.contains(quote, literal=True))
    return Quotes(int(body.columns.select(has_quote.sum()).item()), body.has_stray_quotes)


# The values


def with_missing(frame: AnyFrame, options: CsvOptions) -> AnyFrame:
    """The texts of a file with nulls for those that mean missing, in all columns or in one."""
    texts = list(options.missing)
    if texts:
        is_missing = pl.all() == texts[0] if len(texts) == 1 else pl.all().is_in(texts)
        frame = frame.with_columns(pl.when(~is_missing).then(pl.all()))
    if not options.missing_in:
        return frame
    own = {name: list(marks) for name, marks in options.missing_in.items() if name in frame.collect_schema().names()}
    return frame.with_columns(
        pl.when(~pl.col(name).is_in(marks)).then(pl.col(name)).alias(name) for name, marks in own.items()
    )


# Lines and words


def _notes_on_lines(name: str, n_blank: int, quotes: Quotes) -> list[str]:
    notes = []
    if n_blank > 0:
        notes.append(f"{counted(n_blank, 'blank line')} at the end of {name} left out.")
    if quotes.has_stray:
        notes.append(
            f"{counted(quotes.records, 'record')} of {name} with the quote character inside a value, at "
            "least once without quotes around that value; it was kept as part of the text."
        )
    return notes


def _csv_reader(lines: Iterable[str], delimiter: str, quote: str, *, strict: bool = False) -> _CsvReader:
    if not quote:
        return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE, quotechar=None, strict=strict)
    return csv.reader(lines, delimiter=delimiter, quotechar=quote, doublequote=True, strict=strict)


def _lines_with_ends(text: str, line_end: str) -> Iterator[str]:
    if line_end == "\n":
        yield from io.StringIO(text, newline="\n")
    else:
        yield from (line + line_end for line in text.split(line_end))


def _end_without_blank_lines(data: bytes) -> int:
    end = len(data)
    while end and data[end - 1] in b"\r\n":
        end -= 1
    return end


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# What CSV files can hold


def missing_in_csv(n_columns: int) -> str:
    """How a missing value is written: in a file of one column in quotes, since a blank line at its end is no record."""
    return '""' if n_columns == 1 else ""


def refuse_for_csv(frame: pl.DataFrame) -> None:
    """Refuse what would not come back from a CSV file: it would be counted otherwise than the models were."""
    names = [name for name in frame.columns if name != name.strip() or not name or "\0" in name or name[0] == "\ufeff"]
    if names:
        raise OutputError(
            f"CSV files cannot hold {len(names):,} of the column names: {', '.join(map(repr, names))}. White space at "
            "their ends is lost. Rename the columns, or choose another format with format=. Nothing was written."
        )
    nul, both = [], []
    for column in frame.iter_columns():
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            texts = column.cast(pl.String)
            nul += [column.name] if texts.str.contains("\0", literal=True).any() else []
            both += [column.name] if texts.null_count() and (texts == "").any() else []
    if nul:
        raise OutputError(
            f"CSV files cannot hold the NUL characters in {', '.join(map(repr, nul))}. Remove them, or choose another "
            "format with format=. Nothing was written."
        )
    if both:
        raise OutputError(
            f"CSV files cannot tell an empty text from a missing value, and {', '.join(map(repr, both))} has both. "
            "Make them one, or choose another format with format=. Nothing was written."
        )


def csv_that_holds(frames: Iterable[pl.DataFrame], csv: CsvOptions | None) -> CsvOptions | None:
    """How CSV files of some tables are written: in UTF-8 where the encoding asked for lacks some of their letters."""
    if csv is None or codecs.lookup(csv.encoding).name in ("utf-8", "utf-8-sig"):
        return csv
    try:
        for frame in frames:
            frame.write_csv().encode(csv.encoding)
    except UnicodeEncodeError:
        return replace(csv, encoding="utf-8")
    return csv
