"""shoal attack: what an adversary gets out of a release."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

import click

from shoal.cli import options
from shoal.cli.verify import codebook_for, look_up
from shoal.errors import InputError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from shoal.attacking.contract import Attack
    from shoal.attacking.mining.rules import Rules
    from shoal.attacking.suite import OtherRelease, SuiteResult
    from shoal.parts import Option
    from shoal.policy import Policy
    from shoal.publishing.read import PublishedFiles
    from shoal.reading import Reading

ABOVE = 3
FLAGS = "shoal.flags of attacks"

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


class AttackFlag(click.Option):
    """A flag that is an option of an attack."""

    def __init__(self, attack: type[Attack], option: Option) -> None:
        hint = get_origin(get_type_hints(attack)[option.name])
        takes: dict[str, Any] = {"type": str}
        if hint is tuple:
            takes["default"] = ",".join(map(str, option.default))
        elif hint is not None and issubclass(hint, Mapping):
            takes["multiple"] = True
        elif option.kind in (int, float):
            limits: Any = click.IntRange if option.kind is int else click.FloatRange
            takes |= {"type": limits(min=option.low, max=option.high), "default": option.default}
        elif option.kind is bool:
            takes |= {"is_flag": True, "type": bool}
        elif option.choices:
            takes |= {"type": click.Choice(option.choices), "default": option.default}
        self._attack, self._is_list, self._is_mapping = attack, hint is tuple, "multiple" in takes
        super().__init__(
            [f"--{option.name.replace('_', '-')}", option.name], metavar=option.metavar, show_default=True,
            help=f"For {attack.name}: {option.help[:1].lower()}{option.help[1:]}", callback=self._checked, **takes,
        )  # fmt: skip

    def _checked(self, ctx: click.Context, param: click.Parameter, given: Any) -> Any:
        """The value as the attack takes it: numbers from a list, and files or words by column."""
        value = given
        if self._is_list:
            parts = [part.strip() for part in given.split(",") if part.strip()]
            value = tuple(int(part) if part.isdecimal() else part for part in parts)
        elif self._is_mapping:
            pairs = [text.partition("=") for text in given]
            if not all(column and is_given and file for column, is_given, file in pairs):
                raise click.UsageError(f"{self.opts[0]} takes a column and a file: {self.opts[0]} disease=disease.csv")
            value = {column: file for column, _, file in pairs}
        wrong = {} if value is None else self._attack.faults({str(self.name): value})
        if wrong:
            raise click.BadParameter(" ".join(wrong.values()), ctx=ctx, param=self)
        return value


class AttackCommand(click.Command):
    """A command whose flags are partly the options of attacks, which are asked when it runs or is explained."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The flags in the order of their help."""
        release, *others = super().get_params(ctx)
        if FLAGS not in ctx.meta:
            from shoal.attacking.suite import ATTACKS
            from shoal.parts import options_of

            taken = {param.name for param in others}
            own = {each.name: AttackFlag(attack, each) for attack in ATTACKS.values() for each in options_of(attack)}
            names = click.Option(["--attacks", "names"], metavar="NAME,...", help=f"Only these: {', '.join(ATTACKS)}.")
            ctx.meta[FLAGS] = [names, *(flag for name, flag in own.items() if name not in taken)]
        return [release, *ctx.meta[FLAGS], *others]


