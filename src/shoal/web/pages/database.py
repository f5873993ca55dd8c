"""A table or a query of a database, on the page Data: read once by this machine, and kept as a file of the project.

The address is used for that one read. It may hold a password, so it is neither kept nor shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from shoal.errors import InputError
from shoal.reading.sql import is_address, parse_address
from shoal.web import layout
from shoal.web.app import App
from shoal.web.files import put_into
from shoal.web.jobs import WebJob
from shoal.web.layout import PageView
from shoal.web.project import SourceFile


class FromDatabase:
    """A form that is folded away: the address, and a table or a query."""

    def __init__(self, app: App, view: PageView, on_received: Callable[[Mapping[str, Any]], None]) -> None:
        self.app, self.view, self.on_received = app, view, on_received
        self.typed = {"address": "", "table": "", "query": ""}
        with ui.element("details").classes("sh-help"):
            ui.html("Read from a database", tag="summary", sanitize=False)
            with layout.row().classes("sh-row-end"):
                self._field(
                    "address",
                    "Address",
                    "postgresql://host/database, sqlite:///folder/file.db, duckdb:///folder/file.duckdb",
                )
                self._field("table", "Table", "or a query below")
            with layout.row().classes("sh-row-end"):
                self._field("query", "Query", "one SELECT, which runs where nothing can be written")
                layout.button("Read it", self._read)
            ui.label(
                "A password in the address is used once and never kept; PGUSER, PGPASSWORD and ~/.pgpass of whoever "
                "started shoal work too. What is read is kept as a file in the project's private folder."
            ).classes("sh-small")
            self.place = ui.element("div").classes("sh-wide")

    def _field(self, key: str, label: str, hint: str) -> None:
        layout.text_input(label, "", lambda text: self.typed.update({key: text.strip()}), hint=hint, width="24rem",
                          kind="password" if key == "address" else "text")  # fmt: skip

    def _read(self) -> None:
        with self.view.telling():
            self.place.clear()
            given = {key: text for key, text in self.typed.items() if text}
            if not is_address(given.get("address", "")):
                raise InputError("Write the address of the database, such as postgresql://host/database.")
            if self.app.is_exposed and parse_address(given["address"]).path is not None:
                raise InputError("Database files of this machine are not read while other machines can reach the app.")
            job = self.app.jobs.start("database", "shoal.web.looking:read_database_into", given, replace=True)
            with self.place:
                layout.show_job(job, on_end=self._over, what="Reading from the database")

    def _over(self, job: WebJob) -> None:
        with self.view.telling():
            if job.state == "failed":
                raise InputError(job.error or "")
            if job.state == "done" and job.result is not None:
                put_into(self.app.project, SourceFile(**job.result), "records")
                self.on_received({})
