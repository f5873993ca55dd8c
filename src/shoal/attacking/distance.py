"""Distance linkage: somebody knows the quasi-identifiers of all persons, and links each to the nearest published one.

For releases that show changed numbers, where nothing fits exactly. The strongest form pairs everybody with somebody at
once, such that the distances are smallest together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.attacking.candidates import Candidates, encode_records
from shoal.attacking.contract import ORIGINAL, PERSON_OF_RECORD, Attack, AttackResult, Attempt, Finding, Need, Recounted
from shoal.attacking.setting import Setting
from shoal.measuring.statistics import linked_by_distance
from shoal.models.exact import FloatArray, IntArray

MOST_PAIRED = 2_000
"""Persons up to whom all pairs are weighed in the assignment."""
MOST_PAIRED_NEAR = 10_000
"""Persons up to whom only near pairs are."""
NEAR = 30
"""How many nearest persons can be paired with a published one where there are more."""
CHANGED_NUMBERS = Need(
    "It is for releases that show changed values (the masks mean, perturb, and those that change persons one by one).",
    lambda setting: setting.changes_numbers,
)


class DistanceAttack(Attack):
    """The share of published persons whose nearest, or second nearest, original person is the right one.

    Distances are Euclidean, on numbers scaled by the extent of the original; two different categories are 1 apart. A
    person stands at the mean of their records. Of equally near ones one is taken by chance, which is computed.

    Notes
    -----
    The assignment is exact up to 2,000 persons. Up to 10,000 each published person may be paired with one of the 30
    nearest only, or with nobody; beyond, it is left out.
    """

    name = "distance"
    question = "Whose are numbers that were changed before they were published?"
    knows = "The exact quasi-identifiers of every person in the table."
    needs = (CHANGED_NUMBERS, ORIGINAL, PERSON_OF_RECORD)

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        original = setting.known_original
        assert setting.origin is not None
        candidates = Candidates.of(setting)
        everybody, person = np.unique(setting.origin, return_inverse=True)
        where = _means(candidates.place_vectors[setting.view.place_of_row], person, len(everybody))
        record, target = candidates.records_of(everybody)
        own = _means(encode_records(original, record), np.searchsorted(everybody, target), len(everybody))
        return list(_results(setting, own, where))

    def findings(self, recounted: Recounted) -> Iterator[Finding]:
        """Link perturbed numbers to the original ones that are closest."""
        if recounted.linkage is None:
            return
        n, linked, rate = recounted.linkage.n, recounted.linkage.linked, recounted.linkage.rate
        yield Finding(
            name="link numbers",
            knows="a person’s exact numbers",
            does="takes the published person whose numbers are closest, or second closest",
            persons=n,
            attempts=(
                Attempt(label="link to the closest", what="the closest is the person", success=linked / n, blind=1 / n),
                Attempt(
                    label="link to one of two",
                    what="the closest or second closest is",
                    success=rate,
                    blind=min(2 / n, 1.0),
                ),
            ),
        )


def _means(vectors: FloatArray, person: IntArray, n_persons: int) -> FloatArray:
    sums = np.stack([np.bincount(person, weights=column, minlength=n_persons) for column in vectors.T], axis=1)
    return np.asarray(sums / np.bincount(person, minlength=n_persons)[:, None])


def _results(setting: Setting, own: FloatArray, where: FloatArray) -> Iterator[AttackResult]:
    n = len(own)
    nearest, second = linked_by_distance(own, where)
    tries = {
        "nearest": (nearest, 1 / n, "the nearest person is the right one"),
        "second nearest": (nearest + second, min(2 / n, 1.0), "the nearest or the second nearest is the right one"),
    }
    if n <= MOST_PAIRED_NEAR:
        right = linked_by_assignment(own, where, seed=setting.seed)
        tries["assignment"] = (right, 1 / n, "the person paired with them is the right one")
    for name, (chance, blind, aim) in tries.items():
        details = {"within": NEAR} if name == "assignment" and n > MOST_PAIRED else {}
        yield DistanceAttack.result(
            f"distance, {name}", aim=aim, successes=float(chance.sum()), targets=n, blind=blind,
            details=details,
        )  # fmt: skip


def linked_by_assignment(own: FloatArray, where: FloatArray, *, seed: int = 0) -> FloatArray:
    """For each published person 1 where the assignment of least squared distances pairs them rightly, else 0.

    The original persons are put in a random order first, so that of equal assignments one is taken by chance.
    """
    n = len(own)
    order = np.random.default_rng(seed).permutation(n)
    pair = assigned(own[order], where)
    right = np.zeros(n)
    is_paired = pair < n
    right[is_paired] = order[pair[is_paired]] == np.flatnonzero(is_paired)
    return right


def assigned(own: FloatArray, where: FloatArray) -> IntArray:
    """The original that each published person is paired with, such that squared distances are least together."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    if len(own) > MOST_PAIRED:
        return _assigned_near(own, where)
    _, pair = linear_sum_assignment(cdist(where, own, "sqeuclidean"))
    return np.asarray(pair)


def _assigned_near(own: FloatArray, where: FloatArray) -> IntArray:
    """The original that each published person is paired with among the nearest, or n for nobody."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching
    from scipy.spatial import cKDTree

    n = len(own)
    distance, near = cKDTree(own).query(where, k=NEAR)
    cost = distance**2 + 1.0  # no cost is 0, which would mean that there is no edge
    nobody = float(cost.max()) * 2 + 1
    lines = np.repeat(np.arange(n), NEAR)
    graph = csr_matrix(
        (
            np.concatenate([cost.ravel(), np.full(n, nobody)]),
            (np.concatenate([lines, np.arange(n)]), np.concatenate([near.ravel(), n + np.arange(n)])),
        ),
        shape=(n, 2 * n),
    )
    line, pair = min_weight_full_bipartite_matching(graph)
    paired = np.full(n, n)
    paired[line] = np.minimum(pair, n)
    return paired
