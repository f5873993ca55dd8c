"""What every release with episodes, steps and rounded gaps obeys, recounted in plain Python from what is published."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError, ParameterError, PrivacyNotMetError
from shoal.judging.verdict import BOTH, NOT_SHOWN
from shoal.masking.episodes import episodes_of
from shoal.masks import History
from shoal.models import Model
from shoal.policy.history import Episode
from shoal.table.own_columns import MEMBER
from shoal.table.table import Table
from tests.naive import episodes as naive
from tests.naive import histories

DAY = date(2024, 1, 1)
RECORDS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["a", "b", "c", None]), st.sampled_from([*range(0, 40, 3), None])),
    min_size=8,
    max_size=36,
)
CUTS = ["10 days", "2 records", "at most 3 records"]
ASKED: list[list[Model]] = [
    [shoal.HistoryK(k=2, m=1), shoal.CountK(k=2)],
    [shoal.HistoryK(k=2, m=2)],
    [shoal.HistoryK(k=2, m=2, knows="order"), shoal.RecordRisk(rho="0.6")],
    [shoal.HistoryK(k=2, m=2, with_quasi=False), shoal.PersonKAnonymity(k=2)],
    [shoal.HistoryConfidence(c="0.7", m=1), shoal.PersonKAnonymity(k=3)],
    [shoal.CountK(k=3), shoal.GBalance(g="0.4")],
    [shoal.HAffiliation(h="0.8", column="one"), shoal.PersonKAnonymity(k=2)],
]
SCHEMA = shoal.Schema(person="person", quasi=["age"], sensitive=["one"], time="time")


def table_of(records: list[tuple[Any, ...]]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"person": person, "age": 20 + 3 * person, "one": one,
          "time": None if day is None else DAY + timedelta(days=day)} for person, one, day in records],
        schema={"person": pl.Int64, "age": pl.Int64, "one": pl.String, "time": pl.Date},
    )  # fmt: skip


def rows_of(release: Any) -> list[tuple[Any, ...]]:
    """The published records with the person that the steward knows: (group, person, episode, one, time)."""
    frame, whose = release.data, release.published.linked[MEMBER]
    times = frame["time"].fill_null(999)  # what has no time comes last
    return list(zip(frame["age"], whose, frame["person"], frame["one"], times, strict=True))


def holds(model: Model, rows: list[tuple[Any, ...]]) -> bool:
    """What plain definitions say of persons and of episodes."""
    asked = model.of_histories
    assert asked is not None
    as_persons = naive.by_episode(rows)
    if asked.of_counts:
        return naive.fewest_by_count(rows) >= asked.k and not histories.broken_counts(as_persons, k=asked.k)
    told: dict[str, Any] = {"k": asked.k, "m": asked.m, "c": asked.c, "columns": [0], "knows": asked.knows,
                            "by_group": asked.with_quasi}  # fmt: skip
    return naive.holds_by_person(rows, **told) and histories.holds(as_persons, **told)


@settings(max_examples=25, deadline=None)
@given(RECORDS, st.sampled_from(ASKED), st.sampled_from(CUTS))
def test_both_persons_and_episodes_are_hidden(records: list[Any], asked: list[Model], cut: str) -> None:
    table = table_of(records)
    try:
        release = shoal.protect(table, SCHEMA, asked, history=History(episode=cut), seed=1, attacks=0)
    except (CannotSatisfyError, PrivacyNotMetError):
        return
    rows = rows_of(release)
    assert all(holds(model, rows) for model in asked if model.of_histories is not None)
    assert all(model.checked_from == BOTH and model.holds for model in release.verdict.models)
    assert len({person for _, person, *_ in rows}) == release.risk.persons
    for model in asked:
        if model.name == "person-k-anonymity":
            of_group: dict[Any, set[Any]] = defaultdict(set)
            for group, person, *_ in rows:
                of_group[group].add(person)
            assert min(map(len, of_group.values())) >= model.asked
    again = shoal.verify(release.data, release.schema, asked, linked=release.published.linked)
    assert again.holds
    assert [model.reached for model in again.verdict.models] == [model.reached for model in release.verdict.models]


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.sampled_from(CUTS))
def test_records_are_cut_as_defined(records: list[Any], cut: str) -> None:
    table, episode = Table.from_frame(table_of(records), SCHEMA), Episode.of(cut)
    made = episodes_of(table, episode)
    assert sorted(set(made.tolist())) == list(range(made.max() + 1))
    expected = {}
    for person in {person for person, *_ in records}:
        places = [at for at, (own, *_) in enumerate(records) if own == person]
        days = [records[at][2] for at in places]
        parts = (
            naive.cut_by_days(days, episode.days)
            if episode.days
            else naive.cut_by_number(days, int(episode.records or 0))
        )
        expected |= {at: (person, part) for at, part in zip(places, parts, strict=True)}
    numbers = {(made[at], expected[at]) for at in range(len(records))}
    assert len(numbers) == len({number for number, _ in numbers}) == len({own for _, own in numbers})


def test_several_episodes_of_one_person_are_one_person() -> None:
    """Five pseudonyms of one person look like five persons to a reader, and are one to the verdict."""
    frame = pl.DataFrame({"person": [f"P{at}" for at in range(6)], "age": ["20-29"] * 6, "one": list("abcdef"),
                          "time": [1] * 6})  # fmt: skip
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["one"], time="time", person_ids="episodes")
    linked = pl.DataFrame({"group": [1] * 6, MEMBER: [0, 0, 0, 0, 0, 1], "one": list("abcdef")})
    asked = [shoal.PersonKAnonymity(k=3), shoal.CountK(k=3), shoal.KAnonymity(k=6)]
    found = shoal.verify(frame, schema, asked, linked=linked)
    assert [model.holds for model in found.verdict.models] == [False, False, True]
    assert [model.reached for model in found.verdict.models] == [2, 2, 6]
    assert found.risk.persons == 2
    alone = shoal.verify(frame, schema, asked)
    assert [model.checked_from for model in alone.verdict.models][:2] == [NOT_SHOWN, NOT_SHOWN]
    assert not alone.holds
    mixed = linked.with_columns(pl.Series(MEMBER, [0, 1, 2, 3, 4, 5]))
    both = shoal.verify(frame.with_columns(person=pl.lit("P1")), schema, asked, linked=mixed)
    assert any("several persons" in problem for problem in both.problems)


def test_times_begin_anew_in_every_episode() -> None:
    records = [(person, "a", day) for person in range(6) for day in (0, 5, 100, 103)]
    table = table_of(records)
    asked = [shoal.PersonKAnonymity(k=3)]
    release = shoal.protect(table, SCHEMA, asked, history=History(episode="90 days"), seed=1, attacks=0)
    by_name = release.data.group_by("person").agg(pl.col("time").sort())
    assert by_name.height == 12
    assert by_name["time"].to_list() == [[1, 2]] * 12
    shifting = shoal.Schema(person="person", quasi=["age"], sensitive=["one"], time="time", time_as="shift")
    shifted = shoal.protect(table, shifting, asked, history=History(episode="90 days"), seed=1, attacks=0)
    gaps = shifted.data.group_by("person").agg((pl.col("time").max() - pl.col("time").min()).dt.total_days())["time"]
    assert Counter(gaps.to_list()) == {5: 6, 3: 6}
    assert shifted.to_dict()["history"]["episodes"] == {"cut": "90 days", "episodes": 12, "persons": 6, "most": 2}  # type: ignore[index]


@settings(max_examples=25, deadline=None)
@given(RECORDS, st.booleans(), st.sampled_from([None, "2 records"]))
def test_numbers_of_records_are_steps(records: list[Any], counted: bool, cut: str | None) -> None:
    steps = (1, 2, 4)
    asked: list[Model] = [shoal.PersonKAnonymity(k=2), *([shoal.CountK(k=2)] if counted else [])]
    history = History(record_steps=steps, episode=cut)
    try:
        release = shoal.protect(table_of(records), SCHEMA, asked, history=history, seed=1, attacks=0)
    except CannotSatisfyError:
        assume(False)
    numbers = release.data["person"].value_counts()["count"].to_list()
    assert set(numbers) <= set(steps)
    if cut is None and not counted:
        before = Counter(person for person, *_ in records)
        assert sorted(numbers) == sorted(max(step for step in steps if step <= own) for own in before.values())
    assert release.to_dict()["history"]["record_steps"] == [1, 2, 4]  # type: ignore[index]


@settings(max_examples=25, deadline=None)
@given(RECORDS, st.sampled_from([2, 7, "week", "2 weeks"]))
def test_gaps_are_rounded(records: list[Any], step: int | str) -> None:
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["one"], time="time", time_as="shift",
                          round_gaps=step)  # fmt: skip
    days = schema.gap_days
    assert days is not None
    try:
        release = shoal.protect(table_of(records), schema, [shoal.PersonKAnonymity(k=2)], seed=1, attacks=0)
    except CannotSatisfyError:
        assume(False)
    shown = release.data.with_columns(at=release.published.record_of_published)
    for own in shown.partition_by("person"):
        rows = sorted(
            (row["time"], records[row["at"]][2]) for row in own.iter_rows(named=True) if row["time"] is not None
        )
        for time, day in rows:
            since = (time - rows[0][0]).days
            assert since % days == 0
            assert abs(since - (day - min(own_day for _, own_day in rows))) * 2 <= days
    assert shoal.verify(release.data, schema, [shoal.PersonKAnonymity(k=2)]).holds


def test_gaps_that_are_not_rounded_are_a_problem() -> None:
    frame = pl.DataFrame({"person": ["P1", "P1", "P2"], "age": ["1"] * 3, "one": ["a"] * 3,
                          "time": [DAY, DAY + timedelta(days=8), DAY]})  # fmt: skip
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["one"], time="time", time_as="shift",
                          round_gaps="week")  # fmt: skip
    found = shoal.verify(frame, schema, [shoal.PersonKAnonymity(k=2)])
    assert not found.holds
    assert any("rounded" in problem for problem in found.problems)
    assert shoal.verify(frame.with_columns(time=pl.lit(DAY)), schema, [shoal.PersonKAnonymity(k=2)]).holds


@pytest.mark.parametrize("episode", ["", "0 days", "0 records", "days of wine", "5", "-3 days", "1.5 days"])
def test_what_is_no_episode_is_refused(episode: str) -> None:
    with pytest.raises(ParameterError, match="90 days"):
        History(episode=episode)


@pytest.mark.parametrize("steps", [[], [2, 3], [1, 1], [1, 3, 2], "1,2", [1, 2.5], [True, 2]])
def test_what_are_no_steps_is_refused(steps: Any) -> None:
    with pytest.raises(ParameterError, match="record_steps"):
        History(record_steps=steps)


def test_the_risk_in_a_population_counts_persons() -> None:
    """Whether records are cut into episodes does not change who was drawn from a population."""
    records = [(person, "a", day) for person in range(6) for day in (0, 5, 100, 103)]
    table = table_of(records).with_columns(weight=pl.lit(10.0))
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["one"], time="time", weight="weight")
    asked = [shoal.PersonKAnonymity(k=3)]
    cut, whole = (
        shoal.protect(table, schema, asked, history=History(episode=episode), seed=1, attacks=0, measure_input=False)
        for episode in ("90 days", None)
    )
    assert cut.risk.population == whole.risk.population is not None
