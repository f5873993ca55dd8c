"""protect: every group of the published table meets every model, or nothing is given."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Nominal, Schema
from tests.naive import models as naive
from tests.pipeline.tables import MODELS, SCHEMA, visits

METHODS = ("balance-tree", "mondrian", "decomposition")
MASKS = ("range", "mean", "suppress")
SMALL = Schema(person="p", quasi=["age", Nominal("sex")], sensitive=["s"])


def groups_of(data: pl.DataFrame, schema: Schema) -> dict[tuple, list[tuple]]:
    """Plain counting of a published table: the (person, sensitive value) pairs of each group of equal labels."""
    groups: dict[tuple, list[tuple]] = {}
    labels = data.select(schema.quasi_names).rows()
    for label, person, value in zip(labels, data[schema.person or ""], data[schema.sensitive[0]], strict=True):
        groups.setdefault(label, []).append((person, value))
    return groups


@pytest.mark.parametrize(("method", "mask"), list(itertools.product(METHODS, MASKS)))
def test_every_method_and_mask_keeps_every_record_and_every_promise(method: str, mask: str) -> None:
    models = [shoal.PersonKAnonymity(k=3)] if method == "decomposition" else MODELS
    release = shoal.protect(visits(), SCHEMA, models, method=method, mask=mask, seed=1)
    assert release.verdict.holds
    assert len(release.data) == 240
    assert release.data["patient"].n_unique() == visits()["patient"].n_unique()
    assert sorted(release.data["disease"]) == sorted(visits()["disease"])
    assert shoal.verify(release.data, SCHEMA, models).holds


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 8), st.none() | st.integers(20, 30), st.none() | st.sampled_from(["f", "m"]),
            st.sampled_from(["flu", "gout", "ulcer"]),
        ),
        min_size=2, max_size=40,
    ),
    st.integers(0, 8),
    st.sampled_from(MASKS),
)  # fmt: skip
def test_a_release_meets_its_models_by_plain_counting(rows: list[tuple], tenths: int, mask: str) -> None:
    types = {"p": pl.Int64, "age": pl.Int64, "sex": pl.String, "s": pl.String}
    frame = pl.DataFrame(rows, schema=types, orient="row")
    g = f"{tenths}/10"
    schema = Schema(person="p", quasi=[shoal.Number("age"), Nominal("sex")], sensitive=["s"])
    try:
        release = shoal.protect(frame, schema, [shoal.GBalance(g=g)], mask=mask)
    except shoal.errors.CannotSatisfyError:
        counts = [sum(row[0] == person for row in rows) for person in {row[0] for row in rows}]
        assert len(counts) == 1 or sum(c * c for c in counts) * 10 > (10 - tenths) * sum(counts) ** 2
        return
    assert len(release.data) == len(rows)
    seen: dict[object, tuple] = {}
    for label, members in groups_of(release.data, schema).items():
        assert naive.g_balance(members, g=Fraction(g))[1]
        for person, _ in members:
            assert seen.setdefault(person, label) == label  # a person is in one group only


class TestMissingIsNoWildcard:
    def test_a_record_with_missing_values_is_published(self) -> None:
        frame = pl.DataFrame(
            {"p": range(12), "age": [30, None] * 6, "sex": [None, "f", "m"] * 4, "s": ["flu", "gout"] * 6}
        )
        release = shoal.protect(frame, SMALL, [shoal.PersonKAnonymity(k=2)])
        assert len(release.data) == 12
        assert release.risk.person_k >= 2

    def test_a_group_is_not_larger_by_missing_values(self) -> None:
        """Five persons of 30 and one whose age is missing: that one is alone, not a sixth who might be 30."""
        frame = pl.DataFrame({"p": range(6), "age": [30] * 5 + [None], "sex": ["f"] * 6, "s": ["flu"] * 6})
        risk = shoal.assess(frame, SMALL).risk
        assert (risk.groups, risk.person_k, risk.unique_persons) == (2, 1, 1)
        with pytest.raises(shoal.errors.CannotSatisfyError):
            shoal.protect(frame, SMALL, [shoal.PersonKAnonymity(k=7)])
        release = shoal.protect(frame, SMALL, [shoal.PersonKAnonymity(k=2)])
        assert set(release.data["age"]) == {"30 or missing"}

    def test_dropping_is_counted_in_the_notes(self) -> None:
        schema = Schema(person="p", quasi=["age", Nominal("sex")], sensitive=["s"], missing="drop")
        frame = pl.DataFrame({"p": range(6), "age": [30] * 5 + [None], "sex": ["f"] * 6, "s": ["flu"] * 6})
        release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5)])
        assert len(release.data) == 5
        assert any("1 of 6 records were left out" in note for note in release.notes)
        assert any("1 of 6 records were left out" in note for note in release.to_dict()["notes"])  # type: ignore[attr-defined]
        assert release.before is not None
        assert release.before.records == 5


class TestFrames:
    def test_an_odd_index_changes_nothing(self) -> None:
        frame = visits(missing=0).to_pandas()
        plain = shoal.protect(frame, SCHEMA, MODELS, seed=1)
        for index in (pd.Index([5] * len(frame)), pd.Index(range(len(frame), 0, -1)), pd.Index(frame["phone"])):
            odd = shoal.protect(frame.set_index(index), SCHEMA, MODELS, seed=1)
            assert odd.risk == plain.risk
            assert odd.utility == plain.utility
            assert odd.data.index.equals(pd.RangeIndex(-1, -1 - len(frame), -1))
            assert list(odd.data.columns) == list(plain.data.columns)

    def test_the_order_of_the_records_changes_no_grouping(self) -> None:
        frame = visits()
        plain, shuffled = (
            shoal.protect(given, SCHEMA, MODELS, seed=1)
            for given in (frame, frame.sample(fraction=1, shuffle=True, seed=9))
        )
        assert plain.risk == shuffled.risk
        by_value = [
            sorted(release.data.select(pl.exclude("patient", "visit").cast(pl.String)).rows(), key=str)
            for release in (plain, shuffled)
        ]
        assert by_value[0] == by_value[1]

    def test_the_input_is_left_alone(self) -> None:
        frame = visits().to_pandas()
        copy = frame.copy()
        shoal.protect(frame, SCHEMA, MODELS)
        pd.testing.assert_frame_equal(frame, copy)


class TestChoices:
    def test_thresholds_are_met_at_equality(self) -> None:
        frame = pl.DataFrame({"p": range(5), "age": [1, 2, 3, 4, 5], "sex": ["f"] * 5, "s": list("abcde")})
        assert shoal.protect(frame, SMALL, [shoal.GBalance(g=0.8)]).risk.groups == 1  # exactly 4/5
        with pytest.raises(shoal.errors.CannotSatisfyError):
            shoal.protect(frame, SMALL, [shoal.GBalance(g="0.8000000000000000001")])

    def test_067_is_not_two_thirds(self) -> None:
        frame = pl.DataFrame({"p": range(3), "age": [1, 2, 3], "sex": ["f"] * 3, "s": list("abc")})
        assert shoal.protect(frame, SMALL, [shoal.GBalance(g="2/3")]).verdict.holds
        with pytest.raises(shoal.errors.CannotSatisfyError):
            shoal.protect(frame, SMALL, [shoal.GBalance(g=0.67)])

    def test_options_reach_the_method_and_the_mask(self) -> None:
        release = shoal.protect(visits(), SCHEMA, MODELS, cut="median", code_extremes=True)
        assert getattr(release.method, "cut", None) == "median"
        assert getattr(release.mask, "code_extremes", None) is True

    def test_lone_extremes_are_counted_for_the_steward(self) -> None:
        frame = pl.DataFrame({"p": range(6), "age": [3, 40, 40, 40, 88, 104], "sex": ["f"] * 6, "s": list("abcdef")})
        release = shoal.protect(frame, SMALL, [shoal.PersonKAnonymity(k=3)])
        assert release.lone_extremes == {"age": 2}
        assert release.to_dict()["lone_extremes"] == {"age": 2}
        assert any(str(label).startswith("3-") for label in release.data["age"])
        coded = shoal.protect(frame, SMALL, [shoal.PersonKAnonymity(k=3)], code_extremes=True)
        assert not any(label.startswith("3") or "104" in label for label in coded.data["age"])

    def test_without_a_seed_one_is_drawn(self) -> None:
        seeds = {shoal.protect(visits(60), SCHEMA, [shoal.GBalance(g=0.5)]).seed for _ in range(3)}
        assert len(seeds) == 3
        assert all(0 <= seed < 2**128 for seed in seeds)

    def test_the_input_need_not_be_measured(self) -> None:
        release = shoal.protect(visits(60), SCHEMA, [shoal.GBalance(g=0.5)], measure_input=False)
        assert release.before is None
        assert release.to_dict()["before"] is None

    def test_the_answer_has_the_keys_of_the_contract(self) -> None:
        release = shoal.protect(visits(), SCHEMA, MODELS)
        answer = release.to_dict()
        keys = {
            "records", "persons", "groups", "max_gidr", "avg_gidr", "max_gsar", "avg_gsar", "g_balance",
            "h_affiliation", "k", "person_k", "ane", "seconds", "verdict",
        }  # fmt: skip
        assert keys <= set(answer)
        before = answer["before"]
        assert isinstance(before, dict)
        assert keys - {"seconds", "verdict"} <= set(before)
        assert before["max_gidr"] > answer["max_gidr"]  # type: ignore[operator]
        assert set(answer["max_gsar"]) == {"disease", "drug"}  # type: ignore[call-overload]
        verdict = answer["verdict"]
        assert isinstance(verdict, dict)
        assert verdict["holds"] is True
        for model in verdict["models"]:
            assert set(model) == {"name", "asked", "reached", "holds", "checked_from"}
            assert model["checked_from"] == "published table"
        assert release.risk.max_gidr == answer["max_gidr"]
        assert release.utility.ane == answer["ane"]


class TestKeptColumns:
    def kept(self, values: Any) -> Any:
        frame = pl.DataFrame({"p": [i // 2 for i in range(40)], "age": [i % 7 for i in range(40)]})
        schema = Schema(person="p", quasi=["age"], kept=["k"])
        frame = frame.with_columns(k=pl.Series(values))
        return shoal.protect(frame, schema, [shoal.GBalance(g=0.5)], allow_alone=True)

    def test_one_that_identifies_persons_is_published_only_where_that_is_allowed(self) -> None:
        release = self.kept([f"mail-{i // 2}" for i in range(40)])
        assert release.risk.alone_by["kept"] == 20
        assert sorted(release.data["k"]) == sorted(f"mail-{i // 2}" for i in range(40))
        with pytest.raises(shoal.errors.PrivacyNotMetError, match=r"20 of 20 persons \(100.0%\)") as refusal:
            shoal.protect(release.data, Schema(person="p", quasi=[Nominal("age")], kept=["k"]), release.models)
        assert "mail" not in str(refusal.value)

    def test_nobody_is_alone_by_what_many_have_or_miss(self) -> None:
        assert self.kept([None] * 40).risk.alone_by["kept"] == 0

    def test_a_missing_value_that_one_person_has_identifies_them(self) -> None:
        frame = pl.DataFrame({"p": range(5), "age": [1] * 5, "k": ["x", "y", None, "z", "z"]})
        with pytest.raises(shoal.errors.PrivacyNotMetError, match=r"3 of 5 persons \(60.0%\)"):
            shoal.protect(frame, Schema(person="p", quasi=["age"], kept=["k"]), [shoal.GBalance(g=0.5)])


class TestBudget:
    HEAVY = pl.DataFrame({"p": [0] * 60 + list(range(1, 21)), "age": np.arange(80) % 9, "sex": "f", "s": "x"})
    MODELS = (shoal.RecordRisk(rho=0.2),)

    def test_without_a_budget_the_table_is_refused_with_what_could_be_met(self) -> None:
        with pytest.raises(shoal.errors.CannotSatisfyError) as refusal:
            shoal.protect(self.HEAVY, SMALL, self.MODELS)
        message = str(refusal.value)
        assert "record risk 0.2" in message.replace("-", " ")
        assert "0.75" in message
        assert "max_suppressed" in message

    def test_one_heavy_person_may_be_left_out(self) -> None:
        release = shoal.protect(self.HEAVY, SMALL, self.MODELS, max_suppressed=3)
        assert release.to_dict()["suppressed_persons"] == 1  # as few as needed
        assert release.risk.persons == 20
        assert any("1 persons were left out" in note for note in release.notes)
        assert release.before is not None
        assert release.before.persons == 21

    def test_or_be_sampled_down(self) -> None:
        release = shoal.protect(self.HEAVY, SMALL, self.MODELS, max_records=4)
        assert (release.risk.persons, release.risk.records) == (21, 24)
        assert any("sampled down to 4 records" in note for note in release.notes)

    def test_nothing_is_left_out_where_nothing_must_be(self) -> None:
        release = shoal.protect(visits(), SCHEMA, MODELS, max_suppressed=10, max_records=1)
        assert release.risk.records == 240
        assert release.to_dict()["suppressed_persons"] == 0
