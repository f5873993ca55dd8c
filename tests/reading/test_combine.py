"""Several files become one table; what does not fit is refused, what matches nothing is counted."""

from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError, SchemaError
from shoal.reading import CsvOptions, Join, Reading, Source, join_persons, put_under_one_another, read

FRANKLIN = """\
Admission no.,Name,Age,Gender,ZIP,Disease,Physician
1001,Ashley,86,Female,20375,Asthma,Dr. Cox
1002,Charlie,69,Male,20048,Pneumonia,Dr. Khan
1003,Harry,74,Male,20400,Asthma,Dr. Cox
1004,Harry,75,Male,20400,Bronchitis,Dr. Cox
1005,Charlie,70,Male,20048,Pneumonia,Dr. Khan
1006,Charlie,71,Male,20048,Pneumonia,Dr. Khan
1007,Edward,84,Male,20090,Pneumonia,Dr. Smith
1008,Fred,78,Male,20400,Pneumonia,Dr. Smith
1009,Harry,76,Male,20400,Asthma,Dr. Patel
"""
LEXINGTON = """\
case;patient;sex;age in years;postcode;diagnosis;doctor
2001;Ashley;Female;86;20375;Reflux;Dr. Jones
2002;Bob;Male;85;20375;Reflux;Dr. Jones
2003;Charlie;Male;71;20048;Gastritis;Dr. Moore
2004;Diana;Female;84;20090;Ulcer;Dr. Taylor
2005;Charlie;Male;71;20048;Gastritis;Dr. Moore
2006;Diana;Female;84;20090;Gastritis;Dr. Moore
2007;Edward;Male;84;20090;Gastritis;Dr. Moore
2008;Greg;Male;78;20420;Ulcer;Dr. Taylor
2009;Harry;Male;74;20400;Ulcer;Dr. Brown
2010;Harry;Male;76;20400;Ulcer;Dr. Brown
"""
LEXINGTON_NAMES = {
    "case": "Admission no.",
    "patient": "Name",
    "sex": "Gender",
    "age in years": "Age",
    "postcode": "ZIP",
    "diagnosis": "Disease",
    "doctor": "Physician",
}

