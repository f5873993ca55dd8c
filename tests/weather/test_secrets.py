"""Values that must not leave, looked for byte by byte wherever a run leaves something: files, messages, footers."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from tests.web.serving import serving

ROOT = Path(__file__).resolve().parents[2]
N = 120

PERSON, TOWN, NAME, RARE = "kanariid", "kanaritown", "kanariname", "kanaridisease"
AGE, PHONE = 7_654_321, 815_161_718
"""A quasi-identifier inside the range of its group, and a number that is dropped."""


def visits() -> pl.DataFrame:
    """Visits with a canary in each kind of column; the rare disease belongs to a person who will be left out."""
    draw = np.random.default_rng(5)
    person = np.arange(N) // 2
    age = draw.integers(20, 90, N)
    age[10:12] = AGE
    age[20:24] = [9_000_000, 9_000_000, 1, 1]
    return pl.DataFrame(
        {
            "who": [f"{PERSON}{number}" for number in person],
            "age": age,
            "town": [f"{TOWN}{number % 7}" for number in person],
            "disease": [RARE if number == 5 else str(draw.choice(["flu", "cold", "gout"])) for number in person],
            "name": [f"{NAME}{number}" for number in person],
            "phone": [PHONE + int(number) for number in person],
            "day": [f"1987-0{1 + number % 9}-1{number % 9}" for number in range(N)],
        }
    )


SCHEMA = shoal.Schema(
    person="who", quasi=["age", shoal.Nominal("town")], sensitive=["disease"], dropped=["name", "phone"], time="day"
)
ROLES = [
    "--person",
    "who",
    "--quasi",
    "age,town:nominal",
    "--sensitive",
    "disease",
    "--drop",
    "name,phone",
    "--time",
    "day",
]
MODELS = ["--g-balance", "0.9", "--method", "mondrian", "--mask", "suppress"]
NEVER = [PERSON, TOWN, NAME, str(AGE), str(PHONE)[:7], "1987"]
"""What no release by suppression shows: every group has several towns and ages."""


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder; workbooks are packed, so what is in them too."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes()
            if path.suffix == ".xlsx":
                with zipfile.ZipFile(path) as book:
                    yield from ((f"{path.name}/{name}", book.read(name)) for name in book.namelist())


def found_in(content: bytes, canaries: list[str]) -> list[str]:
    numbers = [AGE, PHONE, PHONE + 1]
    return [
        *(canary for canary in canaries if canary.encode() in content or canary.encode("utf-16-le") in content),
        *(str(number) for number in numbers if number.to_bytes(8, "little") in content),
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the visits in it, and another one for temporary files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    visits().write_csv("visits.csv")
    visits().write_parquet("visits.parquet")
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    ran = CliRunner().invoke(cli, list(arguments), prog_name="shoal")
    return ran.exit_code, ran.stdout, ran.stderr


@pytest.mark.parametrize("format", ["csv", "parquet", "arrow", "xlsx", "sav", "dta"])
def test_no_file_of_a_release_holds_what_was_masked_or_dropped(home: Path, format: str) -> None:
    source = "visits.csv" if format == "csv" else "visits.parquet"
    code, out, err = run("protect", source, *ROLES, *MODELS, "-o", "out", "--format", format)
    assert code == 0, err
    assert not found_in((out + err).encode(), [*NEVER, RARE])
    for name, content in contents(home / "out"):
        if name != "scheme.parquet":  # by which later records are masked: what groups cover, and it stays
            assert not found_in(content, NEVER), name
        if not name.startswith(("release", "linked", "scheme")):
            assert RARE.encode() not in content, name
    for name, content in contents(home / "temporary"):
        assert not found_in(content, [*NEVER, RARE]), name
    assert list((home / "temporary").iterdir()) == []


@pytest.mark.parametrize("mask", ["range", "mean", "suppress", "perturb", "anatomize", "permute"])
@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
def test_footers_and_dictionaries_name_no_value_that_is_not_published(home: Path, mask: str, kind: str) -> None:
    """Statistics tell extremes, dictionaries list values: of a category that only a suppressed person has, say."""
    frame = visits().filter(pl.col("disease") != RARE).unique("who", keep="first", maintain_order=True).head(40)
    frame = frame.with_columns(pl.col("disease", "town").cast(pl.Categorical))
    heavy = frame.head(1).select(pl.all().repeat_by(60).explode())
    frame = pl.concat([frame, heavy.with_columns(pl.lit(RARE).cast(pl.Categorical).alias("disease"),
                                                 pl.lit(f"{PERSON}heavy").alias("who"))])  # fmt: skip
    given = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]
    schema = shoal.Schema(person="who", quasi=["age", shoal.Nominal("town")], sensitive=["disease"],
                          dropped=["name", "phone", "day"])  # fmt: skip
    schema = schema if mask != "permute" else shoal.Schema(
        quasi=schema.quasi, sensitive=["disease"], dropped=["who", "name", "phone", "day"])  # fmt: skip
    options = {"quasi_as": "range"} if mask in ("anatomize", "permute") else {}
    if mask == "permute":
        given = frame.filter(pl.col("disease") != RARE)  # its categories stay in the type
    made = shoal.protect(given, schema, [shoal.RecordRisk(rho=0.5)], mask=mask, max_suppressed=1, **options)
    never = [RARE, NAME, str(PHONE)[:7], *([PERSON] if mask != "permute" else [])]
    for format in ("parquet", "arrow"):
        folder = made.write(home / f"out-{format}", format=format)
        for path in folder.glob(f"release*.{format}"):
            table = pq.read_table(path) if format == "parquet" else pyarrow.ipc.open_file(path).read_all()
            told = str(table.schema.metadata or {}) + str([field.metadata for field in table.schema])
            for column in table.itercolumns():
                for chunk in column.chunks:
                    told += str(chunk.dictionary.to_pylist()) if hasattr(chunk, "dictionary") else ""
            if format == "parquet":
                footer = pq.read_metadata(path)
                told += str(footer.metadata)
                for group in range(footer.num_row_groups):
                    for column_at in range(footer.num_columns):
                        part = footer.row_group(group).column(column_at)
                        told += f"{part.statistics.min} {part.statistics.max}" if part.is_stats_set else ""
                plain = home / "plain.parquet"
                pq.write_table(table, plain, compression="none")
                told += plain.read_bytes().decode("latin-1")
            told += path.read_bytes().decode("latin-1")
            assert not [canary for canary in never if canary in told], path.name
        assert RARE.encode() not in (folder / "codebook.json").read_bytes()


COMMANDS = [
    ["profile", "visits.csv", "-o", "new.toml"],
    ["assess", "visits.csv", *ROLES, "--g-balance", "0.9"],
    ["tune", "visits.csv", *ROLES, "--target", "max_gidr=0.2", "--effort", "low"],
    ["compare", "visits.csv", *ROLES, "--g-balance", "0.8", "--methods", "mondrian,mdav"],
    ["protect", "visits.csv", *ROLES, *MODELS, "-o", "out", "--queries", "20", "--keep-person-map"],
    ["verify", "out"],
    ["attack", "out"],
    ["report", "out"],
    ["apply", "out", "later.csv", "-o", "applied", "--max-suppressed", "500"],
]


def test_no_command_says_a_value(home: Path) -> None:
    visits().with_columns(pl.col("who") + "x").write_csv("later.csv")
    for command in COMMANDS:
        for more in ([], ["--json"]):
            code, out, err = run(
                *command, *more, *(["--overwrite"] if more and command[0] in ("protect", "profile", "apply") else [])
            )
            assert code in (0, 2, 3), (command, err)
            assert "Traceback" not in err
            assert not found_in((out + err).encode(), [*NEVER, RARE]), command
    assert run(*COMMANDS[5])[0] == 0
    for name, content in contents(home):
        if name.startswith((".", "manifest", "report", "summary", "codebook", "new")):
            assert not found_in(content, [*NEVER, RARE]), name
    assert list((home / "temporary").iterdir()) == []


BAD = {
    "a line that is short": lambda text: text + f"{PERSON}99,5,{TOWN}\n",
    "a line that is long": lambda text: text + f"{PERSON}99,5,{TOWN},{RARE},{NAME},1,1987-01-01,{NAME}\n",
    "a number that is none": lambda text: text + f"{PERSON}99,{NAME},{TOWN},{RARE},{NAME},1,1987-01-01\n",
    "a quote that is not closed": lambda text: text + f'{PERSON}99,5,"{TOWN},{RARE},{NAME},1,1987-01-01\n',
    "text after a quote": lambda text: text + f'{PERSON}99,5,"{TOWN}"{NAME},{RARE},{NAME},1,1987-01-01\n',
    "no person": lambda text: text + f",5,{TOWN},{RARE},{NAME},{PHONE},1987-01-01\n",
    "a day that is none": lambda text: text + f"{PERSON}99,5,{TOWN},{RARE},{NAME},1,{NAME}\n",
    "two columns of one name": lambda text: text.replace("town", "age"),
    "a zero byte": lambda text: text + f"{PERSON}\0,5,{TOWN},{RARE},{NAME},1,1987-01-01\n",
    "lone returns": lambda text: text + f"{PERSON}99,5,{TOWN}\r{NAME},{RARE},{NAME},1,1987-01-01\n",
    "an infinite number": lambda text: text + f"{PERSON}99,inf,{TOWN},{RARE},{NAME},1,1987-01-01\n",
    "a number that is too large": lambda text: (
        text + f"{PERSON}99,{AGE}{AGE}{AGE}{AGE},{TOWN},{RARE},{NAME},1,1987-01-01\n"
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_no_error_says_a_value(home: Path, fault: str) -> None:
    Path("bad.csv").write_text(BAD[fault](Path("visits.csv").read_text()))
    Path("towns.csv").write_text("nowhere;*\n")
    for command in (
        ["protect", "bad.csv", *ROLES, *MODELS, "-o", "out"],
        ["protect", "bad.csv", *ROLES, "--quasi", "age:date,town:ordered", *MODELS, "-o", "out"],
        ["protect", "bad.csv", *ROLES, "--hierarchy", "town=towns.csv", *MODELS, "-o", "out"],
        ["protect", "visits.csv", *ROLES, "--hierarchy", "town=bad.csv", *MODELS, "-o", "out"],
        ["protect", "visits.csv", "bad.csv", *ROLES, *MODELS, "-o", "out"],
        ["protect", "visits.csv", *ROLES, "--join", "bad.csv", "--on", "who", *MODELS, "-o", "out"],
        ["protect", "visits.csv", *ROLES, "--policy", "bad.csv", *MODELS, "-o", "out"],
        ["assess", "bad.csv", *ROLES],
        ["verify", "bad.csv", *ROLES, *MODELS[:2]],
        ["profile", "bad.csv"],
        ["mine", "bad.csv", *ROLES, "--json"],
    ):
        code, out, err = run(*command)
        if command[0] != "mine":
            assert not found_in((out + err).encode(), [*NEVER, RARE]), (command, err)
        assert "Traceback" not in err, command
        assert code in (0, 2, 3), (code, command, err)
        if (home / "out").exists():
            import shutil

            shutil.rmtree(home / "out")


def test_an_unexpected_fault_says_no_value(home: Path) -> None:
    """An error of a library holds values in its words; only --debug shows them."""
    fault = f"""
