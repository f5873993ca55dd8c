"""The public names: few, each where a user looks for it."""

from __future__ import annotations

import inspect

import polars as pl
import pytest

import shoal
from shoal.demo.clinics import clinics
from shoal.grouping import METHODS
from shoal.masking import MASKS

FUNCTIONS = {
    "apply",
    "assess",
    "attack",
    "compare",
    "mine",
    "profile",
    "protect",
    "read",
    "read_release",
    "tune",
    "verify",
}
CLASSES = {"Schema", "Number", "Nominal", "Ordered", "Date", "Hierarchy", "Coding", "Policy", "Release", "Ledger"}
SCHEMA = shoal.Schema(
    person="name",
    quasi=["age", shoal.Nominal("gender"), "zip"],
    sensitive=["disease"],
    dropped=["admission"],
)
MODELS = [shoal.GBalance.for_k(2)]


def test_the_package_has_functions_columns_models_and_what_a_run_is_made_of() -> None:
    models = {name for name in shoal.__all__ if name in shoal.models.__all__}
    assert set(shoal.__all__) - models == FUNCTIONS | CLASSES
    assert all(issubclass(getattr(shoal, name), shoal.models.Model) for name in models)


def test_every_name_is_there_and_says_what_it_is() -> None:
    assert [name for name in shoal.__all__ if not inspect.getdoc(getattr(shoal, name))] == []
    assert set(shoal.__all__) <= set(dir(shoal))


def test_errors_have_a_module_of_their_own() -> None:
    assert [name for name in dir(shoal) if name.endswith(("Error", "Warning"))] == []
    assert issubclass(shoal.errors.InputError, shoal.errors.ShoalError)


@pytest.mark.parametrize(("module", "registry"), [(shoal.methods, METHODS), (shoal.masks, MASKS)])
def test_methods_and_masks_are_classes_of_their_modules(module: object, registry: dict[str, type]) -> None:
    classes = {thing for thing in vars(module).values() if isinstance(thing, type) and not inspect.isabstract(thing)}
    assert set(registry.values()) <= classes


def test_a_method_and_a_mask_are_chosen_by_name_or_as_objects() -> None:
    by_name = shoal.protect(clinics(), SCHEMA, MODELS, seed=7, method="balance-tree", cut="median", mask="mean")
    method, mask = shoal.methods.BalanceTree(cut="median"), shoal.masks.Mean()
    by_object = shoal.protect(clinics(), SCHEMA, MODELS, seed=7, method=method, mask=mask)
    shown = [release.data.drop("name").sort(pl.all()) for release in (by_name, by_object)]
    assert shown[0].equals(shown[1])
    assert by_object.method == by_name.method == method


def test_a_policy_takes_them_as_objects_too() -> None:
    policy = shoal.Policy.of(
        SCHEMA, MODELS, method=shoal.methods.BalanceTree(cut="median"), mask=shoal.masks.Range(code_extremes=True)
    )
    assert policy.method == "balance-tree"
    assert policy.method_options["cut"] == "median"
    assert policy.mask_options["code_extremes"] is True
    assert shoal.protect(clinics(), policy).method == shoal.methods.BalanceTree(cut="median")
