"""shoal verify: whether a release keeps its promises, by what is published and nothing else."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.errors import InputError, PolicyError

if TYPE_CHECKING:
    import polars as pl

    from shoal.mining.rules import Rules
    from shoal.policy import Policy
    from shoal.table.schema import Schema

NOT_MET = 3
RELEASE_FILES = tuple(f"release.{name}" for name in options.FORMATS)

EPILOG = """\b
Examples:
  shoal verify out
  shoal verify out/release.csv --policy visits.policy.toml
  shoal verify received.csv --person patient --quasi age,gender,zip --sensitive disease --g-balance 0.8

Exit codes: 0 every model is met and no file was changed; 3 not.
"""


@click.command(cls=options.CommandWithParts, epilog=EPILOG, short_help="Recount a release: are its promises kept?")
@click.argument("release", metavar="RELEASE")
@click.option("--rules", "rules_file", metavar="FILE", help="The rules that an adversary may know, for --matching-l "
              "(default: those in the folder's steward/rules.json).")  # fmt: skip
@click.option("--mask", metavar="NAME", help="The mask by which it was made, where no policy says it: range (default), "
              "anatomize, permute, ... Only of the last two the column 'group' is believed.")  # fmt: skip
@options.policy
@options.columns
@options.models
@options.source
@options.common
@click.pass_context
def verify(ctx: click.Context, /, release: str, rules_file: str | None, as_json: bool, **flags: Any) -> None:
    """Recount a release from its published files and say, model by model, whether it is met.

    RELEASE is a folder that protect has written, or a published file (of an anatomized release the table release.*,
    with the others beside it). A folder brings its own policy
    (steward/policy.toml) unless you name another, and its files are compared with its manifest.
    """
    from shoal import pipeline
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, csv_options_of_release, mask_said
    from shoal.mining.facing import bound_to
    from shoal.publishing.read import read_published, read_rules
    from shoal.relating.verify import is_star
    from shoal.streaming import verify_file
    from shoal.streaming.engine import fits_memory

    clock = time.perf_counter()
    if is_star(Path(release)):
        from shoal.cli.star import verify_tables

        verify_tables(ctx, Path(release), flags, as_json=as_json)
        return
    file, default_policy, problems = look_up(Path(release))
    policy, folder = chosen_policy({**flags, "files": (str(file),)}, default_file=default_policy)
    if not policy.models:
        raise PolicyError("No model is asked for, so there is nothing to verify. Name them by flags or in the policy.")
    csv = csv_options_of_release(policy, flags)
    if fits_memory(file, policy.schema_of_release(), csv):
        published = read_published(file, csv=csv)
        rules = published.rules if rules_file is None else read_rules(Path(rules_file))
        with output.warnings_as_notes():
            verification = pipeline.verify(
                published.frame, schema_for(policy, folder, published.frame, rules), bound_to(policy.models, rules),
                mask=mask_said(policy, flags, default_policy, published), tables=published.tables,
                linked=published.linked, excluded=published.excluded,
            )  # fmt: skip
    else:
        verification = verify_file(file, policy.schema_of_release(), policy.models, mask=policy.mask, csv=csv)
    problems = [*problems, *verification.problems]
    holds = verification.holds and not problems
    answer: dict[str, Any] = verification.to_dict()
    answer["verdict"] = {**answer["verdict"], "holds": holds}
    answer["problems"] = problems
    answer["seconds"] = time.perf_counter() - clock
    if as_json:
        output.say_json(answer)
    else:
        _show(answer, file)
    if not holds:
        ctx.exit(NOT_MET)


def schema_for(policy: Policy, folder: Path, frame: pl.DataFrame, rules: Rules | None) -> Schema:
    """The schema for looking at a release; with hierarchies where rules name their nodes, and they can be read."""
    from shoal.errors import ShoalError

    if rules is not None and any(column.hierarchy is not None for column in policy.columns.quasi):
        try:
            return policy.schema(folder, frame)
        except ShoalError:  # then rules that name their nodes do not fit, and are checked by what the steward keeps
            pass
    return policy.schema_of_release()


def look_up(release: Path) -> tuple[Path, Path | None, list[str]]:
    """The published file, the policy that lies beside it, and what the manifest says against the folder."""
    from shoal.publishing.folder import finish_interrupted
    from shoal.publishing.manifest import check_manifest
    from shoal.reading.source import refuse_pipe
    from shoal.relating.verify import is_star

    refuse_pipe(release)
    if release.is_file():
        return release, None, []
    finish_interrupted(release)
    if not release.is_dir():
        raise InputError(f"There is no release '{release}'. Check the name and the folder.")
    if is_star(release):
        raise InputError(
            f"The folder '{release}' holds a release of related tables: verify counts it, but no attack, report or "
            "later record is made for it."
        )
    found = [release / name for name in RELEASE_FILES if (release / name).exists()]
    if len(found) != 1:
        raise InputError(f"The folder '{release}' must hold one of {', '.join(RELEASE_FILES)}, not {len(found)}.")
    if not (release / "steward").is_dir():  # only what may be handed out
        return found[0], None, []
    policy = release / "steward" / "policy.toml"
    return found[0], policy if policy.is_file() else None, check_manifest(release)


def _show(answer: dict[str, Any], file: Path) -> None:
    from shoal.cli import output

    screen = output.console()
    screen.print(output.measures_table({"published": answer}, title=f"{file} as it is published"))
    output.show_verdict(screen, answer["verdict"])
    for problem in answer["problems"]:
        screen.print(f"Problem: {problem}", markup=False, style="red")
    holds = answer["verdict"]["holds"]
    screen.print("The release keeps its promises." if holds else "The release does NOT keep its promises.",
                 style="green" if holds else "bold red")  # fmt: skip
