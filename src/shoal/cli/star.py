"""Several related tables through the command: what protect and verify do where a policy has [tables]."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.errors import InputError, ParameterError, PolicyError

if TYPE_CHECKING:
    from shoal.policy import Policy


def protect_tables(
    policy: Policy,
    folder: Path,
    output: str,
    *,
    files: Sequence[str],
    overwrite: bool,
    format: str | None,
    no_report: bool,
    keep_person_map: bool,
    into: str | None,
    as_json: bool,
    started: datetime,
) -> None:
    """Protect the tables that a policy names."""
    from shoal.cli import output as say
    from shoal.cli.protect import show_release
    from shoal.publishing.related import protect_star, read_tables, star_of, write_star
    from shoal.reading.detect import refuse_unanswered

    clock = time.perf_counter()
    if files:
        raise click.UsageError(
            "The policy names related tables with their files under [tables]: name no FILE beside it."
        )
    if into is not None:
        raise ParameterError("Related tables are written to a folder, not to a database. Leave --into out.")
    star, readings = star_of(policy), read_tables(policy, folder)
    for reading in readings.values():
        refuse_unanswered(reading.source.name, reading.findings, policy.columns.dropped)
        say.say_notes(reading.notes)
    frames = {name: reading.frame for name, reading in readings.items()}
    with say.progress_bar() as progress, say.warnings_as_notes() as told:
        release = protect_star(frames, star, replace(policy, folder=folder), progress=progress)
        first = readings[star.root].source
        write_star(
            release,
            output,
            policy_text=policy.moved(folder, Path(output) / "steward").to_toml(),
            overwrite=overwrite,
            format=format or first.written_as,
            keep_person_map=keep_person_map,
            report=not no_report,
            inputs=[path for reading in readings.values() for path in reading.source.paths],
            csv=None if first.csv is None else first.csv.written_in("utf-8"),
            started=started,
            safe_cells=policy.safe_cells,
        )
    say.say_notes(note for note in release.notes if note not in told)
    answer = {**release.to_dict(), "seconds": time.perf_counter() - clock, "folder": output}
    if as_json:
        say.say_json(answer)
    else:
        show_release(say.console(), answer, output)


def verify_tables(ctx: click.Context, release: Path, flags: Mapping[str, Any], *, as_json: bool) -> None:
    """Recount published tables that belong together."""
    from shoal.cli.choices import chosen_policy, csv_options_of_release
    from shoal.cli.verify import FROM_CODEBOOK, answer_of, say_answer
    from shoal.publishing.codebook import read_codebook
    from shoal.publishing.folder import finish_interrupted
    from shoal.publishing.manifest import check_manifest, differences_of
    from shoal.publishing.related import read_star, star_of, verify_star

    clock = time.perf_counter()
    finish_interrupted(release)
    own = release / "steward" / "policy.toml"
    default = own if own.is_file() else None
    book, changed, notes = None, check_manifest(release) if own.parent.is_dir() else [], []
    if default is None and flags.get("policy_file") is None and not flags.get("quasi"):
        book = read_codebook(release) or {}
        changed, notes = [*changed, *differences_of(release, book, named="codebook")], [FROM_CODEBOOK]
    policy, _ = chosen_policy({**flags, "files": ()}, default_file=default, codebook=book)
    if not policy.models:
        raise PolicyError("No model is asked for, so there is nothing to verify. Name them by flags or in the policy.")
    star, frames = read_star(release, csv_options_of_release(policy, flags))
    if policy.tables and star != star_of(policy):
        raise InputError("The codebook tells of other tables, keys or links than the policy.")
    found = verify_star(frames, star, policy.schema_of_release(), policy.models, **policy.budget.alone)
    answer = answer_of(found, changed, notes, seconds=time.perf_counter() - clock)
    say_answer(ctx, answer, f"{release}: its tables, joined again", as_json=as_json)
