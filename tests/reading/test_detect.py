"""How a file is written is found in the file, or it is said that it is in doubt."""

from __future__ import annotations

import gzip
import io
import zipfile
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.reading import CsvOptions, Reading
from shoal.reading.detect import questions, refuse_unanswered
from tests.reading.german import german_table


def read(tmp_path: Path, content: str | bytes, name: str = "t.csv", **told: Any) -> Reading:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return shoal.read(path, csv=told or None)


def column(reading: Reading, name: str) -> list[Any]:
    return reading.frame[name].to_list()


def test_a_german_table_is_read_without_a_word(tmp_path: Path) -> None:
    reading = read(tmp_path, german_table(500))
    csv = reading.source.csv
    assert csv is not None
    assert (csv.delimiter, csv.encoding, csv.decimal, csv.thousands) == (";", "cp1252", ",", ".")
    assert (csv.missing, csv.missing_in) == (("",), {"Gewicht (kg)": ("k.A.",)})
    assert csv.date_format == {"Geburtsdatum": "dd.mm.yyyy", "Aufnahmedatum": "dd.mm.yyyy"}
    assert not questions(reading.findings)
    assert reading.frame["Aufnahmedatum"].str.to_date("%Y-%m-%d").is_between(date(2023, 1, 1), date(2023, 12, 28)).all()
    for name in ("Gewicht (kg)", "Kosten", "Größe (cm)"):
        assert reading.frame[name].cast(pl.Float64, strict=True).is_between(0, 10_000).all()
    assert reading.frame["Gewicht (kg)"].null_count() > 0
    assert {"Köln", "Münster"} < set(column(reading, "Wohnort"))
    assert all(found.reason for found in reading.findings)


def test_what_is_found_reads_the_same_when_it_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, german_table(200))
    again = shoal.read(tmp_path / "t.csv", csv=found.source.csv)
    assert again.frame.equals(found.frame, null_equal=True)
    assert again.findings == ()


# Encodings


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Müller;Köln;Straße;Ärztin\n", "latin-1"), ("Hélène;où;Besançon;Noël\n", "latin-1"),
        ("€ 5;Œuvre;Zoë;piñata\n", "cp1252"), ("Łódź;Wrocław;Gdańsk;żółty\n", "cp1250"),
        ("Müller;Köln;Straße;Größe\n", "cp850"), ("São;João;Conceição;avó\n", "latin-1"),
        ("Müller;Köln;Straße;Zoë\n", "utf-16"), ("Müller;Köln;Straße;Zoë\n", "utf-16-le"),
        ("Müller;Köln;Straße;Zoë\n", "utf-16-be"), ("Müller;Köln;Straße;Zoë\n", "utf-8-sig"),
        ("Łódź;Zoë;x;y\n", "utf-8"),
    ],
)  # fmt: skip
def test_encodings_are_found(tmp_path: Path, text: str, encoding: str) -> None:
    content = "a;b;c;d\n" + text * 20
    reading = read(tmp_path, content.encode(encoding))
    assert ";".join(reading.frame.row(0)) == text.strip()


CYRILLIC = "a;b\n" + "\u041f\u0451\u0442\u0440;\u041c\u043e\u0441\u043a\u0432\u0430\n" * 9


def test_letters_that_make_no_words_anywhere_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its encoding cannot be told"):
        read(tmp_path, CYRILLIC.encode("cp1251"))
    assert column(read(tmp_path, CYRILLIC.encode("cp1251"), encoding="cp1251"), "a")[0] == CYRILLIC[4:8]


def test_a_damaged_utf8_file_is_not_taken_for_another(tmp_path: Path) -> None:
    content = ("a,b\n" + "é,2\n" * 500).encode() + "é,3\n".encode("latin-1")
    with pytest.raises(InputError, match=r"line 502: .* is not utf-8"):
        read(tmp_path, content)


