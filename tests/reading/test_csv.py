"""CSV files are read exactly, or refused with the line and the reason."""

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError
from shoal.reading import CsvOptions, Reading, read_csv

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(content: bytes | str, name: str = "visits.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


def columns_of(reading: Reading) -> dict[str, list[str | None]]:
    assert set(reading.frame.dtypes) == {pl.String}
    return reading.frame.to_dict(as_series=False)


def refusal(path: Path, options: CsvOptions | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_csv(path, options)
    return str(caught.value)


# What is read


def test_all_columns_are_text_and_empty_is_missing(write: Write) -> None:
    reading = read_csv(write('patient,age,disease\n007,86,Asthma\n008,,""\n'))
    assert columns_of(reading) == {"patient": ["007", "008"], "age": ["86", None], "disease": ["Asthma", None]}
    assert reading.notes == ()
    assert reading.source.format == "csv"
    assert reading.source.csv == CsvOptions(delimiter=",")
    assert [path.name for path in reading.source.paths] == ["visits.csv"]


def test_white_space_and_texts_like_missing_are_kept(write: Write) -> None:
    reading = read_csv(write("a,b\n x ,NA\n\t,null\n"))
    assert columns_of(reading) == {"a": [" x ", "\t"], "b": ["NA", "null"]}


def test_missing_texts_are_those_asked_for(write: Write) -> None:
    path = write('a,b\nNA,\n?,"NA"\nx,NAN\n')
    assert columns_of(read_csv(path, CsvOptions(missing=("NA", "?")))) == {
        "a": [None, None, "x"],
        "b": ["", None, "NAN"],
    }
    assert columns_of(read_csv(path, CsvOptions(missing=()))) == {"a": ["NA", "?", "x"], "b": ["", "NA", "NAN"]}


def test_quoted_fields_hold_delimiters_quotes_and_line_ends(write: Write) -> None:
    reading = read_csv(write('a,b\n"x,y","say ""no"""\n"two\nlines","a\r\nb"\n"""",""""""\nlast,one'))
    assert columns_of(reading) == {"a": ["x,y", "two\nlines", '"', "last"], "b": ['say "no"', "a\r\nb", '""', "one"]}
    assert [reading.line_of_record(record) for record in range(4)] == [2, 3, 6, 7]


def test_header_may_hold_quoted_line_ends(write: Write) -> None:
    reading = read_csv(write('"a\nb","c,d"\n1,2\n3,4\n'))
    assert columns_of(reading) == {"a\nb": ["1", "3"], "c,d": ["2", "4"]}
    assert reading.line_of_record(0) == 3
    assert reading.line_of_record(1) == 4


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quoted", ["plain", '"quo,ted"'])
def test_line_ends_of_every_system(write: Write, line_end: str, quoted: str) -> None:
    reading = read_csv(write(line_end.join(["a,b", "1,2", f"3,{quoted}", "5,6", ""])))
    assert columns_of(reading) == {"a": ["1", "3", "5"], "b": ["2", quoted.strip('"'), "6"]}
    assert [reading.line_of_record(record) for record in range(3)] == [2, 3, 4]
    assert reading.notes == ()


def test_line_feed_and_windows_line_ends_may_be_mixed(write: Write) -> None:
    assert columns_of(read_csv(write("a,b\r\n1,2\n3,4\r\n"))) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_blank_lines_at_the_end_are_left_out_and_noted(write: Write) -> None:
    reading = read_csv(write("a,b\n1,2\n\n\r\n\n"))
    assert columns_of(reading) == {"a": ["1"], "b": ["2"]}
    assert reading.notes == ("3 blank lines at the end of 'visits.csv' left out.",)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_blank_line_in_one_column_is_a_missing_value(write: Write, line_end: str) -> None:
    path = write(line_end.join(["a", "", "1", "", "2", ""]))
    assert columns_of(read_csv(path)) == {"a": [None, "1", None, "2"]}
    assert columns_of(read_csv(path, CsvOptions(missing=()))) == {"a": ["", "1", "", "2"]}
    assert read_csv(path).line_of_record(3) == 5


def test_quote_inside_an_unquoted_value_is_text_and_noted(write: Write) -> None:
    reading = read_csv(write('pipe,note\n5" wide,x\n6 wide,"a ""b"", c"\n7 wide,y\n'))
    assert columns_of(reading) == {"pipe": ['5" wide', "6 wide", "7 wide"], "note": ["x", 'a "b", c', "y"]}
    assert reading.line_of_record(2) == 4
    [note] = reading.notes
    assert note.startswith("2 records of 'visits.csv' with the quote character inside a value")


def test_other_quote_or_none(write: Write) -> None:
    path = write("a,b\n'x,y',\"z\n")
    assert columns_of(read_csv(path, CsvOptions(quote="'"))) == {"a": ["x,y"], "b": ['"z']}
    path = write('a,b\n"x,y"\n')
    assert columns_of(read_csv(path, CsvOptions(quote=""))) == {"a": ['"x'], "b": ['y"']}


def test_white_space_around_column_names_is_removed_and_noted(write: Write) -> None:
    reading = read_csv(write("a, b ,c\n1, 2,3\n"))
    assert columns_of(reading) == {"a": ["1"], "b": [" 2"], "c": ["3"]}
    assert reading.notes == ("White space around 1 column name in 'visits.csv' was removed.",)


def test_gzip(write: Write) -> None:
    packed = gzip.compress(b"a,b\n1,2\n")
    assert columns_of(read_csv(write(packed, "visits.csv.gz"))) == {"a": ["1"], "b": ["2"]}
    assert "cut short or is not a gzip file" in refusal(write(packed[:-9], "cut.csv.gz"))
    assert "cut short or is not a gzip file" in refusal(write(b"a,b\n1,2\n", "plain.csv.gz"))


@pytest.mark.parametrize("value", ["\ufeffx", "x\x01", "x^", "x\u06b1", "#", "PAR1"])
def test_first_value_is_never_taken_for_a_mark_of_the_file(write: Write, value: str) -> None:
    assert columns_of(read_csv(write(f"a,b\n{value},1\n"))) == {"a": [value], "b": ["1"]}


@pytest.mark.parametrize("delimiter", ["0", "1"])
def test_delimiter_may_be_a_digit(write: Write, delimiter: str) -> None:
    reading = read_csv(write(f"a{delimiter}b\nx{delimiter}y\n"), CsvOptions(delimiter=delimiter))
    assert columns_of(reading) == {"a": ["x"], "b": ["y"]}


# Delimiters


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(write: Write, delimiter: str) -> None:
    lines = [["a", "b", "c"], ["1,5", "x;y", "2|3"], ["4,5", "x y", "6\t7"]]
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter).writerows(lines)
    reading = read_csv(write(text.getvalue()))
    assert list(reading.frame.iter_rows()) == [tuple(line) for line in lines[1:]]
    assert reading.source.csv is not None
    assert reading.source.csv.delimiter == delimiter


def test_delimiter_that_the_records_agree_on_is_found(write: Write) -> None:
    reading = read_csv(write("a (x, y);b\n1;2\n3,5;4\n"))
    assert reading.frame.columns == ["a (x, y)", "b"]


def test_delimiter_is_found_although_a_line_is_short(write: Write) -> None:
    message = refusal(write("a;b;c\n1;2;3\n4;5\n6;7;8\n"))
    assert "line 3: 2 fields, but the header has 3 columns" in message
    assert "The delimiter is ';' (found from the first lines" in message


def test_doubtful_delimiter_is_asked_for(write: Write) -> None:
    path = write("a,b;c\n1,2;3\n")
    assert "may be ',' or ';'" in refusal(path)
    assert columns_of(read_csv(path, CsvOptions(delimiter=";"))) == {"a,b": ["1,2"], "c": ["3"]}


def test_any_delimiter_may_be_given(write: Write) -> None:
    for delimiter in " :^%-]":
        reading = read_csv(write(f"a{delimiter}b\n1{delimiter}2\n"), CsvOptions(delimiter=delimiter))
        assert columns_of(reading) == {"a": ["1"], "b": ["2"]}


# Encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32"])
def test_encodings(write: Write, encoding: str) -> None:
    text = 'Straße,Größe\n"Köln, am Rhein",é\n'
    reading = read_csv(write(text.encode(encoding)), CsvOptions(encoding=encoding))
    assert columns_of(reading) == {"Straße": ["Köln, am Rhein"], "Größe": ["é"]}
    assert reading.source.csv == CsvOptions(encoding=encoding, delimiter=",")


def test_byte_order_mark_is_no_part_of_the_first_name(write: Write) -> None:
    assert read_csv(write("a,b\n1,2\n".encode("utf-8-sig"))).frame.columns == ["a", "b"]
    with_mark = "\ufeffa,b\n1,2\n".encode("utf-16-le")
    assert read_csv(write(with_mark), CsvOptions(encoding="utf-16-le")).frame.columns == ["a", "b"]


def test_wrong_encoding_is_refused_with_its_place(write: Write) -> None:
    message = refusal(write("a,b\n1,2\n3,Köln\n".encode("latin-1")))
    assert "'visits.csv', line 3: the byte at position 11 is not utf-8." in message
    assert "encoding=" in message
    assert "K" not in message.split("line 3")[1].split("Name")[0]


def test_wrong_encoding_late_in_a_large_file_is_refused(write: Write) -> None:
    content = ("a,b\n" + "é,2\n" * 50_000).encode() + "é,3\n".encode("latin-1")
    with patch("shoal.reading.encoding.CHUNK_BYTES", 4096):
        assert f"line 50,002: the byte at position {4 + 5 * 50_000:,} is not utf-8" in refusal(write(content))


def test_undefined_byte_of_a_code_page_is_refused(write: Write) -> None:
    message = refusal(write(b"a\n1\n\x81\n"), CsvOptions(encoding="cp1252"))
    assert "line 3: the byte at position 4 is not cp1252" in message
    assert "encoding='utf-8'" in message


def test_utf16_read_as_something_else_is_refused(write: Write) -> None:
    path = write("a,b\n1,2\n".encode("utf-16"))
    assert "use encoding='utf-16'" in refusal(path)
    assert "use encoding='utf-16'" in refusal(path, CsvOptions(encoding="latin-1"))
    assert "utf-16" in refusal(write("a,b\n1,2\n".encode("utf-16-le")))


def test_utf16_cut_in_a_character_is_refused(write: Write) -> None:
    assert "is not utf-16" in refusal(write("a\n1\n".encode("utf-16")[:-1]), CsvOptions(encoding="utf-16"))


def test_marked_utf8_read_as_something_else_is_refused(write: Write) -> None:
    message = refusal(write("a,b\n1,2\n".encode("utf-8-sig")), CsvOptions(encoding="cp1252"))
    assert "begins with the mark of UTF-8" in message


# Decimal comma


def test_decimal_commas_become_points_in_columns_of_numbers_only(write: Write) -> None:
    text = "weight;count;name;mixed\n1,5;1;a,b;1,5\n-2,25;2;1,5;low\n;3;c;2\n+,5e3;4;d;3\n"
    reading = read_csv(write(text), CsvOptions(decimal=","))
    assert columns_of(reading) == {
        "weight": ["1.5", "-2.25", None, "+.5e3"],
        "count": ["1", "2", "3", "4"],
        "name": ["a,b", "1,5", "c", "d"],
        "mixed": ["1,5", "low", "2", "3"],
    }
    assert reading.notes == ("Decimal commas in 1 column of 'visits.csv' became points: 'weight'.",)


def test_decimal_commas_that_nobody_spoke_of_are_noted_and_stay(write: Write) -> None:
    text = "weight;age;code;place\n70,5;81;A,1;1,5\n81;93;B,2;Oslo\n;7;C;2,5\n"
    reading = read_csv(write(text))
    assert reading.frame["weight"].to_list() == ["70,5", "81", None]
    (note,) = reading.notes
    assert note.startswith("Nothing but numbers with a comma is in 1 column of")
    assert "'weight'" in note
    assert "decimal=','" in note


def test_a_comma_that_ends_late_is_no_decimal_comma(write: Write) -> None:
    assert read_csv(write("a;b\n" + "1,5;1\n" * 200 + "Oslo;1\n")).notes == ()


def test_decimal_point_where_a_comma_was_promised_is_noted(write: Write) -> None:
    reading = read_csv(write("a;b\n1.5;1.234,5\n2;7,5\n"), CsvOptions(decimal=","))
    assert columns_of(reading) == {"a": ["1.5", "2"], "b": ["1.234,5", "7,5"]}
    assert [note for note in reading.notes if "'a'" in note and "left as they are" in note]


# What is refused


def test_absent_file_and_folder(tmp_path: Path) -> None:
    assert "There is no file" in refusal(tmp_path / "absent.csv")
    assert "is a folder" in refusal(tmp_path)


@pytest.mark.parametrize("content", ["", "\n", "\r\n\r\n", "\ufeff", "\ufeff\n"])
def test_empty_file(write: Write, content: str) -> None:
    assert "'visits.csv' is empty" in refusal(write(content))


@pytest.mark.parametrize("content", ["a,b", "a,b\n", "a,b\r\n\r\n", "a,b\r"])
def test_header_without_records(write: Write, content: str) -> None:
    assert "has a header with 2 columns and no records" in refusal(write(content))


def test_bad_column_names(write: Write) -> None:
    assert "names a column more than once: 'age'" in refusal(write("age,sex,age\n1,2,3\n"))
    assert "names a column more than once: 'age'" in refusal(write("age,sex, age\n1,2,3\n"))
    assert "2 columns of 3 without a name in the header, at position 1, 3" in refusal(write(",a, \n1,2,3\n"))
    assert "line 1: the line is blank" in refusal(write("\na,b\n1,2\n"))
    assert "'visits.csv' has columns whose names are read as patterns for names: '*'." in refusal(write("a,*\n1,2\n"))


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("quoted", ["plain", '"two, in one"'])
@pytest.mark.parametrize(
    ("line", "found"),
    [("1,2", "2 fields"), ("1,2,3,4", "4 fields"), ("1", "1 field"), ("", "the line is blank"), ("1,2,3,", "4 fields")],
)
def test_short_and_long_lines(write: Write, line: str, found: str, quoted: str, line_end: str) -> None:
    for after in (["7,8,9", ""], [f"7,8,{quoted}"], ["x,y,z", "1,2"]):
        message = refusal(write(line_end.join(["a,b,c", f"1,2,{quoted}", "4,5,6", line, *after])))
        assert f"'visits.csv', line 4: {found}, but the header has 3 columns" in message


def test_last_line_without_line_end_is_checked_too(write: Write) -> None:
    assert "line 3: 1 field" in refusal(write("a,b\n1,2\n3"))
    assert "line 3: 3 fields" in refusal(write("a,b\n1,2\n3,4,5"))


def test_line_of_an_error_counts_quoted_line_ends(write: Write) -> None:
    assert "line 5: 1 field" in refusal(write('a,b\n"1\n\n1",2\n3\n4,5\n'))
    assert "line 5: 1 field" in refusal(write('a,b\nx"1,"1\n\n2"\n3\n4,5\n'))


@pytest.mark.parametrize(
    ("content", "line"),
    [('a,b\n1,2\n"3,4\n5,6\n', 3), ('a,b\n1,"2', 2), ('a,b\nx"y,2\n1,2\n3,"4\n', 4), ('a,b\r1,2\r3,"4\r', 3)],
)
def test_unclosed_quote(write: Write, content: str, line: int) -> None:
    assert f"line {line}: a quoted field begins in this line and is never closed" in refusal(write(content))


def test_text_after_a_closing_quote(write: Write) -> None:
    message = refusal(write('a,b\n1,2\n"3"x,4\n'))
    assert "line 3" in message
    assert "text follows a closing quote" in message
    assert "line 1: a quoted column name" in refusal(write('"a"b,c\n1,2\n'))
    assert "line 1: a quoted column name" in refusal(write('"a,b\n1,2\n'))


@pytest.mark.parametrize(
    "content", ["a,b\n1,2\n3,x\ry\n", "a,b\r1,2\r3,x\ny\r", 'a,b\r"1",2\r3,x\ny\r', "a,b\n1,2\n3,4\r\r\n5,6\n"]
)
def test_line_ends_of_two_kinds(write: Write, content: str) -> None:
    assert "line 3: a line end of another kind" in refusal(write(content))


def test_nul_byte(write: Write) -> None:
    assert "line 3: a NUL byte" in refusal(write(b"a,b\n1,2\n3,\x004\n"))


def test_messages_hold_no_values(write: Write) -> None:
    for content in (
        "a,b\nsecret\n",
        'a,b\n"secret,1\n',
        'a,b\n"secret"x,1\n',
        "a,b\nsecret,x\ry\n",
        "a,b\nsecret,\0\n",
    ):
        assert "secret" not in refusal(write(content))
    assert "secret" not in repr(read_csv(write("a,b\nsecret,1\n")))


@pytest.mark.parametrize(
    "bad",
    [
        {"delimiter": ",,"},
        {"delimiter": "\n"},
        {"delimiter": "é"},
        {"quote": "''"},
        {"delimiter": '"'},
        {"decimal": "'"},
        {"encoding": "no such"},
        {"encoding": "base64"},
        {"missing": "NA"},
    ],
)
def test_bad_options(bad: dict[str, str]) -> None:
    with pytest.raises(ParameterError):
        CsvOptions(**bad)  # type: ignore[arg-type]


# Laws

VALUES = st.text(st.sampled_from(",;|\t\"'\n\r aé1\u2028\ufeff😀"), max_size=6) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4
)


