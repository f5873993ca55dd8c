"""shoal compare: methods side by side, under the same models or at the same risk."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.errors import PolicyError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.measuring.tuning import Comparison
STOPPED = 130

EPILOG = """\b
Examples:
  shoal compare visits.csv --policy visits.policy.toml --methods balance-tree,mondrian,mdav
  shoal compare visits.csv --policy visits.policy.toml --at max_gidr=0.10,0.05
  shoal compare visits.csv --policy visits.policy.toml --methods balance-tree,balance-tree:cut=median,mondrian \\
        --models person-k,g-balance,record-risk --at max_gidr=0.2,0.1,0.05

Without --at every method meets the models of the policy, or of the flags, as they are. With --at the threshold of every
model in --models is turned until the bound is just met: what is lost then can be compared.
"""


def _listed(ctx: click.Context, param: click.Parameter, given: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in given.split(",") if part.strip())


@click.command(
    cls=options.CommandWithParts,
    own_section="Comparison",
    epilog=EPILOG,
    short_help="Compare methods: what each loses.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.common_flag("--methods", default="balance-tree,mondrian", show_default=True, callback=_listed, metavar="M,M",
              help="Methods, with options behind a colon: balance-tree:cut=median.")  # fmt: skip
@options.common_flag("--at", metavar="RISK=BOUND,BOUND", help="Compare at the same risk: max_gidr=0.10,0.05. Without "
              "it, under the same models.")  # fmt: skip
@options.common_flag("--models", "by", default="k,person-k,g-balance,record-risk", show_default=True, callback=_listed,
              metavar="M,M", help="For --at: the models whose threshold is turned until the bound is met.")  # fmt: skip
@options.common_flag("--minimise", default="loss", show_default=True, metavar="LOSS", help="The loss that is compared.")
@options.useful
@options.policy
@options.columns
@options.population
@options.models
@options.source
@options.common
@click.pass_context
def compare(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    methods: tuple[str, ...],
    by: tuple[str, ...],
    at: str | None,
    minimise: str,
    as_json: bool,
    **flags: Any,
) -> None:
    """What methods lose under the models of the policy; with --at, what methods and models lose at the same risk.

    With --at, models of the policy other than g-balance, record-risk, entropy-balance and h-affiliation are required as
    well.
    """
    from shoal.cli import output as say
    from shoal.cli.choices import chosen_policy, population_of, read_table
    from shoal.measuring import tuning
    from shoal.measuring.tuning.comparison import parse_levels

    clock = time.perf_counter()
    levels = [] if at is None else parse_levels(at)
    policy, home = chosen_policy({**flags, "files": files})
    if not levels and not policy.models:
        raise PolicyError(
            "No model is asked for, so there is nothing to compare methods under. Name models in the policy or by "
            "flags, such as --record-risk 0.1; or a bound on a risk, such as --at max_gidr=0.10."
        )
    reading = read_table(files, policy, home, flags)
    say.say_notes(reading.notes)
    with say.progress_bar() as progress, say.warnings_as_notes():
        found = tuning.compare(
            reading.frame,
            policy.schema(home, reading.frame),
            policy.models,
            methods=methods,
            at=levels,
            by=by,
            minimise=minimise,
            progress=progress,
            history=policy.history_of(home, reading.frame),
            usefulness=policy.usefulness,
            population=population_of(policy, home, policy.schema(home, reading.frame)),
            line_of=reading.line_of_record,
            **policy.table_choices,
        )
    if as_json:
        say.say_json({**found.to_dict(), "seconds": time.perf_counter() - clock})
    else:
        show(say.console(), found)
    if found.stopped:
        ctx.exit(STOPPED)


def show(screen: Console, found: Comparison) -> None:
    """What each method loses, and how far the comparison came."""
    if any(row.target is not None for row in found.rows):
        show_at_bounds(screen, found)
    else:
        show_side_by_side(screen, found)
    if found.stopped:
        screen.print("The comparison was stopped; rows that were done are shown.")


def show_side_by_side(screen: Console, found: Comparison) -> None:
    """A row for each method under the same models: what is lost, and the risk that is left."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title="Methods under the same models", title_justify="left")
    table.add_column("method")
    names = (found.minimise, *found.predictions, "groups", "max_gidr", "avg_gidr", "seconds")
    for name in names:
        table.add_column(name, justify="right", no_wrap=name not in found.predictions)
    for row in found.rows:
        if row.point is None:
            table.add_row(row.method, *["-"] * len(names))
            continue
        risk = row.point.risk
        table.add_row(row.method, f"{row.point.loss:.4g}", *found.predicted(row), f"{risk.groups:,}",
                      f"{risk.max_gidr:.4g}", f"{risk.avg_gidr:.4g}", f"{row.seconds:.3g}")  # fmt: skip
    screen.print(table)
    for why in dict.fromkeys(row.prediction.why_not for row in found.rows if row.prediction is not None):
        if why is not None:
            screen.print(why, markup=False)
    if any(row.point is None for row in found.rows):
        screen.print("- : the method finds no groups that meet every model.", markup=False)


def show_at_bounds(screen: Console, found: Comparison) -> None:
    """A row for each method and model, a column for each bound: what is lost, and at which threshold."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    targets = list(dict.fromkeys(row.target for row in found.rows if row.target is not None))
    title = f"{found.minimise} lost within each bound on the risk (at the threshold)"
    title += f"; {found.predictions[0]}" if found.predictions else ""
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("method")
    table.add_column("model")
    for target in targets:
        table.add_column(f"{target.name} {float(target.limit):g}", justify="right", no_wrap=True)
    rows = {(row.method, row.model, row.target): row for row in found.rows}
    for method, model in dict.fromkeys((row.method, row.model or "") for row in found.rows):
        cells = []
        for target in targets:
            row = rows.get((method, model, target))
            point = None if row is None else row.point
            if row is None or point is None:
                cells.append("-")
                continue
            loss = f"{point.loss:.4g} ({point.models[-1].asked:.4g})"
            cells.append("; ".join([loss, *found.predicted(row)[:1]]))
        table.add_row(method, model, *cells)
    screen.print(table)