# Numbers


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["70,5", "81"], ["70.5", "81"]),
        (["1.234,5", "7"], ["1234.5", "7"]),
        (["1.234.567", "7"], ["1234567", "7"]),
        (["1,234,567", "7.5"], ["1234567", "7.5"]),
        (["1 234,5", "7"], ["1234.5", "7"]),
        (["1\u202f234", "7,5"], ["1234", "7.5"]),
        (["1'234.5", "7"], ["1234.5", "7"]),
        (["0,123", "1,234"], ["0.123", "1.234"]),
        (["1.5", "2"], ["1.5", "2"]),
        (["01067", "50667"], ["01067", "50667"]),
        (["1,5", "1.5"], ["1,5", "1.5"]),
        (["1,5", "low"], ["1,5", "low"]),
    ],
)
def test_numbers_are_read_as_their_signs_decide(tmp_path: Path, values: list[str], expected: list[str]) -> None:
    reading = read(tmp_path, "a;b\n" + "".join(f"{value};x\n" for value in values))
    assert column(reading, "a") == expected
    assert not questions(reading.findings)


@pytest.mark.parametrize("shape", ["1,234", "1.234"])
def test_thousands_or_decimals_is_asked(tmp_path: Path, shape: str) -> None:
    content = f"id;amount\na;{shape}\nb;{shape.replace('1', '5')}\n"
    reading = read(tmp_path, content)
    (asked,) = questions(reading.findings)
    assert (asked.what, asked.column) == ("decimal", "amount")
    assert shape not in asked.reason
    assert column(reading, "amount")[0] == shape
    with pytest.raises(InputError, match="more than one way"):
        refuse_unanswered("'t.csv'", reading.findings)
    refuse_unanswered("'t.csv'", reading.findings, dropped=["amount"])
    assert column(read(tmp_path, content, decimal=shape[1]), "amount")[0] == "1.234"
    assert column(read(tmp_path, content, decimal="." if shape[1] == "," else ","), "amount")[0] == "1234"


def test_another_column_decides_what_a_sign_means(tmp_path: Path) -> None:
    reading = read(tmp_path, "a;b\n1.234;2,5\n2.345;3,25\n")
    assert (column(reading, "a"), column(reading, "b")) == (["1234", "2345"], ["2.5", "3.25"])
    assert not questions(reading.findings)


# Dates


@pytest.mark.parametrize(
    ("values", "form", "first"),
    [
        (["30.01.2024", "01.02.2024"], "dd.mm.yyyy", "2024-01-30"),
        (["1.2.2024", "3.4.2024"], "dd.mm.yyyy", "2024-02-01"),
        (["30/01/2024", "01/02/2024"], "dd/mm/yyyy", "2024-01-30"),
        (["01/30/2024", "01/02/2024"], "mm/dd/yyyy", "2024-01-30"),
        (["30-01-2024", "01-02-2024"], "dd-mm-yyyy", "2024-01-30"),
        (["2024/01/30", "2024/1/2"], "yyyy/mm/dd", "2024-01-30"),
        (["2024-W05", "2024-W06"], "iso-week", "2024-01-29"),
        (["2024-W05-3", "2024W06"], "iso-week", "2024-01-31"),
        (["30.01.2024 9:05", "01.02.2024 10:00:30"], "dd.mm.yyyy", "2024-01-30 09:05"),
        (["30.01.2024 09:05", "01.02.2024"], "dd.mm.yyyy", "2024-01-30 09:05"),
        ([f"202401{day}" for day in range(10, 30)], "yyyymmdd", "2024-01-10"),
    ],
)
def test_dates_are_found(tmp_path: Path, values: list[str], form: str, first: str) -> None:
    reading = read(tmp_path, "a;b\n" + "".join(f"{value};x\n" for value in values))
    assert reading.source.csv is not None
    assert reading.source.csv.date_format == {"a": form}
    assert column(reading, "a")[0] == first
    assert not questions(reading.findings)


