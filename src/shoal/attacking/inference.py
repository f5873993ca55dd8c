"""Inference: somebody trains a classifier on the release and predicts a sensitive value from quasi-identifiers.

Much of that can be learned from any sample of such people: who knows that the old are often ill need not know anybody.
So a classifier trained on persons other than the target stands beside it; what the release adds is the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.attacking.candidates import Candidates
from shoal.attacking.encoding import encode_records
from shoal.attacking.labels import RangeLabels, SetLabels, numbers_of
from shoal.attacking.linkage import commonest, own_values
from shoal.attacking.result import AttackResult, DoesNotApply, result_of, wilson
from shoal.attacking.setting import Setting
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.table.columns import NumberColumn
from shoal.table.table import QuasiColumn, Table

NAME = "inference"
KNOWS = "The quasi-identifiers of one record of the person."
MOST_PARTS = 64
"""Numbers with more different values are seen in so many parts with about equally many records."""
MOST_VALUES = 2_000
"""Different values of a sensitive attribute that are told apart."""
NEIGHBOURS = 10
SMOOTHING = 1.0
"""What is added to every count, so that nothing is impossible (Laplace)."""
AT_ONCE = 20_000_000


def attack_inference(setting: Setting) -> list[AttackResult]:
    """How often a classifier trained on the release names a sensitive value of a person.

    Two classifiers: naive Bayes over quasi-identifiers, in which a range or set counts as its parts with shares of one
    record; and the 10 nearest records, a place standing at the middle of what it shows. Of each target one record is
    drawn, and a prediction is right where the person has that value.

    The baseline is trained on the original values of one half of the persons, and tried on targets of the other half,
    both ways: no target is in the part that it learns from. It stands under `details`, with `gain`, the difference.
    """
    original = setting.known_original
    if not setting.schema.sensitive:
        raise DoesNotApply("The schema names no sensitive attribute.")
    if original.n_persons < 4:
        raise DoesNotApply("There are too few persons to learn from others.")
    candidates = Candidates.of(setting)
    found = list(_results(setting, candidates))
    if not found:
        raise DoesNotApply(f"Every sensitive attribute has more than {MOST_VALUES:,} different values.")
    return found


def _results(setting: Setting, candidates: Candidates) -> Iterator[AttackResult]:
    original, targets = setting.known_original, setting.targets
    rng = np.random.default_rng([setting.seed, 5])
    record = _one_record_each(candidates, targets, rng)
    half = rng.permutation(original.n_persons) % 2 == 0
    for name in setting.schema.sensitive:
        values = setting.released.values[name]
        if values.n_codes > MOST_VALUES:
            continue
        own = own_values(setting, name, targets)
        is_own = np.zeros((len(targets), values.n_codes + 1), np.bool_)
        is_own[np.searchsorted(targets, own["target"].to_numpy()), own["value"].to_numpy()] = True
        learned = Lesson.of_release(setting, candidates, name)
        sample = Lesson.of_records(original, values.codes_of(original.frame[name]), values.n_codes + 1)
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
            yield result_of(
                NAME,
                f"inference, {method}, {name}",
                knows=KNOWS,
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

        released = setting.released
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
            _parts_of_labels(column, candidates.labels[name_])[candidates.label_of_place[name_]]
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
        is_in = np.flatnonzero(chosen[self.person_of_unit])
        return Lesson(tuple(part[is_in] for part in self.parts), self.values[is_in], self.points[is_in])


def _edges(column: NumberColumn) -> FloatArray:
    """Where the parts of a number start: its values where they are few, else quantiles."""
    values = numbers_of(column)
    distinct = np.unique(values[~np.isnan(values)])
    if len(distinct) <= MOST_PARTS:
        return distinct
    return np.unique(np.quantile(values[~np.isnan(values)], np.arange(MOST_PARTS) / MOST_PARTS, method="lower"))


def part_of_record(column: QuasiColumn) -> tuple[IntArray, int]:
    """The part of a column's values that each record lies in, the last one missing, and how many there are."""
    if not isinstance(column, NumberColumn):
        return column.codes.astype(np.int64), len(column.categories) + 1
    edges, values = _edges(column), numbers_of(column)
    part = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, None)
    return np.where(np.isnan(values), len(edges), part), len(edges) + 1


def _parts_of_labels(column: QuasiColumn, labels: RangeLabels | SetLabels) -> Any:
    """For each label the share of it that lies in each part: equal shares of the values it stands for."""
    if isinstance(labels, SetLabels):
        part, n_parts = part_of_record(column)
        part_of_code = np.full(labels.n_codes, n_parts - 1)
        part_of_code[labels.values] = part
        at = np.repeat(np.arange(labels.n_labels), np.diff(labels.start))
        return _shares(at, part_of_code[labels.codes], labels.n_labels, n_parts)
    assert isinstance(column, NumberColumn)
    edges = _edges(column)
    first = np.clip(np.searchsorted(edges, labels.low, side="right") - 1, 0, None)
    last = np.clip(np.searchsorted(edges, labels.high, side="right") - 1, 0, len(edges) - 1)
    length = np.where(labels.low > labels.high, 0, last - first + 1)
    at = np.repeat(np.arange(labels.n_labels), length)
    part = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length) + first[at]
    missing = np.flatnonzero(labels.missing)
    at, part = np.append(at, missing), np.append(part, np.full(len(missing), len(edges)))
    return _shares(at, part, labels.n_labels, len(edges) + 1)


def _shares(at: IntArray, part: IntArray, n_labels: int, n_parts: int) -> Any:
    """A sparse matrix of labels and parts, whose lines sum to 1."""
    from scipy.sparse import csr_matrix

    size = np.bincount(at, minlength=n_labels)
    return csr_matrix((1 / size[at], (at, part)), shape=(n_labels, n_parts))


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
