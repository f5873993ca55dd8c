"""The limit on linkage as a key of the policy: read, written, explained, and asked for."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

import shoal
from shoal.demo.patients import made_up_patients
from shoal.errors import PolicyError
from shoal.policy import Policy
from shoal.policy.explain import explain

COLUMNS = {"quasi": ["age:number"], "sensitive": ["disease"]}


def policy_with(**mask: object) -> Policy:
    return Policy.from_document({"columns": COLUMNS, "models": {"person-k-anonymity": 3}, "mask": mask})


@pytest.mark.parametrize("share", [0, 0.05, Decimal("0.05"), 1, 1.0])
def test_it_is_written_and_read_back(share: float) -> None:
    policy = policy_with(name="perturb", max_linkage=share, noise="rescaled")
    assert policy.max_linkage == float(share)
    assert policy.mask_options == {"noise": "rescaled"}, "it is no option of the mask"
    again = Policy.from_document(tomllib.loads(policy.to_toml(), parse_float=Decimal))
    assert again == policy
    assert again.to_toml() == policy.to_toml()


def test_it_may_be_written_with_a_dash() -> None:
    assert policy_with(name="perturb", **{"max-linkage": Decimal("0.1")}).max_linkage == 0.1


def test_nothing_is_written_where_it_was_not_asked_for() -> None:
    assert "linkage" not in policy_with(name="perturb").to_toml()
    assert "linked" not in explain(policy_with(name="perturb"))


def test_it_is_explained() -> None:
    told = explain(policy_with(name="perturb", max_linkage=Decimal("0.05")))
    assert "Nothing is released where more than 5 % of the persons can be linked to their original numbers" in told


@pytest.mark.parametrize("wrong", [1.5, -0.1, "much", True, [0.1]])
def test_what_is_no_share_is_a_fault_with_its_place(wrong: object) -> None:
    with pytest.raises(PolicyError, match=r"mask\.max_linkage: must be a share from 0 to 1"):
        policy_with(name="perturb", max_linkage=wrong)


@pytest.mark.parametrize("wrong", [1.5, -0.1, "0.1", True, float("nan")])
def test_protect_refuses_what_is_no_share(wrong: object) -> None:
    frame = made_up_patients(30, seed=1).select("age", "disease")
    schema = shoal.Schema(quasi=["age"], sensitive=["disease"])
    with pytest.raises(shoal.errors.ParameterError, match="max_linkage must be a share from 0 to 1"):
        shoal.protect(frame, schema, [shoal.KAnonymity(k=3)], mask="perturb", max_linkage=wrong)  # type: ignore[arg-type]


def test_a_release_made_in_python_keeps_it_in_its_policy(tmp_path: Path) -> None:
    frame = made_up_patients(60, seed=1).select("age", "disease")
    schema = shoal.Schema(quasi=["age"], sensitive=["disease"])
    release = shoal.protect(frame, schema, [shoal.KAnonymity(k=5)], method="mdav", mask="perturb", max_linkage=0.9)
    release.write(tmp_path / "out")
    assert Policy.load(tmp_path / "out" / "steward" / "policy.toml").max_linkage == 0.9
