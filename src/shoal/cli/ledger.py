"""shoal ledger: which releases a ledger remembers, and forgetting one."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options

if TYPE_CHECKING:
    from shoal.publishing.ledger.accountant import Account

EPILOG = """\b
Examples:
  shoal ledger ledger.sqlite
  shoal ledger ledger.sqlite --forget 3

Only counts are shown; the key is not needed. A release that is in doubt counts as released; one that was forgotten is
listed as such, and later releases are not looked at together with it.
"""


@click.command(epilog=EPILOG, short_help="List what a ledger remembers, or forget a release.")
@click.argument("file", metavar="FILE")
@click.option("--forget", type=click.IntRange(min=1), metavar="RELEASE", help="Forget the release of this number, for "
              "good: one that was never handed out. That it was forgotten is said of later releases.")  # fmt: skip
@options.common
def ledger(file: str, forget: int | None, as_json: bool) -> None:
    """List the releases that a ledger remembers, with counts and nothing about persons."""
    from shoal.cli import output
    from shoal.publishing.ledger import Ledger

    kept = Ledger(file)
    if forget is not None:
        kept.forget(forget)
    releases = [asdict(release) for release in kept.releases()]
    if as_json:
        account = _spent(releases)
        told = {} if account is None else {"account": asdict(account)}
        output.say_json({"releases": releases, **told, **({} if forget is None else {"forgotten": forget})})
        return
    from rich.table import Table

    table = Table(title=f"{len(releases):,} releases in {file}", title_justify="left", box=None)
    for heading in ("release", "made (UTC)", "folder", "state", "persons", "records", "groups"):
        table.add_column(heading, justify="left" if heading in ("made (UTC)", "folder", "state") else "right")
    for release in releases:
        counts = (f"{release[name]:,}" for name in ("persons", "records", "groups"))
        table.add_row(str(release["number"]), release["made"], release["name"], release["state"], *counts)
    screen = output.console()
    if forget is not None:
        screen.print(f"Release {forget} is forgotten.")
    screen.print(table)
    account = _spent(releases)
    if account is not None:
        screen.print(account.sentence())


def _spent(releases: list[dict[str, Any]]) -> Account | None:
    """What releases spend of differential privacy together, where one of them promises it."""
    from shoal.publishing.ledger.accountant import Account

    counted = [each for each in releases if each["state"] != "forgotten"]
    account = Account.of([None if each["epsilon"] is None else (each["epsilon"], each["delta"]) for each in counted])
    return account if account.releases else None
