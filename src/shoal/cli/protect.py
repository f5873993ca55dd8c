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

    from shoal.engines.contract import Engine, Job
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
@options.common_flag("-o", "--output", required=True, metavar="DIR", help="Where the release goes.")
@options.common_flag("--overwrite", is_flag=True, help="Replace an earlier release in DIR.")
@click.option("--format", "format_", type=options.FormatName(), help="Default: the input's.")
@click.option("--output-encoding", metavar="NAME", help="How CSV files of the release are encoded: utf-8 (default), "
              "utf-8-sig for spreadsheets, latin-1.")  # fmt: skip
@click.option("--safe-cells", is_flag=True, help="Put an apostrophe before cells that a spreadsheet would run, in CSV "
              "and Excel files.")  # fmt: skip
@click.option("--column-labels", is_flag=True, help="Publish the labels of columns of SPSS, Stata and SAS files too; "
              "shoal profile shows them.")  # fmt: skip
@click.option("--into", metavar="URL", help="Write the release to a database too: postgresql://host/db, sqlite:///file "
              "or duckdb:///file.")  # fmt: skip
@click.option("--into-table", metavar="NAME", help="The table of --into; its sensitive tables are NAME_attribute.")
@options.common_flag("--no-report", is_flag=True, help="Write no report beside the release.")
@click.option("--queries", type=click.IntRange(min=0), default=0, metavar="N",
              help="Answer N random queries of each kind on the release and report their error.")  # fmt: skip
@click.option("--query-kinds", default="count", show_default=True, metavar="KIND,...",
              help="For --queries: count, sum, average, min, max; the last four of numeric attributes.")  # fmt: skip
@click.option("--associations", type=click.IntRange(min=0), default=0, metavar="N",
              help="Report how well the release keeps association rules of up to N quasi-identifiers.")  # fmt: skip
@click.option("--attack", "attacks", type=click.IntRange(min=0), is_flag=False, flag_value=1000,
              metavar="[N]", help="Attack the release in every way, on at most N persons (1000); 0 for none. Default: "
              "in quick ways, on as many as cost little.")  # fmt: skip
@click.option("--max-linkage", type=click.FloatRange(0, 1), metavar="SHARE",
              help="For masks without groups: release nothing where more persons can be linked.")  # fmt: skip
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
@options.useful
@options.counts
@options.policy
@options.columns
@options.population
@options.models
@options.making
@options.alone
@options.source
@options.common
def protect(files: tuple[str, ...], output: str, engine: str, as_json: bool, **flags: Any) -> None:
    """Make a release in which every group of persons meets every model asked for.

    Several FILEs are put under one another. The release is counted again from what will be published; where a model is
    not met nothing is written, and the exit code is 3.
    """
    from shoal.cli import output as say
    from shoal.cli.choices import chosen_engine, chosen_policy

    started, clock = datetime.now(UTC), time.perf_counter()
    name = chosen_engine(engine)
    settings = spark_settings(name, flags)
    policy, folder = chosen_policy({**flags, "files": files})
    policy = replace(policy, folder=folder)
    _refuse_before_work(policy, output, flags)
    if policy.tables and name not in ("stream", "spark"):
        _protect_tables(policy, files, output, flags, as_json=as_json, started=started)
        return
    if not files and not policy.tables:
        raise click.UsageError("Name the files to protect, or a policy with [tables].")
    job = job_of(policy, files, output, flags, as_json=as_json, started=started)
    chosen = chosen_for(name, job, settings)
    ledger = None
    if chosen.name == "memory":
        ledger = ledger_of(policy, folder)
        job = read_into(job, files, flags, ledger)
    with say.progress_bar() as progress, say.warnings_as_notes() as told:
        release = chosen.protect(replace(job, progress=progress))
    answer = {**release.to_dict(with_changes=as_json), "seconds": time.perf_counter() - clock, "folder": output}
    if ledger is not None and ledger.found is not None:
        answer["ledger"] = ledger.found.to_dict()
    say.say_notes(note for note in release.notes if note not in told)
    _tell(answer, output, as_json)


def _refuse_before_work(policy: Policy, output: str, flags: dict[str, Any]) -> None:
    """Refuse what is wrong with any engine."""
    from shoal.masking.chosen import choose

    method, mask = choose(policy.method, policy.mask, policy.options)
    if mask.takes_groups and not policy.models and not method.own_models:
        raise PolicyError(
            "No model is asked for, so nothing would be promised. Ask for at least one, such as --g-balance 0.8 or "
            "--record-risk 0.1, or write it under [models] in the policy."
        )
    if "://" in output:
        raise click.UsageError("-o names a folder. A database is named with --into, and the folder is kept beside it.")
    if (flags["into"] is None) != (flags["into_table"] is None):
        raise click.UsageError("--into and --into-table go together: the address of a database, and a table in it.")
    refuse_taken(Path(output), flags["overwrite"])