@st.composite
def tables(draw: st.DrawFn) -> list[list[str]]:
    n_columns = draw(st.integers(1, 4))
    return draw(st.lists(st.lists(VALUES, min_size=n_columns, max_size=n_columns), min_size=1, max_size=8))


def written(records: list[list[str]], delimiter: str, line_end: str, quoting: int = csv.QUOTE_MINIMAL) -> str:
    """The records as Python's csv module writes them, which quotes both kinds of line end if it writes both itself."""
    lines = []
    for record in records:
        line = io.StringIO(newline="")
        csv.writer(line, delimiter=delimiter, lineterminator="\r\n", quoting=quoting).writerow(record)
        lines.append(line.getvalue().removesuffix("\r\n") + line_end)
    return "".join(lines)


def names_of(n_columns: int) -> list[str]:
    return [f"name{position}" for position in range(n_columns)]


@settings(deadline=None, max_examples=400)
@given(
    records=tables(),
    delimiter=st.sampled_from(",;\t|"),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    chunk_bytes=st.sampled_from([1, 2, 3, 7, 1 << 20]),
)
def test_any_table_is_read_back_exactly(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[list[str]],
    delimiter: str,
    line_end: str,
    quoting: int,
    encoding: str,
    chunk_bytes: int,
) -> None:
    text = written([names_of(len(records[0])), *records], delimiter, line_end, quoting)
    path = tmp_path_factory.mktemp("law") / "table.csv"
    path.write_bytes(text.encode(encoding))
    options = CsvOptions(delimiter=delimiter, encoding=encoding, missing=())
    with patch("shoal.reading.lines.CHUNK_BYTES", chunk_bytes):
        reading = read_csv(path, options)
    assert [list(record) for record in reading.frame.iter_rows()] == records
    line = 2
    counted_end = "\r" if line_end == "\r" else "\n"
    for position, record in enumerate(records):
        assert reading.line_of_record(position) == line
        line += 1 + sum(value.count(counted_end) for value in record)


