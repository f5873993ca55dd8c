"""shoal mine: the rules by which an adversary can exclude values."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options

if TYPE_CHECKING:
    from shoal.attacking.mining.knowledge import Knowledge
    from shoal.attacking.mining.rules import Rules
    from shoal.table.hierarchy import Hierarchy
    from shoal.table.table import Table
EPILOG = """\b
Examples:
  shoal mine visits.csv --policy visits.policy.toml
  shoal mine visits.csv --person patient --quasi age,gender:nominal,zip --sensitive disease --min-expectation 0.95
  shoal mine visits.csv --policy visits.policy.toml --max-len 2 --csv rules.csv
  shoal mine visits.csv --policy visits.policy.toml --make-hierarchy occupation=occupation.csv

A rule reads as it stands in the policy: paste it into strike = [...] under [knowledge] where no adversary can know it,
or write one of your own into facts = [...]. The rules show what is in the data: keep them as you keep the table.
"""


@click.command(epilog=EPILOG, short_help="Rules by which values can be excluded.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--min-expectation", metavar="E", help="How probable it must be that chance alone would have broken a "
              "rule: 0.9 (default); above 0 and below 1.")  # fmt: skip
@click.option("--max-len", type=click.IntRange(min=0), metavar="N", help="How many quasi-identifiers a rule may "
              "combine (1); 0 mines nothing and shows the facts of the policy.")  # fmt: skip
@click.option("--margin", multiple=True, metavar="C=WIDTH", help="Numbers of column C this near to an interval belong "
              "to it in part; may be repeated.")  # fmt: skip
@click.option("--conjunction", type=click.Choice(["product", "minimum"]), help="How far somebody belongs to several "
              "nodes at once, with --margin (product).")  # fmt: skip
@click.option("--min-confidence", metavar="C", hidden=True)
@click.option("--csv", "-o", "csv_file", metavar="FILE", help="Write the rules to a CSV file too.")
@click.option("--make-hierarchy", "hierarchies", multiple=True, metavar="C=FILE", help="Write a hierarchy of column C, "
              "in which values are joined first whose persons have like sensitive values; repeatable.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a file that is there already.")
@options.policy
@options.columns
@options.source
@options.common
def mine(
    files: tuple[str, ...],
    csv_file: str | None,
    hierarchies: tuple[str, ...],
    overwrite: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Find what the quasi-identifiers exclude: "no man has ovarian cancer", as an adversary could too.

    Lists the most general rules with how many persons each is about and how probable it is that chance alone would
    have broken it (its expectation). Rules that the policy strikes out are left out; its facts come first.
    """
    from shoal.attacking.mining.knowledge import knowledge_rules
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, read_table
    from shoal.table.table import Table

    started = time.perf_counter()
    own = {name: flags.pop(name) for name in ("min_expectation", "max_len", "margin", "conjunction", "min_confidence")}
    file_of = dict(_column_and_file(each) for each in hierarchies)
    for file in (csv_file, *file_of.values()):
        if file is not None:
            _refuse_taken(Path(file), overwrite)
    policy, folder = chosen_policy({**flags, "files": files})
    reading = read_table(files, policy, folder, flags)
    output.say_notes(reading.notes)
    knowledge = _laid_over(policy.knowledge, own)
    schema = policy.schema(folder, reading.frame)
    table = Table.from_frame(reading.frame, schema, line_of=reading.line_of_record)
    output.say_notes(table.notes)
    with output.warnings_as_notes():
        rules = knowledge_rules(table, schema, knowledge)
    made = {Path(file): _hierarchy(table, column) for column, file in file_of.items()}
    if csv_file is not None:
        _write_csv(rules, Path(csv_file))
    for path, hierarchy in made.items():
        _write_hierarchy(hierarchy, path)
    if as_json:
        output.say_json({**rules.to_dict(), "seconds": time.perf_counter() - started})
        return
    _show(rules, knowledge)
    for file in (csv_file, *file_of.values()):
        if file is not None:
            click.echo(f"Written to {file}.", err=True)


