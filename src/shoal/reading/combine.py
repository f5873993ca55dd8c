"""Several files to one table: put under one another, or persons joined to their records by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from shoal.errors import InputError, ParameterError, SchemaError, did_you_mean
from shoal.reading.fewer_types import LARGEST_EXACT_INTEGER
from shoal.reading.labels import labels_of_all
from shoal.reading.source import Reading, Source


@dataclass(frozen=True, kw_only=True)
class Join:
    """A file with one record per person, to be joined to the records by key.

    Parameters
    ----------
    person_file
        The file of persons.
    on
        The key column, if it has one name in both files, or the names in both: `{"name in the records": "name in the
        person file"}`, with an entry for each part of the key.
    """

    person_file: str | Path
    on: str | Mapping[str, str]

    def __post_init__(self) -> None:
        if not self.on:
            raise ParameterError("A join needs the name of at least one key column.")

    @property
    def person_key_of_record_key(self) -> dict[str, str]:
        """The key columns: their names in the person file by their names in the records."""
        return {self.on: self.on} if isinstance(self.on, str) else dict(self.on)


def put_under_one_another(readings: Sequence[Reading], rename: Sequence[Mapping[str, str]] | None = None) -> Reading:
    """One table with the records of all sources, in the order of the sources; columns in the order of the first.

    Parameters
    ----------
    readings
        The sources.
    rename
        For each source a mapping from its own column names to the common ones; columns not named keep their name.

    Raises
    ------
    SchemaError
        A column to be renamed is absent, two columns get one name, the sources have different columns, or a column has
        types that cannot be brought together without loss.

    Notes
    -----
    A CSV column has no type of its own, and takes that of the other sources.
    """
    if not readings:
        raise ParameterError("There is no source to read.")
    if rename is None:
        rename = [{}] * len(readings)
    if len(rename) != len(readings):
        raise ParameterError(
            f"There are {len(rename):,} mappings of column names for {len(readings):,} files. Give one for each file, "
            "empty where nothing is renamed."
        )
    renamed = [_renamed(reading, names) for reading, names in zip(readings, rename, strict=True)]
    if len(renamed) == 1:
        return renamed[0]
    _check_same_columns(renamed)
    columns = renamed[0].frame.columns
    together = [_in_one_type(column, renamed) for column in columns]
    frame = pl.DataFrame(together)
    notes = tuple(note for reading in renamed for note in reading.notes)
    told = note_on_counts([reading.source.name for reading in renamed], [reading.frame.height for reading in renamed])
    notes = (*notes, told)
    labels = labels_of_all([reading.labels for reading in renamed], [reading.source.name for reading in renamed])
    findings = tuple(finding for reading in renamed for finding in reading.findings)
    return Reading(frame, _source_of_all(renamed), notes, labels=labels, findings=findings)


def note_on_counts(names: Sequence[str], counts: Sequence[int]) -> str:
    """How many records of each source were put together."""
    each = ", ".join(f"{count:,} of {name}" for name, count in zip(names, counts, strict=True))
    return f"{sum(counts):,} records were put together: {each}."


def join_persons(records: Reading, persons: Reading, join: Join) -> Reading:
    """Give every record the columns of its person.

    Raises
    ------
    SchemaError
        A key column is absent or its types do not fit, a key occurs more than once among the persons, or a column other
        than the key is in both tables.
    InputError
        No record matches any person.

    Notes
    -----
    Records without a key and records that match nobody are left out; they and persons without a record are counted in
    the notes. The order of the records is kept.
    """
    keys = join.person_key_of_record_key
    _check_has_columns(records, list(keys), "key")
    _check_has_columns(persons, list(keys.values()), "key")
    _check_no_shared_columns(records, persons, keys)
    left, right = _with_comparable_keys(records, persons, keys)
    parts = _key_parts(keys)
    _check_unique(persons, right, parts)

    joined = left.join(right, on=parts, how="inner", maintain_order="left").drop(parts)
    if joined.height == 0:
        raise InputError(
            f"None of the {left.height:,} records of {records.source.name} matches a person in {persons.source.name} "
            f"by {_listed(keys)}. Check that both hold the key in the same form."
        )
    notes = (*records.notes, *persons.notes, *_join_notes(records, persons, left, right, parts))
    paths = records.source.paths + persons.source.paths
    shown = _shown([records.source, persons.source])
    source = Source(paths, records.source.format, records.source.csv, shown)
    labels = labels_of_all([records.labels, persons.labels], [records.source.name, persons.source.name])
    return Reading(joined, source, notes, labels=labels, findings=(*records.findings, *persons.findings))


# Under one another


def _renamed(reading: Reading, names: Mapping[str, str]) -> Reading:
    if not names:
        return reading
    _check_has_columns(reading, list(names), "column to be renamed")
    common = [names.get(column, column) for column in reading.frame.columns]
    repeated = sorted({column for column in common if common.count(column) > 1})
    if repeated:
        raise SchemaError(
            f"After renaming, {reading.source.name} would have more than one column of the same name: "
            f"{_listed(repeated)}. Give each column its own name."
        )
    frame = reading.frame.rename(dict(names))
    return replace(reading, frame=frame, labels=reading.labels.renamed(names))


def _check_same_columns(readings: Sequence[Reading]) -> None:
    """All faults of all sources in one message."""
    expected = list(dict.fromkeys(column for reading in readings for column in reading.frame.columns))
    faults = []
    for reading in readings:
        own = reading.frame.columns
        absent = [column for column in expected if column not in own]
        only_here = [column for column in own if any(column not in other.frame.columns for other in readings)]
        for column in absent:
            faults.append(f"{reading.source.name} has no column '{column}'.{did_you_mean(column, only_here)}")
    if faults:
        raise SchemaError(
            "The files cannot be put under one another, because their columns differ:\n"
            + "\n".join(faults)
            + "\nRename the columns that mean the same, and leave out those that only some files have."
        )


def _in_one_type(column: str, readings: Sequence[Reading]) -> pl.Series:
    """The column of all sources under one another."""
    parts = [reading.frame.get_column(column) for reading in readings]
    typed = [part.dtype for part, reading in zip(parts, readings, strict=True) if reading.source.has_types]
    common = _common_type(typed) if typed else pl.String()
    if common == pl.Null and len(typed) < len(parts):  # only CSV sources hold values
        common = pl.String()
    if common is None:
        raise _types_differ(column, readings)
    cast = [_cast(part, common, reading, readings) for part, reading in zip(parts, readings, strict=True)]
    return pl.concat(cast)


def _common_type(types: Sequence[pl.DataType]) -> pl.DataType | None:
    """The narrowest type that holds the values of all types without loss, or None."""
    kinds = list(dict.fromkeys(kind for kind in types if kind != pl.Null))
    if not kinds:
        return pl.Null() if types else None
    if len(kinds) == 1 and kinds[0] != pl.Categorical:
        return kinds[0]
    if all(kind in (pl.String, pl.Categorical, pl.Enum) for kind in kinds):
        return pl.String()
    if all(kind.is_integer() for kind in kinds):
        return pl.Int128() if pl.UInt64 in kinds else pl.Int64()
    if all(kind.is_integer() or kind.is_float() for kind in kinds):
        return pl.Float64()
    if all(kind in (pl.Date, pl.Datetime) and getattr(kind, "time_zone", None) is None for kind in kinds):
        is_fine = any(getattr(kind, "time_unit", None) == "ns" for kind in kinds)
        return pl.Datetime("ns" if is_fine else "us")
    return None


def _cast(part: pl.Series, common: pl.DataType, reading: Reading, readings: Sequence[Reading]) -> pl.Series:
    if part.dtype == common:
        return part
    if part.dtype.is_integer() and common.is_float() and not _is_exact_in_float(part):
        raise _types_differ(part.name, readings)
    try:
        is_date_as_text = part.dtype == pl.String and common == pl.Date
        cast = part.str.to_date("%Y-%m-%d", strict=False) if is_date_as_text else part.cast(common, strict=False)
    except pl.exceptions.PolarsError:
        raise _types_differ(part.name, readings) from None
    n_lost = cast.null_count() - part.null_count()
    if n_lost:
        raise SchemaError(
            f"Column '{part.name}' is {common} in another file, but {n_lost:,} of {part.len():,} values in "
            f"{reading.source.name} cannot be read as that. Correct them, or write the column as text in all files."
        )
    return cast


def _is_exact_in_float(part: pl.Series) -> bool:
    lowest, highest = part.min(), part.max()
    return all(end is None or (isinstance(end, int) and abs(end) <= LARGEST_EXACT_INTEGER) for end in (lowest, highest))


def _types_differ(column: str, readings: Sequence[Reading]) -> SchemaError:
    types = [f"{reading.frame.schema[column]} in {reading.source.name}" for reading in readings]
    return SchemaError(
        f"Column '{column}' has types that cannot be brought together: {', '.join(types)}. "
        "Write it with one type in all files."
    )


def _source_of_all(readings: Sequence[Reading]) -> Source:
    first = readings[0].source
    paths = tuple(path for reading in readings for path in reading.source.paths)
    return Source(paths, first.format, first.csv, _shown([reading.source for reading in readings]))


def _shown(sources: Sequence[Source]) -> tuple[str, ...]:
    """What sources are called together; nothing where they are just files, which call themselves."""
    return tuple(source.name for source in sources) if any(source.shown for source in sources) else ()


# Persons to records


def _check_has_columns(reading: Reading, wanted: Sequence[str], role: str) -> None:
    known = reading.frame.columns
    faults = [
        f"{reading.source.name} has no column '{column}', named as {role}.{did_you_mean(column, known)}"
        for column in wanted
        if column not in known
    ]
    if faults:
        raise SchemaError("\n".join(faults) + f"\nIts columns are: {', '.join(known)}.")


def _check_no_shared_columns(records: Reading, persons: Reading, keys: Mapping[str, str]) -> None:
    person_keys = set(keys.values())
    shared = [
        column for column in persons.frame.columns if column not in person_keys and column in records.frame.columns
    ]
    if shared:
        raise SchemaError(
            f"Columns other than the key are in both {records.source.name} and {persons.source.name}: "
            f"{_listed(shared)}. Rename or leave out one of each."
        )


def _key_parts(keys: Mapping[str, str]) -> list[str]:
    return [f"\0key {position}" for position in range(len(keys))]  # a name that no file can hold


def _with_comparable_keys(
    records: Reading, persons: Reading, keys: Mapping[str, str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both frames with the key in one type under the same names; the persons' own key columns are dropped."""
    left, right = [], []
    for part, (record_key, person_key) in zip(_key_parts(keys), keys.items(), strict=True):
        kind = _comparable_type(records.frame.schema[record_key], persons.frame.schema[person_key])
        if kind is None:
            raise SchemaError(
                f"The key has types that cannot be compared: '{record_key}' is {records.frame.schema[record_key]} in "
                f"{records.source.name}, '{person_key}' is {persons.frame.schema[person_key]} in "
                f"{persons.source.name}. Write both with one type."
            )
        left.append(pl.col(record_key).cast(kind).alias(part))
        right.append(pl.col(person_key).cast(kind).alias(part))
    persons_frame = persons.frame.with_columns(right).drop(list(dict.fromkeys(keys.values())))
    return records.frame.with_columns(left), persons_frame


