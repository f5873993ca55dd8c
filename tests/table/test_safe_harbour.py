"""Identifiers of HIPAA's safe harbour are found by names and by contents, and how they would leave is told."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import shoal
from shoal.table.profile import profile
from shoal.table.roles import TOPICS
from shoal.table.safe_harbour import BY_TOPIC, BY_WORDS, IDENTIFIERS, safe_harbour

N = 12
TEXTS = [f"x{i}" for i in range(N)]
EACH: dict[int, tuple[str, list[Any]]] = {
    1: ("last_name", TEXTS),
    2: ("zip", [f"{12000 + i}" for i in range(N)]),
    3: ("date_of_birth", [f"1970-01-{i + 1:02d}" for i in range(N)]),
    4: ("phone", [f"+49 30 12345{i:02d}" for i in range(N)]),
    5: ("fax", [f"+49 30 12345{i:02d}" for i in range(N)]),
    6: ("contact", [f"a{i}@example.org" for i in range(N)]),
    7: ("ssn", [f"123-45-{1000 + i}" for i in range(N)]),
    8: ("mrn", [f"M{i}" for i in range(N)]),
    9: ("insurance_number", TEXTS),
    10: ("account", TEXTS),
    11: ("driving_licence", TEXTS),
    12: ("license_plate", TEXTS),
    13: ("device_id", TEXTS),
    14: ("homepage", [f"https://example.org/{i}" for i in range(N)]),
    15: ("ip_address", [f"10.0.0.{i}" for i in range(N)]),
    16: ("fingerprint", TEXTS),
    17: ("photo", TEXTS),
    18: ("patient", [i // 2 for i in range(N)]),
}


@pytest.mark.parametrize("number", EACH)
def test_each_of_the_eighteen_is_found(number: int) -> None:
    name, values = EACH[number]
    found = safe_harbour(pl.DataFrame({name: values, "outcome": ["good", "bad"] * (N // 2)}))
    assert [(each.column, each.number, each.identifier) for each in found] == [(name, number, IDENTIFIERS[number - 1])]


def test_what_may_leave_is_not_told() -> None:
    frame = pl.DataFrame(
        {"age": list(range(40, 40 + N)), "birth_year": [1980 + i for i in range(N)], "state": ["CA", "NY"] * 6,
         "sex": ["f", "m"] * 6}
    )  # fmt: skip
    assert safe_harbour(frame) == ()
    old = frame.with_columns(age=pl.col("age") + 39)
    assert [each.because for each in safe_harbour(old)] == ["by its name an age, and somebody is over 89"]


def test_topics_and_numbers_are_known() -> None:
    assert set(BY_TOPIC) <= {*TOPICS, "person", "number", "record"}
    assert {*BY_TOPIC.values(), *BY_WORDS} == set(range(1, 19))


def test_it_is_told_how_each_would_leave() -> None:
    frame = pl.DataFrame(dict(EACH.values())).select(
        "patient", "last_name", "zip", "date_of_birth", "contact", "mrn"
    ).with_columns(illness=pl.Series(["flu", "gout"] * (N // 2)))  # fmt: skip
    schema = shoal.Schema(person="patient", quasi=[shoal.Nominal("zip")], sensitive=["illness"], time="date_of_birth",
                          dropped=["last_name", "contact"], kept=["mrn"])  # fmt: skip
    told = shoal.assess(frame, schema).to_dict()["safe_harbour"]
    assert {each["column"]: each["leaves"] for each in told} == {  # type: ignore[index, attr-defined]
        "patient": "as a pseudonym", "last_name": "not", "zip": "masked", "date_of_birth": "as a sequence",
        "contact": "not", "mrn": "as it is",
    }  # fmt: skip
    assert not any(str(value) in str(told) for value in frame["contact"])
    columns = profile(frame).to_dict()["columns"]
    assert {c["name"] for c in columns if c["safe_harbour"]} == {each["column"] for each in told}  # type: ignore[index]


def test_a_release_and_its_report_tell_it(tmp_path: Any) -> None:
    frame = pl.DataFrame({"zip": [f"{12000 + i % 3}" for i in range(N)], "illness": ["flu", "gout"] * (N // 2)})
    schema = shoal.Schema(quasi=[shoal.Nominal("zip")], sensitive=["illness"])
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=2)], seed=1)
    (told,) = release.to_dict()["safe_harbour"]  # type: ignore[misc]
    assert (told["column"], told["number"], told["leaves"]) == ("zip", 2, "masked")
    release.write(tmp_path / "out")
    assert "safe harbour" in (tmp_path / "out" / "steward" / "report.html").read_text()
