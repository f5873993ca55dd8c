"""A policy writes itself so that reading it back gives the same policy, and makes the schema that it names."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError, SchemaError
from shoal.models import BetaLikeness, GBalance, HAffiliation, KAnonymity, RecordRisk, TCloseness
from shoal.policy import Policy
from shoal.policy.explain import explain
from shoal.policy.numbers import exact_decimal, number_or_text
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Nominal, Number, Ordered, Schema

NAMES = st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable() or "\n" in text or "\x7f" in text)
SHARES = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(999, 1000), max_denominator=1000)


def read_back(policy: Policy) -> Policy:
    return Policy.from_document(tomllib.loads(policy.to_toml(), parse_float=Decimal))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    names = draw(st.lists(NAMES, min_size=4, max_size=7, unique=True))
    rows = (("x", "*"), ("y", "*"))
    hierarchy = draw(
        st.sampled_from([None, Hierarchy.from_rows(rows), Hierarchy.of_intervals(low=0, width=0.5, high=9)])
    )
    quasi = [Number(names[1]), Nominal(names[2], hierarchy), Ordered(names[3], None, ("low", "high"))]
    schema = Schema(
        person=names[0] if draw(st.booleans()) else None,
        quasi=quasi[: draw(st.integers(1, 3))],
        sensitive=names[4:],
        missing=draw(st.sampled_from(["value", "refuse", "drop"])),
    )
    share = draw(SHARES)
    column = draw(st.sampled_from([None, *names]))
    models = draw(
        st.lists(
            st.sampled_from(
                [
                    GBalance(g=share),
                    RecordRisk(rho=share),
                    HAffiliation(h=share, column=column),
                    HAffiliation(h=1),
                    KAnonymity(k=5),
                    TCloseness(t=share, distance="ordered"),
                    BetaLikeness(beta=share * 10, kind="enhanced"),
                ]
            ),
            max_size=4,
        )
    )
    return Policy.of(
        schema,
        sorted(models, key=lambda model: model.name),
        method="mondrian",
        method_options=draw(st.sampled_from([{}, {"effort": "low"}, {"alpha": 0.1, "repair": True, "b": 3}])),
        max_suppressed=draw(st.integers(0, 9)),
        max_records=draw(st.none() | st.integers(1, 9)),
        seed=draw(st.none() | st.integers(0, 2**128 - 1)),
    )


@given(policies())
def test_writing_and_reading_gives_the_same_policy(policy: Policy) -> None:
    again = read_back(policy)
    assert again == policy
    assert again.to_toml() == policy.to_toml()


@given(st.fractions(max_denominator=10**6))
def test_fractions_are_written_exactly(value: Fraction) -> None:
    assert Fraction(str(exact_decimal(value))) == value


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("5", 5),
        (" 0.80 ", Decimal("0.80")),
        ("2/3", "2/3"),
        ("1e-2", Decimal("0.01")),
        ("k", "k"),
        ("1e9999", "1e9999"),
    ],
)
def test_a_flag_keeps_what_was_written(written: str, read: object) -> None:
    assert number_or_text(written) == read
    assert type(number_or_text(written)) is type(read)


def test_a_schema_of_python_makes_a_policy_that_makes_the_schema(tmp_path: Path) -> None:
    schema = Schema(
        person="p",
        quasi=[Number("age", Hierarchy.of_intervals(low=0, width=5, high=99)), Ordered("level", None, ("a", "b"))],
        sensitive=["disease"],
        time="day",
        time_as="shift",
    )
    policy = Policy.of(schema, [GBalance(g="2/3")])
    assert read_back(policy).schema(tmp_path, pl.DataFrame({"age": [3]})) == schema
    assert read_back(policy).models == (GBalance(g=Fraction(2, 3)),)


def test_hierarchies_come_from_files_beside_the_policy_and_from_the_values(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("f;any\nm;any\n")
    policy = Policy.from_document(
        {
            "columns": {
                "quasi": [
                    {"name": "sex", "hierarchy": "sex.csv"},
                    {"name": "zip", "hierarchy": {"prefixes": True}},
                    {"name": "dx", "hierarchy": {"icd": True}},
                    {"name": "age", "hierarchy": {"intervals": {"low": 0, "width": 10, "high": 99}}},
                ]
            }
        }
    )
    frame = pl.DataFrame({"sex": ["f", "m"], "zip": [123, 145], "dx": ["E11.9", None], "age": ["31", "42"]})
    sex, zip_code, dx, age = (column.hierarchy for column in policy.schema(tmp_path, frame).columns)
    assert None not in (sex, zip_code, dx, age)
    assert sex.path("m") == ("m", "any")
    assert zip_code.path("145") == ("145", "14*", "1**", "*")
    assert dx.path("E11.9") == ("E11.9", "E11", "E**", "*")
    assert age.label("31", 1) == "30-39"
    assert [column.hierarchy for column in policy.schema_of_release().columns] == [None] * 4
    assert policy.files(tmp_path) == (tmp_path / "sex.csv",)
    with pytest.raises(InputError):
        policy.schema(tmp_path / "elsewhere", frame)
    with pytest.raises(SchemaError, match=r"'zip'.*no such column"):
        policy.schema(tmp_path, frame.drop("zip"))


def test_a_moved_policy_names_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("f;any\nm;any\n")
    policy = Policy.from_document(
        {
            "columns": {"quasi": [{"name": "sex", "hierarchy": "sex.csv"}]},
            "source": {"join": {"person_file": "p.csv", "on": "id"}},
        }
    )
    moved = policy.moved(tmp_path, tmp_path / "out" / "steward")
    assert moved.columns.quasi[0].hierarchy is not None
    assert moved.columns.quasi[0].hierarchy.file == "../../sex.csv"
    assert moved.source.join is not None
    assert moved.source.join.person_file == "../../p.csv"
    (tmp_path / "out" / "steward").mkdir(parents=True)
    assert moved.schema(tmp_path / "out" / "steward", pl.DataFrame({"sex": ["f"]})).columns[0].hierarchy is not None


def test_the_explanation_says_what_is_promised_and_what_is_published() -> None:
    policy = Policy.from_document(
        {
            "columns": {
                "person": "patient", "quasi": ["age"], "sensitive": ["disease"], "dropped": ["name"], "time": "day",
            },
            "models": {
                "record-risk": Decimal("0.2"), "g-balance": {"k": 5},
                "h-affiliation": {"h": "1/3", "column": "disease"},
                "person-k-anonymity": 4, "l-diversity": {"l": 3, "kind": "distinct", "count": "persons"},
                "beta-likeness": 1,
            },
            "budget": {"max_suppressed": 3},
        }
    )  # fmt: skip
    told = explain(policy)
    for sentence in [
        "told apart by 'patient'",
        "Nobody may own more than 20 % of the records of any group",
        "as evenly as over 5 persons",
        "No value of 'disease' belongs to more than 33.33 % of the persons of any group",
        "Every group has at least 4 persons",
        "at least 3 different sensitive values, counted on persons",
        "more than 2 times as common",
        "Not published: 'name'",
        "'day' is published as each person's own first, second, third time",
        "At most 3 persons may be left out",
    ]:
        assert sentence in told


def test_it_is_said_that_a_missing_sensitive_value_is_protected() -> None:
    document = {"columns": {"quasi": ["age:number"], "sensitive": ["lab"]}, "models": {"record-risk": "1/10"}}
    assert "A missing one is a value to protect too." in explain(Policy.from_document(document))


def test_every_model_is_explained_with_its_parameters() -> None:
    from shoal.models import MODELS
    from shoal.policy.load import make_model

    for name in MODELS:
        two = {"alpha-k-anonymity": {"alpha": Decimal("0.5"), "k": 3}, "no-attack": {"gain": 300, "cost": 4}}
        given_value = two.get(name, {"g-balance": 0}.get(name, 1))
        told = explain(Policy.of(Schema(quasi=["age"]), [make_model(name, given_value)]))
        assert f"({name} " in told
