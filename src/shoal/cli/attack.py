"""shoal attack: what an adversary gets out of a release."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.cli.verify import codebook_for, look_up, schema_for
from shoal.errors import InputError, SchemaError

if TYPE_CHECKING:
    from shoal.attacking.background import BackgroundResult
    from shoal.attacking.elimination import EliminationResult
    from shoal.attacking.mining.rules import Rules
    from shoal.attacking.suite import SuiteResult
    from shoal.pipeline import OtherRelease
    from shoal.policy import Policy
    from shoal.publishing.read import PublishedFiles
    from shoal.reading import Reading
    from shoal.table.hierarchy import Hierarchy
ABOVE = 3
DEFAULT_L = 2

EPILOG = """\b
Examples:
  shoal attack out
  shoal attack out --exclude 3 --fail-above 0
  shoal attack out --l 3
  shoal attack out --mine-from last-year.csv --min-expectation 0.95
  shoal attack out --rules rules.json
  shoal attack out --original visits.csv
  shoal attack out --original visits.csv --attacks linkage,trajectory --fail-above 0.1
  shoal attack out --original visits.csv --report
  shoal attack out --original visits.csv --with last-year
  shoal attack received.csv --person patient --quasi age,gender,zip --sensitive disease,treatment
  shoal attack received.csv --original visits.csv --person patient --quasi age,zip --sensitive disease --whose order

Exit codes: 0 done; 3 with --fail-above, where a larger share of persons is exposed, or an attack succeeds more often.
"""


@click.command(epilog=EPILOG, short_help="Attack a release: who is exposed?")
@click.argument("release", metavar="RELEASE")
@click.option(
    "--exclude",
    type=click.IntRange(min=0),
    default=2,
    show_default=True,
    metavar="E",
    help="How many values the adversary can exclude for a person.",
)
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
@click.option(
    "--original",
    metavar="FILE",
    help="The original table: all attacks are tried that know something of the persons in it.",
)
@click.option(
    "--with",
    "other",
    metavar="RELEASE2",
    help="Another release about the same persons, for two-releases: a folder that protect has written.",
)
@click.option(
    "--attacks",
    "names",
    metavar="NAME,...",
    help="Only these: elimination, background, linkage, distance, skewness, similarity, trajectory, "
    "anchored-dates, inference, two-releases, minimality.",
)
@click.option(
    "--targets",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Attack at most N persons, drawn at random.",
)
@click.option(
    "--known-values",
    default="1,2,3,4",
    show_default=True,
    metavar="N,...",
    help="For trajectory: how many sensitive values of a person are known.",
)
@click.option(
    "--similar",
    multiple=True,
    metavar="C=FILE",
    help="For similarity: the value hierarchy of a sensitive attribute, in ARX's CSV format; C=icd for ICD codes.",
)
@click.option(
    "--whose",
    type=click.Choice(["map", "ids", "order"]),
    help="How it can be told whose a published record is: by the map in steward/persons.parquet (default "
    "where there is one), by ids that are the original's, or by the order of the records.",
)
@click.option("--mask", metavar="NAME", help="How the release shows quasi-identifiers, where no policy says it.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Governs which persons are attacked, and what is known of them.",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Exit with 3 where a larger share of persons is exposed, or an attack succeeds more often.",
)
@click.option(
    "--gate",
    type=click.Choice(["success", "gain"]),
    default="success",
    show_default=True,
    help="For --fail-above with --original: compare the success (the estimate), or what it is above blind guessing.",
)
@click.option(
    "--report",
    "into_report",
    is_flag=True,
    help="Put the results into the report of the folder RELEASE: steward/report.html and report.json.",
)
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
    other: str | None,
    names: str | None,
    targets: int,
    known_values: str,
    similar: tuple[str, ...],
    whose: str | None,
    fail_above: float | None,
    gate: str,
    into_report: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Try what an adversary would: exclude values that a person is known not to have.

    RELEASE is a folder that protect has written, or a published file. Somebody who knows a person's group and can
    exclude some sensitive values learns another one where all who are left share it. Blind guessing stands beside it.

    Where rules are known (--rules, --mine-from, facts in the policy, or those that the release was made against), it
    also counts the persons who are left with fewer than L possible values: by elimination, and by matching.

    With --original, attacks are tried that know something of each person in it: who are they, what are their values?
    Each has a 95 % interval (Wilson's) and stands beside blind guessing; those that do not apply say why.
    """
    from shoal import pipeline
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, csv_options_of_release, mask_said
    from shoal.publishing.read import read_published

    clock = time.perf_counter()
    if rules_file is not None and mine_from is not None:
        raise click.UsageError("Rules are read from a file (--rules) or mined (--mine-from), not both.")
    asked = _asked_for(names)
    file, default_policy, _ = look_up(Path(release))
    book = codebook_for(file, flags, default_policy)
    given = {**flags, "files": (str(file),), "seed": None}
    policy, folder = chosen_policy(given, default_file=default_policy, codebook=book)
    if into_report:
        _refuse_report(Path(release), original)
    published = read_published(file, csv=csv_options_of_release(policy, flags))
    mask = mask_said(policy, flags, published, is_told=default_policy is not None or book is not None)
    mining = {"min_expectation": min_expectation, "max_len": max_len}
    rules = _rules(policy, folder, published, rules_file, mine_from, mining) if "background" in asked else None
    known: list[BackgroundResult] = []
    if rules is not None:
        least = least or _asked(policy)
        is_own = rules_file is None and mine_from is None and published.rules is not None
        known = _with_knowledge(policy, folder, published, mask, rules, least, is_own=is_own)
    suite = None
    if original is not None or other is not None or (names is not None and asked - {"elimination", "background"}):
        suite = _suite(policy, folder, published, mask, file, original, asked, flags={
            "targets": targets, "known_values": known_values, "similar": similar, "whose": whose, "seed": flags["seed"],
            "other": other,
        })  # fmt: skip
    results: list[EliminationResult] = []
    try:
        if "elimination" in asked:
            results = pipeline.attack_by_exclusion(
                published.frame, policy.schema_of_release(), exclude=exclude,
                mask=mask, tables=published.tables, linked=published.linked,
            )  # fmt: skip
    except SchemaError as refusal:
        if not known and suite is None:
            raise
        output.say_notes([str(refusal)])
    above = [] if fail_above is None else _above(fail_above, gate, results, known, suite)
    if as_json:
        answer: dict[str, Any] = {"elimination": [asdict(result) for result in results]}
        if rules is not None:
            answer["background"] = [asdict(result) for result in known]
            answer["rules"] = len(rules)
        if suite is not None:
            answer |= suite.to_dict()
        if fail_above is not None:
            answer["above"] = above
        output.say_json({**answer, "seconds": time.perf_counter() - clock})
    else:
        if results:
            _show(results)
        if rules is not None:
            _show_known(known, len(rules))
        if suite is not None:
            _show_suite(suite)
    if into_report and suite is not None:
        _put_into_report(Path(release), suite)
    untold: list[str] = []
    if fail_above is not None:
        tried = {*({"elimination"} if results else ()), *({"background"} if rules is not None else ())}
        tried |= {result.attack for result in suite.results} if suite is not None else set()
        untold = _untold(results, set() if names is None else asked - tried)
    output.say_notes(untold)
    if above:
        output.say_notes([f"{len(above):,} results are above {fail_above:g}, so the exit code is {ABOVE}: "
                          f"{'; '.join(above)}."])  # fmt: skip
    if above or untold:
        ctx.exit(ABOVE)


