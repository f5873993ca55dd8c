"""shoal project: what was tried in a project of the web app, and the same from the command line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options

if TYPE_CHECKING:
    from shoal.web.project import Project
    from shoal.web.shelf import Candidate
EPILOG = """\b
Examples:
  shoal project visits-project
  shoal project visits-project --show 3
  shoal project visits-project --export 3 -o visits.toml
  shoal project visits-project --run 3 -o out

A candidate is a release that was tried in the web app. Its policy holds its seed, so that a run has the same groups.
"""


@click.command(epilog=EPILOG, short_help="List what was tried in a project of the web app, or make one of it.")
@click.argument("folder", metavar="DIR")
@click.option("--show", type=click.IntRange(min=1), metavar="N", help="Everything about candidate N.")
@click.option("--export", type=click.IntRange(min=1), metavar="N", help="Write the policy of candidate N to the file "
              "that -o names, and print the command that repeats it.")  # fmt: skip
@click.option("--run", "run_it", type=click.IntRange(min=1), metavar="N", help="Make the release of candidate N, in "
              "the folder that -o names.")  # fmt: skip
@click.option("--note", "noted", nargs=2, metavar="N TEXT", help="Write a note on candidate N.")
@click.option("-o", "--output", metavar="PATH", help="For --export a file, for --run a folder.")
@click.option("--overwrite", is_flag=True, help="For --run: replace an earlier release in that folder.")
@options.common
@click.pass_context
def project(
    ctx: click.Context,
    folder: str,
    show: int | None,
    export: int | None,
    run_it: int | None,
    noted: tuple[str, str] | None,
    output: str | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """List the candidates of a project that the web app keeps: risk, loss, attacks, usefulness, notes.

    The app may have the project open meanwhile. No record of the table is shown.
    """
    from shoal.web import shelf
    from shoal.web.project import Project

    _refuse_unfitting(show=show, export=export, run=run_it, note=noted, output=output)
    opened = Project.as_saved(folder)
    if run_it is not None:
        candidate = shelf.candidate_called(opened, run_it)
        _run(ctx, opened, candidate, str(output), overwrite=overwrite, as_json=as_json)
    elif export is not None:
        _export(opened, shelf.candidate_called(opened, export), Path(str(output)), as_json=as_json)
    elif show is not None:
        _show(shelf.candidate_called(opened, show), as_json=as_json)
    else:
        if noted is not None:
            shelf.put_note(opened, _number(noted[0]), noted[1])
        _list(opened, folder, as_json=as_json)


def _refuse_unfitting(*, output: str | None, **asked: object) -> None:
    given = [f"--{name}" for name, value in asked.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} do not go together. Ask for one at a time.")
    if (output is None) != (not given or given[0] not in ("--export", "--run")):
        raise click.UsageError("-o goes with --export and --run: where the policy or the release shall go.")


def _number(text: str) -> int:
    if not text.isdecimal():
        raise click.UsageError("--note takes the number of a candidate and a text: --note 3 'For the board'")
    return int(text)


def _list(opened: Project, folder: str, *, as_json: bool) -> None:
    from shoal.cli import output as say
    from shoal.web import shelf

    found = shelf.candidates(opened)
    if as_json:
        say.say_json({"title": opened.chosen.title, "candidates": [each.to_dict() for each in found]})
        return
    from rich.table import Table

    screen = say.console()
    if not found:
        screen.print(f"Nothing was tried yet in {folder}.", markup=False)
        return
    table = Table(title=f"{len(found):,} candidates in {folder}", title_justify="left", box=None)
    for heading in ("candidate", "record risk", "value risk", "alone", "loss", "strongest attack", "kept", "release"):
        table.add_column(heading, justify="left" if heading == "release" else "right")
    table.add_column("note", overflow="fold")
    for each in found:
        table.add_row(str(each.number), *_figures(each.numbers), each.run or "-", each.note)
    screen.print(table)


def _figures(numbers: Mapping[str, Any]) -> list[str]:
    """The figures that stand side by side."""
    from shoal.web.shelf import kept_of_prediction, strongest_attack

    attack = strongest_attack(numbers)
    values = [value for value in (numbers.get("max_gsar") or {}).values() if value is not None]
    alone = numbers.get("unique_persons")
    return [
        _percent(numbers.get("max_gidr")),
        _percent(max(values, default=None)),
        "-" if alone is None else f"{alone:,}",
        _percent(numbers.get("loss")),
        "-" if attack is None else f"{_percent(attack['success'])} (blind {_percent(attack.get('blind'))})",
        _percent(kept_of_prediction(numbers)),
    ]


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _show(candidate: Candidate, *, as_json: bool) -> None:
    from shoal.cli import output as say

    if as_json:
        say.say_json(candidate.to_dict())
        return
    screen, numbers = say.console(), candidate.numbers
    before = {"before": numbers["before"]} if numbers.get("before") else {}
    screen.print(say.measures_table({**before, "after": dict(numbers)}))
    say.show_verdict(screen, numbers["verdict"])
    lost = ", ".join(f"{name} {_percent(value)}" for name, value in (numbers.get("loss_of_column") or {}).items())
    lines = [
        *candidate.promises,
        f"Lost of each column: {lost}" if lost else "",
        f"Note: {candidate.note}" if candidate.note else "",
        f"Its release: runs/{candidate.run}" if candidate.run else "No release was made of it",
        f"To make it, in the folder of the project: {candidate.command()}",
    ]
    for line in filter(None, lines):
        screen.print(line, markup=False, overflow="fold")


def _export(opened: Project, candidate: Candidate, target: Path, *, as_json: bool) -> None:
    """The policy, as it reads in its new place, and the command."""
    from shoal.cli import output as say
    from shoal.policy import Policy
    from shoal.publishing.text import write_text

    policy = Policy.load(opened.folder / candidate.policy_name)
    write_text(target, policy.moved(policy.folder, target.parent).to_toml())
    files = [str(opened.folder / file) for file in candidate.files]
    command = shlex.join(["shoal", "protect", *files, "--policy", str(target), "-o", "release"])
    if as_json:
        say.say_json({"candidate": candidate.number, "policy": str(target), "command": command})
        return
    screen = say.console()
    screen.print(f"The policy: {target}", markup=False, overflow="fold")
    screen.print(f"The command: {command}", markup=False, overflow="fold")


def _run(
    ctx: click.Context, opened: Project, candidate: Candidate, folder: str, *, overwrite: bool, as_json: bool
) -> None:
    """As `protect` with the policy of the candidate."""
    from shoal.cli.protect import protect

    arguments = [str(opened.folder / file) for file in candidate.files]
    arguments += ["--policy", str(opened.folder / candidate.policy_name), "-o", folder]
    arguments += ["--overwrite"] * overwrite + ["--json"] * as_json
    with protect.make_context("protect", arguments, parent=ctx.parent) as inside:
        protect.invoke(inside)
