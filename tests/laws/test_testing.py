"""The checks that others run on parts of their own: shoal's parts pass them, and broken ones do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from shoal.attacking import ATTACKS
from shoal.attacking.contract import Attack, DoesNotApply
from shoal.errors import ParameterError
from shoal.grouping import METHODS, Grouping, Method
from shoal.masking import MASKS, Mean
from shoal.models import Model, PersonKAnonymity
from shoal.testing import check_attack, check_mask, check_method, check_model
from tests.models.test_contract import EVERY, told

OPTIONS: dict[str, dict[str, Any]] = {
    "buckets": {"m": 2}, "anatomy": {"m": 2}, "safepub": {"epsilon": 1.0, "delta": 0.5, "levels": "age=1,city=1"},
}  # fmt: skip
KEEPERS = [cls(**OPTIONS.get(name, {})) for name, cls in METHODS.items()]


NEEDED = {"columns": {"by": "noise"}, "record-swap": {"region": "city"}}
"""What masks cannot do without."""


@pytest.mark.parametrize("model", EVERY, ids=told)
def test_models_keep_the_laws(model: Model) -> None:
    check_model(model)


@pytest.mark.parametrize("method", KEEPERS, ids=lambda method: method.name)
def test_methods_keep_the_laws(method: Any) -> None:
    check_method(method, [PersonKAnonymity(k=2)])


@pytest.mark.parametrize("mask", MASKS)
def test_masks_keep_the_laws(mask: str) -> None:
    check_mask(MASKS[mask](**NEEDED.get(mask, {})), [PersonKAnonymity(k=2)])


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks_keep_the_laws(attack: str) -> None:
    check_attack(ATTACKS[attack]())


@dataclass(frozen=True, kw_only=True)
class OddPersons(PersonKAnonymity):
    """Every group has an odd number of persons, which two of them have not."""

    name: ClassVar[str] = "odd-persons"

    def holds(self, groups: Any) -> Any:
        return groups.persons % 2 == 1

    def reached(self, groups: Any) -> Any:
        return np.full(len(groups), self.asked)


@dataclass(frozen=True, kw_only=True)
class OneEach(Method):
    """Promises to keep models, but puts everybody into a group of their own."""

    name: ClassVar[str] = "one-each"
    sentence: ClassVar[str] = "Everybody stays alone."
    keeps_models: ClassVar[bool] = True

    def group(self, table: Any, models: Any, progress: Any = None, *, rng: Any = None) -> Grouping:
        return Grouping(np.arange(table.n_persons, dtype=np.int32), table.n_persons)


@dataclass(frozen=True, kw_only=True)
class Numbered(Mean):
    """Shows every record in its own way."""

    name: ClassVar[str] = "numbered"

    def publish(self, table: Any, grouping: Grouping, *, rng: Any = None) -> Any:
        made = super().publish(table, grouping, rng=rng)
        return replace(made, frame=made.frame.with_columns(age=np.arange(len(made.frame), dtype=np.float64)))


def test_what_breaks_a_law_is_told_in_words() -> None:
    with pytest.raises(AssertionError, match="odd-persons says that it is monotone, but two groups"):
        check_model(OddPersons(k=1))
    with pytest.raises(AssertionError, match="is parted into groups that do not"):
        check_method(OneEach())
    with pytest.raises(AssertionError, match="No release by numbered keeps its promises"):
        check_mask(Numbered(), [PersonKAnonymity(k=2)])
    with pytest.raises(AssertionError, match="no subclass of Mask"):
        check_mask(OneEach())  # type: ignore[arg-type]


class Boasting(Attack):
    """Finds everybody, without a question that it asks."""

    name = "boasting"
    knows = "Everything."

    def run(self, setting: Any) -> Any:
        return [self.result("boasting", aim="it is the person", successes=1, targets=1, blind=0)]


class Asking(Boasting):
    name = "asking"
    question = "Who is it?"


class Drifting(Asking):
    """Says something else each time."""

    name = "drifting"
    draws = iter(range(10**6))

    def run(self, setting: Any) -> Any:
        return [self.result("drifting", aim="it is the person", successes=1, targets=2 + next(self.draws), blind=0)]


class Twofold(Asking):
    name = "twofold"

    def run(self, setting: Any) -> Any:
        return [*super().run(setting), *super().run(setting)]


class Overdone(Asking):
    name = "overdone"

    def run(self, setting: Any) -> Any:
        return [replace(result, high=0.5) for result in super().run(setting)]


class Chatty(Asking):
    name = "chatty"

    def run(self, setting: Any) -> Any:
        raise DoesNotApply(f"Nobody has {setting.frame['disease'].drop_nulls()[0]}.")


class Raising(Asking):
    name = "raising"

    def run(self, setting: Any) -> Any:
        raise ParameterError("No.")


class Idle(Asking):
    name = "idle"

    def run(self, setting: Any) -> Any:
        return []


@pytest.mark.parametrize(
    ("attack", "told"),
    [
        (Boasting, "must say what it asks as a question"),
        (Drifting, "gives other results for the same release and seed"),
        (Twofold, "two results of one name"),
        (Overdone, "lies outside its interval"),
        (Chatty, "tells values of the table"),
        (Raising, "raise DoesNotApply"),
        (Idle, "could be tried on no release"),
    ],
)
def test_an_attack_that_breaks_a_law_is_told_in_words(attack: type[Attack], told: str) -> None:
    check_attack(Asking())
    with pytest.raises(AssertionError, match=told):
        check_attack(attack())
