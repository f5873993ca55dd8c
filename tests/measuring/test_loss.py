"""What a release is said to lose is what somebody computes who has release, codebook and original."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.engines.stream import protect_file
from shoal.measuring.utility import loss_of_part, measure_utility, utility_of_parts
from tests.naive import loss as naive

STAGES = ("none", "low", "mid", "high")
TOWNS = [(f"{region}{n}", region, "*") for region in "xyz" for n in range(3)]
SCHEMA = shoal.Schema(
    person="id",
    quasi=[shoal.Number("age"), shoal.Number("bmi"), shoal.Date("born"), shoal.Ordered("stage", order=STAGES),
           shoal.Nominal("sex"), shoal.Nominal("town", hierarchy=shoal.Hierarchy.from_rows(TOWNS))],
    sensitive=["ill"],
)  # fmt: skip
FINEST = {"age": Fraction(1), "bmi": Fraction(1, 10), "born": Fraction(1), "stage": Fraction(1)}


def visits(seed: int, n: int = 60, missing: float = 0.1) -> pl.DataFrame:
    """Made-up visits; every column misses some values, and some persons have two records."""
    draw = np.random.default_rng(seed)
    columns: dict[str, list[Any]] = {
        "age": draw.integers(-3, 40, n).tolist(),
        "bmi": (draw.integers(180, 320, n) / 10).tolist(),
        "born": [date(1990, 1, 1) + timedelta(days=int(days)) for days in draw.integers(0, 4000, n)],
        "stage": [STAGES[code] for code in draw.integers(0, 4, n)],
        "sex": ["mfd"[code] for code in draw.choice(3, n, p=[0.5, 0.45, 0.05])],
        "town": [TOWNS[code][0] for code in draw.integers(0, len(TOWNS), n)],
    }
    for values in columns.values():
        for at in np.flatnonzero(draw.random(n) < missing).tolist():
            values[at] = None
    ill = [f"ill {code}" for code in draw.integers(0, 6, n)]
    return pl.DataFrame({"id": [f"p{at * 3 // 4}" for at in range(n)], **columns, "ill": ill})


def recounted(release: shoal.Release, frame: pl.DataFrame) -> dict[str, Fraction]:
    """The loss of each column, from the published cells beside the original ones."""
    row = np.argsort(release.published.record_of_published)
    shown = release.published.frame[row.tolist()]
    is_point = release.mask.name in ("mean", "perturb")
    found: dict[str, list[Fraction]] = {}
    for name in release.schema.quasi_names:
        own = frame[name].to_list()
        cells = shown[name].cast(pl.String).to_list() if shown[name].dtype == pl.Categorical else shown[name].to_list()
        if name in FINEST:
            order = STAGES if name == "stage" else ()
            found[name] = naive.losses_of_numbers(own, cells, step=FINEST[name], order=order, is_point=is_point)
        elif name == "town" and not is_point:
            found[name] = naive.losses_of_nodes(own, cells, TOWNS)
        else:
            found[name] = naive.losses_of_categories(own, cells, is_point=is_point)
    return {name: sum(each, Fraction(0)) / len(each) for name, each in found.items()}


@pytest.mark.parametrize("mask", ["range", "mean", "suppress"])
@pytest.mark.parametrize("method", ["balance-tree", "mondrian", "mdav", "local-recoding"])
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 12))
def test_loss_is_that_of_the_published_cells(mask: str, method: str, seed: int, k: int) -> None:
    """Whatever the mask and the method: each column, and the headline as their mean."""
    frame = visits(seed)
    release = shoal.protect(frame, SCHEMA, [shoal.PersonKAnonymity(k=k)], mask=mask, method=method, seed=1)
    expected = recounted(release, frame)
    assert release.utility.loss_of_column == pytest.approx({name: float(loss) for name, loss in expected.items()})
    assert release.utility.loss == pytest.approx(float(sum(expected.values()) / len(expected)))
    assert release.to_dict()["loss"] == release.utility.loss


def test_noise_is_its_own_error() -> None:
    frame = visits(3, missing=0.0).drop("town")
    schema = replace(SCHEMA, quasi=[column for column in SCHEMA.columns if column.name != "town"])
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)], mask="perturb", seed=1)
    expected = recounted(release, frame)
    assert release.utility.loss_of_column == pytest.approx({name: float(loss) for name, loss in expected.items()})


def test_hidden_is_one_and_shown_is_zero() -> None:
    """One group hides everything under suppress; groups of equal records hide nothing."""
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "sex": ["m", "m", "f", "f"]})
    schema = shoal.Schema(quasi=["age", shoal.Nominal("sex")])
    hidden = shoal.protect(frame, schema, [shoal.KAnonymity(k=4)], mask="suppress").utility
    assert hidden.loss == 1.0
    assert {name: column.hidden for name, column in hidden.columns.items()} == {"age": 1.0, "sex": 1.0}
    twice = pl.concat([frame, frame])
    shown = shoal.protect(twice, schema, [shoal.KAnonymity(k=2)], mask="suppress").utility
    assert shown.loss == 0.0
    assert shown.columns["age"].width == 0.0


def test_what_is_lost_in_the_column_s_own_unit() -> None:
    """Two persons of 20 and 24 show 20-24: four years wide, and the middle is two years off."""
    frame = pl.DataFrame({"age": [20, 24, 60, 60]})
    told = shoal.protect(frame, shoal.Schema(quasi=["age"]), [shoal.KAnonymity(k=2)]).utility.columns["age"]
    assert (told.width, told.error, told.hidden) == (2.0, 1.0, 0.0)
    assert told.loss == pytest.approx(2 * (4 / 40) / 4)


def test_a_hierarchy_that_hides_nearly_everything_says_so() -> None:
    """What is lost is that of the cells, whatever the grouping is good for."""
    draw = np.random.default_rng(1)
    codes = draw.integers(0, 100, 400)
    frame = pl.DataFrame({"zip": [f"{code:02d}" for code in codes]})
    flat = shoal.Hierarchy.from_rows([(f"{code:02d}", "*") for code in range(100)])
    plain = shoal.protect(frame, shoal.Schema(quasi=[shoal.Number("zip")]), [shoal.KAnonymity(k=5)])
    hidden = shoal.protect(
        frame, shoal.Schema(quasi=[shoal.Number("zip", hierarchy=flat)]), [shoal.KAnonymity(k=5)], method="balance-tree"
    )
    cells = hidden.data["zip"].cast(pl.String).to_list()
    lost = [1.0 if cell == "*" else cell.count(",") / 99 for cell in cells]  # of {12, 47} one other remains possible
    assert "*" in cells
    assert any(cell.startswith("{") for cell in cells)
    assert hidden.utility.loss_of_column["zip"] == pytest.approx(sum(lost) / len(lost))
    assert hidden.utility.columns["zip"].hidden == cells.count("*") / len(cells)
    assert plain.utility.loss < 0.1


@pytest.mark.parametrize("mask", ["anatomize", "permute"])
def test_values_that_are_parted_lose_their_link(mask: str) -> None:
    """Exact quasi-identifiers lose nothing; the sensitive value beside them is right by chance only."""
    n = 40
    frame = pl.DataFrame({"age": list(range(n)), "ill": [f"i{at % 4}" for at in range(n)]})
    schema = shoal.Schema(quasi=["age"], sensitive=["ill"])
    release = shoal.protect(frame, schema, [shoal.LDiversity(l=4)], mask=mask, method="anatomy", seed=1)
    lost = release.utility.loss_of_column
    assert lost["age"] == 0.0
    if mask == "anatomize":
        assert lost["ill"] == pytest.approx(0.75)
    else:
        at = release.published.record_of_published
        assert lost["ill"] == pytest.approx((release.published.frame["ill"] != frame["ill"].gather(at)).mean())
    assert release.utility.loss == pytest.approx((lost["age"] + lost["ill"]) / 2)


def test_records_that_are_left_out_are_lost() -> None:
    """Leaving somebody out does not make a release look better."""
    frame = pl.DataFrame({"id": ["heavy"] * 10 + [f"p{at}" for at in range(10)], "age": [30] * 20})
    schema = shoal.Schema(person="id", quasi=["age"])
    release = shoal.protect(frame, schema, [shoal.RecordRisk(rho="0.1")], max_suppressed=1)
    assert release.table.suppressed_persons == 1
    assert release.utility.loss == pytest.approx(0.5)


@pytest.mark.parametrize("mask", ["range", "mean", "suppress"])
def test_the_stream_says_the_same(tmp_path: Path, mask: str) -> None:
    frame = visits(5).with_columns(pl.col("bmi") + 0.0)
    file = tmp_path / "visits.parquet"
    frame.write_parquet(file)
    models = [shoal.PersonKAnonymity(k=4)]
    streamed = protect_file(file, SCHEMA, models, tmp_path / "out", mask=mask, portion=7)
    whole = shoal.protect(frame, SCHEMA, models, mask=mask, method="balance-tree").utility
    assert streamed.utility.loss_of_column == pytest.approx(whole.loss_of_column)
    assert streamed.utility.columns["age"].error == pytest.approx(whole.columns["age"].error)


def test_parts_add_up() -> None:
    """What executors tell of their parts is what the whole table would."""
    release = shoal.protect(visits(6), SCHEMA, [shoal.PersonKAnonymity(k=4)])
    from shoal.measuring.shown import grouping_of

    grouping = grouping_of(release)
    part = loss_of_part(release.table, grouping, release.published, release.mask)
    whole = measure_utility(release.table, grouping, release.mask, release.published)
    assert utility_of_parts([part, part]).loss_of_column == pytest.approx(whole.loss_of_column)
