"""The hierarchy editor: what it begins with, what it shows, and that the policy reads back what it saves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.errors import InputError, ParameterError, PolicyError, SchemaError, ShoalError
from shoal.policy import Policy
from shoal.table.hierarchy import Hierarchy
from shoal.web import looking
from shoal.web.hierarchies import (
    MOST_TO_SORT,
    Sets,
    check_column,
    first_intervals,
    first_prefixes,
    is_of_sets,
    levels_of,
    made,
    name_for,
    read_lengths,
    read_number,
    remove_unused,
    values_of,
)
from shoal.web.project import ColumnChoice, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.open(tmp_path / "project")
    frame = pl.DataFrame({
        "zip": ["20375", "20379", "10001", None],
        "age": ["9", "31", "110", "31"],
        "job": ["nurse", "cook", "clerk", None],
    })  # fmt: skip
    looking._keep(project, frame)
    columns = (ColumnChoice("zip", "quasi"), ColumnChoice("age", "quasi"), ColumnChoice("job", "quasi", "nominal"))
    project.update(seen=0, columns=columns)
    return project


def test_values_are_listed_once_and_numbers_by_size(project: Project) -> None:
    assert values_of(project, "age") == ["9", "31", "110"]
    assert values_of(project, "job") == ["clerk", "cook", "nurse"]


def test_levels_show_how_values_get_coarser(project: Project) -> None:
    values = values_of(project, "zip")
    levels = levels_of(made(project, "zip", {"prefixes": [3, 1]}), values, "zip")
    assert levels.n_labels == (3, 2, 2, 1)
    assert ("20375", "203**", "2****", "*") in levels.examples
    ages = levels_of(made(project, "age", {"intervals": first_intervals(values_of(project, "age"))}),
                     values_of(project, "age"), "age")  # fmt: skip
    assert ages.examples[0] == ("9", "0-19", "0-39", "0-79", "*")
    assert ages.n_labels[0] == 3


def test_few_examples_are_shown_of_many_values() -> None:
    values = [f"{number:05d}" for number in range(1000)]
    levels = levels_of(Hierarchy.of_prefixes(values, lengths=[3]), values, "zip")
    assert len(levels.examples) == 8
    assert levels.n_labels == (1000, 10, 1)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"intervals": {"low": 0, "width": 0, "high": 10}}, "Width must be above 0"),
        ({"intervals": {"low": 20, "width": 5, "high": 10}}, "must not lie below low"),
        ({"prefixes": [3], "icd": True}, "Give exactly one of"),
        ({"file": "hierarchies/absent.csv"}, "absent.csv"),
        ({}, "exactly one"),
    ],
)
def test_what_makes_no_hierarchy_is_told_without_places_of_a_file(
    project: Project, choice: dict[str, Any], words: str
) -> None:
    with pytest.raises(ShoalError, match=words) as told:
        made(project, "zip", choice)
    assert "columns.quasi" not in str(told.value)


def test_a_hierarchy_that_misses_values_is_told_by_their_number(project: Project) -> None:
    (project.folder / "hierarchies" / "zip.csv").write_text("20375;*\n")
    with pytest.raises(SchemaError, match="misses 2 of 3 different values") as told:
        levels_of(made(project, "zip", {"file": "hierarchies/zip.csv"}), values_of(project, "zip"), "zip")
    assert "10001" not in str(told.value)


def test_intervals_to_begin_with_cover_the_numbers() -> None:
    for values in (["18", "97"], ["0.5", "0.75"], ["-3", "12000"], ["5"], ["1000000", "1000001"]):
        rule = first_intervals(values)
        hierarchy = Hierarchy.of_intervals(**rule)
        hierarchy.check_covers(values)
        assert hierarchy.intervals is not None
        assert hierarchy.intervals.n_intervals <= 22
    assert first_intervals(["x"])["width"] == 10


def test_prefixes_to_begin_with() -> None:
    assert first_prefixes(["20375"]) == [3, 2]
    assert first_prefixes(["ab"]) == [1]
    assert first_prefixes([]) == [1]


def test_what_is_typed_is_read_or_refused() -> None:
    assert read_lengths(" 3, 2;1 ") == [3, 2, 1]
    assert read_number("2,5", "width") == 2.5
    assert read_number("10.0", "width") == 10
    for text in ("x", "3 - 2", "-1"):
        with pytest.raises(ParameterError):
            read_lengths(text)
    for text in ("", "x", "nan", "inf"):
        with pytest.raises(ParameterError, match="Write a number for width"):
            read_number(text, "width")


# Sets


def test_sets_are_made_filled_and_dissolved() -> None:
    sets = Sets(["clerk", "cook", "nurse"])
    with pytest.raises(SchemaError, match="No category is in a set yet"):
        sets.rows()
    sets.add(" office ")
    sets.add("care")
    sets.move(["clerk", "cook", "stranger"], "office")
    sets.move(["cook"], "care")
    assert sets.members("office") == ["clerk"]
    assert sets.members("care") == ["cook"]
    assert sets.members("") == ["nurse"]
    assert sets.rows() == [("clerk", "office", "*"), ("cook", "care", "*"), ("nurse", "nurse", "*")]
    sets.move(["clerk"], "")
    sets.remove("care")
    assert sets.members("") == ["clerk", "cook", "nurse"]
    assert sets.names == [["office"]]


@pytest.mark.parametrize("name", ["", " ", "*", "office", "cook"])
def test_a_set_needs_a_name_of_its_own(name: str) -> None:
    sets = Sets(["clerk", "cook"])
    sets.add("office")
    with pytest.raises(ParameterError):
        sets.add(name)
    with pytest.raises(ParameterError, match="no such set"):
        sets.move(["cook"], "absent")


def test_too_many_values_are_not_sorted_by_hand() -> None:
    with pytest.raises(InputError, match="too many to sort by hand"):
        Sets([str(number) for number in range(MOST_TO_SORT + 1)])


def test_saved_sets_are_what_the_policy_reads_and_the_editor_opens(project: Project) -> None:
    sets = Sets(values_of(project, "job"))
    sets.add('rest; of "all"')
    sets.move(["clerk", "cook"], sets.names[0][0])
    choice = sets.save(project, "job")
    columns = tuple(
        column if column.name != "job" else ColumnChoice("job", "quasi", "nominal", hierarchy=choice)
        for column in project.chosen.columns
    )
    project.update(seen=project.chosen.version, columns=columns)
    policy = Policy.load(project.folder / "policy.toml")
    hierarchy = policy.schema(project.folder, project.table().collect()).columns[2].hierarchy
    assert hierarchy is not None
    assert hierarchy.lowest_common_ancestor(["clerk", "cook"]) == 'rest; of "all"'
    assert hierarchy.lowest_common_ancestor(["clerk", "nurse"]) == "*"
    again = Sets.of(values_of(project, "job"), hierarchy)
    assert again.set_of_item == sets.set_of_item
    assert Sets.of(["20375"], Hierarchy.of_intervals(low=0, width=5, high=99)).names == [[]]
    (project.folder / "hierarchies" / "unused.csv").write_text("a;*\n")
    remove_unused(project)
    assert [file.name for file in (project.folder / "hierarchies").iterdir()] == [Path(choice["file"]).name]


def test_columns_of_odd_names_get_files_of_their_own() -> None:
    names = {name_for(column) for column in ("a/b", "a b", "../a", "été", "*", "x" * 300)}
    assert len(names) == 6
    assert all(Path(name).name == name and len(name) < 60 for name in names)


def test_other_sets_are_another_file_so_that_a_release_of_the_former_ones_is_stale(project: Project) -> None:
    """They were written over the former ones, also by a tab that was behind, and the release stayed the present one."""
    sets = Sets(["clerk", "cook", "nurse"], [{"cook": "kitchen"}])
    first = sets.save(project, "job")
    before = (project.folder / first["file"]).read_bytes()
    sets.move(["clerk"], "kitchen")
    second = sets.save(project, "job")
    assert first != second
    assert (project.folder / first["file"]).read_bytes() == before
    assert all(is_of_sets(each["file"], "job") and not is_of_sets(each["file"], "zip") for each in (first, second))


# Kinds


def test_a_kind_that_the_values_do_not_have_is_refused(project: Project) -> None:
    check_column(project, ColumnChoice("age", "quasi", "number"))
    check_column(project, ColumnChoice("job", "kept", "number"))  # kinds are for quasi-identifiers only
    with pytest.raises(SchemaError, match="3 of 4 values are text"):
        check_column(project, ColumnChoice("job", "quasi", "number"))
    with pytest.raises(SchemaError, match="named as a date"):
        check_column(project, ColumnChoice("zip", "quasi", "date"))
    with pytest.raises(SchemaError, match="its order does not name"):
        check_column(project, ColumnChoice("job", "quasi", "ordered", order=("cook",)))
    check_column(project, ColumnChoice("job", "quasi", "ordered", order=("cook", "clerk", "nurse")))


def test_faults_of_a_policy_are_never_about_values(project: Project) -> None:
    with pytest.raises(PolicyError) as told:
        made(project, "zip", {"intervals": {"low": "20375", "width": "x", "high": 1}})
    assert "20375" not in str(told.value)
