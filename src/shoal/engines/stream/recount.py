"""Looking at a published file in portions: its risk and the verdict of the models, from what it shows alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.memory_needed import PORTION
from shoal.engines.offered import models_in_memory
from shoal.engines.stream.alone import SeenValues, keys_of, look_for_alone_in_portions
from shoal.engines.stream.code import PERSON, CodedFile
from shoal.engines.stream.histories import look_by_group
from shoal.engines.stream.mask import DiskBucketing
from shoal.engines.stream.read import FileSource
from shoal.engines.stream.summary import PairCounts, SummaryTable, counts_of_groups
from shoal.errors import InputError, ParameterError, SchemaError, did_you_mean
from shoal.judging.alone import AloneLimit, who_is_alone
from shoal.judging.observation import Observation, are_one_only_where_equal
from shoal.judging.population import PopulationRisk, risk_of_classes, sums_of
from shoal.judging.recount import cells_beyond, problems_of_codes, problems_of_columns
from shoal.judging.risk import NEEDS, Risk, risk_of_counts, risks_together
from shoal.judging.verdict import PUBLISHED_TABLE, Verdict, judge
from shoal.kernels import counting
from shoal.masking import mask_called
from shoal.measuring.spread import (
    SPREAD_NEEDS,
    RiskSpread,
    over_persons,
    record_risk_of_persons,
    spread_of_counts,
    spreads_together,
)
from shoal.models.contract import Model
from shoal.models.counts import HISTORIES
from shoal.policy.policy import refuse_no_model
from shoal.publishing.release import Assessment
from shoal.reading import CsvOptions, format_of
from shoal.reading.csv import read_csv_blocks
from shoal.table.columns import CategoryColumn, category_column
from shoal.table.sample import PersonWeights
from shoal.table.schema import Schema

MIXED_BY = np.uint64(0x9E3779B97F4A7C15)
PSEUDONYM_BYTES = 8
SHOWN, PERSON_OF_RECORD = "_shoal_shown", "_shoal_person"


def verify_file(
    path: str | Path,
    schema: Schema,
    models: Sequence[Model],
    *,
    mask: str = "range",
    csv: CsvOptions | None = None,
    portion: int = PORTION,
    max_alone: int | None = None,
    allow_alone: bool = False,
) -> Assessment:
    """Recount a published Parquet or CSV file that may be larger than memory, from what it shows alone.

    Parameters
    ----------
    mask
        The mask by which the file was made, as in `shoal.verify`.
    max_alone, allow_alone
        As in `shoal.verify`.

    Raises
    ------
    SchemaError
        Where a model, or a table that publishes attributes apart, needs the file in memory: `shoal.verify`.
    """
    started = time.perf_counter()
    refuse_no_model(models, otherwise="there is nothing to verify")
    why = models_in_memory(models, verified=schema)
    if why:
        raise ParameterError(" ".join(why))
    if not mask_called(mask).links_values:
        raise SchemaError(f"The mask {mask} publishes attributes apart, which is counted in memory: use shoal.verify.")
    limit = AloneLimit(max_alone=max_alone, allow_alone=allow_alone)
    risk, verdict, _ = look_at_file(Path(path), schema, models, csv=csv, portion=portion, limit=limit)
    return Assessment(risk, verdict, time.perf_counter() - started)


def look_at_file(
    path: Path,
    schema: Schema,
    models: Sequence[Model],
    *,
    csv: CsvOptions | None,
    portion: int,
    limit: AloneLimit,
    with_spread: bool = False,
) -> tuple[Risk, Verdict, RiskSpread | None]:
    """The risk of a published file, the verdict of the models, and `with_spread` how the risk is spread.

    Memory grows with persons, not with records.
    """
    source = _opened(path, csv, portion)
    _refuse_absent(source, schema)
    problems = problems_of_columns(source.schema.names(), schema)
    if schema.coded:
        beyond: Counter[str] = Counter()
        for part in source.portions([name for name in schema.coded if name in source.schema]):
            beyond.update(cells_beyond(part, schema))
        problems += problems_of_codes(beyond)
    seen = _seen(source, schema)
    n_persons, n_several = seen.n_persons, int(seen.is_in_several.sum())
    if n_several:
        problems.append(f"{n_several:,} of {n_persons:,} persons have records in more than one group.")
        seen = _seen(source, schema, by_group=True)
    table = seen.summed_up()
    group_of_person = seen.group_of_person[: table.n_persons]
    needs = (SPREAD_NEEDS if with_spread else NEEDS).union(*(model.needs for model in models))
    counts = counts_of_groups(table, needs - HISTORIES, group_of_person, seen.groups.n)
    risk = risk_of_counts(counts)
    weights = seen.weights
    if weights is not None:
        of_group = sums_of(weights.of_persons(table.n_persons), group_of_person, len(counts))
        counts = counts.with_weights(of_group)
    if needs & HISTORIES:
        risk, judged = look_by_group(partial(_once_more, source, seen), schema, models, table.n_records, portion)
        verdict = Verdict(judged, len(counts), tuple(problems))
    else:
        verdict = judge(models, counts, checked_from=PUBLISHED_TABLE, problems=problems)
    who = seen.person_of(np.arange(table.n_persons))
    n_unique = len(np.unique(who[(counts.persons == 1)[group_of_person]]))
    alone = look_for_alone_in_portions(table, group_of_person, who, partial(_once_more, source, seen), schema)
    risk = replace(
        risk, persons=n_persons, unique_persons=n_unique, alone_by=dict(alone.by),
        population=None if weights is None else risk_of_classes(counts.persons, of_group),
    )  # fmt: skip
    spread = None
    if with_spread:
        risk_of_person = np.zeros(n_persons)
        np.maximum.at(risk_of_person, who, table.records_of_person / counts.records[group_of_person])
        spread = spread_of_counts(counts, risk_of_person)
    return risk, limit.judged(verdict, alone, schema), spread


class InputRisk:
    """The risk of the table as it is, by records that are brought together by what they show, in buckets on disk.

    Records of a group are in one bucket. Values are told apart by 64 bits that are made of them.
    """

    def __init__(self, work: Path, schema: Schema, n_records: int, portion: int) -> None:
        self.schema, self.person = schema, schema.person or PERSON_OF_RECORD
        self.buckets = DiskBucketing(work, n_records, portion, "input")

    def see(self, frame: pl.DataFrame, coded: pl.DataFrame) -> None:
        """See a portion as it stands in the file, and as codes."""
        words = keys_of(frame, self.schema.quasi_names)
        columns = [pl.Series(SHOWN, words), coded[PERSON].alias(self.person)]
        columns += [coded[f"sensitive-{at}"] for at in range(len(self.schema.sensitive))]
        self.buckets.put(pl.DataFrame([*columns, *(frame[name] for name in self.schema.kept)]), words)

    def measured(
        self,
        coded: CodedFile,
        persons_of_code: Mapping[str, NDArray[np.int64]],
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[Risk, RiskSpread]:
        """The risk, and how it is spread; every bucket is counted by itself, and persons over all of them."""
        n_persons = coded.n_persons
        alone: dict[str, NDArray[np.bool_]] = {}
        risk_of_person, is_unique = np.zeros(n_persons), np.zeros(n_persons, np.bool_)
        shown_by_person = np.zeros(n_persons, np.uint64)
        risks, spreads = [], []
        for frame in filter(len, map(self.buckets.filled().bucket, range(2**self.buckets.bits))):
            who, seen = self._seen(frame, coded)
            counts = seen.counts(SPREAD_NEEDS)
            own_risk = record_risk_of_persons(seen, counts)
            risk_of_person[who] = np.maximum(risk_of_person[who], own_risk)
            if weights is not None:
                _add_shown(shown_by_person, frame[self.person].to_numpy(), frame[SHOWN].to_numpy())
            is_unique[who[seen.who_is_alone(counts.persons == 1)]] = True
            for key, is_alone in who_is_alone(seen, frame, self.schema, is_release=False).items():
                alone.setdefault(key, np.zeros(n_persons, np.bool_))[who[is_alone]] = True
            risks.append(risk_of_counts(counts))
            spreads.append(spread_of_counts(counts, own_risk))
        risk = replace(
            risks_together(risks), persons=n_persons, unique_persons=int(is_unique.sum()),
            alone_by={key: int(persons.sum()) for key, persons in alone.items()},
            population=None if weights is None else _population(shown_by_person, weights),
        )  # fmt: skip
        blind = {name: float(persons.max() / n_persons) for name, persons in persons_of_code.items()}
        return risk, spreads_together(spreads, blind, over_persons(risk_of_person))

    def _seen(self, frame: pl.DataFrame, coded: CodedFile) -> tuple[NDArray[np.int64], Observation]:
        """The persons of a bucket, their groups and their values."""
        group, shown = counting.number_distinct(frame[SHOWN].to_numpy().view(np.int64))
        who, person = np.unique(frame[self.person].to_numpy(), return_inverse=True)
        sensitive = {
            name: replace(column, codes=frame[f"sensitive-{at}"].to_numpy())
            for at, (name, column) in enumerate(coded.domain.sensitive.items())
        }
        return who, Observation(group, len(shown), person.astype(np.int32), len(who), sensitive)


def _add_shown(shown_by_person: NDArray[np.uint64], person: NDArray[np.integer], word: NDArray[np.uint64]) -> None:
    """Add what records show to their persons, each different thing once: who shows the same has the same sum."""
    pairs = pl.DataFrame({"person": person, "word": word}).unique()
    mixed = (pairs["word"].to_numpy() ^ MIXED_BY) * MIXED_BY
    mixed ^= mixed >> np.uint64(29)
    np.add.at(shown_by_person, pairs["person"].to_numpy(), mixed * np.uint64(0xBF58476D1CE4E5B9))


def _population(shown_by_person: NDArray[np.uint64], weights: NDArray[np.float64]) -> PopulationRisk:
    """The risk of a sample, by the classes of persons who show the same in all their records."""
    _, of_person = np.unique(shown_by_person, return_inverse=True)
    of_person = of_person.reshape(-1)
    persons = np.bincount(of_person)
    return risk_of_classes(persons, sums_of(weights, of_person, len(persons)))


def _once_more(source: FileSource | _CsvSource, seen: _Seen, columns: Sequence[str]) -> Iterator[SeenValues]:
    """All portions of a published file once more: persons, groups and some columns."""
    schema = seen.schema
    needed = dict.fromkeys([*schema.quasi_names, *([schema.person] if schema.person is not None else []), *columns])
    n_before = 0
    for frame in source.portions(list(needed)):
        yield SeenValues(seen.persons_in(frame, n_before), seen.groups_in(frame), frame)
        n_before += len(frame)


def _seen(source: FileSource | _CsvSource, schema: Schema, *, by_group: bool = False) -> _Seen:
    """Look at all portions of a published file."""
    seen = _Seen(schema, source, by_group=by_group)
    for frame in source.portions():
        seen.add(frame)
    return seen


def _opened(path: Path, csv: CsvOptions | None, portion: int) -> FileSource | _CsvSource:
    if format_of(path).is_text:
        return _CsvSource(path, csv or CsvOptions())
    return FileSource.of_parquet(path, portion=portion)


def _refuse_absent(source: FileSource | _CsvSource, schema: Schema) -> None:
    if not schema.links_records or schema.has_episodes:
        raise SchemaError(
            "The release does not show which records are one person's; it is counted in memory: use shoal.verify."
        )
    names = source.schema.names()
    absent = sorted(name for name in schema.published() if name not in names)
    if absent:
        raise SchemaError(
            f"The published table lacks {len(absent)} of the schema's columns: {', '.join(absent)}."
            f"{did_you_mean(absent[0], names)}"
        )


class _CsvSource:
    """A published CSV file, read block by block each time."""

    def __init__(self, path: Path, options: CsvOptions) -> None:
        self.path, self.options = path, options
        self.schema = pl.Schema(dict.fromkeys(read_csv_blocks(path, options).names, pl.String()))

    def portions(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The records in blocks, in their order."""
        for frame in read_csv_blocks(self.path, self.options).frames:
            yield frame if columns is None else frame.select(columns)


