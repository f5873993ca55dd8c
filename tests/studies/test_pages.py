"""Pages of the papers' studies are what their scripts write: the same words, the same parts, the same tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from studies import crest, inject, joint, mrpp, pages
from studies.census import SENSITIVE, hierarchies
from studies.data import ADULT_COLUMNS

PAGES = Path(pages.FOLDER)
PAPERS = ("crest", "inject", "joint", "mrpp")
PART = re.compile(r"<!-- ([\w-]+): ([\w-]+) -->.*?<!-- end of \1 -->", re.DOTALL)
STAMP = re.compile(r"\*Last run at commit [0-9a-f]{7,40}(-dirty)?\.\*")


@dataclass
class Named(pages.Parts):
    """Parts that are named and not made."""

    made: dict[str, Callable[[], str]] = field(default_factory=dict)

    def part(self, name: str, make: Callable[[], str]) -> str:
        self.names.append(name)
        self.made[name] = make
        return f"<!-- {name}: 0000000 --><!-- end of {name} -->"


def census(n: int = 240) -> pl.DataFrame:
    """Records with the columns of Adult, made up; enough different values for six in every group."""
    rng = np.random.default_rng(4)
    numbers = {"age": (18, 70), "fnlwgt": (10_000, 99_999), "hours-per-week": (20, 60)}
    few = {"sex": ["Female", "Male"], "race": ["Black", "White"]}
    columns = {}
    for name in ADULT_COLUMNS:
        if name in numbers:
            columns[name] = rng.integers(*numbers[name], n).astype(str)
        else:
            columns[name] = rng.choice(few.get(name, [f"{name} {letter}" for letter in "abcdefghijkl"]), n)
    return pl.DataFrame(columns)


def adults(n: int = 240) -> pl.DataFrame:
    """Records with values that the hierarchies of the study know, made up, and fourteen occupations."""
    rng = np.random.default_rng(7)
    known = {name: list(hierarchy.values) for name, hierarchy in hierarchies().items()}
    columns = {name: rng.choice(values, n) for name, values in known.items()}
    occupations = [f"occupation {letter}" for letter in "abcdefghijklmn"]
    hours = {"hours-per-week": rng.integers(20, 60, n).astype(str)}
    return pl.DataFrame({**columns, **hours, SENSITIVE: rng.choice(occupations, n)})


def clients(n: int = 40) -> pl.DataFrame:
    """Persons with a few records each, in the columns of the films."""
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(n), rng.integers(1, 6, n))
    age, zips = rng.integers(20, 60, n), rng.integers(10_000, 99_999, n)
    return pl.DataFrame(
        {
            "user": person,
            "age": age[person],
            "gender": np.where(person % 2, "F", "M"),
            "zip": zips[person],
            "seen": rng.integers(0, 60, len(person)).astype(str),
        }
    )


def points(class_: str, n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    names = ["pregnancies", "glucose", "pressure", "skin", "insulin", "bmi", "pedigree", "age"]
    return pl.DataFrame(rng.integers(1, 90, (n, 8)), schema=names).with_columns(
        pl.Series(class_, rng.choice(["0", "1"], n)), pregnancies=pl.Series(rng.integers(0, 3, n))
    )


def small_mrpp() -> list[mrpp.Study]:
    films = replace(mrpp.FILMS, load=clients)
    return [replace(study, load=clients, schema=films.schema) for study in mrpp.STUDIES]


def written(name: str) -> tuple[str, Named]:
    """What the script would write of a small table, without its parts."""
    parts = Named(name)
    match name:
        case "joint":
            text = joint.page(parts, census())
        case "inject":
            text = inject.page(parts, adults(), adults(300))
        case "crest":
            text = crest.page(parts, points("diabetes"), points("chronic"))
        case _:
            text = mrpp.page(parts, small_mrpp())
    return text, parts


def words(text: str) -> str:
    """A page without its parts and stamp, numbers as #, lines joined."""
    text = STAMP.sub("", PART.sub(r"[\1]", text))
    return " ".join(re.sub(r"\d[\d,.]*\d|\d", "#", text).split())


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_has_the_words_and_the_parts_of_its_script(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Named, "makes", lambda self, beginning: False)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    text, parts = written(name)
    assert [found.group(1) for found in PART.finditer(page)] == parts.names
    assert words(page) == words(text)


@pytest.mark.parametrize("name", PAPERS)
def test_every_part_was_run_at_a_commit(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert STAMP.search(page), "run the study again"
    assert pages.NOT_RUN not in page
    for found in PART.finditer(page):
        assert re.fullmatch(r"[0-9a-f]{7,40}(-dirty)?", found.group(2)), found.group(1)


def table_of(part: str) -> tuple[list[str], int]:
    """The heads of a part's tables, numbers as #, and how many rows they have."""
    lines = part.splitlines()
    heads = [lines[at] for at in range(len(lines) - 1) if re.fullmatch(r"\|(-+\|)+", lines[at + 1])]
    rows = sum(line.startswith("|") for line in lines) - 2 * len(heads)
    return heads, rows


FAST = [
    ("joint", "table_1"),
    ("joint", "attacks"),
    ("mrpp", "films-risks"),
    ("mrpp", "films-values"),
    ("crest", "section-7"),
    ("crest", "distributions"),
    ("crest", "several-classes"),
]


@pytest.mark.parametrize(("name", "part"), FAST)
def test_the_tables_of_a_page_are_those_that_the_script_makes(
    name: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a small table: the same heads and as many rows, so that a page older than its script is found."""
    monkeypatch.setattr(joint, "N_QUERIES", 30)
    monkeypatch.setattr(joint, "METHOD", joint.Mondrian(spread="z-score"))
    monkeypatch.setattr(crest, "SEEDS", (0,))
    _, parts = written(name)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    standing = next(found.group() for found in PART.finditer(page) if found.group(1) == part)
    assert table_of(standing) == table_of(parts.made[part]())


@pytest.mark.long
def test_every_part_of_a_study_that_takes_long_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script of INJECT's study is run as a whole, on a small table."""
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    few = {"N_QUERIES": 20, "EXPECTATIONS": ("0.90",), "LS": (3, 6), "OTHER_RUNS": 1, "RUNS": {"Anatomy": 1}}
    for name, value in few.items():
        monkeypatch.setattr(inject, name, value)
    monkeypatch.setattr(Named, "makes", lambda self, beginning: False)
    _, parts = written("inject")
    assert len(parts.made) == len(parts.names) > 10
    for name, make in parts.made.items():
        heads, rows = table_of(make())
        assert (heads and rows) or name == "found", name


def test_only_the_parts_named_are_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "FOLDER", tmp_path)
    first = pages.Parts("study")
    both = [first.part(name, lambda name=name: f"old {name}") for name in ("a", "b")]
    pages.write_page("study", "\n\n".join(both))
    again = pages.Parts.asked("study", ["b"])
    text = "\n\n".join(again.part(name, lambda name=name: f"new {name}") for name in ("a", "b", "c"))
    assert "old a" in text
    assert "new b" in text
    assert "old b" not in text
    assert pages.NOT_RUN in text
    again.refuse_unknown()
    with pytest.raises(SystemExit, match="No such part: x"):
        pages.Parts.asked("study", ["x"]).refuse_unknown()
