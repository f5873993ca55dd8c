"""The classifiers equal their references, ranges count as their parts, and the baseline has not seen its targets."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.candidates import Candidates
from shoal.attacking.inference import NEIGHBOURS, Lesson, naive_bayes, nearest_neighbours, part_of_record
from shoal.attacking.setting import Setting
from shoal.table.table import Table
from tests.naive import attacks as naive

SCHEMA = shoal.Schema(quasi=[shoal.Number("age"), shoal.Nominal("sex")], sensitive=["disease"])


def table_of(ages: list[int], sexes: list[str], diseases: list[int]) -> Table:
    frame = pl.DataFrame({"age": ages, "sex": sexes, "disease": diseases})
    return Table.from_frame(frame, SCHEMA)


def people(n: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 60, n)
    sex = rng.integers(0, 2, n)
    disease = (age // 14 + sex + rng.integers(0, 2, n)) % 4
    return pl.DataFrame({"age": age, "sex": np.array(["f", "m"])[sex], "disease": disease})


def test_naive_bayes_is_that_of_scikit_learn() -> None:
    from sklearn.naive_bayes import CategoricalNB

    table = Table.from_frame(people(300), SCHEMA)
    codes = table.frame["disease"].to_numpy()
    parts = [part_of_record(column) for column in table.quasi.values()]
    inputs = np.stack([part for part, _ in parts], axis=1)
    reference = CategoricalNB(alpha=1.0, min_categories=[n for _, n in parts]).fit(inputs, codes)
    lesson = Lesson.of_records(table, codes, 4)
    assert naive_bayes(lesson, table, np.arange(300)).tolist() == reference.predict(inputs).tolist()


def test_nearest_neighbours_are_those_of_scikit_learn() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"x": rng.random(300), "y": rng.random(300), "disease": rng.integers(0, 3, 300)})
    table = Table.from_frame(frame, shoal.Schema(quasi=["x", "y"], sensitive=["disease"]))
    codes = frame["disease"].to_numpy()
    lesson = Lesson.of_records(table, codes, 3)
    reference = KNeighborsClassifier(NEIGHBOURS).fit(lesson.points, codes)
    assert nearest_neighbours(lesson, table, np.arange(300)).tolist() == reference.predict(lesson.points).tolist()


rows = st.lists(st.tuples(st.integers(1, 6), st.sampled_from("fm"), st.integers(0, 2)), min_size=4, max_size=14)


@settings(max_examples=50)
@given(rows, st.integers(1, 3))
def test_ranges_count_as_their_parts(drawn: list[tuple], k: int) -> None:
    ages, sexes, diseases = (list(side) for side in zip(*drawn, strict=True))
    table = table_of(ages, sexes, diseases)
    release = shoal.protect(table.frame, SCHEMA, [shoal.PersonKAnonymity(k=k)], seed=1)
    setting = Setting(schema=SCHEMA, frame=release.published.frame, original=table)
    codes_of = {text: code for code, text in enumerate(setting.view.values["disease"].categories.to_list())}
    lesson = Lesson.of_release(setting, Candidates.of(setting), "disease")
    all_ages, all_sexes = sorted(set(ages)), sorted(set(sexes))
    lessons = []
    for age, sex, disease in release.published.frame.select(pl.all().cast(pl.String)).iter_rows():
        low, _, high = age.partition("-")
        covered = [at for at, one in enumerate(all_ages) if int(low) <= one <= int(high or low)]
        named = all_sexes if sex == "*" else sex.strip("{}").split(", ")
        lessons.append((
            ({part: 1 / len(covered) for part in covered}, {all_sexes.index(one): 1 / len(named) for one in named}),
            codes_of[disease],
        ))  # fmt: skip
    n_parts = (len(all_ages) + 1, len(all_sexes) + 1)
    predicted = naive_bayes(lesson, table, np.arange(len(drawn)))
    for (age, sex, _), value in zip(drawn, predicted.tolist(), strict=True):
        scores = naive.naive_bayes(lessons, n_parts, (all_ages.index(age), all_sexes.index(sex)))
        assert scores[value] == pytest.approx(max(scores.values()))


def test_what_can_be_learned_from_anybody_is_no_gain() -> None:
    """The value follows from sex alone: the release tells no more than others do."""
    frame = people(400).with_columns(disease=pl.when(pl.col("sex") == "f").then(1).otherwise(2))
    release = shoal.protect(frame, SCHEMA, [shoal.PersonKAnonymity(k=5)], seed=1)
    results = release.attack(["inference"]).results
    assert len(results) == 2
    for result in results:
        assert result.details["baseline"] == 1.0
        assert abs(result.details["gain"]) < 0.1
        assert result.blind < 0.6


def test_a_table_that_is_not_protected_tells_what_others_cannot() -> None:
    """Everybody has an age of their own, and a value by chance: the nearest of others knows nothing."""
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"person": np.repeat(np.arange(200), 12), "age": np.repeat(rng.permutation(2000)[:200], 12),
                          "disease": np.repeat(rng.integers(0, 10, 200), 12)})  # fmt: skip
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["disease"])
    suite = shoal.attack(frame, frame, schema, attacks=["inference"])
    nearest = {result.name: result for result in suite.results}["inference, nearest, disease"]
    assert nearest.success == 1.0
    assert nearest.details["baseline"] < 0.3
    assert nearest.details["gain"] > 0.7


def test_anatomized_values_are_learned_by_their_shares() -> None:
    release = shoal.protect(people(60), SCHEMA, [shoal.LDiversity(l=2)], mask="anatomize", method="anatomy", seed=1)
    setting = Setting(
        schema=SCHEMA, frame=release.published.frame, tables=release.published.tables, original=release.table,
        mask="anatomize",
    )  # fmt: skip
    lesson = Lesson.of_release(setting, Candidates.of(setting), "disease")
    assert lesson.values.sum() == pytest.approx(60)
    assert np.asarray(lesson.values.sum(axis=1)).ravel() == pytest.approx(setting.view.rows_of_place)


def test_attributes_with_too_many_values_are_said_not_to_be_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.attacking.inference.MOST_VALUES", 3)
    suite = shoal.attack(people(40), people(40), SCHEMA, attacks=["inference"])
    assert not suite.results
    assert "more than 3 different values" in suite.not_tried[0].why
