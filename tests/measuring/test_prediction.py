"""A column predicted from a release: nobody is learned from and tried, and every mask is read or says why not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Hierarchy, Nominal, Number, Schema
from shoal.errors import SchemaError
from shoal.masking.label_shares import moments_of_labels, parts_of_labels, shares_of_sets, tells_something
from shoal.masking.shown_labels import read_labels
from shoal.measuring import prediction
from shoal.measuring.prediction import FOLDS, Prediction, prediction_of
from shoal.measuring.predictors import (
    Fold,
    Numbers,
    ReleasedRows,
    commonest_first,
    predictor_of,
    target_of,
)
from shoal.publishing.release import Release
from shoal.table.table import Table
from tests.naive import learning as naive

MASKS: list[tuple[str, dict[str, Any]]] = [
    ("range", {}), ("mean", {}), ("suppress", {}), ("anatomize", {}), ("anatomize", {"quasi_as": "range"}),
    ("permute", {}), ("permute", {"quasi_as": "range"}), ("perturb", {"method": "mdav"}),
]  # fmt: skip
SCHEMA = Schema(person="id", quasi=[Number("age"), Nominal("sex")], sensitive=["ill", "income"])


def people(n: int = 300, *, seed: int = 3, most_records: int = 1, missing: bool = False) -> pl.DataFrame:
    """Persons whose income and illness follow from age and sex, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), rng.integers(1, most_records + 1, n))
    age, sex = rng.integers(20, 80, n)[person], rng.choice(["f", "m"], n)[person]
    ill = np.where(age + 8 * rng.normal(size=len(person)) > 50, "yes", "no")
    income = (1000 + 30 * age + 400 * (sex == "m") + 50 * rng.normal(size=len(person))).round().astype(int)
    frame = pl.DataFrame({"id": person, "age": age, "sex": sex, "ill": ill, "income": income})
    if not missing:
        return frame
    lost = {name: rng.random(len(frame)) < 0.1 for name in ("age", "sex", "ill", "income")}
    return frame.with_columns(
        pl.when(pl.Series(gone)).then(None).otherwise(pl.col(name)).alias(name) for name, gone in lost.items()
    )


def released(frame: pl.DataFrame, mask: str = "range", schema: Schema = SCHEMA, k: int = 4, **options: Any) -> Release:
    return shoal.protect(
        frame, schema, [shoal.PersonKAnonymity(k=k)], mask=mask, seed=1, attacks=0, measure_input=False, **options
    )


@pytest.mark.parametrize(("mask", "options"), MASKS)
@pytest.mark.parametrize("target", ["ill", "income", "age", "sex"])
def test_every_mask_is_learned_from_or_says_why_not(mask: str, options: dict[str, Any], target: str) -> None:
    found = prediction_of(released(people(), mask, **options), target, seed=2)
    if found.why_not is not None:
        assert (mask, target) == ("suppress", "age")
        assert "shows nothing of 'age'" in found.why_not
        return
    assert found.kind == ("number" if target in ("income", "age") else "classes")
    assert found.persons == found.records == 300
    assert set(found.features) == {"age", "sex", "ill", "income"} - {target}
    measure = found.measure
    assert measure is not None
    assert found.original[measure] is not None
    if target in ("ill", "age"):  # what is there to learn is learned, from the release too
        blind = 0.5 if found.kind == "classes" else 0.0
        assert found.original[measure] > blind + 0.3  # type: ignore[operator]
        assert found.release[measure] > blind + 0.1 or mask == "suppress"  # type: ignore[operator]


@pytest.mark.parametrize(("mask", "options"), [each for each in MASKS if each[0] != "perturb"])
@pytest.mark.parametrize("target", ["ill", "income", "sex"])
def test_missing_values_are_read_by_every_mask(mask: str, options: dict[str, Any], target: str) -> None:
    found = prediction_of(released(people(missing=True), mask, **options), target)
    assert found.why_not is None
    if target == "income":
        assert any("miss 'income' and are left out" in note for note in found.notes)
        assert found.records < 300
    else:
        assert found.classes == 3  # missing is a class of its own
        assert found.records == 300


