"""What every mask obeys that changes persons one by one, over the registry."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.masking import MASKS
from shoal.masking.by_column import ByColumn
from shoal.masking.changing import Changing

ORDER = ("low", "middle", "high")
OPTIONS: dict[str, dict[str, Any]] = {
    "record-swap": {"columns": "town", "region": "town", "rate": 0.8},
    "rank-swap": {"within": 0.3},
    "pram": {"stays": 0.2, "strength": 1.0},
}
NAMES = [name for name, mask in MASKS.items() if issubclass(mask, Changing) and mask is not ByColumn]


def people() -> pl.DataFrame:
    """Persons with one to three records each; some values are missing."""
    rng = np.random.default_rng(5)
    who = np.repeat(np.arange(120), rng.integers(1, 4, 120))
    n, towns = len(who), ["a", "b", "c", None]
    return pl.DataFrame({
        "who": [f"id-{each}" for each in who], "secret": [f"name-{each}" for each in who],
        "age": rng.integers(18, 90, 120)[who], "grade": rng.choice(ORDER, 120)[who],
        "town": [towns[each] for each in rng.integers(0, 4, 120)[who]], "disease": rng.choice(["flu", "gout"], n),
        "note": rng.integers(0, 3, n),
    })  # fmt: skip


def schema() -> shoal.Schema:
    return shoal.Schema(
        person="who", quasi=["age", shoal.Ordered("grade", order=ORDER), shoal.Nominal("town")], sensitive=["disease"],
        kept=["note"], dropped=["secret"],
    )  # fmt: skip


def mask_of(name: str) -> ByColumn:
    """A mask on all columns that it takes, and others for the rest, so that every quasi-identifier is changed."""
    own = MASKS.made(name, **OPTIONS.get(name, {}))
    rest = {"pram": "noise:columns=age", "record-swap": "noise:columns=age; pram:columns=grade"}.get(
        name, "pram:columns=town"
    )
    if name == "pram":
        own = MASKS.made(name, columns="grade,town", **OPTIONS[name])
    return ByColumn(by=[own.written, rest])


def released(name: str, seed: int = 3) -> shoal.Release:
    return shoal.protect(people(), schema(), [], mask=mask_of(name), max_linkage=1.0, seed=seed)


@pytest.mark.parametrize("name", NAMES)
def test_persons_records_and_what_is_not_changed_stay(name: str) -> None:
    release, before = released(name), people()
    after = release.data
    assert set(after.columns) == {"who", "age", "grade", "town", "disease", "note"}
    assert not set(after["who"]) & set(before["who"])
    beside = ["disease", "note"]

    def told(frame: pl.DataFrame) -> list[list[str]]:
        rows: dict[str, list[str]] = {}
        for row in frame.select("who", *beside).iter_rows():
            rows.setdefault(row[0], []).append(str(row[1:]))
        return sorted(sorted(each) for each in rows.values())

    assert told(after) == told(before)
    assert after.select(pl.col("age", "grade", "town").null_count()).row(0) == before.select(
        pl.col("age", "grade", "town").null_count()
    ).row(0)
    assert set(after["grade"]) <= set(ORDER)
    assert set(after["town"]) <= set(before["town"])


@pytest.mark.parametrize("name", NAMES)
def test_records_of_a_person_that_were_alike_are_alike(name: str) -> None:
    after = released(name).data
    shown = after.group_by("who").agg(pl.col("age", "grade", "town").n_unique())
    assert shown.select(pl.max("age", "grade", "town")).row(0) == (1, 1, 1)  # nobody's differ in the table


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_governs_it_and_the_steward_is_told(name: str) -> None:
    once, again, other = (released(name, seed) for seed in (3, 3, 4))
    rows = [sorted(each.data.select("age", "grade", "town").rows(), key=str) for each in (once, again, other)]
    assert rows[0] == rows[1] != rows[2]
    assert set(once.told["changed"]) == {"age", "grade", "town"}  # type: ignore[call-overload]


@pytest.mark.parametrize("name", NAMES)
def test_without_a_seed_nobody_can_repeat_it(name: str) -> None:
    pair = [shoal.protect(people(), schema(), [], mask=mask_of(name), max_linkage=1.0) for _ in range(2)]
    assert pair[0].seed != pair[1].seed


@pytest.mark.parametrize("name", NAMES)
def test_a_gate_of_nobody_refuses_a_table_that_is_hardly_changed(name: str) -> None:
    with pytest.raises(shoal.errors.PrivacyNotMetError, match="linked to their original values"):
        shoal.protect(people(), schema(), [], mask=mask_of(name), max_linkage=0.0, seed=1)
