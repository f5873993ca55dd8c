"""One person is one person and one value is one value, however they are spelled; what is published stays as it is."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.attacking.mining.rules import Item, Rule, Rules
from shoal.attacking.suite import attack
from shoal.cli.main import cli
from shoal.engines.stream import protect_file
from shoal.engines.stream.recount import look_at_file
from shoal.errors import CannotSatisfyError, PolicyError, SchemaError
from shoal.judging.alone import AloneLimit
from shoal.judging.observation import Observation, number_persons
from shoal.policy import Policy
from shoal.publishing.later import apply, read_stored
from shoal.publishing.related import Star, StarTable, protect_star
from shoal.reading import Reading
from shoal.reading.source import Source
from shoal.table.columns import Persons, category_column
from shoal.table.spelling import FORMS, folded_text, plain_text, spelled
from tests.naive import spelling as naive

JOSE = ["Jos\u00e9", "Jose\u0301", " Jos\u00e9", "Jos\u00e9\u200b", "\uff2aos\u00e9", "Jos\u00e9\u00a0"]
"""One name: composed and decomposed, with a space, an invisible sign, a full-width letter, a hard space."""
HIV = ["HIV", "hiv", "Hiv ", "H\u00adIV", "\uff28\uff29\uff36"]
SIGNS = "aA1\u00e9e\u0301 .\t\u200b\u00a0\uff21\uff11\u00df\u1e9e\u0130\u03a3\u03c2\u212a\ufb01\u00a8\u3000\u00ad-+07"
TEXTS = st.text(SIGNS, max_size=6) | st.text(max_size=5)
NUMBERS = st.from_regex(r"[+-]?[0-9]{0,3}\.?[0-9]{0,3}", fullmatch=True)


@given(st.lists(st.none() | TEXTS | NUMBERS), st.sampled_from(FORMS))
def test_texts_are_spelled_as_in_the_definition(texts: list[str | None], form: str) -> None:
    found = spelled(pl.Series(texts, dtype=pl.String), form).to_list()
    assert found == [naive.spelled(text, form) for text in texts]
    assert spelled(pl.Series(found, dtype=pl.String), form).to_list() == found  # a form of a form is itself


@given(TEXTS)
def test_what_cannot_be_seen_makes_no_difference(text: str) -> None:
    same = {
        unicodedata.normalize("NFD", text), unicodedata.normalize("NFKC", text), f"\u200b {text}\t", f"{text}\ufeff"
    }  # fmt: skip
    assert {plain_text(each) for each in same} == {plain_text(text)}
    plain = plain_text(text)
    assert folded_text(plain_text(plain.upper())) == folded_text(plain_text(plain.upper().casefold()))


@given(st.lists(st.none() | st.integers(-(2**53), 2**53) | st.floats(-1e6, 1e6, allow_nan=False)))
def test_numbers_are_known_again_whichever_type_they_have(numbers: list[float | None]) -> None:
    floats = pl.Series(numbers, dtype=pl.Float64, strict=False)
    given_ = [None if number is None else float(number) for number in numbers]
    for form in FORMS:
        assert spelled(floats, form).to_list() == [naive.spelled(number, form) for number in given_]
    whole = [number for number in numbers if isinstance(number, int)]
    forms = [pl.Series(whole, dtype=pl.Int64), pl.Series(whole, dtype=pl.Float64),
             pl.Series([f"{number}.0" for number in whole], dtype=pl.String),
             pl.Series([Decimal(number) for number in whole], dtype=pl.Decimal(20, 2))]  # fmt: skip
    assert {tuple(spelled(form, "plain").to_list()) for form in forms} == {tuple(map(str, whole))}


def test_codes_stay_codes() -> None:
    texts = pl.Series(["7", "007", "7.0", "7.", "07.0", "1e3", "-0", "1.50"])
    assert spelled(texts, "plain").to_list() == ["7", "007", "7", "7", "07", "1e3", "-0", "1.50"]
    assert spelled(texts, "folded").to_list() == ["7", "007", "7", "7", "07", "1e3", "0", "1.5"]
    assert spelled(pl.Series([Decimal("7.50"), Decimal("7.00")]), "exact").to_list() == ["7.5", "7"]
    assert spelled(pl.Series([-0.0, float("nan"), 1e20, 1e-7]), "exact").to_list() == [
        "0", None, "1" + "0" * 20, "0.0000001"
    ]  # fmt: skip


def test_texts_in_their_form_are_not_touched() -> None:
    ids = pl.Series([f"P{number:04}" for number in range(1000)])
    assert spelled(ids, "plain") is ids


@given(st.lists(TEXTS, min_size=1, max_size=12), st.sampled_from(FORMS), st.sampled_from([pl.String, pl.Categorical]))
def test_persons_are_those_of_the_definition(ids: list[str], form: str, dtype: Any) -> None:
    values = pl.Series("patient", ids, dtype=pl.String).cast(dtype)
    persons = Persons.of(values, form)
    forms = [naive.spelled(each, form) for each in ids]
    assert persons.n == naive.persons(list(ids), form) == number_persons(values, form)[1]
    assert _parts(persons.codes) == _parts(number_persons(values, form)[0]) == _parts(forms)
    assert dict(zip(persons.written.to_list(), persons.person_of_written.tolist(), strict=True)) == dict(
        zip(ids, persons.codes.tolist(), strict=True)
    )


@given(st.lists(st.none() | TEXTS, min_size=1, max_size=12), st.sampled_from(FORMS))
def test_values_are_counted_by_their_spelling(texts: list[str | None], form: str) -> None:
    column = category_column(pl.Series("disease", texts, dtype=pl.String), spelling=form)
    assert _parts(column.codes) == _parts([naive.spelled(text, form) for text in texts])
    assert column.n_codes == len({naive.spelled(text, form) for text in texts})
    assert set(column.categories) <= set(texts)  # never a value that nobody wrote


def _parts(codes: Any) -> list[int]:
    """Which records are alike, whatever they are called."""
    first: dict[Any, int] = {}
    return [first.setdefault(code, place) for place, code in enumerate(list(codes))]


# --- one human, one disease -------------------------------------------------------------------------------------------


def _schema(**spelling: str) -> shoal.Schema:
    return shoal.Schema(person="patient", quasi=["age"], sensitive=["disease"], spelling=spelling)


def test_one_human_in_two_spellings_is_no_two_persons() -> None:
    frame = pl.DataFrame({"patient": JOSE, "age": [1] * len(JOSE), "disease": ["a", "b"] * 3})
    assert shoal.assess(frame, _schema()).risk.persons == 1
    assert not shoal.verify(frame, _schema(), [shoal.PersonKAnonymity(k=2)]).holds
    with pytest.raises(CannotSatisfyError, match="one person"):
        shoal.protect(frame, _schema(), [shoal.PersonKAnonymity(k=2)])
    exact = _schema(patient="exact")
    assert shoal.protect(frame, exact, [shoal.PersonKAnonymity(k=6)]).risk.persons == 6
    codes = pl.DataFrame({"patient": ["1", "1.0", "1.", "\uff11"], "age": [1] * 4, "disease": ["a"] * 4})
    assert shoal.assess(codes, _schema()).risk.persons == 1
    zeros = pl.DataFrame({"patient": ["007", "7"], "age": [1] * 2, "disease": ["a"] * 2})
    assert shoal.assess(zeros, _schema()).risk.persons == 2


@pytest.mark.parametrize(
    "model",
    [
        shoal.LDiversity(l=2, kind="distinct"),
        shoal.LDiversity(l=2),
        shoal.LDiversity(l=2, kind="entropy"),
        shoal.HAffiliation(h=0.9),
        shoal.JointDiversity(l=2),
    ],
)
def test_one_disease_in_two_spellings_is_no_two_values(model: Any) -> None:
    frame = pl.DataFrame({"patient": [*map(str, range(5))], "age": [1] * 5, "disease": HIV})
    assert not shoal.verify(frame, _schema(), [model]).holds
    with pytest.raises(shoal.errors.ShoalError):
        shoal.protect(frame, _schema(), [model])
    release = shoal.protect(frame, _schema(disease="exact"), [model])
    assert sorted(release.data["disease"]) == sorted(HIV)
    assert not shoal.verify(release.data, _schema(), [model]).holds


def test_numbers_written_in_two_ways_are_one_value() -> None:
    frame = pl.DataFrame({"patient": ["a", "b"], "age": [1] * 2, "disease": ["1", "1.0"]})
    assert not shoal.verify(frame, _schema(), [shoal.LDiversity(l=2, kind="distinct")]).holds
    codes = frame.with_columns(disease=pl.Series(["1", "01"]))
    assert shoal.verify(codes, _schema(), [shoal.LDiversity(l=2, kind="distinct")]).holds
    typed = frame.with_columns(disease=pl.Series([1.0, 2.0]))
    assert shoal.verify(typed, _schema(), [shoal.LDiversity(l=2, kind="distinct")]).holds


@pytest.mark.parametrize(
    "model", [shoal.TCloseness(t=0), shoal.BetaLikeness(beta=0.1), shoal.DeltaDisclosure(delta=0.1)]
)
def test_group_and_table_are_counted_alike(model: Any) -> None:
    """Two groups that have the same diseases, each in a spelling of its own, are like the table."""
    diseases = ["HIV", "HIV", "flu", "flu", "hiv", "hiv", "Flu", "Flu"]
    frame = pl.DataFrame({"patient": [*map(str, range(8))], "age": [1] * 4 + [2] * 4, "disease": diseases})
    assert shoal.verify(frame, _schema(), [model]).holds
    assert not shoal.verify(frame, _schema(disease="exact"), [model]).holds


def test_case_tells_persons_apart_unless_asked_otherwise() -> None:
    frame = pl.DataFrame({"patient": ["ann", "Ann", "ANN", "bob"], "age": [1] * 4, "disease": ["a"] * 4})
    seen = shoal.assess(frame, _schema())
    assert seen.risk.persons == 4
    (note,) = seen.notes
    assert note.startswith("2 of 4 persons in 'patient'")
    assert "folded" in note
    folded = shoal.assess(frame, _schema(patient="folded"))
    assert folded.risk.persons == 2
    (note,) = folded.notes
    assert note.startswith("2 of 4 identifiers in 'patient'")


@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_what_is_one_is_noted_by_its_number_and_published_as_it_is(dtype: Any, tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"patient": [*JOSE, *"abcdefgh"], "age": [1] * 14, "disease": [*HIV, "flu", "Flu", "x", *"yzuvws"]}
    ).with_columns(pl.col("patient", "disease").cast(dtype))  # fmt: skip
    models = [shoal.PersonKAnonymity(k=9)]
    release = shoal.protect(frame, _schema(), models)
    persons, values = release.notes[:2]
    assert persons.startswith("5 of 14 identifiers in 'patient'")
    assert values.startswith("5 of 14 values of 'disease'")
    assert not any(word in persons + values for word in ("Jos", "HIV", "hiv", "flu"))
    assert sorted(release.data["disease"].cast(pl.String)) == sorted(frame["disease"].cast(pl.String))
    assert release.data["patient"].n_unique() == release.risk.persons == 9
    release.write(tmp_path / "memory", format="parquet", keep_person_map=True, report=False)
    frame.write_parquet(tmp_path / "table.parquet")
    streamed = protect_file(
        tmp_path / "table.parquet", _schema(), models, tmp_path / "stream", keep_person_map=True, report=False
    )
    assert streamed.notes[:2] == release.notes[:2]
    for folder in ("memory", "stream"):
        known = pl.read_parquet(tmp_path / folder / "steward" / "persons.parquet")
        assert sorted(known["person"].cast(pl.String)) == sorted({*JOSE, *"abcdefgh"})
        of_jose = known.filter(pl.col("person").cast(pl.String).is_in(JOSE))["pseudonym"]
        assert of_jose.n_unique() == 1
        published = pl.read_parquet(tmp_path / folder / "release.parquet")
        assert published.filter(pl.col("patient") == of_jose[0]).height == len(JOSE)
        assert sorted(published["disease"].cast(pl.String)) == sorted(frame["disease"].cast(pl.String))


@given(
    st.lists(
        st.tuples(st.sampled_from([*JOSE, "ann", "Ann"]), st.integers(0, 2), st.sampled_from([*HIV, "flu", "Flu"])),
        min_size=4,
        max_size=25,
    )
)  # fmt: skip
def test_counts_are_those_of_a_table_in_one_spelling(rows: list[tuple[str, int, str]]) -> None:
    frame = pl.DataFrame(rows, schema=["patient", "age", "disease"], orient="row")
    mended = frame.with_columns(
        patient=pl.Series([naive.plain(each) for each in frame["patient"]]),
        disease=pl.Series([naive.folded(each) for each in frame["disease"]]),
    )
    exact = _schema(patient="exact", disease="exact")
    models = [shoal.LDiversity(l=2, kind=kind, count="persons") for kind in ("distinct", "entropy")]  # type: ignore[list-item]
    models += [shoal.HAffiliation(h=0.5), shoal.TCloseness(t=0.3), shoal.GBalance(g=0.5), shoal.PersonKAnonymity(k=2)]  # type: ignore[list-item]
    mine, theirs = shoal.verify(frame, _schema(), models), shoal.verify(mended, exact, models)
    assert mine.risk == theirs.risk
    assert mine.verdict.models == theirs.verdict.models
    counts = Observation.of_frame(frame, _schema()).counts(frozenset({"values_of_group"}))
    assert counts.persons.tolist() == Observation.of_frame(mended, exact).counts(frozenset()).persons.tolist()


def test_a_streamed_file_is_counted_by_the_spelling_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"patient": ["P1111111", "P2222222"], "age": ["1", "1"], "disease": ["hiv", "HIV "]})
    frame.write_parquet(tmp_path / "release.parquet")
    models = [shoal.LDiversity(l=2, kind="distinct")]
    _, verdict, _ = look_at_file(
        tmp_path / "release.parquet", _schema(), models, csv=None, portion=1, limit=AloneLimit()
    )
    assert not verdict.holds
    _, verdict, _ = look_at_file(
        tmp_path / "release.parquet", _schema(disease="exact"), models, csv=None, portion=1, limit=AloneLimit()
    )
    assert verdict.holds
    frame.with_columns(patient=pl.Series(["P111111 ", " P111111"])).write_parquet(tmp_path / "release.parquet")
    with pytest.raises(SchemaError, match="pseudonyms"):
        look_at_file(tmp_path / "release.parquet", _schema(), models, csv=None, portion=1, limit=AloneLimit())


# --- where it is said -------------------------------------------------------------------------------------------------


def test_spelling_is_said_of_persons_and_sensitive_values_only() -> None:
    frame = pl.DataFrame({"patient": ["a", "b"], "age": [1, 1], "disease": ["x", "y"]})
    with pytest.raises(SchemaError, match="must be one of exact, plain, folded"):
        _schema(disease="loose")
    with pytest.raises(SchemaError, match="neither the person column nor sensitive"):
        shoal.assess(frame, _schema(age="exact"))
    with pytest.raises(SchemaError, match="a form by column"):
        shoal.Schema(quasi=["age"], spelling="exact")  # type: ignore[arg-type]
    document: dict[str, Any] = {"columns": {"quasi": ["age"], "spelling": {"age": "exact"}}, "models": {"k": 2}}
    with pytest.raises(PolicyError, match="neither the person column nor sensitive"):
        Policy.from_document(document)


def test_a_policy_keeps_the_spelling() -> None:
    models = [shoal.PersonKAnonymity(k=2)]
    policy = Policy.of(_schema(disease="exact", patient="folded"), models)
    assert 'spelling = { disease = "exact", patient = "folded" }' in policy.to_toml()
    assert Policy.from_document(policy.to_document()).columns.spelling == {"disease": "exact", "patient": "folded"}
    assert policy.schema_of_release().spelling_of("disease") == "exact"
    assert "spelling" not in Policy.of(_schema(), models).to_toml()


# --- parts that know persons and values again -------------------------------------------------------------------------


def _messy(n: int = 24) -> pl.DataFrame:
    """Persons of two records each, in two spellings, with the values of one disease in two spellings too."""
    rows = [
        (form.format(number), 20 + number // 2, ["Flu", "gout", "cold"][number % 3] if place else word)
        for number in range(n)
        for place, (form, word) in enumerate([("Ren\u00e9 {}", "flu"), ("Rene\u0301 {} ", "")])
    ]
    return pl.DataFrame(rows, schema=["patient", "age", "disease"], orient="row")


def test_anatomized_values_stand_once_in_each_group_and_are_verified() -> None:
    """Everybody has flu, some in two spellings: counted once as persons, twice as records."""
    models = [shoal.HAffiliation(h=1), shoal.PersonKAnonymity(k=3)]
    release = shoal.protect(_messy(), _schema(), models, mask="anatomize")
    assert release.tables["disease"]["disease"].unique().sort().to_list() == ["Flu", "cold", "gout"]
    flu = release.tables["disease"].filter(pl.col("disease") == "Flu")
    assert flu["persons"].sum() == 24
    assert release.risk.records == 48, "the steward knows"
    again = shoal.verify(release.data, _schema(), models, tables=release.tables)
    assert again.risk.max_gsar == {"disease": 1.0}
    parts = {"disease": release.tables["disease"].with_columns(pl.lit("Flu").alias("disease"))}
    assert "once more" in str(shoal.verify(release.data, _schema(), models, tables=parts).verdict.problems)


def test_a_permuted_release_keeps_its_spellings() -> None:
    frame = _messy().unique("age").with_columns(pl.Series("disease", [*HIV, "flu", *"abcdef"]))
    release = shoal.protect(frame, _schema(), [shoal.LDiversity(l=2)], mask="permute")
    assert sorted(release.data["disease"]) == sorted(frame["disease"])
    assert release.verdict.holds
    assert not shoal.verify(release.data, _schema(), [shoal.LDiversity(l=12, kind="distinct")]).holds


def test_later_records_of_a_person_in_another_spelling_have_their_pseudonym(tmp_path: Path) -> None:
    models = [shoal.PersonKAnonymity(k=3)]
    frame = _messy()
    shoal.protect(frame, _schema(), models).write(tmp_path / "out", keep_person_map=True, report=False)
    later = frame[::2].with_columns(pl.format("\u3000{}", "patient").alias("patient"), disease=pl.lit("FLU"))
    applied = apply(read_stored(tmp_path / "out"), Reading(later, Source((), "parquet")), _schema())
    assert (applied.known_persons, applied.new_persons, applied.together.persons) == (24, 0, 24)
    assert applied.pseudonyms is not None
    assert applied.pseudonyms["pseudonym"].n_unique() == 24
    assert set(later["patient"]) < set(applied.pseudonyms["person"])
    assert applied.frame["disease"].to_list().count("FLU") == 24
    exact = _schema(patient="exact")
    shoal.protect(frame, exact, models).write(tmp_path / "exact", keep_person_map=True, report=False)
    with pytest.raises(SchemaError, match="24 persons of the release are named as another one"):
        apply(read_stored(tmp_path / "exact"), Reading(later, Source((), "parquet")), _schema())


def test_related_tables_join_persons_by_their_spelling() -> None:
    star = Star({"person": StarTable(key="patient"), "visit": StarTable(links={"who": "person"})})
    visits = _messy().select(who="patient", disease="disease")
    persons = _messy().select("patient", "age")[::2]
    models = [shoal.PersonKAnonymity(k=3)]
    release = protect_star({"person": persons, "visit": visits}, star, _schema(), models)
    assert release.tables["visit"].height == 48
    assert release.tables["visit"]["who"].n_unique() == 24
    assert release.notes[0].startswith("24 of 48 identifiers in 'patient'")
    assert sorted(release.pseudonyms["person"]) == sorted(visits["who"].unique())
    assert release.pseudonyms["pseudonym"].n_unique() == 24
    with pytest.raises(SchemaError, match="24 rows repeat one, 24 of them in another spelling"):
        protect_star({"person": _messy().select("patient", "age"), "visit": visits}, star, _schema(), models)


def test_an_attacker_who_says_a_value_in_another_spelling_is_right() -> None:
    frame = pl.DataFrame({"patient": [*map(str, range(4))], "age": [1] * 4, "disease": ["HIV", "hiv", "Hiv ", "hiv"]})
    release = shoal.protect(frame, _schema(), [shoal.PersonKAnonymity(k=4)])
    shouted = frame.with_columns(pl.col("disease").str.to_uppercase())
    suite = attack(release.data, shouted, _schema(), attacks=["linkage"])
    guesses = [result for result in suite.results if result.name.endswith("value of disease")]
    assert guesses
    assert {(guess.success, guess.blind) for guess in guesses} == {(1.0, 1.0)}


def test_rules_are_about_a_value_in_any_spelling() -> None:
    rules = Rules((Rule((Item("sex", "m"),), Item("disease", "OVARIAN  cancer")),))
    frame = pl.DataFrame({"sex": ["m", "f"], "disease": ["flu", "Ovarian cancer"]})
    schema = shoal.Schema(quasi=[shoal.Nominal("sex")], sensitive=["disease"])
    assert rules.allowed(frame, schema, "disease", ["flu", "Ovarian cancer"]).allowed.tolist() == [
        [True, False],
        [True, True],
    ]
    exact = shoal.Schema(quasi=[shoal.Nominal("sex")], sensitive=["disease"], spelling={"disease": "exact"})
    assert rules.allowed(frame, exact, "disease", ["flu", "Ovarian cancer"]).allowed.all()


def test_the_flag_switches_it_off(tmp_path: Path) -> None:
    pl.DataFrame({"patient": ["a", "b"], "age": [1, 1], "disease": ["HIV", "hiv"]}).write_csv(tmp_path / "raw.csv")
    asked = ["verify", str(tmp_path / "raw.csv"), "--person", "patient", "--quasi", "age", "--sensitive", "disease",
             "--l", "2", "--l-kind", "distinct"]  # fmt: skip
    assert CliRunner().invoke(cli, asked).exit_code == 3
    assert CliRunner().invoke(cli, [*asked, "--spelling", "disease=exact"]).exit_code == 0
    assert CliRunner().invoke(cli, [*asked, "--spelling", "disease"]).exit_code == 2
    assert "exact" in CliRunner().invoke(cli, [*asked, "--spelling", "disease=loose"]).output
