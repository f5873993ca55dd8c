"""shoal report: the report of a release folder, made anew from what lies in it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options

if TYPE_CHECKING:
    from shoal.policy.decision import Decision
EPILOG = """\b
Examples:
  shoal report out
  shoal report out -o board.html
  shoal report out --decision decision.toml

The report is for the steward and the review board; out/summary.html may be handed out with the data.
"""


@click.command(epilog=EPILOG, short_help="Make the report of a release anew.")
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", metavar="FILE", help="Write the report to this file, and leave DIR as it is.")
@click.option("--decision", metavar="FILE", help="Print what was decided first, from the table [decision] of this TOML "
              "file, and enter it in the policy of DIR.")  # fmt: skip
@options.common
def report(folder: str, output: str | None, decision: str | None, as_json: bool) -> None:
    """Make the report of a release folder anew: DIR/steward/report.html and DIR/summary.html.

    DIR is a folder that protect has written, and none of its files may have changed. Where it was made with --no-report
    the published files are counted again; what only the original table could tell is then left out.
    """
    from shoal.cli import output as say
    from shoal.publishing import pages

    clock = time.perf_counter()
    place = Path(folder)
    decided = None if decision is None else read_decision(decision)
    pages.refuse_changed(place)
    numbers = None if pages.has_numbers(place) else counted_again(place)
    if output is not None:
        from shoal.publishing.text import write_text

        write_text(output, pages.render_report_of(place, numbers, decision=decided))
        made = {"report": output}
    else:
        pages.renew_pages(place, numbers, decision=decided)
        made = {"report": str(place / pages.REPORT), "summary": str(place / pages.SUMMARY)}
    if as_json:
        say.say_json({**made, "folder": folder, "seconds": time.perf_counter() - clock})
        return
    screen = say.console()
    screen.print(f"The report: {made['report']}", markup=False, overflow="fold")
    if "summary" in made:
        screen.print(f"To hand out with the data: {made['summary']}", markup=False, overflow="fold")


def read_decision(file: str) -> Decision:
    """What a TOML file says under [decision]: a policy, or a file with nothing else in it."""
    from shoal.errors import ParameterError, PolicyError
    from shoal.policy import read_document
    from shoal.policy.decision import Decision, as_decision

    document = read_document(file)
    if "decision" not in document:
        known = ", ".join(Decision.model_fields)
        raise PolicyError(f"'{Path(file).name}' has no table [decision]. It has some of the keys: {known}.")
    try:
        decided = as_decision(document["decision"])
    except ParameterError as error:
        raise PolicyError(f"'{Path(file).name}': {error}") from None
    assert decided is not None
    return decided


def counted_again(folder: Path) -> dict[str, Any]:
    """The numbers of a report, from the published files and what the steward keeps of them."""
    from shoal.cli import output as say
    from shoal.cli.choices import chosen_policy, csv_options_of_release
    from shoal.cli.verify import look_up
    from shoal.publishing.later.numbers import counted_again as counted

    file, default_policy, _ = look_up(folder)
    policy, place = chosen_policy({"files": (str(file),)}, default_file=default_policy)
    with say.warnings_as_notes():
        numbers: dict[str, Any] = say.plain(counted(folder, file, policy, place, csv_options_of_release(policy, {})))
    return numbers
