"""shoal protect: from files to a release that keeps every promise, or to nothing."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli import options
from shoal.errors import OutputError, ParameterError, PolicyError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.policy import Policy
    from shoal.publishing.ledger import Ledger
EPILOG = """\b
Examples:
  shoal protect visits.csv --policy visits.policy.toml -o out
  shoal protect visits.csv --person patient --quasi age,gender:nominal,zip --sensitive disease --drop name \\
        --g-balance 0.8 --h-affiliation 0.5 -o out
  shoal protect franklin.csv lexington.csv --rename lexington.csv:sex=gender --policy clinics.toml -o out
  shoal protect patients.csv --quasi age,zip --sensitive disease,treatment --joint-l 3 --joint-caps treatment=2 \\
        --person-k 5 --mask anatomize -o out
  shoal protect postgresql://host/clinic --table visits --policy visits.toml -o out \\
        --into postgresql://host/research --into-table visits
  shoal protect conditions.csv --join patients.csv --on patient_id --policy hospital.toml -o out
  shoal protect visits.csv --policy visits.toml -o out --ledger ledger.sqlite --ledger-mode refuse
  shoal protect visits.parquet --engine spark --master spark://host:7077 --policy visits.toml -o out

What is in DIR may be handed out, but for the folder DIR/steward, which stays with you.
"""


@click.command(
    cls=options.CommandWithParts, epilog=EPILOG, short_help="Make a release that keeps every promise, or none."
)
@click.argument("files", nargs=-1, metavar="FILE...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Where the release goes.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier release in DIR.")
@click.option("--format", "format_", type=click.Choice(options.FORMATS), help="Default: the input's.")
@click.option("--safe-cells", is_flag=True, help="Put an apostrophe before cells that a spreadsheet would run, in CSV "
              "and Excel files.")  # fmt: skip
@click.option("--column-labels", is_flag=True, help="Publish the labels of columns of SPSS, Stata and SAS files too; "
              "shoal profile shows them.")  # fmt: skip
@click.option("--into", metavar="URL", help="Write the release to a database too: postgresql://host/db, sqlite:///file "
              "or duckdb:///file.")  # fmt: skip
@click.option("--into-table", metavar="NAME", help="The table of --into; its sensitive tables are NAME_attribute.")
@click.option("--no-report", is_flag=True, help="Write no report beside the release.")
@click.option("--queries", type=click.IntRange(min=0), default=0, metavar="N",
              help="Answer N random queries of each kind on the release and report their error.")  # fmt: skip
@click.option("--query-kinds", default="count", show_default=True, metavar="KIND,...",
              help="For --queries: count, sum, average, min, max; the last four of numeric attributes.")  # fmt: skip
@click.option("--associations", type=click.IntRange(min=0), default=0, metavar="N",
              help="Report how well the release keeps association rules of up to N quasi-identifiers.")  # fmt: skip
@click.option("--attack", "attacks", type=click.IntRange(min=0), is_flag=False, flag_value=1000, default=0,
              metavar="[N]", help="Attack the release with the original at hand, on at most N persons (1000), for the "
              "report.")  # fmt: skip
@click.option("--max-linkage", type=click.FloatRange(0, 1), metavar="SHARE",
              help="For --mask perturb: release nothing where more persons can be linked.")  # fmt: skip
@click.option("--ledger", metavar="FILE", help="Remember in FILE what was released about whom, by keyed hashes, and "
              "look at this release together with the earlier ones.")  # fmt: skip
@click.option("--ledger-key", metavar="FILE", help="The key of --ledger (default: its name and .key); made where it is "
              "absent.")  # fmt: skip
@click.option("--ledger-mode", type=click.Choice(["warn", "refuse"]), help="Where a model is broken together with "
              "earlier releases: warn (default), or write nothing and exit with 3.")  # fmt: skip
@click.option("--master", metavar="URL", help="For --engine spark: local[2], spark://host:7077 (default: local[*]).")
@click.option("--cell-persons", type=click.IntRange(min=2), metavar="N",
              help="For --engine spark: how many persons one executor groups at a time (100000).")  # fmt: skip
@click.option("--spark-conf", multiple=True, metavar="KEY=VALUE", help="For --engine spark: a setting of Spark's; may "
              "be repeated.")  # fmt: skip
@click.option("--keep-person-map", is_flag=True, help="Keep which pseudonym is whom, in DIR/steward.")
@options.policy
@options.columns
@options.models
@options.making
@options.alone
@options.source
@options.common
def protect(
    files: tuple[str, ...],
    output: str,
    overwrite: bool,
    format_: str | None,
    into: str | None,
    into_table: str | None,
    queries: int,
    query_kinds: str,
    associations: int,
    attacks: int,
    no_report: bool,
    keep_person_map: bool,
    engine: str,
    as_json: bool,
    **flags: Any,
) -> None:
    """Make a release in which every group of persons meets every model asked for.

    Several FILEs are put under one another. The release is counted again from what will be published; where a model is
    not met nothing is written, and the exit code is 3.
    """
    from shoal import pipeline
    from shoal.cli import output as say
    from shoal.cli.choices import chosen_engine, chosen_policy, read_table

    started, clock = datetime.now(UTC), time.perf_counter()
    engine = chosen_engine(engine)
    if engine != "spark":
        refuse_spark_flags(flags)
    policy, folder = chosen_policy({**flags, "files": files})
    if not policy.models:
        raise PolicyError(
            "No model is asked for, so nothing would be promised. Ask for at least one, such as --g-balance 0.8 or "
            "--record-risk 0.1, or write it under [models] in the policy."
        )
    if "://" in output:
        raise click.UsageError("-o names a folder. A database is named with --into, and the folder is kept beside it.")
    if (into is None) != (into_table is None):
        raise click.UsageError("--into and --into-table go together: the address of a database, and a table in it.")
    refuse_taken(Path(output), overwrite)
    if engine == "spark":
        from shoal.cli.spark import protect_on_spark

        others = {"queries": queries, "associations": associations, "attack": attacks, "into": into,
                  "keep_person_map": keep_person_map}  # fmt: skip
        protect_on_spark(policy, folder, output, files=files, flags={**flags, **others}, overwrite=overwrite,
                         format=format_, no_report=no_report, as_json=as_json, started=started)  # fmt: skip
        return
    if policy.tables and engine == "stream":
        raise ParameterError("Not with --engine stream: a policy with [tables] joins tables in memory.")
    if policy.tables:
        from shoal.cli.star import protect_tables

        if policy.ledger is not None:
            raise PolicyError("Releases of related tables are not kept in a ledger. Leave it out.")
        measures = {"--queries": queries, "--associations": associations, "--attack": attacks}
        unheard = [name for name, value in measures.items() if value]
        if unheard:
            raise ParameterError(f"{', '.join(unheard)}: measured on one table, not on related ones. Leave it out.")
        protect_tables(policy, folder, output, files=files, overwrite=overwrite, format=format_, no_report=no_report,
                       keep_person_map=keep_person_map, into=into, as_json=as_json, started=started)  # fmt: skip
        return
    if not files:
        raise click.UsageError("Name the files to protect, or a policy with [tables].")
    ledger = ledger_of(policy, folder)
    from shoal.cli.stream import engine_of_run, protect_in_portions

    asked = {"--queries": queries, "--associations": associations, "--attack": attacks, "--into": into,
             "--max-linkage": policy.max_linkage, "knowledge of an adversary": policy.knowledge, "A ledger": ledger,
             "--safe-cells": policy.safe_cells}  # fmt: skip
    if engine_of_run(engine, files, policy, folder, flags, format_, [name for name, value in asked.items() if value]):
        streamed = protect_in_portions(
            files[0], policy, folder, output, overwrite=overwrite, format=format_, report=not no_report,
            keep_person_map=keep_person_map, started=started,
        )  # fmt: skip
        _tell({**streamed.to_dict(), "seconds": time.perf_counter() - clock, "folder": output}, output, as_json)
        return
    reading = read_table(files, policy, folder, flags, checks_memory=False)
    say.say_notes(reading.notes)
    with say.progress_bar() as progress, say.warnings_as_notes() as told:
        release = pipeline.protect(
            reading.frame,
            replace(policy, folder=folder),
            progress=progress,
            measure_input=as_json or not no_report,
            queries=queries,
            query_kinds=[kind.strip() for kind in query_kinds.split(",") if kind.strip()],
            associations=associations,
            attacks=attacks,
            line_of=reading.line_of_record,
        )
        release.write(
            output,
            overwrite=overwrite,
            format=format_ or reading.source.written_as,
            report=not no_report,
            keep_person_map=keep_person_map,
            policy_text=policy.moved(folder, Path(output) / "steward").to_toml(),
            inputs=(*reading.source.paths, *policy.files(folder)),
            csv=reading.source.csv,
            labels=reading.labels,
            sources=reading.source.shown,
            into=into,
            into_table=into_table,
            safe_cells=policy.safe_cells,
            column_labels=policy.column_labels,
            started=started,
            ledger=ledger,
        )
    answer = {**release.to_dict(), "seconds": time.perf_counter() - clock, "folder": output}
    if ledger is not None and ledger.found is not None:
        answer["ledger"] = ledger.found.to_dict()
    say.say_notes(note for note in release.notes if note not in told)
    _tell(answer, output, as_json)


def _tell(answer: dict[str, Any], output: str, as_json: bool) -> None:
    """The answer, as one line of JSON or for people."""
    from shoal.cli import output as say

    if as_json:
        say.say_json(answer)
    else:
        show_release(say.console(), answer, output)


def ledger_of(policy: Policy, folder: Path) -> Ledger | None:
    """The ledger that a policy names, if any; one that cannot be used is refused before the work."""
    from shoal.publishing.ledger import Ledger

    if policy.ledger is None:
        return None
    key = None if policy.ledger.key is None else folder / policy.ledger.key
    ledger = Ledger(folder / policy.ledger.file, key=key, mode=policy.ledger.mode)
    ledger.prepare()
    return ledger


def refuse_spark_flags(flags: dict[str, Any]) -> None:
    """Refuse flags of the engine spark where another engine does the work."""
    given = [flag for flag in ("master", "cell_persons", "spark_conf") if flags.get(flag)]
    if given:
        raise click.UsageError(f"--{given[0].replace('_', '-')} goes with --engine spark only.")


def refuse_taken(folder: Path, overwrite: bool) -> None:
    """Refuse a folder with files in it before the work rather than after."""
    is_taken = False
    with suppress(OSError):  # a folder that cannot be looked into is refused when the release is written
        is_taken = folder.is_dir() and any(folder.iterdir())
    if is_taken and not overwrite:
        raise OutputError(
            f"The folder '{folder}' is not empty. Nothing was written. Choose another, or replace an earlier release "
            "with --overwrite."
        )


def show_release(screen: Console, answer: dict[str, Any], folder: str) -> None:
    """Before and after, the verdict, and where everything is."""
    from shoal.cli import output as say

    before = {"before": answer["before"]} if answer.get("before") else {}
    screen.print(say.measures_table({**before, "after": answer}))
    say.show_verdict(screen, answer["verdict"])
    for line in (
        *what_was_kept(answer),
        *what_is_remembered(answer),
        *what_leaves(Path(folder)),
        *where_the_report_is(Path(folder)),
    ):
        screen.print(line, markup=False, overflow="fold")


def what_was_kept(answer: dict[str, Any]) -> list[str]:
    """How well queries and association rules come out on the release, where that was asked for."""
    counts = {"count": answer["query_error"]} if "query_error" in answer else {}
    lines = [
        f"{kind.upper()} queries are off by {_percent(error['all'])} on average ({error['n_queries']:,} queries)"
        for kind, error in {**counts, **answer.get("aggregate_error", {})}.items()
    ]
    rules = answer.get("association_error")
    if rules:
        lines.append(
            f"Of {rules['n_rules']:,} association rules {_percent(rules['false_negatives'])} are lost, "
            f"{_percent(rules['false_positives'])} are new; confidences are off by {_percent(rules['confidence'])}"
        )
    return lines


def what_is_remembered(answer: dict[str, Any]) -> list[str]:
    """How this release stands together with the earlier ones of its ledger, where there is one."""
    found = answer.get("ledger")
    if found is None:
        return []
    if not found["known_persons"]:
        return [f"Ledger: nobody here is known from {found['releases']:,} earlier releases; this one is entered"]
    kept = "every model still holds" if found["holds"] else f"models are BROKEN for {found['broken_persons']:,} persons"
    return [f"Ledger: {found['known_persons']:,} of {found['persons']:,} persons are known from {found['releases']:,} "
            f"earlier releases; together with them {kept}"]  # fmt: skip


def _percent(share: float | None) -> str:
    return "nothing that can be told" if share is None else f"{share:.1%}"


def where_the_report_is(folder: Path) -> list[str]:
    """Where the report lies that a review board reads, if one was written."""
    report = folder / "steward" / "report.html"
    return [f"The report, for a review board: {report}"] if report.is_file() else []


def what_leaves(folder: Path) -> list[str]:
    """Which of the files written may be handed out, and which stay."""
    leaving = sorted(path.name for path in folder.iterdir() if path.name != "steward")
    staying = sorted(path.name for path in (folder / "steward").iterdir())
    return [
        f"May be handed out, in {folder}: {', '.join(leaving)}",
        f"Stays with you, in {folder / 'steward'}: {', '.join(staying)}",
    ]