@dataclass
class _Numbering:
    """Numbers different keys in the order in which they first appear, portion by portion."""

    slots: NDArray[np.int32]
    keys: NDArray[np.int64]
    n: int = 0

    @classmethod
    def empty(cls) -> _Numbering:
        return cls(np.empty(0, np.int32), np.empty(0, np.int64))

    def number(self, keys: NDArray[np.int64]) -> NDArray[np.int32]:
        numbers, self.slots, self.keys, self.n = counting.number_more(keys, self.slots, self.keys, self.n)
        return numbers


class _Column:
    """Gives equal values of a column equal 64-bit words, the same in every portion."""

    def __init__(self) -> None:
        self._texts = pl.Categorical(pl.Categories.random("shoal"))
        self._anchor = pl.Series([""]).cast(self._texts)  # polars forgets categories that no column has

    def words(self, values: pl.Series) -> NDArray[np.int64]:
        """Words of the values; a missing value has a word of its own."""
        if values.dtype in (pl.Categorical, pl.Enum):
            values = values.cast(pl.String)
        if values.dtype == pl.String:
            return values.cast(self._texts).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        if values.dtype.is_float():
            values = values.fill_nan(None) + 0.0  # -0.0 and 0.0 are equal
        return values.cast(pl.String).cast(self._texts).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


