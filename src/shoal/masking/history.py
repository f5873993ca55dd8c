"""Histories as they are published: values hidden or coarsened and records left out until nobody is found by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import SchemaError, did_you_mean
from shoal.grouping.alike_histories import Measured, group_by_histories
from shoal.grouping.grouping import Grouping, Method, Rng
from shoal.judging.observation import Observation, ShownTimes
from shoal.masking.hidden_times import hide_times, of_times, without_times
from shoal.masking.histories import Demand, Histories, HistoryColumn, levels_shown
from shoal.masking.record_numbers import numbers_kept
from shoal.masking.times import masked_times
from shoal.models.contract import Model, listed
from shoal.models.counts import HISTORIES, VALUE_SUMMARIES, VALUE_TABLES
from shoal.models.histories import HIDDEN, Asked
from shoal.policy.history import History
from shoal.progress import Progress, silent
from shoal.table.columns import CategoryColumn, sensitive_columns
from shoal.table.table import Table


@dataclass(frozen=True, kw_only=True)
class ColumnShown:
    """What is shown of one column of histories, in records."""

    name: str
    n_records: int
    n_by_level: tuple[int, ...]
    """In how many records the value is shown as it is, as the node above, and so on."""
    hidden: int
    loss: float
    """The mean share of values that remain possible; a hidden value loses 1."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "as_it_is": self.n_by_level[0], "coarsened": list(self.n_by_level[1:]), "hidden": self.hidden,
            "loss": self.loss,
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class EpisodesShown:
    """Episodes as they are published."""

    cut: str
    """How records are cut: "90 days", or "5 records"."""
    episodes: int
    persons: int
    most: int
    """The most episodes that one person has."""

    @classmethod
    def of(cls, table: Table, cut: str) -> EpisodesShown:
        """Those of a table."""
        of_person = np.bincount(table.person_of_pseudonym, minlength=1)
        return cls(cut=cut, episodes=table.n_pseudonyms, persons=table.n_persons, most=int(of_person.max()))


def listed_numbers(numbers: Sequence[int]) -> str:
    """Such as "1, 2, 3 and 5"."""
    return listed([f"{number:,}" for number in numbers])


