"""What is odd about a table is found and told without values; unique persons are counted as the definition says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.demo.clinics import clinics
from shoal.errors import InputError, SchemaError
from shoal.table.profile import profile
from shoal.web import looking
from shoal.web.looking import AloneInTable, columns_of, look, preview, take_suggestions
from shoal.web.project import Project, SourceFile


def tell(stage: str, done: float) -> None:
    assert 0 <= done <= 1


def project_of(folder: Path, *texts: str, ending: str = ".csv", **chosen: Any) -> Project:
    project = Project.open(folder / "project")
    sources = []
    for place, text in enumerate(texts):
        file = folder / f"file{place}{ending}"
        file.write_text(text)
        sources.append(project.copy_file(file))
    project.update(seen=0, sources=tuple(sources), **chosen)
    return project


def looked_at(project: Project) -> dict[str, Any]:
    found = look(project, tell)  # type: ignore[arg-type]
    project.put_result("look", found, depends_on="data")
    return found


MESSY = """patient;age;sex;flat;visit_no;note
p1;31;F;x;v1;a
p1;31;F;x;v2;a
p2;unknown;f;x;v3;
p3;42;M;x;v4;a
p4;43;M ;x;v5;n/a
p5;44;M;x;v6;a
"""


def test_what_is_odd_is_told_with_columns_and_lines_and_without_values(tmp_path: Path) -> None:
    found = looked_at(project_of(tmp_path, MESSY))
    told = {(each["column"], each["words"].split(".")[0]) for each in found["odd"]}
    assert found["csv"]["delimiter"] == ";"
    assert (found["records"], found["persons"], found["person"]) == (6, 5, "patient")
    assert ("age", "1 of 6 values are missing") in told  # what it says was found in the whole file
    assert ("note", "1 of 6 values are missing") in told
    assert ("flat", "It has the same value in every record, so it tells nothing") in told
    assert ("visit_no", "It nearly identifies persons: 5 of 5 persons have a value that nobody else has") in told
    assert ("patient", "One person has 2 records, 33% of the table") in told
    offered = {(each["column"], each["words"]): each["mend"] for each in found["suggestions"]}
    assert offered["sex", "‘F’ and ‘f’ look alike: 2 and 1 records."] == {"map": {"sex": {"f": "F"}}}
    assert offered["sex", "‘M’ and ‘M ’ look alike: 2 and 1 records."] == {"map": {"sex": {"M ": "M"}}}
    words = " ".join(each["words"] for each in found["odd"]) + " ".join(found["notes"])
    assert "unknown" not in words
    assert "v1" not in words
    assert next(column["kind"] for column in found["columns"] if column["name"] == "age") == "number"


def test_a_table_with_nothing_odd(tmp_path: Path) -> None:
    text = "patient,age,disease\n" + "".join(f"p{n // 2},{30 + n // 2 % 5},d{n % 3}\n" for n in range(60))
    assert looked_at(project_of(tmp_path, text))["odd"] == []


def test_persons_that_no_column_names_are_pointed_out(tmp_path: Path) -> None:
    found = looked_at(project_of(tmp_path, "age,disease\n31,a\n31,b\n32,a\n"))
    assert found["person"] is None
    assert any("each record counts as a person" in each["words"] for each in found["odd"])


def test_a_short_line_is_an_error_with_its_number(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'file0.csv', line 3: .*2 fields"):
        looked_at(project_of(tmp_path, "a,b,c\n1,2,3\n1,2\n"))


def test_texts_taken_as_missing_are_missing(tmp_path: Path) -> None:
    project = project_of(tmp_path, MESSY, csv={"missing": ["", "unknown", "n/a"]})
    found = looked_at(project)
    age = next(column for column in found["columns"] if column["name"] == "age")
    assert (age["kind"], age["missing"]) == ("number", 1)
    assert project.table().collect()["age"].null_count() == 1


def test_the_table_that_is_kept_is_the_one_that_was_read(tmp_path: Path) -> None:
    project = project_of(tmp_path, "a,b\n01,x\n1,\n", "a,b\n3,z\n")
    looked_at(project)
    assert project.table().collect().rows() == [("01", "x"), ("1", None), ("3", "z")]
    assert preview(project) == (["a", "b"], [("01", "x"), ("1", None), ("3", "z")])
    first = project.table_file
    project.update(seen=project.chosen.version, sources=project.chosen.sources[:1])
    with pytest.raises(InputError, match="not read yet"):
        project.table()
    looked_at(project)
    assert not first.exists()
    assert len(list((project.folder / "cache").glob("*.parquet"))) == 1


def test_a_preview_is_short(tmp_path: Path) -> None:
    project = project_of(tmp_path, "a\n" + "1\n" * 500)
    looked_at(project)
    assert len(preview(project)[1]) == 20


def test_persons_are_joined_by_their_key(tmp_path: Path) -> None:
    project = project_of(tmp_path, "patient,disease\np1,flu\np2,flu\np1,cold\n")
    (tmp_path / "persons.csv").write_text("id,age\np1,30\np2,40\n")
    source = project.copy_file(tmp_path / "persons.csv")
    project.update(seen=project.chosen.version, person_file=source, join_on={"patient": "id"})
    looked_at(project)
    assert project.table().collect().rows() == [("p1", "flu", "30"), ("p2", "flu", "40"), ("p1", "cold", "30")]


def test_files_with_other_names_need_them_to_be_matched(tmp_path: Path) -> None:
    project = project_of(tmp_path, "sex,age\nF,1\n", "gender,age\nM,2\n")
    with pytest.raises(SchemaError, match="columns differ"):
        looked_at(project)
    assert [columns_of(project, source) for source in project.chosen.sources] == [["sex", "age"], ["gender", "age"]]
    project.update(seen=project.chosen.version, rename=({}, {"gender": "sex"}))
    looked_at(project)
    assert project.table().collect().rows() == [("F", "1"), ("M", "2")]
    sources = project.chosen.sources
    assert project.chosen.rename_for((*sources, SourceFile("new.csv", 1, ""))) == ({}, {"gender": "sex"}, {})
    assert project.chosen.rename_for(sources[1:]) == ({"gender": "sex"},)


def test_names_of_columns_come_from_the_beginning_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = project_of(tmp_path, "a;b\n" + "1;2\n" * 1000)
    monkeypatch.setattr(looking, "SAMPLE_BYTES", 50)
    assert columns_of(project, project.chosen.sources[0]) == ["a", "b"]
    assert columns_of(project, SourceFile("absent.csv", 1, "0" * 64)) == []
    assert list((project.folder / "cache").iterdir()) == []


def test_the_first_protection_is_the_starter_policy_and_runs(tmp_path: Path) -> None:
    from shoal.policy import Policy
    from shoal.policy.starter import starter_policy

    text = clinics().write_csv()
    project = project_of(tmp_path, text)
    looked_at(project)
    take_suggestions(project)
    starter = tmp_path / "starter.toml"
    starter.write_text(starter_policy(profile(project.table().collect()), table_name="x"))
    of_groups = tuple(model for model in Policy.load(starter).models if model.of_histories is None)
    assert project.policy().models == of_groups  # what is asked of histories is a sentence of its own in the app
    assert project.policy().columns == Policy.load(starter).columns


# Unique persons


def alone_by_definition(persons: Sequence[Any], combinations: Sequence[tuple[Any, ...]]) -> int:
    """A person is unique where nobody else has some combination that the person has."""
    owners = defaultdict(set)
    for person, combination in zip(persons, combinations, strict=True):
        owners[combination].add(person)
    return len({next(iter(found)) for found in owners.values() if len(found) == 1})


cells = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]))
records = st.lists(st.tuples(st.sampled_from("pqrst"), cells, cells, cells), min_size=1, max_size=25)


@settings(deadline=None, max_examples=60)
@given(records, st.sets(st.sampled_from("xyz")), st.booleans())
def test_unique_persons_are_counted_as_defined(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]], columns: set[str], has_person: bool
) -> None:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(["person", "x", "y", "z"], pl.String), orient="row")
    project = Project.open(tmp_path_factory.mktemp("alone") / "project")
    looking._keep(project, frame)
    chosen = sorted(columns)
    person = "person" if has_person else None
    persons = [row[0] for row in rows] if has_person else list(range(len(rows)))
    expected = alone_by_definition(persons, frame.select(chosen).rows()) if chosen else 0
    counter = AloneInTable(project)
    assert counter.count(person, chosen) == (expected, len(set(persons)))
    assert counter.count(person, [*chosen, *chosen]) == (expected, len(set(persons)))


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Float64, pl.Categorical, pl.Boolean])
def test_columns_with_types_are_counted_too(tmp_path: Path, dtype: Any) -> None:
    values = pl.Series("x", ["1", "1", None, "0", "0", None] if dtype == pl.Categorical else [1, 1, None, 0, 0, None])
    frame = pl.DataFrame({"person": ["a", "b", "c", "d", "d", "e"], "x": values.cast(dtype)})
    project = Project.open(tmp_path / "project")
    looking._keep(project, frame)
    assert AloneInTable(project).count("person", ["x"]) == (1, 5)


def test_a_count_knows_when_the_table_has_changed(tmp_path: Path) -> None:
    project = project_of(tmp_path, "patient,age\np1,3\np2,4\n")
    looked_at(project)
    counter = AloneInTable(project)
    assert counter.count("patient", ["age"]) == (2, 2)
    assert counter.is_current
    project.update(seen=project.chosen.version, csv={"missing": ["", "3"]})
    assert not counter.is_current
    with pytest.raises(InputError, match="not read yet"):
        AloneInTable(project).count("patient", ["age"])


def test_a_sas_data_set_goes_from_upload_to_release(tmp_path: Path) -> None:
    from shoal.demo.patients import made_up_patients
    from shoal.web import work
    from shoal.web.demo import ROLES, Silent
    from shoal.web.files import put_into, refuse_ending, refuse_other_content
    from tests.reading.sas import write_sas7bdat

    visits = made_up_patients(150, seed=2).with_columns(pl.col("visit_date").cast(pl.String))
    file = tmp_path / "visits.sas7bdat"
    columns = {name: [float(value) if isinstance(value, int) else value for value in visits[name]]
               for name in visits.columns}  # fmt: skip
    write_sas7bdat(file, columns, {})
    refuse_ending(file.name)
    refuse_other_content(file, file.name)
    project, tell = Project.open(tmp_path / "project"), Silent()
    put_into(project, project.copy_file(file), "records")
    look = looking.look(project, tell)  # type: ignore[arg-type]
    assert (look["format"], look["records"]) == ("sas7bdat", visits.height)
    project.put_result("look", look, depends_on="data")
    looking.take_suggestions(project)
    chosen = tuple(replace(each, role=ROLES[each.name][0], kind=ROLES[each.name][1], is_confirmed=True)
                   for each in project.chosen.columns)  # fmt: skip
    protection = {"models": {"person-k-anonymity": 5}, "budget": {"allow_alone": True}, "seed": 1}
    project.update(seen=project.chosen.version, columns=chosen, protection=protection)
    told = work.protect(project, tell)  # type: ignore[arg-type]
    assert told["verdict"]["holds"]
    assert any(path.name.startswith("release.") for path in (project.folder / "runs" / told["run"]).iterdir())