def _untold(results: list[EliminationResult], absent: set[str]) -> list[str]:
    """Why a gate cannot tell that no attack gets above it: then it is taken that one does."""
    told = []
    if any(not result.is_exact for result in results):
        told.append(
            "--fail-above: elimination was not searched to its end, so that more persons may be exposed than were "
            f"found, and the exit code is {ABOVE}. Exclude fewer values (--exclude)."
        )
    if absent:
        told.append(
            f"--fail-above: asked for, and not tried: {', '.join(sorted(absent))}. So the exit code is {ABOVE}."
        )
    return told


def _above(
    limit: float, gate: str, results: list[EliminationResult], known: list[BackgroundResult], suite: SuiteResult | None
) -> list[str]:
    """The results that are above a limit, by name: of elimination the one with most persons exposed."""
    worst = max(results, key=lambda result: (result.share, result.e), default=None)
    excluded = [f"elimination, {worst.e} excluded"] if worst is not None and worst.share > limit else []
    matched = [f"background, {result.column}" for result in known if result.share > limit]
    tried = [] if suite is None else [result.name for result in suite.above(limit, by=gate)]
    return [*excluded, *matched, *tried]


def _asked_for(names: str | None) -> set[str]:
    """The attacks that were asked for by name, or all; a name that there is not is refused."""
    from shoal.attacking.suite import ATTACKS
    from shoal.errors import did_you_mean

    known = ["elimination", "background", *ATTACKS]
    if names is None:
        return set(known)
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in known:
            raise click.UsageError(
                f"There is no attack '{name}'. Choose from: {', '.join(known)}.{did_you_mean(name, known)}"
            )
    return set(asked)


def _suite(
    policy: Policy,
    folder: Path,
    published: PublishedFiles,
    mask: str,
    file: Path,
    original: str | None,
    asked: set[str],
    *,
    flags: dict[str, Any],
) -> SuiteResult:
    """The attacks that know the original, or those that need no more than the release where it is not given."""
    from shoal import pipeline
    from shoal.attacking.suite import ATTACKS
    from shoal.cli import output
    from shoal.cli.choices import read_table

    table = None if original is None else read_table([original], policy, folder, {})
    if table is not None:
        output.say_notes(table.notes)
    schema = policy.schema_of_release() if table is None else policy.schema(folder, table.frame)
    with output.warnings_as_notes():
        return pipeline.attack(
            published.frame, None if table is None else table.frame, schema,
            attacks=[name for name in ATTACKS if name in asked], mask=mask, tables=published.tables,
            whose=_whose(file, flags["whose"]), targets=flags["targets"], seed=flags["seed"],
            known_values=_counts(flags["known_values"]), similar=_hierarchies(flags["similar"], published),
            method=policy.method if policy.models else None, method_options=policy.method_options,
            models=policy.models, other=_other(flags["other"], table),
        )  # fmt: skip


