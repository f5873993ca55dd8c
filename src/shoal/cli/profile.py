"""shoal profile: what a table holds, and a policy to start from."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.errors import OutputError, without_credentials

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.reading import Finding, Reading
    from shoal.reading.to_mend import Suggestion
    from shoal.table.profile import Profile
EPILOG = """\b
Examples:
  shoal profile visits.csv
  shoal profile visits.csv -o visits.toml --delimiter ";"

The policy is a start: roles are guessed from names, in eight languages, and from contents; what is least sure
stands first. It runs as it is:
  shoal protect visits.csv --policy visits.policy.toml -o out
"""


@click.command(epilog=EPILOG, short_help="Look at a table; write a policy to start from.")
@click.argument("file", metavar="FILE")
@click.option("-o", "--output", metavar="FILE", help="Where the policy goes; default: the table's name with "
              ".policy.toml, in this folder.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a policy file that is there already.")
@click.option("--preset", metavar="NAME", help="Thresholds that an authority asks for: ema-health-canada (risk 0.09), "
              "cms-cell-size (11 persons), statistics-3, statistics-5, statistics-10.")  # fmt: skip
@options.silent
@options.source
@options.common
def profile(file: str, output: str | None, overwrite: bool, preset: str | None, as_json: bool, **flags: Any) -> None:
    """Look at a table: columns, kinds, a suggested role for each; and write a policy to start from."""
    from shoal.cli import output as say
    from shoal.cli.choices import lay_over, read_table
    from shoal.policy import Policy
    from shoal.policy.presets import preset_called
    from shoal.policy.starter import starter_policy
    from shoal.publishing.text import write_text
    from shoal.reading.to_mend import suggestions
    from shoal.table.profile import profile as look

    clock = time.perf_counter()
    chosen = None if preset is None else preset_called(preset)
    target = Path(output) if output is not None else Path(f"{_name_of(file, flags)}.policy.toml")
    is_written = overwrite or not target.exists()
    if not is_written and output is not None:
        raise OutputError(f"The file '{target}' exists. Nothing was written. Name another with -o, or use --overwrite.")
    document: dict[str, Any] = {}
    lay_over(document, {**flags, "files": (file,)}, target.parent)
    policy = Policy.from_document({"columns": {"quasi": ["-"]}, **document})
    reading = read_table([file], policy, target.parent, flags)
    say.say_notes(reading.notes)
    seen = look(reading.frame, missing_tells_nothing=flags.get("missing_tells_nothing") or ())
    labels = reading.labels.columns
    text = starter_policy(seen, table_name=reading.source.name.strip("'"), labels=labels, preset=chosen)
    offered = suggestions(reading.frame, seen)
    text += _source_text(policy, reading) + _mend_text(offered)
    if is_written:
        write_text(target, text)
    else:
        say.say_notes([f"'{target}' exists and was left as it is. Name another file with -o, or use --overwrite."])
    if as_json:
        written = str(target) if is_written else None
        answer = seen.to_dict()
        answer["columns"] = [{**column, **({"label": labels[column["name"]]} if column["name"] in labels else {})}
                             for column in answer["columns"]]  # fmt: skip
        answer["findings"] = [finding.to_dict() for finding in reading.findings]
        answer["mendable"] = [
            {"column": each.column, "step": next(iter(each.mend)), "about": each.about, "words": each.without_values}
            for each in offered
        ]
        say.say_json({**answer, "policy": written, "seconds": time.perf_counter() - clock})
    else:
        _show(seen, labels, without_credentials(file), target, offered)


def _source_text(policy: Policy, reading: Reading) -> str:
    """How the file is read, with what was found and why, so that the policy reads it so again."""
    from shoal.policy.write import assignment, source_table

    found = reading.source.csv
    told = dict(source_table(policy.source))
    if found is not None and len(reading.source.paths) == 1:
        main = {"delimiter": found.delimiter, "encoding": found.encoding, "decimal": found.decimal,
                "thousands": found.thousands, "date_format": dict(found.date_format)}  # fmt: skip
        others = {"quote": found.quote, "missing": list(found.missing), "missing_in": dict(found.missing_in)}
        usual = {"quote": '"', "missing": [""], "missing_in": {}}
        told = {**main, **{key: value for key, value in others.items() if value != usual[key]}, **told}
    if not told:
        return ""
    lines = ["", "[source]"]
    if reading.findings:
        lines.append("# How the file is written was found in it. What stands here is not looked for again.")
    for key, value in told.items():
        lines += [f"# {_of_column(each)}{each.reason}" for each in reading.findings if each.what == key]
        lines.append(assignment(key, value))
    return "\n".join(lines) + "\n"


def _mend_text(offered: Sequence[Suggestion]) -> str:
    """What could be mended, as lines that do it once the steward takes their sign of a comment away."""
    from shoal.policy.write import assignment
    from shoal.reading.to_mend import taken

    if not offered:
        return ""
    lines = [
        "",
        "# What could be mended. To do it, take the # away before [mend] and before the lines below that you want:",
    ]
    document: dict[str, Any] = {}
    for each in offered:
        document = taken(document, each.mend)
        lines.append(f"# {' '.join(each.column.split())}: {' '.join(each.words.split())}")
    if "age" in document:
        lines.append("# A new column of ages needs a role under [columns], such as quasi.")
    lines.append("# [mend]")
    return "\n".join([*lines, *(f"# {assignment(step, each)}" for step, each in document.items())]) + "\n"


def _of_column(finding: Finding) -> str:
    return "" if finding.column is None else f"{' '.join(finding.column.split())}: "


def _name_of(file: str, flags: Mapping[str, Any]) -> str:
    """What the policy is called after: the file, or the table of a database."""
    from shoal.reading.sql import is_address, parse_address

    if is_address(file):
        name = flags.get("table") or parse_address(file).table or "table"
        return re.sub(r"[^\w.-]+", "-", name)
    return Path(file).name.split(".")[0] or "table"


def _show(seen: Profile, labels: Mapping[str, str], file: str, target: Path, offered: Sequence[Suggestion]) -> None:
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
    for name in ("suggested role", "how sure", "because"):
        table.add_column(name)
    for column in seen.by_doubt:
        counts = (f"{column.distinct:,}", f"{column.missing:,}" if column.missing else "")
        table.add_row(Text(column.name), column.kind, *counts, column.role, column.sure, column.reason)
    screen = say.console()
    screen.print(table)
    if labels:
        screen.print("Labels of columns in the file; they leave only where you ask for it (--column-labels):")
    for name, label in labels.items():
        screen.print(f"  {name}: {' '.join(label.split())}", markup=False, highlight=False, overflow="fold")
    if offered:
        screen.print("What could be mended; the policy has the values, and lines that do it:")
    for each in offered:
        screen.print(f"  {each.column}: {each.without_values}", markup=False, highlight=False, overflow="fold")
    screen.print(f"Policy: {target}. Read it, change what is wrong, then:", markup=False)
    screen.print(f"  shoal protect {file} --policy {target} -o out", markup=False)
