"""What commands say: one JSON object, or tables for people on stdout; notes and progress on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from shoal.errors import spelled_by

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

_OWES_JSON = "shoal.owes-json"
SECONDS_BEFORE_PROGRESS = 1.0
WIDTH_OF_FILES = 100
"""Characters per line where no terminal says how wide it is."""

# key -> what a steward reads; how the number is shown
MEASURES = {
    "records": ("records", "count"),
    "persons": ("persons", "count"),
    "groups": ("groups", "count"),
    "max_gidr": ("highest risk that a record is linked to its person", "share"),
    "avg_gidr": ("average of it over groups", "share"),
    "max_gsar": ("highest risk that a value is learned", "share"),
    "avg_gsar": ("average of it over groups", "share"),
    "g_balance": ("g-balance, lowest of any group", "number"),
    "h_affiliation": ("h-affiliation, highest of any group", "number"),
    "k": ("fewest records in a group", "count"),
    "person_k": ("fewest persons in a group", "count"),
    "alone_by": ("persons alone in their group", "count"),
    "population.population": ("persons of the population that the sample stands for", "count"),
    "population.expected_reidentifications": ("persons expected to be found in it", "number"),
    "population.uniques.dankar": ("unique persons of the population, estimated", "number"),
    "population.journalist.mean": ("risk by the population table, average", "share"),
    "loss": ("lost in what is shown (0 nothing, 1 everything)", "number"),
    "ane": ("average error of the groups (ANE)", "number"),
}


def expect_json(is_expected: bool) -> None:
    """Note for the running command whether stdout must have one JSON object, whatever happens."""
    click.get_current_context().meta[_OWES_JSON] = is_expected


def say_json(answer: Mapping[str, Any]) -> None:
    """One object on one line; what is not a finite number is null."""
    click.get_current_context().meta[_OWES_JSON] = False
    click.echo(json.dumps(plain(answer), allow_nan=False))


def say_error(kind: str, message: str, hint: str | None) -> None:
    """The error as the one object on stdout, where an object is expected and none was said yet."""
    if click.get_current_context().meta.get(_OWES_JSON):
        say_json({"error": {"kind": kind, "message": message, "hint": hint}})


def plain(value: Any) -> Any:
    """A value as JSON holds it: what is not a finite number is None."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, bool | str) or value is None:
        return value
    if hasattr(value, "item"):  # numpy's numbers
        return plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


FLAG_OF_CHOICE = {
    "dropped": "drop",
    "kept": "keep",
    "confirmed": "confirm",
    "key": "ledger-key",
    "other": "with",
    "attacks": "attack",
}
"""Choices whose flag has another name."""


def in_flags(text: str, command: click.Command | None = None) -> str:
    """What the library says, with its choices as flags of the command (the present one unless told) or of protect."""

    def spell(name: str, value: str) -> str | None:
        from shoal.cli.protect import protect

        context = click.get_current_context(silent=True)
        present = command or (protect if context is None else context.command)
        flag = f"--{FLAG_OF_CHOICE.get(name, name).replace('_', '-')}"
        if value == "False" and any(f"--no-{flag[2:]}" in param.secondary_opts for param in present.params):
            return f"--no-{flag[2:]}"
        is_known = any(flag in param.opts for param in (*present.params, *protect.params))
        return f"{flag} {value}".removesuffix(" True").rstrip() if is_known else None

    return spelled_by(text, spell)


def say_notes(notes: Iterable[str]) -> None:
    """Sentences that a steward should read, on stderr, each once."""
    for note in dict.fromkeys(notes):
        click.echo(f"Note: {in_flags(note)}", err=True)


@contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """What the library warns of becomes notes on stderr; gives the list of them, filled at the end."""
    from shoal.errors import ShoalWarning

    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ShoalWarning)
        try:
            yield told
        finally:
            told.extend(str(each.message) for each in caught if issubclass(each.category, ShoalWarning))
            say_notes(told)


def console() -> Console:
    """Where people read: stdout."""
    from rich.console import Console

    is_free = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(highlight=False, width=WIDTH_OF_FILES if is_free else None)