@settings(deadline=None, max_examples=300)
@given(
    records=tables(),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    chunk_bytes=st.sampled_from([1, 2, 5, 1 << 20]),
    data=st.data(),
)
def test_a_short_or_long_line_is_always_refused_with_its_line(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[list[str]],
    line_end: str,
    chunk_bytes: int,
    data: st.DataObject,
) -> None:
    position = data.draw(st.integers(0, len(records) - 1))
    n_columns = len(records[0])
    n_fields = data.draw(st.integers(1, n_columns + 3).filter(lambda number: number != n_columns))
    spoilt = [list(record) for record in records]
    spoilt[position] = (spoilt[position] + ["more"] * 3)[:n_fields]
    path = tmp_path_factory.mktemp("law") / "table.csv"
    path.write_bytes(written([names_of(n_columns), *spoilt], ",", line_end).encode())
    counted_end = "\r" if line_end == "\r" else "\n"
    line = 2 + position + sum(value.count(counted_end) for record in records[:position] for value in record)
    with patch("shoal.reading.lines.CHUNK_BYTES", chunk_bytes):
        message = refusal(path, CsvOptions(delimiter=","))
    fields = "1 field" if n_fields == 1 else f"{n_fields} fields"
    assert f"line {line}: {fields}, but the header has {n_columns} column" in message


