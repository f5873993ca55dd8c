"""Methods that are asked to keep the sensitive values of the table in every group."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError, SchemaError
from shoal.grouping import BalanceTree, Mdav
from shoal.grouping import tree as growing
from shoal.measuring.statistics import class_chi_square, homogeneous_share
from shoal.models import PersonKAnonymity
from shoal.table.table import Table


def patients(n: int = 600, *, records: int = 1, seed: int = 4) -> Table:
    """Persons whose disease goes with their age, so that near ones often share it."""
    rng = np.random.default_rng(seed)
    age, weight, height, income = (
        rng.integers(low, high, n) for low, high in ((20, 90), (50, 120), (150, 200), (1, 99))
    )
    ill = np.where(age + rng.normal(0, 12, n) > 60, "heart", np.where(weight > 90, "knee", "flu"))
    person = np.repeat(np.arange(n), records)
    frame = pl.DataFrame(
        {
            "person": [f"p{number:04d}" for number in person],
            "age": age[person],
            "weight": weight[person],
            "height": height[person],
            "income": income[person],
            "disease": np.where(rng.random(len(person)) < 0.8, ill[person], "flu"),
        }
    )
    quasi = ["age", "weight", "height", "income"]
    return Table.from_frame(frame, shoal.Schema(person="person", quasi=quasi, sensitive=["disease"]))


@pytest.mark.slow
@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("method", [Mdav, BalanceTree])
def test_values_are_better_mixed_the_more_they_weigh(method: type, records: int) -> None:
    table = patients(records=records)
    disease = table.sensitive["disease"].codes
    found = []
    for alpha in (1.0, 0.5, 0.1):
        group = method(alpha=alpha).group(table, [PersonKAnonymity(k=5)]).group_of_record(table)
        found.append((class_chi_square(disease, group), homogeneous_share(disease, group)))
    (plain, _), (mixed, _), (most_mixed, _) = found
    assert mixed < 0.8 * plain
    assert most_mixed < mixed
    assert found[1][1] <= found[0][1]


@pytest.mark.parametrize("method", ["mdav", "balance-tree"])
def test_it_is_an_option_of_protect(method: str) -> None:
    table = patients(120)
    release = shoal.protect(
        table.frame, table.schema, [PersonKAnonymity(k=4)], method=method, mask="mean", alpha=0.5, seed=1
    )
    assert release.verdict.holds
    assert release.method.alpha == 0.5


@pytest.mark.parametrize("method", [Mdav(), BalanceTree()])
def test_without_it_sensitive_values_need_not_be_named(method: Mdav | BalanceTree) -> None:
    table = Table.from_frame(pl.DataFrame({"x": range(30)}), shoal.Schema(quasi=["x"]))
    assert method.group(table, [PersonKAnonymity(k=3)]).n_groups == 10
    with pytest.raises(SchemaError, match=f"{method.name} is asked to mix sensitive values"):
        type(method)(alpha=0.5).group(table, [PersonKAnonymity(k=3)])


def test_renumbered_persons_keep_their_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large tables are numbered anew on the way down."""
    table = patients(800)
    models = [PersonKAnonymity(k=5)]
    expected = BalanceTree(alpha=0.5).group(table, models)
    monkeypatch.setattr(growing, "PERSONS_IN_CACHE", 10)
    monkeypatch.setattr(growing, "NODES_PER_NUMBERING", 2)
    again = BalanceTree(alpha=0.5).group(table, models)
    assert partition(again.group_of_person) == partition(expected.group_of_person)


def partition(group_of_person: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(group_of_person == group).tolist()) for group in np.unique(group_of_person)}


def test_options_are_checked() -> None:
    with pytest.raises(ParameterError, match="alpha goes with cut='best'"):
        BalanceTree(cut="median", alpha=0.5)
    for alpha in (-0.1, 1.5, "half", None, True, float("nan")):
        for method in (BalanceTree, Mdav):
            with pytest.raises(ParameterError, match="alpha must lie in"):
                method(alpha=alpha)