@dataclass(frozen=True, kw_only=True)
class HistoryShown:
    """What was done to histories, counted."""

    records: int
    """How many records there were."""
    left_out: int
    """How many of them were left out."""
    columns: tuple[ColumnShown, ...]
    episodes: EpisodesShown | None = None
    """How records were cut into episodes, where they were."""
    record_steps: tuple[int, ...] | None = None
    """To which numbers of records persons were sampled down, where they were."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            **({} if self.episodes is None else {"episodes": asdict(self.episodes)}),
            **({} if self.record_steps is None else {"record_steps": list(self.record_steps)}),
            "records": self.records,
            "records_left_out": self.left_out,
            "hidden": sum(column.hidden for column in self.columns),
            "coarsened": sum(sum(column.n_by_level[1:]) for column in self.columns),
            "columns": {column.name: column.to_dict() for column in self.columns},
        }

    def notes(self) -> list[str]:
        """What was done, in plain sentences."""
        notes = []
        if self.episodes is not None:
            notes.append(
                f"The records of {self.episodes.persons:,} persons are cut into {self.episodes.episodes:,} episodes "
                f"({self.episodes.cut}), at most {self.episodes.most:,} of one person, each under its own pseudonym."
            )
        if self.left_out:
            in_steps = "" if self.record_steps is None else f" Their numbers are {listed_numbers(self.record_steps)}."
            notes.append(
                f"{self.left_out:,} of {self.records:,} records were left out so that nobody is found by how many they "
                f"have, or because nothing of them could be shown.{in_steps}"
            )
        for column in self.columns:
            coarser = sum(column.n_by_level[1:])
            if coarser or column.hidden:
                told = [f"coarsened in {coarser:,}"] if coarser else []
                told += [f"hidden in {column.hidden:,}"] if column.hidden else []
                notes.append(
                    f"'{column.name}' is {' and '.join(told)} of {column.n_records:,} records, so that nobody is found "
                    "by their own records."
                )
        return notes


@dataclass(frozen=True)
class Masked:
    """A table with its histories masked."""

    kept: Table
    """The original values of the records that leave."""
    shown: Table
    """The same records with what is shown of their histories."""
    did: HistoryShown


def asked_of_histories(models: Sequence[Model]) -> list[Asked]:
    """What the models ask of histories."""
    return [asked for model in models if (asked := model.when_hiding().of_histories) is not None]


def changes_histories(models: Sequence[Model], history: History) -> bool:
    """Whether anything is done to histories before groups are masked."""
    return bool(asked_of_histories(models)) or history.cut is not None or history.record_steps is not None


def group_with_histories(
    method: Method,
    table: Table,
    of_groups: Sequence[Model],
    models: Sequence[Model],
    history: History,
    progress: Progress = silent,
    *,
    rng: Rng = None,
) -> Grouping:
    """The groups of the method; where models ask about histories, persons with alike ones lie together in them.

    Parameters
    ----------
    of_groups
        What groups must meet while they are formed, of `models`.
    """
    asked = [each for each in asked_of_histories(models) if each.with_quasi and each.k > 1]
    columns, with_counts = columns_of_histories(table, asked), any(each.of_counts for each in asked)
    if not (columns or with_counts) or not history.alike or method.is_one_for_all:
        return method.group(table, of_groups, progress, rng=rng)
    return group_by_histories(
        method, table, of_groups, columns, k=max(each.k for each in asked), weight=history.alike,
        with_counts=with_counts, hierarchies=history.hierarchies if "coarsen" in history.ways else {},
        measured=_what_is_lost(table, columns, asked, history), progress=progress, rng=rng,
    )  # fmt: skip


def _what_is_lost(table: Table, columns: Sequence[str], asked: Sequence[Asked], history: History) -> Measured | None:
    """How to measure what persons lose of histories in groups, by hiding them; None where one value is known at most.

    Whoever has values hidden loses as much per person and column as a quasi-identifier that is hidden.
    """
    known = [
        each
        for each in asked
        if not each.of_counts and each.knows in ("values", "records") and set(each.columns or ()) <= set(columns)
    ]
    if all(each.m < 2 for each in known):
        return None
    laid = {name: _Laid.of(table.sensitive[name], history) for name in columns}
    demands = _demands(known, columns)

    def lost(persons: NDArray[np.int64], group: NDArray[np.int64], n_groups: int) -> NDArray[np.float64]:
        place = np.full(table.n_persons, -1, np.int32)
        place[persons] = np.arange(len(persons))
        some = place[table.person_of_record] >= 0
        histories = Histories(
            group_of_person=group.astype(np.int32),
            n_groups=n_groups,
            person_of_record=place[table.person_of_record[some]],
            columns=tuple(replace(each.arrays, value_of_record=each.column.codes[some]) for each in laid.values()),
        )
        levels = levels_shown(histories, demands, is_quick=True)
        of_record = np.zeros(len(histories.person_of_record))
        for each, level in zip(laid.values(), levels, strict=True):
            of_record += each.losses()[level, each.column.codes[some]]
        of_group = np.bincount(histories.group_of_person[histories.person_of_record], of_record, minlength=n_groups)
        return np.asarray(of_group * (len(persons) / len(of_record)), np.float64)

    return lost


def _demands(asked: Sequence[Asked], names: Sequence[str], times: int = 1) -> list[Demand]:
    """What is asked of columns by their numbers, of so many times as many persons."""
    return [
        Demand(
            k=each.k * times, m=each.m, c=each.c, knows=each.knows, by_group=each.with_quasi,
            shares_hidden=each.shares_hidden, columns=tuple(names.index(name) for name in each.columns or names),
        )
        for each in asked
    ]  # fmt: skip


def mask_histories(
    table: Table, grouping: Grouping, models: Sequence[Model], history: History, progress: Progress = silent
) -> Masked:
    """Hide, coarsen and leave out what persons would be found by, until every model of histories holds.

    Groups stay as they are, and everybody keeps at least one record.
    """
    table = replace(table, views=None)
    everything = asked_of_histories(models)
    days = of_times(everything, table)
    asked = [each for each in everything if each not in days]
    history.refuse_unknown(table.schema)
    columns = columns_of_histories(table, asked)
    if everything:
        refuse_hidden_marks({name: table.frame[name] for name in table.sensitive})
    k = max((each.k for each in asked if each.of_counts), default=1)
    demands = [each for each in asked if not each.of_counts]
    laid = {name: _Laid.of(table.sensitive[name], history) for name in columns}
    times_k = np.ones(grouping.n_groups, np.int64)
    while True:
        levels, keep = _hidden(table, grouping, laid, demands, times_k, k, models, history, progress)
        masked = _masked(table, grouping, laid, levels, keep, days, history)
        while (coarse := _coarse_that_tell(masked.shown, grouping, models, laid, levels, keep)) is not None:
            for name, each in laid.items():
                levels[name][coarse & (levels[name] > 0)] = each.n_levels
            masked = _masked(table, grouping, laid, levels, keep, days, history)
        broken = _broken_by_persons(masked.shown, grouping, models)
        stricter = broken & (times_k <= table.n_records)
        if not stricter.any():
            return masked
        times_k[stricter] *= 2


def _hidden(
    table: Table,
    grouping: Grouping,
    laid: Mapping[str, _Laid],
    demands: Sequence[Asked],
    times_k: NDArray[np.int64],
    k: int,
    models: Sequence[Model],
    history: History,
    progress: Progress,
) -> tuple[dict[str, NDArray[np.int8]], NDArray[np.bool_]]:
    """The level at which each record shows each column, and which records leave."""
    keep = np.ones(table.n_records, np.bool_)
    together = [each for each in demands if each.shares_hidden and each.m > 1]
    has_counts = k > 1 or history.record_steps is not None or bool(together)
    is_quick = has_counts or "leave-out" in history.ways  # until it is known which records leave
    of_group = grouping.group_of_record(table)
    levels = {name: np.full(table.n_records, each.n_levels, np.int8) for name, each in laid.items()}
    anew = np.ones(grouping.n_groups, np.bool_)
    while True:  # records that are left out take their values with them, so that others may have to be hidden
        shown = _levels(table, grouping, laid, demands, keep & anew[of_group], times_k, progress, is_quick=is_quick)
        for name, level in shown.items():
            levels[name] = np.where(anew[of_group], level, levels[name])
        fewer = keep.copy()
        if "leave-out" in history.ways:
            fewer &= ~_nothing_left(table, laid, levels, keep)
        if has_counts:
            fewer = _counted(table, grouping, laid, levels, fewer, k, history.record_steps, models, together)
        if (fewer == keep).all():
            if not is_quick or not any(each.m > 1 for each in demands):
                return levels, keep
            is_quick = False
            anew[:] = True
        elif all(each.with_quasi for each in demands):
            anew = np.bincount(of_group[keep & ~fewer], minlength=grouping.n_groups) > 0
        keep = fewer


def _seen(shown: Table, grouping: Grouping, *, with_times: bool = False) -> list[Observation]:
    """What is shown, counted by person, and where persons have several pseudonyms by these too."""
    schema, times = shown.schema, None
    if with_times and schema.time is not None:
        times = ShownTimes(schema.time, masked_times(shown), schema.time_as == "shift")
    by_person = replace(Observation.of_groups(shown, grouping.group_of_person, grouping.n_groups), times=times)
    if shown.episode_of_record is None:
        return [by_person]
    episode = shown.episode_of_record
    by_episode = replace(by_person, person_of_record=episode, n_persons=shown.n_pseudonyms)
    return [replace(by_person, pseudonym_of_record=episode), by_episode]


def _broken_by_persons(shown: Table, grouping: Grouping, models: Sequence[Model]) -> NDArray[np.bool_]:
    """Groups in which a model of histories is broken, since pseudonyms were taken for persons when values were hidden.

    What is known together is shown by one pseudonym; how many show it are persons.
    """
    asked = [model for model in models if model.of_histories is not None]
    if shown.episode_of_record is None or not asked:
        return np.zeros(grouping.n_groups, np.bool_)
    counts = [seen.counts(HISTORIES) for seen in _seen(shown, grouping, with_times=True)]
    return ~np.logical_and.reduce([model.holds(each) for model in asked for each in counts])


def _coarse_that_tell(
    shown: Table,
    grouping: Grouping,
    models: Sequence[Model],
    laid: Mapping[str, _Laid],
    levels: Mapping[str, NDArray[np.int8]],
    keep: NDArray[np.bool_],
) -> NDArray[np.bool_] | None:
    """Records of groups in which a coarser value tells more than models of values allow; None where there are none.

    A node of a hierarchy may be that of nearly everybody where no value below it is. Hidden, it tells nothing, and what
    is left are values of which no more persons have one than before.
    """
    asked = [model for model in models if model.needs & (VALUE_SUMMARIES | VALUE_TABLES)]
    if not asked or not laid:
        return None
    holds = np.ones(grouping.n_groups, np.bool_)
    for seen in _seen(shown, grouping):
        counts = seen.counts(HISTORIES.union(*(model.needs for model in asked)))
        holds &= np.logical_and.reduce([model.holds(counts) for model in asked])
    is_coarse = np.zeros(len(keep), np.bool_)
    for name, each in laid.items():
        is_coarse |= (levels[name] > 0) & (levels[name] < each.n_levels)
    group_of_record = np.zeros(len(keep), np.int32)
    group_of_record[keep] = grouping.group_of_record(shown)
    found: NDArray[np.bool_] = keep & is_coarse & ~holds[group_of_record]
    return found if found.any() else None


def columns_of_histories(table: Table, asked: Sequence[Asked]) -> list[str]:
    """The sensitive columns that models of histories are about."""
    named: dict[str, None] = {}
    for each in asked:
        if each.of_counts:
            continue
        if each.columns is None and not table.sensitive:
            raise SchemaError("Models of histories ask about sensitive attributes, but none is named.")
        for name in table.sensitive if each.columns is None else each.columns:
            if name == table.schema.time:
                continue
            if name not in table.sensitive:
                known = list(table.sensitive)
                raise SchemaError(
                    f"A model of histories names '{name}', which is not sensitive. Sensitive are: {', '.join(known)}."
                    f"{did_you_mean(name, known)}"
                )
            named[name] = None
    return list(named)


def refuse_hidden_marks(values: Mapping[str, pl.Series]) -> None:
    """Refuse values that read like those that are hidden, of columns of histories by name."""
    for name, column in values.items():
        if column.dtype in (pl.String, pl.Categorical, pl.Enum) and (column.cast(pl.String) == HIDDEN).any():
            raise SchemaError(
                f"'{name}' has the value that stands for a hidden one ({HIDDEN}). Write another, or leave such cells "
                "empty."
            )


@dataclass(frozen=True)
class _Laid:
    """A column of histories with the labels that it can show."""

    column: CategoryColumn
    arrays: HistoryColumn
    labels: tuple[pl.Series, ...]
    """What each code shows at each level above its own."""

    @classmethod
    def of(cls, column: CategoryColumn, history: History) -> _Laid:
        """A column with its hierarchy, if values may be coarsened by one; its root hides a value, and is left out."""
        values = [*column.categories.cast(pl.String), *([None] if column.has_missing else [])]
        hierarchy = history.hierarchies.get(column.name) if "coarsen" in history.ways else None
        if hierarchy is None:
            own = np.arange(len(values), dtype=np.int32)[None, :]
            return cls(column, HistoryColumn(column.codes, own, np.zeros((1, len(values)))), ())
        hierarchy.check_covers((value for value in values if value is not None), column=column.name)
        node_of_value, labels_of_level = hierarchy.codes(values)
        texts = [values] + [
            [labels[node] for node in node_of_value[:, level]]
            for level, labels in enumerate(labels_of_level[1:-1], start=1)
        ]
        number: dict[str | None, int] = {}
        nodes = np.array([[number.setdefault(text, len(number)) for text in level] for level in texts], np.int32)
        loss = hierarchy.shares(values)[:, : len(texts)].T
        labels = tuple(pl.Series(level, dtype=pl.String) for level in texts[1:])
        return cls(column, HistoryColumn(column.codes, nodes, np.ascontiguousarray(loss)), labels)

    @property
    def n_levels(self) -> int:
        """How many levels can be shown; the next one hides."""
        return len(self.arrays.node_of_value)

    def shown(self, values: pl.Series, codes: NDArray[np.int32], level: NDArray[np.int8]) -> pl.Series:
        """What records show at their levels; the column as it is where all show their value."""
        if not level.any():
            return values
        text = values.cast(pl.String)
        for at, labels in enumerate(self.labels, start=1):
            text = pl.select(pl.when(pl.Series(level == at)).then(labels.gather(codes)).otherwise(text)).to_series()
        hidden = pl.Series(level == self.n_levels)
        return pl.select(pl.when(hidden).then(pl.lit(HIDDEN)).otherwise(text)).to_series().rename(values.name)

    def losses(self) -> NDArray[np.float64]:
        """What each code loses at each level; hidden comes last."""
        return np.append(self.arrays.loss_of_level, np.ones((1, self.arrays.loss_of_level.shape[1])), axis=0)

    def lost(self, level: NDArray[np.int8], codes: NDArray[np.int32]) -> float:
        """What records lose on average."""
        return float(self.losses()[level, codes].mean()) if len(level) else 0.0

    def told(self, level: NDArray[np.int8], codes: NDArray[np.int32]) -> ColumnShown:
        """What records show, counted."""
        n_by_level = np.bincount(level, minlength=self.n_levels + 1)
        return ColumnShown(
            name=self.column.name,
            n_records=len(level),
            n_by_level=tuple(int(n) for n in n_by_level[: self.n_levels]),
            hidden=int(n_by_level[self.n_levels]),
            loss=self.lost(level, codes),
        )


def _levels(
    table: Table,
    grouping: Grouping,
    laid: Mapping[str, _Laid],
    asked: Sequence[Asked],
    keep: NDArray[np.bool_],
    times_k: NDArray[np.int64],
    progress: Progress,
    *,
    is_quick: bool,
) -> dict[str, NDArray[np.int8]]:
    """The level at which each record shows each column, of those that are kept; others are hidden.

    Where persons have several pseudonyms and more than single values may be known, pseudonyms are taken for persons.
    That asks for too few of them, so that groups ask for k so many times (`times_k`) as it takes.
    """
    names = list(laid)
    hidden = {name: np.full(table.n_records, each.n_levels, np.int8) for name, each in laid.items()}
    if not asked:
        for level in hidden.values():
            level[keep] = 0
        return hidden
    together = any(each.m > 1 or each.c is not None for each in asked)
    of_record, group = table.person_of_record, grouping.group_of_person
    if together:
        of_record, group = table.pseudonym_of_record, group[table.person_of_pseudonym]
    of_group = grouping.group_of_record(table)
    moments = _moments(table, keep) if any(each.knows in ("times", "order") for each in asked) else None
    for times in np.unique(times_k):
        of_some = keep & (times_k == times)[of_group]
        persons, person = np.unique(of_record[of_some], return_inverse=True)
        own = np.unique(group[persons])
        histories = Histories(
            group_of_person=np.searchsorted(own, group[persons]).astype(np.int32),
            n_groups=len(own),
            person_of_record=person.astype(np.int32),
            columns=tuple(replace(each.arrays, value_of_record=each.column.codes[of_some]) for each in laid.values()),
            time_of_record=None if moments is None else moments[of_some[keep]],
        )
        demands = _demands(asked, names, int(times))
        for name, level in zip(names, levels_shown(histories, demands, progress, is_quick=is_quick), strict=True):
            hidden[name][of_some] = level
    return hidden


def _moments(table: Table, keep: NDArray[np.bool_]) -> NDArray[np.int64] | None:
    """When records were, as it is published."""
    schema = table.schema
    if schema.time is None:
        return None
    kept = table if keep.all() else table.with_records(keep, "")
    return ShownTimes(schema.time, masked_times(kept), schema.time_as == "shift").moments(kept.pseudonym_of_record)


def _nothing_left(
    table: Table, laid: Mapping[str, _Laid], levels: Mapping[str, NDArray[np.int8]], keep: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Records of which nothing is shown, but for the last one that a person has."""
    nothing = keep.copy()
    for name, each in laid.items():
        nothing &= levels[name] == each.n_levels
    has_other = np.bincount(table.person_of_record[keep & ~nothing], minlength=table.n_persons) > 0
    by_person = np.lexsort((np.arange(table.n_records), table.person_of_record))
    first = np.zeros(table.n_records, np.bool_)
    hidden = by_person[nothing[by_person]]
    person = table.person_of_record[hidden]
    first[hidden[np.append(True, person[1:] != person[:-1])[: len(person)]]] = True
    return nothing & ~(first & ~has_other[table.person_of_record])


