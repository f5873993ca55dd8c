"""The check that every line of a CSV file has as many fields as its header, in one fast pass over the bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.reading.encoding import CHUNK_BYTES, lines_before

Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
Positions = NDArray[np.int64]

LINE_FEED, RETURN = ord("\n"), ord("\r")


@dataclass(frozen=True)
class CsvText:
    """The content of a file as UTF-8, with what is known about it."""

    name: str
    data: bytes
    delimiter: str
    delimiter_was_found: bool
    quote: str
    first_line: int = 1
    """The line on which the content begins, where it is a block of a file."""

    def line_at(self, offset: int) -> int:
        """The line, counted from 1, of a byte of the content."""
        return lines_before(self.data, offset) + self.first_line

    def ragged(self, line: int, n_fields: int, n_columns: int, *, is_blank: bool) -> InputError:
        """The error for a line whose number of fields is not that of the header."""
        if is_blank:
            return InputError(
                f"{self.name}, line {line:,}: the line is blank, but the header has {counted(n_columns, 'column')}. "
                "Remove the line or fill it in."
            )
        found = " (found from the first lines; delimiter= sets another)" if self.delimiter_was_found else ""
        return InputError(
            f"{self.name}, line {line:,}: {counted(n_fields, 'field')}, but the header has "
            f"{counted(n_columns, 'column')}. The delimiter is {shown(self.delimiter)}{found}. "
            "Correct the line; a value that holds the delimiter or a line end must be quoted."
        )

    def unclosed_quote(self, line: int) -> InputError:
        """The error for a quoted field that the end of the file cuts off."""
        return InputError(
            f"{self.name}, line {line:,}: a quoted field begins in this line and is never closed. Close the quote, "
            "or choose another quote character if this one is part of the text."
        )

    def lone_return(self, line: int) -> InputError:
        """The error for line ends of two kinds."""
        return InputError(
            f"{self.name}, line {line:,}: a line end of another kind than that of the header stands in this line. "
            "Quote the value that holds it, or give all lines the same end."
        )


class StrayQuoteError(Exception):
    """A quote stands where the standard has none, so that only the csv module can tell the fields apart."""


class LineCheck:
    """One pass over the bytes of the records that finds the first line with too few or too many fields.

    A record ends with a line feed outside quotes. The fields of a record are its separators (delimiters, and the line
    feed that ends it) outside quotes, so that no field needs to be cut out to be counted.
    """

    def __init__(self, text: CsvText, start: int, end: int, n_columns: int, *, has_quotes: bool) -> None:
        self.text = text
        self.content = np.frombuffer(text.data, dtype=np.uint8, count=end)
        self.start, self.end = start, end
        self.n_columns = n_columns
        self.has_quotes = has_quotes
        self.has_returns = text.data.find(b"\r", start, end) >= 0
        self.delimiter = ord(text.delimiter)
        self.quote = ord(text.quote) if text.quote else -1
        # what is carried from one chunk to the next
        self.is_inside = 0  # 1 while a quoted field is open
        self.n_open_delimiters = 0  # delimiters of the record that the last chunk left open
        self.record_start = start
        self.n_line_feeds = 0
        self.line_feeds_before_records: list[Positions] = [np.zeros(1, dtype=np.int64)]

    def lines_of_records(self) -> Sequence[int]:
        """The line of each record; InputError for the first fault, StrayQuoteError where bytes alone cannot tell."""
        for chunk_start in range(self.start, self.end, CHUNK_BYTES):
            chunk = self.content[chunk_start : chunk_start + CHUNK_BYTES]
            self._count_fields(chunk_start, chunk, self._outside_quotes(chunk_start, chunk))
        if self.is_inside:
            opening = self.text.data.rfind(self.text.quote.encode(), self.start, self.end)
            raise self.text.unclosed_quote(self.text.line_at(opening))
        self._refuse_ragged(self.n_open_delimiters + 1, self.record_start, self.end)
        return self._lines()

    def _outside_quotes(self, chunk_start: int, chunk: Bytes) -> Flags | None:
        """Which bytes stand outside quotes; None where the file has no quotes."""
        if not self.has_quotes:
            return None
        is_quote = chunk == self.quote
        quotes = chunk_start + np.flatnonzero(is_quote)
        if not self._are_standard(opening=quotes[self.is_inside :: 2], closing=quotes[1 - self.is_inside :: 2]):
            raise StrayQuoteError
        inside = np.bitwise_xor.accumulate(is_quote.view(np.uint8))
        inside ^= np.uint8(self.is_inside)
        self.is_inside = int(inside[-1])
        return np.equal(inside, 0)

    def _are_standard(self, *, opening: Positions, closing: Positions) -> bool:
        """Whether quotes open fields only at their beginning, close them only at their end, and are doubled between."""
        before = self.content[opening - 1]
        after = self.content[np.minimum(closing + 1, self.end - 1)]
        opens_field = np.isin(before, [self.delimiter, self.quote, LINE_FEED])
        closes_field = np.isin(after, [self.delimiter, self.quote, LINE_FEED, RETURN])
        return bool(opens_field.all() and closes_field.all())

    def _count_fields(self, chunk_start: int, chunk: Bytes, outside: Flags | None) -> None:
        is_line_feed = chunk == LINE_FEED
        is_separator = is_line_feed | (chunk == self.delimiter)
        if outside is not None:
            is_separator &= outside
        if self.has_returns:
            self._refuse_lone_return(chunk_start, chunk, outside)
        separators = np.flatnonzero(is_separator)
        ends_record = np.flatnonzero(is_line_feed[separators])
        fields = np.diff(ends_record, prepend=-1 - self.n_open_delimiters)
        record_ends = separators[ends_record]
        wrong = np.flatnonzero(fields != self.n_columns)
        if wrong.size:
            first = int(wrong[0])
            record_start = self.record_start if first == 0 else chunk_start + int(record_ends[first - 1]) + 1
            self._refuse_ragged(int(fields[first]), record_start, chunk_start + int(record_ends[first]))
        if outside is not None:
            line_feeds = np.flatnonzero(is_line_feed)
            self.line_feeds_before_records.append(self.n_line_feeds + 1 + np.searchsorted(line_feeds, record_ends))
        self.n_line_feeds += int(np.count_nonzero(is_line_feed))
        if ends_record.size:
            self.record_start = chunk_start + int(record_ends[-1]) + 1
            self.n_open_delimiters = int(separators.size - 1 - ends_record[-1])
        else:
            self.n_open_delimiters += int(separators.size)

    def _refuse_ragged(self, n_fields: int, record_start: int, record_end: int) -> None:
        if n_fields == self.n_columns:
            return
        is_blank = not self.text.data[record_start:record_end].strip(b"\r")
        raise self.text.ragged(self.text.line_at(record_start), n_fields, self.n_columns, is_blank=is_blank)

    def _refuse_lone_return(self, chunk_start: int, chunk: Bytes, outside: Flags | None) -> None:
        is_return = chunk == RETURN
        if outside is not None:
            is_return &= outside
        returns = chunk_start + np.flatnonzero(is_return)
        lone = returns[self.content[np.minimum(returns + 1, self.end - 1)] != LINE_FEED]
        if lone.size:
            raise self.text.lone_return(self.text.line_at(int(lone[0])))

    def _lines(self) -> Sequence[int]:
        first = self.text.line_at(self.start)
        each_on_its_own_line = range(first, first + self.n_line_feeds + 1)
        if not self.has_quotes:
            return each_on_its_own_line
        line_feeds_before = np.concatenate(self.line_feeds_before_records)
        if line_feeds_before.size == len(each_on_its_own_line):
            return each_on_its_own_line
        return cast("Sequence[int]", first + line_feeds_before)


def counted(number: int, thing: str) -> str:
    """A number and its noun: 1 column, 2 columns."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def shown(character: str) -> str:
    """A delimiter as a message names it."""
    return {"\t": "a tab", " ": "a space"}.get(character, f"'{character}'")
