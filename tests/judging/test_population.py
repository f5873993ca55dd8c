"""The risk of a sample: equal to its definitions, for persons with one record and with many."""

from __future__ import annotations

from collections import Counter
from math import comb, exp, expm1, factorial

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import SchemaError
from shoal.judging.columns_apart import columns_apart
from shoal.judging.households import household_risk
from shoal.judging.log_linear import log_linear_risk
from shoal.judging.population import classes_of_persons
from shoal.judging.suda import suda_scores
from shoal.models.individual_risk import all_right, individual_risk
from shoal.models.uniqueness import ClassSizes, pitman_parameters, population_uniques, slide_negative_binomial, zayatz
from tests.naive import population as naive

FEW = settings(max_examples=40, deadline=None)


def survey(**columns: list[object]) -> pl.DataFrame:
    """Eight persons of a town of 80."""
    usual = {
        "age": [30, 30, 40, 40, 40, 50, 60, 60],
        "sex": ["f", "f", "m", "m", "f", "m", "f", "m"],
        "w": [10.0] * 8,
        "home": [1, 1, 2, 2, 3, 3, 4, 4],
    }
    return pl.DataFrame({**usual, **columns})


SCHEMA = shoal.Schema(quasi=["age", "sex"], weight="w", household="home")


@FEW
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=30))
def test_persons_who_show_the_same_in_all_records_form_a_class(records: list[tuple[int, int]]) -> None:
    person = np.unique([p for p, _ in records], return_inverse=True)[1]
    code = np.array([value for _, value in records])
    classes, n_classes = classes_of_persons(code, person, int(person.max()) + 1)
    shown = naive.classes(code.tolist(), person.tolist())
    assert n_classes == len(set(shown))
    for one, own in enumerate(shown):
        assert [bool(same) for same in classes == classes[one]] == [other == own for other in shown]


@FEW
@given(st.integers(1, 6), st.floats(1, 60))
def test_the_individual_risk_is_the_mean_of_one_through_f(f: int, more: float) -> None:
    exact = naive.expected_inverse(1, f, f * more)
    assert all_right(1, f, f * more) == pytest.approx(exact, rel=1e-9)
    risk = individual_risk(np.array([f]), np.array([f * more]))[0]
    if f <= 2:
        assert risk == pytest.approx(exact, rel=1e-6)
    elif more > 1.2:
        assert risk == pytest.approx(exact, rel=0.2)
    assert risk <= 1 / f + 1e-12


@FEW
@given(st.integers(1, 5), st.data(), st.floats(1, 30))
def test_all_of_some_members_are_found_as_the_sum_says(f: int, data: st.DataObject, more: float) -> None:
    j = data.draw(st.integers(1, f))
    assert all_right(j, f, f * more) == pytest.approx(naive.expected_inverse(j, f, f * more), rel=1e-8)


@pytest.mark.parametrize("f", range(1, 7))
def test_of_alike_members_those_are_found_that_matchings_find(f: int) -> None:
    persons = np.array([f])
    for m in range(1, f + 1):
        household = np.array([0] * m + list(range(1, f - m + 1)))
        told = household_risk(household, np.zeros(f, np.int64), persons, persons.astype(float))
        others = (f - m) * (1 - naive.nobody_right(1, f))
        assert told.expected_any - others == pytest.approx(1 - naive.nobody_right(m, f))
        assert told.expected_all - (f - m) / f == pytest.approx(factorial(f - m) / factorial(f))


def test_a_couple_who_are_alike_is_not_found_as_two_strangers_are() -> None:
    risk = household_risk(np.array([7, 7]), np.zeros(2, np.int64), np.array([2]), np.array([2.0]))
    assert risk.expected_any == 0.5
    assert risk.multiplied / 2 == 0.75


@FEW
@given(st.lists(st.integers(1, 6), min_size=2, max_size=8), st.integers(2, 20))
def test_zayatz_is_its_definition(sizes: list[int], more: int) -> None:
    sizes = [1, *sizes]
    told = zayatz(ClassSizes.of(np.array(sizes), sum(sizes) * more))
    assert told == pytest.approx(naive.zayatz(sizes, sum(sizes) * more), rel=1e-9)


