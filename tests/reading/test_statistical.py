"""Files of SPSS, Stata, SAS, Excel and Arrow: real types come in, labels are kept or mapped, damage is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.errors import InputError, ParameterError, SchemaError
from shoal.reading import Labels, read
from tests.reading.sas import write_sas7bdat

pyreadstat = pytest.importorskip("pyreadstat")

SURVEY = pl.DataFrame(
    {
        "person": ["a", "bé", "日本", None],
        "visits": [1, None, 3, 2**40],
        "dose": [0.1, None, 2.5, -1e20],
        "born": [date(2020, 1, 2), None, date(1600, 1, 1), date(2199, 12, 31)],
        "seen": [datetime(2020, 1, 2, 3, 4, 5, 678000), None, datetime(1960, 1, 1), datetime(2000, 1, 1)],
        "hour": [time(1, 2, 3), None, time(0, 0), time(23, 59, 59)],
        "sex": [1, 2, 1, None],
        "grade": [3, 1, 2, 1],
    }
)
LABELS = {"sex": {1: "male", 2: "female"}, "grade": {1: "low", 2: "middle", 3: "high"}}
TEXTS = {"sex": "Sex of the person", "person": "Whose visit"}


def written(path: Path, frame: pl.DataFrame = SURVEY) -> Path:
    if path.suffix == ".sav":
        pyreadstat.write_sav(frame, path, column_labels=TEXTS, variable_value_labels=LABELS)
    elif path.suffix == ".dta":
        pyreadstat.write_dta(frame, path, column_labels=TEXTS, variable_value_labels=LABELS)
    else:
        pyreadstat.write_xport(frame, path, column_labels=TEXTS)
    return path


@pytest.mark.parametrize("format", ["sav", "dta", "xpt"])
def test_types_and_labels_are_kept(tmp_path: Path, format: str) -> None:
    reading = read(written(tmp_path / f"survey.{format}"))
    assert reading.frame.equals(SURVEY, null_equal=True)
    assert reading.frame.schema == SURVEY.schema
    assert (reading.source.format, reading.source.written_as) == (format, format)
    assert reading.labels.columns == TEXTS
    assert reading.labels.codes == ({} if format == "xpt" else LABELS)
    assert reading.notes == ()


@pytest.mark.parametrize("format", ["sav", "dta"])
def test_labels_take_the_place_of_codes_in_their_order(tmp_path: Path, format: str) -> None:
    frame = read(written(tmp_path / f"survey.{format}"), labels="values").frame
    assert frame["sex"].to_list() == ["male", "female", "male", None]
    assert frame["grade"].to_list() == ["high", "low", "middle", "low"]
    assert frame["grade"].dtype == pl.Enum(["low", "middle", "high"])


def test_codes_without_a_label_of_their_own_stay_codes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [30, 99], "sex": [1, 2], "grade": [1, 2]})
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        frame, path, variable_value_labels={"age": {99: "unknown"}, "sex": {1: "m", 2: "f"}, "grade": {1: "a", 2: "a"}}
    )
    reading = read(path, labels="values")
    assert reading.frame.to_dict(as_series=False) == {"age": [30, 99], "sex": ["m", "f"], "grade": [1, 2]}
    assert set(reading.labels.codes) == {"age", "grade"}
    assert "2 of 3 labelled columns" in reading.notes[0]
    assert "'age', 'grade'" in reading.notes[0]
    with pytest.raises(ParameterError):
        read(path, labels="both")


def test_declared_missing_values_and_empty_texts_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(pl.DataFrame({"q": [1.0, 99.0], "s": ["a", ""]}), path, missing_ranges={"q": [99]})
    assert read(path).frame.to_dict(as_series=False) == {"q": [1, None], "s": ["a", None]}


def test_times_longer_than_a_day_are_not_cut(tmp_path: Path) -> None:
    """The package shows 27:46:40 as 03:46:40, and 24:00:00 as midnight: different values became one."""
    seconds = pl.DataFrame({"h": [100_000.0, 86_400.0, 1.5, None], "i": [0.0, 1.5, 86_399.0, None]})
    pyreadstat.write_sav(seconds, tmp_path / "a.sav", variable_format={"h": "TIME8", "i": "DTIME13"})
    pyreadstat.write_xport(seconds, tmp_path / "a.xpt", variable_format={"h": "TIME8", "i": "HHMM8"})
    for name in ("a.sav", "a.xpt"):
        reading = read(tmp_path / name)
        assert reading.frame["h"].to_list() == [100_000.0, 86_400.0, 1.5, None]
        assert reading.frame["i"].to_list() == [time(0), time(0, 0, 1, 500_000), time(23, 59, 59), None]
        assert reading.notes == (
            f"Times in '{name}' that are longer than a day or negative are read as seconds, in the columns 'h'.",
        )
    moments = pl.DataFrame({"h": [1_900_000_000_000.0, None], "i": [3_600_000.0, None]})
    pyreadstat.write_dta(moments, tmp_path / "a.dta", variable_format={"h": "%tcHH:MM", "i": "%tcHH:MM"})
    frame = read(tmp_path / "a.dta").frame
    assert frame.rows() == [(datetime(2020, 3, 16, 17, 46, 40), time(1)), (None, None)]


@pytest.mark.parametrize(
    ("format", "kinds", "number"),
    [
        ("sav", ("MOYR8", "QYR8", "WKYR10", "DATE11"), 13_797_302_400.0),
        ("dta", ("%-td", "%tdD_m_Y", "%dD/N/Y", "%td"), 21_916.0),
        ("xpt", ("MONYY7", "YEAR4", "WORDDATE18", "DATE9"), 21_916.0),
    ],
)
def test_dates_are_dates_in_whatever_form_they_are_shown(
    tmp_path: Path, format: str, kinds: tuple[str, ...], number: float
) -> None:
    path = tmp_path / f"a.{format}"
    names = [f"d{at}" for at in range(len(kinds))]
    frame = pl.DataFrame({name: [number, None] for name in names})
    writer = {"sav": "write_sav", "dta": "write_dta", "xpt": "write_xport"}[format]
    getattr(pyreadstat, writer)(frame, path, variable_format=dict(zip(names, kinds, strict=True)))
    assert read(path).frame.rows() == [(date(2020, 1, 2),) * 4, (None,) * 4]


def test_seconds_of_sas_that_are_shown_as_dates_are_no_days(tmp_path: Path) -> None:
    pyreadstat.write_xport(pl.DataFrame({"d": [1.9e9, None]}), tmp_path / "a.xpt", variable_format={"d": "DTDATE9"})
    assert read(tmp_path / "a.xpt").frame["d"].to_list() == [datetime(2020, 3, 16, 17, 46, 40), None]


def test_sas_data_sets_are_read_and_released_as_transport_files(tmp_path: Path) -> None:
    path = tmp_path / "survey.sas7bdat"
    days = (date(2020, 1, 2) - date(1960, 1, 1)).days
    columns = {"person": ["a", "é", None], "visits": [1.0, None, 2.0**40], "dose": [0.5, 1e20, None]}
    write_sas7bdat(path, {**columns, "born": [float(days), None, 0.0]}, {"born": "DATE"})
    reading = read(path)
    assert reading.frame.to_dict(as_series=False) == {
        "person": ["a", "é", None],
        "visits": [1, None, 2**40],
        "dose": [0.5, 1e20, None],
        "born": [date(2020, 1, 2), None, date(1960, 1, 1)],
    }
    assert reading.frame.schema["visits"] == pl.Int64
    assert reading.labels.columns["dose"] == "dose of the person"
    assert (reading.source.format, reading.source.written_as) == ("sas7bdat", "xpt")


@pytest.mark.parametrize("format", ["sav", "dta", "xpt", "sas7bdat"])
def test_a_damaged_file_is_refused(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"survey.{format}"
    for content in (b"", b"name,age\nCanaryPerson,30\n" * 50):
        path.write_bytes(content)
        with pytest.raises(InputError, match="damaged or encrypted") as caught:
            read(path)
        assert "Canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "package"),
    [("a.sav", "pyreadstat"), ("a.dta", "pyreadstat"), ("a.sas7bdat", "pyreadstat"), ("a.xlsx", "fastexcel")],
)
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[stats\]'"):
        read(tmp_path / name)


def test_labels_of_several_files_go_together_or_are_refused(tmp_path: Path) -> None:
    one, two, other = (tmp_path / f"{name}.sav" for name in ("one", "two", "other"))
    frame = pl.DataFrame({"gender": [1, 2]})
    pyreadstat.write_sav(frame, one, variable_value_labels={"gender": {1: "male"}}, column_labels={"gender": "Gender"})
    pyreadstat.write_sav(frame.rename({"gender": "sex"}), two, variable_value_labels={"sex": {2: "female"}})
    pyreadstat.write_sav(frame, other, variable_value_labels={"gender": {1: "canary", 2: "female"}})
    both = read([one, two], rename=[{}, {"sex": "gender"}])
    assert both.labels == Labels({"gender": "Gender"}, {"gender": {2: "female", 1: "male"}})
    with pytest.raises(SchemaError, match=r"'gender' \(1 codes\)") as caught:
        read([one, other])
    assert "canary" not in str(caught.value)
    pyreadstat.write_sav(frame, one, variable_value_labels={"gender": {1: "male", 2: "female"}})
    mapped = read([one, other], labels="values")
    assert mapped.frame["gender"].to_list() == ["male", "female", "canary", "female"]


# Excel


def workbook(path: Path, **sheets: pl.DataFrame) -> Path:
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        for name, frame in sheets.items():
            frame.write_excel(book, name)
    return path


VISITS = pl.DataFrame(
    {
        "person": ["007", "日本", None],
        "visits": [1, None, 3],
        "dose": [0.5, None, 1e20],
        "born": [date(2020, 1, 2), None, date(1950, 1, 1)],
        "seen": [datetime(2020, 1, 2, 3, 4, 5, 678000), None, datetime(2000, 1, 1)],
        "old": [True, None, False],
    }
)


def test_excel_types_are_kept(tmp_path: Path) -> None:
    reading = read(workbook(tmp_path / "visits.xlsx", visits=VISITS))
    assert reading.frame.with_columns(pl.col("seen").cast(pl.Datetime("us"))).equals(VISITS, null_equal=True)
    assert reading.frame.schema["born"] == pl.Date
    assert reading.source.format == "xlsx"


def test_a_mixture_of_numbers_and_texts_is_text_also_where_the_text_comes_last(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "mixed.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for row, value in enumerate(["code", *range(5000), "x"]):
            sheet.write(row, 0, value)
    codes = read(path).frame["code"]
    assert codes.dtype == pl.String
    assert codes.to_list() == [*map(str, range(5000)), "x"]


def test_a_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    path = workbook(tmp_path / "visits.xlsx", visits=VISITS, others=VISITS.head(1))
    assert read(path, sheet="others").frame.height == 1
    for sheet, words in ((None, "2 sheets: visits, others"), ("visit", "Did you mean 'visits'?")):
        with pytest.raises(InputError) as caught:
            read(path, sheet=sheet)
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("header", "words"), [(["a", None], "position 2"), (["a", "a"], "more than once: a"), (["a", "b"], "no records")]
)
def test_a_sheet_without_names_or_records_is_refused(tmp_path: Path, header: list[str | None], words: str) -> None:
    import xlsxwriter

    path = tmp_path / "odd.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, header)
        if words != "no records":
            sheet.write_row(1, 0, ["CanaryPerson", 2])
    with pytest.raises(InputError, match=words) as caught:
        read(path)
    assert "Canary" not in str(caught.value)


def test_what_is_no_workbook_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_text("name\nCanaryPerson\n")
    with pytest.raises(InputError, match="no Excel workbook"):
        read(tmp_path / "a.xlsx")


def sheet_with(path: Path, fill: Callable[[Any, Any], None]) -> Path:
    """A workbook with the columns p, x and y, two records, and what else a function writes."""
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("visits")
        sheet.write_row(0, 0, ["p", "x", "y"])
        sheet.write_row(1, 0, ["a", 1, 2])
        sheet.write_row(2, 0, ["b", 3, 4])
        fill(sheet, book)
    return path


TOTALS = {"columns": [{"header": name} for name in "pxy"], "total_row": True}


@pytest.mark.parametrize(
    ("fill", "told"),
    [
        (lambda sheet, _: sheet.write_formula(1, 1, "=1/0", None, "#DIV/0!"), "such as #DIV/0! or #N/A, are read as "
         "missing: 1 in 'x'."),
        (lambda sheet, _: sheet.write_formula(2, 2, "=B3*2", None, ""), "1 formulas in 'odd.xlsx' have no result"),
        (lambda sheet, _: sheet.set_row(2, None, None, {"hidden": True}), "hidden cells (1 rows, 0 ranges of columns)"),
        (lambda sheet, _: sheet.set_column(2, 2, None, None, {"hidden": True}), "(0 rows, 1 ranges of columns)"),
        (lambda sheet, _: sheet.write_column(1, 2, [10**16, 10**16 + 2]), "longer ones in 'y'"),
    ],
)  # fmt: skip
def test_what_a_sheet_shows_otherwise_is_told(tmp_path: Path, fill: Callable[..., None], told: str) -> None:
    (note,) = read(sheet_with(tmp_path / "odd.xlsx", fill)).notes
    assert told in note


@pytest.mark.parametrize(
    ("fill", "told"),
    [
        (lambda sheet, _: sheet.merge_range(1, 0, 2, 0, "a"), "1 merged cells among the records"),
        (lambda sheet, _: sheet.add_table(0, 0, 3, 2, TOTALS), "a row of totals, which is no record"),
        (lambda sheet, book: sheet.write_datetime(0, 2, date(2020, 1, 2), book.add_format({"num_format": "yyyy"})),
         "a name that is no text"),
        (lambda sheet, _: sheet.write_number(1, 2, 1e19), "more than 18 digits"),
    ],
)  # fmt: skip
def test_what_would_make_other_records_is_refused(tmp_path: Path, fill: Callable[..., None], told: str) -> None:
    with pytest.raises(InputError, match=told):
        read(sheet_with(tmp_path / "odd.xlsx", fill))


def test_an_empty_text_of_a_formula_and_merged_headings_elsewhere_are_no_faults(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "fine.xlsx"
    with xlsxwriter.Workbook(path) as book:
        other, sheet = book.add_worksheet("other"), book.add_worksheet("visits")
        other.merge_range(0, 0, 5, 5, "title")
        sheet.write_row(0, 0, ["p", "x"])
        sheet.write_row(1, 0, ["a", "b"])
        sheet.write_formula(2, 0, '="c"', None, "c")
    assert read(path, sheet="visits").notes == ()


# Arrow


def test_arrow_types_are_kept_in_files_and_streams(tmp_path: Path) -> None:
    frame = VISITS.with_columns(
        kind=pl.Series(["x", None, "y"], dtype=pl.Categorical),
        grade=pl.Series(["low", "high", None], dtype=pl.Enum(["low", "high"])),
        cost=pl.Series(["1.10", None, "-3.00"]).cast(pl.Decimal(38, 2)),
        large=pl.Series([2**63 - 1, None, -(2**63)], dtype=pl.Int64),
    )
    frame.write_ipc(tmp_path / "visits.arrow")
    frame.write_ipc(tmp_path / "visits.feather", compression="lz4")
    frame.write_ipc_stream(tmp_path / "visits.ipc")
    for name in ("visits.arrow", "visits.feather", "visits.ipc"):
        reading = read(tmp_path / name)
        assert reading.frame.equals(frame, null_equal=True)
        assert reading.frame.schema == frame.schema
        assert reading.source.written_as == "arrow"


def test_every_cut_of_an_arrow_file_is_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.arrow"
    pl.DataFrame({"a": list(range(50)), "b": ["x"] * 50}).write_ipc(whole)
    content = whole.read_bytes()
    cut = tmp_path / "cut.arrow"
    for length in (*range(40), len(content) // 2, len(content) - 8, len(content) - 1):
        cut.write_bytes(content[:length])
        with pytest.raises(InputError):
            read(cut)
    cut.write_bytes(b"FEA1" + content)
    with pytest.raises(InputError, match="version 1"):
        read(cut)
