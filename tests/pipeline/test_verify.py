"""verify: the published table alone decides, and a table that fails is answered, never refused."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Nominal, Schema
from shoal.engines.stream.recount import verify_file
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.judging.verdict import Answer
from shoal.publishing.related.star import Star, StarTable
from shoal.publishing.related.verify import verify_star
from tests.pipeline.tables import MODELS, SCHEMA, visits

PUBLISHED = Schema(person="p", quasi=["age"], sensitive=["s"], dropped=["phone"])


def released(**columns: Any) -> pl.DataFrame:
    """Two groups of two persons each."""
    frame = pl.DataFrame({"p": ["A", "B", "C", "D"], "age": ["20-30", "20-30", "31-40", "31-40"], "s": list("wxyz")})
    return frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


ALL_MODELS = [
    shoal.GBalance(g=0.99), shoal.HAffiliation(h=0.01), shoal.RecordRisk(rho=0.01), shoal.KAnonymity(k=1000),
    shoal.PersonKAnonymity(k=1000), shoal.EntropyBalance(k=50), shoal.LDiversity(l=9),
    shoal.LDiversity(l=9, kind="distinct"),
    shoal.LDiversity(l=9, kind="entropy"), shoal.LDiversity(l=9, kind="recursive", c=2),
    shoal.LDiversity(l=9, kind="distinct", count="persons"), shoal.TCloseness(t=0.001),
    shoal.TCloseness(t=0.001, distance="ordered"), shoal.AlphaKAnonymity(alpha=0.01, k=1000),
    shoal.BetaLikeness(beta=0.01), shoal.DeltaDisclosure(delta=0.01),
]  # fmt: skip


def test_a_release_that_keeps_its_promises() -> None:
    answer = shoal.verify(released(), PUBLISHED, [shoal.PersonKAnonymity(k=2), shoal.GBalance(g=0.5)])
    assert answer.holds
    assert answer.problems == ()
    assert (answer.groups, answer.person_k, answer.max_gidr) == (2, 2, 0.5)
    verdict = answer.to_dict()["verdict"]
    assert [model["checked_from"] for model in verdict["models"]] == ["published table"] * 2  # type: ignore[index]


@pytest.mark.parametrize("model", ALL_MODELS, ids=lambda model: type(model).__name__)
def test_a_failing_model_is_answered(model: Any) -> None:
    roles: dict[str, Any] = {"person": "patient", "quasi": SCHEMA.quasi, "sensitive": SCHEMA.sensitive, "time": "visit"}
    answer = shoal.verify(visits(60), Schema(**roles, kept=["ward", "phone"]), [model])
    assert not answer.holds
    assert not answer.verdict.models[0].holds
    assert answer.verdict.models[0].broken_groups > 0


def test_one_person_is_answered_with_risk_one() -> None:
    frame = pl.DataFrame({"p": ["A", "A"], "age": ["20-30"] * 2, "s": ["x", "y"]})
    answer = shoal.verify(frame, PUBLISHED, [shoal.GBalance(g=0.5)])
    assert (answer.holds, answer.max_gidr, answer.persons) == (False, 1.0, 1)


def test_a_dropped_column_that_is_published() -> None:
    answer = shoal.verify(released(phone=[1, 2, 3, 4]), PUBLISHED, [shoal.GBalance(g=0.5)])
    assert not answer.holds
    assert answer.problems == ("'phone' is published, but the policy drops it.",)
    assert answer.verdict.models[0].holds  # the model is met all the same


def test_a_column_without_a_role() -> None:
    for extra in ([1, 2, 3, 4], [[1], [2], [3], [4]]):
        answer = shoal.verify(released(row_number=extra), PUBLISHED, [shoal.GBalance(g=0.5)])
        assert not answer.holds
        assert answer.problems == ("'row_number' is published, but the policy gives it no role.",)


def test_a_person_in_two_groups() -> None:
    answer = shoal.verify(released(p=["A", "B", "A", "D"]), PUBLISHED, [shoal.PersonKAnonymity(k=2)])
    assert not answer.holds
    assert answer.problems == ("1 of 3 persons have records in more than one group.",)
    assert answer.to_dict()["verdict"]["problems"] == list(answer.problems)  # type: ignore[index]


def test_equality_passes_and_nothing_else() -> None:
    five = pl.DataFrame({"p": list("ABCDE"), "age": ["20-30"] * 5, "s": list("vwxyz")})
    assert shoal.verify(five, PUBLISHED, [shoal.GBalance(g=0.8)]).holds
    assert not shoal.verify(five, PUBLISHED, [shoal.GBalance(g="0.80000000000000001")]).holds
    three = five.head(3)
    assert shoal.verify(three, PUBLISHED, [shoal.GBalance(g="2/3")]).holds
    assert not shoal.verify(three, PUBLISHED, [shoal.GBalance(g=0.67)]).holds
    assert shoal.verify(five, PUBLISHED, [shoal.RecordRisk(rho=0.2), shoal.HAffiliation(h=0.2)]).holds


def test_a_missing_label_is_a_label() -> None:
    """Two persons of whom nothing is shown are a group of two, not part of every other group."""
    answer = shoal.verify(released(age=["20-30", "20-30", None, None]), PUBLISHED, [shoal.PersonKAnonymity(k=2)])
    assert (answer.holds, answer.groups) == (True, 2)
    assert not shoal.verify(released(age=["20-30"] * 3 + [None]), PUBLISHED, [shoal.PersonKAnonymity(k=2)]).holds


def test_the_published_table_decides_not_the_grouping() -> None:
    """A mask that shows too much is caught, whatever the method promised."""

    class ShowsEverything:
        name = "everything"

        def mask(self, column: Any, records: Any, table: Any) -> pl.Series:
            return pl.Series([f"group {group}" for group in range(records.n_groups)])

    class PutsEachPersonAlone:
        name = "alone"

        def group(self, table: Any, models: Any, progress: Any) -> Any:
            return Grouping(np.arange(table.n_persons, dtype=np.int32), table.n_persons)

    with pytest.raises(
        shoal.errors.PrivacyNotMetError, match=r"of \d+ groups break g-balance 0.6 .*Nothing was written"
    ):
        shoal.protect(visits(), SCHEMA, MODELS, method=PutsEachPersonAlone(), mask=ShowsEverything())


def test_every_answer_that_has_holds_is_the_answer() -> None:
    """`assert shoal.verify(…)` asks what the answer is, on every class that has one."""
    found = set()
    for module in pkgutil.walk_packages(shoal.__path__, "shoal."):
        for _, cls in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            says = inspect.getattr_static(cls, "holds", None)
            has_it = isinstance(says, property) or "holds" in getattr(cls, "__dataclass_fields__", {})
            if cls.__module__.startswith("shoal.") and has_it and not getattr(cls, "_is_protocol", False):
                found.add(cls.__name__)
                assert issubclass(cls, Answer), cls
    assert found >= {"Verdict", "ModelVerdict", "Assessment", "LedgerCheck", "ModelCheck"}
    good, bad = (shoal.verify(released(), PUBLISHED, [shoal.PersonKAnonymity(k=k)]) for k in (2, 3))
    assert (bool(good), bool(good.verdict), bool(good.verdict.models[0])) == (True, True, True)
    assert (bool(bad), bool(bad.verdict), bool(bad.verdict.models[0])) == (False, False, False)


def test_a_promise_about_nothing_is_refused(tmp_path: Path) -> None:
    released().write_csv(tmp_path / "release.csv")
    star = Star({"people": StarTable(key="p")})
    for asked in (
        lambda: shoal.verify(released(), PUBLISHED, []),
        lambda: verify_file(tmp_path / "release.csv", PUBLISHED, []),
        lambda: verify_star({"people": released()}, star, PUBLISHED, []),
    ):
        with pytest.raises(ParameterError, match="No model was asked for, so there is nothing to verify"):
            asked()


class TestWhatIsNoRelease:
    def test_columns_that_are_lacking(self) -> None:
        with pytest.raises(SchemaError) as refusal:
            shoal.verify(released().rename({"age": "Age"}), PUBLISHED, [shoal.GBalance(g=0.5)])
        assert "lacks 1 of the schema's columns: age." in str(refusal.value)
        assert "Did you mean 'Age'?" in str(refusal.value)

    def test_no_records(self) -> None:
        with pytest.raises(InputError, match="no records"):
            shoal.verify(released().head(0), PUBLISHED, [shoal.GBalance(g=0.5)])

    @pytest.mark.parametrize("persons", [["A", None, "C", None], [1.0, float("nan"), 2.0, None]])
    def test_missing_persons(self, persons: list[Any]) -> None:
        with pytest.raises(SchemaError, match="'p' is missing in 2 of 4 records"):
            shoal.verify(released(p=persons), PUBLISHED, [shoal.GBalance(g=0.5)])

    def test_columns_that_hold_no_plain_values(self) -> None:
        with pytest.raises(InputError, match=r"cannot be published: s\."):
            shoal.verify(released(s=[[1], [2], [3], [4]]), PUBLISHED, [shoal.GBalance(g=0.5)])

    def test_models_of_sensitive_attributes_need_one(self) -> None:
        schema = Schema(person="p", quasi=["age"], kept=["s"])
        with pytest.raises(SchemaError, match="none is named"):
            shoal.verify(released(), schema, [shoal.HAffiliation(h=0.5)])
        with pytest.raises(SchemaError, match="'S', but that is not a sensitive attribute"):
            shoal.verify(released(), PUBLISHED, [shoal.HAffiliation(h=0.5, column="S")])


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.none() | st.sampled_from("ab"), st.none() | st.sampled_from("xyz")), min_size=1
    ),
    st.sampled_from(ALL_MODELS),
)
def test_verify_answers_whatever_is_published(rows: list[tuple], model: Any) -> None:
    frame = pl.DataFrame(rows, schema={"p": pl.Int64, "age": pl.String, "s": pl.String}, orient="row")
    answer = shoal.verify(frame, Schema(person="p", quasi=[Nominal("age")], sensitive=["s"]), [model])
    groups_of_person: dict[object, set[object]] = {}
    for person, age, _ in rows:
        groups_of_person.setdefault(person, set()).add(age)
    several = sum(len(groups) > 1 for groups in groups_of_person.values())
    assert len(answer.problems) == (several > 0)
    assert answer.holds == (answer.verdict.models[0].holds and not several)