def _comparable_type(one: pl.DataType, other: pl.DataType) -> pl.DataType | None:
    """Whole numbers and text are compared as text; otherwise the types need a common one. Fractions are no keys."""
    types = [pl.String() if kind in (pl.String, pl.Categorical, pl.Enum) else kind for kind in (one, other)]
    if any(kind.is_float() for kind in types):
        return None
    if all(kind == pl.String or kind.is_integer() for kind in types) and pl.String in types:
        return pl.String()
    return _common_type(types)


def _check_unique(persons: Reading, frame: pl.DataFrame, parts: list[str]) -> None:
    n_repeated = frame.drop_nulls(parts).group_by(parts).len().filter(pl.col("len") > 1).height
    if n_repeated:
        keys_occur = "1 key occurs" if n_repeated == 1 else f"{n_repeated:,} keys occur"
        raise SchemaError(
            f"{keys_occur} more than once in {persons.source.name}, which must have one record per person. "
            "Keep one record for each key, or give the two files the other way round."
        )


def _join_notes(
    records: Reading, persons: Reading, left: pl.DataFrame, right: pl.DataFrame, parts: list[str]
) -> list[str]:
    n_keyless_records = left.height - left.drop_nulls(parts).height
    n_unmatched = left.join(right, on=parts, how="anti").height - n_keyless_records
    n_keyless_persons = right.height - right.drop_nulls(parts).height
    n_without_record = right.join(left, on=parts, how="anti").height - n_keyless_persons
    record_file, person_file = records.source.name, persons.source.name
    of_records, of_persons = f"of {left.height:,} records", f"of {right.height:,} persons"
    told = [
        (n_unmatched, f"{of_records} match no person in {person_file} and were left out."),
        (n_keyless_records, f"{of_records} in {record_file} have no key and were left out."),
        (n_without_record, f"{of_persons} in {person_file} have no record in {record_file} and were left out."),
        (n_keyless_persons, f"{of_persons} in {person_file} have no key and were left out."),
    ]
    return [f"{number:,} {words}" for number, words in told if number]


def _listed(names: Sequence[str] | Mapping[str, str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
