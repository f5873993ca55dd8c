"""Bad input: the right exit code, a message that names the column, the count or the line, and nothing written."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import COLUMNS, MODELS, POLICY, Answer, Shoal

HEADER = "name,age,gender,zip,disease\n"
RECORD = "Quixote,41,Male,20375,Asthma\n"
ROLES = ["--person", "name", "--quasi", "age,gender:nominal,zip", "--sensitive", "disease"]


def refused(run: Answer, *told: str, code: int = 2) -> None:
    assert run.code == code, (run.out, run.err)
    if run.out:
        error = run.error
        assert error["message"] in run.err.replace("Error: ", "")
        assert error["hint"] is None or error["hint"]
    for words in told:
        assert words in run.err
    assert "Quixote" not in run.err + run.out, "a cell value was told"
    assert "Traceback" not in run.err
    assert not Path("out").exists(), "something was written"
    assert not [path for path in Path().iterdir() if path.name.startswith(".")], "something was left behind"


@pytest.mark.parametrize(
    ("content", "flags", "told"),
    [
        (b"", [], ["'bad.csv' is empty"]),
        (HEADER.encode(), [], ["no records"]),
        (b"name,age,age\nQuixote,1,2\n", [], ["'age'", "more than once"]),
        ((HEADER + RECORD + "Quixote,41\n").encode(), [], ["line 3"]),
        ((HEADER + RECORD + "Quixote,41,Male,20375,Asthma,more\n").encode(), [], ["line 3"]),
        ((HEADER + RECORD).replace("Asthma", "Astme é").encode("latin-1"), ["--encoding", "utf-8"],
         ["utf-8", "--encoding"]),
        ((HEADER + RECORD + RECORD.replace("Quixote", "")).encode(), [], ["'name'", "1 of 2", "line 3"]),
        ((HEADER + RECORD + RECORD.replace("41", "Quixote")).encode(), ["--quasi", "age:number,gender,zip"],
         ["'age'", "1 of 2", "line 3"]),
        ((HEADER + RECORD + RECORD.replace("41", "Quixote")).encode(), ["--quasi", "age,gender,zip"],
         ["'age'", "age:number", "line 3"]),
        ((HEADER + RECORD + RECORD.replace("41", "inf")).encode(), ["--quasi", "age:number,gender,zip"],
         ["'age'", "infinite", "line 3"]),
        ((HEADER + RECORD + RECORD.replace("41", "NaN")).encode(),
         ["--quasi", "age:number,gender,zip", "--missing-text", "none"], ["'age'", "not a number", "line 3"]),
        ((HEADER + RECORD).encode(), ["--quasi", "agee,gender,zip"], ["'agee'", "Did you mean 'age'?"]),
        ((HEADER + RECORD).encode(), ["--sensitive", "disease,age"], ["'age'", "quasi", "sensitive"]),
        ((HEADER + RECORD).encode(), ["--quasi", "age,gender"], ["zip", "no role"]),
        ((HEADER + RECORD + RECORD.replace("41", "")).encode(), ["--missing", "refuse"], ["'age'", "1"]),
    ],
)  # fmt: skip
def test_a_bad_table_is_refused(shoal: Shoal, content: bytes, flags: list[str], told: list[str]) -> None:
    Path("bad.csv").write_bytes(content)
    pairs = zip(ROLES[::2], ROLES[1::2], strict=True)
    roles = [text for pair in pairs if pair[0] not in flags for text in pair]
    refused(shoal("protect", "bad.csv", *roles, *flags, *MODELS, "-o", "out"), *told)
    refused(shoal("assess", "bad.csv", *roles, *flags, "--json"), *told)


def test_an_absent_file_and_a_folder_are_refused(shoal: Shoal) -> None:
    refused(shoal("protect", "absent.csv", *ROLES, *MODELS, "-o", "out"), "There is no file 'absent.csv'")
    Path("folder").mkdir()
    refused(shoal("assess", "folder", *ROLES), "is a folder")
    refused(shoal("verify", "absent", *ROLES, *MODELS), "absent")


def test_a_parquet_cut_short_is_refused(shoal: Shoal) -> None:
    pl.read_csv("clinics.csv").write_parquet("whole.parquet")
    Path("short.parquet").write_bytes(Path("whole.parquet").read_bytes()[:-20])
    refused(shoal("protect", "short.parquet", *COLUMNS, *MODELS, "-o", "out"), "short.parquet")


def test_one_person_is_refused_by_protect_and_answered_by_assess_and_verify(shoal: Shoal) -> None:
    Path("one.csv").write_text(HEADER + RECORD + RECORD.replace("41", "42"))
    run = shoal("protect", "one.csv", *ROLES, *MODELS, "-o", "out")
    refused(run, code=run.code)
    assert run.code in (2, 3)
    assert shoal("assess", "one.csv", *ROLES, "--json").json["max_gidr"] == 1
    answered = shoal("verify", "one.csv", *ROLES, *MODELS, "--json")
    assert answered.code == 3
    assert answered.json["max_gidr"] == 1


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--g-balance", "1"], "g must lie in [0, 1)"),
        (["--g-balance", "much"], "g must be a number"),
        (["--g-balance", "k=0"], "k must be a whole number"),
        (["--g-balance", "q=5"], "no parameter 'q'"),
        (["--h-affiliation", "1.01"], "h must lie in (0, 1]"),
        (["--record-risk", "0"], "rho must lie in (0, 1]"),
        (["--k", "2.5"], "k must be a whole number"),
        (["--t", "nan"], "t must be a number"),
        (["--l", "3", "--l-kind", "vague"], "'frequency'"),
        (["--l-kind", "distinct"], "needs 'l'"),
        (["--alpha-k", "0.5"], "--alpha-k 0.5,5"),
        (["--k", "2", "--method", "magic"], "magic"),
        (["--k", "2", "--mask", "magic"], "magic"),
        (["--k", "2", "--cut", "magic"], "cut"),
        (["--k", "2", "--effort", "heroic"], "effort"),
        (["--k", "2", "--cut", "median", "--effort", "high"], "effort"),
        (["--k", "2", "--method", "mondrian", "--cut", "best"], "cut"),
        (["--k", "2", "--engine", "magic"], "no engine 'magic'"),
        (["--k", "2", "--master", "local[2]"], "--engine spark"),
        (["--k", "2", "--hierarchy", "zip"], "--hierarchy zip=zip.csv"),
        (["--k", "2", "--hierarchy", "name=h.csv"], "'name'"),
        (["--k", "2", "--hierarchy", "zip=h.csv"], "h.csv"),
        (["--k", "2", "--rename", "other.csv:a=b"], "--rename"),
        (["--k", "2", "--join", "persons.csv"], "--on"),
        (["--k", "2", "--on", "name"], "--join"),
        (["--k", "2", "--policy", "absent.toml"], "There is no policy file 'absent.toml'"),
        (["--k", "2", "--delimiter", ";;"], "one ASCII character"),
        (["--k", "2", "--encoding", "klingon"], "klingon"),
        (["--k", "2", "--max-suppressed", "-1"], "--max-suppressed"),
        (["--k", "2", "--seed", "x"], "--seed"),
        ([], "No model is asked for"),
    ],
)
def test_bad_choices_are_refused(shoal: Shoal, flags: list[str], told: str) -> None:
    refused(shoal("protect", "clinics.csv", *COLUMNS, *flags, "-o", "out", "--json"), told)


def test_a_table_without_choices_is_refused(shoal: Shoal) -> None:
    refused(shoal("assess", "clinics.csv"), "--quasi", "--policy", "shoal profile")
    refused(shoal("protect", "clinics.csv", *COLUMNS, *MODELS), "-o")
    refused(shoal("protect", *COLUMNS, *MODELS, "-o", "out"), "FILE")
    refused(shoal("protect", "clinics.csv", "--quazi", "age", "-o", "out"), "--quazi")


def test_a_faulty_policy_tells_all_its_faults(shoal: Shoal) -> None:
    Path("faulty.toml").write_text('[columns]\nquasi = ["age"]\nkep = []\n[models]\ng-balance = 2\nfoo = 1\n')
    refused(shoal("protect", "clinics.csv", "--policy", "faulty.toml", "-o", "out"), "3 faults", "columns.kep",
            "models.g-balance", "models.foo")  # fmt: skip


def test_what_no_grouping_can_meet_is_refused_with_what_could_be_met(shoal: Shoal) -> None:
    run = shoal("protect", "clinics.csv", *COLUMNS, "--g-balance", "0.9", "-o", "out", "--json")
    refused(run, "g-balance", "0.81", code=3)
    refused(shoal("protect", "clinics.csv", *COLUMNS, "--h-affiliation", "0.3", "-o", "out"), "h-affiliation", code=3)


def test_a_folder_with_other_files_is_never_replaced(shoal: Shoal) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("years of work")
    for more in ([], ["--overwrite"]):
        run = shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "mine", *more)
        assert run.code == 2
        assert [path.name for path in Path("mine").iterdir()] == ["thesis.txt"]


def test_a_full_disk_leaves_nothing(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    pl.read_csv("clinics.csv").write_parquet("clinics.parquet")
    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    run = shoal("protect", "clinics.parquet", *COLUMNS, *MODELS, "-o", "out")
    refused(run, "no space left")
    assert run.err.startswith("OutputError")


def test_an_unexpected_error_tells_no_values_but_how_to_see_them(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("the value Quixote broke it")

    monkeypatch.setattr("shoal.engines.memory.run.MemoryEngine.protect", broken)
    arguments = ["protect", "clinics.csv", *COLUMNS, *MODELS, "-o", "out", "--json"]
    run = shoal(*arguments)
    refused(run, "RuntimeError", "--debug", code=1)
    assert "Quixote" in shoal(*arguments, "--debug").err


def test_a_mistyped_command_gets_a_hint(shoal: Shoal) -> None:
    refused(shoal("protct", "clinics.csv"), "Did you mean 'protect'?")


def test_columns_that_a_space_parts_from_their_flag_are_told_from_files(shoal: Shoal) -> None:
    run = shoal(
        "assess", "clinics.csv", "--person", "name", "--quasi", "age", "gender", "zip", "--sensitive", "disease"
    )
    refused(run, "no file 'gender'", "separated by commas")
    assert "commas" not in shoal("assess", "clinics.csv", "clinic.csv", *COLUMNS).err


def test_a_method_and_a_mask_that_there_are_not_stand_among_the_faults_of_a_policy(shoal: Shoal) -> None:
    faulty = POLICY.replace("g-balance = 0.5", "g-balance = 1.5").replace("balance-tree", "mondrain")
    Path("faulty.toml").write_text(faulty + '\n[mask]\nname = "rnge"\n', encoding="utf-8")
    run = shoal("protect", "clinics.csv", "--policy", "faulty.toml", "-o", "out")
    refused(run, "3 faults", "models.g-balance: g must lie", "method.name: there is no method 'mondrain'",
            "Did you mean 'mondrian'?", "mask.name: there is no mask 'rnge'")  # fmt: skip
    Path("mended.toml").write_text(POLICY.replace("balance-tree", "mondrain"), encoding="utf-8")
    assert shoal("assess", "clinics.csv", "--policy", "mended.toml").code == 0, "it asks for no method"
    replaced = shoal("protect", "clinics.csv", "--policy", "mended.toml", "--method", "mondrian", "-o", "out")
    assert replaced.code == 0, replaced.err


@pytest.mark.parametrize(
    ("arguments", "kind", "code", "message", "hint"),
    [
        (["assess", "clinics.csv", "--quasi", "agee"], "SchemaError", 2, "'agee'", "Did you mean 'age'?"),
        (["assess", "absent.csv", "--quasi", "age"], "InputError", 2, "There is no file 'absent.csv'", None),
        (["protect", "clinics.csv", *COLUMNS, "--k", "20", "-o", "out"], "CannotSatisfyError", 3, "cannot be met",
         "Ask for at most 19."),
        (["protect", "clinics.csv", "--sensitiv", "age"], "UsageError", 2, "--sensitiv", "Did you mean --sensitive?"),
        (["protect", "clinics.csv", "--seed", "x"], "UsageError", 2, "--seed", "Try 'shoal protect --help' for help."),
        (["protct", "clinics.csv"], "UsageError", 2, "'protct'", "Did you mean 'protect'?"),
        (["--zzz"], "UsageError", 2, "--zzz", "Try 'shoal --help' for help."),
        (["verify", "absent"], "InputError", 2, "There is no release 'absent'", None),
        (["ledger", "absent.ledger"], "InputError", 2, "absent.ledger", None),
    ],
)  # fmt: skip
def test_under_json_an_error_is_the_one_object_on_stdout(
    shoal: Shoal, arguments: list[str], kind: str, code: int, message: str, hint: str | None
) -> None:
    plain, run = shoal(*arguments), shoal(*arguments, "--json")
    assert plain.out == ""
    assert (run.code, run.err) == (plain.code, plain.err)
    assert run.code == code
    assert message in run.error["message"]
    assert (run.error["kind"], run.error["hint"]) == (kind, hint)


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (MemoryError(), "NotEnoughMemoryError", 2),
        (KeyboardInterrupt(), "Interrupted", 1),
        (RuntimeError("the value Quixote broke it"), "Unexpected", 1),
        (pl.exceptions.PanicException("the value Quixote broke it"), "Unexpected", 1),
    ],
)
def test_under_json_what_ends_a_command_early_is_told_there_too(
    shoal: Shoal, monkeypatch: pytest.MonkeyPatch, raised: BaseException, kind: str, code: int
) -> None:
    from shoal import pipeline

    def broken(*args: object, **kwargs: object) -> None:
        raise raised

    monkeypatch.setattr(pipeline, "assess", broken)
    run = shoal("assess", "clinics.csv", *COLUMNS, "--json")
    assert (run.code, run.error["kind"]) == (code, kind)
    assert "Quixote" not in run.out + run.err


def test_an_answer_is_not_followed_by_an_error(shoal: Shoal, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.cli import output

    say = output.say_json

    def say_and_break(answer: Mapping[str, object]) -> None:
        say(answer)
        raise KeyboardInterrupt

    monkeypatch.setattr(output, "say_json", say_and_break)
    run = shoal("assess", "clinics.csv", *COLUMNS, "--json")
    assert run.code == 1
    assert run.out.count("\n") == 1
    assert '"error"' not in run.out


@pytest.mark.parametrize("ending", ["", ".csv", ".parquet", ".xlsx", ".sav", ".arrow"])
def test_a_named_pipe_is_refused_at_once_by_every_command(shoal: Shoal, ending: str) -> None:
    """Nobody writes to it: whoever opened it would wait for ever."""
    pipe = f"pipe{ending}"
    os.mkfifo(pipe)
    commands = [["profile", pipe], ["assess", pipe, *COLUMNS], ["verify", pipe, *COLUMNS, *MODELS]]
    commands += [["protect", pipe, *COLUMNS, *MODELS, "-o", "out", "--engine", engine] for engine in ("auto", "memory")]
    if ending == ".csv":
        commands += [
            ["protect", "clinics.csv", "--join", pipe, "--on", "name", *COLUMNS, *MODELS, "-o", "out"],
            ["protect", "clinics.csv", "--hierarchy", f"zip={pipe}", *COLUMNS, *MODELS, "-o", "out"],
            ["protect", pipe, *COLUMNS, *MODELS, "-o", "out", "--engine", "stream"],
            ["protect", f"sqlite:///{pipe}?table=visits", *COLUMNS, *MODELS, "-o", "out"],
            ["serve", pipe, "--no-browser"],
        ]
    for command in commands:
        told = shoal(*command)
        assert told.code == 2, command
        assert "pipe or a device" in told.err, command
    assert "Standard input is not read" in shoal("profile", "-").err
    assert not Path("out").exists()
