"""Related tables keep their shape: same keys in all, same groups, and every model holds after joining them again."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.errors import CannotSatisfyError, InputError, ParameterError, PrivacyNotMetError, SchemaError
from shoal.grouping import BalanceTree
from shoal.policy import Policy
from shoal.publishing.codebook import CODEBOOKS
from shoal.publishing.related import Star, StarTable, protect_star, read_star, verify_star, write_star

CHAIN = Star(
    {
        "person": StarTable(key="person_id"),
        "encounter": StarTable(key="encounter_id", links={"person_id": "person"}),
        "condition": StarTable(links={"encounter_id": "encounter", "person_id": "person"}),
    }
)
BROAD = Star({**CHAIN.tables, "drug": StarTable(links={"patient": "person"})})
SCHEMA = shoal.Schema(
    person="person_id",
    quasi=["age", shoal.Nominal("sex")],
    sensitive=["icd"],
    kept=["ward"],
    dropped=["name", "encounter.note", "condition.note"],
)
BROAD_SCHEMA = shoal.Schema(
    person="person_id",
    quasi=["age", shoal.Nominal("sex")],
    sensitive=["icd", "substance"],
    kept=["ward"],
    dropped=["name", "encounter.note", "condition.note"],
)
MODELS = [shoal.GBalance(g=0.7), shoal.HAffiliation(h=0.8)]


def hospital(n: int = 300, seed: int = 4) -> dict[str, pl.DataFrame]:
    """Persons with none to four encounters, each with none to three conditions, and one to three drugs."""
    rng = np.random.default_rng(seed)
    persons = pl.DataFrame(
        {
            "person_id": [f"id-{number}" for number in range(n)],
            "name": [f"Canary {number}" for number in range(n)],
            "age": rng.integers(20, 90, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    owners = np.repeat(np.arange(n), rng.integers(0, 5, n))
    encounters = pl.DataFrame(
        {
            "encounter_id": np.arange(len(owners)) + 5000,
            "person_id": [f"id-{owner}" for owner in owners],
            "ward": rng.choice(["x", "y"], len(owners)),
            "note": [f"Canary {place}" for place in range(len(owners))],
        }
    )
    places = np.repeat(np.arange(len(owners)), rng.integers(0, 4, len(owners)))
    conditions = pl.DataFrame(
        {
            "encounter_id": places + 5000,
            "person_id": [f"id-{owners[place]}" for place in places],
            "icd": rng.choice(["a", "b", "c", "d", "e", "f"], len(places)),
            "note": ["Canary"] * len(places),
        }
    )
    takers = np.repeat(np.arange(n), rng.integers(1, 4, n))
    drugs = pl.DataFrame(
        {"patient": [f"id-{taker}" for taker in takers], "substance": rng.choice(["p", "q", "r", "s"], len(takers))}
    )
    return {"person": persons, "encounter": encounters, "condition": conditions, "drug": drugs}


def chain() -> dict[str, pl.DataFrame]:
    return {name: frame for name, frame in hospital().items() if name != "drug"}


def joined_again(tables: dict[str, pl.DataFrame]) -> list[tuple[Any, str, str | None]]:
    """The published chain joined again, by hand: (what is shown of the person, the person, the condition)."""
    encounters, conditions = defaultdict(list), defaultdict(list)
    for row in tables["encounter"].iter_rows(named=True):
        encounters[row["person_id"]].append(row["encounter_id"])
    for row in tables["condition"].iter_rows(named=True):
        conditions[row["encounter_id"]].append(row["icd"])
    records = []
    for row in tables["person"].iter_rows(named=True):
        shown = (row["age"], row["sex"])
        found = [icd for place in encounters[row["person_id"]] for icd in conditions[place] or [None]] or [None]
        records += [(shown, row["person_id"], icd) for icd in found]
    return records


def test_a_chain_keeps_its_shape_and_its_keys() -> None:
    frames = chain()
    release = protect_star(frames, CHAIN, SCHEMA, MODELS, seed=1, allow_alone=True)
    tables = dict(release.tables)
    assert {name: frame.height for name, frame in tables.items()} == {n: frame.height for n, frame in frames.items()}
    assert tables["person"].columns == ["person_id", "age", "sex"]
    assert tables["encounter"].columns == ["encounter_id", "person_id", "ward"]
    assert tables["condition"].columns == ["encounter_id", "person_id", "icd"]
    name_of = dict(release.pseudonyms.iter_rows())
    for name in ("encounter", "condition"):
        original = sorted((name_of[row["person_id"]], row["ward" if name == "encounter" else "icd"])
                          for row in frames[name].iter_rows(named=True))  # fmt: skip
        published = sorted((row["person_id"], row["ward" if name == "encounter" else "icd"])
                           for row in tables[name].iter_rows(named=True))  # fmt: skip
        assert published == original
    owner = dict(tables["encounter"].select("encounter_id", "person_id").iter_rows())
    assert len(owner) == frames["encounter"].height
    assert all(owner[row["encounter_id"]] == row["person_id"] for row in tables["condition"].iter_rows(named=True))
    texts = "".join(frame.write_csv() for frame in tables.values())
    assert "Canary" not in texts
    assert "id-" not in texts
    assert not any(str(key) in owner for key in frames["encounter"]["encounter_id"])


def test_models_hold_after_joining_by_hand() -> None:
    release = protect_star(chain(), CHAIN, SCHEMA, MODELS, seed=1, allow_alone=True)
    groups = defaultdict(list)
    for shown, person, icd in joined_again(dict(release.tables)):
        groups[shown].append((person, icd))
    assert len(groups) == release.assessment.groups > 10
    for records in groups.values():
        counts = defaultdict(int)
        persons_of = defaultdict(set)
        for person, icd in records:
            counts[person] += 1
            persons_of[icd].add(person)
        assert 1 - Fraction(sum(n * n for n in counts.values()), len(records) ** 2) >= Fraction(7, 10)
        assert max(len(persons) for persons in persons_of.values()) <= Fraction(8, 10) * len(counts)


def test_tables_beside_one_another_are_judged_one_by_one_too() -> None:
    frames = hospital()
    release = protect_star(
        frames, BROAD, BROAD_SCHEMA, [shoal.PersonKAnonymity(k=4), shoal.HAffiliation(h=0.9)], seed=1
    )
    assert release.tables["drug"].height == frames["drug"].height
    assert release.assessment.holds
    # a drug table in which a group has one substance only: all tables together, and their path, tell
    person = release.tables["person"]
    shown = person.row(0)[1:]
    members = person.filter((pl.col("age") == shown[0]) & (pl.col("sex") == shown[1]))["person_id"].cast(pl.String)
    uniform = release.tables["drug"].with_columns(
        substance=pl.when(pl.col("patient").is_in(members.to_list())).then(pl.lit("p")).otherwise("substance")
    )
    answer = verify_star({**release.tables, "drug": uniform}, BROAD, BROAD_SCHEMA, [shoal.HAffiliation(h=0.9)])
    assert not answer.holds


def test_a_path_that_breaks_a_model_is_told() -> None:
    """Drugs of one person fill the group's drug table, though all tables together look balanced."""
    persons = pl.DataFrame({"person_id": ["a", "b"], "age": [1, 1]})
    notes = pl.DataFrame({"person_id": ["a", "b"] * 10, "icd": ["x", "y"] * 10})
    drugs = pl.DataFrame({"person_id": ["a"] * 10 + ["b"], "substance": ["p", "q"] * 5 + ["p"]})
    star = Star({"person": StarTable(key="person_id"), "note": StarTable(links={"person_id": "person"}),
                 "drug": StarTable(links={"person_id": "person"})})  # fmt: skip
    schema = shoal.Schema(person="person_id", quasi=["age"], sensitive=["icd", "substance"])
    answer = verify_star({"person": persons, "note": notes, "drug": drugs}, star, schema, [shoal.GBalance(g=0.5)])
    assert not answer.holds
    assert "'drug'" in answer.verdict.models[0].checked_from
    with pytest.raises(
        CannotSatisfyError, match=r"'drug': g-balance 0\.5 cannot be met by any grouping: all 11 records of 2"
    ):
        protect_star({"person": persons, "note": notes, "drug": drugs}, star, schema, [shoal.GBalance(g=0.5)])