def _laid_over(knowledge: Knowledge | None, flags: dict[str, Any]) -> Knowledge:
    """What the flags say in the place of what the policy says."""
    from dataclasses import replace

    from shoal.attacking.mining.expectation import refuse_low_confidence
    from shoal.attacking.mining.knowledge import Knowledge

    if flags["min_confidence"] is not None:
        refuse_low_confidence(flags["min_confidence"])
    given = {name: flags[name] for name in ("min_expectation", "max_len", "conjunction") if flags[name] is not None}
    if flags["margin"]:
        given["margin"] = dict(map(_margin, flags["margin"]))
    return replace(knowledge or Knowledge(), **given)


def _margin(text: str) -> tuple[str, float]:
    column, _, width = text.rpartition("=")
    try:
        return column.strip(), float(width)
    except ValueError:
        raise click.UsageError("--margin takes a column and a width: --margin age=2") from None


def _column_and_file(text: str) -> tuple[str, str]:
    column, _, file = text.partition("=")
    if not column.strip() or not file.strip():
        raise click.UsageError("--make-hierarchy takes a column and a file: --make-hierarchy occupation=occupation.csv")
    return column.strip(), file.strip()


def _hierarchy(table: Table, column: str) -> Hierarchy:
    from shoal.attacking.mining.hierarchies import hierarchy_by_sensitive_values

    schema = table.schema
    return hierarchy_by_sensitive_values(table.frame, column, tuple(schema.sensitive), person=schema.person)


def _write_hierarchy(hierarchy: Hierarchy, path: Path) -> None:
    """In the form that a policy reads."""
    from shoal.errors import OutputError

    try:
        hierarchy.write_arx_csv(path)
    except OSError as error:
        raise OutputError(f"'{path}' cannot be written: {error.strerror}.") from None


def _refuse_taken(path: Path, overwrite: bool) -> None:
    from shoal.errors import OutputError

    if path.exists() and not (overwrite and path.is_file()):
        raise OutputError(f"'{path}' is there already. Choose another name, or replace it with --overwrite.")


def _write_csv(rules: Rules, path: Path) -> None:
    """One line per rule; `rule` holds it as it stands in a policy."""
    import csv
    import io

    from shoal.errors import OutputError

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    has_chances = not all(rule.is_never for rule in rules)
    writer.writerow(["when", "never", "support", "expectation", "source", "rule", *["lift"] * has_chances])
    for rule in rules:
        when = " and ".join(f"{item.column} = {item.node}" for item in rule.when)
        never = f"{rule.never.column} = {rule.never.node}"
        expectation = "" if rule.expectation is None else rule.expectation
        lift = [rule.lift] * has_chances  # 0: never
        writer.writerow([when, never, rule.support, expectation, rule.source, _line(rule), *lift])
    try:
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
    except OSError as error:
        raise OutputError(f"'{path}' cannot be written: {error.strerror}.") from None


def _line(rule: Any) -> str:
    from shoal.policy.write import rule_table, value_text

    return value_text(rule_table(rule))


def _show(rules: Rules, knowledge: Knowledge) -> None:
    """One line per rule, never wrapped, so that it can be pasted."""
    stated = sum(rule.source == "stated" for rule in rules)
    click.echo(
        f"{len(rules) - stated:,} rules mined with an expectation of at least {float(knowledge.min_expectation):g}, "
        f"of up to {knowledge.max_len} quasi-identifiers; {stated:,} facts stated."
    )
    if not len(rules):
        return
    persons = [f"{rule.support:,}" for rule in rules]
    width = max(7, *map(len, persons))
    click.echo(f"\n{'persons':>{width}}  expectation  rule")
    for number, rule in zip(persons, rules, strict=True):
        expectation = "stated" if rule.expectation is None else f"{rule.expectation:.4f}"
        click.echo(f"{number:>{width}}  {expectation:>11}  {_line(rule)}")