def test_what_is_published_exactly_teaches_what_the_original_does() -> None:
    schema = Schema(person="id", quasi=[Number("age"), Nominal("sex")], sensitive=["ill"], dropped=["income"])
    found = prediction_of(released(people(), "anatomize", schema), "age")
    # every row has its own age and sex; what is dealt out is the illness alone
    assert found.release["mean_absolute_error"] != found.original["mean_absolute_error"]
    twice = people(200, most_records=3).sort("id")
    alike = pl.concat([twice, twice.with_columns(id=pl.col("id") + 1000)])
    release = released(alike, "range", k=2)  # twins: groups of two persons who are alike
    found = prediction_of(release, "ill")
    assert found.release["accuracy"] == pytest.approx(found.original["accuracy"], abs=0.02)


def test_nobody_is_learned_from_and_tried_and_everybody_is_tried_once() -> None:
    release = released(people(120, most_records=4), "range")
    folds = folds_of(release, "ill")
    person = release.table.person_of_record
    rows = ReleasedRows(release)
    tried = np.concatenate([fold.tested for fold in folds])
    assert sorted(tried.tolist()) == list(range(release.table.n_records))
    for fold in folds:
        apart = set(person[fold.tested].tolist())
        assert apart.isdisjoint(person[fold.records].tolist())
        assert apart.isdisjoint(rows.person[fold.rows].tolist())
        assert set(person[fold.records].tolist()) == set(rows.person[fold.rows].tolist())


def folds_of(release: Release, target: str, seed: int = 0) -> list[Fold]:
    """The folds that a prediction is made with."""
    found: list[Fold] = []
    original = prediction._answers

    def kept(fold: Fold, *others: Any) -> Any:
        found.append(fold)
        return original(fold, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prediction, "_answers", kept)
        prediction_of(release, target, seed=seed)
    assert len(found) == FOLDS
    return found


@pytest.mark.parametrize("mask", ["anatomize", "permute", "range"])
def test_values_of_persons_kept_apart_never_teach(mask: str) -> None:
    """Whatever illness the persons kept apart have, the learner is told the same."""
    frame = people(150)
    release = released(frame, mask)
    for fold in folds_of(release, "ill"):
        rows = ReleasedRows(release)
        apart = np.zeros(release.table.n_records, bool)
        apart[fold.tested] = True
        codes = release.table.sensitive["ill"].codes
        other = replace(release.table.sensitive["ill"], codes=np.where(apart, 1 - codes, codes).astype(codes.dtype))
        changed = replace_table(release, replace(release.table, sensitive={**release.table.sensitive, "ill": other}))
        for make in (target_of, predictor_of):
            first, second = make(rows, "ill").shown(fold), make(ReleasedRows(changed), "ill").shown(fold)
            assert (first != second).nnz == 0


def replace_table(release: Release, table: Table) -> Any:
    class Changed:
        published, mask = release.published, release.mask

    changed = Changed()
    changed.table = table  # type: ignore[attr-defined]
    return changed


def test_the_same_seed_says_the_same_in_any_secret_order() -> None:
    first, second = (prediction_of(released(people()), "ill", seed=5) for _ in range(2))
    assert first == second
    assert first != prediction_of(released(people()), "ill", seed=6)


@pytest.mark.parametrize(
    ("change", "target", "why"),
    [
        (lambda frame: frame.head(20), "ill", "20 persons to learn from and to try it on; at least 30"),
        (lambda frame: frame.with_columns(ill=pl.lit("yes")), "ill", "'ill' has one value only"),
        (lambda frame: frame.with_columns(income=pl.lit(5)), "income", "'income' has one value only"),
        (lambda frame: frame.with_columns(age=pl.lit(5)), "age", "'age' has one value only"),
    ],
)
def test_where_nothing_can_be_told_it_is_said_in_words(
    change: Callable[[pl.DataFrame], pl.DataFrame], target: str, why: str
) -> None:
    found = prediction_of(released(change(people())), target)
    assert found.why_not is not None
    assert why in found.why_not
    assert (found.release, found.kept, found.measure) == ({}, None, None)