def test_pitmans_parameters_are_where_the_likelihood_is_highest() -> None:
    sizes = [1] * 20 + [2] * 6 + [3] * 4 + [5] * 2 + [9]
    found = pitman_parameters(ClassSizes.of(np.array(sizes), 1000))
    assert found is not None
    theta, alpha = found
    highest = naive.pitman_likelihood(sizes, theta, alpha)
    for other in ((theta * 1.01, alpha), (theta * 0.99, alpha), (theta, alpha + 0.005), (theta, alpha - 0.005)):
        assert naive.pitman_likelihood(sizes, *other) < highest


def test_slide_negative_binomial_finds_the_population_that_it_assumes() -> None:
    rng = np.random.default_rng(4)
    in_population = 1 + rng.negative_binomial(0.4, 0.15, 60_000)
    drawn = rng.binomial(in_population, 0.2)
    told = slide_negative_binomial(ClassSizes.of(drawn[drawn > 0], in_population.sum()))
    assert told == pytest.approx((in_population == 1).sum(), rel=0.15)


def test_without_sample_uniques_nobody_is_unique_and_a_census_is_counted() -> None:
    assert set(population_uniques(ClassSizes.of(np.array([2, 3]), 50)).values()) == {0.0}
    assert set(population_uniques(ClassSizes.of(np.array([1, 1, 3]), 5)).values()) == {2.0}


@FEW
@given(st.integers(1, 4).flatmap(lambda q: st.lists(st.tuples(*[st.integers(0, 2)] * q), min_size=1, max_size=12)))
def test_scores_count_minimal_sample_uniques(rows: list[tuple[int, ...]]) -> None:
    q = len(rows[0])
    codes = [(np.array([row[c] for row in rows]), 3) for c in range(q)]
    scores = suda_scores(codes)
    for at, own in enumerate(naive.minimal_uniques(rows)):
        assert scores.score[at] == sum(factorial(q - len(columns)) for columns in own)
        for column in range(q):
            assert scores.of_columns[at, column] == sum(factorial(q - len(c)) for c in own if column in c)
    by_sets = suda_scores(codes, points="sets").score
    for at, own in enumerate(naive.minimal_uniques(rows)):
        assert by_sets[at] == pytest.approx(sum((2 ** (q - len(c)) - 1) / comb(q, len(c)) for c in own))
    small = suda_scores(codes, max_size=1)
    assert [score > 0 for score in small.score] == [any(len(c) == 1 for c in o) for o in naive.minimal_uniques(rows)]


@FEW
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=12))
def test_separation_counts_pairs(rows: list[tuple[int, int]]) -> None:
    codes = [(np.array([row[c] for row in rows]), 3) for c in range(2)]
    told = columns_apart(codes, ["a", "b"])
    assert told["a+b"]["separation"] == pytest.approx(naive.separation(rows))
    assert told["a"]["separation"] == pytest.approx(naive.separation([row[0] for row in rows]))
    assert told["a+b"]["distinction"] == len(set(rows)) / len(rows)
    for most in (1, 3, 5):
        assert told["a+b"][f"rare_{most}"] == sum(n <= most for n in Counter(rows).values())


@FEW
@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=30), st.floats(1, 50))
@example([(0, 0, 0), (0, 1, 1)], 1 + 2**-52)
def test_log_linear_risk_of_two_columns_together(rows: list[tuple[int, ...]], weight: float) -> None:
    codes = [(np.array([row[c] for row in rows]), 3) for c in range(3)]
    classes, n_of_class = np.unique(np.array(rows), axis=0, return_inverse=True, return_counts=True)[1:]
    weights = np.full(len(rows), weight)
    for weighing in ("none", "counts"):  # weights that are all the same change nothing
        told = log_linear_risk(
            codes, classes.reshape(-1), n_of_class, weights, together=[(0, 1)], weighing=weighing, is_population=False
        )
        means = naive.means_of_pair_and_single(rows)
        alone = [(1 - 1 / weight) * means[row] for row, n in Counter(rows).items() if n == 1]
        assert told["uniques"] == pytest.approx(sum(exp(-rest) for rest in alone), abs=1e-6)
        assert told["found"] == pytest.approx(sum(-expm1(-r) / r if r else 1 for r in alone), abs=1e-6)


def test_frequencies_of_classes_are_told_the_riskiest_first() -> None:
    frame = survey(w=[10.0, 12, 10, 10, 10, 30, 10, 10])
    told = shoal.assess(frame, SCHEMA).to_dict()["population"]
    classes = [(each["f"], each["F"], each["classes"]) for each in told["frequencies"]]
    assert classes == [(1, 10, 3), (1, 30, 1), (2, 20, 1), (2, 22, 1)]
    assert [each["risk"] for each in told["frequencies"]] == sorted(
        (e["risk"] for e in told["frequencies"]), reverse=True
    )
    assert told["other_classes"] == 0
    assert sum(e["risk"] * e["f"] * e["classes"] for e in told["frequencies"]) == pytest.approx(
        told["expected_reidentifications"]
    )