@pytest.mark.parametrize(
    ("model", "table"),
    [
        (shoal.RecordRisk(rho=0.5), "'encounter'"),
        (shoal.GBalance(g=0.5), "'encounter'"),
        (shoal.LDiversity(l=2, column="ward"), "'encounter'"),
        (shoal.KAnonymity(k=20), "'person'"),
    ],
)
def test_a_table_that_others_hang_on_is_judged_by_its_own_rows(model: Any, table: str) -> None:
    """One has ten encounters with a condition each, the other one with ten: together balanced, the encounters not."""
    persons = pl.DataFrame({"person_id": ["a", "b"], "age": [1, 1]})
    encounters = pl.DataFrame({"encounter_id": range(11), "person_id": ["a"] * 10 + ["b"], "ward": ["x"] * 10 + ["y"]})
    conditions = pl.DataFrame({"encounter_id": [*range(10), *[10] * 10], "icd": ["f", "g"] * 10})
    star = Star({"person": StarTable(key="person_id"),
                 "encounter": StarTable(key="encounter_id", links={"person_id": "person"}),
                 "condition": StarTable(links={"encounter_id": "encounter"})})  # fmt: skip
    schema = shoal.Schema(person="person_id", quasi=["age"], sensitive=["ward", "icd"])
    frames = {"person": persons, "encounter": encounters, "condition": conditions}
    rows_of = encounters["person_id"].value_counts()["count"].to_list()
    assert Fraction(max(rows_of), sum(rows_of)) > Fraction(1, 2)  # what somebody counts in the file
    answer = verify_star(frames, star, schema, [model])
    assert not answer.holds
    assert answer.verdict.models[0].checked_from == f"published table, {table}"
    with pytest.raises(CannotSatisfyError, match=f"{table}: {model.name}"):
        protect_star(frames, star, schema, [model])


