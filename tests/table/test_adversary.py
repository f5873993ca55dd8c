from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacking.mining.rules import Item, Rule, Rules
from shoal.errors import SchemaError
from shoal.table.adversary import Adversary, fingerprint, known_by_steward, types_by_rules
from shoal.table.columns import category_column
from shoal.table.schema import Nominal, Schema

SCHEMA = Schema(quasi=[Nominal("sex")], sensitive=["disease"])


def rule(node: str, value: str, **more: object) -> Rule:
    return Rule((Item("sex", node),), Item("disease", value), **more)  # type: ignore[arg-type]


@settings(max_examples=100)
@given(
    st.lists(st.sampled_from(["flu", "co,ld", 'as"thma', "ü", "", None]), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=18, max_size=18),
    st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_what_the_steward_keeps_is_read_back(values: list[str | None], cells: list[bool], types: list[int]) -> None:
    column = category_column(pl.Series("disease", values, dtype=pl.String))
    allowed = np.array(cells, np.bool_).reshape(3, 6)[:, : column.n_codes]
    type_of_person = np.array(types[: len(values)], np.int32)
    rules = Rules((rule("m", "flu"),))
    adversary = Adversary(rules, {"disease": (type_of_person, allowed)}, is_linked=True)
    everyone = np.arange(len(values))
    kept = pl.DataFrame(adversary.never_columns({"disease": column}, everyone))
    known = known_by_steward(kept, {"disease": column}, is_linked=False)
    assert known is not None
    read_type, read_allowed = known.types_of_record["disease"]
    assert read_allowed[read_type].tolist() == allowed[type_of_person].tolist()
    assert known.only_by(rules) is known
    assert known.only_by(Rules()) is None
    assert known.only_by(None) is None


def test_a_fingerprint_is_that_of_the_claims() -> None:
    first, second = rule("m", "flu"), rule("f", "cold")
    same = fingerprint(Rules((second, rule("m", "flu", support=7, source="mined"))))
    assert fingerprint(Rules((first, second))) == same
    assert fingerprint(Rules((first,))) != same
    assert fingerprint(Rules((first, rule("f", "flu")))) != same
    two = (Item("sex", "m"), Item("age", "20-29"))
    never = Item("disease", "flu")
    assert fingerprint(Rules((Rule(two, never),))) == fingerprint(Rules((Rule(two[::-1], never),)))


def test_mined_rules_about_values_that_are_not_there_are_not_of_this_table() -> None:
    frame = pl.DataFrame({"sex": ["m", "f"]})
    column = category_column(pl.Series("disease", ["flu", "cold"]))
    stated, mined = Rules((rule("m", "gout"),)), Rules((rule("m", "gout", source="mined"),))
    for rules, are_own in [(stated, True), (mined, False)]:
        types, allowed = types_by_rules(rules, frame, SCHEMA, column, are_own=are_own)
        assert allowed[types].all()
    with pytest.raises(SchemaError, match="1 mined rules"):
        types_by_rules(mined, frame, SCHEMA, column, are_own=True)


@pytest.mark.parametrize(
    ("values", "node"),
    [(["1.0", "2.0"], "1"), (["1", "2"], "1"), (["01", "2"], "01"), (["true", "false"], "true"), ([1.0, 2.0], "1"),
     ([1, 2], "1"), (["x", None], "missing"), ([1.0, None], "missing")],
)  # fmt: skip
def test_a_value_is_known_again_however_it_is_written(values: list[object], node: str) -> None:
    frame = pl.DataFrame({"sex": ["m", "f"]})
    column = category_column(pl.Series("disease", values))
    rules = Rules((rule("m", node, source="mined"),))
    types, allowed = types_by_rules(rules, frame, SCHEMA, column, are_own=True)
    excluded = 1 if node == "missing" else 0
    assert allowed[types].tolist() == [[code != excluded for code in (0, 1)], [True, True]] or node == "true"
    assert not allowed[types[0]].all()
    assert allowed[types[1]].all()