Write = Callable[[str, str | pl.DataFrame], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_file(name: str, content: str | pl.DataFrame) -> Path:
        path = tmp_path / name
        if isinstance(content, str):
            path.write_text(content)
        else:
            content.write_parquet(path)
        return path

    return write_file


# Under one another


def test_the_two_clinics_of_the_paper(write: Write) -> None:
    """Kartal and Li (2020), Tables 1 and 2 put together as Table 3a."""
    paths = [write("franklin.csv", FRANKLIN), write("lexington.csv", LEXINGTON)]
    reading = read(paths, rename=[{}, LEXINGTON_NAMES])
    frame = reading.frame
    assert frame.height == 19
    assert frame.columns == ["Admission no.", "Name", "Age", "Gender", "ZIP", "Disease", "Physician"]
    assert frame.row(9) == ("2001", "Ashley", "86", "Female", "20375", "Reflux", "Dr. Jones")
    records_of_person = dict(frame.group_by("Name").len().iter_rows())
    assert records_of_person == {
        "Ashley": 2,
        "Bob": 1,
        "Charlie": 5,
        "Diana": 2,
        "Edward": 2,
        "Fred": 1,
        "Greg": 1,
        "Harry": 5,
    }
    assert reading.source.paths == tuple(paths)
    assert reading.source.csv == CsvOptions(delimiter=",")
    assert reading.line_of_record(0) is None
    assert "19 records were put together: 9 of 'franklin.csv', 10 of 'lexington.csv'." in reading.notes


def test_one_file_keeps_its_lines_and_may_be_renamed(write: Write) -> None:
    reading = read(write("visits.csv", "a,b\n1,2\n3,4\n"), rename=[{"a": "b", "b": "a"}])
    assert reading.frame.to_dict(as_series=False) == {"b": ["1", "3"], "a": ["2", "4"]}
    assert reading.line_of_record(1) == 3


def test_columns_that_differ_are_all_named(write: Write) -> None:
    one, two = write("one.csv", "age,sex,zip\n1,2,3\n"), write("two.csv", "age,gender,zipcode\n1,2,3\n")
    with pytest.raises(SchemaError) as caught:
        read([one, two])
    message = str(caught.value)
    assert "'one.csv' has no column 'gender'." in message
    assert "'one.csv' has no column 'zipcode'.\nDid you mean 'zip'?" in message
    assert "'two.csv' has no column 'sex'." in message
    assert "'two.csv' has no column 'zip'.\nDid you mean 'zipcode'?" in message


def test_renaming_must_fit(write: Write) -> None:
    path = write("one.csv", "age,sex\n1,2\n")
    with pytest.raises(SchemaError, match=r"no column 'agee', named as column to be renamed\.\nDid you mean 'age'"):
        read([path], rename=[{"agee": "a"}])
    with pytest.raises(SchemaError, match="more than one column of the same name: 'sex'"):
        read([path], rename=[{"age": "sex"}])
    with pytest.raises(ParameterError, match="2 mappings of column names for 1 files"):
        read([path], rename=[{}, {}])
    with pytest.raises(ParameterError, match="no source"):
        read([])


@pytest.mark.parametrize(
    ("one", "two", "together"),
    [
        (pl.Series([1], dtype=pl.Int8), pl.Series([300]), pl.Series([1, 300])),
        (pl.Series([1]), pl.Series([0.5]), pl.Series([1.0, 0.5])),
        (pl.Series([2**63], dtype=pl.UInt64), pl.Series([-1]), pl.Series([2**63, -1], dtype=pl.Int128)),
        (pl.Series(["x"], dtype=pl.Categorical), pl.Series(["y"]), pl.Series(["x", "y"])),
        (pl.Series([None], dtype=pl.Null), pl.Series([True]), pl.Series([None, True])),
        (
            pl.Series([date(2020, 1, 2)]),
            pl.Series([datetime(2020, 1, 2, 3)]),
            pl.Series([datetime(2020, 1, 2), datetime(2020, 1, 2, 3)]),
        ),
    ],
)
def test_types_that_differ_are_brought_together(
    write: Write, one: pl.Series, two: pl.Series, together: pl.Series
) -> None:
    paths = [write("one.parquet", one.alias("c").to_frame()), write("two.parquet", two.alias("c").to_frame())]
    assert read(paths).frame["c"].equals(together, check_dtypes=True, null_equal=True)
    assert read(paths).source.format == "parquet"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (pl.Series([1]), pl.Series(["x"])),
        (pl.Series([True]), pl.Series([1])),
        (pl.Series([2**53 + 1]), pl.Series([0.5])),
        (pl.Series([date(2020, 1, 2)]), pl.Series([1])),
    ],
)
def test_types_that_do_not_fit_are_refused(write: Write, one: pl.Series, two: pl.Series) -> None:
    paths = [write("one.parquet", one.alias("c").to_frame()), write("two.parquet", two.alias("c").to_frame())]
    with pytest.raises(SchemaError) as caught:
        read(paths)
    assert f"Column 'c' has types that cannot be brought together: {one.dtype} in 'one.parquet'" in str(caught.value)


def test_csv_takes_the_types_of_parquet(write: Write) -> None:
    typed = write("one.parquet", pl.DataFrame({"age": [1], "day": [date(2020, 1, 2)], "note": [None]}))
    text = write("two.csv", "note,day,age\nx,2020-01-03,2\n,,\n")
    frame = read([typed, text]).frame
    assert frame.to_dict(as_series=False) == {
        "age": [1, 2, None],
        "day": [date(2020, 1, 2), date(2020, 1, 3), None],
        "note": [None, "x", None],
    }
    with pytest.raises(SchemaError) as caught:
        read([typed, write("two.csv", "note,day,age\nx,2020-01-03,old\nx,,3\n")])
    assert "Column 'age' is Int64 in another file, but 1 of 2 values in 'two.csv'" in str(caught.value)
    assert "old" not in str(caught.value)


