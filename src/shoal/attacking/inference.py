"""Inference: somebody trains a classifier on the release and predicts a sensitive value from quasi-identifiers.

Much of that can be learned from any sample of such people: whoever knows that the old are often ill need not know
anybody. So a classifier trained on persons other than the target stands beside it; what the release adds is the
difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.attacking.candidates import Candidates, encode_records
from shoal.attacking.contract import ORIGINAL, SENSITIVE, Attack, AttackResult, DoesNotApply, wilson
from shoal.attacking.linkage import commonest, own_values, who_has_value
from shoal.attacking.setting import Setting
from shoal.masking.label_shares import part_of_record, parts_of_labels
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.table import Table

MOST_VALUES = 2_000
"""Different values of a sensitive attribute that are told apart."""
NEIGHBOURS = 10
SMOOTHING = 1.0
"""What is added to every count, so that nothing is impossible (Laplace)."""
AT_ONCE = 20_000_000


class InferenceAttack(Attack):
    """How often a classifier trained on the release names a sensitive value of a person.

    Two classifiers: naive Bayes over quasi-identifiers, in which a range or set counts as its parts with shares of one
    record; and the 10 nearest records, a place standing at the middle of what it shows. Of each target one record is
    drawn, and a prediction is right where the person has that value.

    The baseline is trained on the original values of one half of the persons, and tried on targets of the other half,
    both ways: no target is in the part that it learns from. It stands under `details`, with `gain`, the difference.
    """

    name = "inference"
    question = "Which sensitive values does a classifier name that was trained on the release?"
    knows = "The quasi-identifiers of one record of the person."
    needs = (ORIGINAL, SENSITIVE)
    too_costly = (
        "It trains classifiers on the whole release, which takes too long for every run. "
        "It is tried where attacks are asked for."
    )

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        original = setting.known_original
        if original.n_persons < 4:
            raise DoesNotApply("There are too few persons to learn from others.")
        candidates = Candidates.of(setting)
        found = list(_results(setting, candidates))
        if not found:
            raise DoesNotApply(f"Every sensitive attribute has more than {MOST_VALUES:,} different values.")
        return found


def _results(setting: Setting, candidates: Candidates) -> Iterator[AttackResult]:
    original = setting.known_original
    rng = np.random.default_rng([setting.seed, 5])
    record_of_all = _one_record_each(candidates, setting.targets, rng)
    half = rng.permutation(original.n_persons) % 2 == 0
    for name in setting.schema.sensitive:
        values = setting.view.values[name]
        if values.n_codes > MOST_VALUES:
            continue
        is_asked = who_has_value(setting, name, setting.targets)
        if not is_asked.any():
            continue
        targets, record = setting.targets[is_asked], record_of_all[is_asked]
        own = own_values(setting, name, targets)
        is_own = np.zeros((len(targets), values.n_codes + 1), np.bool_)
        is_own[np.searchsorted(targets, own["target"].to_numpy()), own["value"].to_numpy()] = True
        learned = Lesson.of_release(setting, candidates, name)
        sample = Lesson.of_records(original, values.codes_of(original.frame[name]), values.n_codes + 1)
        if name in setting.schema.missing_tells_nothing:
            sample = sample.where(original.frame[name].is_not_null().to_numpy())
        blind = commonest(setting, name)
        for method, predict in (("naive Bayes", naive_bayes), ("nearest", nearest_neighbours)):
            right = _right(predict(learned, original, record), is_own)
            by_others = np.empty(len(targets), np.int64)
            for side in (False, True):
                asked = half[targets] == side
                other_half = sample.of_persons(half != side)
                by_others[asked] = predict(other_half, original, record[asked])
            baseline = _right(by_others, is_own)
            low, high = wilson(float(baseline.sum()), len(targets))
            yield InferenceAttack.result(
                f"inference, {method}, {name}",
                aim=f"the '{name}' that is predicted is one of the person's",
                successes=float(right.sum()),
                targets=len(targets),
                blind=blind,
                details={
                    "baseline": float(baseline.mean()), "baseline_low": low, "baseline_high": high,
                    "gain": float(right.mean() - baseline.mean()),
                },
            )  # fmt: skip


def _one_record_each(candidates: Candidates, targets: IntArray, rng: np.random.Generator) -> IntArray:
    order, start = candidates.records_by_person
    return np.asarray(order[start[targets] + rng.integers(0, np.diff(start)[targets])])


def _right(predicted: IntArray, is_own: BoolArray) -> BoolArray:
    return np.asarray(is_own[np.arange(len(predicted)), predicted])


# --- what a classifier learns from ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lesson:
    """Units with quasi-identifiers and sensitive values: the places of a release, or records.

    Attributes
    ----------
    parts
        For each quasi-identifier a sparse matrix: which share of the unit lies in which part of the column's values.
    values
        A sparse matrix: how many records of the unit have each value.
    points
        The units as points.
    person_of_unit
        Of records, whose they are.
    """

    parts: tuple[Any, ...]
    values: Any
    points: FloatArray
    person_of_unit: IntArray | None = None

    @classmethod
    def of_release(cls, setting: Setting, candidates: Candidates, name: str) -> Lesson:
        """The places of a release; where attributes are apart, each has the values of its group in their shares."""
        from scipy.sparse import csr_matrix

        released = setting.view
        values = released.values[name]
        places = pl.DataFrame(
            {
                "place": np.arange(released.n_places),
                "group": released.group_of_place,
                "rows": released.rows_of_place,
                "all_rows": released.rows_of_group[released.group_of_place],
            }
        )
        lines = places.join(values.counts, on="group")
        weight = lines["records"].to_numpy() * (lines["rows"] / lines["all_rows"]).to_numpy()
        shape = (released.n_places, values.n_codes + 1)
        counts = csr_matrix((weight, (lines["place"].to_numpy(), lines["value"].to_numpy())), shape=shape)
        parts = tuple(
            parts_of_labels(column, candidates.labels[name_])[candidates.label_of_place[name_]]
            for name_, column in setting.known_original.quasi.items()
        )
        return cls(parts, counts, candidates.place_vectors)

    @classmethod
    def of_records(cls, table: Table, codes: IntArray, n_codes: int) -> Lesson:
        """Records as they are."""
        from scipy.sparse import csr_matrix

        n = table.n_records
        everything = np.arange(n)
        parts = []
        for column in table.quasi.values():
            part, n_parts = part_of_record(column)
            parts.append(csr_matrix((np.ones(n), (everything, part)), shape=(n, n_parts)))
        values = csr_matrix((np.ones(n), (everything, codes)), shape=(n, n_codes))
        return cls(tuple(parts), values, encode_records(table, everything), table.person_of_record.astype(np.int64))

    def of_persons(self, chosen: BoolArray) -> Lesson:
        """What the records of some persons teach."""
        assert self.person_of_unit is not None
        return self.where(chosen[self.person_of_unit])

    def where(self, chosen: BoolArray) -> Lesson:
        """What some units teach."""
        is_in = np.flatnonzero(chosen)
        persons = None if self.person_of_unit is None else self.person_of_unit[is_in]
        return Lesson(tuple(part[is_in] for part in self.parts), self.values[is_in], self.points[is_in], persons)


# --- classifiers ------------------------------------------------------------------------------------------------------


def naive_bayes(lesson: Lesson, table: Table, record: IntArray) -> IntArray:
    """The most likely value of each record, taking quasi-identifiers as independent given the value."""
    n_of_value = np.asarray(lesson.values.sum(axis=0)).ravel()
    with np.errstate(divide="ignore"):
        prior = np.log(n_of_value / n_of_value.sum())
    logs = []
    for column, share in zip(table.quasi.values(), lesson.parts, strict=True):
        counts = np.asarray((share.T @ lesson.values).todense())
        part, n_parts = part_of_record(column)
        likely = np.log(counts + SMOOTHING) - np.log(counts.sum(axis=0) + SMOOTHING * n_parts)
        logs.append((likely, part[record]))
    predicted = np.empty(len(record), np.int64)
    step = max(AT_ONCE // len(prior), 1)
    for first in range(0, len(record), step):
        some = slice(first, first + step)
        score = prior[None, :] + sum(likely[part[some]] for likely, part in logs)
        predicted[some] = score.argmax(axis=1)
    return predicted


def nearest_neighbours(lesson: Lesson, table: Table, record: IntArray) -> IntArray:
    """The most frequent value of the nearest records: of the nearest units that have 10 records together."""
    from scipy.spatial import cKDTree

    k = min(NEIGHBOURS, len(lesson.points))
    _, near = cKDTree(lesson.points).query(encode_records(table, record), k=k)
    near = near.reshape(len(record), k)
    n_records = np.asarray(lesson.values.sum(axis=1)).ravel()[near]
    is_needed = np.cumsum(n_records, axis=1) - n_records < NEIGHBOURS
    predicted = np.empty(len(record), np.int64)
    step = max(AT_ONCE // lesson.values.shape[1], 1)
    for first in range(0, len(record), step):
        some = slice(first, first + step)
        votes = np.zeros((len(near[some]), lesson.values.shape[1]))
        for neighbour in range(k):
            votes += is_needed[some, neighbour, None] * lesson.values[near[some, neighbour]].toarray()
        predicted[some] = votes.argmax(axis=1)
    return predicted
