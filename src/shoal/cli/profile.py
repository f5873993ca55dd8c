"""shoal profile: what a table holds, and a policy to start from."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.errors import OutputError, without_credentials

if TYPE_CHECKING:
    from shoal.table.profile import Profile
EPILOG = """\b
Examples:
  shoal profile visits.csv
  shoal profile visits.csv -o visits.toml --delimiter ";"

The policy is a start: roles are guessed from names and counts. It runs as it is:
  shoal protect visits.csv --policy visits.policy.toml -o out
"""


@click.command(epilog=EPILOG, short_help="Look at a table; write a policy to start from.")
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Where the policy goes; default: the table's name with "
              ".policy.toml, in this folder.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a policy file that is there already.")
@options.source
@options.common
def profile(file: str, output: str | None, overwrite: bool, as_json: bool, **flags: Any) -> None:
    """Look at a table: columns, kinds, a suggested role for each; and write a policy to start from."""
    from shoal.cli import output as say
    from shoal.cli.choices import lay_over, read_table
    from shoal.policy import Policy
    from shoal.policy.starter import starter_policy
    from shoal.policy.write import assignment
    from shoal.publishing.text import write_text
    from shoal.table.profile import profile as look

    clock = time.perf_counter()
    target = Path(output) if output is not None else Path(f"{_name_of(file, flags)}.policy.toml")
    is_written = overwrite or not target.exists()
    if not is_written and output is not None:
        raise OutputError(f"The file '{target}' exists. Nothing was written. Name another with -o, or use --overwrite.")
    document: dict[str, Any] = {}
    lay_over(document, {**flags, "files": (file,)}, target.parent)
    policy = Policy.from_document({"columns": {"quasi": ["-"]}, **document})
    reading = read_table([file], policy, target.parent, flags)
    say.say_notes(reading.notes)
    seen = look(reading.frame)
    labels = reading.labels.columns
    text = starter_policy(seen, table_name=reading.source.name.strip("'"), labels=labels)
    if source := policy.to_document().get("source"):
        text += "\n[source]\n" + "\n".join(assignment(key, value) for key, value in source.items()) + "\n"
    if is_written:
        write_text(target, text)
    else:
        say.say_notes([f"'{target}' exists and was left as it is. Name another file with -o, or use --overwrite."])
    if as_json:
        written = str(target) if is_written else None
        answer = seen.to_dict()
        answer["columns"] = [{**column, **({"label": labels[column["name"]]} if column["name"] in labels else {})}
                             for column in answer["columns"]]  # fmt: skip
        say.say_json({**answer, "policy": written, "seconds": time.perf_counter() - clock})
    else:
        _show(seen, labels, without_credentials(file), target)


def _name_of(file: str, flags: Mapping[str, Any]) -> str:
    """What the policy is called after: the file, or the table of a database."""
    from shoal.reading.sql import is_address, parse_address

    if is_address(file):
        name = flags.get("table") or parse_address(file).table or "table"
        return re.sub(r"[^\w.-]+", "-", name)
    return Path(file).name.split(".")[0] or "table"


def _show(seen: Profile, labels: Mapping[str, str], file: str, target: Path) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from shoal.cli import output as say

    title = f"{file}: {seen.records:,} records of {seen.persons:,} persons"
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    for name in ("column", "kind"):
        table.add_column(name)
    for name in ("values", "missing"):
        table.add_column(name, justify="right")
    for name in ("suggested role", "because"):
        table.add_column(name)
    for column in seen.columns:
        counts = (f"{column.distinct:,}", f"{column.missing:,}" if column.missing else "")
        table.add_row(Text(column.name), column.kind, *counts, column.role, column.reason)
    screen = say.console()
    screen.print(table)
    if labels:
        screen.print("Labels of columns in the file; they leave only where you ask for it (--column-labels):")
    for name, label in labels.items():
        screen.print(f"  {name}: {' '.join(label.split())}", markup=False, highlight=False, overflow="fold")
    screen.print(f"Policy: {target}. Read it, change what is wrong, then:", markup=False)
    screen.print(f"  shoal protect {file} --policy {target} -o out", markup=False)
