"""Ends of ranges that are rounded are round, cover the group, and are nobody's own value but by chance."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.engines.stream import protect_file
from shoal.errors import SchemaError
from shoal.masking.shown_labels import RangeLabels, read_labels


def people(n: int = 200, seed: int = 1) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draw.integers(0, 100, n),
            "pay": np.round(draw.gamma(2.0, 900.0, n), 2),
            "born": [date(1930, 1, 1) + timedelta(days=int(days)) for days in draw.integers(0, 25_000, n)],
        }
    )


def released(frame: pl.DataFrame, **rounds: float | str | None) -> shoal.Release:
    schema = shoal.Schema(
        quasi=[
            shoal.Number("age", round=rounds.get("age")),
            shoal.Number("pay", round=rounds.get("pay")),
            shoal.Date("born", round=rounds.get("born")),
        ]
    )
    return shoal.protect(frame, schema, [shoal.KAnonymity(k=4)], seed=1)


def ends(release: shoal.Release, name: str) -> RangeLabels:
    column = release.table.quasi[name]
    labels = read_labels(column, release.data[name].to_list(), form="generalized")
    assert isinstance(labels, RangeLabels)
    assert labels.fits(labels.values[release.published.record_of_published], np.arange(labels.n_labels)).all()
    return labels


@given(st.sampled_from([2, 5, 10]), st.integers(0, 1000))
def test_numbers_end_at_steps(step: int, seed: int) -> None:
    """The first number of a step, and the last; a single value stays."""
    labels = ends(released(people(60, seed), age=step), "age")
    is_range = labels.low != labels.high
    assert (labels.low[is_range] % step == 0).all()
    assert (labels.high[is_range] % step == step - 1).all()


def test_cents_end_before_the_next_step() -> None:
    labels = ends(released(people(), pay=100), "pay")
    is_range = labels.low != labels.high
    assert np.allclose(labels.low[is_range] % 100, 0)
    assert np.allclose(labels.high[is_range] % 100, 99.99)


@pytest.mark.parametrize(
    ("unit", "first", "last"),
    [("month", "-01", None), ("quarter", None, None), ("year", "-01-01", "-12-31"), ("decade", "0-01-01", "9-12-31")],
)
def test_dates_end_with_the_calendar(unit: str, first: str | None, last: str | None) -> None:
    release = released(people(), born=unit)
    shown = [label.split(" to ") for label in release.data["born"].unique().to_list() if " to " in label]
    assert shown
    for low, high in shown:
        assert low.endswith(first or "-01")
        after = date.fromisoformat(high) + timedelta(days=1)
        assert after.day == 1
        assert high.endswith(last or "")
        assert unit != "quarter" or (int(low[5:7]) % 3 == 1 and after.month % 3 == 1)
    ends(release, "born")


def test_auto_is_the_coarsest_that_loses_less_than_a_hundredth_more() -> None:
    frame = people(2_000)
    plain = released(frame)
    chosen = released(frame, age="auto", pay="auto", born="auto")
    assert set(chosen.rounded) >= {"pay"}
    for name, step in chosen.rounded.items():
        limit = plain.utility.loss_of_column[name] * 1.01
        assert chosen.utility.loss_of_column[name] <= limit * (1 + 1e-3)
        if name == "pay":
            coarser = {"1": 2.0, "2": 2.5, "5": 2.0}[f"{step:e}"[0]]
            assert released(frame, pay=float(step) * coarser).utility.loss_of_column[name] > limit * (1 - 1e-3)
    assert chosen.lone_ends["pay"]["lone"] < plain.lone_ends["pay"]["lone"] / 5


def test_lone_ends_are_those_of_one_person() -> None:
    """Two groups: 1 to 3, whose ends are one person's each, and 8 to 9, of which 9 has two."""
    frame = pl.DataFrame({"id": list("abcdef"), "age": [1, 2, 3, 8, 9, 9]})
    schema = shoal.Schema(person="id", quasi=["age"])
    release = shoal.protect(frame, schema, [shoal.KAnonymity(k=3)])
    assert sorted(release.data["age"].unique()) == ["1-3", "8-9"]
    assert release.lone_ends == {"age": {"ends": 4, "lone": 3}}
    assert release.to_dict()["lone_ends"] == {"age": {"ends": 4, "lone": 3}}


def test_the_stream_rounds_alike_and_the_codebook_says_it(tmp_path: Path) -> None:
    frame = people().with_columns(id=pl.int_range(200))
    frame.write_parquet(tmp_path / "people.parquet")
    schema = shoal.Schema(
        person="id", quasi=[shoal.Number("age", round="auto"), shoal.Number("pay", round="auto"),
                            shoal.Date("born", round="year")],
    )  # fmt: skip
    models = [shoal.PersonKAnonymity(k=4)]
    streamed = protect_file(tmp_path / "people.parquet", schema, models, tmp_path / "out")
    held = shoal.protect(frame, schema, models)
    assert streamed.rounded == held.rounded
    shown = pl.read_parquet(tmp_path / "out" / "release.parquet").drop("id")
    assert shown.cast(pl.String).sort(shown.columns).equals(held.data.drop("id").cast(pl.String).sort(shown.columns))
    book = json.loads((tmp_path / "out" / "codebook.json").read_text())
    assert {entry["name"]: entry.get("rounded_to") for entry in book["columns"]}["born"] == "year"
    assert bool(shoal.verify(shown.with_columns(id=pl.int_range(200)), schema, models))


@pytest.mark.parametrize(
    "column",
    [
        lambda: shoal.Number("age", round=0),
        lambda: shoal.Number("age", round="year"),
        lambda: shoal.Date("born", round=5),
        lambda: shoal.Date("born", round="week"),
        lambda: shoal.Nominal("sex", round=5),
    ],
)
def test_what_is_no_step_is_refused(column: object) -> None:
    with pytest.raises(SchemaError, match=r"round"):
        column()  # type: ignore[operator]


def test_a_policy_rounds_and_is_written_as_it_was_read(tmp_path: Path) -> None:
    text = '[columns]\nround = "auto"\nquasi = [{ name = "age", round = 5 }, "pay"]\n\n[models]\nk-anonymity = 4\n'
    (tmp_path / "p.toml").write_text(text)
    policy = shoal.Policy.load(tmp_path / "p.toml")
    release = shoal.protect(people().drop("born"), policy)
    assert release.rounded["age"] == 5
    assert "pay" in release.rounded
    policy.save(tmp_path / "again.toml")
    assert shoal.Policy.load(tmp_path / "again.toml").columns == policy.columns