@settings(deadline=None, max_examples=300)
@given(body=st.text(st.sampled_from(',"\n\rab'), min_size=1, max_size=14), chunk_bytes=st.sampled_from([1, 3, 1 << 20]))
def test_any_text_is_read_as_the_csv_module_reads_it_or_refused(
    tmp_path_factory: pytest.TempPathFactory, body: str, chunk_bytes: int
) -> None:
    path = tmp_path_factory.mktemp("law") / "table.csv"
    path.write_bytes(b"one,two\n" + body.encode())
    expected = as_the_csv_module_reads(body.rstrip("\r\n"))
    with patch("shoal.reading.lines.CHUNK_BYTES", chunk_bytes):
        if expected is None:
            refusal(path, CsvOptions(delimiter=","))
            return
        try:
            reading = read_csv(path, CsvOptions(delimiter=",", missing=()))
        except InputError:
            assert "\r\r\n" in body  # one line end to the csv module, two to us
        else:
            assert [list(record) for record in reading.frame.iter_rows()] == expected


def as_the_csv_module_reads(body: str) -> list[list[str]] | None:
    """The records of two fields, or None where a strict reader refuses or a record has another number of fields."""
    try:
        records = list(csv.reader(io.StringIO(body, newline="\n"), strict=True))
    except csv.Error:
        return None
    return records if records and all(len(record) == 2 for record in records) else None