def _protect_tables(
    policy: Policy, files: tuple[str, ...], output: str, flags: dict[str, Any], *, as_json: bool, started: datetime
) -> None:
    """Related tables, which a policy names."""
    from shoal.cli.star import protect_tables

    measures = {"--queries": "queries", "--associations": "associations", "--attack": "attacks"}
    unheard = [flag for flag, name in measures.items() if flags[name]]
    if unheard:
        raise ParameterError(f"{', '.join(unheard)}: measured on one table, not on related ones. Leave it out.")
    protect_tables(policy, policy.folder, output, files=files, overwrite=flags["overwrite"], format=flags["format_"],
                   no_report=flags["no_report"], keep_person_map=flags["keep_person_map"], into=flags["into"],
                   as_json=as_json, started=started)  # fmt: skip


def job_of(
    policy: Policy, files: tuple[str, ...], output: str, flags: dict[str, Any], *, as_json: bool, started: datetime
) -> Job:
    """What the flags ask of an engine, before anything is read."""
    from shoal.cli.choices import csv_options
    from shoal.engines.contract import Files, Job
    from shoal.publishing.release import Writing

    is_told = as_json or not flags["no_report"]
    kinds = [kind.strip() for kind in flags["query_kinds"].split(",") if kind.strip()]
    writing = Writing(
        folder=Path(output), overwrite=flags["overwrite"], format=flags["format_"], report=not flags["no_report"],
        keep_person_map=flags["keep_person_map"], started=started, into=flags["into"], into_table=flags["into_table"],
        policy_text=policy.moved(policy.folder, Path(output) / "steward").to_toml(), csv=csv_options(policy),
        inputs=(*files, *policy.files(policy.folder)), safe_cells=policy.safe_cells,
        column_labels=policy.column_labels,
    )  # fmt: skip
    source = Files(names=files, csv=csv_options(policy), found=policy.source.csv, table=flags.get("table"),
                   query=flags.get("query"))  # fmt: skip
    return Job.of(
        source, policy, writing=writing, measure_input=is_told, queries=flags["queries"], query_kinds=kinds,
        associations=flags["associations"], attacks=flags["attacks"] if is_told else flags["attacks"] or 0,
    )  # fmt: skip


def chosen_for(name: str, job: Job, settings: dict[str, Any]) -> Engine:
    """The engine of a name; of "auto" the one that the memory there is allows."""
    from shoal.engines.contract import engine_called
    from shoal.engines.memory_needed import engine_for

    if name == "auto":
        name = engine_for(job.source, job.roles, lambda: engine_called("stream").why_not(job))
    return engine_called(name, **settings)


def read_into(job: Job, files: tuple[str, ...], flags: dict[str, Any], ledger: Ledger | None) -> Job:
    """The job with its table in memory."""
    from shoal.cli import output as say
    from shoal.cli.choices import read_table, with_findings
    from shoal.reading.mend import sentences

    reading = read_table(files, job.policy, job.policy.folder, flags, checks_memory=False)
    of_release = sentences(reading.mended or ())  # which the release tells
    say.say_notes(note for note in reading.notes if note not in of_release)
    source, writing = reading.source, job.writing
    assert writing is not None
    policy = with_findings(job.policy, reading)
    writing = replace(
        writing, format=writing.format or source.written_as, labels=reading.labels,
        csv=None if source.csv is None else source.csv.written_in(flags.get("output_encoding") or "utf-8"),
        inputs=(*source.paths, *job.policy.files(job.policy.folder)), sources=source.shown, ledger=ledger,
        policy_text=policy.moved(policy.folder, writing.folder / "steward").to_toml(),
    )  # fmt: skip
    return replace(job, policy=policy, source=reading, writing=writing)


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
    ledger = Ledger(folder / policy.ledger.file, key=key, **policy.ledger.rules)
    ledger.prepare()
    return ledger


def spark_settings(engine: str, flags: dict[str, Any]) -> dict[str, Any]:
    """What flags say of Spark; refused where another engine does the work."""
    given = {name: flags[name] for name in ("master", "cell_persons", "spark_conf") if flags.get(name)}
    if given and engine != "spark":
        raise click.UsageError(f"--{next(iter(given)).replace('_', '-')} goes with --engine spark only.")
    settings = {}
    for text in given.pop("spark_conf", ()):
        name, is_given, value = text.partition("=")
        if not is_given:
            raise click.UsageError("--spark-conf takes a setting and its value: --spark-conf spark.executor.memory=4g")
        settings[name.strip()] = value.strip()
    return {**given, **({"settings": settings} if settings else {})}


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
    from shoal.publishing.report import words

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
    return lines + ([words.about_prediction(answer)] if "usefulness" in answer else [])


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
