"""What runs in another process for the pages: thin calls of the library, plain values in and out.

Each function takes a snapshot of the project and somebody to tell how far it is (see `shoal.web.jobs`). What is
returned is kept as JSON in the project's folder; it holds names of columns and numbers, and of values only what a
release publishes (a preview of it).
"""

from __future__ import annotations

import json
import secrets
import shlex
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, ParameterError, ShoalError
from shoal.web.project import Project

if TYPE_CHECKING:
    import polars as pl

    from shoal.measuring.tuning import Point
    from shoal.models import Model
    from shoal.policy import Policy
    from shoal.publishing.ledger import Ledger
    from shoal.publishing.related import StarRelease
    from shoal.publishing.release import Release
    from shoal.reading import Reading
    from shoal.web.jobs import Tell
    from shoal.web.shelf import Candidate
METHODS = ("balance-tree", "balance-tree:cut=median", "mondrian", "mdav")
"""What is compared side by side."""

Plain = dict[str, Any]


def assess(project: Project, tell: Tell) -> Plain:
    """The risk of the table as it is, and which columns make it."""
    from shoal.publishing.json_file import finite
    from shoal.table.table import Table
    from shoal.web import facts

    tell("Reading the table", 0.0)
    frame = _frame(project)
    policy = _policy(project)
    schema = policy.schema(project.folder, frame)
    table = Table.from_frame(frame, schema)
    found = facts.risk_now(
        table.frame, schema, sample=table.sample,
        population=_population(project, policy, frame),
        told=lambda done: tell("Counting persons by combinations of columns", 0.1 + 0.9 * done),
    )  # fmt: skip
    answer: Plain = finite(replace(found, notes=table.notes).to_dict())
    return answer


def tune(
    project: Project,
    tell: Tell,
    *,
    targets: Mapping[str, str],
    minimise: str = "loss",
    points: int = 20,
    beside: Mapping[str, Any] | None = None,
) -> Plain:
    """The settings between risk and loss, each handed over as it is measured, and the one that loses least.

    Parameters
    ----------
    targets
        Risks that may not be exceeded, such as `{"max_gidr": "0.1"}`.
    beside
        models, method, mask and budget as tables of a policy document; models are asked for besides the targets.
    """
    from shoal.measuring import tuning

    tell("Reading the table", 0.0)
    frame = _frame(project)
    policy = _policy(project, beside)
    numbers: dict[int, int] = {}
    asked = {"targets": dict(targets), "minimise": minimise, "beside": dict(beside or {})}

    def found_one(point: Point) -> None:
        numbers[id(point)] = len(numbers)
        tell.partial(_point(point, numbers[id(point)], asked))

    found = tuning.tune(
        frame,
        policy.schema(project.folder, frame),
        policy.models,
        targets=dict(targets),
        minimise=minimise,
        points=points,
        progress=_Said(tell, {"tuning": "Trying settings", "protecting": "Checking the chosen setting as published"}),
        on_point=found_one,
        population=_population(project, policy, frame),
        history=policy.history_of(project.folder, frame),
        **policy.choices,
    )
    return {
        **asked,
        "points": [_point(point, number, asked) for number, point in enumerate(found.points)],
        "chosen": None if found.chosen is None else numbers[id(found.chosen)],
    }


def _population(project: Project, policy: Policy, frame: Any) -> Any:
    """The population that the table was drawn from, where there is a table of it."""
    from shoal.judging.population_table import population_for

    return population_for((), policy.population, policy.schema(project.folder, frame), folder=project.folder)


def _point(point: Point, number: int, asked: Plain) -> Plain:
    from shoal.publishing.json_file import finite

    told: Plain = finite(point.to_dict())
    return {**told, "number": number, "policy_models": models_document(point.models), "asked": asked}


def models_document(models: Sequence[Model]) -> Plain:
    """Models as a policy document has them, with decimals as texts."""
    from shoal.policy.write import models_table

    document: Plain = json.loads(json.dumps(models_table(tuple(models)), default=_as_text))
    return document


