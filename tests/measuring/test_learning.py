"""Learners have one best answer, which a reference finds too; how well they do is as in the books."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score, roc_auc_score

from shoal.measuring.learning import (
    PENALTY,
    area_under_curve,
    explained,
    learn_classes,
    learn_number,
    mean_area,
)
from tests.naive import learning as naive

SCORES = st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=1, max_size=20)


def examples(n: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n), rng.normal(size=n) ** 2])
    scores = features @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(n, n_classes))
    return features, scores.argmax(axis=1)


@given(SCORES)
def test_area_under_curve_counts_pairs(drawn: list[tuple[int, bool]]) -> None:
    scores, is_so = [score for score, _ in drawn], [so for _, so in drawn]
    found = area_under_curve(np.array(scores, float), np.array(is_so))
    expected = naive.area_under_curve(scores, is_so)
    assert found == (None if expected is None else pytest.approx(expected))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), min_size=1))
def test_mean_area_is_that_of_each_class_against_all_others(drawn: list[tuple[int, int, int, int]]) -> None:
    chances, classes = [line[:3] for line in drawn], [line[3] for line in drawn]
    found = mean_area(np.array(chances, float), np.array(classes))
    expected = naive.mean_area(chances, classes)
    assert found == (None if expected is None else pytest.approx(expected))


def test_areas_are_those_of_the_reference() -> None:
    rng = np.random.default_rng(1)
    chances, classes = rng.dirichlet([1, 1, 1], 200), rng.integers(0, 3, 200)
    told = roc_auc_score(classes, chances, multi_class="ovr", average="weighted")
    assert mean_area(chances, classes) == pytest.approx(told)
    assert area_under_curve(chances[:, 0], classes == 0) == pytest.approx(roc_auc_score(classes == 0, chances[:, 0]))


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=2, max_size=20))
def test_explained_is_r_squared(drawn: list[tuple[int, int]]) -> None:
    numbers, answers = ([float(each[at]) for each in drawn] for at in (0, 1))
    found = explained(np.array(numbers), np.array(answers))
    if len(set(numbers)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(naive.explained(numbers, answers)) == pytest.approx(r2_score(numbers, answers))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_classes_are_learned_as_by_the_reference(n_classes: int) -> None:
    features, classes = examples(300, n_classes)
    taught = learn_classes(csr_matrix(features), np.eye(n_classes)[classes], flat=1e-9)
    # of two classes the reference has one set of coefficients, whose penalty is then half of ours
    reference = LogisticRegression(
        C=(2 if n_classes == 2 else 1) / PENALTY, tol=1e-10, solver="newton-cg", max_iter=10_000
    )
    expected = reference.fit(features, classes).predict_proba(features)
    assert taught.answer(csr_matrix(features)) == pytest.approx(expected, abs=1e-4)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(0, 12))
def test_no_other_coefficients_lose_less(seed: int, place: int) -> None:
    features, classes = examples(40, 3, seed)
    rng = np.random.default_rng(seed)
    shares = 0.7 * np.eye(3)[classes] + 0.3 * rng.dirichlet([1, 1, 1], 40)
    taught = learn_classes(csr_matrix(features), shares, flat=1e-9)
    weights = np.vstack([taught.intercept, taught.coefficients])

    def lost(each: np.ndarray) -> float:
        return naive.loss_of_classes(features.tolist(), shares.tolist(), each[0].tolist(), each[1:].tolist(), PENALTY)

    least = lost(weights)
    for step in (-0.05, 0.05):
        moved = weights.copy()
        moved.flat[place % moved.size] += step
        assert lost(moved) >= least - 1e-9


@given(st.integers(0, 1000))
def test_numbers_are_learned_as_by_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = np.column_stack([rng.normal(size=50), rng.integers(0, 2, 50)])
    numbers = 1000 + 30 * features[:, 0] + rng.normal(size=50)
    taught = learn_number(csr_matrix(features), numbers)
    scale = numbers.std()
    expected = Ridge(alpha=PENALTY).fit(features, numbers / scale).predict(features) * scale
    assert taught.answer(csr_matrix(features)) == pytest.approx(expected)


def test_a_number_that_is_always_the_same_is_answered() -> None:
    taught = learn_number(csr_matrix(np.ones((3, 2))), np.full(3, 7.0))
    assert taught.answer(csr_matrix(np.zeros((2, 2)))).tolist() == [7.0, 7.0]
