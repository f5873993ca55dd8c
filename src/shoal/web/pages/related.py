"""Related tables on the page Data: which column names the rows of each, and which names rows of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import ui

from shoal.errors import ShoalError
from shoal.web import layout, looking
from shoal.web.app import App
from shoal.web.jobs import WebJob
from shoal.web.layout import PageView

NONE = {"": "none"}


class RelatedCard:
    """The card that says how several files belong together; empty while there is one."""

    def __init__(self, app: App, view: PageView, changed: Callable[[], None]) -> None:
        self.app, self.view, self.changed = app, view, changed
        self.is_asked = False
        self.related: tuple[str, ...] = ()
        """The files that were said to be several tables; where one comes after that, it is looked at with them."""
        self.place = ui.element("div").classes("sh-wide")
        self.draw()

    @property
    def is_open(self) -> bool:
        """Whether the tables cannot be joined yet."""
        return bool(self.view.chosen.tables) and self._fault() is not None

    def draw(self) -> None:
        """Draw it (again)."""
        chosen = self.view.chosen
        self.place.clear()
        if len(chosen.sources) < 2 or chosen.person_file is not None:
            return
        job = self.app.jobs.latest("relate")
        if self.is_asked and job is not None and not job.is_running:  # it ended while other things were drawn
            self._suggested(job)
            return
        if self.related and not chosen.tables and not self.is_asked and self.related != self._files():
            self._relate()
            return
        with self.place, layout.card("How the files belong together"):
            if job is not None and job.is_running:
                layout.show_job(job, on_end=self._suggested)
            elif chosen.tables:
                self._tables()
            else:
                columns = [set(looking.columns_of(self.app.project, source)) for source in chosen.sources]
                is_one = all(each == columns[0] for each in columns)
                ui.label("They are parts of one table, with the same columns, and are put under one another." if is_one
                         else "Their columns differ. Are they several tables, joined by keys? Or parts of one table "
                         "whose columns have different names? Then say below which mean the same.")  # fmt: skip
                layout.button("They are several tables that belong together", self._relate,
                              kind="plain" if is_one else "primary")  # fmt: skip
                if job is not None and job.state == "failed":
                    layout.note(job.error or "", tone="bad")

    def _files(self) -> tuple[str, ...]:
        return tuple(source.name for source in self.view.chosen.sources)

    def _relate(self) -> None:
        self.is_asked = True
        self.related = self._files()
        self.app.jobs.start("relate", "shoal.web.looking:relate", depends_on="data", keep_as="related", replace=True)
        self.draw()

    def _suggested(self, job: WebJob) -> None:
        self.is_asked = False
        result = self.app.project.result("related")
        self.view.catch_up()
        if job.state == "done" and result is not None and not result.is_stale:
            self._save(result.data["tables"])
        elif job.state == "done":  # one more file came meanwhile
            self._relate()
        else:
            self.draw()

    def _one_table(self) -> None:
        self.related = ()
        self._save({})

    def _save(self, tables: Mapping[str, Any]) -> None:
        if self.view.save(tables=tables, rename=()):
            self.changed()

    # What was said

    def _fault(self) -> str | None:
        from shoal.publishing.related import star_of

        try:
            star_of(self.app.project.reading_policy())
        except ShoalError as error:
            return str(error)
        return None

    def _tables(self) -> None:
        tables = self.view.chosen.tables
        ui.label("Each table is published as one of its own, and the keys lead from one to the other as before. One is "
                 "that of persons: its key names them, and it has no links.")  # fmt: skip
        fault = self._fault()
        if fault is not None:
            layout.note(fault, tone="warn")
        for name, table in tables.items():
            source = next(each for each in self.view.chosen.sources if each.name == table["file"])
            own = {column: column for column in looking.columns_of(self.app.project, source)}
            of_table = {target: column for column, target in table.get("links", {}).items()}
            ui.html(name, tag="h3", sanitize=True)
            with layout.row():
                layout.select(f"The key of {name}", {**NONE, **own}, table.get("key", ""),
                              partial(self._set_key, name))  # fmt: skip
                for other in (each for each in tables if each != name):
                    layout.select(f"In {name}, it names a row of {other}", {**NONE, **own}, of_table.get(other, ""),
                                  partial(self._set_link, name, other))  # fmt: skip
        layout.button("They are parts of one table after all", self._one_table, kind="quiet")

    def _set_key(self, name: str, column: str) -> None:
        table = {key: value for key, value in self.view.chosen.tables[name].items() if key != "key"}
        self._save({**self.view.chosen.tables, name: {**table, **({"key": column} if column else {})}})

    def _set_link(self, name: str, other: str, column: str) -> None:
        table = dict(self.view.chosen.tables[name])
        links = {each: target for each, target in table.pop("links", {}).items() if target != other and each != column}
        links |= {column: other} if column else {}
        self._save({**self.view.chosen.tables, name: {**table, **({"links": links} if links else {})}})