class _Seen:
    """What has been seen of a published file so far.

    With `by_group` somebody who is seen in several groups counts in each with the records there, as somebody else:
    else the group where they were seen first counts, and that they were seen elsewhere is noted.
    """

    def __init__(self, schema: Schema, source: FileSource | _CsvSource, *, by_group: bool) -> None:
        self.schema, self.by_group = schema, by_group
        self.weights = PersonWeights(schema.weight) if schema.weight in source.schema.names() else None
        self.members = _Numbering.empty()
        self.persons, self.groups = _Numbering.empty(), _Numbering.empty()
        self.person_names = _Column()
        self.labels = {name: _Column() for name in schema.quasi_names}
        self.words_of_group = np.zeros((0, len(self.labels)), np.int64)
        self.group_of_person = np.full(0, -1, np.int32)
        self.is_in_several = np.zeros(0, np.bool_)
        self.records_of_person = np.zeros(0, np.int64)
        self.values = _values_of(schema, source)
        columns = {name: self._coded(name, values) for name, values in self.values.items()}
        self.sensitive = columns
        self.pairs = {name: PairCounts(column.n_codes) for name, column in columns.items()}
        self.records_of_code = {name: np.zeros(column.n_codes, np.int64) for name, column in columns.items()}
        self.n_records = 0

    def add(self, frame: pl.DataFrame) -> None:
        """See a portion of the published records."""
        person = self.persons_in(frame, self.n_records)
        group = self.groups_in(frame)
        n_persons = self.n_records + len(frame) if self.schema.person is None else self.persons.n
        if self.by_group:
            person = self.members.number((person.astype(np.int64) << 32) | group)
            n_persons = self.members.n
        if self.weights is not None:
            self.weights.see(frame[self.weights.name], person)
        self._make_room(n_persons)
        counting.add_groups_of_persons(group, person, self.group_of_person, self.is_in_several)
        self.records_of_person[:n_persons] += np.bincount(person, minlength=n_persons)
        for name, values in self.values.items():
            coded = self._coded(name, pl.concat([frame[name], values]))
            codes = coded.codes[: len(frame)]
            self.pairs[name].add(person, codes)
            self.records_of_code[name] += np.bincount(codes, minlength=coded.n_codes)
        self.n_records += len(frame)

    def _coded(self, name: str, values: pl.Series) -> CategoryColumn:
        return category_column(values, spelling=self.schema.spelling_of(name))

    @property
    def n_persons(self) -> int:
        """How many persons have been seen; by group, how many in each together."""
        if self.by_group:
            return self.members.n
        return self.n_records if self.schema.person is None else self.persons.n

    def person_of(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The persons of some numbers."""
        return self.members.keys[numbers] >> 32 if self.by_group else numbers

    def persons_in(self, frame: pl.DataFrame, n_before: int) -> NDArray[np.int32]:
        """The person of each record of a portion that stands behind so many records."""
        if self.schema.person is None:
            return np.arange(n_before, n_before + len(frame), dtype=np.int32)
        names = frame[self.schema.person]
        if names.null_count():
            raise SchemaError(f"The person column '{self.schema.person}' is missing in published records.")
        lengths = names.str.len_bytes() if names.dtype == pl.String else None
        if lengths is not None and lengths.min() == lengths.max() == PSEUDONYM_BYTES:
            words = names.cast(pl.Binary).bin.reinterpret(dtype=pl.Int64, endianness="little").to_numpy()
            if are_one_only_where_equal(words, self.schema.spelling_of(self.schema.person)):
                return self.persons.number(words)
        raise SchemaError(
            f"The person column '{self.schema.person}' does not hold pseudonyms of shoal's. Verify the file in memory."
        )

    def groups_in(self, frame: pl.DataFrame) -> NDArray[np.int32]:
        """Groups by what they show; that records of equal keys show the same is looked up."""
        columns = [column.words(frame[name]) for name, column in self.labels.items()]
        key = np.zeros(len(frame), np.uint64)
        for column in columns:
            key = (key ^ column.astype(np.uint64)) * MIXED_BY
            key ^= key >> np.uint64(32)
        words = np.stack(columns, axis=1)
        known = self.groups.n
        group = self.groups.number(key.view(np.int64))
        if self.groups.n > known:
            more = np.zeros((self.groups.n - known, words.shape[1]), np.int64)
            is_new = group >= known
            more[group[is_new] - known] = words[is_new]
            self.words_of_group = np.concatenate([self.words_of_group, more])
        if not np.array_equal(self.words_of_group[group], words):
            raise InputError("Groups of the published file cannot be told apart. Run again.")  # a chance of 2^-64
        return group

    def _make_room(self, n_persons: int) -> None:
        more = n_persons - len(self.group_of_person)
        if more > 0:
            more = max(more, len(self.group_of_person) // 2)
            self.group_of_person = np.append(self.group_of_person, np.full(more, -1, np.int32))
            self.is_in_several = np.append(self.is_in_several, np.zeros(more, np.bool_))
            self.records_of_person = np.append(self.records_of_person, np.zeros(more, np.int64))

    def summed_up(self) -> SummaryTable:
        """The persons and their values. Counting ends with this."""
        if not self.n_records:
            raise InputError("The published table has no records.")
        n = self.n_persons
        return SummaryTable(
            schema=self.schema,
            frame=pl.DataFrame(),
            kind_of_frame="polars",
            person_of_record=np.zeros(0, np.int32),
            n_persons=n,
            quasi={},
            sensitive=self.sensitive,
            n_records_summed=self.n_records,
            records_summed=self.records_of_person[:n],
            lists={name: self.pairs.pop(name).lists(n) for name in self.sensitive},
            counts_of_code=self.records_of_code,
        )


def _values_of(schema: Schema, source: FileSource | _CsvSource) -> dict[str, pl.Series]:
    """The different values of each sensitive attribute."""
    if not schema.sensitive:
        return {}
    names = list(schema.sensitive)
    if isinstance(source, FileSource):
        return {name: source.collected(source.scan.select(pl.col(name).unique())).to_series() for name in names}
    values = {name: pl.Series(name, [], dtype=pl.String) for name in names}
    for frame in source.portions(names):
        values = {name: pl.concat([known, frame[name].unique()]).unique() for name, known in values.items()}
    return values
