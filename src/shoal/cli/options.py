"""The flags that commands share; those of models are made from the models. Values stay texts until a policy is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("csv", "parquet", "arrow", "xlsx", "sav", "dta", "xpt")
"""The formats of a release, named here too so that help needs no frames."""

ENGINES = ("auto", "memory", "stream", "spark")
"""The engines of `shoal protect`; "local" is the former name of "memory"."""


def _names(ctx: click.Context, param: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Lists of columns: separated by commas, and the flag may be repeated."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())


def _debug(ctx: click.Context, param: click.Parameter, given: bool) -> None:
    if given:
        ctx.find_root().meta["shoal.debug"] = True


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several options as one decorator, shown in help in the order given."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _columns(flag: str, help_text: str) -> Callable[[Command], Command]:
    return click.option(flag, multiple=True, callback=_names, metavar="C,C", help=help_text)


common = _together(
    click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object on one line, nothing else."),
    click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_debug,
        help="Show unexpected errors in full; that may show values of the table.",
    ),
)

policy = click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    help="A policy file (TOML) with all choices. Flags given as well win over it.",
)

columns = _together(
    click.option("--person", metavar="C", help="The column that names the person. Without it each record is a person."),
    click.option("--person-ids", type=click.Choice(["pseudonyms", "none"]), help="Publish a random pseudonym a person "
                 "(default), or none: nobody sees which records belong to one person."),
    _columns("--quasi", "What an adversary may know of a person: age, sex, ZIP. A kind may follow a colon: age:number, "
                        "sex:nominal, level:ordered, born:date."),
    _columns("--sensitive", "What nobody may learn of a person: disease, income."),
    _columns("--keep", "Columns published unchanged."),
    _columns("--drop", "Columns not published."),
    click.option("--time", metavar="C", help="The column of times; published as --time-as says."),
    click.option("--time-as", type=click.Choice(["sequence", "shift"]), help="Each person's own 1, 2, 3 (default), or "
                 "dates moved by a random number of days a person."),
    click.option("--time-of-day", type=click.Choice(["cut", "keep"]), help="Of times that are shifted: days only "
                 "(default), or the time of day too, which is not shifted."),
    click.option("--shared-dates", type=click.Choice(["tell", "hide", "refuse"]), help="Dates that unlikely many "
                 "share, which give shifts away: tell how many (default), publish them as missing, or refuse."),
    click.option("--zone", metavar="NAME", help="The time zone in which days are counted, such as Europe/Berlin, for "
                 "times in UTC or with an offset."),
    click.option("--missing", type=click.Choice(["value", "refuse", "drop"]), help="A missing quasi-identifier is a "
                 "value of its own (default), an error, or a reason to leave the record out."),
    click.option("--spelling", multiple=True, callback=_names, metavar="C=FORM", help="What tells texts of the person "
                 "column or of a sensitive one apart: exact, plain (default of persons: Unicode forms, invisible "
                 "characters and white space do not), folded (default of sensitive values: case does not either)."),
    click.option("--hierarchy", multiple=True, metavar="C=FILE", help="The value hierarchy of a quasi-identifier, in "
                 "ARX's CSV format."),
)  # fmt: skip

source = _together(
    click.option("--delimiter", metavar="CHAR", help="What separates the fields of a CSV file; found if not given."),
    click.option("--encoding", metavar="NAME", help="How a CSV file is encoded: utf-8 (default), latin-1, cp1252."),
    click.option("--quote", metavar="CHAR", help="What stands around a CSV field that holds delimiters; empty: none."),
    click.option("--decimal", type=click.Choice([".", ","]), help="The decimal sign of a CSV file."),
    click.option("--missing-text", multiple=True, metavar="TEXT", help="A text that means missing, besides an empty "
                 "field; may be repeated."),
    click.option("--labels", type=click.Choice(["codes", "values"]), help="Of SPSS, Stata and SAS files: codes, with "
                 "labels in the codebook (default), or labels as values."),
    click.option("--sheet", metavar="NAME", help="The sheet of an Excel workbook that has several."),
    click.option("--table", metavar="NAME", help="The table to read, where FILE is the address of a database "
                 "(postgresql://host/db, sqlite:///file, duckdb:///file)."),
    click.option("--query", metavar="SQL", help="A query in place of --table."),
    click.option("--rename", multiple=True, metavar="FILE:OLD=NEW", help="Give a column of one file the name that it "
                 "has in the others."),
    click.option("--join", metavar="FILE", help="A file with one record a person, joined to the records by --on."),
    click.option("--on", multiple=True, callback=_names, metavar="KEY", help="The key of --join; KEY=OTHER where the "
                 "person file calls it otherwise."),
)  # fmt: skip


class ModelFlags(click.Option):
    """Stands for the flags of all models until they are needed, since asking the models takes a while."""

    def __init__(self) -> None:
        super().__init__(["--models-come-here"], hidden=True, expose_value=False)

    def flags(self) -> list[click.Parameter]:
        """A flag for each parameter of each model, as the models say it."""
        from shoal.models import MODELS

        return [
            click.Option([f"--{flag.name}"], metavar=flag.metavar, help=flag.help)
            for model in MODELS.values()
            for flag in model.flags()
        ]


class CommandWithParts(click.Command):
    """A command whose flags are partly those of models, which are asked when the command runs or is explained."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The flags in the order of their help."""
        for at, param in enumerate(self.params):
            if isinstance(param, ModelFlags):
                self.params[at : at + 1] = param.flags()
                break
        return super().get_params(ctx)


