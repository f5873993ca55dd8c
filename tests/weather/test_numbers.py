"""Numbers: thresholds that are met with equality, counts as large as they get, and results that are the same anyhow."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.grouping import METHODS
from shoal.models.counts import GroupCounts
from tests.models.builders import groups_of_values, one_group
from tests.weather.same import digest, release_of, visits

ROOT = Path(__file__).resolve().parents[2]
SIZES = [3, 2**31 - 1, 2**31, 2**53 - 1, 2**53 + 1, 2**59 + 7]
"""What a group may count: the last ones beyond what floats tell apart, sums of a few of them still within 64 bits."""


def groups(n: int) -> GroupCounts:
    """Two groups; in the first n + 1 of 2n + 1 have the first value, in the second one n and one of n + 1."""
    return groups_of_values([[n + 1, n], [n, 1]])


def shares(n: int) -> tuple[list[list[Fraction]], list[Fraction]]:
    counts = [[n + 1, n], [n, 1]]
    whole = sum(map(sum, counts))
    own = [[Fraction(count, sum(group)) for count in group] for group in counts]
    return own, [Fraction(counts[0][value] + counts[1][value], whole) for value in (0, 1)]


def most_common(n: int) -> Fraction:
    return max(share for group in shares(n)[0] for share in group)


def farthest(n: int) -> Fraction:
    own, table = shares(n)
    return max(sum(abs(p - q) for p, q in zip(group, table, strict=True)) / 2 for group in own)


def most_gained(n: int) -> Fraction:
    own, table = shares(n)
    return max((p - q) / q for group in own for p, q in zip(group, table, strict=True))


def least_safe(n: int) -> Fraction:
    """Of two values, how often the commoner one comes for each of the other: what recursive (c, 2)-diversity limits."""
    return max(Fraction(n + 1, n), Fraction(n, 1))


MODELS: list[tuple[str, Callable[[Any], Any], Callable[[int], Fraction]]] = [
    ("h-affiliation", lambda limit: shoal.HAffiliation(h=limit), most_common),
    ("alpha-k", lambda limit: shoal.AlphaKAnonymity(alpha=limit, k=1), most_common),
    ("frequency l", lambda limit: shoal.LDiversity(l=1 / limit), most_common),
    ("t-closeness", lambda limit: shoal.TCloseness(t=limit), farthest),
    ("ordered t-closeness", lambda limit: shoal.TCloseness(t=limit, distance="ordered"), farthest),
    ("beta-likeness", lambda limit: shoal.BetaLikeness(beta=limit), most_gained),
]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("name", "model_of", "reached"), MODELS, ids=[name for name, *_ in MODELS])
def test_a_threshold_met_with_equality_holds_and_the_next_one_does_not(
    name: str, model_of: Callable[[Any], Any], reached: Callable[[int], Fraction], n: int
) -> None:
    limit = reached(n)
    a_hair = Fraction(1, 10**60)
    assert model_of(limit).holds(groups(n)).all()
    assert not model_of(limit - a_hair).holds(groups(n)).all()
    if limit + a_hair <= 1 or name == "beta-likeness":
        assert model_of(limit + a_hair).holds(groups(n)).all()


@pytest.mark.parametrize("n", SIZES)
def test_recursive_diversity_is_decided_exactly(n: int) -> None:
    """The commonest value must come less than c times as often as the others: equality does not hold here."""
    limit = least_safe(n)
    assert not shoal.LDiversity(l=2, kind="recursive", c=limit).holds(groups(n)).all()
    assert shoal.LDiversity(l=2, kind="recursive", c=limit + Fraction(1, 10**60)).holds(groups(n)).all()


@pytest.mark.parametrize("n", [size for size in SIZES if size <= 2**31])
def test_balance_and_record_risk_are_decided_exactly(n: int) -> None:
    """Squares stay within 64 bits up to as many records as a table can have."""
    own = [n // 2, (n - 1) // 2, 1]
    total = sum(own)
    counts = one_group(own)
    g = 1 - Fraction(sum(count**2 for count in own), total**2)
    rho = Fraction(max(own), total)
    a_hair = Fraction(1, 10**60)
    assert shoal.GBalance(g=g).holds(counts).all()
    assert not shoal.GBalance(g=g + a_hair).holds(counts).all()
    assert shoal.RecordRisk(rho=rho).holds(counts).all()
    assert not shoal.RecordRisk(rho=rho - a_hair).holds(counts).all()


@pytest.mark.parametrize("n", [*SIZES, 2**63 - 1])
def test_sizes_are_compared_as_whole_numbers(n: int) -> None:
    counts = one_group([1, 1])
    many = GroupCounts(
        persons=np.array([n]), records=np.array([n]), squared_records=counts.squared_records, most_records=np.array([1])
    )
    assert shoal.KAnonymity(k=n).holds(many).all()
    assert shoal.PersonKAnonymity(k=n).holds(many).all()
    if n < 2**63 - 1:
        assert not shoal.KAnonymity(k=n + 1).holds(many).any()
        assert not shoal.PersonKAnonymity(k=n + 1).holds(many).any()


def test_the_whole_way_decides_equality_exactly() -> None:
    """Through protect and verify: two of three persons with flu meet 2/3 and nothing below it."""
    frame = pl.DataFrame({"age": [30, 30, 30, 50, 50, 50], "disease": ["flu", "flu", "cold", "flu", "gout", "flu"]})
    schema = shoal.Schema(quasi=["age"], sensitive=["disease"])
    release = shoal.protect(frame, schema, [shoal.HAffiliation(h="2/3"), shoal.GBalance(g="2/3")])
    assert release.risk.groups == 2
    assert shoal.verify(release.data, schema, [shoal.HAffiliation(h="2/3"), shoal.GBalance(g="2/3")]).verdict.holds
    assert not shoal.verify(release.data, schema, [shoal.HAffiliation(h="0.6666666666666666")]).verdict.holds
    assert not shoal.verify(release.data, schema, [shoal.GBalance(g="0.6666666666666667")]).verdict.holds


# The same anyhow


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.leaves_out_freely])
def test_a_release_depends_neither_on_order_nor_index_nor_kind_of_frame(method: str) -> None:
    given = visits()
    expected = digest(release_of(given, method))
    others = given[1:].sample(fraction=1, shuffle=True, seed=4)
    shuffled = pl.concat([given[:1], others])  # the spanning tree begins at the first record, and says so
    indexed = given.to_pandas().set_index(np.arange(len(given))[::-1] * 7 % 11)
    reordered = given.select(given.columns[::-1])
    chunked = pl.concat([given[:17], given[17:40], given[40:]], rechunk=False)
    for name, frame in {"order": shuffled, "index": indexed, "pyarrow": given.to_arrow(), "columns": reordered,
                        "chunks": chunked, "lazy": given.lazy()}.items():  # fmt: skip
        assert digest(release_of(frame, method)) == expected, name


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    def told(threads: str) -> str:
        names = ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "tests.weather.same", "balance-tree", "mdav", "buckets", "anatomy"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **dict.fromkeys(names, threads)},
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return ran.stdout

    alone = told("1")
    assert len(alone.splitlines()) == 4
    assert alone == told("4")
    assert alone.splitlines()[0].split()[1] == digest(release_of(visits(), "balance-tree"))