def test_a_target_alone_has_nothing_to_be_predicted_from() -> None:
    schema = Schema(person="id", quasi=["age"], dropped=["sex", "ill", "income"])
    found = prediction_of(released(people(), schema=schema), "age")
    assert found.why_not == "There is no other column from which 'age' could be predicted."


def test_a_column_that_is_no_target_is_refused_by_name() -> None:
    with pytest.raises(SchemaError, match=r"Usefulness is asked for 'incom'.*\nDid you mean 'income'"):
        prediction_of(released(people(60)), "incom")


def test_many_values_are_told_apart_as_far_as_they_are_frequent() -> None:
    rng = np.random.default_rng(1)
    frame = people().with_columns(ill=pl.Series([f"code {int(n)}" for n in rng.geometric(0.05, 300)]))
    found = prediction_of(released(frame), "ill")
    assert found.classes == 20
    assert any("the 19 most frequent are told apart" in note for note in found.notes)


def test_persons_are_drawn_from_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "MOST_RECORDS", 100)
    found = prediction_of(released(people()), "ill")
    assert found.persons == found.records == 100
    assert "100 of 300 persons were drawn for it, so that it stays quick." in found.notes


@pytest.mark.parametrize("kind", ["classes", "number"])
def test_a_kind_that_is_told_counts(kind: Any) -> None:
    found = prediction_of(released(people()), "age", kind=kind)
    assert found.kind == kind
    assert found.why_not is None


def test_texts_are_no_numbers() -> None:
    found = prediction_of(released(people()), "ill", kind="number")
    assert found.why_not == "'ill' holds no numbers, so that it can only be told in classes."


def test_a_learner_keeps_a_share_of_what_the_original_teaches() -> None:
    found = prediction_of(released(people(), k=40), "ill")
    release, original = found.release["auc"], found.original["auc"]
    assert release is not None
    assert original is not None
    assert found.kept == pytest.approx(min(max((release - 0.5) / (original - 0.5), 0), 1))
    assert found.to_dict()["release"] == found.release
    nothing = people().with_columns(ill=pl.col("ill").shuffle(2))
    assert prediction_of(released(nothing), "ill").kept is None


# --- what is spread over its values ----------------------------------------------------------------------------------

VALUES = list(range(20, 31))


@settings(max_examples=50)
@given(st.lists(st.sampled_from([*VALUES, None]), min_size=1, max_size=12), st.data())
def test_ranges_are_spread_over_their_numbers(ages: list[int | None], data: st.DataObject) -> None:
    low = data.draw(st.integers(20, 30))
    high = data.draw(st.integers(low, 30))
    with_missing = data.draw(st.booleans())
    frame = pl.DataFrame({"age": [*VALUES, *ages]}, schema={"age": pl.Int64})
    column = Table.from_frame(frame, Schema(quasi=[Number("age")])).quasi["age"]
    text = (f"{low}-{high}" if high > low else str(low)) + (" or missing" if with_missing else "")
    labels = read_labels(column, [text, "*", None], form="generalized")
    found = moments_of_labels(column, labels)  # type: ignore[arg-type]
    inside: list[float | None] = [float(each) for each in range(low, high + 1)]
    expected = naive.mean_over([*inside, *([None] if with_missing else [])])
    assert [each[0] for each in found] == pytest.approx(list(expected))
    whole = naive.mean_over([float(each) for each in VALUES])
    assert [each[1] for each in found] == pytest.approx(list(whole))
    assert [each[2] for each in found] == [0.0, 0.0, 1.0]
    parts = parts_of_labels(column, labels).toarray()
    shares = naive.shares_over([str(each) for each in range(low, high + 1)] + ([None] if with_missing else []))
    assert parts[0].tolist() == pytest.approx([shares.get(str(each), 0.0) for each in VALUES] + [shares.get(None, 0.0)])
    tells = tells_something(column, labels)
    has_missing = None in ages
    assert tells.tolist() == [
        not (low == 20 and high == 30 and with_missing >= has_missing), has_missing, True,
    ]  # fmt: skip