def test_a_sample_is_assessed_and_protected_with_its_weights() -> None:
    frame = survey()
    told = shoal.assess(frame, SCHEMA).to_dict()["population"]
    assert told["population"] == 80
    assert told["fraction"] == 0.1
    assert told["sample_uniques"] == 4
    assert told["below"] == {"2": 4, "3": 8, "5": 8}
    release = shoal.protect(frame, SCHEMA, [shoal.PersonKAnonymity(k=4)], seed=1)
    answer = release.to_dict()
    assert answer["before"]["population"] == told
    assert answer["population"]["expected_reidentifications"] < told["expected_reidentifications"]
    assert set(release.data.columns) == {"age", "sex"}


def test_who_has_many_records_is_one_person() -> None:
    once = survey(id=list(range(8)))
    many = pl.concat([once, once.head(3), once.head(1)])
    schema = shoal.Schema(person="id", quasi=["age", "sex"], weight="w", household="home")
    first, second = (shoal.assess(frame, schema).to_dict()["population"] for frame in (once, many))
    assert first == second


def test_who_shows_several_values_is_like_those_who_show_the_same() -> None:
    frame = pl.DataFrame({"id": [1, 1, 2, 2, 3], "age": [30, 31, 31, 30, 30], "w": [5.0] * 5})
    schema = shoal.Schema(person="id", quasi=["age"], weight="w")
    told = shoal.assess(frame, schema).to_dict()["population"]
    assert told["classes"] == 2
    assert told["sample_uniques"] == 1
    assert told["population"] == 15


def test_a_table_that_is_no_sample_says_nothing_of_a_population() -> None:
    frame = survey()
    schema = shoal.Schema(quasi=["age", "sex"], dropped=["w", "home"])
    assert "population" not in shoal.assess(frame, schema).to_dict()


def test_verify_counts_a_sample_where_its_weights_are_kept() -> None:
    schema = shoal.Schema(quasi=["age", "sex"], weight="w", kept=["w"], household="home")
    release = shoal.protect(survey(), schema, [shoal.PersonKAnonymity(k=4)], seed=1)
    told = shoal.verify(release.data, schema, [shoal.PersonKAnonymity(k=4)])
    assert told.holds
    again, was = told.to_dict()["population"], release.to_dict()["population"]
    assert again["expected_reidentifications"] == pytest.approx(was["expected_reidentifications"])


def test_a_household_or_a_weight_that_is_not_kept_must_not_be_published() -> None:
    told = shoal.verify(survey(), SCHEMA, [shoal.PersonKAnonymity(k=1)])
    assert not told.holds
    assert len(told.problems) == 2


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([None, *[10.0] * 7], "is missing in 1 of 8"),
        ([0.0, 0.0, *[10.0] * 6], "is 0 in 2 of 8"),
        ([-1.0, *[10.0] * 7], "is negative in 1 of 8"),
        ([float("inf"), *[10.0] * 7], "is infinite in 1 of 8"),
        (["ten", *["10"] * 7], "is no number in 1 of 8"),
        ([0.5] * 8, "add up to 4, fewer than the 8 persons"),
    ],
)
def test_weights_that_are_none_are_told_in_words(weights: list[object], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        shoal.assess(survey(w=weights), SCHEMA)


@pytest.mark.parametrize(("role", "values"), [("weight", [1.0, 2.0, 3.0]), ("household", [1, 2, 3])])
def test_what_differs_inside_a_person_is_refused(role: str, values: list[object]) -> None:
    frame = pl.DataFrame({"id": [1, 1, 2], "age": [30, 30, 40], "x": values})
    schema = shoal.Schema(person="id", quasi=["age"], **{role: "x"})
    with pytest.raises(SchemaError, match=f"{role} column 'x' differs between the records of 1 of 2"):
        shoal.assess(frame, schema)


@pytest.mark.parametrize("beside", [{"sensitive": ["w"]}, {"household": "w"}, {"person": "w"}])
def test_a_weight_has_no_other_role_but_that_it_is_kept(beside: dict[str, object]) -> None:
    with pytest.raises(SchemaError, match="one role only"):
        shoal.Schema(quasi=["age"], weight="w", **beside)  # type: ignore[arg-type]
