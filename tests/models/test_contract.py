"""What every registered model offers, and what the models of sensitive attributes share."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoal.errors import SchemaError
from shoal.models import (
    MODELS,
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    EntropyBalance,
    GBalance,
    HAffiliation,
    KAnonymity,
    LDiversity,
    Model,
    PersonKAnonymity,
    RecordRisk,
    SubsetK,
    TCloseness,
)
from shoal.models.contract import worst_of
from shoal.models.counts import SPREAD, VALUE_SUMMARIES, VALUE_TABLES, ValuesLeft
from tests.models.builders import group_counts

SENSITIVE = [
    HAffiliation(h=0.5),
    *(
        LDiversity(l=2, kind=kind, count=count)
        for kind in ("frequency", "distinct", "entropy")
        for count in ("records", "persons")
    ),
    LDiversity(l=2, kind="recursive", c=3),
    LDiversity(l=2, kind="recursive", c=3, count="persons"),
    *(
        TCloseness(t=0.4, distance=distance, count=count)
        for distance in ("equal", "ordered")
        for count in ("records", "persons")
    ),
    AlphaKAnonymity(alpha=0.5, k=2),
    BetaLikeness(beta=1),
    BetaLikeness(beta=1, kind="enhanced"),
    DeltaDisclosure(delta=1),
]
EVERY = [
    GBalance(g=0.5),
    RecordRisk(rho=0.5),
    EntropyBalance(k=2),
    KAnonymity(k=2),
    PersonKAnonymity(k=2),
    SubsetK(k=2, m=2),
    *SENSITIVE,
]


def told(model: Model) -> str:
    return " ".join(
        [model.name, *(str(getattr(model, part)) for part in ("kind", "distance", "count") if hasattr(model, part))]
    )


def on_column(model: Model, column: str) -> Model:
    return replace(model, column=column)


def test_the_registry_names_every_model_in_the_order_of_the_docs() -> None:
    assert list(MODELS) == [
        "g-balance",
        "h-affiliation",
        "record-risk",
        "entropy-balance",
        "k-anonymity",
        "person-k-anonymity",
        "subset-k",
        "l-diversity",
        "t-closeness",
        "alpha-k-anonymity",
        "beta-likeness",
        "delta-disclosure",
        "joint-diversity",
        "exponential-l",
        "joint-spread",
        "matching-diversity",
        "posterior",
        "history-k",
        "history-confidence",
        "count-k",
        "k-map",
        "delta-presence",
        "population-uniqueness",
        "average-risk",
        "expected-reidentifications",
        "no-attack",
    ]
    elsewhere = {MODELS[name] for name in list(MODELS)[list(MODELS).index("joint-diversity") :]}
    assert {type(model) for model in EVERY} | elsewhere == set(MODELS.values())  # those are tested in their own files


@pytest.mark.parametrize("model", EVERY, ids=told)
def test_a_model_keeps_the_contract(model: Model) -> None:
    assert isinstance(model, Model)
    assert model.monotone
    assert model.needs
    assert model.needs <= SPREAD | VALUE_SUMMARIES | VALUE_TABLES
    assert isinstance(model.asked, float)
    assert hash(model) == hash(model)


@pytest.mark.parametrize("model", EVERY, ids=told)
def test_no_groups_give_no_verdicts(model: Model) -> None:
    nothing = group_counts([])
    assert model.holds(nothing).tolist() == []
    assert model.reached(nothing).tolist() == []
    assert np.isnan(worst_of(model, model.reached(nothing)))


@pytest.mark.parametrize("model", EVERY, ids=told)
def test_one_record_is_judged(model: Model) -> None:
    alone = group_counts([(0, "a", 0), (1, "b", 1), (1, "c", 2), (1, "d", 3)])
    assert not model.holds(alone)[0]


@pytest.mark.parametrize("model", [model for model in EVERY if not model.needs & VALUE_TABLES], ids=told)
def test_summaries_are_enough_for_models_that_need_no_lists(model: Model) -> None:
    records = [(0, "a", 0), (0, "b", 1), (0, "b", 0), (1, "c", 2), (1, "c", 2), (1, "d", 0)]
    with_lists, summaries = group_counts(records), group_counts(records, lists=False)
    assert model.holds(summaries).tolist() == model.holds(with_lists).tolist()
    assert model.reached(summaries).tolist() == model.reached(with_lists).tolist()


TWO_COLUMNS = [(0, "a", 0, 0), (0, "b", 1, 0), (0, "c", 2, 0), (0, "d", 3, 0), (1, "e", 0, 1), (1, "f", 1, 1)]


@pytest.mark.parametrize("model", SENSITIVE, ids=told)
def test_without_a_column_every_sensitive_attribute_is_asked(model: Model) -> None:
    groups = group_counts(TWO_COLUMNS, columns=("disease", "drug"))
    on_each = [on_column(model, column) for column in ("disease", "drug")]
    assert model.holds(groups).tolist() == (on_each[0].holds(groups) & on_each[1].holds(groups)).tolist()
    keep = np.minimum if model.higher_is_safer else np.maximum
    assert model.reached(groups).tolist() == keep(on_each[0].reached(groups), on_each[1].reached(groups)).tolist()


@pytest.mark.parametrize("model", SENSITIVE, ids=told)
def test_a_table_without_sensitive_attributes_is_not_called_safe(model: Model) -> None:
    groups = group_counts([(0, "a"), (0, "b")], columns=())
    with pytest.raises(SchemaError, match="none is named"):
        model.holds(groups)
    with pytest.raises(SchemaError, match="none is named"):
        model.reached(groups)


@pytest.mark.parametrize("model", SENSITIVE, ids=told)
def test_an_unknown_column_is_refused(model: Model) -> None:
    groups = group_counts([(0, "a", 0), (0, "b", 1)])
    with pytest.raises(SchemaError, match=r"(?s)'diseas', but that is not.*Did you mean 'disease'"):
        on_column(model, "diseas").holds(groups)


def test_the_least_safe_group_is_the_worst() -> None:
    reached = np.array([0.3, 0.9, 0.5])
    assert worst_of(GBalance(g=0.5), reached) == 0.3
    assert worst_of(RecordRisk(rho=0.5), reached) == 0.9


HIGHER_IS_SAFER = {
    "g-balance", "entropy-balance", "k-anonymity", "person-k-anonymity", "subset-k", "l-diversity", "joint-diversity",
    "exponential-l", "joint-spread", "matching-diversity", "history-k", "count-k", "k-map", "no-attack",
}  # fmt: skip
SEARCHED = {"delta-presence", "population-uniqueness", "average-risk", "expected-reidentifications"}
"""Merging groups may break these, so that they are sought and never believed."""


@pytest.mark.parametrize("name", MODELS)
def test_which_way_a_model_runs(name: str) -> None:
    assert MODELS[name].higher_is_safer is (name in HIGHER_IS_SAFER)
    assert MODELS[name].monotone is (name not in SEARCHED | {"posterior"})
    assert name not in SEARCHED or MODELS[name].is_searched is True


def test_models_are_imported_without_numba() -> None:
    source = Path(__file__).resolve().parents[2] / "src"
    program = f"import sys; sys.path.insert(0, {str(source)!r}); import shoal.models; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize("model", [KAnonymity(k=2), RecordRisk(rho=0.5)])
def test_a_model_that_does_not_say_how_it_is_asked_of_values_left_holds_nowhere(model: Model) -> None:
    holds, reached = model.among_values_left(ValuesLeft(*np.full((3, 4), 100)))
    assert not holds.any()
    assert worst_of(model, reached) == (-np.inf if model.higher_is_safer else np.inf)