# Persons to records

PERSONS = "id,sex,born\np1,f,1950\np2,m,1960\np3,f,1970\n"
RECORDS = "patient,disease\np2,Flu\np1,Asthma\np2,Ulcer\n"


def test_every_record_gets_its_person(write: Write) -> None:
    reading = read(
        [write("conditions.csv", RECORDS)],
        join=Join(person_file=write("persons.csv", PERSONS), on={"patient": "id"}),
    )
    assert reading.frame.to_dict(as_series=False) == {
        "patient": ["p2", "p1", "p2"],
        "disease": ["Flu", "Asthma", "Ulcer"],
        "sex": ["m", "f", "m"],
        "born": ["1960", "1950", "1960"],
    }
    assert reading.notes == ("1 of 3 persons in 'persons.csv' have no record in 'conditions.csv' and were left out.",)
    assert [path.name for path in reading.source.paths] == ["conditions.csv", "persons.csv"]
    assert reading.line_of_record(0) is None


def test_what_matches_nothing_is_counted(write: Write) -> None:
    records = write("conditions.csv", RECORDS + "p9,Flu\n,Flu\np8,Flu\n")
    reading = read(
        records, join=Join(person_file=write("demographics.csv", PERSONS + ",f,1980\n"), on={"patient": "id"})
    )
    assert reading.frame.height == 3
    assert reading.notes == (
        "2 of 6 records match no person in 'demographics.csv' and were left out.",
        "1 of 6 records in 'conditions.csv' have no key and were left out.",
        "1 of 4 persons in 'demographics.csv' have no record in 'conditions.csv' and were left out.",
        "1 of 4 persons in 'demographics.csv' have no key and were left out.",
    )


def test_the_key_may_have_one_name_or_several_parts(write: Write) -> None:
    persons = write("persons.csv", "site,id,sex\na,1,f\nb,1,m\n")
    records = write("records.csv", "id,site,disease\n1,b,Flu\n1,a,Ulcer\n")
    both = read(records, join=Join(person_file=persons, on={"id": "id", "site": "site"}))
    assert both.frame["sex"].to_list() == ["m", "f"]
    assert both.notes == ()
    with pytest.raises(SchemaError, match=r"1 key occurs more than once in 'persons.csv'"):
        read(write("records.csv", "id,disease\n1,Flu\n"), join=Join(person_file=persons, on="id"))
    with pytest.raises(ParameterError, match="at least one key column"):
        Join(person_file=persons, on={})


def test_repeated_keys_are_counted_once_each(write: Write) -> None:
    persons = write("persons.csv", "patient,sex\n" + "p1,f\n" * 3 + "p2,m\n" * 2 + "p3,m\n,m\n,f\n")
    with pytest.raises(SchemaError, match=r"^2 keys occur more than once"):
        read(write("conditions.csv", RECORDS), join=Join(person_file=persons, on="patient"))


def test_absent_key_is_refused_with_a_hint(write: Write) -> None:
    records, persons = write("conditions.csv", RECORDS), write("persons.csv", PERSONS)
    with pytest.raises(
        SchemaError, match=r"'conditions.csv' has no column 'patients', named as key\.\nDid you mean 'patient'"
    ):
        read(records, join=Join(person_file=persons, on={"patients": "id"}))
    with pytest.raises(SchemaError, match=r"'persons.csv' has no column 'patient', named as key"):
        read(records, join=Join(person_file=persons, on="patient"))


