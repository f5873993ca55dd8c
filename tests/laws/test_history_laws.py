"""What every release with hidden histories obeys, recounted in plain Python from what is published."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError
from shoal.masks import History
from shoal.models import Model
from shoal.testing import check_model
from tests.naive import histories as naive

VALUES = ["a1", "a2", "a3", "b1", "b2", "c1"]
HIERARCHY = shoal.Hierarchy.from_rows([(value, value[0], "*") for value in VALUES])
WAYS = [("coarsen", "hide"), ("hide",), ("coarsen", "hide", "leave-out")]
RECORDS = st.lists(
    st.tuples(st.integers(0, 11), st.sampled_from([*VALUES, None]), st.sampled_from(["x", "y"]), st.integers(1, 4)),
    min_size=6,
    max_size=40,
)
ASKED: list[list[Model]] = [
    [shoal.HistoryK(k=2, m=1)],
    [shoal.HistoryK(k=3, m=2), shoal.RecordRisk(rho="0.6")],
    [shoal.HistoryK(k=2, m=2, knows="records", columns=["one", "two"])],
    [shoal.HistoryK(k=2, m=2, knows="order")],
    [shoal.HistoryK(k=2, m=1, knows="times"), shoal.CountK(k=2)],
    [shoal.HistoryK(k=2, m=1, with_quasi=False), shoal.PersonKAnonymity(k=2)],
    [shoal.HistoryConfidence(c="0.7", m=1), shoal.PersonKAnonymity(k=3)],
    [shoal.CountK(k=3)],
    [shoal.CountK(k=2), shoal.HistoryK(k=2, m=1), shoal.GBalance(g="0.4")],
]


def table_of(records: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"person": person, "age": 20 + 3 * person, "one": one, "two": two, "time": time}
         for person, one, two, time in records],
        schema={"person": pl.Int64, "age": pl.Int64, "one": pl.String, "two": pl.String, "time": pl.Int64},
    )  # fmt: skip


SCHEMA = shoal.Schema(person="person", quasi=["age"], sensitive=["one", "two"], time="time")


def holds(model: Model, rows: list[tuple[Any, ...]]) -> bool:
    """What the plain definition says of published rows (age, person, one, two, time)."""
    asked = model.of_histories
    assert asked is not None
    if asked.of_counts:
        return not naive.broken_counts(rows, k=asked.k)
    columns = [SCHEMA.sensitive.index(name) for name in asked.columns or SCHEMA.sensitive]  # type: ignore[attr-defined]
    c = None if asked.c is None else Fraction(asked.c)
    return naive.holds(rows, k=asked.k, m=asked.m, c=c, columns=columns, knows=asked.knows, by_group=asked.with_quasi)


@pytest.mark.parametrize("ways", WAYS, ids=" ".join)
@pytest.mark.parametrize("models", ASKED, ids=lambda models: " ".join(model.name for model in models))
@given(records=RECORDS)
@settings(max_examples=12)
def test_a_release_keeps_what_it_promises_of_histories(
    records: list[tuple[Any, ...]], models: list[Model], ways: tuple[Any, ...]
) -> None:
    frame = table_of(records)
    history = History(ways=ways, hierarchies={"one": HIERARCHY})
    try:
        release = shoal.protect(frame, SCHEMA, models, history=history, seed=1)
    except CannotSatisfyError:
        return
    shown = release.data
    rows = shown.select("age", "person", "one", "two", "time").rows()
    for model in models:
        if model.of_histories is not None:
            assert holds(model, rows), model.name
    assert shoal.verify(shown, SCHEMA, models).holds
    assert shown["person"].n_unique() == frame["person"].n_unique(), "everybody keeps a record"
    told = release.history
    assert told is not None
    assert told.left_out == frame.height - shown.height
    for column in told.columns:
        assert column.hidden == int((shown[column.name] == "*").sum())
        known = set(frame[column.name].drop_nulls())
        coarser = shown[column.name].drop_nulls().filter(~shown[column.name].drop_nulls().is_in([*known, "*"]))
        assert sum(column.n_by_level[1:]) == len(coarser)
        assert set(coarser) <= {"a", "b", "c"}
        if "coarsen" not in ways:
            assert not len(coarser)


@pytest.mark.parametrize(
    "model",
    [
        shoal.HistoryK(k=2, m=1),
        shoal.HistoryK(k=2, m=2, with_quasi=False),
        shoal.HistoryConfidence(c="0.8"),
        shoal.CountK(k=2),
    ],
    ids=lambda model: f"{model.name} {model.takes('with_quasi') and model.with_quasi}",
)
def test_models_of_histories_keep_the_laws_of_models(model: Model) -> None:
    check_model(model)


def test_who_has_most_is_sampled_down_too_where_others_are() -> None:
    """5, 5, 4 and 1 records: with 5, 5, 1 and 1 somebody would have more than 35 % of them."""
    frame = table_of([(person, "a1", "x", 1) for person, n in enumerate([5, 5, 4, 1]) for _ in range(n)])
    release = shoal.protect(frame, SCHEMA, [shoal.CountK(k=2), shoal.RecordRisk(rho="0.35")], seed=1)
    assert release.risk.max_gidr == 0.25
    assert release.risk.records == 4


def test_a_shuffled_table_gives_the_same_release() -> None:
    frame = table_of([(person, VALUES[(person * number) % 6], "x", number + 1)
                      for person in range(12) for number in range(1 + person % 4)])  # fmt: skip
    models = [shoal.HistoryK(k=3, m=1), shoal.CountK(k=2)]
    told = []
    for seed in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
        release = shoal.protect(shuffled, SCHEMA, models, history=History(hierarchies={"one": HIERARCHY}), seed=1)
        told.append(release.history.to_dict() if release.history else None)
    assert told[0] == told[1] == told[2]


def test_a_hidden_value_is_nobodys_value() -> None:
    """Three of five show nothing: the value that is shown is that of a share of all five, not of all who show one."""
    rows = [(0, "a1", "x", 1), (1, "a1", "x", 1), (2, "b1", "x", 1), (3, "b2", "x", 1), (4, "c1", "x", 1)]
    frame = table_of(rows).with_columns(age=pl.lit(40))
    models = [shoal.HistoryK(k=2, m=1, columns=["one"]), shoal.HAffiliation(h="0.4", column="one")]
    release = shoal.protect(frame, SCHEMA, models, seed=1)
    assert sorted(release.data["one"]) == ["*", "*", "*", "a1", "a1"]
    assert release.risk.max_gsar["one"] == 0.4
    assert [model.reached for model in release.verdict.models] == [2.0, 0.4]


def test_models_that_need_every_value_are_refused_beside_those_that_hide() -> None:
    frame = table_of([(person, "a1", "x", 1) for person in range(4)])
    with pytest.raises(shoal.errors.ParameterError, match="joint-diversity needs to know every value"):
        shoal.protect(frame, SCHEMA, [shoal.HistoryK(k=2), shoal.JointDiversity(l=2)])
    with pytest.raises(shoal.errors.ParameterError, match="publishes values apart from persons"):
        shoal.protect(frame, SCHEMA, [shoal.HistoryK(k=2)], mask="anatomize")


@given(
    records=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 12)), min_size=4, max_size=30),
    m=st.integers(1, 2),
    with_quasi=st.booleans(),
)
@settings(max_examples=25)
def test_nobody_is_found_by_the_days_between_their_records(
    records: list[tuple[int, int]], m: int, with_quasi: bool
) -> None:
    day = pl.date(2024, 1, 1) + pl.duration(days=pl.col("time") * 7)
    frame = table_of([(person, "a1", "x", week) for person, week in records]).with_columns(time=day)
    schema = replace(SCHEMA, time_as="shift")
    models = [shoal.HistoryK(k=2, m=m, columns=["time"], with_quasi=with_quasi), shoal.PersonKAnonymity(k=2)]
    try:
        release = shoal.protect(frame, schema, models, seed=1)
    except CannotSatisfyError:
        return
    shown = release.data
    gaps = []
    for (group, person), own in shown.group_by("age", "person"):
        times = sorted(own["time"].drop_nulls())
        gaps.append((group, person, naive.HIDDEN, 0))
        gaps += [(group, person, (after - before).days, 0) for before, after in itertools.pairwise(times)]
    assert not naive.broken_combinations(gaps, k=2, m=m, columns=(0,), by_group=with_quasi)
    assert shown.height == frame.height
