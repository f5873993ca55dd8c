"""Cells that a spreadsheet would run: counted always, harmless on request, and the release still verifies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli.main import cli
from shoal.errors import OutputError
from shoal.policy import Policy
from shoal.publishing.cells import cells_that_run, with_safe_cells, without_safe_cells
from shoal.publishing.read import read_as_published
from shoal.publishing.tables import write_table
from shoal.reading import CsvOptions, read

RUN = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=", "-x", "-5 or so", "+49 30 123",
       "\uff1d1+1", "\uff0b1|x", "\uff0d2\uff0b3", "\uff20SUM(A1)", "\ufe66x", "\n=1", "\na", "\r\n=1", "\t1", " =1",
       "\u3000=1", "\xa0@x", "\u200b=1", "\ufeff=1", "\x0b=1", " \uff1d1"]  # fmt: skip
DO_NOT = ["", "a=1", "-5", "+5", "-5.25", "-1e5", "-5 to -2", "-5.0 to +2", "'", "'a", "1-2", "*", "-.5", " -5",
          " a=1", "a\n=1", "\uff11\uff0d\uff12"]  # fmt: skip


@pytest.mark.parametrize("text", RUN)
def test_what_runs_is_counted_and_gets_an_apostrophe(text: str) -> None:
    frame = pl.DataFrame({"a": [text, "b", None]})
    assert cells_that_run(frame) == {"a": 1}
    assert with_safe_cells(frame)["a"].to_list() == [f"'{text}", "b", None]


@pytest.mark.parametrize("text", DO_NOT)
def test_numbers_ranges_and_other_texts_stay(text: str) -> None:
    frame = pl.DataFrame({"a": [text]})
    assert cells_that_run(frame) == {}
    assert with_safe_cells(frame)["a"].to_list() == [text]


def test_numbers_are_no_formulas_and_names_are_cells() -> None:
    frame = pl.DataFrame(
        {"n": [-1, 2], "f": [-0.5, 1.0], "=cmd": ["a", "b"], "c": pl.Series(["=x", "y"], dtype=pl.Categorical)}
    )
    assert cells_that_run(frame) == {"=cmd": 1, "c": 1}
    safe = with_safe_cells(frame)
    assert safe.columns == ["n", "f", "'=cmd", "c"]
    assert safe["n"].to_list() == [-1, 2]


texts = st.text(alphabet="'=+-@\t\r\n\uff1d\uff20\u200ba1 .", max_size=5)


@given(st.lists(st.one_of(st.none(), texts), max_size=30), st.lists(texts, min_size=1, max_size=4, unique=True))
def test_safe_cells_are_undone_and_different_texts_stay_different(values: list[str | None], names: list[str]) -> None:
    frame = pl.DataFrame({name: pl.Series(values, dtype=pl.String) for name in names})
    safe = with_safe_cells(frame)
    assert without_safe_cells(safe).equals(frame, null_equal=True)
    assert without_safe_cells(safe).columns == names
    assert safe[safe.columns[0]].n_unique() == frame[names[0]].n_unique()
    assert cells_that_run(safe) == {}


VISITS = pl.DataFrame(
    {
        "=who": [f"p{number // 2}" for number in range(24)],
        "age": [20 + number // 2 for number in range(24)],
        "town": ["=north", "+south", "'=north", "west"] * 6,
        "disease": ["=HYPERLINK(1)", "-flu", "gout"] * 8,
    }
)
SCHEMA = shoal.Schema(person="=who", quasi=["age", shoal.Nominal("town")], sensitive=["disease"])
MODELS = [shoal.PersonKAnonymity(k=2), shoal.LDiversity(l=2, kind="distinct")]


@pytest.mark.parametrize("format", ["csv", "xlsx"])
@pytest.mark.parametrize("mask", ["range", "anatomize"])
def test_a_neutralised_release_verifies_and_is_told_of(tmp_path: Path, format: str, mask: str) -> None:
    options: dict[str, Any] = {"quasi_as": "range"} if mask == "anatomize" else {}
    release = shoal.protect(VISITS, SCHEMA, MODELS, mask=mask, **options)
    note = next(note for note in release.notes if "spreadsheet" in note)
    assert "'disease'" in note
    assert "safe_cells=True" in note
    folder = release.write(tmp_path / "out", format=format, safe_cells=True)
    for path in folder.glob(f"release*.{format}"):
        raw = pl.read_csv(path, infer_schema=False) if format == "csv" else read(path).frame
        assert cells_that_run(raw) == {}
        assert with_safe_cells(read_as_published(path, csv=CsvOptions()).frame).equals(raw, null_equal=True)
    assert "apostrophe" in json.loads((folder / "codebook.json").read_text())["safe_cells"]
    assert Policy.load(folder / "steward" / "policy.toml").safe_cells
    assert "spreadsheet would run" in (folder / "steward" / "report.html").read_text()
    ran = CliRunner().invoke(cli, ["verify", str(folder), "--json"])
    assert ran.exit_code == 0, ran.output


def test_without_being_asked_files_hold_the_values_as_they_are(tmp_path: Path) -> None:
    folder = shoal.protect(VISITS, SCHEMA, MODELS).write(tmp_path / "out")
    assert "=HYPERLINK(1)" in pl.read_csv(folder / "release.csv")["disease"].to_list()
    assert "safe_cells" not in json.loads((folder / "codebook.json").read_text())
    shoal.protect(VISITS, SCHEMA, MODELS).write(tmp_path / "binary", format="parquet", safe_cells=True)
    assert "=HYPERLINK(1)" in pl.read_parquet(tmp_path / "binary" / "release.parquet")["disease"].to_list()


def test_the_flag_is_kept_in_the_policy_and_later_records_follow_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    VISITS.write_csv("visits.csv")
    VISITS.with_columns(pl.col("=who") + "x").write_csv("later.csv")
    roles = ["--person", "=who", "--quasi", "age,town:nominal", "--sensitive", "disease", "--person-k", "2"]
    for command in (
        ["protect", "visits.csv", *roles, "-o", "out", "--safe-cells", "--keep-person-map"],
        ["verify", "out"],
        ["apply", "out", "later.csv", "-o", "grown"],
        ["verify", "grown"],
        ["report", "grown"],
        ["attack", "grown"],
    ):
        ran = CliRunner().invoke(cli, command)
        assert ran.exit_code == 0, (command, ran.output)
    grown = pl.read_csv("grown/release.csv", infer_schema=False)
    assert cells_that_run(grown) == {}
    assert grown.height == 48
    assert (tmp_path / "grown" / "steward" / "report.html").is_file()


# What a CSV file cannot give back


@pytest.mark.parametrize(
    ("frame", "told"),
    [
        (pl.DataFrame({"name ": ["a"]}), "'name '.*White space"),
        (pl.DataFrame({"\ufeffname": ["a"]}), "column names"),
        (pl.DataFrame({"a": ["x\0y"]}), "NUL characters in 'a'"),
        (pl.DataFrame({"a": pl.Series(["x\0y"], dtype=pl.Categorical)}), "NUL characters in 'a'"),
        (pl.DataFrame({"a": ["", None]}), "empty text from a missing value, and 'a'"),
    ],
)
def test_a_csv_file_that_would_be_read_otherwise_is_refused(tmp_path: Path, frame: pl.DataFrame, told: str) -> None:
    with pytest.raises(OutputError, match=f"(?s){told}.*Nothing was written"):
        write_table(frame, tmp_path / "release.csv", "csv")
    write_table(frame, tmp_path / "release.parquet", "parquet")
    assert pl.read_parquet(tmp_path / "release.parquet").equals(frame, null_equal=True)


def test_floats_that_count_as_one_value_are_published_as_one(tmp_path: Path) -> None:
    """-0.0 and NaN: a file would show them apart from 0.0 and from what is missing."""
    frame = pl.DataFrame({"age": [30] * 6, "x": [0.0, -0.0, float("nan"), None, 1.5, 1.5]})
    schema = shoal.Schema(quasi=["age"], sensitive=["x"])
    release = shoal.protect(frame, schema, [shoal.LDiversity(l=3, kind="distinct")])
    assert sorted(map(str, release.published.frame["x"].to_list())) == ["0.0", "0.0", "1.5", "1.5", "None", "None"]
    folder = release.write(tmp_path / "out")
    assert set(pl.read_csv(folder / "release.csv", infer_schema=False)["x"]) == {"0.0", None, "1.5"}


def test_a_sensitive_attribute_may_be_called_count() -> None:
    frame = pl.DataFrame({"age": [float(number) for number in range(12)], "count": ["a", "b", "c"] * 4})
    schema = shoal.Schema(quasi=["age"], sensitive=["count"])
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=3)], mask="perturb", method="mdav")
    assert shoal.verify(release.data, schema, release.models, linked=release.published.linked).verdict.holds


def test_a_verdict_that_is_infinite_is_written(tmp_path: Path) -> None:
    """Recursive diversity of a single value: what is reached has no number that JSON knows."""
    frame = pl.DataFrame({"age": [30] * 4, "x": ["a", "b", "a", "b"]})
    schema = shoal.Schema(quasi=["age"], sensitive=["x"])
    release = shoal.protect(frame, schema, [shoal.KAnonymity(k=2)])
    from dataclasses import replace

    verdict = replace(release.verdict, models=(replace(release.verdict.models[0], reached=float("inf")),))
    folder = replace(release, verdict=verdict).write(tmp_path / "out", report=False)
    assert json.loads((folder / "steward" / "manifest.json").read_text())["verdict"]["models"][0]["reached"] is None


def test_the_delimiter_of_a_file_is_told_and_not_guessed(tmp_path: Path) -> None:
    """Names and values with other delimiters in them would lead a guess astray."""
    frame = pl.DataFrame({"a|b": ["x|y"] * 6, "s": ["1|2", "3|4", "5|6"] * 2})
    schema = shoal.Schema(quasi=[shoal.Nominal("a|b")], sensitive=["s"])
    folder = shoal.protect(frame, schema, [shoal.KAnonymity(k=2)]).write(tmp_path / "out")
    assert json.loads((folder / "codebook.json").read_text())["delimiter"] == ","
    ran = CliRunner().invoke(cli, ["verify", str(folder)])
    assert ran.exit_code == 0, ran.output


def test_portions_do_not_forget_safe_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine for large files writes no apostrophes: it is refused where they are asked for."""
    monkeypatch.chdir(tmp_path)
    VISITS.rename({"=who": "who"}).write_csv("visits.csv", separator=";")
    command = ["protect", "visits.csv", "--person", "who", "--quasi", "age,town:nominal", "--sensitive", "disease",
               "--person-k", "2", "--engine", "stream", "--method", "mondrian"]  # fmt: skip
    ran = CliRunner().invoke(cli, [*command, "--safe-cells", "-o", "out"])
    assert ran.exit_code == 2, ran.output
    assert "--safe-cells" in ran.stderr
    ran = CliRunner().invoke(cli, [*command, "-o", "out"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(Path("out/codebook.json").read_text())["delimiter"] == ";"
    assert CliRunner().invoke(cli, ["verify", "out"]).exit_code == 0
