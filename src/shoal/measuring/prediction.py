"""What can be learned from a release: one column is predicted from the others, for persons who were kept apart.

A learner is taught on the rows of the release of some persons, and tried on the original records of others. Beside it
stand the same learner taught on the original records of the same persons, and the blind guess.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import SchemaError
from shoal.measuring.learning import explained, learn_classes, learn_number, mean_area
from shoal.measuring.predictors import (
    Categories,
    Column,
    Fold,
    Kind,
    Learned,
    Numbers,
    ReleasedRows,
    commonest_first,
    one_of_each,
    predictor_of,
    target_of,
)
from shoal.measuring.shown import Released, is_read
from shoal.models.exact import BoolArray, FloatArray, IntArray
from shoal.policy.policy import refuse_unknown_target
from shoal.table.table import Table

FOLDS = 3
"""Parts of the persons; each is kept apart once, while the others are learned from."""
FEWEST_PERSONS = 30
"""Of fewer persons nothing is told: chance would say it."""
MOST_RECORDS = 20_000
"""Persons are drawn until they have so many records, so that it stays quick."""
MOST_CLASSES = 20
"""Values of the target that are told apart; all others are one class."""
HARDLY = 0.02
"""What is above the blind guess by less, or by less than chance gives so few persons, is hardly predicted at all."""
MEASURES: Mapping[Kind, tuple[str, str]] = {"classes": ("accuracy", "auc"), "number": ("r2", "mean_absolute_error")}
"""By what answers are measured."""

Skill = dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """How well a column is predicted by what was learned from a release, from the original, and blindly.

    Attributes
    ----------
    target, kind
        The column, and whether it is told as one of several "classes" or as a "number".
    release, original, blind
        Classes: `accuracy`, the share of records whose class is the likeliest; `auc`, the mean over classes, by
        their records, of how likely a record of the class scores higher than another (0.5 is blind). Numbers: `r2`,
        the share of the variance that is explained; `mean_absolute_error` in the column's own unit, of dates in days.
        The blind guess is the most frequent class, or the mean. Empty where nothing was tried.
    kept
        What the release teaches above the blind guess, as a share of what the original teaches: of `auc`, or of `r2`.
        None where even the original hardly teaches anything.
    persons, records
        Who was learned from and tried, each person once.
    classes
        How many classes were told apart; None of numbers.
    features
        The columns that it was predicted from.
    notes
        What else to know, in plain sentences.
    why_not
        Why nothing was tried; None where it was.
    """

    target: str
    kind: Kind | None = None
    release: Skill = field(default_factory=dict)
    original: Skill = field(default_factory=dict)
    blind: Skill = field(default_factory=dict)
    kept: float | None = None
    persons: int = 0
    records: int = 0
    classes: int | None = None
    features: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    why_not: str | None = None

    @property
    def measure(self) -> str | None:
        """The measure that `kept` is about."""
        return None if self.kind is None or self.why_not else {"classes": "auc", "number": "r2"}[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """The keys of the JSON contract."""
        told = {**vars(self), "features": list(self.features), "notes": list(self.notes)}
        return {name: dict(each) if isinstance(each, Mapping) else each for name, each in told.items()}


class _NotTried(Exception):  # noqa: N818
    """Why a column is not predicted, in a plain sentence."""


def prediction_of(release: Released, target: str, *, kind: Kind | None = None, seed: int = 0) -> Prediction:
    """How well a column of a release is predicted from its other quasi-identifiers and sensitive attributes.

    Parameters
    ----------
    target
        A quasi-identifier or a sensitive attribute.
    kind
        "classes" or "number"; unless told, numbers and dates are numbers, sensitive ones with more than ten values.
    seed
        Governs who is kept apart when.

    Notes
    -----
    Persons are parted into three: nobody is learned from and tried at once, and no published record of a person who is
    kept apart is learned from. Every record counts once. Persons who were left out of the release are not in it.
    """
    table = release.table
    refuse_unknown_target(target, [*table.quasi, *table.sensitive])
    try:
        return _tried(release, target, kind, seed)
    except _NotTried as why:
        return Prediction(target=target, why_not=str(why))


def _tried(release: Released, target: str, kind: Kind | None, seed: int) -> Prediction:
    if not is_read(release.mask):
        raise _NotTried("Only its maker can read what this mask shows, so that nobody else can learn from it.")
    table = release.table
    others = [name for name in (*table.quasi, *table.sensitive) if name != target]
    if not others:
        raise _NotTried(f"There is no other column from which '{target}' could be predicted.")
    rows = ReleasedRows(release)
    try:
        asked, predictors = target_of(rows, target, kind), [predictor_of(rows, name) for name in others]
    except SchemaError as unread:
        raise _NotTried(str(unread)) from None
    if kind == "number" and asked.kind != kind:
        raise _NotTried(f"'{target}' holds no numbers, so that it can only be told in classes.")
    answer = _Classes(asked) if isinstance(asked, Categories) else _Number(asked, table)
    drawn, note = _drawn(table, answer.is_known, seed)
    tells = np.ones(len(rows.person), np.bool_) if asked.tells is None else asked.tells
    folds = [_fold(rows, drawn, each, answer.is_known, tells) for each in range(FOLDS)]
    if any(not len(fold.rows) for fold in folds):
        raise _NotTried(f"The release shows nothing of '{target}', so that nothing can be learned of it.")
    skills = answer.measured([_answers(fold, predictors, answer) for fold in folds])
    return Prediction(
        target=target, kind=asked.kind, release=skills["release"], original=skills["original"],
        blind=skills["blind"], kept=answer.kept(skills, int((drawn >= 0).sum())), persons=int((drawn >= 0).sum()),
        records=sum(len(fold.tested) for fold in folds), classes=answer.n_classes, features=tuple(others),
        notes=(*answer.notes, *note, *_about_rows(rows, target, tells)),
    )  # fmt: skip


def _drawn(table: Table, is_known: BoolArray, seed: int) -> tuple[IntArray, list[str]]:
    """The part of each person, from 0 to FOLDS - 1, or -1 of those who are not looked at; and what to tell of them."""
    records = np.bincount(table.person_of_record[is_known], minlength=table.n_persons)
    able = np.flatnonzero(records > 0)
    if len(able) < FEWEST_PERSONS:
        raise _NotTried(
            f"There are {len(able):,} persons to learn from and to try it on; at least {FEWEST_PERSONS} are needed."
        )
    able = np.random.default_rng([seed, 18]).permutation(able)
    n = max(int((np.cumsum(records[able]) <= MOST_RECORDS).sum()), FEWEST_PERSONS)
    part = np.full(table.n_persons, -1, np.int64)
    part[able[:n]] = np.arange(min(n, len(able))) % FOLDS
    if n >= len(able):
        return part, []
    return part, [f"{n:,} of {len(able):,} persons were drawn for it, so that it stays quick."]


def _fold(rows: ReleasedRows, part: IntArray, number: int, is_known: BoolArray, tells: BoolArray) -> Fold:
    person = rows.table.person_of_record
    is_taught = (part >= 0) & (part != number)
    return Fold(
        records=np.flatnonzero(is_taught[person] & is_known),
        rows=np.flatnonzero(is_taught[rows.person] & tells),
        tested=np.flatnonzero((part == number)[person] & is_known),
    )


def _about_rows(rows: ReleasedRows, target: str, tells: BoolArray) -> list[str]:
    told = []
    if not tells.all():
        told.append(
            f"{int((~tells).sum()):,} of {len(tells):,} published rows show nothing of '{target}' and teach nothing."
        )
    if rows.is_apart:
        told.append(
            "The release does not show which sensitive value belongs to whom: they are taken as dealt out inside each "
            "group."
        )
    return told


def _answers(fold: Fold, predictors: Sequence[Column], answer: _Answer) -> _Answers:
    """What a learner answers for the records kept apart, taught on the release, on the original, and blindly."""
    from scipy.sparse import csr_matrix, hstack

    parts: list[Learned[csr_matrix]] = [column.features(fold) for column in predictors]
    original, released, tested = (
        csr_matrix(hstack([getattr(part, which) for part in parts])) for which in ("original", "released", "tested")
    )
    return _Answers(fold, answer.learned(fold, released, original, tested))


@dataclass(frozen=True)
class _Answers:
    fold: Fold
    by: Mapping[str, FloatArray]
    """By who answers, an answer for each record that was kept apart."""


class _Answer(ABC):
    """What is predicted."""

    is_known: BoolArray
    """By record of the original, whether there is something to predict."""
    n_classes: int | None
    notes: tuple[str, ...] = ()

    @abstractmethod
    def learned(self, fold: Fold, released: Any, original: Any, tested: Any) -> dict[str, FloatArray]:
        """The answers for records that were kept apart, by who gives them."""

    @abstractmethod
    def measured(self, answers: Sequence[_Answers]) -> dict[str, Skill]:
        """How good they are."""

    @abstractmethod
    def kept(self, skills: Mapping[str, Skill], n_persons: int) -> float | None:
        """What the release teaches, as a share of what the original does."""


def _share_kept(release: float | None, original: float | None, blind: float, n_persons: int) -> float | None:
    if release is None or original is None or original - blind < max(HARDLY, n_persons**-0.5):
        return None
    return min(max((release - blind) / (original - blind), 0.0), 1.0)


class _Classes(_Answer):
    """One of several classes; a missing value is one too."""

    def __init__(self, column: Categories) -> None:
        counts = np.bincount(column.code_of_record, minlength=column.n_codes)
        n_values = int((counts > 0).sum())
        if n_values < 2:
            raise _NotTried(f"'{column.name}' has one value only, so that there is nothing to predict.")
        most = MOST_CLASSES if n_values <= MOST_CLASSES else MOST_CLASSES - 1
        self.place, n = commonest_first(counts, most)
        self.n_classes = n_values if n_values <= MOST_CLASSES else n
        self.column, self.truth = column, self.place[column.code_of_record]
        self.is_known = np.ones(len(self.truth), np.bool_)
        if n_values > MOST_CLASSES:
            self.notes = (
                f"Of {n_values:,} different values of '{column.name}' the {most} most frequent are told apart; all "
                "others are one class.",
            )

    def learned(self, fold: Fold, released: Any, original: Any, tested: Any) -> dict[str, FloatArray]:
        """The chance of each class."""
        n = int(self.n_classes or 0)
        exact = np.eye(n)[self.truth[fold.records]]
        shown = (self.column.shown(fold) @ one_of_each(self.place, n + 1)).toarray()[:, :n]
        total = shown.sum(axis=1, keepdims=True)
        shown = np.where(total > 0, shown / np.where(total > 0, total, 1.0), 1.0 / n)
        commonest = np.zeros(n)
        commonest[exact.sum(axis=0).argmax()] = 1
        return {
            "release": learn_classes(released, shown).answer(tested),
            "original": learn_classes(original, exact).answer(tested),
            "blind": np.tile(commonest, (len(fold.tested), 1)),
        }

    def measured(self, answers: Sequence[_Answers]) -> dict[str, Skill]:
        """Accuracy over all records, and the mean over parts of the area under the curve."""
        skills: dict[str, Skill] = {}
        for who in ("release", "original", "blind"):
            right = [each.by[who].argmax(axis=1) == self.truth[each.fold.tested] for each in answers]
            areas = [mean_area(each.by[who], self.truth[each.fold.tested]) for each in answers]
            known = [area for area in areas if area is not None]
            skills[who] = {
                "accuracy": float(np.concatenate(right).mean()), "auc": float(np.mean(known)) if known else None,
            }  # fmt: skip
        return skills

    def kept(self, skills: Mapping[str, Skill], n_persons: int) -> float | None:
        """By the area under the curve."""
        return _share_kept(skills["release"]["auc"], skills["original"]["auc"], 0.5, n_persons)


class _Number(_Answer):
    """A number; records that miss it are left out."""

    n_classes = None

    def __init__(self, column: Column, table: Table) -> None:
        assert isinstance(column, Numbers)
        self.column, self.truth = column, column.known.mean
        self.is_known = column.known.missing < 1
        there = self.truth[self.is_known]
        if not len(there) or there.min() == there.max():
            raise _NotTried(f"'{column.name}' has one value only, so that there is nothing to predict.")
        if len(there) < table.n_records:
            self.notes = (
                f"{table.n_records - len(there):,} of {table.n_records:,} records miss '{column.name}' and are left "
                "out.",
            )

    def learned(self, fold: Fold, released: Any, original: Any, tested: Any) -> dict[str, FloatArray]:
        """The number."""
        shown, exact = self.column.shown(fold), self.truth[fold.records]
        is_there = np.flatnonzero(shown.missing < 1)
        if not len(is_there):
            raise _NotTried(f"The release shows nothing of '{self.column.name}', so that nothing can be learned of it.")
        return {
            "release": learn_number(released[is_there], shown.mean[is_there]).answer(tested),
            "original": learn_number(original, exact).answer(tested),
            "blind": np.full(len(fold.tested), exact.mean()),
        }

    def measured(self, answers: Sequence[_Answers]) -> dict[str, Skill]:
        """Over all records, each answered once."""
        truth = np.concatenate([self.truth[each.fold.tested] for each in answers])
        skills: dict[str, Skill] = {}
        for who in ("release", "original", "blind"):
            told = np.concatenate([each.by[who] for each in answers])
            skills[who] = {"r2": explained(truth, told), "mean_absolute_error": float(np.abs(truth - told).mean())}
        return skills

    def kept(self, skills: Mapping[str, Skill], n_persons: int) -> float | None:
        """By the variance explained."""
        return _share_kept(skills["release"]["r2"], skills["original"]["r2"], 0.0, n_persons)