@click.command(cls=AttackCommand, epilog=EPILOG, short_help="Attack a release: who is exposed?")
@click.argument("release", metavar="RELEASE")
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
    "--targets",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Attack at most N persons, drawn at random.",
)
@click.option(
    "--whose",
    type=click.Choice(["map", "ids", "order"]),
    help="How the person of a published record is told: by the map in steward/persons.parquet (default "
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
    rules_file: str | None,
    mine_from: str | None,
    min_expectation: str | None,
    max_len: int | None,
    original: str | None,
    other: str | None,
    names: str | None,
    targets: int,
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
    from shoal.attacking.suite import attack as attack_release
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, csv_options_of_release, mask_said
    from shoal.publishing.later.numbers import schema_for
    from shoal.publishing.read import read_published

    clock = time.perf_counter()
    if rules_file is not None and mine_from is not None:
        raise click.UsageError("Rules are read from a file (--rules) or mined (--mine-from), not both.")
    own = {str(flag.name): flags.pop(str(flag.name)) for flag in ctx.meta[FLAGS] if isinstance(flag, AttackFlag)}
    asked = _asked_for(names)
    is_suite = original is not None or other is not None or (names is not None and any(a.in_suite for a in asked))
    file, default_policy, _ = look_up(Path(release))
    book = codebook_for(file, flags, default_policy)
    given = {**flags, "files": (str(file),), "seed": None}
    policy, folder = chosen_policy(given, default_file=default_policy, codebook=book)
    if into_report:
        _refuse_report(Path(release), original)
    published = read_published(file, csv=csv_options_of_release(policy, flags))
    mining = {"min_expectation": min_expectation, "max_len": max_len}
    takes_rules = any(_takes_rules(each) for each in asked)
    rules = _rules(policy, folder, published, rules_file, mine_from, mining) if takes_rules else None
    table = _original(original, policy, folder)
    with output.warnings_as_notes():
        suite = attack_release(
            published.frame, None if table is None else table.frame,
            schema_for(policy, folder, published.frame, rules) if table is None else policy.schema(folder, table.frame),
            attacks=[each.name for each in asked if is_suite or not each.in_suite], tables=published.tables,
            mask=mask_said(policy, flags, published, is_told=default_policy is not None or book is not None),
            whose=_whose(file, whose), targets=targets, seed=flags["seed"],
            method=policy.method if policy.models else None, method_options=policy.method_options,
            models=policy.models, other=_other(other, table), rules=rules,
            are_own_rules=rules_file is None and mine_from is None and published.rules is not None,
            linked=published.linked, excluded=published.excluded,
            **{name: value for name, value in own.items() if value is not None},
        )  # fmt: skip
    suite = _in_flags(suite, ctx)
    _tell_untried(suite, rules, is_suite=is_suite)
    above = [] if fail_above is None else [result.name for result in suite.above(fail_above, by=gate)]
    if as_json:
        answer = _answer(suite, rules, is_suite=is_suite) | ({} if fail_above is None else {"above": above})
        output.say_json({**answer, "seconds": time.perf_counter() - clock})
    else:
        _show(suite)
    if into_report:
        _put_into_report(Path(release), suite)
    untold = [] if fail_above is None else _untold(suite, () if names is None else asked)
    output.say_notes(untold)
    if above:
        output.say_notes([f"{len(above):,} results are above {fail_above:g}, so the exit code is {ABOVE}: "
                          f"{'; '.join(above)}."])  # fmt: skip
    if above or untold:
        ctx.exit(ABOVE)


def _asked_for(names: str | None) -> list[type[Attack]]:
    """The attacks that were asked for by name, or all; a name that there is not is refused."""
    from shoal.attacking.suite import ATTACKS

    if names is None:
        return list(ATTACKS.values())
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in ATTACKS:
            raise click.UsageError(
                f"There is no attack '{name}'. Choose from: {', '.join(ATTACKS)}.{did_you_mean(name, ATTACKS)}"
            )
    return [ATTACKS[name] for name in asked]


def _in_flags(suite: SuiteResult, ctx: click.Context) -> SuiteResult:
    """The same, saying by which flag an attack that was not tried gets what it lacks."""
    from dataclasses import replace

    flags = {param.name: param.opts[0] for param in ctx.command.get_params(ctx)}
    told = [
        replace(each, why=f"{each.why.rstrip('.')} ({flags[each.give]}).") if each.give in flags else each
        for each in suite.not_tried
    ]
    return replace(suite, not_tried=tuple(told))


def _tell_untried(suite: SuiteResult, rules: Rules | None, *, is_suite: bool) -> None:
    """Why attacks that look at the published tables alone were not tried; where nothing was, that is an error."""
    from shoal.attacking.suite import ATTACKS
    from shoal.cli import output

    why = [
        each.why
        for each in suite.not_tried
        if not ATTACKS[each.attack].in_suite and (rules is not None or each.give != "rules")
    ]
    if why and not is_suite and not suite.results:
        raise SchemaError(" ".join(why))
    output.say_notes(why)


def _answer(suite: SuiteResult, rules: Rules | None, *, is_suite: bool) -> dict[str, Any]:
    """What JSON answers: the suite where it was tried, and each other attack under its own name."""
    from shoal.attacking.suite import ATTACKS

    own = [name for name, attack in ATTACKS.items() if not attack.in_suite]
    told = suite.to_dict()
    answer = {name: told.get(name, []) for name in own if rules is not None or not _takes_rules(ATTACKS[name])}
    if rules is not None:
        answer["rules"] = len(rules)
    return answer | {name: told[name] for name in ("attacks", "not_tried") if is_suite}


def _takes_rules(attack: type[Attack]) -> bool:
    return any(need.give == "rules" for need in attack.needs)


def _untold(suite: SuiteResult, asked: Sequence[type[Attack]]) -> list[str]:
    """Why a gate cannot tell that no attack gets above it: then it is taken that one does."""
    from shoal.attacking.suite import ATTACKS
    from shoal.parts import options_of

    told = []
    for attack in ATTACKS.values():
        if attack.bound == "at least" and any(not result.is_exact for result in suite.of(attack.name)):
            flags = " or ".join(f"--{option.name.replace('_', '-')}" for option in options_of(attack))
            told.append(
                f"--fail-above: {attack.name} was not searched to its end, so that more persons may be exposed than "
                f"were found, and the exit code is {ABOVE}.{f' Ask for less ({flags}).' if flags else ''}"
            )
    absent = sorted(attack.name for attack in asked if not suite.of(attack.name))
    if absent:
        told.append(f"--fail-above: asked for, and not tried: {', '.join(absent)}. So the exit code is {ABOVE}.")
    return told


def _original(file: str | None, policy: Policy, folder: Path) -> Reading | None:
    """The original table, where it is named."""
    from shoal.cli import output
    from shoal.cli.choices import read_table

    if file is None:
        return None
    table = read_table([file], policy, folder, {})
    output.say_notes(table.notes)
    return table


def _other(release: str | None, original: Reading | None) -> OtherRelease | None:
    """The other release that --with names, by the policy in its own folder."""
    from shoal.attacking.suite import OtherRelease
    from shoal.cli.choices import chosen_policy, csv_options_of_release
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
    """What tells the person of a published record: the map beside the release, where there is one, or as was said."""
    import polars as pl

    if whose in ("ids", "order"):
        return whose
    kept = file.parent / "steward" / "persons.parquet"
    if kept.is_file():
        return pl.read_parquet(kept)
    if whose == "map":
        raise InputError("The release keeps no person map (steward/persons.parquet). Protect with --keep-person-map.")
    return None


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


def _show(suite: SuiteResult) -> None:
    """A table for each heading, what the attackers of the suite know, and which could not be tried."""
    from shoal.attacking.suite import ATTACKS
    from shoal.cli import output

    screen = output.console()
    made = {name: ATTACKS[name]() for name in dict.fromkeys(result.attack for result in suite.results)}
    for heading in dict.fromkeys(attack.heading for attack in sorted(made.values(), key=lambda a: a.in_suite)):
        here = {name: attack for name, attack in made.items() if attack.heading == heading}
        screen.print(_table(heading, [here[each.attack].row(each) for each in suite.results if each.attack in here]))
        for name, attack in here.items():
            for remark in attack.remarks(suite.of(name)):
                screen.print(remark, markup=False)
    known = {result.knows: result.name for result in reversed(suite.results) if made[result.attack].in_suite}
    for knows, name in reversed(known.items()):
        screen.print(f"{name.split(', ')[0].capitalize()} knows: {knows}", markup=False)
    for each in suite.not_tried:
        if ATTACKS[each.attack].in_suite:
            screen.print(f"Not tried: {each.attack}. {each.why}", markup=False)


def _table(heading: str, rows: Sequence[Mapping[str, str]]) -> Any:
    """Rows below their headings; a column of numbers stands to the right."""
    from rich.table import Table

    table = Table(title=heading, title_justify="left", box=None)
    for name in rows[0]:
        is_text = name == next(iter(rows[0])) and not all(row[name].isdecimal() for row in rows)
        table.add_column(name, justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*row.values())
    return table
