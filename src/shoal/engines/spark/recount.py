"""The verdict and the risk of a table, recounted by executors from what it shows and from nothing else.

Records of one group are brought together by a hash of what they show. Each executor counts its groups with the
library's own counts and asks the library's own models, in whole numbers; what comes to the driver is how many groups
break each model, and the least safe value reached. That nobody is in two groups is counted too.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.engines.spark.read import (
    SensitiveFacts,
    facts_of_counts,
    frame_of,
    mapped_by,
    quoted,
    sensitive_facts,
    with_spelled,
)
from shoal.judging.alone import (
    COUNT,
    KEPT,
    TIME,
    TIME_OF_DAY,
    Alone,
    AloneLimit,
    keeps_time_of_day,
    key_of,
    look_for_alone,
    look_for_alone_apart,
    together,
)
from shoal.judging.observation import Observation
from shoal.judging.population import risk_of_classes
from shoal.judging.population_table import with_weights
from shoal.judging.recount import (
    IDENTITIES_VISIBLE,
    RECORDS_BOUNDED,
    TAKEN_AS_PERMUTED,
    count_apart,
    groups_are_alike,
    notes_on_records,
    problems_of_columns,
    problems_of_records,
    problems_of_spread,
    told_by_records,
    without_spread,
)
from shoal.judging.risk import NEEDS, Risk, risk_of_counts, risks_together
from shoal.judging.values_apart import count_linked, names_of_counts, observe_linked
from shoal.judging.verdict import NOT_SHOWN, PUBLISHED_TABLE, TABLE, Verdict, judge, judged_together
from shoal.masking import Mask
from shoal.measuring.spread import CLASS_ENDS, SPREAD_NEEDS, RiskSpread, spread_of_risk, spreads_together
from shoal.models.contract import Model
from shoal.models.counts import VALUE_TABLES, GroupCounts, ValueCounts
from shoal.table.columns import category_column
from shoal.table.own_columns import GROUP, PERSONS
from shoal.table.sample import Sample
from shoal.table.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RECORDS_PER_BUCKET = 300_000
"""About how many records an executor counts at a time."""

BUCKET, KIND, OWN_RECORDS = "_shoal_bucket", "_shoal_kind", "_shoal_records"
PUBLISHED, LINKED = "release", "linked"


@dataclass(frozen=True)
class Apart:
    """The tables beside a published one whose attributes are published apart, and what the steward keeps of them."""

    mask: type[Mask]
    tables: Mapping[str, DataFrame]
    linked: DataFrame | None = None


def recount(
    published: DataFrame,
    schema: Schema,
    models: Sequence[Model],
    *,
    n_records: int,
    apart: Apart | None = None,
    is_release: bool = True,
    limit: AloneLimit | None = None,
    persons_of_value: Mapping[str, NDArray[np.int64]] | None = None,
) -> tuple[Risk, Verdict, RiskSpread | None]:
    """The risk and the verdict of a published table, or (`is_release` False) of a table as it is.

    With `persons_of_value`, how many persons of the whole table have each sensitive value, it is told too how the risk
    is spread.

    About `n_records` records are expected; the number decides on how many parts are counted, and on nothing else. A
    release in which more persons than `limit` says are alone in their group by what else leaves does not hold.
    """
    mask = Mask if apart is None else apart.mask
    problems = problems_of_columns(published.columns, schema, mask=mask) if is_release else []
    n_buckets = max(1, math.ceil(n_records / RECORDS_PER_BUCKET))
    if apart is None:
        whole = _whole(published, schema, models)
        told = _told_by_buckets(
            published, schema, models, whole, n_buckets, is_release=is_release,
            with_spread=persons_of_value is not None,
        )  # fmt: skip
        risk, alone, on_persons, several = _risk(told), together([part.alone for part in told]), None, 0
        if schema.person is not None:
            persons, several = _persons_and_groups(published, schema)
            if several and is_release:
                problems.append(f"{several:,} of {persons:,} persons have records in more than one group.")
            if several:
                unique, alone_by = _alone(published, schema)
                risk = replace(risk, persons=persons, unique_persons=unique, alone_by=alone_by)
            if several and persons_of_value is not None:
                on_persons = _over_persons(published, schema)
        of_groups, weights = _groups(told)
        if weights is not None and not several:  # who shows several things is alike to who shows just these
            risk = replace(risk, population=risk_of_classes(of_groups, weights))
        spread = _spread(told, persons_of_value, risk.persons, on_persons)
        verdict = _together(models, told, PUBLISHED_TABLE if is_release else TABLE, problems, ())
        return risk, (limit or AloneLimit()).judged(verdict, alone, schema) if is_release else verdict, spread
    if schema.person in published.columns and _persons_twice(published, schema):
        problems.append(
            f"A permuted table has one record per person, but '{schema.person}' names persons more than once."
        )
    told, notes = _told_apart(published, schema, models, apart, n_buckets, with_spread=persons_of_value is not None)
    risk = _with_identities(_risk(told), published, schema)
    if IDENTITIES_VISIBLE in notes:
        problems += problems_of_spread(models, risk)
        problems += problems_of_records({name: table.columns for name, table in apart.tables.items()})
    verdict = _together(models, told, PUBLISHED_TABLE, problems, notes)
    verdict = (limit or AloneLimit()).judged(verdict, together([part.alone for part in told]), schema)
    return risk, verdict, _spread(told, persons_of_value, risk.persons, None)


def _whole(published: DataFrame, schema: Schema, models: Sequence[Model]) -> dict[str, SensitiveFacts]:
    """The values of the whole table, where a model compares groups with it."""
    if not any(model.needs & VALUE_TABLES for model in models):
        return {}
    return {
        name: sensitive_facts(published, name, schema.spelling_of(name), schema.person) for name in schema.sensitive
    }


def _persons_twice(published: DataFrame, schema: Schema) -> bool:
    """Whether a permuted table names somebody more than once."""
    assert schema.person is not None
    return bool(published.groupBy(quoted(schema.person)).count().filter("count > 1").head(1))


def _shown(published: DataFrame, schema: Schema) -> list[Column]:
    """What tells groups apart."""
    return _compared(published, schema.quasi_names)


def _compared(published: DataFrame, names: Sequence[str]) -> list[Column]:
    """Columns by which values are told apart; of floats -0.0 is 0.0."""
    from pyspark.sql import functions
    from pyspark.sql.types import DoubleType, FloatType

    columns = []
    for name in names:
        column = quoted(name)
        if isinstance(published.schema[name].dataType, DoubleType | FloatType):
            column = functions.when(~functions.isnan(column), column + functions.lit(0.0)).alias(name)
        columns.append(column)
    return columns


def _persons_and_groups(published: DataFrame, schema: Schema) -> tuple[int, int]:
    """How many persons there are, and how many of them have records in several groups."""
    from pyspark.sql import functions

    assert schema.person is not None
    person = quoted(schema.person).alias("_shoal_person")
    pairs = published.select(person, *_shown(published, schema)).distinct()
    groups = pairs.groupBy("_shoal_person").count()
    found = groups.agg(functions.count("*"), functions.count_if(functions.col("count") > 1)).first()
    assert found is not None
    return int(found[0]), int(found[1])


def _alone(published: DataFrame, schema: Schema) -> tuple[int, dict[str, int]]:
    """How many different persons are alone in some group, and by what else, where persons may be in several."""
    from functools import reduce

    from pyspark.sql import functions

    assert schema.person is not None
    forms = {name: schema.spelling_of(name) for name in schema.sensitive if _is_text(published, name)}
    published = with_spelled(published, {name: form for name, form in forms.items() if form != "exact"})
    person = quoted(schema.person)
    groups = _shown(published, schema)
    counted = published.groupBy(*groups, person).agg(functions.count("*").alias(OWN_RECORDS))
    looks = {"": (published, []), COUNT: (counted, [OWN_RECORDS])}
    looks |= {KEPT: (published, list(schema.kept))} if schema.kept else {}
    looks |= {key_of(name): (published, [name]) for name in schema.sensitive}
    looks |= {TIME: (published, [schema.time])} if schema.time is not None else {}
    if schema.time is not None and keeps_time_of_day(schema):
        of_day = functions.date_format(quoted(schema.time), "HH:mm:ss.SSSSSS")
        looks[TIME_OF_DAY] = (published.withColumn(OWN_RECORDS, of_day), [OWN_RECORDS])
    owners = [
        frame.groupBy(*_shown(frame, schema), *_compared(frame, columns))
        .agg(functions.min(person).alias("_first"), functions.max(person).alias("_last"))
        .filter("_first = _last")
        .select(functions.lit(key).alias("_key"), "_first")
        for key, (frame, columns) in looks.items()
    ]
    alone = reduce(lambda first, second: first.unionAll(second), owners).distinct().groupBy("_key").count().collect()
    found = {row["_key"]: int(row["count"]) for row in alone}
    return found.get("", 0), {key: found.get(key, 0) for key in looks if key}


def _is_text(frame: DataFrame, name: str) -> bool:
    from pyspark.sql.types import StringType

    return isinstance(frame.schema[name].dataType, StringType)


@dataclass(frozen=True)
class _Told:
    """What one bucket of groups tells: risks as sums and extremes, and the verdict of each model."""

    risk: Risk
    verdict: Verdict
    by_records: dict[str, tuple[int, int]]
    """What numbers of records tell, where attributes are published apart (`told_by_records`)."""
    alone: Alone
    spread: RiskSpread | None
    persons: NDArray[np.int64]
    """How many persons each group has."""
    weights: NDArray[np.float64] | None
    """The sum of their weights, where records have them."""


def _told_by_buckets(
    published: DataFrame,
    schema: Schema,
    models: Sequence[Model],
    whole: Mapping[str, SensitiveFacts],
    n_buckets: int,
    *,
    is_release: bool,
    with_spread: bool,
) -> list[_Told]:
    from pyspark.sql import functions

    bucket = functions.pmod(functions.xxhash64(*_shown(published, schema)), functions.lit(n_buckets)).alias(BUCKET)
    others = [name for name in (schema.person, schema.time) if name is not None]
    used = [*schema.quasi_names, *schema.sensitive, *schema.kept, *others]
    rows = published.select(bucket, *map(quoted, used))
    needs = (SPREAD_NEEDS if with_spread else NEEDS).union(*(model.needs for model in models))
    asked = tuple(models)

    def tell(frame: pl.DataFrame) -> _Told:
        seen = Observation.of_frame(frame, schema)
        counts = seen.counts(needs)
        spread = spread_of_risk(seen, counts) if with_spread else None
        values = {
            name: _in_whole(counted, frame[name], whole[name]) if name in whole else counted
            for name, counted in counts.values.items()
        }
        counts = replace(counts, values=values)
        if schema.weight is not None:
            counts = with_weights(counts, seen, Sample(frame[schema.weight].cast(pl.Float64).to_numpy()))
        alone = look_for_alone(seen, frame, schema, is_release=is_release, by_column=True)
        return _tell(counts, judge(asked, counts, checked_from=PUBLISHED_TABLE), alone, spread)

    return _collected(rows, tell)


def _told_apart(
    published: DataFrame, schema: Schema, models: Sequence[Model], apart: Apart, n_buckets: int, *, with_spread: bool
) -> tuple[list[_Told], list[str]]:
    """What buckets tell of tables that publish attributes apart: the rows of a group in all tables come together."""
    from functools import reduce

    from pyspark.sql import functions

    whole = {name: _whole_apart(published, schema, name, apart) for name in schema.sensitive}
    parts = [(PUBLISHED, published), *apart.tables.items()]
    parts += [(LINKED, apart.linked)] if apart.linked is not None else []
    shown = [frame.withColumn(KIND, functions.lit(f"{number}")) for number, (_, frame) in enumerate(parts)]
    columns_of_part = [(name, frame.columns) for name, frame in parts]
    rows = reduce(lambda first, second: first.unionByName(second, allowMissingColumns=True), shown)
    rows = rows.withColumn(BUCKET, functions.pmod(functions.xxhash64(quoted(GROUP)), functions.lit(n_buckets)))
    needs = NEEDS.union(*(model.needs for model in models))
    asked, mask = tuple(models), apart.mask

    def tell(frame: pl.DataFrame) -> _Told:
        own = {
            name: frame.filter(pl.col(KIND) == f"{number}").select(columns)
            for number, (name, columns) in enumerate(columns_of_part)
        }
        quasi, linked = own.pop(PUBLISHED), own.pop(LINKED, None)
        counts, problems = count_apart(quasi, schema, own, mask=mask)
        is_visible = not groups_are_alike(quasi, schema)
        values = {
            name: _in_whole(counted, own.get(name, quasi)[name], whole[name]) for name, counted in counts.values.items()
        }
        counts = replace(counts, values=values)
        judged = without_spread(counts) if is_visible else counts
        verdict = judge(asked, judged, checked_from=PUBLISHED_TABLE, problems=problems)
        hides_records = "records" not in counts.known
        if linked is not None and (hides_records or any(model.checked_from == NOT_SHOWN for model in verdict.models)):
            kept, misfits = count_linked(linked, schema, needs, published=counts)
            problems = [*problems, *misfits]
            kept = without_spread(kept) if kept is not None and is_visible else kept
            verdict = judge(asked, judged, checked_from=PUBLISHED_TABLE, problems=problems, steward=kept)
            counts = replace(counts, records=kept.records) if hides_records and kept is not None else counts
        spread = spread_of_risk(observe_linked(linked, schema)) if with_spread and linked is not None else None
        return _tell(counts, verdict, look_for_alone_apart(counts, quasi, schema, by_column=True), spread)

    told = _collected(rows, tell)
    names = [quoted(name) for name in schema.quasi_names]
    n_alike = published.select(quoted(GROUP), *names).distinct().count()
    notes = [] if n_alike == sum(part.risk.groups for part in told) else [IDENTITIES_VISIBLE]
    notes += [] if mask.has_tables else [TAKEN_AS_PERMUTED]
    notes += notes_on_records(_by_records(told), sum(part.risk.persons for part in told))
    hides_records = any(names_of_counts(table.columns)[1] == PERSONS for table in apart.tables.values())
    return told, [*notes, *([RECORDS_BOUNDED] if hides_records and apart.linked is None else [])]


def _by_records(told: Sequence[_Told]) -> dict[str, tuple[int, int]]:
    """What numbers of records tell in all buckets."""
    names = dict.fromkeys(name for part in told for name in part.by_records)
    found = {name: [part.by_records[name] for part in told if name in part.by_records] for name in names}
    return {name: (sum(values for values, _ in of), sum(persons for _, persons in of)) for name, of in found.items()}


def _whole_apart(published: DataFrame, schema: Schema, name: str, apart: Apart) -> SensitiveFacts:
    """The values of an attribute in the whole table, from the table that counts them or from the permuted one."""
    from pyspark.sql import functions

    if name not in apart.tables:
        return sensitive_facts(published, name, schema.spelling_of(name))
    table = apart.tables[name]
    persons, records = names_of_counts(table.columns)
    counted = table.groupBy(quoted(name).alias("value")).agg(
        functions.sum(records).alias("records"), functions.sum(persons).alias("persons")
    )
    return facts_of_counts(frame_of(counted.toArrow()), name, schema.spelling_of(name))


def _in_whole(counted: ValueCounts, values: pl.Series, whole: SensitiveFacts) -> ValueCounts:
    """Counts whose values are those of the whole table, in its order."""
    own = category_column(values, spelling=whole.spelling)
    code_of_own = np.append(whole.codes(own.categories), len(whole.categories)).astype(np.int64)
    start, value, records, persons = counted.lists
    value = code_of_own[value]
    order = np.lexsort((value, counted.group_of_entry))
    pair_value = None if counted.pair_value is None else code_of_own[counted.pair_value]
    n_codes = len(whole.categories) + 1
    return replace(
        counted, start_of_group=start, value=value[order], records=records[order], persons=persons[order],
        pair_value=pair_value, records_in_table=_padded(whole.records, n_codes),
        persons_in_table=_padded(whole.persons, n_codes),
    )  # fmt: skip


def _padded(counts: Any, n: int) -> Any:
    return np.concatenate([counts, np.zeros(n - len(counts), np.int64)])


def _tell(counts: GroupCounts, verdict: Verdict, alone: Alone, spread: RiskSpread | None) -> _Told:
    weights = None if counts.population is None else counts.population.weights
    return _Told(risk_of_counts(counts), verdict, told_by_records(counts), alone, spread, counts.persons, weights)


def _collected(rows: DataFrame, tell: Callable[[pl.DataFrame], _Told]) -> list[_Told]:
    """What every bucket tells."""

    def make(_: int, arrow: Any) -> Any:
        import pyarrow as pa

        frame = frame_of(arrow).drop(BUCKET)
        try:
            told = pickle.dumps(tell(frame))
        except Exception as error:  # its message may show values of the table
            raise RuntimeError(f"unexpected {type(error).__name__} while groups were recounted") from None
        return pa.table({"told": pa.array([told], pa.binary())})

    return [pickle.loads(row["told"]) for row in mapped_by(rows, BUCKET, make, "told binary").collect()]


def _together(
    models: Sequence[Model], told: Sequence[_Told], checked_from: str, problems: Sequence[str], notes: Sequence[str]
) -> Verdict:
    """The verdict of all buckets."""
    parts = [part.verdict.models for part in told]
    verdicts = judged_together(models, parts, checked_from, groups=GroupCounts.of_persons(*_groups(told)))
    found = [problem for part in told for problem in part.verdict.problems]
    n_groups = sum(part.risk.groups for part in told)
    return Verdict(verdicts, n_groups, (*problems, *dict.fromkeys(found)), tuple(notes))


def _groups(told: Sequence[_Told]) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """The persons of every group, and the sum of their weights where records have them."""
    weights = [part.weights for part in told if part.weights is not None]
    persons = np.concatenate([part.persons for part in told])
    return persons, np.concatenate(weights) if weights else None


def _risk(told: Sequence[_Told]) -> Risk:
    risk = risks_together([part.risk for part in told])
    return replace(risk, alone_by=dict(together([part.alone for part in told]).by))


def _spread(
    told: Sequence[_Told],
    persons_of_value: Mapping[str, NDArray[np.int64]] | None,
    n_persons: int,
    on_persons: tuple[tuple[int, ...], float] | None,
) -> RiskSpread | None:
    """How the risk is spread in all buckets."""
    parts = [part.spread for part in told if part.spread is not None]
    if not parts or persons_of_value is None:
        return None
    blind = {name: float(persons.max() / n_persons) for name, persons in persons_of_value.items()}
    return spreads_together(parts, blind, on_persons)


def _over_persons(published: DataFrame, schema: Schema) -> tuple[tuple[int, ...], float]:
    """Persons by their record risk, and its mean, where somebody may stand in several groups: the largest counts."""
    from pyspark.sql import Window, functions

    assert schema.person is not None
    person, own = quoted(schema.person).alias("_shoal_person"), functions.col(OWN_RECORDS)
    counted = published.groupBy(*_shown(published, schema), person).agg(functions.count("*").alias(OWN_RECORDS))
    of_group = functions.sum(OWN_RECORDS).over(Window.partitionBy(*map(quoted, schema.quasi_names)))
    shares = counted.select("_shoal_person", (own / of_group).alias("share"))
    most = shares.groupBy("_shoal_person").agg(functions.max("share").alias("share"))
    place = sum((functions.col("share") > float(end)).cast("int") for end in CLASS_ENDS)
    rows = most.groupBy(place.alias("place")).agg(functions.count("*"), functions.sum("share")).collect()  # type: ignore[union-attr]
    classes = [0] * (len(CLASS_ENDS) + 1)
    for at, n, _ in rows:
        classes[at] = n
    return tuple(classes), math.fsum(row[2] for row in rows) / sum(classes)


def _with_identities(risk: Risk, published: DataFrame, schema: Schema) -> Risk:
    """The risk of being found by quasi-identifiers, which need not be alike inside a group here."""
    from pyspark.sql import functions

    alike = published.groupBy(*_shown(published, schema)).count()
    found = alike.agg(functions.min("count"), functions.count("*"), functions.count_if(functions.col("count") == 1))
    fewest, n_alike, n_alone = found.first()  # type: ignore[misc]
    largest = 1 / fewest
    return replace(
        risk, prosecutor_risk=largest, journalist_risk=largest, marketer_risk=n_alike / risk.persons,
        unique_persons=int(n_alone),
    )  # fmt: skip
