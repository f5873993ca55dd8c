"""The flags that commands share; those of models are made from the models. Values stay texts until a policy is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import click

from shoal.parts import MaskName, MethodName, Option, options_of

if TYPE_CHECKING:
    from shoal.registry import Registry

Command = TypeVar("Command", bound=Callable[..., Any])

ENGINES = ("auto", "memory", "stream", "spark")
"""The engines of `shoal protect`; "local" is the former name of "memory"."""


class FormatName(click.ParamType[str]):
    """A format of a release, by its name; asked when it is given, so that help needs no frames."""

    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name, where there is such a format and it is written."""
        from shoal.reading.formats import written_formats

        if value not in (known := written_formats()):
            self.fail(f"{value!r} is not one of {', '.join(map(repr, known))}.", param, ctx)
        return value


class Suppressed(click.ParamType[int | str]):
    """A number of persons, or a share of all such as 5%."""

    name = "N|N%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """The number, or the share as it is written."""
        from shoal.policy.numbers import fault_of_suppressed

        given = int(value) if str(value).strip().isdecimal() else value
        fault = fault_of_suppressed(given)
        if fault is not None:
            self.fail(f"{value!r} {fault}", param, ctx)
        return given


def _names(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Lists of columns: separated by commas, and the flag may be repeated."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _debug(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    if given:
        ctx.find_root().meta["shoal.debug"] = True


class ShownFlag(click.Option):
    """A flag that knows the section of the help in which it stands, and whether one screen of help shows it."""

    def __init__(self, *args: Any, section: str = "", is_common: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section
        self.is_common = is_common


_flag = partial(click.option, cls=ShownFlag)
common_flag = partial(_flag, is_common=True)
"""A flag that one screen of help shows."""


def _days(ctx: click.Context, param: click.Parameter, text: str | None) -> int | str | None:
    """A number of days as a number, and words as they are."""
    return int(text) if text is not None and text.isdecimal() else text


def _numbers(ctx: click.Context, param: click.Parameter, text: str | None) -> list[int] | None:
    """Whole numbers that commas part."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise click.BadParameter("whole numbers are expected, with commas between them: 1,2,3,5,10.")
    return [int(part) for part in parts]