@pytest.mark.parametrize(
    ("values", "is_asked"),
    [
        (["2024-01-30", "2024-02-01"], False), (["1987", "1990"], False), (["01/02/2024", "03/04/2024"], True),
        (["01-02-2024"], True), (["01.02.24", "30.01.24"], True), (["20240101"], False), (["31.02.2024"], False),
        (["30.01.2024", "01.30.2024"], False),
    ],
)  # fmt: skip
def test_what_is_no_date_or_in_doubt_stays(tmp_path: Path, values: list[str], is_asked: bool) -> None:
    reading = read(tmp_path, "a;b\n" + "".join(f"{value};x\n" for value in values))
    assert column(reading, "a") == values
    assert bool(questions(reading.findings)) == is_asked
    assert not any(value in found.reason for value in values for found in reading.findings)


def test_an_answer_decides(tmp_path: Path) -> None:
    content = "a;b;c\n01/02/2024;03/04/2024;x\n"
    day = read(tmp_path, content, date_format={"": "dd/mm/yyyy"})
    assert day.frame.row(0) == ("2024-02-01", "2024-04-03", "x")
    own = read(tmp_path, content, date_format={"a": "mm/dd/yyyy", "b": "text"})
    assert own.frame.row(0) == ("2024-01-02", "03/04/2024", "x")
    assert not questions(own.findings)


def test_one_column_decides_for_another(tmp_path: Path) -> None:
    reading = read(tmp_path, "a;b\n01/02/2024;30/01/2024\n")
    assert reading.frame.row(0) == ("2024-02-01", "2024-01-30")


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("excel", "45321", "2024-01-30"), ("excel", "45321,5", "2024-01-30 12:00:00"),
        ("excel-1904", "43859", "2024-01-30"),
        ("yyyy", "1987", "1987-01-01"), ("mm.yyyy", "05.1987", "1987-05-01"), ("dd.mm.yy", "30.01.69", "1969-01-30"),
        ("dd.mm.yy", "30.01.68", "2068-01-30"), ("yyyy-mm", "1987-05", "1987-05-01"),
    ],
)  # fmt: skip
def test_forms_that_must_be_told(tmp_path: Path, form: str, value: str, expected: str) -> None:
    assert column(read(tmp_path, f"a;b\n{value};x\n", date_format={"a": form}), "a") == [expected]


def test_a_column_that_fails_under_its_reading_names_lines_and_counts(tmp_path: Path) -> None:
    content = "a;b\n30.01.2024;x\n31.02.2024;x\nnever;x\n"
    with pytest.raises(
        InputError, match=r"2 values of 'a' are no date written as dd.mm.yyyy, on lines 3, 4\."
    ) as raised:
        read(tmp_path, content, date_format={"a": "dd.mm.yyyy"})
    assert "never" not in str(raised.value)
    nearly = read(tmp_path, "a;b\n" + "30.01.2024;x\n" * 30 + "soon;x\n")
    assert any("30 values are dates written as dd.mm.yyyy, and 1 are not, on line 32." in note for note in nearly.notes)


def test_forms_nobody_knows_and_columns_nobody_has_are_refused(tmp_path: Path) -> None:
    for form in ("dd.mm", "yyyy.yyyy", "DD.MM.YYYY", "dd.mm.yyyyx", ""):
        with pytest.raises(ParameterError, match="form of dates"):
            CsvOptions(date_format={"a": form})
    with pytest.raises(SchemaError, match="Did you mean 'born'"):
        read(tmp_path, "born;b\n30.01.2024;x\n", date_format={"bron": "dd.mm.yyyy"})


# Missing, header, quotes


def test_marks_among_numbers_mean_missing(tmp_path: Path) -> None:
    reading = read(tmp_path, "a;b;c\n1;30.01.2024;NA\nk.A.;N/A;b\n3;01.02.2024;b\n")
    assert column(reading, "a") == ["1", None, "3"]
    assert column(reading, "b") == ["2024-01-30", None, "2024-02-01"]
    assert column(reading, "c") == ["NA", "b", "b"], "a text among texts may be a value"
    assert not any("k.A." in note for note in reading.notes)