def test_a_large_file_is_read_whole(write: Write) -> None:
    n_records = 200_000
    lines = ["patient,age,note", *(f'{number % 40_000},{number % 97},"visit, {number}"' for number in range(n_records))]
    path = write("\n".join(lines))
    reading = read_csv(path)
    assert reading.frame.height == n_records
    assert reading.frame.row(n_records - 1) == (
        str((n_records - 1) % 40_000),
        str((n_records - 1) % 97),
        f"visit, {n_records - 1}",
    )
    assert reading.line_of_record(n_records - 1) == n_records + 1
    lines[150_000] += ",more"
    assert "line 150,001: 4 fields" in refusal(write("\n".join(lines)))
    lines[150_000] = '1,2,"two\nlines"'
    lines[10] = '1,5" wide,x'
    assert read_csv(write("\n".join(lines))).line_of_record(n_records - 1) == n_records + 2


def test_a_large_file_with_line_ends_in_its_values_is_read_as_the_csv_module_reads_it(write: Write) -> None:
    notes = ["plain", "two\nlines", 'a "b",\n"c"', "\n\n\n", "", ",", "é\r\n"]
    records = [[str(number), notes[number % 7], notes[number * number % 11 % 7]] for number in range(200_000)]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([["number", "one", "two"], *records])
    with patch("shoal.reading.csv._read_slowly", side_effect=AssertionError("polars is to read this file")):
        reading = read_csv(write(text.getvalue()), CsvOptions(missing=()))
    assert [list(record) for record in reading.frame.iter_rows()] == records
