"""What a release keeps: distributions as queries would count them, correlations and dependences as in the books."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.contingency import association

import shoal
from shoal import Hierarchy, Nominal, Number, Schema
from shoal.demo.patients import made_up_patients
from shoal.measuring.asking import Condition
from shoal.measuring.classes import classes_of
from shoal.measuring.distributions import what_is_kept
from shoal.measuring.queries import estimated_on, true_counts
from shoal.measuring.shown import MISSING
from shoal.publishing.release import Release
from tests.masking.patients import ONE_RECORD, patients
from tests.pipeline.tables import MODELS, SCHEMA, visits

MASKS = [
    ("range", {}), ("mean", {}), ("suppress", {}), ("anatomize", {}), ("anatomize", {"quasi_as": "range"}),
    ("permute", {}), ("permute", {"quasi_as": "range"}), ("perturb", {"method": "mdav"}),
]  # fmt: skip


def one_record(mask: str, options: dict[str, Any], missing: tuple[str, ...] = ()) -> Release:
    frame = patients(400, missing=missing)
    return shoal.protect(frame, ONE_RECORD, [shoal.PersonKAnonymity(k=4)], mask=mask, seed=2, **options)


@pytest.mark.parametrize(("mask", "options"), MASKS)
@pytest.mark.parametrize("missing", [(), ("age", "sex")])
def test_after_is_what_queries_on_the_release_would_count(
    mask: str, options: dict[str, Any], missing: tuple[str, ...]
) -> None:
    if mask == "perturb" and missing:
        missing = ("sex",)
    release = one_record(mask, options, missing)
    kept = what_is_kept(release)
    table = release.table
    age = classes_of(table.quasi["age"], table)
    assert age is not None
    assert age.ends is not None
    lows = [-(2**40), *age.ends.tolist()]
    highs = [*(age.ends - 1).tolist(), 2**40]
    parts = [(Condition("age", low, high),) for low, high in zip(lows, highs, strict=True)]
    parts.append((Condition("age", MISSING, MISSING),))
    before, after = true_counts(table, parts), estimated_on(release, parts)
    n = len(age)
    assert kept.columns["age"].classes is not None
    expected = np.bincount(age.class_of_part, weights=after, minlength=n)
    assert [each.after for each in kept.columns["age"].classes] == pytest.approx(expected.tolist())
    assert [each.before for each in kept.columns["age"].classes] == np.bincount(
        age.class_of_part, weights=before, minlength=n
    ).tolist()
    assert sum(each.after for each in kept.columns["age"].classes) == pytest.approx(table.n_records)
    sex = classes_of(table.quasi["sex"], table)
    assert sex is not None
    codes = [(Condition("sex", code, code),) for code in range(2)]
    asked = [*codes, (Condition("sex", MISSING, MISSING),)]
    counted = np.bincount(sex.class_of_part[: len(asked)] if missing else sex.class_of_part[:2],
                          weights=estimated_on(release, asked if missing else codes), minlength=len(sex))  # fmt: skip
    assert kept.columns["sex"].classes is not None
    assert [each.after for each in kept.columns["sex"].classes] == pytest.approx(counted.tolist())


@pytest.mark.parametrize("mask", ["anatomize", "permute"])
def test_what_is_published_exactly_loses_nothing(mask: str) -> None:
    for name, column in what_is_kept(one_record(mask, {})).columns.items():
        assert column.total_variation == pytest.approx(0, abs=1e-12), name
        assert column.classes is not None
        assert [each.after for each in column.classes] == pytest.approx([each.before for each in column.classes])
        if column.mean_before is not None:
            assert column.mean_after == pytest.approx(column.mean_before)
            assert column.deviation_after == pytest.approx(column.deviation_before)


def test_total_variation_is_half_the_sum_of_differences() -> None:
    column = what_is_kept(one_record("range", {})).columns["age"]
    assert column.classes is not None
    before, after = (np.array([getattr(each, when) for each in column.classes]) for when in ("before", "after"))
    assert column.total_variation == pytest.approx(np.abs(before - after).sum() / 2 / 400)
    assert 0 < column.total_variation < 1


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_columns_of_every_kind_are_compared(missing: float) -> None:
    release = shoal.protect(visits(600, missing=missing), SCHEMA, MODELS, seed=1, allow_alone=True)
    kept = what_is_kept(release)
    assert {name: column.kind for name, column in kept.columns.items()} == {
        "age": "number", "gender": "nominal", "zip": "number", "stage": "ordered", "born": "date",
        "smoker": "nominal", "bmi": "number",
    }  # fmt: skip
    for name, column in kept.columns.items():
        assert column.classes is not None, name
        assert sum(each.after for each in column.classes) == pytest.approx(600)


class TestNumbers:
    def test_before_is_what_numpy_says(self) -> None:
        frame = made_up_patients(500, seed=6).drop_nulls()
        schema = Schema(person="patient", quasi=["age", "zip", "education"], sensitive=["disease"],
                        dropped=["gender", "treatment", "visit_date"])  # fmt: skip
        release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)], mask="mean", seed=1)
        kept = what_is_kept(release)
        expected = np.corrcoef(np.stack([frame[name].to_numpy() for name in schema.quasi_names]))
        places = [(0, 1), (0, 2), (1, 2)]
        for pair, place in zip(kept.correlations, places, strict=True):
            assert pair.before == pytest.approx(expected[place])
        shown = np.stack([release.data[name].to_numpy() for name in schema.quasi_names])
        for pair, place in zip(kept.correlations, places, strict=True):
            assert pair.after == pytest.approx(np.corrcoef(shown)[place])
        for name, row in zip(schema.quasi_names, shown, strict=True):
            assert kept.columns[name].mean_before == pytest.approx(frame[name].mean())
            assert kept.columns[name].deviation_before == pytest.approx(frame[name].std(ddof=0))
            assert kept.columns[name].mean_after == pytest.approx(row.mean())
            assert kept.columns[name].deviation_after == pytest.approx(row.std())

    def test_a_range_stands_as_its_middle(self) -> None:
        frame = made_up_patients(400, seed=6).drop_nulls()
        schema = Schema(person="patient", quasi=["age", "education"], sensitive=["disease"],
                        dropped=["gender", "zip", "treatment", "visit_date"])  # fmt: skip
        release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)], seed=1)
        middles = {}
        for name in schema.quasi_names:
            ends = release.data[name].cast(pl.String).str.split("-")
            middles[name] = [(int(each[0]) + int(each[-1])) / 2 for each in ends]
        kept = what_is_kept(release)
        assert kept.correlations[0].after == pytest.approx(np.corrcoef(middles["age"], middles["education"])[0, 1])
        assert kept.columns["age"].mean_after == pytest.approx(np.mean(middles["age"]))

    @given(st.data())
    @settings(max_examples=30)
    def test_missing_numbers_are_left_out_pair_by_pair(self, data: st.DataObject) -> None:
        n = 40
        column = st.lists(st.none() | st.integers(-50, 50), min_size=n, max_size=n)
        frame = pl.DataFrame({"p": range(n), "x": data.draw(column), "y": data.draw(column)},
                             schema={"p": pl.Int64, "x": pl.Int64, "y": pl.Int64})  # fmt: skip
        schema = Schema(person="p", quasi=[Number("x"), Number("y")])
        release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)], seed=1)
        pair = what_is_kept(release).correlations[0]
        complete = frame.drop_nulls()
        deviations = [complete[name].std() or 0.0 for name in ("x", "y")] if len(complete) else [0.0]
        if min(deviations) > 0:  # type: ignore[type-var]
            assert pair.before == pytest.approx(np.corrcoef(complete["x"], complete["y"])[0, 1], abs=1e-9)
        else:
            assert pair.before is None

    def test_suppressed_numbers_and_nodes_are_no_numbers(self) -> None:
        suppressed = what_is_kept(one_record("suppress", {})).columns["age"]
        assert suppressed.mean_before is not None
        assert (suppressed.mean_after, suppressed.deviation_after) == (None, None)
        schema = Schema(person="patient", sensitive=["disease", "treatment"], dropped=["phone", "sex"],
                        quasi=[Number("age", Hierarchy.of_intervals(low=0, width=10, high=99))])  # fmt: skip
        release = shoal.protect(patients(200), schema, [shoal.PersonKAnonymity(k=4)], seed=1)
        column = what_is_kept(release).columns["age"]
        assert (column.mean_after, column.total_variation is None) == (None, False)

    def test_few_persons_get_no_moments(self) -> None:
        frame = pl.DataFrame({"p": range(9), "x": range(9), "y": range(9)})
        release = shoal.protect(frame, Schema(person="p", quasi=["x", "y"]), [shoal.PersonKAnonymity(k=3)], seed=1)
        kept = what_is_kept(release)
        assert kept.correlations == kept.dependences == ()
        assert all(column.mean_before is None and column.classes is None for column in kept.columns.values())


class TestDependence:
    def test_before_is_cramers_v(self) -> None:
        release = one_record("range", {})
        table = release.table
        for found in what_is_kept(release).dependences:
            first = classes_of(table.quasi[found.quasi], table)
            second = classes_of(table.sensitive[found.sensitive], table)
            assert first is not None
            assert second is not None
            counted = np.zeros((len(first), len(second)), dtype=int)
            np.add.at(counted, (first.class_of_record, second.class_of_record), 1)
            assert found.before == pytest.approx(association(counted, method="cramer"))

    @pytest.mark.parametrize(("mask", "options"), MASKS)
    def test_after_is_cramers_v_of_what_queries_would_count(self, mask: str, options: dict[str, Any]) -> None:
        release = one_record(mask, options)
        table = release.table
        sex, disease = classes_of(table.quasi["sex"], table), classes_of(table.sensitive["disease"], table)
        assert sex is not None
        assert disease is not None
        queries = [(Condition("sex", sex_code, sex_code), Condition("disease", code, code))
                   for sex_code in range(2) for code in range(10)]  # fmt: skip
        counted = np.zeros((len(sex), len(disease)))
        for query, n in zip(queries, estimated_on(release, queries), strict=True):
            counted[sex.class_of_part[query[0].low], disease.class_of_part[query[1].low]] += n
        expected = counted.sum(axis=1, keepdims=True) * counted.sum(axis=0, keepdims=True) / counted.sum()
        chi_square = ((counted - expected) ** 2 / expected).sum()
        (found,) = [
            each for each in what_is_kept(release).dependences if (each.quasi, each.sensitive) == ("sex", "disease")
        ]
        assert found.after == pytest.approx(np.sqrt(chi_square / counted.sum() / (min(counted.shape) - 1)))

    def test_one_that_tells_the_other_is_at_1_and_masking_lowers_it(self) -> None:
        frame = pl.DataFrame({"p": range(200), "town": ["x", "y"] * 100, "s": ["flu", "gout"] * 100})
        schema = Schema(person="p", quasi=[Nominal("town")], sensitive=["s"])
        exact = what_is_kept(shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)], seed=1)).dependences[0]
        assert (exact.before, exact.after) == (pytest.approx(1), pytest.approx(1))
        mixed = what_is_kept(shoal.protect(frame, schema, [shoal.HAffiliation(h=0.5)], seed=1)).dependences[0]
        assert mixed.before == pytest.approx(1)
        assert mixed.after == pytest.approx(0)


def test_persons_with_many_records_weigh_with_their_records() -> None:
    frame = pl.DataFrame({
        "p": [at // 3 for at in range(300)], "q": [at // 3 % 20 for at in range(300)], "s": ["a", "b", "c"] * 100,
    })  # fmt: skip
    for mask in ("range", "mean", "anatomize"):
        release = shoal.protect(frame, Schema(person="p", quasi=["q"], sensitive=["s"]), [shoal.PersonKAnonymity(k=5)],
                                mask=mask, seed=1)  # fmt: skip
        column = what_is_kept(release).columns["q"]
        assert column.classes is not None
        assert sum(each.before for each in column.classes) == 300
        assert sum(each.after for each in column.classes) == pytest.approx(300)