def test_a_mark_of_one_column_is_a_value_of_another(tmp_path: Path) -> None:
    content = "weight;grade;note\n80;k.A.;x\nk.A.;one;k.A.\n70;two;-\n-;k.A.;y\n"
    reading = read(tmp_path, content)
    csv = reading.source.csv
    assert csv is not None
    assert (csv.missing, csv.missing_in) == (("",), {"weight": ("-", "k.A.")})
    assert column(reading, "weight") == ["80", None, "70", None]
    assert column(reading, "grade") == ["k.A.", "one", "two", "k.A."]
    assert column(reading, "note") == ["x", "k.A.", "-", "y"]
    told = read(tmp_path, content, missing_in={"grade": ["k.A."]})
    assert column(told, "grade") == [None, "one", "two", None]
    assert column(told, "weight") == ["80", None, "70", None], "other columns are still looked at"
    assert column(read(tmp_path, content, missing=[""]), "weight") == ["80", "k.A.", "70", "-"]
    assert column(read(tmp_path, content, missing_in={"weight": []}), "weight") == ["80", "k.A.", "70", "-"]
    with pytest.raises(SchemaError, match=r"missing_in names 'wieght'(?s:.)*Did you mean 'weight'"):
        read(tmp_path, content, missing_in={"wieght": ["-"]})
    with pytest.raises(ParameterError, match="tuple of texts"):
        CsvOptions(missing_in={"weight": "-"})  # type: ignore[dict-item]


def test_a_first_line_like_a_record_is_asked_for(tmp_path: Path) -> None:
    content = "1;m\n2;m\n3;w\n"
    (asked,) = questions(read(tmp_path, content).findings)
    assert asked.what == "header"
    without = read(tmp_path, content, header=False)
    assert without.frame.columns == ["column 1", "column 2"]
    assert without.frame.height == 3
    assert without.line_of_record(0) == 1
    assert not questions(read(tmp_path, content, header=True).findings)
    assert not questions(read(tmp_path, "id;2019;2020\na;1;2\n").findings)


def test_apostrophes_around_fields_are_quotes(tmp_path: Path) -> None:
    assert read(tmp_path, "'a';'b'\n'x;y';'2'\n'z';'3'\n").frame.rows() == [("x;y", "2"), ("z", "3")]
    assert column(read(tmp_path, "a;b\n't Hoen;1\nO'Neill;2\n"), "a") == ["'t Hoen", "O'Neill"]


# Packed files


def packed(content: bytes, ending: str, **members: bytes) -> bytes:
    if ending == ".gz":
        return gzip.compress(content)
    if ending == ".zst":
        return pa.Codec("zstd").compress(content, asbytes=True)  # type: ignore[no-any-return]
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w", zipfile.ZIP_DEFLATED) as file:
        for name, inside in {"t.csv": content, "__MACOSX/t.csv": b"?", **members}.items():
            file.writestr(name, inside)
    return book.getvalue()