import shoal.engines.memory.run
def broken(*_, **__):
    raise ValueError("{NAME} {AGE}")
shoal.engines.memory.run.publish = broken
from shoal.cli.main import main
main()
"""
    ran = subprocess.run(
        [sys.executable, "-c", fault, "protect", "visits.csv", *ROLES, *MODELS, "-o", "out"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 1
    assert not found_in((ran.stdout + ran.stderr).encode(), [*NEVER, RARE])
    assert "Unexpected ValueError (at " in ran.stderr


def test_python_errors_and_reprs_hold_no_value(home: Path) -> None:
    frame = visits()
    release = shoal.protect(frame, SCHEMA, [shoal.GBalance(g=0.9)], mask="suppress", method="mondrian")
    assert not found_in((repr(release) + str(release) + repr(release.verdict)).encode(), [*NEVER, RARE])
    for bad in (
        frame.with_columns(age=pl.Series([NAME] * N)),
        frame.with_columns(day=pl.Series([NAME] * N)),
        frame.with_columns(age=pl.Series([float("inf")] * N)),
        frame.with_columns(who=pl.lit(None)),
        frame.with_columns(town=pl.Series([[TOWN]] * N)),
    ):
        for quasi in (
            ["age", "town"],
            [shoal.Number("age"), shoal.Number("town")],
            [shoal.Date("age"), shoal.Ordered("town", order=("x",))],
        ):
            schema = shoal.Schema(
                person="who", quasi=quasi, sensitive=["disease"], dropped=["name", "phone"], time="day"
            )
            try:
                shoal.protect(bad, schema, [shoal.GBalance(g=0.9)], method="mondrian")
            except shoal.errors.ShoalError as error:
                told = "".join(
                    str(part) for part in (error, repr(error), error.__notes__ if hasattr(error, "__notes__") else "")
                )
                assert not found_in(told.encode(), [*NEVER, RARE])


def test_the_web_app_leaves_nothing_behind(tmp_path: Path) -> None:
    content = visits().write_csv().encode()
    with serving(tmp_path) as server:
        with server.steward() as steward:
            assert steward.put("/files/records/visits.csv", content=content).status_code == 200
            steward.put("/files/records/bad.csv", content=content + f"{NAME}\n".encode())
            steward.put("/files/hierarchy/towns.csv", content=f"{TOWN}1;*\n{TOWN}1;*\n".encode())
            for place in ("/", "/columns", "/risk", "/protect", "/release", f"/{NAME}"):
                steward.get(place)
        held = [name for name, inside in contents(tmp_path) if NAME.encode() in inside]
        assert held, "the project is kept while the server runs"
        assert server.end() == 0
        told = server.stderr + "".join(server.lines)
    assert not found_in(told.encode(), [*NEVER, RARE])
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert left == []
