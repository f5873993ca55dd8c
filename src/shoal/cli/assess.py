"""shoal assess: the risk of a table as it is."""

from __future__ import annotations

import time
from typing import Any

import click

from shoal.cli import options

EPILOG = """\b
Examples:
  shoal assess visits.csv --person patient --quasi age,gender:nominal,zip --sensitive disease --drop name
  shoal assess visits.csv --policy visits.policy.toml --json

Assess always answers (exit code 0), also where a model is not met: it tells what is the case.
"""


@click.command(cls=options.CommandWithParts, epilog=EPILOG, short_help="The risk of a table as it is.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@options.policy
@options.columns
@options.population
@options.models
@options.source
@options.common
def assess(files: tuple[str, ...], as_json: bool, **flags: Any) -> None:
    """How risky a table is as it stands.

    Counts persons, not only records: a group of five records of one person is no group of five. With models asked for
    (flags or policy) it also says which of them the table meets already.
    """
    from shoal import pipeline
    from shoal.cli import output
    from shoal.cli.choices import chosen_policy, population_of, read_table

    started = time.perf_counter()
    policy, folder = chosen_policy({**flags, "files": files})
    reading = read_table(files, policy, folder, flags)
    output.say_notes(reading.notes)
    schema = policy.schema(folder, reading.frame)
    with output.warnings_as_notes():
        assessment = pipeline.assess(
            reading.frame, schema, policy.models, knowledge=policy.knowledge, line_of=reading.line_of_record,
            population=population_of(policy, folder, schema),
        )  # fmt: skip
    answer: dict[str, Any] = {**assessment.to_dict(), "seconds": time.perf_counter() - started}
    if as_json:
        output.say_json(answer)
        return
    screen = output.console()
    screen.print(output.measures_table({"as it is": answer}, title=f"The risk of {reading.source.name} as it is"))
    if policy.models:
        output.show_verdict(screen, answer["verdict"])
