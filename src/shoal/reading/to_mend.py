"""What could be mended in a table: suggestions with their counts, and what each writes into [mend].

The words of a suggestion name values of the table, since the steward must see which are meant. They are for the
steward's eyes and the policy alone; what goes elsewhere, such as to a terminal, takes `without_values`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from shoal.reading.lines import counted
from shoal.reading.mend import lookalikes
from shoal.reading.shapes import MARKS
from shoal.table.date_forms import EXCEL

if TYPE_CHECKING:
    from shoal.table.profile import ColumnProfile, Profile

Mend = Mapping[str, Any]
"""The table [mend] of a policy document."""
MOST_MARKS = 5
"""Columns of numbers with more different texts among them are no numbers with marks."""
FEW = 0.2
"""Marks are few among values."""
OLDEST = 120
NO_DAYS = ("9999-12-31", "2999-12-31", "2099-12-31", "1900-01-01", "1111-11-11")
"""Days that systems write where there is none."""
DATED = ("birth", "time", "admission", "discharge", "death")
"""Topics of columns that hold dates."""
SERIALS = (10_000, 60_000)
"""Days of spreadsheets from May 1927 to April 2064."""
WRONG: Literal["wrong"] = "wrong"
COARSER: Literal["coarser"] = "coarser"


@dataclass(frozen=True)
class Suggestion:
    """Something that could be mended in a column."""

    column: str
    words: str
    """What was seen, with the values that are meant."""
    without_values: str
    """The same in counts alone."""
    does: str
    """What taking it does."""
    mend: Mend
    """What it writes into [mend]."""
    about: Literal["wrong", "coarser"] = WRONG
    """Whether values are wrong, or need not be so fine."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def suggestions(frame: pl.DataFrame, seen: Profile) -> list[Suggestion]:
    """What could be mended in a table, by column; ids of persons are left alone."""
    alike = lookalikes(frame)
    found: list[Suggestion] = []
    for column in seen.columns:
        if column.role == "person":
            continue
        values = frame[column.name]
        found += _alike(column.name, alike.get(column.name, []))
        texts = values.drop_nulls().cast(pl.String)
        found += _blanks(column.name, texts, alike.get(column.name, []))
        found += _marks(column, texts)
        found += _out_of_range(column, texts)
        found += _short_for(column, texts)
        found += _serials(column, texts)
        found += _finer_than_needed(column, texts)
    return [*found, *_ages(frame, seen)]


def _alike(column: str, sets: Sequence[Mapping[str, int]]) -> Iterator[Suggestion]:
    for counts in sets:
        first = next((value for value in counts if value == value.strip()), next(iter(counts)))
        others = [value for value in counts if value != first]
        named = listed([quoted(value) for value in counts])
        records = listed([f"{n:,}" for n in counts.values()])
        yield Suggestion(
            column, f"{named} look alike: {records} records.",
            f"{len(counts):,} values look alike but for case or white space: {records} records.",
            f"Make them all {quoted(first)}", {"map": {column: dict.fromkeys(others, first)}},
        )  # fmt: skip


def _blanks(column: str, texts: pl.Series, sets: Sequence[Mapping[str, int]]) -> Iterator[Suggestion]:
    known = {value for counts in sets for value in counts}
    has_blanks = texts.filter((texts != texts.str.strip_chars()) & ~texts.is_in(list(known)))
    if len(has_blanks):
        words = f"{counted(len(has_blanks), 'value')} with blanks before or after."
        yield Suggestion(column, words, words, "Take the blanks away", {"trim": [column]})


def _marks(column: ColumnProfile, texts: pl.Series) -> Iterator[Suggestion]:
    """Texts and numbers that stand for no value."""
    for mark, n in _marks_in(column, texts).items():
        if 0 < n <= FEW * len(texts) or column.kind == "nominal":
            told = f"stands in {counted(n, 'record')}, and seems to mean that the value is missing."
            yield Suggestion(
                column.name, f"{quoted(mark)} {told}", f"A mark {told}", "Take it as missing",
                {"missing": {column.name: [mark]}},
            )  # fmt: skip


def _marks_in(column: ColumnProfile, texts: pl.Series) -> dict[str, int]:
    if not len(texts):
        return {}
    counts = dict(texts.rename("value").value_counts().sort(["count", "value"], descending=True).iter_rows())
    if column.kind == "number":
        return _odd_numbers(counts)
    if column.kind == "date":
        return {day: counts[day] for day in NO_DAYS if day in counts}
    if column.kind == "mixed":
        plain = [value for value in counts if not _is_number(value)]
        return {value: counts[value] for value in plain} if len(plain) <= MOST_MARKS else {}
    return {value: n for value, n in counts.items() if value.strip().lower() in MARKS}


def _odd_numbers(counts: Mapping[str, int]) -> dict[str, int]:
    """Numbers of nothing but nines far beyond all others, and negative ones among none but positive."""
    numbers = sorted({float(value): value for value in counts if _is_number(value)}.items())
    if len(numbers) < 3:
        return {}
    found = {}
    (low, low_text), (next_low, _) = numbers[0], numbers[1]
    if low < 0 <= next_low and low_text.lstrip("-").rstrip("0").rstrip(".") in ("1", "9", "99", "999", "9999"):
        found[low_text] = counts[low_text]
    (high, high_text), (next_high, _) = numbers[-1], numbers[-2]
    if high_text.split(".")[0] in ("999", "9999", "99999", "999999", "9999999") and high > 2 * next_high:
        found[high_text] = counts[high_text]
    return found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _out_of_range(column: ColumnProfile, texts: pl.Series) -> Iterator[Suggestion]:
    if column.topic != "age" or column.kind != "number":
        return
    ages = texts.cast(pl.Float64, strict=False)
    n_wrong = int(((ages < 0) | (ages > OLDEST)).sum())
    if n_wrong:
        words = f"{counted(n_wrong, 'value')} below 0 or above {OLDEST}, which no age is."
        yield Suggestion(
            column.name, words, words, "Take them as missing", {"range": {column.name: {"low": 0, "high": OLDEST}}},
        )  # fmt: skip


