"""Options of parts: declared by fields, and the same for flags, policies and refusals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import click
import pytest

import shoal
from shoal.cli.main import cli
from shoal.cli.options import part_flags
from shoal.errors import ParameterError, PolicyError
from shoal.grouping import METHODS
from shoal.masking import MASKS, Mean
from shoal.parts import MaskName, MethodName, option, options_of
from shoal.policy import Policy
from tests.conftest import Installed


@dataclass(frozen=True, kw_only=True)
class Starred(Mean):
    """A mask of somebody's own, with options of every kind, two of which have names that flags have already."""

    stars: int = field(default=1, metadata=option("How many stars.", low=1, high=9))
    glow: Literal["dim", "bright"] = field(default="dim", metadata=option("How bright."))
    seed: int = field(default=0, metadata=option("Where counting begins."))
    noise: int = field(default=0, metadata=option("Another kind of noise."))
    name: ClassVar[str] = "starred"
    sentence: ClassVar[str] = "A group shows stars."


def test_the_names_that_types_know_are_those_of_the_registries() -> None:
    assert list(get_args(MethodName)) == list(METHODS)
    assert list(get_args(MaskName)) == list(MASKS)


@pytest.mark.parametrize("part", [*METHODS.values(), *MASKS.values()])
def test_every_part_says_what_it_does_and_what_it_takes(part: Any) -> None:
    assert part.title
    assert part.sentence.endswith(".")
    for each in options_of(part):
        assert each.help.endswith("."), each.name
        assert each.kind is not object, each.name
        assert each.fault(each.default) is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"stars": 0}, "stars must be a whole number from 1 to 9. How many stars."),
        ({"stars": True}, "stars must be a whole number"),
        ({"stars": None}, "stars must be a whole number"),
        ({"glow": "red"}, "glow must be 'dim' or 'bright'."),
        ({"glow": ["dim"]}, "glow must be"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_refused(given: dict[str, Any], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        Starred(**given)


def test_a_policy_names_all_faults_of_a_part_with_their_places() -> None:
    document = {
        "columns": {"quasi": ["age"]},
        "models": {"k-anonymity": 2},
        "method": {"name": "balance-tree", "cut": "middle", "effor": "high"},
        "mask": {"name": "range", "code_extremes": 3},
    }
    with pytest.raises(PolicyError) as refusal:
        Policy.from_document(document, known={"method": METHODS, "mask": MASKS})
    told = str(refusal.value)
    assert "method.effor: balance-tree has no option 'effor'" in told
    assert "Did you mean 'effort'?" in told
    assert "method.cut: cut must be 'best' or 'median'." in told
    assert "mask.code_extremes: code_extremes must be true or false." in told


def test_options_of_a_package_have_flags_and_never_take_those_of_others(installed: Installed) -> None:
    installed("stars", "shoal.masks", {"starred": f"{__name__}:Starred"})
    by_name = {flag.name: flag for flag in part_flags("mask")}
    assert by_name["stars"].help() == "How many stars. For starred (default: 1)."
    assert by_name["starred-noise"].option == "noise"  # other masks have a noise of another kind
    group = click.Context(cli, info_name="shoal")
    from shoal.cli import tune

    command = tune.tune
    fresh = type(command)("tune", params=[*tune.options.making(lambda: None).__click_params__[::-1]])  # type: ignore[attr-defined]
    names = [name for param in fresh.get_params(group) for name in param.opts]
    assert len(names) == len(set(names))
    assert {"--stars", "--glow", "--mask-seed", "--starred-noise"} <= set(names)


def test_a_mask_of_a_package_protects_by_its_name(installed: Installed, visits: Any) -> None:
    installed("stars", "shoal.masks", {"starred": f"{__name__}:Starred"})
    schema = shoal.Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    release = shoal.protect(visits, schema, [shoal.PersonKAnonymity(k=2)], mask="starred", stars=3)
    assert release.mask == Starred(stars=3)
