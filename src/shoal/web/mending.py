"""What could be mended in a table, as suggestions that one click takes; and what was taken, as steps that one undoes.

Suggestions name values of the table, since the steward must see which are meant. They are kept in the project's private
folder, shown on the page, and written to the policy where they are taken: never to a log or an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from shoal.reading.lines import counted
from shoal.reading.mend import SENTENCES, lookalikes
from shoal.reading.shapes import MARKS

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
WRONG, COARSER = "wrong", "coarser"
"""What a suggestion is about: values that are wrong, or values that need not be so fine."""


# Suggestions


def suggestions(frame: pl.DataFrame, seen: Profile) -> list[dict[str, Any]]:
    """What could be mended: the column, why, what a click does, and what it writes into [mend]."""
    alike = lookalikes(frame)
    found: list[dict[str, Any]] = []
    for column in seen.columns:
        if column.role == "person":
            continue
        values = frame[column.name]
        found += _alike(column.name, alike.get(column.name, []))
        texts = values.drop_nulls().cast(pl.String)
        found += _blanks(column.name, texts, alike.get(column.name, []))
        found += _marks(column, texts)
        found += _out_of_range(column, texts)
        found += _finer_than_needed(column, texts)
    return [*found, *_ages(frame, seen)]


def _suggested(column: str, words: str, does: str, mend: Mend, about: str = WRONG) -> dict[str, Any]:
    return {"column": column, "words": words, "does": does, "mend": mend, "about": about}


def _alike(column: str, sets: Sequence[Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    for counts in sets:
        first = next((value for value in counts if value == value.strip()), next(iter(counts)))
        others = [value for value in counts if value != first]
        named = _listed([_quoted(value) for value in counts])
        records = _listed([f"{n:,}" for n in counts.values()])
        yield _suggested(
            column,
            f"{named} look alike: {records} records.",
            f"Make them all {_quoted(first)}",
            {"map": {column: dict.fromkeys(others, first)}},
        )


def _blanks(column: str, texts: pl.Series, sets: Sequence[Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    known = {value for counts in sets for value in counts}
    has_blanks = texts.filter((texts != texts.str.strip_chars()) & ~texts.is_in(list(known)))
    if len(has_blanks):
        words = f"{counted(len(has_blanks), 'value')} with blanks before or after."
        yield _suggested(column, words, "Take the blanks away", {"trim": [column]})


def _marks(column: ColumnProfile, texts: pl.Series) -> Iterator[dict[str, Any]]:
    """Texts and numbers that stand for no value."""
    for mark, n in _marks_in(column, texts).items():
        if 0 < n <= FEW * len(texts) or column.kind == "nominal":
            words = f"{_quoted(mark)} stands in {counted(n, 'record')}, and seems to mean that the value is missing."
            yield _suggested(column.name, words, "Take it as missing", {"missing": {column.name: [mark]}})


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


def _out_of_range(column: ColumnProfile, texts: pl.Series) -> Iterator[dict[str, Any]]:
    if column.topic != "age" or column.kind != "number":
        return
    ages = texts.cast(pl.Float64, strict=False)
    n_wrong = int(((ages < 0) | (ages > OLDEST)).sum())
    if n_wrong:
        yield _suggested(
            column.name, f"{counted(n_wrong, 'value')} below 0 or above {OLDEST}, which no age is.",
            "Take them as missing", {"range": {column.name: {"low": 0, "high": OLDEST}}},
        )  # fmt: skip


def _finer_than_needed(column: ColumnProfile, texts: pl.Series) -> Iterator[dict[str, Any]]:
    if column.hierarchy not in ("icd10", "icd9") or not len(texts):
        return
    n_long = int(texts.str.contains(".", literal=True).sum())
    n_before, n_after = texts.n_unique(), texts.str.split(".").list.first().n_unique()
    if n_long and n_after < n_before:
        words = f"Diagnosis codes with a part after the point: {n_before:,} different ones, {n_after:,} without it."
        yield _suggested(column.name, words, "Keep what stands before the point",
                         {"code": {column.name: {"before": "."}}}, COARSER)  # fmt: skip


def _ages(frame: pl.DataFrame, seen: Profile) -> Iterator[dict[str, Any]]:
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
    yield _suggested(
        born[0].name,
        f"A date of birth singles out more persons than an age does. The latest day in the table is {day}.",
        f"Make the age on {day}, and drop the date of birth", {"age": {"age": {"born": born[0].name, "on": day}}},
        COARSER,
    )  # fmt: skip


# What was taken


def taken(mend: Mend, more: Mend) -> dict[str, Any]:
    """[mend] with something more in it."""
    result = {step: _copied(each) for step, each in mend.items()}
    for step, each in more.items():
        if isinstance(each, Mapping):
            columns = result.setdefault(step, {})
            for column, value in each.items():
                columns[column] = _together(columns.get(column), value)
        else:
            result[step] = _together(result.get(step), each)
    return result


def _copied(each: Any) -> Any:
    return {key: _copied(value) for key, value in each.items()} if isinstance(each, Mapping) else (
        list(each) if isinstance(each, list | tuple) else each
    )  # fmt: skip


def _together(before: Any, more: Any) -> Any:
    if isinstance(before, list) and isinstance(more, list | tuple):
        return [*before, *(each for each in more if each not in before)]
    if isinstance(before, Mapping) and isinstance(more, Mapping):
        return {**before, **more}
    return _copied(more)


def steps_of(mend: Mend) -> list[tuple[tuple[Any, ...], str]]:
    """Each thing that is mended: where it stands in [mend], for `undone`, and in words."""
    steps: list[tuple[tuple[Any, ...], str]] = []
    for step, each in mend.items():
        if step == "filter":
            steps += [((step, at), f"{entry['column']}: records are kept by {_limits(entry)}.")
                      for at, entry in enumerate(each)]  # fmt: skip
        elif step == "trim":
            steps += [((step, at), f"{column}: blanks before and after values are taken away.")
                      for at, column in enumerate(each)]  # fmt: skip
        elif step == "missing":
            steps += [((step, column, at), f"{column}: {_quoted(str(mark))} means missing.")
                      for column, marks in each.items() for at, mark in enumerate(marks)]  # fmt: skip
        elif step == "map":
            steps += [((step, column, old), f"{column}: {_quoted(old)} becomes {_quoted(str(new))}.")
                      for column, others in each.items() for old, new in others.items()]  # fmt: skip
        else:
            steps += [((step, column), f"{column}: {_told(step, value)}.") for column, value in each.items()]
    return steps


def _told(step: str, value: Any) -> str:
    if step == "case":
        return "values are written in small letters" if value == "lower" else "values are written in capitals"
    if step == "age":
        return f"the age in whole years on {value['on']}, from {value['born']}"
    if step == "code":
        return f"only the first {value['keep']} characters are kept" if "keep" in value else (
            f"only what stands before the first '{value['before']}' is kept"
        )  # fmt: skip
    if step == "range":
        what = "stop the work" if value.get("outside") == "refuse" else "are taken as missing"
        return f"values that are not {_limits(value)} {what}"
    return f"{SENTENCES[step].removeprefix('were ')} ({value})"


def _limits(given: Mapping[str, Any]) -> str:
    parts = [f"{word} {given[key]}" for key, word in (("low", "from"), ("high", "up to")) if given.get(key) is not None]
    parts += [f"{word} {_listed([_quoted(str(each)) for each in given[key]])}"
              for key, word in (("values", "the values"), ("without", "leaving out")) if given.get(key)]  # fmt: skip
    return " ".join(parts)


def undone(mend: Mend, place: Sequence[Any]) -> dict[str, Any]:
    """[mend] without the thing that stands in a place."""
    result = {step: _copied(each) for step, each in mend.items()}
    *path, last = place
    inside: Any = result
    parents: list[tuple[Any, Any]] = []
    for key in path:
        parents.append((inside, key))
        inside = inside[key]
    del inside[last]
    for holder, key in reversed(parents):
        if not holder[key]:
            del holder[key]
    return result


def _quoted(value: str) -> str:
    return f"‘{value}’"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