def _short_for(column: ColumnProfile, texts: pl.Series) -> Iterator[Suggestion]:
    """Words of a sex beside letters that are short for them: Homme beside H, female beside f."""
    if column.topic != "sex" or column.kind != "nominal":
        return
    values = texts.rename("value").value_counts().sort(["count", "value"], descending=[True, False])
    counts = dict(values.iter_rows())
    letters: dict[str, str] = {}
    words: dict[str, set[str]] = {}
    for value in counts:
        plain = value.strip().casefold()
        if len(plain) == 1:
            letters.setdefault(plain, value)
        elif plain and plain not in MARKS:
            words.setdefault(plain[0], set()).add(plain)
    for first, meant in words.items():
        if first not in letters or len(meant) > 1:
            continue
        own = [value for value in counts if value.strip().casefold() in meant]
        n, letter = sum(counts[value] for value in own), letters[first]
        told = f"{counted(n, 'record')}, and {counts[letter]:,}"
        named = listed([*map(quoted, own), quoted(letter)])
        yield Suggestion(
            column.name, f"{named} seem to mean the same: {told}.",
            f"A word and its first letter seem to mean the same: {told}.", f"Make them all {quoted(letter)}",
            {"map": {column.name: dict.fromkeys(own, letter)}},
        )  # fmt: skip


def _serials(column: ColumnProfile, texts: pl.Series) -> Iterator[Suggestion]:
    """Whole numbers in a column that is called a date, as spreadsheets count days."""
    if column.kind != "number" or column.topic not in DATED or not len(texts):
        return
    numbers = texts.cast(pl.Float64, strict=False)
    if bool(((numbers >= SERIALS[0]) & (numbers <= SERIALS[1])).all()):
        words = "Numbers of five digits, as spreadsheets count days: 45,000 would be 15 March 2023."
        yield Suggestion(column.name, words, words, "Read them as dates", {"dates": {column.name: EXCEL}})


def _finer_than_needed(column: ColumnProfile, texts: pl.Series) -> Iterator[Suggestion]:
    if column.hierarchy not in ("icd10", "icd9") or not len(texts):
        return
    n_long = int(texts.str.contains(".", literal=True).sum())
    n_before, n_after = texts.n_unique(), texts.str.split(".").list.first().n_unique()
    if n_long and n_after < n_before:
        words = f"Diagnosis codes with a part after the point: {n_before:,} different ones, {n_after:,} without it."
        yield Suggestion(column.name, words, words, "Keep what stands before the point",
                         {"code": {column.name: {"before": "."}}}, COARSER)  # fmt: skip


def _ages(frame: pl.DataFrame, seen: Profile) -> Iterator[Suggestion]:
    """An age in the place of a date of birth, on the latest day in the table."""
    born = [column for column in seen.columns if column.topic == "birth" and column.kind == "date"]
    others = [column.name for column in seen.columns if column.kind == "date" and column.topic != "birth"]
    if not born or "age" in frame.columns or any(column.topic == "age" for column in seen.columns):
        return
    latest = [frame[name].cast(pl.String).str.slice(0, 10).filter(~frame[name].cast(pl.String).is_in(NO_DAYS)).max()
              for name in others or [born[0].name]]  # fmt: skip
    day = max((str(each) for each in latest if each), default=None)
    if day is None:
        return
    why = "A date of birth singles out more persons than an age does."
    yield Suggestion(
        born[0].name, f"{why} The latest day in the table is {day}.", why,
        f"Make the age on {day}, and drop the date of birth", {"age": {"age": {"born": born[0].name, "on": day}}},
        COARSER,
    )  # fmt: skip


def taken(mend: Mend, more: Mend) -> dict[str, Any]:
    """[mend] with something more in it."""
    result = {step: copied(each) for step, each in mend.items()}
    for step, each in more.items():
        if isinstance(each, Mapping):
            columns = result.setdefault(step, {})
            for column, value in each.items():
                columns[column] = _together(columns.get(column), value)
        else:
            result[step] = _together(result.get(step), each)
    return result


def copied(each: Any) -> Any:
    """A copy of something in [mend] that can be changed."""
    return {key: copied(value) for key, value in each.items()} if isinstance(each, Mapping) else (
        list(each) if isinstance(each, list | tuple) else each
    )  # fmt: skip


def _together(before: Any, more: Any) -> Any:
    if isinstance(before, list) and isinstance(more, list | tuple):
        return [*before, *(each for each in more if each not in before)]
    if isinstance(before, Mapping) and isinstance(more, Mapping):
        return {**before, **more}
    return copied(more)


def quoted(value: str) -> str:
    """A value between quotes."""
    return f"\u2018{value}\u2019"


def listed(words: Sequence[str]) -> str:
    """Words one after the other, the last after an and."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