def _other(release: str | None, original: Reading | None) -> OtherRelease | None:
    """The other release that --with names, by the policy in its own folder."""
    from shoal.cli.choices import chosen_policy, csv_options_of_release
    from shoal.pipeline import OtherRelease
    from shoal.publishing.read import read_published

    if release is None:
        return None
    if original is None:
        raise click.UsageError("--with looks at the same persons in two releases: name the original too.")
    file, default_policy, _ = look_up(Path(release))
    if default_policy is None:
        raise click.UsageError("--with takes a folder that protect has written, with the policy in its steward folder.")
    policy, folder = chosen_policy({}, default_file=default_policy)
    published = read_published(file, csv=csv_options_of_release(policy, {}))
    schema = policy.schema(folder, original.frame)
    return OtherRelease(frame=published.frame, schema=schema, mask=policy.mask, tables=published.tables)


def _whose(file: Path, whose: str | None) -> Any:
    """What tells whose a published record is: the map beside the release, where there is one, or as was said."""
    import polars as pl

    if whose in ("ids", "order"):
        return whose
    kept = file.parent / "steward" / "persons.parquet"
    if kept.is_file():
        return pl.read_parquet(kept)
    if whose == "map":
        raise InputError("The release keeps no person map (steward/persons.parquet). Protect with --keep-person-map.")
    return None


def _counts(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise click.UsageError("--known-values takes whole numbers from 1 on: --known-values 1,2,4")
    return [int(part) for part in parts]


def _hierarchies(given: tuple[str, ...], published: PublishedFiles) -> dict[str, Hierarchy]:
    """The hierarchies of sensitive attributes that --similar names."""
    from shoal.table.hierarchy import Hierarchy

    found = {}
    for text in given:
        column, is_given, file = text.partition("=")
        if not is_given or not column or not file:
            raise click.UsageError("--similar takes a column and a file: --similar disease=disease.csv")
        if file.lower() == "icd":
            table = published.tables.get(column, published.frame)
            if column not in table.columns:
                raise SchemaError(f"--similar names '{column}', but the release has no such column.")
            found[column] = Hierarchy.of_icd(table[column].drop_nulls().unique().to_list())
        else:
            found[column] = Hierarchy.read_arx_csv(file)
    return found


def _refuse_report(release: Path, original: str | None) -> None:
    from shoal.publishing.pages import refuse_changed

    if original is None:
        raise click.UsageError("--report puts the results of attacks into the report: name the original too.")
    refuse_changed(release)


def _put_into_report(folder: Path, suite: SuiteResult) -> None:
    """Put the results into the numbers of the folder's report, and make its pages anew."""
    import json

    from shoal.cli import output
    from shoal.cli.report import counted_again
    from shoal.publishing import pages

    numbers: dict[str, Any] = {}
    if pages.has_numbers(folder):
        numbers = json.loads((folder / pages.NUMBERS).read_text(encoding="utf-8"))
    else:
        numbers = counted_again(folder)
    numbers["report"]["suite"] = output.plain(suite.to_dict())
    pages.renew_pages(folder, numbers)


def _show_suite(suite: SuiteResult) -> None:
    from rich.table import Table

    from shoal.cli import output

    table = Table(title="With the original: how often an attacker is right", title_justify="left", box=None)
    for heading in ("attack", "success", "95 % interval", "blind guess", "persons"):
        table.add_column(heading, justify="left" if heading == "attack" else "right")
    for result in suite.results:
        at_most = "" if result.is_exact else "at most "
        table.add_row(
            result.name, f"{at_most}{result.success:.1%}", f"{result.low:.1%} to {result.high:.1%}",
            f"{result.blind:.1%}", f"{result.targets:,}",
        )  # fmt: skip
    screen = output.console()
    screen.print(table)
    for knowledge in dict.fromkeys(result.knows for result in suite.results):
        named = [result.name for result in suite.results if result.knows == knowledge]
        screen.print(f"{named[0].split(', ')[0].capitalize()} knows: {knowledge}", markup=False)
    for each in suite.not_tried:
        screen.print(f"Not tried: {each.attack}. {each.why}", markup=False)


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

    from shoal.attacking.mining.knowledge import Knowledge
    from shoal.attacking.mining.mine import mine_rules
    from shoal.attacking.mining.rules import Rules
    from shoal.cli.choices import read_table
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
    policy: Policy, folder: Path, published: PublishedFiles, mask: str, rules: Rules, least: int, *, is_own: bool
) -> list[BackgroundResult]:
    """The attack by rules; where a release hides whom its own are about, by what the steward keeps."""
    from shoal import pipeline
    from shoal.attacking.mining.adversary import items_of_nobody
    from shoal.cli import output

    schema = schema_for(policy, folder, published.frame, rules)
    kept: dict[str, Any] = {
        "mask": mask,
        "tables": published.tables,
        "linked": published.linked,
        "excluded": published.excluded,
    }
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
