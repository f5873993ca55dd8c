"""Person linkage equals its definition, shows what k-anonymity by rows hides, and keeps to what models promise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking.suite import SuiteResult
from shoal.errors import CannotSatisfyError, SchemaError
from shoal.masking.shown_labels import SetLabels, read_labels
from shoal.masks import History
from shoal.table.table import Table
from tests.naive import attacks as naive
from tests.pipeline import tables

QUASI = [shoal.Number("age"), shoal.Nominal("sex")]
SCHEMA = shoal.Schema(person="person", quasi=QUASI, sensitive=["disease"])

records = st.tuples(
    st.integers(0, 6), st.integers(20, 26), st.sampled_from(["f", "m", None]), st.sampled_from(["flu", "cold", "gout"])
)
originals = st.lists(records, min_size=2, max_size=24)


def frame_of(rows: list[tuple]) -> pl.DataFrame:
    columns = {"person": pl.Int64, "age": pl.Int64, "sex": pl.String, "disease": pl.String}
    return pl.DataFrame(rows, schema=columns, orient="row")


def found(suite: SuiteResult, name: str) -> shoal.attacking.contract.AttackResult:
    return next(result for result in suite.results if result.name == name)


def success(suite: SuiteResult, name: str) -> float:
    return found(suite, name).success


# --- by hand ----------------------------------------------------------------------------------------------------------

VISITS = frame_of([(1, 93, "f", "gout")] * 5 + [(2, 40, "m", "flu"), (3, 41, "m", "cold"), (4, 40, "m", "cold"),
                                                (5, 41, "m", "flu"), (6, 41, "m", "gout")])  # fmt: skip


def test_five_visits_of_one_93_year_old_are_five_anonymous_by_rows_and_yet_one_person() -> None:
    by_rows = VISITS.select(
        age=pl.when(pl.col("age") == 93).then(pl.lit("93")).otherwise(pl.lit("40-41")), sex="sex", disease="disease"
    )
    assert by_rows.group_by("age", "sex").len()["len"].min() == 5
    suite = shoal.attack(by_rows, VISITS, SCHEMA, attacks=["linkage"])
    one = found(suite, "linkage, one record, record")
    assert one.details["highest"] == 1.0
    assert one.details["certain"] == 1
    assert one.success == pytest.approx((1 + 5 * (1 / 5)) / 6)
    assert success(suite, "linkage, one record, value of disease") == pytest.approx((1 + 4 * 0.5) / 6)
    assert one.blind == pytest.approx(10 / 6 / 10)


def test_the_papers_release_by_hand(clinics: pl.DataFrame) -> None:
    """Groups {A, D}, {B, E, F, G}, {C, H}: chances of records 1/2, 1/2; 2/6, 2/6, 1/6, 1/6 at the most; 1/2, 1/2."""
    schema = shoal.Schema(person="name", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["disease"],
                          dropped=["admission"])  # fmt: skip
    models = [shoal.GBalance(g=0.5), shoal.HAffiliation(h=0.5)]
    release = shoal.protect(clinics, schema, models, cut="median", seed=1)
    highest = found(release.attack(["linkage"]), "linkage, all records, record").details["highest"]
    assert highest == release.risk.max_gidr == 0.5


def test_who_knows_the_number_of_records_finds_who_alone_has_so_many() -> None:
    original = frame_of([(1, 30, "f", "flu")] * 3 + [(2, 30, "f", "cold")] * 2 + [(3, 30, "f", "gout")] * 2)
    release = shoal.protect(original, SCHEMA, [shoal.PersonKAnonymity(k=3)], seed=1)
    suite = release.attack(["linkage"])
    assert success(suite, "linkage, all records, person") == pytest.approx(1 / 3)
    assert success(suite, "linkage, all and number, person") == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert success(suite, "linkage, all and number, value of disease") == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)


def test_all_records_exclude_groups_that_one_record_fits() -> None:
    original = frame_of([(1, 20, "f", "flu"), (1, 24, "f", "flu"), (2, 20, "f", "cold"), (3, 24, "f", "gout")])
    shown = original.with_columns(
        person=pl.Series(["a", "a", "b", "c"]), age=pl.Series(["20-24", "20-24", "20-22", "23-24"])
    )
    suite = shoal.attack(shown, original, SCHEMA, attacks=["linkage"])
    assert success(suite, "linkage, one record, record") == pytest.approx((2 / 3 + 1 / 3 + 1 / 3) / 3)
    assert success(suite, "linkage, all records, record") == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)
    assert success(suite, "linkage, all records, person") == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)


def test_persons_in_several_groups_are_told_by_all_their_groups() -> None:
    """By rows with pseudonyms: both a and b are seen at 20-21, only a at 30-31 too."""
    original = frame_of([(1, 20, "f", "flu"), (1, 30, "f", "flu"), (2, 21, "f", "cold"), (3, 31, "f", "gout")])
    shown = original.with_columns(
        person=pl.Series(["a", "a", "b", "c"]), age=pl.Series(["20-21", "30-31", "20-21", "30-31"])
    )
    suite = shoal.attack(shown, original, SCHEMA, attacks=["linkage"], whose=pl.DataFrame(
        {"person": [1, 2, 3], "pseudonym": ["a", "b", "c"]}))  # fmt: skip
    assert success(suite, "linkage, one record, person") == pytest.approx(1 / 2)
    assert success(suite, "linkage, all records, person") == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert found(suite, "linkage, all records, person").is_exact


def test_rows_that_are_not_linked_are_found_by_the_record_with_fewest_candidates() -> None:
    """Person 1 is one of two at 20-21 and one of three at 30-31; no class fits both records."""
    original = frame_of([(1, 20, "f", "flu"), (1, 30, "f", "flu"), (2, 21, "f", "cold"), (3, 31, "f", "gout"),
                         (4, 31, "f", "gout")])  # fmt: skip
    shown = original.select(
        age=pl.when(pl.col("age") < 25).then(pl.lit("20-21")).otherwise(pl.lit("30-31")), sex="sex", disease="disease"
    )
    suite = shoal.attack(shown, original, SCHEMA, attacks=["linkage"])
    assert success(suite, "linkage, one record, record") == pytest.approx(((1 / 2 + 1 / 3) / 2 + 1 / 2 + 2 / 3) / 4)
    assert success(suite, "linkage, all records, record") == pytest.approx((1 / 2 + 1 / 2 + 2 / 3) / 4)
    assert not found(suite, "linkage, all records, record").is_exact


def test_means_are_linked_to_the_nearest_group() -> None:
    original = frame_of([(1, 20, "f", "flu"), (2, 22, "f", "cold"), (3, 40, "f", "flu"), (4, 44, "f", "cold")])
    release = shoal.protect(original, SCHEMA, [shoal.PersonKAnonymity(k=2)], mask="mean", seed=1)
    assert success(release.attack(["linkage"]), "linkage, one record, person") == pytest.approx(1 / 2)
    far = original.with_columns(person=pl.Series(["a", "b", "c", "d"]), age=pl.Series([39, 39, 23, 23]))
    suite = shoal.attack(far, original, SCHEMA, attacks=["linkage"], mask="mean", whose=pl.DataFrame(
        {"person": [1, 2, 3, 4], "pseudonym": ["a", "b", "c", "d"]}))  # fmt: skip
    assert success(suite, "linkage, one record, person") == 0.0
    bound = shoal.attack(far, original, SCHEMA, attacks=["linkage"], mask="mean")
    assert not found(bound, "linkage, one record, record").is_exact


def test_an_anatomized_release_shows_who_is_who_and_hides_values() -> None:
    original = frame_of([(1, 20, "f", "flu"), (2, 22, "f", "cold"), (3, 40, "m", "flu"), (4, 44, "m", "cold")])
    release = shoal.protect(original, SCHEMA, [shoal.LDiversity(l=2)], mask="anatomize", method="anatomy", seed=1)
    suite = release.attack(["linkage"])
    assert success(suite, "linkage, one record, person") == 1.0
    assert success(suite, "linkage, one record, value of disease") == pytest.approx(1 / 2)
    assert "linkage, one record, record" not in [result.name for result in suite.results]


def test_labels_that_nobody_can_read_are_said_and_never_shown() -> None:
    original = frame_of([(1, 20, "f", "flu"), (2, 22, "f", "cold")])
    shown = original.with_columns(age=pl.Series(["young secret", "old secret"]))
    suite = shoal.attack(shown, original, SCHEMA, attacks=["linkage"])
    assert not suite.results
    assert "2 of 2 labels of 'age'" in suite.not_tried[0].why
    assert "secret" not in suite.not_tried[0].why


# --- by definition ----------------------------------------------------------------------------------------------------


def published(release: shoal.publishing.release.Release) -> tuple[list[naive.Row], dict]:
    """The rows of a release as sets of values, and whose pseudonym is whose."""
    original, frame = release.table, release.published.frame
    domain = {"age": list(range(15, 32)), "sex": ["f", "m", None]}
    sets = {}
    for name in ("age", "sex"):
        shown: list[frozenset] = []
        for label in frame[name].cast(pl.String).to_list():
            shown.append(frozenset(value for value in domain[name] if naive_fits(name, value, label, domain[name])))
        sets[name] = shown
    rows = list(zip(frame["person"].to_list(), zip(sets["age"], sets["sex"], strict=True),
                    frame["disease"].to_list(), strict=True))  # fmt: skip
    person = original.frame["person"].gather(release.published.record_of_published).to_list()
    return rows, dict(zip(frame["person"].to_list(), person, strict=True))


def naive_fits(name: str, value: object, label: str | None, domain: list) -> bool:
    """What a label of the masks range and suppress stands for, here where numbers have two digits."""
    if label is None:
        return value is None
    if label == "*":
        return True
    if name == "sex":
        return ("missing" if value is None else value) in label.strip("{}").split(", ")
    low, _, high = label.partition("-")
    return value is not None and int(low) <= value <= int(high or low)


@settings(max_examples=60)
@given(originals, st.sampled_from(["range", "suppress"]), st.integers(1, 3))
def test_chances_are_those_of_the_definition(rows: list[tuple], mask: str, k: int) -> None:
    frame = frame_of(rows)
    try:
        release = shoal.protect(frame, SCHEMA, [shoal.PersonKAnonymity(k=k)], mask=mask, seed=1)
    except CannotSatisfyError:
        return
    suite = release.attack(["linkage"])
    shown, origin = published(release)
    records = [(person, (age, sex), disease) for person, age, sex, disease in rows]
    persons = sorted({row[0] for row in rows})

    def mean(chance: list[float]) -> object:
        return pytest.approx(sum(chance) / len(persons))

    one = [naive.link_one(shown, records, person, origin) for person in persons]
    assert success(suite, "linkage, one record, record") == mean([record for record, _ in one])
    assert success(suite, "linkage, one record, person") == mean([person for _, person in one])
    everything = [naive.link_all(shown, records, person, origin) for person in persons]
    assert success(suite, "linkage, all records, record") == mean([record for record, _ in everything])
    assert success(suite, "linkage, all records, person") == mean([person for _, person in everything])
    number = [naive.link_number(shown, records, person, origin) for person in persons]
    assert success(suite, "linkage, all and number, person") == mean(number)
    guessed = [naive.guess_value(shown, records, person) for person in persons]
    assert success(suite, "linkage, one record, value of disease") == mean(guessed)


@settings(max_examples=60)
@given(originals, st.sampled_from(["range", "suppress", "mean"]), st.sampled_from(["0.4", "0.5", "0.75", "0.9"]))
def test_nobody_is_linked_more_surely_than_record_risk_promises(rows: list[tuple], mask: str, rho: str) -> None:
    frame = frame_of(rows)
    try:
        release = shoal.protect(frame, SCHEMA, [shoal.RecordRisk(rho=rho)], mask=mask, seed=1)
    except CannotSatisfyError:
        return
    for knowledge in ("one record", "all records"):
        highest = found(release.attack(["linkage"]), f"linkage, {knowledge}, record").details["highest"]
        assert highest <= release.risk.max_gidr + 1e-12 <= float(rho) + 2e-12


@settings(max_examples=30)
@given(originals)
def test_to_know_whose_a_record_is_changes_nothing_where_all_is_shown(rows: list[tuple]) -> None:
    """A release by ranges that keeps persons together is judged exactly without it."""
    frame = frame_of(rows)
    try:
        release = shoal.protect(frame, SCHEMA, [shoal.RecordRisk(rho="0.6")], seed=1)
    except CannotSatisfyError:
        return
    judged = shoal.attack(release.data, frame, SCHEMA, attacks=["linkage"])
    for exact, own in zip(release.attack(["linkage"]).results, judged.results, strict=True):
        assert exact.name == own.name
        assert exact.success == pytest.approx(own.success)
        assert own.is_exact


def test_an_upper_bound_is_one_and_says_so() -> None:
    release = shoal.protect(VISITS, SCHEMA, [shoal.RecordRisk(rho="0.5")], mask="mean", seed=1)
    for exact, bound in zip(
        release.attack(["linkage"]).results,
        shoal.attack(release.data, VISITS, SCHEMA, attacks=["linkage"], mask="mean").results,
        strict=True,
    ):
        assert bound.success >= exact.success - 1e-12
        if not bound.is_exact:
            assert "upper_bound" in bound.details


def test_who_is_not_in_the_release_is_no_failure() -> None:
    """A release of 6 of 18 persons: those who fit nothing of it were left out, and must not lower the share."""
    schema = shoal.Schema(person="name", quasi=["age"], sensitive=["disease"])
    everybody = pl.DataFrame(
        {"name": [f"p{n:02}" for n in range(18)], "age": range(20, 38), "disease": ["ab"[n % 2] for n in range(18)]}
    )
    release = shoal.protect(everybody.head(6), schema, [shoal.PersonKAnonymity(k=2)], method="mondrian", seed=1)
    own = release.attack(["linkage"]).results
    judged = shoal.attack(release.data, everybody, schema, attacks=["linkage"]).results
    for exact, other in zip(own, judged, strict=True):
        assert exact.name == other.name
        assert (other.success, other.targets) == (pytest.approx(exact.success), 6)
        assert other.details["targets_that_fit_nowhere"] == 12
    nobody = shoal.attack(release.data, everybody.tail(6), schema, attacks=["linkage"])
    assert "fits anybody" in nobody.not_tried[0].why


@pytest.mark.parametrize("mask", ["range", "suppress"])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_every_record_fits_what_is_published_of_it(mask: str, missing: float) -> None:
    """All kinds of columns, and missing values."""
    frame = tables.visits(missing=missing)
    release = shoal.protect(frame, tables.SCHEMA, tables.MODELS, mask=mask, seed=1)
    order = release.published.record_of_published
    for name, column in release.table.quasi.items():
        shown = release.published.frame[name].cast(pl.String)
        texts = shown.unique().to_list()
        labels = read_labels(column, texts, form=release.mask.form)
        of_row = np.array([texts.index(text) for text in shown.to_list()])
        assert labels.fits(labels.values[order], of_row).all(), name
    assert "targets_that_fit_nowhere" not in found(release.attack(["linkage"]), "linkage, one record, record").details


def test_hierarchies_fit_by_their_nodes() -> None:
    zips = shoal.Hierarchy.of_prefixes(["1391", "1392", "1401", "1402"])
    schema = shoal.Schema(quasi=[shoal.Nominal("zip", zips)], sensitive=["disease"])
    original = pl.DataFrame({"zip": ["1391", "1392", "1401", "1402"] * 2, "disease": ["flu", "cold"] * 4})
    release = shoal.protect(original, schema, [shoal.KAnonymity(k=4)], method="local-recoding", seed=1)
    assert sorted(release.data["zip"].cast(pl.String).unique()) == ["139*", "140*"]
    assert success(release.attack(["linkage"]), "linkage, one record, record") == pytest.approx(1 / 4)
    judged = found(shoal.attack(release.data, original, schema), "linkage, one record, record")
    assert judged.is_exact
    assert judged.success == pytest.approx(1 / 4)


# --- labels of other tools --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "inside"),
    [
        ("[20, 30)", [20, 29.5]), ("[20, 30[", [20, 29.5]), ("]20, 30]", [29.5, 30]), ("(20;30)", [29.5]),
        ("[20-30]", [20, 29.5, 30]), (">=30", [30, 93]), (">30", [93]), ("<30", [19, 20, 29.5]), ("≤20", [19, 20]),
        ("90+", [93]), ("2*", [20]), ("20 to 30", [20, 29.5, 30]), ("at least 30", [30, 93]),
        ("20 or less", [19, 20]), ("30 or missing", [30, None]), ("*", [19, 20, 29.5, 30, 93]),
    ],
)  # fmt: skip
def test_ranges_are_read_as_other_tools_write_them(label: str, inside: list) -> None:
    values = [19, 20, 29.5, 30, 93, None]
    table = Table.from_frame(pl.DataFrame({"age": values}, strict=False), shoal.Schema(quasi=["age"]))
    labels = read_labels(table.quasi["age"], [label], form="generalized")
    fits = labels.fits(labels.values, np.zeros(len(values), np.int64))
    assert [value for value, is_in in zip(values, fits, strict=True) if is_in] == inside


@pytest.mark.parametrize(
    ("label", "inside"),
    [("{a, b}", ["a", "b"]), ("{a, b, c, missing}", ["a", "b, c", None]), ("a or missing", ["a", None]),
     ("b, c", ["b, c"]), ("*", ["a", "b", "b, c", None])],
)  # fmt: skip
def test_sets_are_read_also_where_names_hold_commas(label: str, inside: list) -> None:
    values = ["a", "b", "b, c", None]
    table = Table.from_frame(pl.DataFrame({"town": values}), shoal.Schema(quasi=[shoal.Nominal("town")]))
    labels = read_labels(table.quasi["town"], [label], form="generalized")
    fits = labels.fits(labels.values, np.zeros(len(values), np.int64))
    got = [value for value, is_in in zip(values, fits, strict=True) if is_in]
    assert got == inside


def test_everything_is_missing_too_only_where_a_value_is_missing() -> None:
    for values, n_codes in ((["a", "b"], 2), (["a", "b", None], 3)):
        table = Table.from_frame(pl.DataFrame({"town": values}), shoal.Schema(quasi=[shoal.Nominal("town")]))
        labels = read_labels(table.quasi["town"], ["*"], form="generalized")
        assert isinstance(labels, SetLabels)
        assert labels.codes.tolist() == list(range(n_codes))


def test_whose_by_order_and_by_ids() -> None:
    shown = VISITS.with_columns(age=pl.lit("40-93"), sex=pl.lit("*"))
    by_ids, by_order = (
        shoal.attack(shown, VISITS, SCHEMA, attacks=["linkage"], whose=how).results for how in ("ids", "order")
    )
    assert [result.success for result in by_ids] == [result.success for result in by_order]
    assert all(result.is_exact for result in by_ids)
    with pytest.raises(SchemaError, match="order does not tell"):
        shoal.attack(shown.head(3), VISITS, SCHEMA, whose="order")
    with pytest.raises(SchemaError, match="not in the original"):
        shoal.attack(shown.with_columns(person=pl.lit(99)), VISITS, SCHEMA, whose="ids")


def test_a_person_is_any_of_their_episodes() -> None:
    """Everybody is in one group: Ann with two episodes of two records and one of one, Ben with one episode of two."""
    frame = pl.DataFrame({"person": ["ann"] * 5 + ["ben"] * 2, "age": [30] * 7, "code": ["a"] * 7})
    schema = shoal.Schema(person="person", quasi=["age"], sensitive=["code"])
    made = shoal.protect(
        frame, schema, [shoal.PersonKAnonymity(k=2)], history=History(episode="2 records"), seed=1, attacks=0
    )
    results = {result.name: result for result in made.attack(attacks=["linkage"]).results}
    found = results["linkage, all records, person"]
    assert found.success == pytest.approx((3 / 4 + 1 / 4) / 2)
    by_number = results["linkage, all and number of an episode, person"]
    ann = (2 * (2 / 3) + 1 * 1) / 3  # two of three episodes with two records are hers, and the one with one record
    assert by_number.success == pytest.approx((ann + 1 / 3) / 2)
