"""Two releases about the same persons: equal to its definition, and a worked example."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.contract import DoesNotApply
from shoal.attacking.setting import Setting
from shoal.attacking.two_releases import TwoReleasesAttack
from shoal.table.table import Table
from tests.naive import two_releases as naive


def schema_by(quasi: str) -> shoal.Schema:
    dropped = [name for name in ("age", "zip") if name != quasi]
    return shoal.Schema(person="name", quasi=[shoal.Number(quasi)], sensitive=["disease"], dropped=dropped)


def setting_of(frame: pl.DataFrame, quasi: str, k: int) -> Setting:
    schema = schema_by(quasi)
    release = shoal.protect(
        frame, schema, [shoal.PersonKAnonymity(k=k)], method="mondrian", seed=1, measure_input=False
    )
    return Setting(schema=schema, frame=release.published.frame, original=Table.from_frame(frame, schema))


def together(frame: pl.DataFrame, k: int) -> Setting:
    first, second = setting_of(frame, "age", k), setting_of(frame, "zip", k)
    return Setting(schema=first.schema, frame=first.frame, original=first.original, other=second)


def test_the_worked_example() -> None:
    """By age {A, B} {C, D}, by ZIP {A, C} {B, D}: nobody shares both groups, so each person is certain; and the values
    of A's groups, {flu, cold} and {flu, gout}, leave flu alone."""
    frame = pl.DataFrame(
        {
            "name": list("ABCD"),
            "age": [20, 21, 60, 61],
            "zip": [100, 900, 101, 901],
            "disease": ["flu", "cold", "gout", "ulcer"],
        }
    )
    person, value = TwoReleasesAttack().try_on(together(frame, 2))
    assert (person.success, person.blind, person.targets) == (1.0, 0.25, 4)
    assert person.details["success_with_the_first_alone"] == person.details["success_with_the_second_alone"] == 0.5
    assert (person.details["certain"], person.details["fewest_candidates"]) == (4, 1)
    assert (value.success, value.blind) == (1.0, 0.25)
    assert value.details["success_with_the_first_alone"] == 0.5
    assert (value.details["one_value_left"], value.details["mean_values_left"]) == (4, 1.0)


def ranges_in(frame: pl.DataFrame, column: str) -> list[tuple[int, int]]:
    """The ranges that a release shows, one value alone as a range of itself."""
    texts = frame[column].cast(pl.String).unique().sort().to_list()
    found = []
    for text in texts:
        ends = [int(part) for part in text.replace("\u2013", "-").split("-")]
        found.append((ends[0], ends[-1]))
    return found


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_chances_equal_their_definition(data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 12))
    rows = []
    for number in range(n):
        for _ in range(data.draw(st.sampled_from([1, 1, 2]))):
            age, place = data.draw(st.integers(10, 40)), data.draw(st.integers(10, 40))
            rows.append((f"p{number:02}", age, place, data.draw(st.sampled_from("abc"))))
    frame = pl.DataFrame(rows, schema=["name", "age", "zip", "disease"], orient="row")
    both = together(frame, 2)
    person = TwoReleasesAttack().try_on(both)[0]
    assert both.other is not None
    values = {
        column: {name: part[column].to_list() for (name,), part in frame.group_by("name")} for column in ("age", "zip")
    }
    first = (values["age"], ranges_in(both.frame, "age"))
    second = (values["zip"], ranges_in(both.other.frame, "zip"))
    expected = [naive.chance(name, first, second) for name in values["age"]]
    assert person.success == pytest.approx(sum(expected) / n)
    assert person.targets == n


def test_who_is_not_in_both_releases_is_no_failure() -> None:
    """The second release is about half of the persons only: the others would make the attack look half as strong."""
    frame = pl.DataFrame(
        {
            "name": [f"p{n:02}" for n in range(24)],
            "age": [10 + n for n in range(24)],
            "zip": [10 + (7 * n) % 24 for n in range(24)],
            "disease": ["abc"[n % 3] for n in range(24)],
        }
    )
    first = setting_of(frame, "age", 3)
    part = setting_of(frame.filter(pl.col("zip") < 22), "zip", 3)
    other = Setting(schema=part.schema, frame=part.frame, original=Table.from_frame(frame, part.schema))
    both = Setting(schema=first.schema, frame=first.frame, original=first.original, other=other)
    person, value = TwoReleasesAttack().try_on(both)
    values = {
        column: {name: [number] for name, number in frame.select("name", column).iter_rows()}
        for column in ("age", "zip")
    }
    shown = (values["age"], ranges_in(first.frame, "age")), (values["zip"], ranges_in(part.frame, "zip"))
    members = [name for name in values["zip"] if naive.fitting(values["zip"][name], shown[1][1])]
    assert (len(members), person.targets, person.details["persons_not_in_both"]) == (12, 12, 12)
    assert person.success == pytest.approx(sum(naive.chance(name, *shown) for name in members) / 12)
    for result in (person, value):
        assert result.success >= result.details["success_with_the_first_alone"]
    nobody = part.frame.with_columns(zip=pl.lit("900-901"))
    nowhere = Setting(schema=part.schema, frame=nobody, original=other.original)
    with pytest.raises(DoesNotApply, match="both releases"):
        TwoReleasesAttack().try_on(
            Setting(schema=first.schema, frame=first.frame, original=first.original, other=nowhere)
        )


def test_the_same_release_twice_tells_no_more_than_once() -> None:
    frame = pl.DataFrame(
        {"name": [f"p{n}" for n in range(12)], "age": list(range(12)), "zip": [0] * 12, "disease": list("abcabcabcabc")}
    )
    one = setting_of(frame, "age", 3)
    person, value = TwoReleasesAttack().try_on(
        Setting(schema=one.schema, frame=one.frame, original=one.original, other=one)
    )
    assert person.success == pytest.approx(person.details["success_with_the_first_alone"])
    assert value.success == pytest.approx(value.details["success_with_the_first_alone"])


def test_without_another_release_it_says_so() -> None:
    frame = pl.DataFrame({"name": ["a", "b"], "age": [1, 2], "zip": [1, 2], "disease": ["x", "y"]})
    with pytest.raises(DoesNotApply, match="another release"):
        TwoReleasesAttack().try_on(setting_of(frame, "age", 2))