def _counted(
    table: Table,
    grouping: Grouping,
    laid: Mapping[str, _Laid],
    levels: Mapping[str, NDArray[np.int8]],
    keep: NDArray[np.bool_],
    k: int,
    steps: Sequence[int] | None,
    models: Sequence[Model],
    together: Sequence[Asked],
) -> NDArray[np.bool_]:
    """Fewer records for some, so that enough others have as many, in steps; those go first that show least."""
    pseudonym = table.pseudonym_of_record
    records = np.bincount(pseudonym[keep], minlength=table.n_pseudonyms)
    fewer = numbers_kept(table, grouping, records, k=k, steps=steps, models=models, hidden_together=together)
    loss = np.zeros(table.n_records)
    rarity = np.zeros(table.n_records)
    code = np.zeros(table.n_records, np.int64)
    for name, each in laid.items():
        loss += each.losses()[levels[name], each.column.codes]
        rarity -= np.bincount(each.column.codes, minlength=each.column.n_codes)[each.column.codes]
        code = code * each.column.n_codes + each.column.codes
    kept = np.flatnonzero(keep)
    order = kept[np.lexsort((code[kept], rarity[kept], loss[kept], pseudonym[kept]))]
    start = np.append(0, np.cumsum(records))[pseudonym[order]]
    left = np.zeros(table.n_records, np.bool_)
    left[order[np.arange(len(order)) - start < fewer[pseudonym[order]]]] = True
    return left


