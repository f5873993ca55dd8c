"""Later records by the groups of a release: nothing published changes, labels stay true, models hold on the union."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.errors import CannotSatisfyError, InputError, ParameterError, PrivacyNotMetError, SchemaError, ShoalError
from shoal.publishing.later import apply, read_stored, write_applied
from shoal.publishing.manifest import check_manifest
from shoal.reading import Reading, read
from shoal.reading.source import Source

SCHEMA = shoal.Schema(
    person="patient",
    quasi=["age", shoal.Nominal("city"), shoal.Date("born"), shoal.Ordered("grade", order=("low", "mid", "high"))],
    sensitive=["disease"],
    kept=["ward"],
    time="day",
    dropped=["phone"],
)
MODELS = [shoal.GBalance(g=0.6), shoal.HAffiliation(h=0.9)]
CITIES = ["north", "south", "east, far", "west"]


def visits(n_persons: int, *, first: int = 0, seed: int = 1, missing: float = 0.05) -> pl.DataFrame:
    """Visits of persons whose age, city and birth do not change."""
    rng = np.random.default_rng(seed)
    persons = pl.DataFrame(
        {
            "patient": [f"id-{first + number}" for number in range(n_persons)],
            "age": rng.integers(20, 80, n_persons),
            "city": rng.choice(CITIES, n_persons),
            "born": (np.datetime64("1950-01-01") + rng.integers(0, 9000, n_persons)).astype("datetime64[D]"),
            "grade": rng.choice(["low", "mid", "high"], n_persons),
        }
    ).with_columns(
        pl.when(pl.Series(rng.random(n_persons) < missing)).then(None).otherwise(pl.col("city")).alias("city")
    )
    records = persons.select(pl.all().repeat_by(pl.Series(rng.integers(1, 4, n_persons))).explode())
    n = records.height
    return records.with_columns(
        disease=pl.Series(rng.choice(["a", "b", "c", "d", "e"], n)),
        ward=pl.Series(rng.choice(["x", "y"], n)),
        day=pl.Series((np.datetime64("2023-01-01") + rng.integers(0, 300, n)).astype("datetime64[D]")),
        phone=pl.Series([f"555-{number}" for number in range(n)]),
    )


def released(folder: Path, frame: pl.DataFrame, schema: shoal.Schema = SCHEMA, **options: Any) -> Path:
    """A release in a folder, with its person map."""
    format = options.pop("format", "parquet")
    keep = options.pop("keep_person_map", True)
    release = shoal.protect(frame, schema, options.pop("models", MODELS), seed=5, allow_alone=True, **options)
    return release.write(folder, format=format, keep_person_map=keep, report=False)


def as_reading(frame: pl.DataFrame) -> Reading:
    return Reading(frame, Source((), "parquet"))


def rows(frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    return sorted(frame.with_columns(pl.all().cast(pl.String)).rows(), key=str)


OLD = visits(400)
LATER = pl.concat([visits(400).sample(150, seed=3).with_columns(disease=pl.lit("c")), visits(60, first=1000, seed=2)])


@pytest.fixture(scope="module", params=["range", "mean", "suppress"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return released(tmp_path_factory.mktemp(request.param) / "out", OLD, mask=request.param)


def test_nothing_published_changes_and_known_persons_keep_pseudonym_and_group(folder: Path) -> None:
    stored = read_stored(folder)
    applied = apply(stored, as_reading(LATER), SCHEMA, max_suppressed=1000)
    old = stored.published.frame
    assert rows(applied.frame.filter(~pl.Series(applied.is_new))) == rows(old)
    assert applied.together.holds
    map_before, map_after = stored.pseudonyms, applied.pseudonyms
    assert map_before is not None
    assert map_after is not None
    assert map_after.head(map_before.height).equals(map_before)
    assert map_after["pseudonym"].n_unique() == map_after.height
    shown = applied.frame.with_columns(group=pl.Series(applied.group_of_record))
    one = shown.group_by("patient").agg(
        pl.col("group").n_unique(), *(pl.col(name).n_unique() for name in SCHEMA.quasi_names)
    )
    assert one.drop("patient").max().row(0) == (1,) * 5
    new = shown.filter(pl.Series(applied.is_new))
    known = set(map_before["pseudonym"])
    n_known = len(set(new["patient"]) & known)
    assert n_known == applied.known_persons > 50
    assert new["patient"].n_unique() - n_known == applied.new_persons > 0
    assert applied.known_persons + applied.new_persons + applied.suppressed_persons == LATER["patient"].n_unique()
    assert "phone" not in applied.frame.columns


def holds(label: str | None, value: Any, kind: str) -> bool:
    """Whether a label that the mask range wrote covers a value, by reading it as a person would."""
    if label is None or value is None:
        return value is None and (label is None or label.endswith("missing") or label == "*" or "missing}" in label)
    label = label.removesuffix(" or missing")
    if label == "*":
        return True
    if kind == "set":
        names = [label] if not label.startswith("{") else re.findall(r'east, far|[^,{} "]+', label)
        return str(value) in names
    if kind == "order":
        order = ["low", "mid", "high"]
        ends = label.split(" to ")
        return order.index(ends[0]) <= order.index(value) <= order.index(ends[-1])
    ends = label.split(" to ") if kind == "date" else label.split("-")
    return ends[0] <= str(value) <= ends[-1] if kind == "date" else int(ends[0]) <= value <= int(ends[-1])


@pytest.mark.parametrize("form", ["{}", "{}.0", " {}\t", "float", "00{}"])
def test_persons_are_known_again_whichever_way_their_ids_are_written(tmp_path: Path, form: str) -> None:
    """A file of floats, or of texts with blanks, must not make one person two: k would be counted too high."""
    number = pl.col("patient").str.strip_prefix("id-")
    old = visits(60, missing=0.0).with_columns(number.cast(pl.Int64))
    folder = released(tmp_path / "out", old, format="csv", models=[shoal.PersonKAnonymity(k=3)])
    ids = number.cast(pl.Float64) if form == "float" else pl.format(form, number)
    later = visits(60, missing=0.0).with_columns(ids)
    if form == "00{}":
        with pytest.raises(SchemaError, match=r"60 of 60 new persons .* leading zeros"):
            apply(read_stored(folder), as_reading(later), SCHEMA)
        return
    applied = apply(read_stored(folder), as_reading(later), SCHEMA)
    assert (applied.new_persons, applied.known_persons) == (0, 60)
    assert applied.together.persons == 60
    assert applied.pseudonyms is not None
    assert applied.pseudonyms["pseudonym"].n_unique() == 60
    assert applied.pseudonyms.height == (60 if form in ("{}", "float") else 120)  # each spelling of an id


def test_ranges_cover_every_later_value(tmp_path: Path) -> None:
    stored = read_stored(released(tmp_path / "out", OLD, mask="range"))
    applied = apply(stored, as_reading(LATER), SCHEMA, max_suppressed=1000)
    assert applied.pseudonyms is not None
    later = LATER.join(applied.pseudonyms, left_on="patient", right_on="person").drop("patient")
    new = applied.frame.filter(pl.Series(applied.is_new)).unique("patient")
    pairs = later.join(new, left_on="pseudonym", right_on="patient", suffix="_shown")
    assert pairs.height >= 100
    kinds = {"age": "number", "city": "set", "born": "date", "grade": "order"}
    for name, kind in kinds.items():
        for value, label in pairs.select(name, f"{name}_shown").rows():
            assert holds(label, value, kind), name


def test_the_folder_is_a_release_that_verifies_and_can_grow_again(folder: Path, tmp_path: Path) -> None:
    applied = apply(read_stored(folder), as_reading(LATER), SCHEMA, max_suppressed=1000)
    grown = write_applied(applied, tmp_path / "grown")
    assert check_manifest(grown) == []
    stored = read_stored(grown)
    answer = shoal.verify(
        stored.published.frame, stored.policy.schema_of_release(), stored.policy.models, allow_alone=True
    )
    assert answer.holds
    assert answer.records == OLD.height + int(applied.is_new.sum())
    again = apply(stored, as_reading(LATER.head(30)), SCHEMA, max_suppressed=1000)
    write_applied(again, grown, overwrite=True)
    assert read_stored(grown).published.frame.height == answer.records + int(again.is_new.sum())


def test_a_sequence_of_visits_goes_on(tmp_path: Path) -> None:
    stored = read_stored(released(tmp_path / "out", OLD, mask="mean"))
    one = OLD.filter(pl.col("patient") == "id-7")
    applied = apply(stored, as_reading(one), SCHEMA)
    assert stored.pseudonyms is not None
    name = stored.pseudonyms.filter(pl.col("person") == "id-7")["pseudonym"][0]
    days = one["day"].n_unique()
    own = applied.frame.filter(pl.col("patient") == name)
    assert set(own["day"]) == set(range(1, 2 * days + 1))


def test_shifted_dates_of_known_persons_cannot_go_on(tmp_path: Path) -> None:
    schema = shoal.Schema(quasi=["age"], person="patient", sensitive=["disease"], time="day", time_as="shift",
                          dropped=["phone", "city", "born", "grade", "ward"])  # fmt: skip
    stored = read_stored(released(tmp_path / "out", OLD, schema, mask="mean"))
    with pytest.raises(ParameterError, match="not kept"):
        apply(stored, as_reading(OLD.head(3)), schema)
    newcomers = visits(30, first=5000)
    assert apply(stored, as_reading(newcomers), schema).new_persons == 30
    same = as_reading(newcomers.with_columns(day=pl.lit(newcomers["day"][0])))
    assert any("30 of 30" in note for note in apply(stored, same, schema).notes)
    with pytest.raises(PrivacyNotMetError, match="30 of 30"):
        apply(stored, same, replace(schema, shared_dates="refuse"))


# What is refused


def test_what_would_break_a_model_is_refused(tmp_path: Path) -> None:
    folder = released(tmp_path / "out", OLD, mask="mean")
    heavy = pl.concat([OLD.filter(pl.col("patient") == "id-3")] * 400)
    with pytest.raises(PrivacyNotMetError, match="g-balance") as caught:
        apply(read_stored(folder), as_reading(heavy), SCHEMA)
    assert "id-3" not in str(caught.value)
    one_disease = pl.concat([visits(3000, first=9000, seed=8).with_columns(disease=pl.lit("a"))])
    with pytest.raises(PrivacyNotMetError, match="h-affiliation"):
        apply(read_stored(folder), as_reading(one_disease), SCHEMA)


def test_new_records_alone_are_judged_too(tmp_path: Path) -> None:
    folder = released(tmp_path / "out", OLD, mask="mean")
    few = visits(5, first=7000)
    applied = apply(read_stored(folder), as_reading(few), SCHEMA)
    assert applied.together.holds
    assert not applied.alone.holds
    assert any("check_new=True" in note for note in applied.notes)
    with pytest.raises(PrivacyNotMetError, match="The new records alone"):
        apply(read_stored(folder), as_reading(few), SCHEMA, check_new=True)


def test_newcomers_are_judged_by_themselves_among_known_persons(tmp_path: Path) -> None:
    """Whoever keeps the earlier release knows the pseudonyms in it, and so which of the new ones are newcomers."""
    schema = shoal.Schema(person="patient", quasi=["age"], sensitive=["disease"])
    models = [shoal.PersonKAnonymity(k=3)]
    persons = [f"id-{number}" for number in range(6)]
    old = pl.DataFrame({"patient": persons, "age": [40] * 6, "disease": list("abcdef")})
    folder = released(tmp_path / "out", old, schema, models=models)
    later = pl.DataFrame({"patient": [*persons, "lone"], "age": [40] * 7, "disease": list("ghijklm")})
    applied = apply(read_stored(folder), as_reading(later), schema)
    assert applied.alone.holds
    assert [(part, answer.holds) for part, answer in applied.apart.items()] == [("newcomers", False), ("known", True)]
    new: Any = applied.to_dict()["new"]
    assert new["newcomers"]["verdict"]["holds"] is False
    assert any("newcomers alone do not meet person-k" in note for note in applied.notes)
    with pytest.raises(PrivacyNotMetError, match="The new records of newcomers alone: 1 of 1 groups"):
        apply(read_stored(folder), as_reading(later), schema, check_new=True)
    with pytest.raises(PrivacyNotMetError, match="The new records of known persons alone"):
        apply(read_stored(folder), as_reading(pl.concat([later[:1], visits_alike(5)])), schema, check_new=True)


def visits_alike(n_persons: int) -> pl.DataFrame:
    """A record each of newcomers of one age."""
    names = [f"new-{number}" for number in range(n_persons)]
    return pl.DataFrame({"patient": names, "age": [40] * n_persons, "disease": [f"d{at}" for at in range(n_persons)]})


def test_a_file_that_is_in_the_release_already_is_refused(tmp_path: Path) -> None:
    OLD.write_parquet(tmp_path / "old.parquet")
    LATER.write_parquet(tmp_path / "later.parquet")
    release = shoal.protect(OLD, SCHEMA, MODELS, seed=5, mask="mean", allow_alone=True)
    release.write(tmp_path / "first", inputs=[tmp_path / "old.parquet"], keep_person_map=True, report=False)
    later = read(tmp_path / "later.parquet")
    grown = apply(read_stored(tmp_path / "first"), later, SCHEMA, max_suppressed=1000)
    write_applied(grown, tmp_path / "second", inputs=[tmp_path / "later.parquet"])
    stored = read_stored(tmp_path / "second")
    (tmp_path / "renamed.parquet").write_bytes((tmp_path / "later.parquet").read_bytes())
    for name in ("old", "later", "renamed"):  # those of the first release too
        with pytest.raises(InputError, match=f"1 of the files are in the release already \\({name}.parquet\\)"):
            apply(stored, read(tmp_path / f"{name}.parquet"), SCHEMA, max_suppressed=1000)


def test_records_that_known_persons_have_already_are_noted(tmp_path: Path) -> None:
    folder = released(tmp_path / "out", OLD, mask="mean")
    again = apply(read_stored(folder), as_reading(OLD), SCHEMA)
    told = [note for note in again.notes if "in the release already" in note]
    assert told == [
        f"All of the {OLD.height:,} new records of known persons have values that the same person has in the release "
        "already. Were they the same records, they would be counted twice: look whether they are later ones."
    ]
    other = apply(read_stored(folder), as_reading(OLD.with_columns(ward=pl.lit("z"))), SCHEMA)
    assert not any("in the release already" in note for note in other.notes)


def test_persons_whom_no_group_covers_are_refused_or_left_out(tmp_path: Path) -> None:
    stored = read_stored(released(tmp_path / "out", OLD, mask="range"))
    twins = OLD.filter(pl.col("patient").is_in([f"id-{number}" for number in range(5)]))
    twins = twins.with_columns(patient=pl.col("patient") + "-twin", disease=pl.lit("e"))
    old = visits(2, first=8000, missing=0).with_columns(age=pl.lit(119, dtype=pl.Int64))
    strange = pl.concat([twins, old])
    with pytest.raises(CannotSatisfyError, match="age of 2") as caught:
        apply(stored, as_reading(strange), SCHEMA)
    assert "119" not in str(caught.value)
    covered = apply(stored, as_reading(strange), SCHEMA, max_suppressed=6)
    assert covered.suppressed_persons >= 2
    assert covered.new_persons == 7 - covered.suppressed_persons
    older = OLD.filter(pl.col("patient") == "id-3").with_columns(age=pl.lit(119, dtype=pl.Int64))
    with pytest.raises(CannotSatisfyError, match=r"1 of 1 persons .* \(1 of them are in it"):
        apply(stored, as_reading(older), SCHEMA)


def test_without_a_person_map_one_must_say_that_all_are_new(tmp_path: Path) -> None:
    stored = read_stored(released(tmp_path / "out", OLD, mask="mean", keep_person_map=False))
    later = visits(50, first=7000)
    with pytest.raises(ParameterError, match="counted twice"):
        apply(stored, as_reading(later), SCHEMA)
    applied = apply(stored, as_reading(later), SCHEMA, all_new=True)
    assert applied.new_persons == 50
    assert applied.pseudonyms is None
    assert set(applied.frame["patient"]) > set(stored.published.frame["patient"])


def test_without_persons_each_record_is_one(tmp_path: Path) -> None:
    schema = shoal.Schema(
        quasi=["age"], sensitive=["disease"], dropped=["phone", "city", "born", "grade", "ward", "day", "patient"]
    )
    models = [shoal.KAnonymity(k=5)]
    stored = read_stored(released(tmp_path / "out", OLD, schema, models=models, keep_person_map=False))
    applied = apply(stored, as_reading(OLD.head(40)), schema)
    assert applied.new_persons == 40


def test_a_folder_that_has_changed_and_masks_without_a_scheme_are_refused(tmp_path: Path) -> None:
    folder = released(tmp_path / "out", OLD, mask="range")
    (folder / "steward" / "scheme.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="changed"):
        read_stored(folder)
    schema = shoal.Schema(quasi=["age"], person="patient", sensitive=["disease"],
                          dropped=["phone", "city", "born", "grade", "ward", "day"])  # fmt: skip
    apart = released(
        tmp_path / "apart", OLD, schema, mask="anatomize", models=[shoal.HAffiliation(h=0.9)], keep_person_map=False
    )
    with pytest.raises(ParameterError, match="not anatomize"):
        read_stored(apart)
    with pytest.raises(InputError, match="no release folder"):
        read_stored(tmp_path)


def test_open_ends_and_hierarchies_cover_what_they_show(tmp_path: Path) -> None:
    region = {"north": "land", "south": "land", "east, far": "sea", "west": "sea", "isle": "sea"}
    tree = shoal.Hierarchy.from_rows([(city, above, "*") for city, above in region.items()])
    schema = shoal.Schema(quasi=["age", shoal.Nominal("city", tree)], person="patient", sensitive=["disease"],
                          dropped=["phone", "born", "grade", "ward", "day"])  # fmt: skip
    by_the_sea = visits(300, missing=0).filter(pl.col("city").is_in(["east, far", "west"]))
    (owner,) = by_the_sea["patient"].head(1)
    lone = by_the_sea.with_columns(
        age=pl.when(pl.col("patient") == owner).then(99).otherwise(pl.col("age").clip(25, 75))
    )
    stored = read_stored(
        released(tmp_path / "out", lone, schema, mask="range", code_extremes=True, models=[shoal.GBalance(g=0.99)])
    )
    labels = set(stored.published.frame["age"].cast(pl.String))
    assert any(label.startswith("at least") for label in labels)
    later = visits(1, first=9000, missing=0).with_columns(age=pl.lit(110, dtype=pl.Int64), city=pl.lit("isle"))
    applied = apply(stored, as_reading(later), schema, max_suppressed=0)
    (shown,) = set(applied.frame.filter(pl.Series(applied.is_new)).select("age", "city").rows())
    assert (str(shown[0]).startswith("at least"), shown[1]) == (True, "sea")


def test_several_nodes_cover_what_is_below_each(tmp_path: Path) -> None:
    region = {**dict.fromkeys(["north", "south", "hill", "moor", "dale"], "land"), "west": "sea", "isle": "lake"}
    tree = shoal.Hierarchy.from_rows([(city, above, "*") for city, above in region.items()])
    schema = shoal.Schema(quasi=[shoal.Nominal("city", tree)], person="patient", sensitive=["disease"],
                          dropped=["age", "phone", "born", "grade", "ward", "day"])  # fmt: skip
    frame = visits(40, missing=0)
    some = ("north", "west", "south", None, "hill", "moor")
    cities = pl.Series([some[at % 6] for at in range(frame.height)])
    models = [shoal.PersonKAnonymity(k=frame["patient"].n_unique())]
    out = released(tmp_path / "out", frame.with_columns(city=cities), schema, mask="range", models=models)
    stored = read_stored(out)
    assert set(stored.published.frame["city"].cast(pl.String)) == {"{land, west} or missing"}
    later = visits(60, first=9000, missing=0)
    for city in ("dale", "west"):
        applied = apply(stored, as_reading(later.with_columns(city=pl.lit(city))), schema)
        assert applied.new_persons == later["patient"].n_unique()
    with pytest.raises(CannotSatisfyError, match="city"):
        apply(stored, as_reading(later.with_columns(city=pl.lit("isle"))), schema)


# The command


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    OLD.write_csv("old.csv")
    LATER.write_csv("later.csv")
    columns = ["--person", "patient", "--quasi", "age,city:nominal,born:date,grade:ordered", "--sensitive", "disease",
               "--keep", "ward", "--time", "day", "--drop", "phone"]  # fmt: skip

    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(cli, list(arguments), prog_name="shoal")
        return result.exit_code, result.stdout, result.stderr

    code, _, err = run("protect", "old.csv", *columns, "--g-balance", "0.6", "--allow-alone", "--keep-person-map", "-o",
                       "first")  # fmt: skip
    assert code == 0, err
    code, _, err = run("apply", "first", "later.csv", "-o", "second")
    assert code == 3
    assert not Path("second").exists()
    assert not re.search(r"id-\d", err)
    code, out, err = run("apply", "first", "later.csv", "-o", "second", "--max-suppressed", "400", "--json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["records"] == OLD.height + answer["new"]["records"]
    assert answer["verdict"]["holds"]
    assert Path("second/steward/report.html").is_file()
    assert run("verify", "second")[0] == 0
    assert read("second/release.csv").frame.height == answer["records"]
    assert run("apply", "first", "later.csv", "-o", "second", "--max-suppressed", "400")[0] == 2
    code, _, err = run("apply", "second", "later.csv", "-o", "second", "--max-suppressed", "400", "--overwrite")
    assert code == 2
    assert "in the release already (later.csv)" in err
    LATER.head(20).write_csv("latest.csv")
    assert run("apply", "second", "latest.csv", "-o", "second", "--max-suppressed", "400", "--overwrite")[0] == 0
    for arguments in (["absent", "later.csv"], ["first", "absent.csv"], ["first", "first/release.csv"]):
        assert run("apply", *arguments, "-o", "third")[0] == 2
    assert not Path("third").exists()


def test_errors_are_our_own(tmp_path: Path) -> None:
    stored = read_stored(released(tmp_path / "out", OLD, mask="range"))
    for frame in (LATER.drop("city"), LATER.with_columns(age=pl.lit("canary")), LATER.head(0)):
        with pytest.raises(ShoalError) as caught:
            apply(stored, as_reading(frame), SCHEMA)
        assert "canary" not in str(caught.value)