@pytest.mark.parametrize("ending", [".gz", ".zip", ".zst"])
def test_packed_files_are_read_and_limited(tmp_path: Path, ending: str) -> None:
    content = b"a;b\n" + b"1,5;x\n" * 5000
    file = packed(content, ending)
    assert column(read(tmp_path, file, f"t.csv{ending}"), "a")[0] == "1.5"
    with pytest.raises(InputError, match="cut short or is not a"):
        read(tmp_path, file[: len(file) // 2], f"t.csv{ending}")
    with (
        patch("shoal.reading.packed.ALWAYS_BYTES", 1000),
        patch("shoal.reading.packed.MOST_TIMES", 2),
        pytest.raises(InputError, match=r"'t\.csv.*' unpacks to more than"),
    ):
        read(tmp_path, file, f"t.csv{ending}")


def test_a_zip_of_several_files_asks_for_one(tmp_path: Path) -> None:
    file = packed(b"a;b\n1;2\n", ".zip", **{"other.csv": b"c;d\n3;4\n"})
    with pytest.raises(InputError, match=r"2 files: t\.csv, other\.csv\. Name one of them with member="):
        read(tmp_path, file, "t.zip")
    assert read(tmp_path, file, "t.zip", member="other.csv").frame.columns == ["c", "d"]
    with pytest.raises(InputError, match=r"holds no file 'x\.csv'"):
        read(tmp_path, file, "t.zip", member="x.csv")


# Any table


SIGNS = {",": ("", ".", " ", "'"), ".": ("", ",", " ", "'")}


@st.composite
def dialects(draw: st.DrawFn) -> dict[str, Any]:
    decimal = draw(st.sampled_from(",."))
    delimiter = draw(st.sampled_from([";", "\t", "|"]))
    return {
        "delimiter": delimiter,
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16"])),
        "decimal": decimal,
        "thousands": draw(st.sampled_from(SIGNS[decimal])),
        "form": draw(st.sampled_from(["dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "yyyy-mm-dd", "yyyy/mm/dd"])),
        "mark": draw(st.sampled_from(["", "k.A.", "NA", "-"])),
    }


def number_in(cents: int, dialect: dict[str, Any]) -> str:
    whole = f"{cents // 100:,}".replace(",", dialect["thousands"])
    return f"{whole}{dialect['decimal']}{cents % 100:02d}"


def date_in(day: date, form: str) -> str:
    parts = {"dd": f"{day.day:02d}", "mm": f"{day.month:02d}", "yyyy": f"{day.year:04d}"}
    for name in ("yyyy", "dd", "mm"):
        form = form.replace(name, parts[name])
    return form


rows = st.tuples(
    st.sampled_from(["Köln", "Zürich", "Besançon", "Bonn"]), st.none() | st.integers(0, 10**8),
    st.none() | st.dates(date(1900, 1, 1), date(2099, 12, 31)),
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(dialect=dialects(), records=st.lists(rows, min_size=1, max_size=12))
def test_any_dialect_is_read_back_or_in_doubt(
    tmp_path_factory: pytest.TempPathFactory, dialect: dict[str, Any], records: list[Any]
) -> None:
    sign = dialect["delimiter"]
    lines = [sign.join(["Ort", "Betrag", "Größentag"])]
    for place, cents, day in records:
        amount = dialect["mark"] if cents is None else number_in(cents, dialect)
        lines.append(sign.join([place, amount, dialect["mark"] if day is None else date_in(day, dialect["form"])]))
    content = "\n".join(lines).encode(dialect["encoding"])
    reading = read(tmp_path_factory.mktemp("dialect"), content)
    asked = {found.column for found in questions(reading.findings)}
    frame = reading.frame
    assert frame.columns == ["Ort", "Betrag", "Größentag"]
    assert frame["Ort"].to_list() == [place for place, _, _ in records]
    n_amounts, n_days = (sum(record[place] is not None for record in records) for place in (1, 2))
    has_marks_of_days = "Größentag" not in asked and len(records) > n_days >= len(records) / 5
    is_sure = 5 * n_amounts >= len(records) or has_marks_of_days  # few numbers among many marks stay as they are
    if "Betrag" not in asked and n_amounts and is_sure:
        found = [None if text is None else round(float(text) * 100) for text in frame["Betrag"].to_list()]
        assert found == [cents for _, cents, _ in records]
    either = dialect["form"] in ("dd/mm/yyyy", "mm/dd/yyyy")
    days = [day for _, _, day in records]
    if any(day is not None for day in days):
        is_told = not either or any(day is not None and day.day > 12 for day in days)
        assert ("Größentag" in asked) == (not is_told)
        if is_told:
            assert [None if text is None else date.fromisoformat(text) for text in frame["Größentag"]] == days
