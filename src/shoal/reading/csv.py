"""CSV files to frames of text, exactly or not at all.

The bytes are scanned once with numpy for lines that are short or long, then handed to polars. A file that polars could
read in another way than the standard (a quote inside an unquoted field, lone carriage returns) is read with Python's
csv module instead: slower, and just as exact.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.reading.encoding import as_utf8, refuse_nul, unpacked
from shoal.reading.lines import CsvText, LineCheck, StrayQuoteError, counted, shown
from shoal.reading.source import CsvOptions, Reading, Source, check_is_file, read_bytes

if TYPE_CHECKING:
    from _csv import Reader as _CsvReader

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 18
BLOCK_BYTES = 1 << 26
"""How much of a file is read at a time, where it is read block by block."""
SAMPLE_RECORDS = 100
DECIMAL_COMMA = r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$"
DECIMAL_POINT = r"^[+-]?(\d+(\.\d*)?|\.\d+|\d{1,3}(\.\d{3})+(,\d+)?)([eE][+-]?\d+)?$"


@dataclass(frozen=True)
class _Body:
    """The records of a file as text columns, with the line on which each begins."""

    columns: pl.DataFrame
    lines: Sequence[int]
    n_stray_quotes: int = 0


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
    path = Path(path)
    options = options or CsvOptions()
    name = f"'{path.name}'"
    data = as_utf8(name, unpacked(path, read_bytes(path)), options.encoding)
    refuse_nul(name, data)
    content_end = _end_without_blank_lines(data)
    if content_end == 0:
        raise InputError(f"{name} is empty. The first line must name the columns.")

    delimiter = options.delimiter or _find_delimiter(name, data, options.quote)
    text = CsvText(name, data, delimiter, options.delimiter is None, options.quote)
    header, body_start, line_end = _read_header(text)
    names, notes = _column_names(text, header)
    if body_start >= content_end:
        raise InputError(f"{name} has a header with {counted(len(names), 'column')} and no records.")

    body = _read_body(text, body_start, content_end, len(names), line_end)
    frame = body.columns.rename(dict(zip(body.columns.columns, names, strict=True)))
    frame = _with_missing(frame, options.missing)
    if options.decimal == ",":
        frame, decimal_notes = _with_decimal_points(name, frame)
    else:
        decimal_notes = _notes_on_decimal_commas(name, frame)
    notes += _notes_on_lines(name, data, content_end, line_end, body.n_stray_quotes) + decimal_notes
    source = Source((path,), "csv", replace(options, delimiter=delimiter))
    return Reading(frame, source, tuple(notes), body.lines)


# Block by block


@dataclass
class CsvBlocks:
    """A CSV file in blocks: the names of its columns, how it is written, and its records as frames of text."""

    path: Path
    names: list[str]
    given: CsvOptions
    delimiter: str
    notes: list[str]
    _start: int
    _line_end: bytes
    _block_bytes: int

    def options(self) -> CsvOptions:
        """How the file is written, with the delimiter that was found."""
        return replace(self.given, delimiter=self.delimiter)

    @property
    def frames(self) -> Iterator[pl.DataFrame]:
        """The records, block by block, each checked as `read_csv` checks a file."""
        name = f"'{self.path.name}'"
        line, n_records = 1, 0
        with _opened(self.path) as file:
            start = self._start + _skip_mark(file)
            _read(file, start)  # the header
            line += 1
            for block, n_lines in _blocks_of_lines(file, self.given.quote, self._block_bytes, name):
                frame = self._frame(name, block, line)
                line += n_lines
                n_records += len(frame)
                yield frame
        if not n_records:
            raise InputError(f"{name} has a header with {counted(len(self.names), 'column')} and no records.")

    def _frame(self, name: str, block: bytes, line: int) -> pl.DataFrame:
        try:
            refuse_nul(name, as_utf8(name, block, self.given.encoding))
        except InputError:
            raise InputError(
                f"{name}, in or after line {line:,}: bytes that are no text in {self.given.encoding}. Name the "
                "encoding of the file, or mend it."
            ) from None
        quote = self.given.quote
        data = b"\n" + block  # whatever stands before a record, LineCheck looks at it
        text = CsvText(name, data, self.delimiter, self.given.delimiter is None, quote, line - 1)
        has_quotes = bool(quote) and quote.encode() in block
        n = len(self.names)
        try:
            lines = LineCheck(text, 1, len(data), n, has_quotes=has_quotes).lines_of_records()
            columns = _read_fast(text, 1, len(data), n, has_quotes=has_quotes)
        except StrayQuoteError:
            columns = None
        if columns is None or columns.height != len(lines):
            raise InputError(
                f"{name}, in or after line {line:,}: a quote character inside a value without quotes around it, or "
                "what else only a reader of whole files can tell. Put the file into Parquet, or choose --quote."
            )
        return _with_missing(columns.rename(dict(zip(columns.columns, self.names, strict=True))), self.given.missing)


def read_csv_blocks(
    path: str | Path, options: CsvOptions | None = None, *, block_bytes: int = BLOCK_BYTES
) -> CsvBlocks:
    """A CSV file that may be larger than memory, to be read block by block; UTF-8 with decimal points only.

    Raises
    ------
    InputError
        As `read_csv`; also for line ends that are carriage returns alone, and for quotes inside values that are not
        quoted, which need the file as a whole.
    """
    path = Path(path)
    options = options or CsvOptions()
    name = f"'{path.name}'"
    check_is_file(path)
    with _opened(path) as file:
        _skip_mark(file)
        sample = _read(file, SAMPLE_BYTES)
    refuse_nul(name, sample)
    if not sample.strip(b"\r\n"):
        raise InputError(f"{name} is empty. The first line must name the columns.")
    delimiter = options.delimiter or _find_delimiter(name, sample, options.quote)
    text = CsvText(name, sample, delimiter, options.delimiter is None, options.quote)
    header, start, line_end = _read_header(text)
    names, notes = _column_names(text, header)
    if line_end == b"\r" or b"\n" in sample[: start - len(line_end)]:
        raise InputError(f"{name}: lines of the header end in a way that only a reader of whole files can tell.")
    return CsvBlocks(path, names, options, delimiter, notes, start, line_end, block_bytes)


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _read(file: BinaryIO, n: int) -> bytes:
    try:
        return file.read(n)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"'{Path(file.name).name}' cannot be read: it is cut short, or damaged.") from error


def _skip_mark(file: BinaryIO) -> int:
    """Skip the mark of UTF-8 at the beginning of a file."""
    if _read(file, len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        file.seek(0)
    return 0


def _blocks_of_lines(file: BinaryIO, quote: str, block_bytes: int, name: str) -> Iterator[tuple[bytes, int]]:
    """Whole records, without the line end of the last, and how many lines they take. Blank lines at the end are left.

    A block ends with a line feed outside quotes, behind a line that is not blank.
    """
    rest = b""
    while True:
        more = _read(file, block_bytes)
        rest += more
        end = _end_of_records(rest, quote) if more else len(rest)
        content = len(rest[:end].rstrip(b"\r\n"))
        if content:
            line_end = 2 if rest[content : content + 2] == b"\r\n" else min(1, len(rest) - content)
            yield rest[:content], rest.count(b"\n", 0, content + line_end)
            rest = rest[content + line_end :]
        if not more:
            return


def _end_of_records(data: bytes, quote: str) -> int:
    """Behind the last line feed that stands outside quotes."""
    if not quote or quote.encode() not in data:
        return data.rfind(b"\n") + 1
    content = np.frombuffer(data, np.uint8)
    inside = np.bitwise_xor.accumulate((content == ord(quote)).view(np.uint8))
    ends = np.flatnonzero((content == ord("\n")) & (inside == 0))
    return int(ends[-1]) + 1 if len(ends) else 0


# The first lines


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
            "Set it with --delimiter."
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
        return replace(body, n_stray_quotes=_n_records_with_quotes(body.columns, text.quote))
    columns = _read_fast(text, start, end, n_columns, has_quotes=has_quotes)
    if columns is None or columns.height != len(lines):
        return _read_slowly(text, start, end, n_columns, b"\n")
    return _Body(columns, lines)


def _read_lone_returns(text: CsvText, start: int, end: int, n_columns: int, line_end: bytes) -> _Body:
    """Records without quotes whose lines end with a carriage return alone."""
    line_feed = text.data.find(b"\n", start, end)
    if line_feed >= 0:
        raise text.lone_return(text.data.count(line_end, 0, line_feed) + 1)
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
    n_lines_before = text.data.count(line_end, 0, start)
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


def _text_columns(n_columns: int) -> dict[str, type[pl.String]]:
    return {str(position): pl.String for position in range(n_columns)}


def _n_records_with_quotes(columns: pl.DataFrame, quote: str) -> int:
    return int(columns.select(pl.any_horizontal(pl.all().str.contains(quote, literal=True)).sum()).item())


# The values


def _with_missing(frame: pl.DataFrame, missing: Iterable[str]) -> pl.DataFrame:
    texts = list(missing)
    if not texts:
        return frame
    is_missing = pl.all() == texts[0] if len(texts) == 1 else pl.all().is_in(texts)
    return frame.with_columns(pl.when(~is_missing).then(pl.all()))


def _with_decimal_points(name: str, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Decimal points for decimal commas in the columns that hold nothing else than such numbers."""
    has_comma = _columns_where(frame, pl.all().str.contains(",", literal=True).any())
    has_point = _columns_where(frame, pl.all().str.contains(".", literal=True).any())
    changed = _columns_where(frame.select(has_comma), pl.all().str.contains(DECIMAL_COMMA).all())
    doubtful = _columns_where(frame.select(has_point), pl.all().str.contains(DECIMAL_POINT).all())
    notes = []
    if changed:
        notes.append(
            f"Decimal commas in {counted(len(changed), 'column')} of {name} became points: {_listed(changed)}."
        )
    if doubtful:
        notes.append(
            f"{counted(len(doubtful), 'column')} of {name} hold numbers with a point although the decimal comma was "
            f"asked for, and were left as they are: {_listed(doubtful)}."
        )
    return frame.with_columns(pl.col(changed).str.replace(",", ".", literal=True)), notes


