"""Joint spread against its definition, and the bound that large groups are judged by."""

# l is the papers' name

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import ParameterError
from shoal.models import JointSpread, LDiversity, Model, joint_spread
from tests.models.test_joint_diversity import joint_groups, one_record_each
from tests.naive import covering as naive

record = st.tuples(st.integers(0, 3), st.integers(0, 2))
persons = st.lists(st.lists(record, min_size=1, max_size=2), min_size=1, max_size=9)
kinds = st.sampled_from([("entropy", None), ("recursive", 3), ("recursive", "0.5"), ("recursive", 1)])


def members(group) -> list[set[tuple[int, int]]]:
    return [{(a, value) for own in person for a, value in enumerate(own)} for person in group]


def expected(group, kind: str, c: object, excluded: int) -> float:
    spread = naive.effective_number if kind == "entropy" else partial(naive.largest_recursive_l, c=float(c))
    return naive.spread_after_excluding(members(group), excluded, spread)


@settings(max_examples=150)
@given(st.lists(persons, min_size=1, max_size=3), kinds, st.integers(0, 2))
def test_it_equals_the_definition(groups, kind, excluded: int) -> None:
    model = JointSpread(l=2, kind=kind[0], c=kind[1], excluded=excluded)
    true = [expected(group, *kind, excluded) for group in groups]
    reached = model.reached(joint_groups(groups, columns=("a", "b")))
    assert reached.tolist() == pytest.approx(true)
    assert model.holds(joint_groups(groups, columns=("a", "b"))).tolist() == [one >= 2 - 1e-9 for one in true]


@settings(max_examples=150)
@given(persons, kinds, st.integers(0, 2))
def test_the_bound_promises_no_more_than_holds(group, kind, excluded: int) -> None:
    model = JointSpread(l=2, kind=kind[0], c=kind[1], excluded=excluded)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_spread, "WORK_LIMIT", 0)
        bound = model.reached(joint_groups([group], columns=("a", "b")))[0]
    assert bound <= expected(group, *kind, excluded) + 1e-9


def test_the_bound_proves_large_groups() -> None:
    """Eight values each, evenly: excluding the commonest leaves seven, and 56 persons, whatever is looked at."""
    group = one_record_each(*[(n % 8, (n // 8) % 8) for n in range(64)])
    model = JointSpread(l=5, excluded=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joint_spread, "WORK_LIMIT", 0)
        assert model.reached(joint_groups([group], columns=("a", "b"))).tolist() == [7.0]
    assert model.reached(joint_groups([group], columns=("a", "b"))).tolist() == [7.0]


@settings(max_examples=100)
@given(persons, persons, kinds, st.integers(0, 2))
def test_merged_groups_keep_it(first, second, kind, excluded: int) -> None:
    parts = min(expected(one, *kind, excluded) for one in (first, second))
    assert expected([*first, *second], *kind, excluded) >= parts - 1e-9


def test_with_nothing_excluded_it_is_l_diversity_of_persons() -> None:
    group = one_record_each((0, 0), (0, 1), (1, 1), (2, 1))
    counts = joint_groups([group], columns=("a", "b"))
    plain = [LDiversity(l=1, kind="entropy", count="persons", column=one).reached(counts)[0] for one in ("a", "b")]
    assert JointSpread(l=1, excluded=0).reached(counts)[0] == pytest.approx(min(plain))


def test_the_contract_and_what_is_refused() -> None:
    assert isinstance(JointSpread(l=2), Model)
    assert "Whichever 1 values" in JointSpread(l=2).sentence()
    for wrong in ({"l": 0.5}, {"l": 2, "kind": "distinct"}, {"l": 2, "c": 3}, {"l": 2, "kind": "recursive"},
                  {"l": 2.5, "kind": "recursive", "c": 3}, {"l": 2, "kind": "recursive", "c": 0},
                  {"l": 2, "excluded": -1}):  # fmt: skip
        with pytest.raises(ParameterError):
            JointSpread(**wrong)


def test_a_release_keeps_it_and_verify_sees_it() -> None:
    import polars as pl

    frame = pl.DataFrame(
        {"age": range(60), "a": [f"a{n % 5}" for n in range(60)], "b": [f"b{n // 5 % 4}" for n in range(60)]}
    )
    schema = shoal.Schema(quasi=["age"], sensitive=["a", "b"])
    model = shoal.JointSpread(l=2, excluded=1)
    release = shoal.protect(frame, schema, [model], method="mondrian", seed=1)
    assert release.risk.groups > 1
    assert shoal.verify(release.data, schema, [model]).holds
    with pytest.raises(shoal.errors.CannotSatisfyError):
        shoal.protect(frame, schema, [shoal.JointSpread(l=5, excluded=1)], seed=1)
