"""shoal apply: later records, masked by the groups of a release."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from shoal.cli import options

EPILOG = """\b
Examples:
  shoal protect visits-2023.csv --policy visits.toml --keep-person-map -o 2023
  shoal apply 2023 visits-2024.csv -o 2024

2024 is a release of the visits of both years. Persons who were there in 2023 keep their pseudonyms and their groups;
nothing is written where all records together would break a model.
"""


@click.command(epilog=EPILOG, short_help="Mask later records by the groups of a release.")
@click.argument("release", metavar="RELEASE")
@click.argument("files", nargs=-1, required=True, metavar="NEW...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Where the release of all records goes.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release in DIR, which may be RELEASE itself.")
@click.option("--format", "format_", type=options.FormatName(), help="Default: that of RELEASE.")
@click.option("--no-report", is_flag=True, help="Write no report beside the release.")
@click.option("--all-new", is_flag=True, help="Nobody in NEW is in RELEASE, which keeps no person map to tell.")
@click.option("--check-new", is_flag=True, help="The new records alone must meet the models too, against those who "
              "keep RELEASE.")  # fmt: skip
@click.option("--max-suppressed", type=click.IntRange(min=0), default=0, metavar="N", help="Leave out at most N "
              "persons whom no group covers, or whose records would break a model.")  # fmt: skip
@options.alone
@options.source
@options.common
def apply(
    release: str,
    files: tuple[str, ...],
    output: str,
    overwrite: bool,
    format_: str | None,
    no_report: bool,
    all_new: bool,
    check_new: bool,
    max_suppressed: int,
    as_json: bool,
    **flags: Any,
) -> None:
    """Mask later records of the same kind by the groups of a release that protect has written.

    RELEASE must be whole, with its folder steward. Known persons keep their pseudonyms and groups where the person map
    was kept (protect --keep-person-map); others join a group that covers them. All records together are counted again;
    where a model is not met nothing is written, and the exit code is 3.
    """
    from shoal.cli import output as say
    from shoal.cli.choices import chosen_policy, read_table
    from shoal.cli.protect import refuse_taken, show_release
    from shoal.cli.report import counted_again
    from shoal.publishing.later import apply as mask_later
    from shoal.publishing.later import read_stored, write_applied

    started, clock = datetime.now(UTC), time.perf_counter()
    own = Path(release) / "steward" / "policy.toml"
    refuse_taken(Path(output), overwrite)
    stored = read_stored(release)
    policy, folder = chosen_policy({**flags, "policy_file": None, "files": files}, default_file=own)
    if policy.ledger is not None:
        say.say_notes(["Releases made by apply are not entered in the ledger that the policy names."])
    reading = read_table(files, policy, folder, flags)
    say.say_notes(reading.notes)
    with say.warnings_as_notes():
        applied = mask_later(
            stored, reading, replace(policy, folder=folder), all_new=all_new, check_new=check_new,
            max_suppressed=max_suppressed,
        )  # fmt: skip
        write_applied(
            applied, output, overwrite=overwrite, format=format_, started=started, labels=reading.labels,
            inputs=(*reading.source.paths, *policy.files(folder)), sources=reading.source.shown,
            numbers_of=None if no_report else counted_again,
        )  # fmt: skip
    answer = {**applied.to_dict(), "seconds": time.perf_counter() - clock, "folder": output}
    say.say_notes(applied.notes)
    if as_json:
        say.say_json(answer)
    else:
        show_release(say.console(), answer, output)