def test_persons_who_are_left_out_are_left_out_everywhere() -> None:
    frames = chain()
    heavy = pl.DataFrame({"encounter_id": [5000] * 900, "person_id": [frames["encounter"]["person_id"][0]] * 900,
                          "icd": ["a"] * 900, "note": ["n"] * 900})  # fmt: skip
    frames["condition"] = pl.concat([frames["condition"], heavy])
    release = protect_star(frames, CHAIN, SCHEMA, [shoal.GBalance(g=0.9), shoal.RecordRisk(rho=0.2)], max_suppressed=5,
                           allow_alone=True)  # fmt: skip
    gone = release.release.table.suppressed_persons
    assert gone >= 1
    assert release.tables["person"].height == frames["person"].height - gone
    known = set(release.tables["person"]["person_id"])
    for name in ("encounter", "condition"):
        assert set(release.tables[name]["person_id"]) <= known
        assert release.tables[name]["person_id"].null_count() == 0
    assert any("left out with their persons" in note for note in release.notes)


# What is refused


def test_tables_that_do_not_fit_together_are_refused() -> None:
    frames = chain()
    for broken, words in (
        ({"encounter": frames["encounter"].drop("person_id")}, "'encounter' has no column 'person_id'"),
        ({"person": pl.concat([frames["person"]] * 2)}, "rows repeat one"),
        ({"condition": frames["condition"].with_columns(person_id=pl.lit("id-1"))}, "another person"),
        ({"drug": frames["person"]}, "expected by the names"),
    ):
        with pytest.raises(SchemaError, match=words) as caught:
            protect_star({**frames, **broken}, CHAIN, SCHEMA, MODELS)
        assert "Canary" not in str(caught.value)
    with pytest.raises(SchemaError, match="Several tables have a column 'note'"):
        protect_star(frames, CHAIN, shoal.Schema(person="person_id", quasi=["age", "sex"], dropped=["note"]), MODELS)
    with pytest.raises(ParameterError, match="range, mean, suppress"):
        protect_star(frames, CHAIN, SCHEMA, MODELS, mask="anatomize")
    with pytest.raises(SchemaError, match="joined by the ids"):
        protect_star(frames, CHAIN, replace(SCHEMA, person_ids="none", time=None), MODELS)
    dropped = ["name", "encounter.note", "condition.note"]
    elsewhere = shoal.Schema(
        person="person_id", quasi=["ward"], sensitive=["icd"], kept=["age", "sex"], dropped=dropped
    )
    with pytest.raises(SchemaError, match="table of persons"):
        protect_star(frames, CHAIN, elsewhere, MODELS)