def measures_table(columns: Mapping[str, Mapping[str, Any]], *, title: str | None = None) -> Table:
    """Risk and quality, a column for each table: before and after."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    for key, (words, form) in MEASURES.items():
        for attribute in _attributes(key, columns.values()):
            values = [_of_attribute(_at(measured, key), attribute) for measured in columns.values()]
            if any(value is not None for value in values):
                label = words if attribute is None else f"{words}{_of_what(key, attribute)}"
                table.add_row(label, *(shown(value, form) for value in values))
    return table


def _at(measured: Mapping[str, Any], path: str) -> Any:
    """What stands at a path of keys, or None."""
    found: Any = measured
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _attributes(key: str, measured: Iterable[Mapping[str, Any]]) -> list[str | None]:
    """The sensitive attributes, or what else a measure has values for; [None] where it has one value."""
    parts = [each[key] for each in measured if isinstance(each.get(key), Mapping)]
    return list(dict.fromkeys(name for part in parts for name in part)) if parts else [None]


def _of_what(key: str, attribute: str) -> str:
    from shoal.judging.alone import by_what

    return f" by {by_what(attribute)}" if key == "alone_by" else f", {attribute}"


def _of_attribute(value: Any, attribute: str | None) -> Any:
    return value.get(attribute) if isinstance(value, Mapping) else value


def shown(value: Any, form: str) -> str:
    """A number as people read it."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "-"
    if form == "count":
        return f"{value:,.0f}"
    return f"{100 * value:.2f} %" if form == "share" else f"{value:.4f}"


def verdict_table(verdict: Mapping[str, Any]) -> Table:
    """Model by model: what was asked, what was reached, whether it holds, and from what that was counted."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for name, justify in (("model", "left"), ("asked", "right"), ("reached", "right"), ("", "left"), ("from", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for model in verdict["models"]:
        holds = Text("met", style="green") if model["holds"] else _not_met(model)
        numbers = (_brief(model.get("asked")), _brief(model.get("reached")))
        about = f" of '{model['column']}'" if model.get("column") else ""
        table.add_row(Text(f"{model['name']}{about}"), *numbers, holds, Text(str(model.get("checked_from", ""))))
    return table


def _not_met(model: Mapping[str, Any]) -> Text:
    """That a model is not met, or that nobody can tell."""
    from rich.text import Text

    is_seen = not str(model.get("checked_from", "")).startswith("not shown")
    return Text("NOT MET" if is_seen else "not recounted", style="bold red")


def show_verdict(screen: Console, verdict: Mapping[str, Any]) -> None:
    """The verdict, and what it does not say by itself."""
    screen.print(verdict_table(verdict))
    for table in verdict.get("tables", ()):
        screen.print(rows_of_table(table), markup=False)
    for note in verdict.get("notes", ()):
        screen.print(f"Note: {note}", markup=False)


def rows_of_table(table: Mapping[str, Any]) -> str:
    """How many persons have rows in one of several related tables, and how many in each group."""
    per_group = table["persons_per_group"]
    if per_group is None:
        return f"{table['name']}: no rows"
    return (
        f"{table['name']}: {table['rows']:,} rows of {table['persons']:,} persons; of the {table['groups']:,} groups "
        f"that have rows in it, each has those of {per_group['fewest']:,} to {per_group['most']:,} persons "
        f"(median {per_group['median']:g})"
    )


def _brief(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) else ("-" if value is None else str(value))


@contextmanager
def progress_bar() -> Iterator[Any]:
    """A callable (stage, done) that draws a bar on stderr once work takes long, if stderr is a terminal."""
    from shoal.kernels.compiling import telling_of_compiling

    bar = _Bar()
    try:
        with telling_of_compiling(bar.tell_of_compiling):
            yield bar
    finally:
        bar.close()


class _Bar:
    """A progress bar that stays away from short work and from files."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._is_watched = sys.stderr.isatty()

    def tell_of_compiling(self) -> None:
        """Say why nothing happens yet."""
        if self._is_watched:
            say = self._bar.console.print if self._bar is not None else partial(click.echo, err=True)
            say("Compiling, once on this machine: it takes a minute or two. Later runs start at once.")

    def __call__(self, stage: str, done: float) -> None:
        """Show the stage and how much of it is done."""
        if not self._is_watched or time.monotonic() - self._started < SECONDS_BEFORE_PROGRESS:
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress

            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task(stage, total=1.0)
        self._bar.update(self._task, description=stage, completed=min(max(done, 0.0), 1.0))

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.stop()
