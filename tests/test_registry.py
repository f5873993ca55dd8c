"""Parts of others are found by entry points, and what is not fit is refused in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import shoal
from shoal.errors import ParameterError, ShoalWarning
from shoal.grouping import METHODS
from shoal.masking import MASKS, Mask, Mean
from shoal.models import MODELS
from tests.conftest import Installed

HERE = __name__


@dataclass(frozen=True, kw_only=True)
class Starred(Mean):
    """Its own name."""

    name: ClassVar[str] = "starred"


class Nameless(Mask):
    """Has no name."""


NO_MASK = "none"


def test_an_unknown_name_is_refused_with_the_closest() -> None:
    with pytest.raises(ParameterError, match=r"There is no mask 'maen'. Choose one of: range, mean, .*") as refusal:
        MASKS["maen"]
    assert refusal.value.hint == "Did you mean 'mean'?"
    assert "maen" not in MASKS
    assert MASKS.get("maen") is None


def test_a_part_is_made_by_its_name_with_options() -> None:
    assert METHODS.made("mdav", m=5) == METHODS["mdav"](m=5)  # type: ignore[call-arg]
    assert MODELS.made("k-anonymity", k=5) == shoal.KAnonymity(k=5)
    with pytest.raises(ParameterError, match="There is no method 'mdva'"):
        METHODS.made("mdva")
    with pytest.raises(ParameterError, match=r"The method 'mdav' has no option 'n'. Its options are: m"):
        METHODS.made("mdav", n=5)


def test_own_parts_are_found_without_looking_at_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(**named: Any) -> None:
        raise AssertionError("looked")

    monkeypatch.setattr("shoal.registry.entry_points", looked)
    monkeypatch.syspath_prepend("elsewhere")
    assert [MODELS["g-balance"], METHODS["mdav"].name, "mean" in MASKS] == [shoal.GBalance, "mdav", True]


def test_a_part_of_a_package_is_found_and_listed_last(installed: Installed) -> None:
    before = list(MASKS)
    installed("stars", "shoal.masks", {"starred": f"{HERE}:Starred"})
    assert MASKS["starred"] is Starred
    assert list(MASKS) == [*before, "starred"]


@pytest.mark.parametrize(
    ("name", "part", "why"),
    [
        ("starry", "Starred", "that calls itself 'starred': both names must be the same"),
        ("custom", "Nameless", "that has no name"),
        ("starred", "NO_MASK", "must be a subclass of shoal.masking"),
        ("starred", "Absent", r"Absent cannot be imported \(AttributeError\)"),
    ],
)
def test_what_is_not_fit_is_an_error_when_asked_for_and_a_warning_in_the_list(
    installed: Installed, name: str, part: str, why: str
) -> None:
    before = list(MASKS)
    installed("stars", "shoal.masks", {name: f"{HERE}:{part}"})
    with pytest.raises(ParameterError, match=f"^The package stars offers .*{why}"):
        MASKS[name]
    with pytest.warns(ShoalWarning, match=f"{why}.* It is left out"):
        assert list(MASKS) == before


def test_a_name_of_shoal_stays_with_shoal(installed: Installed) -> None:
    installed("stars", "shoal.masks", {"mean": f"{HERE}:Starred"})
    assert MASKS["mean"] is Mean
    with pytest.warns(ShoalWarning, match="The package stars offers a mask by 'mean', which is one of shoal's own"):
        list(MASKS)
    with pytest.raises(ParameterError, match="it needs another name"):
        MASKS["mean"] = Starred


def test_a_name_that_two_packages_offer_is_refused(installed: Installed) -> None:
    installed("stars", "shoal.masks", {"starred": f"{HERE}:Starred"})
    installed("more", "shoal.masks", {"starred": f"{HERE}:Nameless"})
    with pytest.raises(ParameterError, match="The packages more and stars offer a mask 'starred' each"):
        MASKS["starred"]


def test_a_part_can_be_added_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MASKS, "starred", Starred)
    assert MASKS["starred"] is Starred
    with pytest.raises(ParameterError, match="calls itself 'starred'"):
        MASKS["other"] = Starred