def models(command: Command) -> Command:
    """The flags of all models; the command is a `CommandWithParts`."""
    own: list[click.Parameter] = command.__dict__.setdefault("__click_params__", [])
    own.append(ModelFlags())
    return command


alone = _together(
    click.option("--max-alone", type=click.IntRange(min=0), metavar="N", help="At most N persons may be alone in their "
                 "group by the kept columns, their number of records, a sensitive column or the time as published."),
    click.option("--allow-alone", is_flag=True, default=None, help="Allow that more than 5 % of the persons are alone "
                 "in their group by the columns of --keep."),
)  # fmt: skip

making = _together(
    click.option("--method", metavar="NAME", help="How groups are formed: balance-tree (default), mondrian, "
                 "local-recoding, mdav, spanning-tree, spanning-cells, longest-edge, buckets, anatomy, decomposition."),
    click.option("--cut", metavar="WHICH", help="For balance-tree: best (default), or median as in the paper."),
    click.option("--ties", metavar="HOW", help="For --cut median: together (default) or split."),
    click.option("--effort", metavar="HOW", help="For balance-tree with the best cut: how long to look for groups that "
                 "lose less once the tree is grown: low (not at all), normal (default) or high."),
    click.option("--spread", metavar="KIND", help="For mondrian: range (default) or z-score."),
    click.option("--m", type=click.IntRange(min=1), metavar="M", help="For mdav and the spanning methods: the "
                 "fewest persons of a group (default: the larger of --k and --person-k, else 3); for buckets and "
                 "anatomy (default: the l of the models)."),
    click.option("--variable", is_flag=True, default=None, help="For mdav: groups of variable size."),
    click.option("--gamma", type=float, metavar="G", help="For --variable: how near a person must be to join (0.2)."),
    click.option("--alpha", type=click.FloatRange(0, 1), metavar="A", help="The weight of distances beside that of "
                 "mixing sensitive values; 1 looks at distances only (spanning-tree and spanning-cells: 0.5; mdav and "
                 "balance-tree: 1)."),
    click.option("--b", type=click.IntRange(min=2), metavar="B", help="For spanning-tree and spanning-cells: the "
                 "persons around an edge whose sensitive values are mixed (default: m)."),
    click.option("--start", type=click.IntRange(min=0), metavar="N", help="For spanning-tree: the record, counted from "
                 "0, that the tree starts from (0)."),
    click.option("--repair/--no-repair", default=None, help="For spanning-tree: whether groups of 2m or more persons "
                 "are parted afterwards (default: yes)."),
    click.option("--nominal", metavar="HOW", help="For the spanning methods: two different categories are 1 apart "
                 "(zero-one, default), or each category is a column of 0 and 1 (coded)."),
    click.option("--length", metavar="BY", help="For spanning-tree: divide distances by the number of columns "
                 "(default) or by its root."),
    click.option("--order", metavar="WHICH", help="For buckets: who is taken next, similar persons (default), those "
                 "with the commonest value (balanced) or the rarest, as in the paper."),
    click.option("--cell", type=click.IntRange(min=10), metavar="N", help="For spanning-cells: about how many persons "
                 "a cell has (2500)."),
    click.option("--moves/--no-moves", default=None, help="For spanning-cells: whether persons may move to a nearer "
                 "group afterwards (default: yes)."),
    click.option("--mask", metavar="NAME", help="What is shown of a group: range (default), mean, suppress, perturb, "
                 "anatomize or permute."),
    click.option("--quasi-as", metavar="HOW", help="For --mask anatomize and permute: show quasi-identifiers exact "
                 "(default) or as range."),
    click.option("--noise", metavar="KIND", help="For --mask perturb: centred (default), rescaled, published "
                 "or hybrid."),
    click.option("--round-to-domain", is_flag=True, default=None, help="For --mask perturb: round and clip to what the "
                 "column can hold."),
    click.option("--code-extremes", is_flag=True, default=None, help="Top- and bottom-code an extreme value that only "
                 "one person has."),
    click.option("--max-suppressed", type=click.IntRange(min=0), metavar="N", help="Leave out at most N persons where "
                 "the models cannot be met otherwise."),
    click.option("--max-records", type=click.IntRange(min=1), metavar="N", help="Publish at most N records of a person "
                 "where the models cannot be met otherwise."),
    click.option("--seed", type=int, metavar="N", help="Governs ties and noise; pseudonyms and record order are always "
                 "secret."),
    click.option("--engine", default="auto", show_default=True, metavar="NAME", help="How the table is held: memory "
                 "(all of it), stream (in portions, for files larger than memory), auto (as memory allows), spark (on "
                 "a cluster)."),
)  # fmt: skip