def _as_text(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def compare(
    project: Project,
    tell: Tell,
    *,
    target: str,
    limit: str,
    by: Sequence[str],
    methods: Sequence[str] = METHODS,
    minimise: str = "loss",
    beside: Mapping[str, Any] | None = None,
    useful_for: str = "",
) -> Plain:
    """What methods lose at the same risk, one row per method and model; each is handed over when it is done.

    With `useful_for` each row says too how well that column is predicted. A method that cannot be used on this table
    has a row that says why.
    """
    from shoal.measuring import tuning
    from shoal.publishing.json_file import finite

    tell("Reading the table", 0.0)
    frame = _frame(project)
    policy = _policy(project, beside)
    schema = policy.schema(project.folder, frame)
    key, _, column = target.partition(".")
    bound = tuning.Target(key, limit, column or None)  # type: ignore[arg-type]
    asked = {"target": target, "limit": limit, "minimise": minimise, "beside": dict(beside or {}),
             "useful_for": useful_for}  # fmt: skip
    ways = [(method, model) for method in methods for model in by]
    rows: list[Plain] = []
    for number, (method, model) in enumerate(ways):
        tell(f"Trying {method.replace(':cut=', ', cut at the ')} with {model}", number / len(ways))
        row: Plain = {"method": method, "model": model, "met": False}
        try:
            found = tuning.compare(
                frame, schema, policy.models, methods=[method], at=[bound], by=[model], minimise=minimise,
                history=policy.history_of(project.folder, frame), usefulness=useful_for or None,
                population=_population(project, policy, frame),
                **policy.table_choices,
            )  # fmt: skip
            row = finite(found.rows[0].to_dict())
        except (ParameterError, ShoalError) as refusal:
            row["error"] = str(refusal)
        rows.append({**row, "asked": asked})
        tell.partial(rows[-1])
    return {**asked, "rows": rows}


def protect(project: Project, tell: Tell, *, keep_person_map: bool = False, attacks: int | None = None) -> Plain:
    """Make the release that the policy asks for, in a run of its own; an error where a promise cannot be kept.

    Parameters
    ----------
    keep_person_map
        Whether it is kept who has which pseudonym, for later records of the same persons.
    attacks
        How many persons are attacked in every way; None tries the quick ways.
    """
    from shoal.publishing.json_file import finite
    from shoal.web import facts

    started = datetime.now(UTC)
    if project.chosen.tables:
        return _protect_tables(project, tell, keep_person_map=keep_person_map, started=started)
    policy, reading, release = _protected(project, tell, attacks)
    tell("Writing the release and its report", 0.9)
    run = project.new_run()
    release.write(
        run,
        format=reading.source.written_as,
        keep_person_map=keep_person_map,
        policy_text=policy.moved(project.folder, run / "steward").to_toml(),
        inputs=(*reading.source.paths, *policy.files(project.folder)),
        csv=None if reading.source.csv is None else reading.source.csv.written_in("utf-8"),
        started=started,
        ledger=_ledger(project, policy),
        safe_cells=policy.safe_cells,
        column_labels=policy.column_labels,
    )
    groups = facts.groups_of(
        release.published.frame, policy.schema_of_release(), release.published.linked, mask=policy.mask
    )
    groups.write_parquet(groups_file(project, run.name))
    told: Plain = finite(release.to_dict())
    candidate = _on_the_shelf(project, policy, release, told, run=run.name)
    return _made(policy, candidate, told, run.name, [*reading.notes, *release.notes])


def _made(policy: Policy, candidate: Candidate, told: Plain, run: str, notes: Sequence[str]) -> Plain:
    """What the page Release is told of a release."""
    return {
        **told,
        "run": run,
        "candidate": candidate.number,
        "notes": list(dict.fromkeys(notes)),
        "published": candidate.published,
        "promises": _promises(policy),
        "policy_text": policy.to_toml(),
    }


def _protect_tables(project: Project, tell: Tell, *, keep_person_map: bool, started: datetime) -> Plain:
    """Make the release of related tables: a file for each."""
    from shoal.publishing.json_file import finite
    from shoal.publishing.related import write_star
    from shoal.web import facts

    policy, readings, release = _protected_tables(project, tell)
    tell("Writing the tables", 0.9)
    run, first = project.new_run(), next(iter(readings.values())).source
    write_star(
        release, run, format=first.written_as, keep_person_map=keep_person_map,
        policy_text=policy.moved(project.folder, run / "steward").to_toml(),
        inputs=[path for reading in readings.values() for path in reading.source.paths],
        csv=None if first.csv is None else first.csv.written_in("utf-8"), started=started,
        safe_cells=policy.safe_cells,
    )  # fmt: skip
    inner = release.release
    groups = facts.groups_of(
        inner.published.frame, policy.schema_of_release(), inner.published.linked, mask=policy.mask
    )
    groups.write_parquet(groups_file(project, run.name))
    told: Plain = finite(release.to_dict())
    candidate = _on_the_shelf(project, policy, inner, told, run=run.name)
    notes = [note for reading in readings.values() for note in reading.notes]
    shown = {name: asdict(facts.preview(frame)) for name, frame in release.tables.items()}
    return {**_made(policy, candidate, told, run.name, [*notes, *told["notes"]]), "published_tables": finite(shown)}


def _protected_tables(project: Project, tell: Tell) -> tuple[Policy, dict[str, Reading], StarRelease]:
    """The policy, the tables that were read, and their release in memory; an error where a promise cannot be kept."""
    from shoal.publishing.related import protect_star, read_tables, star_of
    from shoal.reading.detect import refuse_unanswered

    policy = _policy_to_run(project, tell)
    readings = read_tables(policy, project.folder)
    for reading in readings.values():
        refuse_unanswered(reading.source.name, reading.findings, policy.columns.dropped)
    frames = {name: reading.frame for name, reading in readings.items()}
    own = replace(policy, folder=project.folder)
    return policy, readings, protect_star(frames, star_of(policy), own, progress=_Said(tell, STAGES))


def try_out(project: Project, tell: Tell, *, attacks: int | None = None) -> Plain:
    """Protect the table as the policy asks, and put what comes of it on the shelf; no release is written."""
    from shoal.publishing.json_file import finite

    if project.chosen.tables:
        policy, _, tables = _protected_tables(project, tell)
        return {"candidate": _on_the_shelf(project, policy, tables.release, finite(tables.to_dict())).number}
    policy, _, release = _protected(project, tell, attacks)
    tell("Trying attacks, and what can still be learned", 0.9)
    told: Plain = finite(release.to_dict())
    return {"candidate": _on_the_shelf(project, policy, release, told).number}


def _protected(project: Project, tell: Tell, attacks: int | None) -> tuple[Policy, Reading, Release[Any]]:
    """The policy, what was read, and the release in memory; an error where a promise cannot be kept."""
    from shoal.engines.contract import Job, engine_called
    from shoal.reading.detect import refuse_unanswered

    policy = _policy_to_run(project, tell)
    reading = project.read()
    refuse_unanswered(reading.source.name, reading.findings, policy.columns.dropped)
    job = Job.of(reading, replace(policy, folder=project.folder), progress=_Said(tell, STAGES), attacks=attacks)
    return policy, reading, engine_called("memory").protect(job)


STAGES = {
    "reading": "Reading the table",
    "grouping": "Forming groups",
    "masking": "Masking",
    "verifying": "Counting again from what will be published",
    "measuring usefulness": "Trying what can still be learned from it",
}
"""What is being done, as the pages call it."""


def _policy_to_run(project: Project, tell: Tell) -> Policy:
    """The policy of a release; an error where something of it was not said or confirmed yet."""
    from shoal.masking import mask_called

    tell("Reading the table", 0.0)
    policy = _policy(project)
    if not policy.models and mask_called(policy.mask).takes_groups:
        raise InputError("Nothing is promised yet. Choose a goal or at least one model first.")
    if unconfirmed := project.chosen.unconfirmed:
        raise InputError(
            f"The roles of {len(unconfirmed)} columns were not confirmed: {', '.join(unconfirmed)}. Confirm them on "
            "the page Columns first."
        )
    return policy


def _on_the_shelf(
    project: Project, policy: Policy, release: Release[Any], told: Plain, *, run: str | None = None
) -> Candidate:
    """A candidate of a release: its numbers, and some of its records beside the same ones as they were."""
    from shoal.web import facts, shelf

    policy = replace(policy, seed=release.seed)
    return shelf.add(
        project,
        numbers=told,
        promises=_promises(policy),
        published=asdict(facts.preview(release.published.frame)),
        originals=asdict(facts.preview(_as_they_were(release))),
        policy_text=policy.moved(project.folder, project.folder / "candidates").to_toml(),
        seed=release.seed,
        run=run,
    )


def _as_they_were(release: Release[Any]) -> pl.DataFrame:
    """The records that a preview of a release shows, in its order, as the table had them."""
    import numpy as np

    from shoal.web.facts import MOST_SHOWN

    shown = release.published.record_of_published[:MOST_SHOWN]
    if release.published.tables:  # one row per person: their first record
        shown = np.array([int(np.argmax(release.table.person_of_record == person)) for person in shown])
    frame: pl.DataFrame = release.table.frame[shown]
    return frame.select(name for name in release.table.frame.columns if name not in release.schema.dropped)


def _ledger(project: Project, policy: Policy) -> Ledger | None:
    """The ledger that the policy names, if any."""
    from shoal.publishing.ledger import Ledger

    if policy.ledger is None:
        return None
    key = None if policy.ledger.key is None else project.folder / policy.ledger.key
    ledger = Ledger(project.folder / policy.ledger.file, key=key, **policy.ledger.rules)
    ledger.prepare()
    return ledger


def later(
    project: Project, tell: Tell, *, run: str, files: Sequence[str], max_suppressed: int = 0, all_new: bool = False
) -> Plain:
    """Mask later records by the groups of a release, and make a release of all records together.

    Parameters
    ----------
    run
        The release whose groups are taken.
    files
        Names of files in `later/`.
    max_suppressed, all_new
        As `shoal.apply` takes them.
    """
    from shoal.policy import Policy
    from shoal.publishing.json_file import finite
    from shoal.publishing.later import apply, read_stored, write_applied
    from shoal.publishing.later.numbers import counted_again
    from shoal.reading import CsvOptions, read

    started = datetime.now(UTC)
    tell("Reading the later records", 0.0)
    own = project.file_of_run(run, "steward/policy.toml")
    policy = Policy.load(own)
    stored = read_stored(project.folder / "runs" / run)
    reading = read([project.folder / "later" / name for name in files], csv=project.chosen.csv)
    tell("Masking them by the groups of the release", 0.3)
    applied = apply(stored, reading, policy, all_new=all_new, check_new=False, max_suppressed=max_suppressed)
    new = project.new_run()
    tell("Writing the release of all records", 0.8)
    write_applied(
        applied, new, overwrite=False, format=None, started=started, labels=reading.labels,
        inputs=(*reading.source.paths, *policy.files(own.parent)), sources=reading.source.shown,
        numbers_of=lambda folder: counted_again(
            folder, folder / f"release.{stored.format}", policy, own.parent,
            CsvOptions(delimiter=policy.source.delimiter),
        ),
    )  # fmt: skip
    answer: Plain = finite({**applied.to_dict(), "run": new.name, "of": run, "notes": list(applied.notes)})
    return answer


def _promises(policy: Policy) -> list[str]:
    from shoal.masking import mask_called
    from shoal.policy.explain import explain_model, promised_by_linkage

    if not mask_called(policy.mask).takes_groups:
        return promised_by_linkage(policy)
    return [explain_model(model) for model in policy.models]


def attack(project: Project, tell: Tell, *, run: str, name: str = "elimination", **options: Any) -> Plain:
    """An attack that needs no more than the files of a release, with options of its own."""
    import shoal
    from shoal.errors import SchemaError
    from shoal.publishing.json_file import finite

    tell("Reading the release", 0.0)
    policy, published = _published(project, run)
    tell("Attacking", 0.2)
    found = shoal.attack(
        published.frame, schema=policy.schema_of_release(), attacks=[name], mask=policy.mask, tables=published.tables,
        linked=published.linked, **options,
    )  # fmt: skip
    if found.not_tried:
        raise SchemaError(found.not_tried[0].why)
    answer: Plain = finite({"run": run, **options, "rows": [dict(result.details) for result in found.results]})
    return answer


# --- the table and the policy --------------------------------------------------------------------------------------


class _Said:
    """Progress of the library in the words of the page."""

    def __init__(self, tell: Tell, words: Mapping[str, str]) -> None:
        self.tell, self.words = tell, words

    def __call__(self, stage: str, done: float) -> None:
        self.tell(self.words.get(stage, stage.capitalize()), done)


def _frame(project: Project) -> pl.DataFrame:
    """The table: as it was kept when it was looked at, else read from its files."""
    with suppress(InputError):
        frame: pl.DataFrame = project.table().collect()
        return frame
    return project.read().frame


def _policy(project: Project, beside: Mapping[str, Any] | None = None) -> Policy:
    """The policy of the project; with `beside`, other models, method, mask and budget than those that were saved."""
    from shoal.policy import Policy

    if beside is None:
        return project.policy()
    project.policy()  # says what is missing
    document = {
        key: value
        for key, value in project.document().items()
        if key in ("columns", "source", "knowledge", "history", "population") and key not in beside
    }
    return Policy.from_document({**document, **{key: value for key, value in beside.items() if value}})


def _published(project: Project, run: str) -> tuple[Policy, Any]:
    from shoal.policy import Policy
    from shoal.publishing.read import read_published
    from shoal.reading import CsvOptions

    policy = Policy.load(project.file_of_run(run, "steward/policy.toml"))
    format = _format_of_run(project, run)
    csv = CsvOptions(delimiter=policy.source.delimiter)  # releases are written in UTF-8, whatever their files were
    return policy, read_published(project.file_of_run(run, f"release.{format}"), csv=csv)


def _format_of_run(project: Project, run: str) -> str:
    from shoal.publishing.manifest import read_manifest

    return str((read_manifest(project.folder / "runs" / run) or {}).get("format", "csv"))


def enter_decision(project: Project, run: str) -> None:
    """Put what the review board decided into the policy and the report of a release; nothing else of it changes."""
    from shoal.policy.decision import as_decision
    from shoal.publishing import pages

    folder = project.file_of_run(run, "steward/policy.toml").parent.parent
    pages.refuse_changed(folder)
    pages.renew_pages(folder, decision=as_decision(dict(project.chosen.decision)))


# --- the files of a release ----------------------------------------------------------------------------------------


def groups_file(project: Project, run: str) -> Path:
    """Where the groups of a release are kept for quick looks."""
    return project.folder / "cache" / f"groups-{run}.parquet"


def groups_of_run(project: Project, run: str) -> pl.DataFrame:
    """The groups of a release, counted again from its files where they are not kept any more."""
    import polars as pl

    from shoal.web import facts

    file = groups_file(project, run)
    if not file.is_file():
        if not (project.folder / "runs" / run / f"release.{_format_of_run(project, run)}").is_file():
            return pl.DataFrame()  # of related tables, whose groups show in several files
        policy, published = _published(project, run)
        groups = facts.groups_of(published.frame, policy.schema_of_release(), published.linked, mask=policy.mask)
        groups.write_parquet(file)
    return pl.read_parquet(file, glob=False)


def numbers_of_run(project: Project, run: str) -> Plain:
    """What `steward/report.json` of a release holds."""
    text = project.file_of_run(run, "steward/report.json").read_text(encoding="utf-8")
    numbers: Plain = json.loads(text)
    return numbers


def files_of_run(project: Project, run: str, *, leaving: bool) -> list[Path]:
    """The files of a release that may be handed out, or those that stay with the steward."""
    project.file_of_run(run, "steward/manifest.json")
    folder = project.folder / "runs" / run
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and (path.relative_to(folder).parts[0] != "steward") == leaving
    )