def test_columns_in_both_files_are_refused(write: Write) -> None:
    records = write("conditions.csv", "patient,sex,born,disease\np1,f,1950,Flu\n")
    with pytest.raises(SchemaError, match=r"in both 'conditions.csv' and 'persons.csv': 'sex', 'born'\."):
        read(records, join=Join(person_file=write("persons.csv", PERSONS), on={"patient": "id"}))
    persons = write("persons.csv", "id,patient\np1,x\n")
    with pytest.raises(SchemaError, match="'patient'"):
        read(records, join=Join(person_file=persons, on={"patient": "id"}))


def test_no_match_at_all_is_an_error(write: Write) -> None:
    records = write("conditions.csv", "patient,disease\nP1,Flu\n")
    with pytest.raises(InputError, match="None of the 1 records"):
        read(records, join=Join(person_file=write("persons.csv", PERSONS), on={"patient": "id"}))


def test_whole_number_keys_match_text(write: Write) -> None:
    records = write("conditions.csv", "patient,disease\n7,Flu\n8,Ulcer\n")
    persons = write("persons.parquet", pl.DataFrame({"patient": [8, 7], "sex": ["m", "f"]}))
    frame = read(records, join=Join(person_file=persons, on="patient")).frame
    assert frame.to_dict(as_series=False) == {"patient": ["7", "8"], "disease": ["Flu", "Ulcer"], "sex": ["f", "m"]}
    fractions = write("persons.parquet", pl.DataFrame({"patient": [8.0, 7.0], "sex": ["m", "f"]}))
    with pytest.raises(SchemaError, match="types that cannot be compared"):
        read(records, join=Join(person_file=fractions, on="patient"))


def test_sources_are_put_together_before_the_join(write: Write) -> None:
    one, two = write("one.csv", RECORDS), write("two.csv", "who,disease\np3,Flu\n")
    join = Join(person_file=write("persons.csv", PERSONS), on={"patient": "id"})
    reading = read([one, two], rename=[{}, {"who": "patient"}], join=join)
    assert reading.frame["born"].to_list() == ["1960", "1950", "1960", "1970"]


KEYS = st.none() | st.sampled_from(["a", "b", "c", "d", "e"])


@settings(deadline=None)
@given(record_keys=st.lists(KEYS, min_size=1), person_keys=st.lists(KEYS, min_size=1))
def test_a_join_loses_no_record_uncounted(record_keys: list[str | None], person_keys: list[str | None]) -> None:
    records = pl.DataFrame({"key": record_keys, "number": range(len(record_keys))}, schema_overrides={"key": pl.String})
    persons = pl.DataFrame({"key": person_keys, "of": range(len(person_keys))}, schema_overrides={"key": pl.String})
    of_person = {key: position for position, key in enumerate(person_keys) if key is not None}
    expected = [(key, number, of_person[key]) for number, key in enumerate(record_keys) if key in of_person]

    def join() -> Reading:
        return join_persons(
            Reading(records, Source((Path("records.csv"),), "csv")),
            Reading(persons, Source((Path("persons.csv"),), "csv")),
            Join(person_file="persons.csv", on="key"),
        )

    if len(of_person) < sum(key is not None for key in person_keys):
        with pytest.raises(SchemaError):
            join()
    elif not expected:
        with pytest.raises(InputError):
            join()
    else:
        reading = join()
        assert list(reading.frame.iter_rows()) == expected
        counts = [int(note.split()[0]) for note in reading.notes if "records" in note.split(" in ")[0]]
        assert sum(counts) == len(record_keys) - len(expected)


def test_notes_of_the_sources_are_kept() -> None:
    frame = pl.DataFrame({"a": ["x"]})
    one = Reading(frame, Source((Path("one.csv"),), "csv"), ("First.",))
    two = Reading(frame, Source((Path("two.csv"),), "csv"), ("Second.",))
    assert put_under_one_another([one, two]).notes[:2] == ("First.", "Second.")
