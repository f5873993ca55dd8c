"""shoal attack: what an adversary gets out of a release."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.cli.verify import look_up, schema_for
from shoal.errors import SchemaError

if TYPE_CHECKING:
    from shoal.attacking.background import BackgroundResult
    from shoal.attacking.elimination import EliminationResult
    from shoal.mining.rules import Rules
    from shoal.policy import Policy
    from shoal.publishing.read import PublishedFiles

ABOVE = 3
DEFAULT_L = 2

EPILOG = """\b
Examples:
  shoal attack out
  shoal attack out --exclude 3 --fail-above 0
  shoal attack out --l 3
  shoal attack out --mine-from last-year.csv --min-expectation 0.95
  shoal attack out --rules rules.json
  shoal attack received.csv --person patient --quasi age,gender,zip --sensitive disease,treatment

Exit codes: 0 done; 3 with --fail-above, where a larger share of persons is exposed.
"""


@click.command(epilog=EPILOG, short_help="Attack a release: who is exposed?")
@click.argument("release", metavar="RELEASE")
@click.option("--exclude", type=click.IntRange(min=0), default=2, show_default=True, metavar="E",
              help="How many values the adversary can exclude for a person.")  # fmt: skip
@click.option("--l", "least", type=click.IntRange(min=1), metavar="L",
              help="Somebody with fewer than L possible values is vulnerable to background knowledge (default: as the "
              "policy's matching-diversity says, else 2).")  # fmt: skip
@click.option("--rules", "rules_file", metavar="FILE",
              help="What the adversary knows: rules as 'shoal mine --json' lists them (default: those in the folder's "
              "steward/rules.json).")  # fmt: skip
@click.option("--mine-from", metavar="FILE",
              help="What the adversary knows: rules mined from this table, which has the columns of the policy. Facts "
              "that the policy states are known besides.")  # fmt: skip
@click.option("--min-expectation", metavar="E", help="For --mine-from: as in 'shoal mine'.")
@click.option("--max-len", type=click.IntRange(min=1), metavar="N", help="For --mine-from: as in 'shoal mine'.")
@click.option("--original", metavar="FILE", help="The original table; the elimination attack does not need it.")
@click.option("--fail-above", type=click.FloatRange(0, 1), metavar="SHARE",
              help="Exit with 3 where a larger share of persons is exposed.")  # fmt: skip
@options.policy
@options.columns
@options.source
@options.common
@click.pass_context
def attack(
    ctx: click.Context,
    /,
    release: str,
    exclude: int,
    least: int | None,
    rules_file: str | None,
    mine_from: str | None,
    min_expectation: str | None,
    max_len: int | None,
    original: str | None,
    fail_above: float | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Try what an adversary would: exclude values that a person is known not to have.

    RELEASE is a folder that protect has written, or a published file. Somebody who knows a person's group and can
    exclude some sensitive values learns another one where all who are left share it. Blind guessing stands beside it.

    Where rules are known (--rules, --mine-from, facts in the policy, or those that the release was made against), it
    also counts the persons who are left with fewer than L possible values: by elimination, and by matching.
    """
    from shoal import pipeline
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, csv_options_of_release
    from shoal.publishing.read import read_published

    clock = time.perf_counter()
    if rules_file is not None and mine_from is not None:
        raise click.UsageError("Rules are read from a file (--rules) or mined (--mine-from), not both.")
    file, default_policy, _ = look_up(Path(release))
    policy, folder = chosen_policy({**flags, "files": (str(file),)}, default_file=default_policy)
    published = read_published(file, csv=csv_options_of_release(policy, flags))
    mining = {"min_expectation": min_expectation, "max_len": max_len}
    rules = _rules(policy, folder, published, rules_file, mine_from, mining)
    known: list[BackgroundResult] = []
    if rules is not None:
        least = least or _asked(policy)
        is_own = rules_file is None and mine_from is None and published.rules is not None
        known = _with_knowledge(policy, folder, published, rules, least, is_own=is_own)
    try:
        results = pipeline.attack(
            published.frame, policy.schema_of_release(), exclude=exclude, tables=published.tables,
            linked=published.linked,
        )  # fmt: skip
    except SchemaError as refusal:
        if not known:
            raise
        results = []
        output.say_notes([str(refusal)])
    if as_json:
        answer: dict[str, Any] = {"elimination": [asdict(result) for result in results]}
        if rules is not None:
            answer["background"] = [asdict(result) for result in known]
            answer["rules"] = len(rules)
        output.say_json({**answer, "seconds": time.perf_counter() - clock})
    else:
        if results:
            _show(results)
        if rules is not None:
            _show_known(known, len(rules))
    share = max([*(result.share for result in results[-1:]), *(result.share for result in known)], default=0.0)
    if fail_above is not None and share > fail_above:
        ctx.exit(ABOVE)


