"""Which column has which role: what is refused, and in which words."""

from __future__ import annotations

import pytest

from shoal import Date, Hierarchy, Nominal, Number, Ordered, Schema
from shoal.errors import SchemaError

COLUMNS = ["patient", "age", "gender", "disease", "visit", "name", "hospital"]


def schema(**changes: object) -> Schema:
    named: dict[str, object] = {
        "person": "patient", "quasi": ["age", Nominal("gender")], "sensitive": ["disease"], "time": "visit",
        "dropped": ["name"], "kept": ["hospital"],
    }  # fmt: skip
    return Schema(**{**named, **changes})  # type: ignore[arg-type]


def test_every_column_has_one_role() -> None:
    assert schema().roles() == [
        ("patient", "person"), ("age", "quasi"), ("gender", "quasi"), ("disease", "sensitive"), ("visit", "time"),
        ("hospital", "kept"), ("name", "dropped"),
    ]  # fmt: skip
    assert schema().published() == {"patient", "age", "gender", "disease", "visit", "hospital"}
    assert schema().check_against(COLUMNS) is None


def test_a_bare_name_takes_its_kind_from_the_data() -> None:
    assert [column.kind for column in schema().columns] == ["auto", "nominal"]
    named = Schema(quasi=[Number("a"), Nominal("b"), Ordered("c", order=("x", "y")), Date("d")])
    assert [column.kind for column in named.columns] == ["number", "nominal", "ordered", "date"]
    assert named.quasi_names == ("a", "b", "c", "d")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sensitive": ["age"]}, "'age' is named as quasi and as sensitive"),
        ({"kept": ["patient"]}, "'patient' is named as person and as kept"),
        ({"dropped": ["visit"]}, "'visit' is named as time and as dropped"),
        ({"quasi": ["age", Number("age")]}, "'age' is named as quasi and as quasi"),
        ({"quasi": []}, "names no quasi-identifier"),
        ({"quasi": "age"}, "must be a list of columns, not one str"),
        ({"quasi": Nominal("age")}, "must be a list of columns, not one Nominal"),
        ({"sensitive": "disease"}, "must be a list of columns, not one str"),
        ({"dropped": None}, "must be a list of columns, not one NoneType"),
        ({"sensitive": [Nominal("disease")]}, "named as sensitive is named by its name, not by a Nominal"),
        ({"person": ["patient"]}, "named as person is named by its name, not by a list"),
        ({"time_as": "year"}, "time_as must be one of sequence, shift"),
        ({"missing": "guess"}, "missing must be one of value, refuse, drop"),
    ],
)
def test_a_schema_that_cannot_be_meant_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        schema(**changes)


def test_two_columns_with_two_roles_are_both_named() -> None:
    with pytest.raises(SchemaError) as refusal:
        schema(sensitive=["age", "gender"])
    assert "'age' is named as quasi and as sensitive; 'gender' is named as quasi and as sensitive" in str(refusal.value)


def test_a_column_without_a_role_is_refused() -> None:
    with pytest.raises(SchemaError) as refusal:
        schema().check_against([*COLUMNS, "phone", "email"])
    assert "2 of 9 columns have no role: phone, email." in str(refusal.value)
    assert "dropped" in str(refusal.value)


def test_an_absent_column_is_refused_with_the_name_that_was_meant() -> None:
    with pytest.raises(SchemaError) as refusal:
        schema(quasi=["zip_code"]).check_against(["patient", "zipcode", "disease", "visit", "name", "hospital"])
    message = str(refusal.value)
    assert "names 'zip_code' as quasi, but the table has no such column" in message
    assert "Did you mean 'zipcode'?" in message
    assert "The table's columns are: patient, zipcode" in message


def test_all_faults_stand_in_one_error() -> None:
    with pytest.raises(SchemaError) as refusal:
        schema(sensitive=["illness"], dropped=["names"]).check_against(COLUMNS)
    for words in ("'illness' as sensitive", "'names' as dropped", "columns have no role: disease, name."):
        assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("order", "words"),
    [(("low", "low", "high"), "names 1 categories twice"), ("low", "not one str"), (3, "not one int")],
)
def test_an_order_must_be_one(order: object, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Ordered("stage", order=order)  # type: ignore[arg-type]


def test_an_order_may_be_given_as_numbers_in_a_list() -> None:
    assert Ordered("stage", order=[1, 2, 3]).order == ("1", "2", "3")  # type: ignore[arg-type]


def test_a_hierarchy_must_be_one() -> None:
    with pytest.raises(SchemaError, match="must be a Hierarchy, not str"):
        Nominal("zip", "zip.csv")  # type: ignore[arg-type]
    assert Nominal("zip", Hierarchy.of_prefixes(["20375"])).hierarchy is not None


def test_columns_named_by_numbers_are_named_as_frames_name_them() -> None:
    numbered = Schema(person=0, quasi=[1], sensitive=[2], time=3)  # type: ignore[arg-type,list-item]
    assert numbered.check_against(["0", "1", "2", "3"]) is None
