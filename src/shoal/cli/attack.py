"""shoal attack: what an adversary gets out of a release."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.cli.verify import look_up

if TYPE_CHECKING:
    from shoal.attacking.elimination import EliminationResult

ABOVE = 3

EPILOG = """\b
Examples:
  shoal attack out
  shoal attack out --exclude 3 --fail-above 0
  shoal attack received.csv --person patient --quasi age,gender,zip --sensitive disease,treatment

Exit codes: 0 done; 3 with --fail-above, where a larger share of persons is exposed.
"""


@click.command(epilog=EPILOG, short_help="Attack a release: who is exposed?")
@click.argument("release", metavar="RELEASE")
@click.option("--exclude", type=click.IntRange(min=0), default=2, show_default=True, metavar="E",
              help="How many values the adversary can exclude for a person.")  # fmt: skip
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
    original: str | None,
    fail_above: float | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Try what an adversary would: exclude values that a person is known not to have.

    RELEASE is a folder that protect has written, or a published file. Somebody who knows a person's group and can
    exclude some sensitive values learns another one where all who are left share it. Blind guessing stands beside it.
    """
    from shoal import pipeline
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, csv_options_of_release
    from shoal.publishing.read import read_published

    clock = time.perf_counter()
    file, default_policy, _ = look_up(Path(release))
    policy, _ = chosen_policy({**flags, "files": (str(file),)}, default_file=default_policy)
    published = read_published(file, csv=csv_options_of_release(policy, flags))
    results = pipeline.attack(
        published.frame, policy.schema_of_release(), exclude=exclude, tables=published.tables, linked=published.linked
    )
    if as_json:
        answer = {"elimination": [asdict(result) for result in results], "seconds": time.perf_counter() - clock}
        output.say_json(answer)
    else:
        _show(results)
    if fail_above is not None and results[-1].share > fail_above:
        ctx.exit(ABOVE)


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