def _together(section: str, *options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in one section of the help in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
            made: click.Parameter = command.__dict__["__click_params__"][-1]
            if isinstance(made, ShownFlag):
                made.section = section
        return command

    return decorate


def _columns(flag: str, help_text: str, *, is_common: bool = True) -> Callable[[Command], Command]:
    return _flag(flag, multiple=True, callback=_names, metavar="C,C", help=help_text, is_common=is_common)


common = _together(
    "",
    _flag(
        "--json", "as_json", is_common=True, is_flag=True, help="Answer with one JSON object on one line, nothing else."
    ),
    _flag(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_debug,
        help="Show unexpected errors in full; that may show values of the table.",
    ),
)

policy = _together(
    "Source",
    _flag("--policy", "policy_file", metavar="FILE", is_common=True,
          help="A policy file (TOML) with all choices. Flags given as well win over it."),
)  # fmt: skip

silent = _columns(
    "--missing-tells-nothing", "Sensitive columns of which a missing value tells nothing: models, risks and guesses "
    "leave it out. By default it is a value to protect.", is_common=False,
)  # fmt: skip

columns = _together(
    "Columns",
    _flag("--person", is_common=True, metavar="C", help="The column that names the person. Without it each "
                 "record is a person."),
    _flag("--person-ids", type=click.Choice(["pseudonyms", "episodes", "none"]), help="Publish a random pseudonym per "
                 "person (default), one per episode (as --episode cuts them), or none: nobody sees which records are "
                 "one person's."),
    _columns("--quasi", "What an adversary may know of a person: age, sex, ZIP. A kind may follow a colon: age:number, "
                        "sex:nominal, level:ordered, born:date."),
    _columns("--sensitive", "What nobody may learn of a person: disease, income."),
    _columns("--keep", "Columns published unchanged."),
    _columns("--drop", "Columns not published."),
    _columns("--confirm", "Published columns that hold direct identifiers, and leave nevertheless.", is_common=False),
    _flag("--time", is_common=True, metavar="C", help="The column of times, published as --time-as says."),
    _flag("--time-as", type=click.Choice(["sequence", "shift"]), help="Each person's own 1, 2, 3 (default), or "
                 "dates moved by a random number of days per person."),
    _flag("--time-of-day", type=click.Choice(["cut", "keep"]), help="Of times that are shifted: days only "
                 "(default), or the time of day too, which is not shifted."),
    _flag("--shared-dates", type=click.Choice(["tell", "hide", "refuse"]), help="Dates that unlikely many "
                 "share, which give shifts away: tell how many (default), publish them as missing, or refuse."),
    _flag("--round-gaps", callback=_days, metavar="DAYS", help="Round the days between a person's shifted dates: 7, "
                 "or week, '2 weeks', month."),
    _flag("--zone", metavar="NAME", help="The time zone in which days are counted, such as Europe/Berlin, for "
                 "times in UTC or with an offset."),
    _flag("--missing", type=click.Choice(["value", "refuse", "drop"]), help="A missing quasi-identifier is a "
                 "value of its own (default), an error, or a reason to leave the record out."),
    silent,
    _flag("--spelling", multiple=True, callback=_names, metavar="C=FORM", help="What tells texts of the person "
                 "column or of a sensitive one apart: exact, plain (default of persons: Unicode forms, invisible "
                 "characters and white space do not), folded (default of sensitive values: case does not either)."),
    _flag("--round", multiple=True, metavar="auto|off|C=STEP", help="Round the ends of ranges outwards, so that they "
                 "are nobody's own value: auto, off, or per column, age=5, born=year. May be repeated."),
    _flag("--top", multiple=True, metavar="C=CODE", help="Values above become this one: age=90, age=k=5 (the farthest "
                 "that 5 persons have or pass), income=99% (by share of persons). May be repeated."),
    _flag("--bottom", multiple=True, metavar="C=CODE", help="Values below become this one, as --top."),
    _flag("--rare", multiple=True, metavar="C=RULE", help="Categories of fewer persons become 'other': job=k=10, or a "
                 "share of persons, job=1%. May be repeated."),
    _flag("--hierarchy", is_common=True, multiple=True, metavar="C=FILE", help="The value hierarchy of a "
                 "column, in ARX's CSV format."),
    _flag("--weight", metavar="C", help="Where the table is a sample: the column of sampling weights. It is published "
                 "only where --keep names it too."),
    _flag("--household", metavar="C", help="The column that names who lives together, for the risk of households. "
                 "It is never published."),
    _columns("--strata", "The columns by which the sample was drawn; not published unless they have a role besides.",
             is_common=False),
)  # fmt: skip

population = _together(
    "Columns",
    _flag("--population", metavar="FILE", help="The population that the table was drawn from: a file, or the address "
                 "of a database. It is read, and never written anywhere."),
    _flag("--population-table", metavar="NAME", help="The table to read where --population is a database."),
    _flag("--population-query", metavar="SQL", help="A query in place of --population-table."),
    _flag("--population-columns", multiple=True, callback=_names, metavar="OURS=THEIRS", help="How the population "
                 "calls a column that it names otherwise."),
)  # fmt: skip

source = _together(
    "Source",
    _flag("--delimiter", metavar="CHAR", help="What separates the fields of a CSV "
                 "file. It is found if not given."),
    _flag("--encoding", metavar="NAME", help="How a CSV file is encoded: utf-8, latin-1, cp1252. It is found if not "
                 "given."),
    _flag("--quote", metavar="CHAR", help="What stands around a CSV field that holds delimiters; empty: none."),
    _flag("--decimal", type=click.Choice([".", ","]), help="The decimal sign of a CSV file. It is found if not given."),
    _flag("--thousands", metavar="CHAR", help="What stands between thousands in a CSV file; empty: nothing. It is "
                 "found if not given."),
    _flag("--date-format", multiple=True, callback=_names, metavar="[C=]FORM", help="How dates are written in a CSV "
                 "file, in a column or in all: dd.mm.yyyy, mm/dd/yyyy, yyyymmdd, iso-week, excel (serial numbers), "
                 "text (no dates). It is found if not given; may be repeated."),
    _flag("--header/--no-header", default=None, help="Whether the first line of a CSV file names the columns."),
    _flag("--member", metavar="NAME", help="The file in a zip file that holds several."),
    _flag("--missing-text", multiple=True, metavar="TEXT", help="A text that means missing, besides an empty "
                 "field; may be repeated."),
    _flag("--labels", type=click.Choice(["codes", "values"]), help="Of SPSS, Stata and SAS files: codes, with "
                 "labels in the codebook (default), or labels as values."),
    _flag("--sheet", metavar="NAME", help="The sheet of an Excel workbook that has several."),
    _flag("--table", metavar="NAME", help="The table to read from a database. "
                 "FILE is then its address: postgresql://host/db, sqlite:///file, duckdb:///file."),
    _flag("--query", metavar="SQL", help="A query in place of --table."),
    _flag("--rename", multiple=True, metavar="FILE:OLD=NEW", help="Give a column of one file the name that it "
                 "has in the others."),
    _flag("--join", metavar="FILE", help="A file with one record per person, "
                 "joined by --on."),
    _flag("--on", multiple=True, callback=_names, metavar="KEY", help="The key of --join; KEY=OTHER where the "
                 "person file calls it otherwise."),
)  # fmt: skip


@dataclass
class PartFlag:
    """A flag of the command line for an option that one method or mask has, or several with the same kind of value."""

    name: str
    dest: str
    option: str
    by: list[tuple[str, Option]] = field(default_factory=list)
    """The parts that have it, by name, each with the option as it has it."""

    def help(self) -> str:
        """What it means, said once for all parts that mean the same by it."""
        told: dict[str, dict[str, list[str]]] = {}
        for part, each in self.by:
            told.setdefault(each.help, {}).setdefault(default_in_words(each.default), []).append(part)
        parts_of = {
            help: "; ".join(f"{', '.join(parts)}{default}" for default, parts in by_default.items())
            for help, by_default in told.items()
        }
        return " ".join(f"{help} For {parts}." for help, parts in parts_of.items())

    def made(self, section: str) -> ShownFlag:
        """The flag as click takes it."""
        of = [each for _, each in self.by]
        first = of[0]
        if first.kind is bool:
            both = any(each.default for each in of)
            flag = f"--{self.name}/--no-{self.name}" if both else f"--{self.name}"
            return ShownFlag([flag, self.dest], is_flag=True, default=None, help=self.help(), section=section)
        lows, highs = [each.low for each in of], [each.high for each in of]
        low = None if None in lows else min(each for each in lows if each is not None)
        high = None if None in highs else max(each for each in highs if each is not None)
        limits: dict[type, Any] = {int: click.IntRange(low, high), float: click.FloatRange(low, high)}  # type: ignore[arg-type]
        kind = limits.get(first.kind, click.STRING)
        return ShownFlag(
            [f"--{self.name}", self.dest], type=kind, metavar=first.metavar, help=self.help(), section=section
        )


def default_in_words(default: Any) -> str:
    """What an option is where nobody says, behind a sentence; nothing where that is off, or told by the sentence."""
    if default is None or default is False:
        return ""
    return f" (default: {'yes' if default is True else default})"


def part_flags(what: Literal["method", "mask"]) -> list[PartFlag]:
    """The flags of all methods or masks; options of one name share a flag where they take the same kind of value."""
    from shoal.grouping import METHODS
    from shoal.masking import MASKS

    parts: Registry[Any] = METHODS if what == "method" else MASKS
    flags: dict[str, PartFlag] = {}
    for part in parts.values():
        for each in options_of(part):
            if not each.help:
                continue
            name = each.name
            if name in flags and flags[name].by[0][1].kind is not each.kind:
                name = f"{part.name}_{each.name}"
            dest = f"{what}_{name}".replace("-", "_")
            flag = flags.setdefault(name, PartFlag(name.replace("_", "-"), dest, each.name))
            flag.by.append((part.name, each))
    return list(flags.values())


class FlagsOfParts(click.Option):
    """Stands for the flags of all models, methods or masks until they are needed, since asking them takes a while."""

    def __init__(self, what: Literal["model", "method", "mask"]) -> None:
        super().__init__([f"--{what}-options-come-here"], hidden=True, expose_value=False)
        self.what = what

    def flags(self) -> list[ShownFlag]:
        """A flag for each option of each part, as the parts say it."""
        if self.what != "model":
            return [flag.made(self.what.capitalize()) for flag in part_flags(self.what)]
        from shoal.models import MODELS

        return [
            ShownFlag([f"--{flag.name}", dest_of_model_flag(flag.name)], metavar=flag.metavar, help=flag.help,
                 section="Models", is_common=model.is_common and flag == model.flags()[0])
            for model in MODELS.values()
            for flag in model.flags()
        ]  # fmt: skip


def dest_of_model_flag(name: str) -> str:
    """The name under which a command is handed a flag of a model."""
    return f"model_{name}".replace("-", "_")


def flags_of(what: Literal["model", "method", "mask"]) -> Callable[[Command], Command]:
    """The flags of all models, methods or masks; the command is a `CommandWithParts`."""

    def decorate(command: Command) -> Command:
        command.__dict__.setdefault("__click_params__", []).append(FlagsOfParts(what))
        return command

    return decorate


models = flags_of("model")


class CommandWithParts(click.Command):
    """A command whose flags are partly those of parts, which are asked when the command runs or explains them all.

    Its help is one screen; `--help-all` shows every flag, and a name behind `--help` the part of that name.
    """

    def __init__(self, *args: Any, own_section: str = "Output", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.own_section = own_section
        self.context_settings.setdefault("max_content_width", 100)
        self.params.append(
            ShownFlag(["--help-all"], is_flag=True, expose_value=False, help="Show every flag and exit.")
        )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The flags in the order of their help; one of a part that is taken already has the kind of part before it."""
        key = f"shoal.flags of {self.name}"
        if key not in ctx.meta:  # the same ones while a command is parsed
            taken = {name for param in self.params for name in (*param.opts, *param.secondary_opts)}
            ctx.meta[key] = [made for param in self.params for made in self._expanded(param, taken)]
        help_option = self.get_help_option(ctx)
        return [*ctx.meta[key], *([] if help_option is None else [help_option])]

    def _expanded(self, param: click.Parameter, taken: set[str]) -> list[click.Parameter]:
        if not isinstance(param, FlagsOfParts):
            return [param]
        made: list[click.Parameter] = []
        for flag in param.flags():
            names = [*flag.opts, *flag.secondary_opts]
            if taken.intersection(names):
                flag.opts, flag.secondary_opts = (
                    [f"--{param.what}-{name.removeprefix('--')}" for name in each]
                    for each in (flag.opts, flag.secondary_opts)
                )
            taken.update([*flag.opts, *flag.secondary_opts])
            made.append(flag)
        return made

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer a question for help before the parts are asked for their flags."""
        asked = [at for at, word in enumerate(args) if word in ("--help-all", *ctx.help_option_names)]
        if asked and "--" not in args[: asked[0]] and not ctx.resilient_parsing:
            from shoal.cli.help import help_for

            click.echo(help_for(self, ctx, args[asked[0] :]), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        """One screen."""
        from shoal.cli.help import help_for

        return help_for(self, ctx, ["--help"])


alone = _together(
    "Columns",
    _flag("--max-alone", type=click.IntRange(min=0), metavar="N", help="At most N persons may be alone in their "
                 "group by the kept columns, their number of records, a sensitive column or the time as published."),
    _flag("--allow-alone", is_flag=True, default=None, help="Allow that more than 5 % of the persons are alone "
                 "in their group by the columns of --keep."),
)  # fmt: skip

useful = _together(
    "",
    _flag("--useful-for", metavar="C", help="Measure how well column C can still be predicted from the "
          "release, and what else can be done with it."),
)  # fmt: skip

counts = _together(
    "",
    _flag("--counts", metavar="C;C+C", help="Write noisy counts of persons beside the release, with differential "
          "privacy: 'sex;age:1+sex', by columns with hierarchies and their levels."),
    _flag("--counts-epsilon", type=float, metavar="X", help="What all noisy counts together may spend (default: 1)."),
)  # fmt: skip

_method = _together(
    "Method",
    _flag("--method", metavar="NAME", is_common=True,
          help=f"How groups are formed: {', '.join(get_args(MethodName))} (default: {get_args(MethodName)[0]})."),
    flags_of("method"),
)  # fmt: skip

_mask = _together(
    "Mask",
    _flag("--mask", metavar="NAME", is_common=True,
          help=f"What is shown: {', '.join(get_args(MaskName))} (usually {get_args(MaskName)[0]})."),
    flags_of("mask"),
)  # fmt: skip

_budget = _together(
    "Method",
    _flag("--max-suppressed", type=Suppressed(), metavar="N|N%", is_common=True, help="Leave out at most N "
          "persons, or N % of them. Only where the models cannot be met otherwise."),
    _flag("--max-records", type=click.IntRange(min=1), metavar="N", help="Publish at most N records "
          "per person. Only where the models cannot be met otherwise."),
    _flag("--sample", type=Suppressed(), metavar="N|N%", help="Publish a random sample of N persons, or of N % of "
          "them; by --strata where these are named."),
    _flag("--episode", metavar="CUT", help="Cut the records of a person into episodes, each under a pseudonym of its "
          "own: '90 days', '12 weeks' or '5 records'."),
    _flag("--record-steps", callback=_numbers, metavar="N,N", help="Sample persons down to numbers of records: "
          "1,2,3,5,10,20."),
    _flag("--seed", type=int, metavar="N", is_common=True, help="Governs ties and noise. Pseudonyms and record order "
          "are always secret."),
    _flag("--engine", default="auto", show_default=True, metavar="NAME", help="How the table is held: memory "
          "(all of it), stream (in portions, for files larger than memory), auto (as memory allows), spark (on "
          "a cluster)."),
)  # fmt: skip


def making(command: Command) -> Command:
    """The flags of how a release is made."""
    return _method(_mask(_budget(command)))
