"""What a look at a release sees, and what it takes exception to: tables that are not what the policy says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest

import shoal
from shoal.errors import SchemaError
from shoal.judging.recount import (
    GROUPS_HIDDEN,
    IDENTITIES_VISIBLE,
    QUASI_TAKEN_AS_EXACT,
    RECORDS_UNLINKED,
    TAKEN_AS_PERMUTED,
    counts_by_rules,
    look_at_release,
    look_at_table,
    problems_of_columns,
)
from shoal.judging.verdict import NOT_SHOWN, PUBLISHED_TABLE, STEWARD, TABLE, Verdict
from shoal.masking import Anatomize, Permute, Perturb
from shoal.masking.publish import Published
from shoal.models import GBalance, HAffiliation, KAnonymity, LDiversity, Model, PersonKAnonymity, RecordRisk

SCHEMA = shoal.Schema(person="p", quasi=[shoal.Nominal("q")], sensitive=["s"])
ALONE = shoal.Schema(quasi=["age"], sensitive=["s"])
TWO = [PersonKAnonymity(k=2)]


def released(rows: Sequence[tuple[str, int, str]]) -> pl.DataFrame:
    """Published records: quasi-identifier, pseudonym, sensitive value."""
    return pl.DataFrame(rows, schema={"q": pl.String, "p": pl.Int64, "s": pl.String}, orient="row")


GOOD = released([("a", 1, "flu"), ("a", 2, "gout"), ("b", 3, "flu"), ("b", 3, "ulcer"), ("b", 4, "flu")])


def people(n: int = 12) -> pl.DataFrame:
    """One record per person, with ages and three diseases that take turns."""
    return pl.DataFrame({"age": list(range(20, 20 + n)), "s": [("flu", "gout", "ulcer")[i % 3] for i in range(n)]})


def published(mask: object, models: Sequence[Model], **options: object) -> Published:
    return shoal.protect(people(), ALONE, models, mask=mask, **options).published


def from_where(verdict: Verdict) -> list[str]:
    return [model.checked_from for model in verdict.models]


def without_alone(verdict: Verdict) -> list[str]:
    """The notes but for who is alone by what else leaves, which small groups are full of."""
    return [note for note in verdict.notes if "alone in their group" not in note]


# --- tables of records ------------------------------------------------------------------------------------------------


def test_a_table_as_it_is_is_said_to_be_one() -> None:
    risk, verdict = look_at_table(GOOD, SCHEMA, TWO)
    assert (risk.groups, risk.person_k, from_where(verdict)) == (2, 2, [TABLE])
    assert verdict.holds


def test_a_release_is_judged_by_what_it_shows() -> None:
    risk, verdict = look_at_release(GOOD, SCHEMA, [*TWO, RecordRisk(rho="0.5")])
    assert [model.holds for model in verdict.models] == [True, False]  # person 3 has two of three records
    assert from_where(verdict) == [PUBLISHED_TABLE] * 2
    assert risk.max_gidr == 2 / 3
    assert (verdict.problems, without_alone(verdict)) == ((), [])
    assert look_at_release(GOOD, SCHEMA, TWO)[1].holds


def test_persons_in_several_groups_are_a_problem_though_every_model_holds() -> None:
    moved = GOOD.with_columns(p=pl.Series([1, 3, 3, 3, 4]))
    _, verdict = look_at_release(moved, SCHEMA, TWO)
    assert all(model.holds for model in verdict.models)
    assert verdict.problems == ("1 of 3 persons have records in more than one group.",)
    assert not verdict.holds


def test_columns_that_a_release_must_not_have() -> None:
    schema = replace(SCHEMA, dropped=("name",))
    frame = GOOD.with_columns(name=pl.lit("x"), other=pl.lit("y"), group=pl.lit(1))
    assert problems_of_columns(frame.columns, schema) == [
        "'name' is published, but the policy drops it.",
        "'other' is published, but the policy gives it no role.",
        "'group' is published, but the policy gives it no role.",
    ]
    assert problems_of_columns(["p", "q", "s", "group"], schema, mask=Permute) == []
    assert problems_of_columns(GOOD.columns, schema) == []
    assert not look_at_release(GOOD.with_columns(name=pl.lit("x")), schema, TWO)[1].holds


# --- records that are not linked --------------------------------------------------------------------------------------

UNLINKED = replace(SCHEMA, person_ids="none")
KEPT = GOOD.select(member="p", s="s")


def test_without_links_every_group_counts_as_one_person() -> None:
    risk, verdict = look_at_release(GOOD.drop("p"), UNLINKED, [KAnonymity(k=2), *TWO])
    assert [(model.holds, model.checked_from) for model in verdict.models] == [
        (True, PUBLISHED_TABLE),
        (False, NOT_SHOWN),
    ]
    assert (risk.persons, risk.person_k, risk.max_gidr) == (2, 1, 1.0)
    assert without_alone(verdict) == [RECORDS_UNLINKED]
    assert not verdict.holds


def test_links_that_the_steward_keeps_are_taken_for_models_of_persons_only() -> None:
    models = [KAnonymity(k=2), *TWO, GBalance(g="0.4")]
    risk, verdict = look_at_release(GOOD.drop("p"), UNLINKED, models, linked=KEPT)
    assert from_where(verdict) == [PUBLISHED_TABLE, STEWARD, STEWARD]
    assert verdict.holds
    assert (risk.persons, risk.person_k, risk.max_gidr) == (4, 2, 2 / 3)


@pytest.mark.parametrize(
    ("kept", "problem"),
    [
        (KEPT.drop("member"), "lacks the columns: member."),
        (KEPT.drop("s"), "lacks the columns: s."),
        (KEPT.head(4), "has other records than were published."),
        (KEPT.with_columns(member=pl.Series([1, 2, 3, None, 4])), "has other records than were published."),
        (KEPT.with_columns(s=pl.lit("flu")), "of 's' is not what was published."),
        (pl.concat([KEPT.tail(1), KEPT.head(4)]), "of 's' is not what was published."),
    ],
)
def test_links_of_another_table_are_not_taken(kept: pl.DataFrame, problem: str) -> None:
    risk, verdict = look_at_release(GOOD.drop("p"), UNLINKED, TWO, linked=kept)
    (told,) = verdict.problems
    assert told.endswith(problem)
    assert not verdict.holds
    assert not any(model.holds for model in verdict.models)
    assert risk.person_k == 1


def test_links_across_groups_and_ids_that_are_published_are_problems() -> None:
    across = KEPT.with_columns(member=pl.Series([1, 3, 3, 3, 4]))
    _, verdict = look_at_release(GOOD.drop("p"), UNLINKED, TWO, linked=across)
    assert verdict.problems == ("1 of 3 persons have records in more than one group.",)
    _, verdict = look_at_release(GOOD, UNLINKED, TWO, linked=KEPT)
    assert verdict.problems == ("'p' is published, but the policy publishes no person ids.",)


# --- perturbed --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def perturbed() -> Published:
    return published(Perturb(), [PersonKAnonymity(k=3)], method="mdav", seed=1)


def test_a_perturbed_release_is_judged_by_the_grouping_that_the_steward_keeps(perturbed: Published) -> None:
    assert perturbed.linked is not None
    risk, verdict = look_at_release(
        perturbed.frame, ALONE, [PersonKAnonymity(k=3)], mask=Perturb, linked=perturbed.linked
    )
    assert verdict.holds
    assert from_where(verdict) == [STEWARD]
    assert without_alone(verdict) == [GROUPS_HIDDEN]
    assert (risk.records, risk.person_k) == (12, 3)
    assert not look_at_release(perturbed.frame, ALONE, [PersonKAnonymity(k=4)], mask=Perturb, linked=perturbed.linked)[
        1
    ].holds


def test_a_grouping_of_another_release_is_a_problem(perturbed: Published) -> None:
    linked = perturbed.linked
    assert linked is not None
    models = [PersonKAnonymity(k=1)]
    for absent in ("group", "member", "s"):
        with pytest.raises(SchemaError, match=f"lacks the columns: {absent}"):
            look_at_release(perturbed.frame, ALONE, models, mask=Perturb, linked=linked.drop(absent))
    _, verdict = look_at_release(perturbed.frame.head(9), ALONE, models, mask=Perturb, linked=linked)
    assert "What the steward keeps of the release has other records or persons than were published." in verdict.problems
    others = linked.with_columns(member=pl.lit(1))
    _, verdict = look_at_release(perturbed.frame, ALONE, models, mask=Perturb, linked=others)
    assert verdict.problems == (
        "What the steward keeps of the release has other records or persons than were published.",
    )
    _, verdict = look_at_release(
        perturbed.frame, ALONE, models, mask=Perturb, linked=linked.with_columns(s=pl.lit("flu"))
    )
    assert verdict.problems == ("What the steward keeps of 's' is not what was published.",)
    assert not verdict.holds


# --- published apart --------------------------------------------------------------------------------------------------

THREE = [LDiversity(l=3, kind="distinct")]


@pytest.mark.parametrize(("quasi_as", "notes"), [("exact", [IDENTITIES_VISIBLE]), ("range", [])])
def test_an_anatomized_release_says_whether_identities_are_visible(quasi_as: str, notes: list[str]) -> None:
    shown = published(Anatomize(quasi_as=quasi_as), THREE, method="anatomy", seed=1)
    risk, verdict = look_at_release(shown.frame, ALONE, THREE, mask=Anatomize, tables=shown.tables, linked=shown.linked)
    assert verdict.holds
    assert without_alone(verdict) == notes
    assert from_where(verdict) == [PUBLISHED_TABLE]
    if quasi_as == "exact":
        assert (risk.prosecutor_risk, risk.journalist_risk, risk.marketer_risk, risk.unique_persons) == (1, 1, 1, 12)
    else:
        assert risk.prosecutor_risk == pytest.approx(1 / shown.frame["group"].value_counts()["count"].min())
        assert risk.unique_persons == 0


def test_what_stands_beside_anatomized_quasi_identifiers_is_a_problem() -> None:
    shown = published(Anatomize(), THREE, method="anatomy", seed=1)
    beside = shown.frame.with_columns(s=pl.lit("flu"))
    _, verdict = look_at_release(beside, ALONE, THREE, mask=Anatomize, tables=shown.tables)
    assert "'s' is published beside the quasi-identifiers." in verdict.problems
    _, verdict = look_at_release(
        shown.frame, ALONE, THREE, mask=Anatomize, tables={**shown.tables, "t": shown.tables["s"]}
    )
    assert "A table of 't' is published, which is no sensitive attribute of the policy." in verdict.problems
    assert not verdict.holds


def test_a_permuted_release_says_what_it_takes_on_trust() -> None:
    shown = published(Permute(), THREE, method="anatomy", seed=1)
    risk, verdict = look_at_release(shown.frame, ALONE, THREE, mask=Permute, linked=shown.linked)
    assert verdict.holds
    assert without_alone(verdict) == [IDENTITIES_VISIBLE, TAKEN_AS_PERMUTED]
    assert risk.unique_persons == 12


def test_two_with_the_same_exact_values_are_not_unique() -> None:
    frame = pl.DataFrame({"age": [30, 30, 41, 52], "s": ["flu", "gout", "flu", "gout"], "group": [1, 1, 2, 2]})
    risk, _ = look_at_release(frame, ALONE, [LDiversity(l=2, kind="distinct")], mask=Permute)
    assert (risk.unique_persons, risk.prosecutor_risk, risk.marketer_risk) == (2, 1.0, 0.75)


def test_who_is_alike_in_one_exact_value_and_not_in_the_other_is_unique() -> None:
    schema = shoal.Schema(quasi=["age", "zip"], sensitive=["s"])
    ages, zips = [30, 30, 31, 31, 32, 32], [1, 2, 1, 2, 3, 3]
    frame = pl.DataFrame({"age": ages, "zip": zips, "s": ["flu", "gout"] * 3, "group": [1] * 6})
    risk, _ = look_at_release(frame, schema, [LDiversity(l=2, kind="distinct")], mask=Permute)
    assert (risk.unique_persons, risk.marketer_risk) == (4, 5 / 6)


def test_a_permuted_table_must_show_one_record_per_person() -> None:
    schema = shoal.Schema(person="p", quasi=["age"], sensitive=["s"])
    frame = pl.DataFrame({"p": [1, 2, 3, 4], "age": [1, 2, 3, 4], "s": ["flu", "gout"] * 2, "group": [1, 1, 2, 2]})
    models = [LDiversity(l=2, kind="distinct")]
    assert look_at_release(frame, schema, models, mask=Permute)[1].holds
    _, verdict = look_at_release(frame.with_columns(p=pl.Series([1, 1, 3, 4])), schema, models, mask=Permute)
    assert verdict.problems == ("A permuted table has one record per person, but 'p' names persons more than once.",)
    _, verdict = look_at_release(frame.drop("p"), schema, models, mask=Permute)
    assert verdict.problems == (
        "A permuted table has one record per person, but person ids, which would show it, are not published.",
    )
    assert not verdict.holds


def test_what_a_table_apart_does_not_show_is_asked_of_the_steward() -> None:
    """Which values belong to one person is not published; where counts do not prove the model, it is not shown."""
    schema = shoal.Schema(quasi=["age"], sensitive=["s", "t"])
    models = [shoal.JointDiversity(l=3)]
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "group": [1] * 6})
    values = {"s": ["flu", "gout", "ulcer"], "t": ["x", "y", "z"]}
    tables = {name: pl.DataFrame({"group": [1] * 3, name: own, "count": [4, 1, 1]}) for name, own in values.items()}
    linked = pl.DataFrame(
        {"group": [1] * 6, "member": range(6), **{name: own[:1] * 3 + own for name, own in values.items()}}
    )
    alone = look_at_release(frame, schema, models, mask=Anatomize, tables=tables)[1]
    told = look_at_release(frame, schema, models, mask=Anatomize, tables=tables, linked=linked)[1]
    assert (from_where(alone), alone.holds) == ([NOT_SHOWN], False)
    assert (from_where(told), told.holds, told.problems) == ([STEWARD], True, ())
    both = look_at_release(frame, schema, [*THREE, *models], mask=Anatomize, tables=tables, linked=linked)[1]
    assert (from_where(both), both.holds) == ([PUBLISHED_TABLE, STEWARD], True)
    other = linked.with_columns(s=pl.Series(["flu", "gout", "ulcer"] * 2))
    assert look_at_release(frame, schema, models, mask=Anatomize, tables=tables, linked=other)[1].problems


# --- rules that somebody knows ----------------------------------------------------------------------------------------


def test_an_attack_with_rules_needs_exact_quasi_identifiers_or_the_stewards_word() -> None:
    with pytest.raises(SchemaError, match="No rules are given"):
        counts_by_rules(GOOD, SCHEMA, None, tables={})
    with pytest.raises(SchemaError, match="does not tell which values persons cannot have"):
        counts_by_rules(GOOD, SCHEMA, None, tables={}, linked=KEPT.with_columns(group=pl.lit(1)))


def test_matching_diversity_says_why_it_could_not_be_checked() -> None:
    models = [shoal.MatchingDiversity(l=2)]
    _, verdict = look_at_release(GOOD, SCHEMA, models)
    assert not verdict.holds
    assert verdict.problems[-1].startswith("matching-diversity could not be checked: no rules are known.")
    shown = shoal.protect(people(30), ALONE, models, method="buckets", mask=Anatomize(), seed=1)
    _, verdict = look_at_release(
        shown.published.frame, ALONE, shown.models, mask=Anatomize, tables=shown.published.tables
    )
    assert (from_where(verdict), verdict.holds) == ([PUBLISHED_TABLE], True)
    assert QUASI_TAKEN_AS_EXACT in verdict.notes


def test_h_affiliation_of_each_kind_of_release_is_the_same() -> None:
    models = [HAffiliation(h="0.34")]
    by_range = published("range", models, method="balance-tree")
    risk, _ = look_at_release(by_range.frame, ALONE, models)
    assert risk.h_affiliation <= 0.34


@pytest.fixture(scope="module")
def facing_rules() -> shoal.Release:
    """A release in ranges that holds against whoever knows that nobody under 40 has an ulcer."""
    frame = pl.DataFrame({"age": list(range(20, 60)), "s": ["flu", "gout"] * 10 + ["flu", "gout", "ulcer", "flu"] * 5})
    return shoal.protect(frame, ALONE, [shoal.MatchingDiversity(l=2)], method="buckets", mask="range", seed=1)


def test_rules_are_not_applied_to_ranges_but_to_what_the_steward_keeps(facing_rules: shoal.Release) -> None:
    frame, excluded = facing_rules.published.frame, facing_rules.published.excluded
    assert excluded is not None
    _, verdict = look_at_release(frame, ALONE, facing_rules.models, excluded=excluded)
    assert (from_where(verdict), verdict.holds, verdict.problems) == ([STEWARD], True, ())
    _, verdict = look_at_release(frame, ALONE, facing_rules.models)
    assert (from_where(verdict), verdict.holds) == ([NOT_SHOWN], False)
    assert verdict.problems[-1].startswith(
        "matching-diversity could not be checked: the published quasi-identifiers may not be the real ones."
    )


def test_what_is_excluded_matters_only_to_models_that_reckon_with_rules(facing_rules: shoal.Release) -> None:
    frame, excluded = facing_rules.published.frame, facing_rules.published.excluded
    both = [*facing_rules.models, PersonKAnonymity(k=2)]
    _, verdict = look_at_release(frame, ALONE, both, excluded=excluded)
    assert (from_where(verdict), verdict.holds) == ([STEWARD, PUBLISHED_TABLE], True)
    of_others = pl.DataFrame({"nothing": [1]})
    assert look_at_release(frame, ALONE, [PersonKAnonymity(k=2)], excluded=of_others)[1].holds
    _, verdict = look_at_release(frame, ALONE, both, excluded=of_others)
    assert not verdict.holds
    assert len(verdict.problems) == 2  # what the steward keeps does not fit, and so the model could not be checked


def test_an_attack_takes_what_the_steward_keeps_where_no_rules_are_given(facing_rules: shoal.Release) -> None:
    frame, excluded = facing_rules.published.frame, facing_rules.published.excluded
    counts = counts_by_rules(frame, ALONE, None, tables={}, excluded=excluded)
    assert len(counts) == facing_rules.published.frame.select("age").n_unique()
    (model,) = facing_rules.models
    with pytest.raises(SchemaError, match="Rules are applied to exact quasi-identifiers"):
        counts_by_rules(frame, ALONE, model.rules, tables={}, excluded=excluded)