def test_sets_and_nodes_are_spread_over_their_leaves() -> None:
    rows = [["a", "left", "*"], ["b", "left", "*"], ["c", "right", "*"]]
    schema = Schema(quasi=[Nominal("place", Hierarchy.from_rows(rows)), Nominal("sex")])
    frame = pl.DataFrame({"place": ["a", "b", "c", "a"], "sex": ["f", "m", None, "f"]})
    table = Table.from_frame(frame, schema)
    place = read_labels(table.quasi["place"], ["left", "*", "c"], form="generalized")
    assert parts_of_labels(table.quasi["place"], place).toarray().tolist() == [
        [0.5, 0.5, 0, 0], pytest.approx([1 / 3, 1 / 3, 1 / 3, 0]), [0, 0, 1, 0],
    ]  # fmt: skip
    assert tells_something(table.quasi["place"], place).tolist() == [True, False, True]
    sex = read_labels(table.quasi["sex"], ["{f, m}", "{f, missing}", "*"], form="generalized")
    assert shares_of_sets(sex).toarray().tolist() == [  # type: ignore[arg-type]
        [0.5, 0.5, 0], [0.5, 0, 0.5], pytest.approx([1 / 3] * 3),
    ]  # fmt: skip


def test_rows_of_a_group_have_its_values_by_their_shares() -> None:
    release = released(people(90), "anatomize")
    rows, (fold, *_) = ReleasedRows(release), folds_of(release, "ill")
    counted = target_of(rows, "ill").shown(fold).toarray()  # type: ignore[attr-defined]
    dealt = predictor_of(rows, "ill").shown(fold).toarray()  # type: ignore[attr-defined]
    own = release.table.sensitive["ill"].codes
    group_of_person = dict(zip(rows.person.tolist(), rows.group.tolist(), strict=True))
    taught: dict[int, list[int]] = {}
    for record in fold.records.tolist():
        group = group_of_person[int(release.table.person_of_record[record])]
        taught.setdefault(group, []).append(int(own[record]))
    for group, values in taught.items():
        at = np.flatnonzero(rows.group[fold.rows] == group)
        assert counted[at, 0] == pytest.approx(values.count(0) / len(values))
        assert dealt[at].argmax(axis=1).tolist().count(0) == values.count(0)  # each value once, as permute deals them


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(1, 6))
def test_the_commonest_codes_have_places_of_their_own(counts: list[int], most: int) -> None:
    place, n = commonest_first(np.array(counts), most)
    own = [code for code in range(len(counts)) if place[code] < n - 1]
    assert len(own) == n - 1 == min(most, sum(count > 0 for count in counts))
    assert sorted(place[own].tolist()) == list(range(n - 1))
    others = [count for code, count in enumerate(counts) if code not in own]
    assert min((counts[code] for code in own), default=9) >= max(others, default=0)


def test_a_result_has_the_keys_of_the_contract() -> None:
    told = Prediction(target="x", why_not="because").to_dict()
    assert list(told) == [
        "target", "kind", "release", "original", "blind", "kept", "persons", "records", "classes", "features", "notes",
        "why_not",
    ]  # fmt: skip


def test_hidden_values_teach_nothing_and_are_no_class_of_their_own() -> None:
    release = released(people())
    frame = release.published.frame
    half = pl.int_range(len(frame), eager=True) % 2 == 0
    hidden = frame.with_columns(ill=pl.when(half).then(None).otherwise(pl.col("ill")))

    class Hiding:
        table, mask, published = release.table, release.mask, replace(release.published, frame=hidden)

    found = prediction_of(Hiding(), "ill")  # type: ignore[arg-type]
    assert found.classes == 2
    assert "150 of 300 published rows show nothing of 'ill' and teach nothing." in found.notes
    assert found.release["auc"] == pytest.approx(found.original["auc"], abs=0.05)
    assert prediction_of(Hiding(), "age").why_not is None  # type: ignore[arg-type]


def test_numbers_are_told_in_deviations_from_the_mean() -> None:
    release = released(people(60))
    fold = folds_of(release, "ill")[0]
    column = predictor_of(ReleasedRows(release), "age")
    assert isinstance(column, Numbers)
    original = column.features(fold).original.toarray()
    assert original[:, 0].mean() == pytest.approx(0)
    assert original[:, 0].std() == pytest.approx(1)
    assert original[:, 1] == pytest.approx((original[:, 0] ** 2 - 1) / np.sqrt(2))