def zip_of_run(project: Project, run: str, *, leaving: bool) -> Path:
    """A zip file of what may leave, or of what stays; refused where a file is not the one that was written.

    Raises
    ------
    InputError
        A file of the release has changed since it was written, or the verdict is that it does not hold.
    """
    from shoal.publishing.manifest import check_manifest

    files = files_of_run(project, run, leaving=leaving)
    folder = project.folder / "runs" / run
    changed = check_manifest(folder)
    if changed:
        raise InputError(f"{changed[0]} Nothing of this release is handed out. Make it again.")
    if not holds(project, run):
        raise InputError("The promises are not kept by this release, so nothing of it is handed out.")
    target = project.folder / "cache" / f"{'release' if leaving else 'steward'}-{run}.zip"
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")  # two clicks may come at once
    try:
        with zipfile.ZipFile(part, "w", compression=zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, path.relative_to(folder).as_posix())
        part.chmod(0o600)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return target


def holds(project: Project, run: str) -> bool:
    """Whether the manifest of a release says that every promise is kept."""
    from shoal.publishing.manifest import read_manifest

    verdict: Any = (read_manifest(project.folder / "runs" / run) or {}).get("verdict", {})
    return bool(isinstance(verdict, dict) and verdict.get("holds", False))


def command_of(project: Project) -> str:
    """The command that makes the same release, to be run in the project's folder."""
    return " ".join(_words_of(project))


def _words_of(project: Project) -> Iterator[str]:
    yield "shoal protect"
    for source in () if project.chosen.tables else project.chosen.sources:  # of related tables the policy names them
        yield shlex.quote(f"sources/{source.name}")
    yield "--policy policy.toml -o release"
