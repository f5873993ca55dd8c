"""shoal tune: the least loss under a risk that may not be exceeded."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.measuring.tuning import Point, Tuning
    from shoal.policy import Policy
STOPPED = 130

EPILOG = """\b
Examples:
  shoal tune visits.csv --policy visits.policy.toml --target max_gidr=0.10
  shoal tune visits.csv --policy visits.policy.toml --target max_gidr=0.10 --target max_gsar.disease=0.2 \\
        --minimise granularity -o tuned
  shoal tune visits.csv --policy visits.policy.toml --game gain=300,cost=4,benefit=1200,loss=300
  shoal protect visits.csv --policy tuned/policy.toml -o out

Thresholds of g-balance, record-risk, entropy-balance and h-affiliation in the policy are turned; its other models stay
as they are. Ctrl-C ends the search and keeps what was found.
"""


@click.command(
    cls=options.CommandWithParts,
    own_section="Search",
    epilog=EPILOG,
    short_help="Find the setting that loses least under a risk.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.common_flag("--target", "targets", multiple=True, metavar="RISK=BOUND",
              help="A risk that may not be exceeded: max_gidr=0.10 is nobody above 10 %. May be repeated.")  # fmt: skip
@options.common_flag("--minimise", metavar="LOSS",
              help="What to keep small, loss unless told. One of ane, within_variance, discernability, "
                   "average_group_size, granularity or payout (the higher the better).")  # fmt: skip
@click.option("--game", metavar="gain=X,cost=X,benefit=X,loss=X", help="The stakes of the game between publisher and "
              "adversary, whose payout is then kept large; attacker=journalist for one who does not know who is in the "
              "table. Targets may be left out.")  # fmt: skip
@click.option("--points", type=click.IntRange(min=2), default=20, show_default=True, metavar="N",
              help="How many settings the frontier tries.")  # fmt: skip
@options.common_flag("-o", "--output", metavar="DIR",
              help="Where policy.toml, frontier.svg and frontier.json go; default: tuned.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace an earlier result in DIR.")
@options.policy
@options.columns
@options.population
@options.models
@options.making
@options.alone
@options.source
@options.common
@click.pass_context
def tune(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    targets: tuple[str, ...],
    minimise: str | None,
    game: str | None,
    points: int,
    output: str | None,
    overwrite: bool,
    engine: str,
    as_json: bool,
    **flags: Any,
) -> None:
    """Find the thresholds that lose least while every target is met.

    Writes the policy it chose, and the frontier between risk and loss as a picture and as numbers. The chosen setting
    is checked on the table as it would be published.
    """
    from shoal.cli import output as say
    from shoal.cli.choices import chosen_engine, chosen_policy, population_of, read_table
    from shoal.measuring import tuning
    from shoal.measuring.game import Game

    clock = time.perf_counter()
    chosen_engine(engine, ("auto", "memory"))
    folder = Path(output or "tuned")
    refuse_written(folder, overwrite)
    stakes = None if game is None else Game.parse(game)
    if not targets and stakes is None:
        raise click.UsageError("Name a risk that may not be exceeded: --target max_gidr=0.10, or a --game.")
    aims = tuning.parse_targets(parsed(targets)) if targets else ()
    policy, home = chosen_policy({**flags, "files": files})
    reading = read_table(files, policy, home, flags)
    say.say_notes(reading.notes)
    with say.progress_bar() as progress, say.warnings_as_notes():
        found = tuning.tune(
            reading.frame,
            policy.schema(home, reading.frame),
            policy.models,
            targets=aims,
            minimise=minimise or ("loss" if stakes is None else "payout"),
            game=stakes,
            population=population_of(policy, home, policy.schema(home, reading.frame)),
            points=points,
            progress=progress,
            line_of=reading.line_of_record,
            history=policy.history_of(home, reading.frame),
            **policy.choices,
        )
    written = {}
    if found.chosen is not None:
        written["policy.toml"] = chosen(policy, found.chosen).moved(home, folder).to_toml()
    write_results(folder, found, written)
    answer = {**found.to_dict(), "seconds": time.perf_counter() - clock, "folder": str(folder)}
    if as_json:
        say.say_json(answer)
    else:
        show(say.console(), found, folder)
    if found.stopped:
        ctx.exit(STOPPED)


def chosen(policy: Policy, point: Point) -> Policy:
    """The policy with the setting that was chosen; it may be one that was tried with less effort."""
    usual = type(point.method)().options if point.method.options else {}
    tried = {name: value for name, value in point.method.options.items() if value != usual.get(name)}
    return replace(policy, models=point.models, method_options={**policy.method_options, **tried})


def parsed(targets: tuple[str, ...]) -> dict[str, str]:
    """Targets as written, NAME=BOUND, by name."""
    parts = {}
    for text in targets:
        name, is_given, bound = text.partition("=")
        if not is_given or not name.strip() or not bound.strip():
            raise click.UsageError("--target takes a risk and its bound: --target max_gidr=0.10")
        if name.strip() in parts:
            raise click.UsageError(f"--target names {name.strip()} twice.")
        parts[name.strip()] = bound.strip()
    return parts


RESULTS = ("policy.toml", "frontier.svg", "frontier.json")


def refuse_written(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds an earlier result before the work rather than after."""
    taken = [name for name in RESULTS if (folder / name).exists()]
    if taken and not overwrite:
        raise OutputError(
            f"The folder '{folder}' holds {', '.join(taken)} already. Nothing was written. Choose another with -o, or "
            "replace them with --overwrite."
        )
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"'{folder}' is a file. Choose another folder with -o.")


def write_results(folder: Path, found: Tuning, texts: dict[str, str]) -> None:
    """The policy, the picture and the numbers, each written beside and renamed."""
    import json

    from shoal.cli.output import plain
    from shoal.measuring.tuning.chart import frontier_svg
    from shoal.publishing.text import write_text

    texts["frontier.svg"] = frontier_svg(found)
    texts["frontier.json"] = json.dumps(plain(found.to_dict()), indent=1, allow_nan=False) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"The folder '{folder}' cannot be made: {error.strerror}.") from None
    for name, text in texts.items():
        write_text(folder / name, text)


def show(screen: Console, found: Tuning, folder: Path) -> None:
    """The frontier as a table, the choice, and where everything is."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title="Settings, from safe to risky", title_justify="left")
    for name in ("models", *(target.name for target in found.targets), found.minimise, ""):
        table.add_column(name, justify="left" if name in ("models", "") else "right")
    shown = list(found.frontier)
    if found.chosen is not None and found.chosen not in shown:  # it was tried with more effort than the others
        shown.append(found.chosen)
    for point in shown:
        reached = (f"{point.reached[target.name]:.4g}" for target in found.targets)
        setting = ", ".join(f"{name} {asked:g}" for name, asked in point.setting().items())
        mark = "chosen" if point is found.chosen else "meets the targets" if point.meets else ""
        table.add_row(setting, *reached, f"{point.loss:.4g}", mark)
    screen.print(table)
    if found.stopped:
        screen.print("The search was stopped; this is what was found until then.")
    if found.chosen is None:
        screen.print(f"No setting met the targets yet. In {folder}: frontier.svg, frontier.json", markup=False)
        return
    screen.print(f"In {folder}: policy.toml, frontier.svg, frontier.json", markup=False, overflow="fold")
    screen.print(
        f"Go on with: shoal protect FILE --policy {folder / 'policy.toml'} -o DIR", markup=False, overflow="fold"
    )
