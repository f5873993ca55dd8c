"""shoal verify: whether a release keeps its promises, by what is published and nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.errors import InputError, PolicyError

if TYPE_CHECKING:
    from shoal.publishing.release import Assessment
NOT_MET = 3

EPILOG = """\b
Examples:
  shoal verify out
  shoal verify received
  shoal verify out/release.csv --policy visits.policy.toml
  shoal verify received.csv --person patient --quasi age,gender,zip --sensitive disease --g-balance 0.8

Exit codes: 0 every model was recounted and is met, and no file was changed; 3 not.
"""

FROM_CODEBOOK = "The promises and the role of each column are those that codebook.json names: the publisher's word."


@click.command(cls=options.CommandWithParts, epilog=EPILOG, short_help="Recount a release: are its promises kept?")
@click.argument("release", metavar="RELEASE")
@click.option("--rules", "rules_file", metavar="FILE", help="The rules that an adversary may know, for --matching-l "
              "(default: those in the folder's steward/rules.json).")  # fmt: skip
@click.option("--mask", metavar="NAME", help="The mask by which it was made, where no policy says it: range (default), "
              "anatomize, permute, ... Only of the last two the column 'group' is believed.")  # fmt: skip
@options.policy
@options.columns
@options.population
@options.models
@options.alone
@options.source
@options.common
@click.pass_context
def verify(ctx: click.Context, /, release: str, rules_file: str | None, as_json: bool, **flags: Any) -> None:
    """Recount a release from its published files and say, model by model, whether it is met.

    RELEASE is a folder that protect has written, or a published file (of an anatomized release the table release.*,
    with the others beside it). A folder brings its own policy (steward/policy.toml) unless you name another, and its
    files are compared with its manifest. Of what was handed out without steward/ the codebook (codebook.json) tells
    the columns, the mask and the models, unless you name columns or a policy; a model that these files do not show
    cannot be recounted, and does not count as met.
    """
    from shoal import pipeline
    from shoal.attacking.mining.adversary import bound_to
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, csv_options_of_release, mask_said, population_of
    from shoal.engines.memory_needed import fits_memory
    from shoal.engines.stream import verify_file
    from shoal.masking import mask_called
    from shoal.publishing.codebook import check_files
    from shoal.publishing.later.numbers import schema_for
    from shoal.publishing.read import read_published, read_rules
    from shoal.publishing.related.verify import is_star

    clock = time.perf_counter()
    if is_star(Path(release)):
        from shoal.cli.star import verify_tables

        verify_tables(ctx, Path(release), flags, as_json=as_json)
        return
    file, default_policy, problems = look_up(Path(release))
    book = codebook_for(file, flags, default_policy)
    policy, folder = chosen_policy({**flags, "files": (str(file),)}, default_file=default_policy, codebook=book)
    notes: list[str] = []
    if book is not None:
        changed, untold = check_files(file, book)
        problems, notes = [*problems, *changed], [FROM_CODEBOOK, *untold]
    if not policy.models and mask_called(policy.mask).takes_groups:
        raise PolicyError("No model is asked for, so there is nothing to verify. Name them by flags or in the policy.")
    csv = csv_options_of_release(policy, flags)
    if fits_memory(file, policy.schema_of_release(), csv):
        published = read_published(file, csv=csv)
        rules = published.rules if rules_file is None else read_rules(Path(rules_file))
        with output.warnings_as_notes():
            verification = pipeline.verify(
                published.frame, schema_for(policy, folder, published.frame, rules), bound_to(policy.models, rules),
                mask=mask_said(policy, flags, published, is_told=default_policy is not None or book is not None),
                tables=published.tables, linked=published.linked, excluded=published.excluded, **policy.budget.alone,
                sample=published.sample, population=population_of(policy, folder, policy.schema_of_release()),
            )  # fmt: skip
    else:
        verification = verify_file(
            file, policy.schema_of_release(), policy.models, mask=policy.mask, csv=csv, **policy.budget.alone
        )
    answer = answer_of(verification, problems, notes, seconds=time.perf_counter() - clock)
    say_answer(ctx, answer, f"{file} as it is published", as_json=as_json)


def codebook_for(file: Path, flags: Mapping[str, Any], policy: Path | None) -> dict[str, Any] | None:
    """The codebook beside a published file, where neither a policy nor columns are named otherwise."""
    from shoal.publishing.codebook import CODEBOOK, read_codebook

    if policy is not None or flags.get("policy_file") is not None or flags.get("quasi"):
        return None
    book = read_codebook(file.parent)
    if book is None:
        raise InputError(
            f"Nothing tells the columns of '{file.name}' and what it promises: no policy is named, and there is no "
            f"{CODEBOOK} beside it. Put the codebook that came with the release there, or name columns and models by "
            "flags (--person, --quasi, --sensitive, --g-balance, ...) or by --policy."
        )
    if "star" in book:
        raise InputError(f"'{file.name}' is one of several related tables. Name the folder to verify them together.")
    if any(entry.get("file") == file.name for entry in book.get("tables", ())):
        raise InputError(f"'{file.name}' counts a sensitive attribute. Name the folder, or the table release.* in it.")
    return book


def answer_of(
    verification: Assessment, problems: Sequence[str], notes: Sequence[str], *, seconds: float
) -> dict[str, Any]:
    """What verify answers: the recount, all problems, and which models could not be recounted."""
    from shoal.judging.verdict import NOT_SHOWN

    found = [*problems, *verification.problems]
    answer: dict[str, Any] = verification.to_dict()
    told = [*notes, *answer["verdict"].get("notes", ())]
    answer["verdict"] = {**answer["verdict"], "holds": verification.holds and not found}
    if told:
        answer["verdict"]["notes"] = told
    unseen = [model.name for model in verification.verdict.models if model.checked_from.startswith(NOT_SHOWN)]
    return {**answer, "not_recounted": unseen, "problems": found, "seconds": seconds}


def look_up(release: Path) -> tuple[Path, Path | None, list[str]]:
    """The published file, the policy that lies beside it, and what the manifest says against the folder."""
    from shoal.publishing.folder import finish_interrupted
    from shoal.publishing.manifest import check_manifest
    from shoal.publishing.related.verify import is_star
    from shoal.reading.formats import written_formats
    from shoal.reading.source import refuse_pipe

    refuse_pipe(release)
    if release.is_file() or any(release.glob("part-*")):
        return release, None, []
    finish_interrupted(release)
    if not release.is_dir():
        raise InputError(f"There is no release '{release}'. Check the name and the folder.")
    if is_star(release):
        raise InputError(
            f"The folder '{release}' holds a release of related tables: verify counts it, but no attack, report or "
            "later record is made for it."
        )
    files = [f"release.{name}" for name in written_formats()]
    found = [release / file for file in files if (release / file).exists()]
    if len(found) != 1:
        raise InputError(f"The folder '{release}' must hold one of {', '.join(files)}, not {len(found)}.")
    if not (release / "steward").is_dir():  # only what may be handed out
        return found[0], None, []
    policy = release / "steward" / "policy.toml"
    return found[0], policy if policy.is_file() else None, check_manifest(release)


def say_answer(ctx: click.Context, answer: dict[str, Any], title: str, *, as_json: bool) -> None:
    """Say what verify answers, and exit with 3 where the release does not hold."""
    from shoal.cli import output

    if as_json:
        output.say_json(answer)
    else:
        show(answer, title)
    if not answer["verdict"]["holds"]:
        ctx.exit(NOT_MET)


def show(answer: dict[str, Any], title: str) -> None:
    """What verify answers, for people."""
    from shoal.cli import output

    screen = output.console()
    screen.print(output.measures_table({"published": answer}, title=title))
    output.show_verdict(screen, answer["verdict"])
    for problem in answer["problems"]:
        screen.print(f"Problem: {problem}", markup=False, style="red")
    unseen = answer["not_recounted"]
    unmet = [model["name"] for model in answer["verdict"]["models"] if not model["holds"]]
    if answer["verdict"]["holds"]:
        screen.print("The release keeps its promises.", style="green")
    elif len(unmet) == len(unseen) and not answer["problems"]:
        screen.print(
            f"What can be recounted holds. NOT recounted, and so not known to be met: {', '.join(unseen)}. Only "
            "those who have steward/ can recount it.",
            style="bold red",
        )
    else:
        screen.print("The release does NOT keep its promises.", style="bold red")
