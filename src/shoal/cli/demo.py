"""shoal demo: the whole story on bundled and made-up tables."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.table import Table

EPILOG = """\b
Examples:
  shoal demo
  shoal demo --json
"""

PATIENTS_POLICY: dict[str, Any] = {
    "seed": 7,
    "columns": {
        "person": "patient",
        "quasi": ["age:number", "gender:nominal", "zip:number", "education:number"],
        "sensitive": ["disease", "treatment"],
        "time": "visit_date",
    },
    "models": {"record-risk": "1/10", "g-balance": {"k": 20}, "h-affiliation": {"l": 2}},
}


@click.command(epilog=EPILOG, short_help="The whole story on bundled and made-up tables.")
@click.option("-o", "--output", default="demo-out", show_default=True, metavar="DIR", help="Where the release of the "
              "made-up patients goes; an earlier demo release is replaced.")  # fmt: skip
@options.common
def demo(output: str, as_json: bool) -> None:
    """Show what shoal does: ten records, the paper's two clinics, and 20,000 made-up patients."""
    from shoal.cli import output as say
    from shoal.cli.protect import where_the_report_is

    clock = time.perf_counter()
    screen = say.console()
    screen.quiet = as_json
    with say.warnings_as_notes():
        answer = {"ten_records": _ten_records(screen), "clinics": _clinics(screen), **_patients(screen, output)}
    answer["seconds"] = time.perf_counter() - clock
    if as_json:
        say.say_json(answer)
        return
    screen.print(f"The demo took {answer['seconds']:.0f} seconds.")
    for line in where_the_report_is(Path(output)):
        screen.print(line, markup=False, overflow="fold")


def _ten_records(screen: Console) -> dict[str, Any]:
    """Counting records says 0.2; the truth is 1."""
    from shoal import pipeline
    from shoal.demo.clinics import ten_records
    from shoal.table.schema import Schema

    frame = ten_records()
    schema = Schema(person="person", quasi=["age", "zip"], sensitive=["disease"])
    measured: dict[str, Any] = pipeline.assess(frame, schema).to_dict()
    by_records = 1 / measured["k"]
    screen.rule("1. Ten records")
    screen.print(_table_of(frame, "Two groups of five records"))
    screen.print(
        f"Each group has {measured['k']} records, so a tool that counts records reports a risk of {by_records:.1f}.\n"
        "But the five records of age 93 are visits of one person. Whoever knows the age knows whose they are:\n"
        f"the risk is {measured['max_gidr']:.1f}.\n"
    )
    return {"risk_by_records": by_records, **measured}


def _clinics(screen: Console) -> dict[str, Any]:
    """The worked example of the paper, before and after (its Table 6b)."""
    from rich.columns import Columns

    from shoal import pipeline
    from shoal.cli import output as say
    from shoal.demo.clinics import clinics
    from shoal.models import GBalance, HAffiliation, Model
    from shoal.table.schema import Nominal, Schema

    frame = clinics()
    schema = Schema(
        person="name", quasi=["age", Nominal("gender"), "zip"], sensitive=["disease"], dropped=["admission"]
    )
    models: list[Model] = [GBalance(g="0.5"), HAffiliation(h="0.5")]
    with say.progress_bar():  # says so where it has to compile
        release = pipeline.protect(frame, schema, models, cut="median", seed=7)
    answer: dict[str, Any] = release.to_dict()
    shown = release.data.sort("age", "name", "disease")
    screen.rule("2. Two clinics (Kartal and Li, 2020)")
    screen.print("Two clinics put their records together. Every group must have g-balance and h-affiliation of 0.5.")
    before = _table_of(frame.select(shown.columns), "Before")
    screen.print(Columns([before, _table_of(shown, "After")], padding=(0, 2)))
    _show_numbers(screen, answer)
    return answer


def _patients(screen: Console, output: str) -> dict[str, Any]:
    """Twenty thousand made-up patients: risk before and after, and the release on disk."""
    from shoal import pipeline
    from shoal.cli import output as say
    from shoal.cli.protect import what_leaves
    from shoal.demo.patients import made_up_patients
    from shoal.policy import Policy
    from shoal.policy.explain import explain

    started, clock = datetime.now(UTC), time.perf_counter()
    frame = made_up_patients()
    policy = Policy.from_document(PATIENTS_POLICY)
    schema = policy.schema(".", frame)
    with say.progress_bar() as progress:
        release = pipeline.protect(frame, schema, policy.models, seed=policy.seed, progress=progress, **policy.options)
        release.write(output, overwrite=True, format="csv", policy_text=policy.to_toml(), started=started)
    seconds = time.perf_counter() - clock
    answer: dict[str, Any] = {**release.to_dict(), "folder": output}
    screen.rule("3. Made-up patients")
    screen.print(f"{len(frame):,} visits of {answer['before']['persons']:,} made-up patients. The policy:\n")
    screen.print(explain(policy), markup=False)
    _show_numbers(screen, answer)
    screen.print(f"From the table to the release took {seconds:.1f} seconds.")
    for line in what_leaves(Path(output)):
        screen.print(line, markup=False)
    return answer


def _show_numbers(screen: Console, answer: dict[str, Any]) -> None:
    from shoal.cli import output as say

    screen.print(say.measures_table({"before": answer["before"], "after": answer}))
    say.show_verdict(screen, answer["verdict"])


def _table_of(frame: pl.DataFrame, title: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title=title, padding=(0, 1, 0, 0))
    for name in frame.columns:
        table.add_column(name, no_wrap=True)
    for record in frame.iter_rows():
        table.add_row(*(Text("" if value is None else str(value)) for value in record))
    return table