def _masked(
    table: Table,
    grouping: Grouping,
    laid: Mapping[str, _Laid],
    levels: Mapping[str, NDArray[np.int8]],
    keep: NDArray[np.bool_],
    days: Sequence[Asked],
    history: History,
) -> Masked:
    """The table with only the records that leave, as they are and as they are shown."""
    kept = table if keep.all() else table.with_records(keep, "")
    columns, told = [], []
    for name, each in laid.items():
        codes, level = each.column.codes[keep], levels[name][keep]
        columns.append(each.shown(kept.frame[name], codes, level))
        told.append(each.told(level, codes))
    if days:
        name = str(table.schema.time)
        hidden = hide_times(kept, grouping, days)
        columns.append(without_times(kept.frame[name], hidden))
        n_shown, n_hidden = int((~hidden).sum()), int(hidden.sum())
        told.append(
            ColumnShown(
                name=name, n_records=len(hidden), n_by_level=(n_shown,), hidden=n_hidden, loss=float(hidden.mean())
            )
        )
    frame = kept.frame.with_columns(columns)
    shown = replace(
        kept, frame=frame, sensitive=sensitive_columns(frame, table.schema), _values_of_persons={},
    )  # fmt: skip
    did = HistoryShown(
        records=table.n_records, left_out=int((~keep).sum()), columns=tuple(told),
        episodes=None if history.episode is None else EpisodesShown.of(kept, history.episode),
        record_steps=None if history.record_steps is None else tuple(history.record_steps),
    )  # fmt: skip
    return Masked(kept, shown, did)
