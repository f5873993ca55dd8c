"""Files as offices write them go from profile to a verified release; what is in doubt is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.policy import Policy
from tests.cli.conftest import Shoal
from tests.reading.german import german_table

DATES = "patient;born;age;disease\n" + "".join(f"p{i};0{i}/0{10 - i}/1980;{20 + i};d{i % 3}\n" for i in range(1, 10))


def test_a_german_file_goes_all_the_way_without_a_flag(shoal: Shoal) -> None:
    Path("kh.csv").write_bytes(german_table(600))
    run = shoal("profile", "kh.csv")
    assert run.code == 0, run.err
    source = Policy.load("kh.policy.toml").source
    assert source.date_format == {"Geburtsdatum": "dd.mm.yyyy", "Aufnahmedatum": "dd.mm.yyyy"}
    assert (source.encoding, source.delimiter, source.decimal, source.thousands) == ("cp1252", ";", ",", ".")
    assert "k.A." not in run.out + run.err
    protected = shoal("protect", "kh.csv", "--policy", "kh.policy.toml", "-o", "out", "--json")
    assert protected.json["verdict"]["holds"], protected.err
    assert shoal("verify", "out").code == 0
    assert Policy.load("out/steward/policy.toml").source.csv == source.csv


def test_what_is_found_without_a_policy_stands_in_the_policy_of_the_release(shoal: Shoal) -> None:
    Path("kh.csv").write_bytes(german_table(600))
    columns = ["--person", "Patientennummer", "--quasi", "Geschlecht,Wohnort", "--drop",
               "Geburtsdatum,Aufnahmedatum,Größe (cm),Gewicht (kg),Kosten,Postleitzahl,Diagnose"]  # fmt: skip
    run = shoal("protect", "kh.csv", *columns, "--record-risk", "0.2", "-o", "out")
    assert run.code == 0, run.err
    assert Policy.load("out/steward/policy.toml").source.encoding == "cp1252"
    assert shoal("verify", "out").code == 0


def test_two_readings_are_asked_by_shape_and_never_by_value(shoal: Shoal) -> None:
    Path("d.csv").write_text(DATES)
    asked = shoal("profile", "d.csv")
    assert asked.code == 2
    assert "dd/mm/yyyy and as mm/dd/yyyy" in asked.err
    assert "--date-format" in asked.err
    assert "1980" not in asked.err
    run = shoal("profile", "d.csv", "--date-format", "born=mm/dd/yyyy", "-o", "p.toml")
    assert run.code == 0, run.err
    assert Policy.load("p.toml").source.date_format == {"born": "mm/dd/yyyy"}
    assert shoal("profile", "d.csv", "--date-format", "dd/mm/yyyy", "-o", "q.toml").code == 0
    assert shoal("profile", "d.csv", "--date-format", "born=someday", "-o", "r.toml").code == 2


@pytest.mark.parametrize("engine", ["memory", "stream"])
def test_the_question_is_asked_by_every_engine_but_not_of_what_is_dropped(shoal: Shoal, engine: str) -> None:
    Path("d.csv").write_text(DATES)
    columns = ["--person", "patient", "--quasi", "age:number", "--sensitive", "disease", "--record-risk", "0.5"]
    asked = shoal("protect", "d.csv", *columns, "--keep", "born", "-o", "kept", "--engine", engine, "--allow-alone")
    assert asked.code == 2
    assert "--date-format" in asked.err
    dropped = shoal("protect", "d.csv", *columns, "--drop", "born", "-o", "out", "--engine", engine)
    assert dropped.code == 0, dropped.err


def test_engines_find_the_same(shoal: Shoal) -> None:
    text = "patient;weight;born;disease\n" + "".join(
        f"p{i};{60 + i % 5},{i % 10};{i % 28 + 1:02d}.01.1980;d{i % 3}\n" for i in range(40)
    )
    Path("w.csv").write_text(text + "p40;k.A.;30.01.1980;d1\n")
    columns = ["--person", "patient", "--quasi", "weight:number,born:date", "--sensitive", "disease"]
    answers = [
        shoal(
            "protect",
            "w.csv",
            *columns,
            "--record-risk",
            "0.2",
            "--seed",
            "1",
            "-o",
            engine,
            "--engine",
            engine,
            "--json",
        )
        for engine in ("memory", "stream")
    ]
    assert [answer.code for answer in answers] == [0, 0], answers[1].err
    assert answers[0].json["groups"] == answers[1].json["groups"]
    assert "or missing" in Path("stream/release.csv").read_text()


def test_a_header_that_may_be_a_record_is_asked_for(shoal: Shoal) -> None:
    Path("h.csv").write_text("1;20;a\n2;30;a\n3;40;a\n")
    asked = shoal("profile", "h.csv")
    assert asked.code == 2
    assert "--header" in asked.err
    assert "--no-header" in asked.err
    assert shoal("profile", "h.csv", "--no-header", "--json").json["records"] == 3