def _rules(
    policy: Policy,
    folder: Path,
    published: PublishedFiles,
    rules_file: str | None,
    mine_from: str | None,
    mining: dict[str, Any],
) -> Rules | None:
    """What the adversary knows: by a file, mined from a table, as the release was made against; and stated facts."""
    from dataclasses import replace

    from shoal.cli.choices import read_table
    from shoal.mining.knowledge import Knowledge
    from shoal.mining.mine import mine_rules
    from shoal.mining.rules import Rules
    from shoal.publishing.read import read_rules

    knowledge = policy.knowledge or Knowledge()
    if mine_from is not None:
        other = read_table([mine_from], policy, folder, {})
        asked = replace(knowledge, **{name: value for name, value in mining.items() if value is not None})
        found = mine_rules(
            other.frame, policy.schema(folder, other.frame), min_expectation=asked.min_expectation,
            max_len=asked.max_len or 1, margin=asked.margin, conjunction=asked.conjunction,
        )  # fmt: skip
    elif any(value is not None for value in mining.values()):
        raise click.UsageError("--min-expectation and --max-len say how --mine-from mines rules: name a table with it.")
    elif rules_file is not None:
        found = read_rules(Path(rules_file))
    elif published.rules is not None:
        return published.rules  # facts are among them
    elif not knowledge.facts:
        return None
    else:
        found = Rules()
    stated = {fact.claim for fact in knowledge.facts}
    return Rules((*knowledge.facts, *(rule for rule in found if rule.claim not in stated)))


def _asked(policy: Policy) -> int:
    """How many values should be left for everybody, as the policy says."""
    asked = [model.asked for model in policy.models if model.name == "matching-diversity"]
    return int(max(asked, default=DEFAULT_L))


def _with_knowledge(
    policy: Policy, folder: Path, published: PublishedFiles, rules: Rules, least: int, *, is_own: bool
) -> list[BackgroundResult]:
    """The attack by rules; where a release hides whom its own are about, by what the steward keeps."""
    from shoal import pipeline
    from shoal.cli import output
    from shoal.mining.facing import items_of_nobody

    schema = schema_for(policy, folder, published.frame, rules)
    kept: dict[str, Any] = {"tables": published.tables, "linked": published.linked, "excluded": published.excluded}
    try:
        results = pipeline.attack_background(published.frame, schema, rules, l=least, **kept)
        of_nobody = items_of_nobody(rules, published.frame, schema)
        if of_nobody and is_own:  # then some rules would not be used
            raise SchemaError("Rules of the release name what nobody in it has.")
        if of_nobody:
            output.say_notes([f"{of_nobody:,} quasi-identifiers that the rules name are those of nobody here."])
        return results
    except SchemaError:
        if not is_own:
            raise
    return pipeline.attack_background(published.frame, schema, l=least, **kept)


def _show_known(results: list[BackgroundResult], n_rules: int) -> None:
    from rich.table import Table

    from shoal.cli import output

    title = f"Background knowledge: persons left with too few values by {n_rules:,} rules"
    table = Table(title=title, title_justify="left", box=None)
    headings = (
        "attribute",
        "fewer than",
        "without rules",
        "by elimination",
        "by matching",
        "share",
        "known",
        "blind guess",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "attribute" else "right")
    for result in results:
        table.add_row(
            result.column, f"{result.l:,} values", f"{result.vulnerable_without_rules:,}",
            f"{result.vulnerable_by_elimination:,}", f"{result.vulnerable_by_matching:,}", f"{result.share:.2%}",
            f"{result.known_by_matching:,}", f"{result.blind:.2%}",
        )  # fmt: skip
    output.console().print(table)
    for result in results:
        if result.contradicted_groups:
            output.console().print(
                f"In {result.contradicted_groups:,} groups with {result.contradicted_persons:,} persons no way to deal "
                f"the values of '{result.column}' out fits the rules: some rule is wrong, and they are not counted."
            )


def _show(results: list[EliminationResult]) -> None:
    from rich.table import Table

    from shoal.cli import output

    table = Table(title="Elimination: persons exposed by excluding values", title_justify="left", box=None)
    for heading in ("values excluded", "persons exposed", "share", "groups", "blind guess"):
        table.add_column(heading, justify="right")
    for result in results:
        exposed = f"{result.exposed_persons:,}" + ("" if result.is_exact else " or more")
        table.add_row(
            str(result.e), exposed, f"{result.share:.2%}", f"{result.exposed_groups:,} of {result.groups:,}",
            f"{result.blind:.2%}",
        )  # fmt: skip
    output.console().print(table)
