"""Anchored dates: equal to the definition, and stopped by what hides the anchors."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.attacking.anchored_dates import _Dates, _tried
from shoal.masking.secrecy import MOST_DAYS_SHIFTED
from tests.naive import attacks as naive

START = dt.date(2020, 3, 1)


@given(st.lists(st.tuples(st.sets(st.integers(0, 40), min_size=1, max_size=4), st.integers(1, 30)), min_size=1,
                max_size=6), st.booleans())  # fmt: skip
def test_the_chances_are_those_of_the_definition(persons: list[tuple[set[int], int]], is_back: bool) -> None:
    real = {at: days for at, (days, _) in enumerate(persons)}
    shift = {at: -by if is_back else by for at, (_, by) in enumerate(persons)}
    shown = [sorted(day + shift[at] for day in days) for at, days in real.items()]
    start = np.append(0, np.cumsum([len(days) for days in shown]))
    dates = _Dates(np.arange(len(real)), start, np.concatenate(shown), np.array(list(shift.values())))
    told = naive.anchored(real, shift, MOST_DAYS_SHIFTED)
    for result in _tried(dates, np.arange(len(real))):
        chances = told[result.name.removeprefix("anchored-dates, ")].values()
        assert result.success == pytest.approx(sum(chances) / len(chances))
        assert result.details["certain"] == sum(chance == 1 for chance in chances)


def visits(n: int = 40, first: dt.date | None = None, seed: int = 0) -> pl.DataFrame:
    """Persons with four visits on days of their own within two years; `first` comes before them all."""
    rng = np.random.default_rng(seed)
    own = [START + dt.timedelta(int(day)) for day in rng.integers(1, 730, 4 * n)]
    rows = [(f"p{i}", own[4 * i + visit]) for i in range(n) for visit in range(4)]
    rows += [(f"p{i}", first) for i in range(n)] if first is not None else []
    return pl.DataFrame(rows, schema=["p", "t"], orient="row").with_columns(age=5)


def attacked(frame: pl.DataFrame, **more: Any) -> dict[str, Any]:
    schema = shoal.Schema(person="p", quasi=["age"], time="t", time_as="shift", **more)
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)])
    results = release.attack(["anchored-dates"]).results
    return {result.name.removeprefix("anchored-dates, "): result for result in results}


def test_a_study_that_began_on_one_day_gives_every_shift_away_unless_the_day_is_hidden() -> None:
    told = attacked(visits(first=START))["shared date"]
    assert told.success == 1.0
    assert told.details == {"certain": 40, "persons_sharing": 40, "right_of_sharing": 1.0}
    assert told.blind == pytest.approx(1 / 730)
    hidden = attacked(visits(first=START), shared_dates="hide")
    assert hidden["shared date"].success < 0.1


def test_a_date_that_stands_for_none_gives_nothing_away() -> None:
    anchored = attacked(visits(first=dt.date(1900, 1, 1)))
    plain = attacked(visits())
    assert anchored["shared date"].success < 0.1
    assert anchored["first and last day"].success == pytest.approx(plain["first and last day"].success, abs=0.02)


def test_days_on_which_nobody_comes_tell_the_day_of_the_week() -> None:
    """Everybody comes on Mondays: of seven shifts one is left, and not all weeks are equally likely."""
    monday = dt.date(2020, 3, 2)
    rng = np.random.default_rng(1)
    rows = [(f"p{i}", monday + dt.timedelta(7 * int(week))) for i in range(200) for week in rng.integers(0, 12, 3)]
    frame = pl.DataFrame(rows, schema=["p", "t"], orient="row").with_columns(age=5)
    told = attacked(frame)
    assert told["calendar"].success > 2 * told["first and last day"].success


def test_it_is_tried_on_what_was_written_and_says_where_it_does_not_apply() -> None:
    frame = visits(first=START)
    schema = shoal.Schema(person="p", quasi=["age"], time="t", time_as="shift")
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)])
    names = release.published.pseudonyms
    person_map = pl.DataFrame({"person": sorted(frame["p"].unique()), "pseudonym": names})
    as_texts = release.data.with_columns(pl.col("t").cast(pl.String))
    read = shoal.attack(as_texts, frame, schema, attacks=["anchored-dates"], whose=person_map)
    assert read.results == release.attack(["anchored-dates"]).results
    untold = shoal.attack(release.data, frame, schema, attacks=["anchored-dates"])
    assert "which person" in untold.not_tried[0].why
    alone = shoal.attack(release.data, schema=schema, attacks=["anchored-dates"])
    assert "original" in alone.not_tried[0].why
    sequence = shoal.Schema(person="p", quasi=["age"], time="t")
    release = shoal.protect(frame, sequence, [shoal.PersonKAnonymity(k=2)])
    assert "shifted dates" in release.attack(["anchored-dates"]).not_tried[0].why