CIRCLE = {
    "a": StarTable(key="x"),
    "b": StarTable(key="y", links={"z": "c"}),
    "c": StarTable(key="z", links={"y": "b"}),
}


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"a": StarTable(key="x"), "b": StarTable(key="y")}, "just one"),
        ({"a": StarTable(), "b": StarTable(links={"x": "a"})}, "needs a key|has no key"),
        ({"a": StarTable(key="x"), "b": StarTable(links={"x": "c"})}, "no other table"),
        (CIRCLE, "circle"),
    ],
)  # fmt: skip
def test_stars_that_are_none_are_refused(tables: dict[str, StarTable], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Star(tables)


def test_rows_of_nobody_are_left_out_and_counted() -> None:
    frames = chain()
    stray = pl.DataFrame({"encounter_id": [9999], "person_id": ["nobody"], "ward": ["x"], "note": ["n"]})
    frames["encounter"] = pl.concat([frames["encounter"], stray])
    release = protect_star(frames, CHAIN, SCHEMA, MODELS, seed=1, allow_alone=True)
    assert any("1 of " in note and "'encounter'" in note for note in release.notes)
    assert release.tables["encounter"].height == frames["encounter"].height - 1


def test_keys_are_the_same_where_a_missing_one_makes_them_floats() -> None:
    persons = pl.DataFrame({"id": [1, 2, 3, 4], "age": [30, 31, 60, 61]})
    visits = pl.DataFrame({"id": [1.0, 2.0, 3.0, 4.0, None], "icd": ["a", "b", "a", "b", "a"]})
    star = Star({"person": StarTable(key="id"), "visit": StarTable(links={"id": "person"})})
    schema = shoal.Schema(person="id", quasi=["age"], sensitive=["icd"])
    release = protect_star({"person": persons, "visit": visits}, star, schema, [shoal.HAffiliation(h=0.5)])
    assert release.tables["visit"].height == 4
    assert any("1 of 5 rows of 'visit'" in note for note in release.notes)


# Folder and command

POLICY = """
[columns]
person = "person_id"
quasi = ["age", "sex:nominal"]
sensitive = ["icd"]
kept = ["ward"]
dropped = ["name", "encounter.note", "condition.note"]

[models]
g-balance = 0.7
h-affiliation = 0.8

[budget]
allow_alone = true

[tables]
person = { file = "person.csv", key = "person_id" }
encounter = { file = "encounter.csv", key = "encounter_id", links = { person_id = "person" } }
condition = { file = "condition.csv", links = { encounter_id = "encounter", person_id = "person" } }
"""


def test_the_policy_reads_and_writes_tables() -> None:
    import tomllib

    policy = Policy.from_document(tomllib.loads(POLICY))
    assert list(policy.tables) == ["person", "encounter", "condition"]
    assert Policy.from_document(tomllib.loads(policy.to_toml())) == policy


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, frame in chain().items():
        frame.write_csv(f"{name}.csv")
    Path("star.toml").write_text(POLICY)

    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(cli, list(arguments), prog_name="shoal")
        return result.exit_code, result.stdout, result.stderr

    code, out, err = run("protect", "--policy", "star.toml", "-o", "out", "--json", "--keep-person-map")
    assert code == 0, err
    assert json.loads(out)["tables"]["person"] == 300
    leaving = {path.name for path in Path("out").iterdir() if path.is_file()}
    assert leaving == {*(f"release-{name}.csv" for name in CHAIN.tables), "summary.html", *CODEBOOKS}
    assert run("report", "out")[0] == 0
    code, out, err = run("verify", "out", "--json")
    assert code == 0, out + err
    assert run("verify", "out")[0] == 0
    assert read_star(Path("out"))[0] == CHAIN
    for path in Path("out").rglob("*"):
        if path.is_file() and path.name != "persons.parquet":
            assert b"Canary" not in path.read_bytes()
            assert path.suffix == ".parquet" or b"id-7" not in path.read_bytes()
    assert run("protect", "person.csv", "--policy", "star.toml", "-o", "other")[0] == 2
    assert run("protect", "-o", "other", "--quasi", "age", "--k", "2")[0] == 2
    assert run("protect", "--policy", "star.toml", "-o", "out")[0] == 2
    code, _, err = run("protect", "--policy", "star.toml", "-o", "other", "--attack", "5")
    assert (code, "--attack" in err) == (2, True)
    Path("renamed.toml").write_text(POLICY + '\n[source]\nrename = [{ years = "age" }]\n')
    for arguments, words in (
        (("attack", "out"), "related tables"),
        (("apply", "out", "person.csv", "-o", "other"), "not of related ones"),
        (("protect", "--policy", "star.toml", "-o", "other", "--engine", "stream"), "with related tables"),
        (("protect", "--policy", "renamed.toml", "-o", "other"), "[source] rename"),
    ):
        code, _, err = run(*arguments)
        assert (code, words in err) == (2, True), err
    assert run("protect", "--policy", "star.toml", "-o", "out", "--overwrite", "--format", "parquet")[0] == 0
    assert run("verify", "out")[0] == 0
    # one condition moved to another encounter of somebody else
    table = pl.read_parquet("out/release-condition.parquet")
    table = table.with_columns(encounter_id=table["encounter_id"].reverse())
    table.write_parquet("out/release-condition.parquet")
    assert run("verify", "out")[0] in (2, 3)
    assert not Path("other").exists()


def test_a_folder_from_python(tmp_path: Path) -> None:
    release = protect_star(chain(), CHAIN, SCHEMA, MODELS, seed=1, allow_alone=True, mask="mean")
    policy = Policy.of(SCHEMA, MODELS)
    folder = write_star(release, tmp_path / "out", policy_text=policy.to_toml(), format="parquet")
    star, frames = read_star(folder)
    assert verify_star(frames, star, SCHEMA, MODELS, allow_alone=True).holds
    book = json.loads((folder / "codebook.json").read_text())
    assert book["star"]["condition"]["links"] == {"encounter_id": "encounter", "person_id": "person"}
    assert [column["role"] for column in book["star"]["person"]["columns"]] == ["key", "quasi", "quasi"]


def test_a_format_that_shows_empty_texts_as_missing_is_refused_where_that_breaks_a_model(tmp_path: Path) -> None:
    """An empty text stands before the others and a missing value behind them: ordered distances tell them apart."""
    star = Star({"person": StarTable(key="person_id"), "condition": StarTable(links={"person_id": "person"})})
    tables = {
        "person": pl.DataFrame({"person_id": [1, 2, 3, 4], "age": [20, 20, 60, 60]}),
        "condition": pl.DataFrame({"person_id": [1, 2, 3, 4], "icd": ["", "c", "a", "b"]}),
    }
    schema = shoal.Schema(person="person_id", quasi=["age"], sensitive=["icd"])
    models = [shoal.TCloseness(t="0.2", distance="ordered")]
    release = protect_star(tables, star, schema, models, seed=1)
    text = Policy.of(schema, models).to_toml()
    with pytest.raises(PrivacyNotMetError, match="show empty texts as missing"):
        write_star(release, tmp_path / "out", policy_text=text, format="csv")
    assert list(tmp_path.iterdir()) == []
    write_star(release, tmp_path / "out", policy_text=text, format="parquet")


def test_keys_that_are_no_links_are_not_published_as_they_are() -> None:
    """Conditions that hang on persons, with the encounter's key beside: it must be a link or be dropped."""
    frames = chain()
    tables = {**CHAIN.tables, "condition": StarTable(links={"person_id": "person"})}
    with pytest.raises(SchemaError, match=r"'condition\.encounter_id' has the name of a key"):
        protect_star(frames, Star(tables), replace(SCHEMA, kept=["ward", "encounter_id"]), MODELS)
    dropped = replace(SCHEMA, dropped=(*SCHEMA.dropped, "encounter_id"))
    assert "encounter_id" not in protect_star(frames, Star(tables), dropped, MODELS, seed=1).tables["condition"].columns


def test_the_numbers_are_those_of_the_least_safe_table() -> None:
    release = protect_star(chain(), CHAIN, SCHEMA, MODELS, seed=1)
    person_of_place = dict(release.tables["encounter"].select("encounter_id", "person_id").iter_rows())
    shown = {row[0]: row[1:] for row in release.tables["person"].iter_rows()}
    shares = []
    for rows in (
        release.tables["encounter"]["person_id"],
        release.tables["condition"]["encounter_id"].replace_strict(person_of_place),
    ):
        counts = defaultdict(lambda: defaultdict(int))
        for person in rows:
            counts[shown[person]][person] += 1
        shares += [max(own.values()) / sum(own.values()) for own in counts.values()]
    answer = release.to_dict()
    assert answer["max_gidr"] == pytest.approx(max(shares))
    assert answer["ane"] > 0


class Careless:
    """A method of somebody's own that asks about all tables joined only."""

    def group(self, table: Any, models: Any, progress: Any) -> Any:
        return BalanceTree().group(table, [model for model in models if model.name != "every table"], progress)


def test_groups_that_break_a_model_in_a_table_are_refused_with_table_and_counts() -> None:
    with pytest.raises(PrivacyNotMetError, match=r"condition: \d+ of the \d+ groups with rows break g-balance 0\.7"):
        protect_star(chain(), CHAIN, SCHEMA, MODELS, seed=1, allow_alone=True, method=Careless())


def test_a_table_that_the_codebook_does_not_name_is_told(tmp_path: Path) -> None:
    release = protect_star(chain(), CHAIN, SCHEMA, MODELS, seed=1, allow_alone=True)
    folder = write_star(release, tmp_path / "out", policy_text=Policy.of(SCHEMA, MODELS).to_toml())
    book = json.loads((folder / "codebook.json").read_text())
    del book["star"]["condition"]
    (folder / "codebook.json").write_text(json.dumps(book))
    with pytest.raises(InputError, match=r"does not name release-condition\.csv"):
        read_star(folder)