def _notes_on_decimal_commas(name: str, frame: pl.DataFrame) -> list[str]:
    """What to tell where columns look like numbers with a decimal comma and the decimal point was asked for.

    They stay texts: 1,234 may be a thousand.
    """
    likely = _columns_where(frame.head(SAMPLE_RECORDS), pl.all().str.contains(DECIMAL_COMMA).all())
    has_comma = _columns_where(frame.select(likely), pl.all().str.contains(",", literal=True).any())
    sure = _columns_where(frame.select(has_comma), pl.all().str.contains(DECIMAL_COMMA).all())
    if not sure:
        return []
    return [
        f"Nothing but numbers with a comma is in {counted(len(sure), 'column')} of {name}, read as texts: "
        f"{_listed(sure)}. Where it is the decimal sign, say --decimal , (in Python CsvOptions(decimal=','))."
    ]


def _columns_where(frame: pl.DataFrame, is_wanted: pl.Expr) -> list[str]:
    if frame.width == 0:
        return []
    return [column for column, wanted in frame.select(is_wanted).row(0, named=True).items() if wanted]


# Lines and words


def _notes_on_lines(name: str, data: bytes, content_end: int, line_end: bytes, n_with_stray_quotes: int) -> list[str]:
    notes = []
    n_blank = data.count(b"\r" if line_end == b"\r" else b"\n", content_end) - 1
    if n_blank > 0:
        notes.append(f"{counted(n_blank, 'blank line')} at the end of {name} left out.")
    if n_with_stray_quotes:
        notes.append(
            f"{counted(n_with_stray_quotes, 'record')} of {name} with the quote character inside a value, at "
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
