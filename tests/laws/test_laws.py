"""What every method, model and mask obeys, in any combination: the promises, recounted in plain Python."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import CannotSatisfyError, PrivacyNotMetError, SchemaError, ShoalError
from shoal.grouping import METHODS, BalanceTree, Buckets
from shoal.masking import MASKS
from shoal.models import MODELS, Model
from shoal.models.contract import limits_of
from shoal.models.counts import SPREAD
from shoal.table.schema import Nominal, Schema
from shoal.testing import check_release
from tests.grouping.tables import SENSITIVE, Small, missing_last, small_tables
from tests.laws.spanned import is_refused
from tests.laws.twins import column_of, twin_of, twin_told, worst
from tests.models.builders import group_counts
from tests.models.strategies import above_one, fractions_to_one, wholes
from tests.models.test_contract import EVERY, told

LENIENT: list[Model] = [
    shoal.GBalance(g=0.3),
    shoal.HAffiliation(h=0.8),
    shoal.RecordRisk(rho=0.7),
    shoal.EntropyBalance(k="1.5"),
    shoal.KAnonymity(k=2),
    shoal.PersonKAnonymity(k=2),
    shoal.SubsetK(k=2, m=1),
    shoal.LDiversity(l="1.2"),
    shoal.LDiversity(l=2, kind="distinct", count="persons"),
    shoal.TCloseness(t=0.6),
    shoal.AlphaKAnonymity(alpha=0.9, k=2),
    shoal.BetaLikeness(beta=3),
    shoal.DeltaDisclosure(delta=4),
]
asked_models = st.lists(st.sampled_from([*EVERY, *LENIENT]), min_size=1, max_size=3, unique_by=told)
OF_PAIRS = {"m": 2}
"""Without a model that says how many values a bucket must have, its method must be told."""
WAYS = [
    *(cls(**(OF_PAIRS if name in ("buckets", "anatomy") else {})) for name, cls in METHODS.items()),
    *(Buckets(order=order, m=2) for order in ("balanced", "rarest")),
    BalanceTree(effort="low"),
    BalanceTree(cut="median"),
    BalanceTree(cut="median", ties="split"),
]

JOINT_MODELS = {
    "joint-diversity",
    "exponential-l",
    "joint-spread",
    "matching-diversity",
    "posterior",
    "history-k",
    "history-confidence",
    "count-k",
}
OF_SAMPLES = {"k-map", "delta-presence", "population-uniqueness", "average-risk", "expected-reidentifications",
              "no-attack"}  # fmt: skip
"""Models of all sensitive attributes together, of what rules exclude, or of histories: they have laws of their own."""

SHOWN_ALIKE = [
    name for name, cls in MASKS.items() if cls.links_values and cls.shows_groups and not cls.matches_anything
]
"""Masks after which the persons of a group have the same quasi-identifiers."""
SHOWN_APART = [name for name, cls in MASKS.items() if not getattr(cls, "links_values", True)]
"""Masks that publish sensitive attributes apart from quasi-identifiers, and name the group."""

Rows = list[dict[str, Any]]


def groups_seen(rows: Rows, quasi: Sequence[str]) -> dict[tuple[Any, ...], Rows]:
    """Records with equal quasi-identifiers; a missing value equals a missing value only."""
    groups: dict[tuple[Any, ...], Rows] = {}
    for row in rows:
        groups.setdefault(tuple((row[name] is None, row[name]) for name in quasi), []).append(row)
    return groups


def with_persons(frame: pl.DataFrame, schema: Schema) -> Rows:
    """The records of a frame, each with its person: without a person column each record is one."""
    person_of = frame[schema.person].to_list() if schema.person else range(len(frame))
    return [{**row, "person": person} for row, person in zip(frame.to_dicts(), person_of, strict=True)]


def recount(model: Model, rows: Rows, schema: Schema) -> tuple[float, bool, int]:
    """What a model reaches in a table as it is seen, whether it holds, and how many groups break it."""
    columns = [column_of(model)] if column_of(model) else list(schema.sensitive)
    reached, broken = [], set()
    for column in columns:
        values = sorted({row[column] for row in rows}, key=missing_last)
        codes = {value: code for code, value in enumerate(values)}
        whole = [(row["person"], codes[row[column]]) for row in rows]
        is_silent = column in schema.missing_tells_nothing
        twin = twin_told(model, codes.get(None)) if is_silent else twin_of(model)
        for key, group in groups_seen(rows, schema.quasi_names).items():
            value, holds = twin([(row["person"], codes[row[column]]) for row in group], whole)
            reached.append(value)
            if not holds:
                broken.add(key)
    return worst(model, reached), not broken, len(broken)


def test_every_registered_model_is_asked() -> None:
    assert {model.name for model in LENIENT} | JOINT_MODELS | OF_SAMPLES >= set(MODELS)


@pytest.mark.parametrize("mask", SHOWN_ALIKE)
@pytest.mark.parametrize("method", WAYS, ids=lambda method: " ".join(map(str, vars(method).values())) or method.name)
@settings(max_examples=25)
@given(small=small_tables(max_persons=24, may_tell_nothing=True), models=asked_models)
def test_a_release_keeps_every_promise_or_there_is_none(
    method: Any, mask: str, small: Small, models: list[Model]
) -> None:
    schema = small.schema
    if method.own_mask not in (None, mask):
        mask = "range"  # the default, in place of which the method takes its own
    if is_refused(method, small.frame, schema, models):
        with pytest.raises((CannotSatisfyError, SchemaError)):
            shoal.protect(small.frame, schema, models, method=method, mask=mask)
        return
    can_be_met = small.holds(models)(small.records)  # by the table as one group; there are two persons at least
    if not can_be_met or not method.keeps_models:
        try:
            release = shoal.protect(small.frame, schema, models, method=method, mask=mask, seed=1)
        except (CannotSatisfyError, PrivacyNotMetError):
            return
        assert can_be_met, "what the whole table breaks is refused"
    else:
        release = shoal.protect(small.frame, schema, models, method=method, mask=mask, seed=1)
    rows = with_persons(release.data, schema)
    for model in models:
        _, holds, _ = recount(model, rows, schema)
        assert holds, model.name
    check_release(release, small.frame, schema, models)


def groups_of_persons(rows: Rows, schema: Schema) -> dict[Any, set[tuple[Any, ...]]]:
    groups: dict[Any, set[tuple[Any, ...]]] = {}
    for key, group in groups_seen(rows, schema.quasi_names).items():
        for row in group:
            groups.setdefault(row["person"], set()).add(key)
    return groups


OF_IDENTITIES = {"squared_records", "most_records", "log_records"}
"""Counts whose models are refused where exact quasi-identifiers tell who is who."""
models_of_values = st.sampled_from([model for model in [*EVERY, *LENIENT] if not model.needs & OF_IDENTITIES])


@pytest.mark.parametrize("quasi_as", ["exact", "range"])
@pytest.mark.parametrize("mask", SHOWN_APART)
@settings(max_examples=25)
@given(
    small=small_tables(max_persons=24, person_column=False),
    models=st.lists(models_of_values, min_size=1, max_size=3, unique_by=told),
    method=st.sampled_from([way for way in WAYS if way.keeps_models]),
)
def test_values_shown_apart_keep_every_promise(
    mask: str, quasi_as: str, small: Small, models: list[Model], method: Any
) -> None:
    """One record per person: what a group shows are the counts of its values."""
    if not small.holds(models)(small.records) or is_refused(method, small.frame, small.schema, models):
        with pytest.raises((CannotSatisfyError, SchemaError)):
            shoal.protect(small.frame, small.schema, models, method=method, mask=mask, quasi_as=quasi_as)
        return
    release = shoal.protect(small.frame, small.schema, models, method=method, mask=mask, quasi_as=quasi_as)
    if SENSITIVE in release.data.columns:
        seen = release.data.select("group", SENSITIVE).rows()
    else:
        counted = release.published.tables[SENSITIVE].select("group", SENSITIVE, "count").rows()
        seen = [(group, value) for group, value, count in counted for _ in range(count)]
    codes = {value: code for code, value in enumerate(sorted({value for _, value in seen}, key=missing_last))}
    whole = [(person, codes[value]) for person, (_, value) in enumerate(seen)]
    assert Counter(value for _, value in seen) == Counter(value for *_, value in small.records)
    for group, size in Counter(release.data["group"].to_list()).items():
        inside = [(person, code) for (person, code), (g, _) in zip(whole, seen, strict=True) if g == group]
        assert len(inside) == size
        assert all(twin_of(model)(inside, whole)[1] for model in models)
    kept = {"tables": release.published.tables, "linked": release.published.linked}
    again = shoal.verify(release.data, small.schema, models, mask=release.mask.name, **kept)
    assert again.verdict == release.verdict


@settings(max_examples=25)
@given(small=small_tables(max_persons=24), models=asked_models, method=st.sampled_from(WAYS))
def test_the_steward_knows_the_group_of_each_published_record(small: Small, models: list[Model], method: Any) -> None:
    try:
        release = shoal.protect(small.frame, small.schema, models, method=method)
    except ShoalError:
        return
    check_release(release, small.frame, small.schema, models)
    assert release.utility.average_group_size == len(release.data) / release.groups["group"].n_unique()


@st.composite
def published_tables(draw: st.DrawFn) -> tuple[pl.DataFrame, Schema]:
    """Arbitrary tables as they might be handed to verify: also with persons in several groups, and missing values."""
    n_records = draw(st.integers(1, 25))
    labels = st.lists(st.sampled_from(["30-39", "40-49", "*", None]), min_size=n_records, max_size=n_records)
    persons = st.lists(st.sampled_from(["a", "b", "c", "dddddddd", "ee"]), min_size=n_records, max_size=n_records)
    values = st.lists(st.sampled_from(["flu", "cold", "asthma", None]), min_size=n_records, max_size=n_records)
    drawn = {"who": persons, "age": labels, "city": labels, SENSITIVE: values, "drug": values}
    frame = pl.DataFrame([pl.Series(name, draw(column), dtype=pl.String) for name, column in drawn.items()])
    if draw(st.booleans()):
        frame = frame.with_columns(pl.col("age").cast(pl.Categorical), pl.col(SENSITIVE).cast(pl.Categorical))
    if draw(st.booleans()):
        frame = frame.with_columns(pl.col("who").str.pad_end(8, "_"))
    person = draw(st.sampled_from(["who", None]))
    if person is None:
        frame = frame.drop("who")
    silent = draw(st.sampled_from([[], [SENSITIVE], [SENSITIVE, "drug"]]))
    quasi, sensitive = [Nominal("age"), Nominal("city")], [SENSITIVE, "drug"]
    return frame, Schema(person=person, quasi=quasi, sensitive=sensitive, missing_tells_nothing=silent)


@settings(max_examples=100)
@given(published_tables(), asked_models)
def test_verify_agrees_with_a_plain_recount(given_table: tuple[pl.DataFrame, Schema], models: list[Model]) -> None:
    frame, schema = given_table
    rows = with_persons(frame, schema)
    answer = shoal.verify(frame, schema, models)
    for model, verdict in zip(models, answer.verdict.models, strict=True):
        reached, holds, n_broken = recount(model, rows, schema)
        assert (verdict.name, verdict.asked, verdict.checked_from) == (model.name, model.asked, "published table")
        assert verdict.holds == holds
        assert verdict.broken_groups == n_broken
        assert math.isclose(verdict.reached, reached, rel_tol=1e-12, abs_tol=1e-12)
    several = sum(len(groups) > 1 for groups in groups_of_persons(rows, schema).values())
    assert bool(answer.verdict.problems) == (several > 0)
    assert answer.verdict.holds == (all(recount(model, rows, schema)[1] for model in models) and not several)


@settings(max_examples=60)
@given(published_tables())
def test_the_risk_of_a_table_agrees_with_a_plain_recount(given_table: tuple[pl.DataFrame, Schema]) -> None:
    frame, schema = given_table
    rows = with_persons(frame, schema)
    groups = list(groups_seen(rows, schema.quasi_names).values())
    risk = shoal.assess(frame, schema).risk
    own = [Counter(row["person"] for row in group) for group in groups]
    assert (risk.records, risk.groups) == (len(rows), len(groups))
    assert risk.persons == len({row["person"] for row in rows})
    assert (risk.k, risk.person_k) == (min(map(len, groups)), min(map(len, own)))
    assert risk.max_gidr == pytest.approx(max(max(counts.values()) / counts.total() for counts in own))
    assert risk.avg_gidr == pytest.approx(sum(max(c.values()) / c.total() for c in own) / len(own))
    assert risk.unique_persons == len({person for counts in own if len(counts) == 1 for person in counts})
    assert risk.prosecutor_risk == pytest.approx(1 / min(map(len, own)))
    assert risk.journalist_risk == risk.prosecutor_risk
    assert risk.marketer_risk == pytest.approx(len(groups) / sum(map(len, own)))
    for column in schema.sensitive:
        shares = []
        for group in groups:
            told = {(row["person"], row[column]) for row in group}
            if column in schema.missing_tells_nothing:
                told = {(person, value) for person, value in told if value is not None}
            persons_of_value = Counter(value for _, value in told)
            shares.append(max(persons_of_value.values(), default=0) / max(len({person for person, _ in told}), 1))
        assert risk.max_gsar[column] == pytest.approx(max(shares))
        assert risk.avg_gsar[column] == pytest.approx(sum(shares) / len(shares))


spread_models = st.lists(
    st.one_of(
        fractions_to_one.map(lambda g: shoal.GBalance(g=g)),
        fractions_to_one.map(lambda rho: shoal.RecordRisk(rho=rho)),
        wholes.map(lambda k: shoal.KAnonymity(k=k)),
        wholes.map(lambda k: shoal.PersonKAnonymity(k=k)),
    ),
    max_size=4,
)


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=7), min_size=1, max_size=5), spread_models)
def test_limits_say_the_same_as_the_models(groups: list[list[int]], models: list[Model]) -> None:
    limits = limits_of(models)
    assert limits is not None
    records = [(g, (g, p), 0) for g, own in enumerate(groups) for p, count in enumerate(own) for _ in range(count)]
    counts = group_counts(records)
    for g, own in enumerate(groups):
        within = (
            len(own) >= limits.least_persons
            and sum(own) >= limits.least_records
            and Fraction(max(own), sum(own)) <= limits.largest_share
            and Fraction(sum(c * c for c in own), sum(own) ** 2) <= limits.largest_squares
        )
        assert within == all(bool(model.holds(counts)[g]) for model in models)


@given(above_one)
def test_models_that_have_no_limits_are_not_left_out(k: Fraction) -> None:
    assert limits_of([shoal.GBalance(g=0.5), shoal.EntropyBalance(k=k)]) is None
    assert limits_of([shoal.GBalance(g=0.5), shoal.HAffiliation(h=0.5)]) == limits_of([shoal.GBalance(g=0.5)])


def test_models_of_records_are_said_as_limits_or_asked() -> None:
    for model in EVERY:
        if model.needs <= SPREAD and limits_of([model]) is None:
            assert model.name == "entropy-balance"


def test_nothing_warns_without_a_reason(visits: pl.DataFrame) -> None:
    schema = Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", "overflow encountered", RuntimeWarning
        )  # a hash wraps round; only Python minds
        shoal.protect(visits, schema, [shoal.GBalance(g=0.5)])
