"""The first step: files in, how they are written, what they hold, and what is odd about them."""

from __future__ import annotations

import contextlib
import html
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from nicegui import run, ui

from shoal.errors import InputError, ShoalError
from shoal.reading import format_of
from shoal.web import layout, looking
from shoal.web.app import App
from shoal.web.files import endings_taken, formats_taken, put_into, refuse_ending, refuse_other_content
from shoal.web.jobs import WebJob
from shoal.web.layout import PageView
from shoal.web.pages.database import FromDatabase
from shoal.web.pages.mending import Mending
from shoal.web.pages.related import RelatedCard
from shoal.web.pages.written import HowWritten
from shoal.web.project import SourceFile

WORDS_OF_LABELS = {"codes": "codes; their labels stand beside them", "values": "labels in the place of codes"}
MOST_PARTS = 40
"""Sheets and files inside of zip files that are offered."""
TAGS = {"bad": "look at this", "warn": "check", "info": "note"}


def build(app: App) -> None:
    """Draw the page."""
    lead = "Choose the table whose records shall be handed out. It stays on this machine, in a private folder."
    with layout.page(app, "data", title="Data", lead=lead) as view:
        DataPage(app, view)


class DataPage:
    """One open page: the parts that are drawn again when something changes."""

    def __init__(self, app: App, view: PageView) -> None:
        self.app, self.view = app, view
        self.how_written = HowWritten(view, self._set_csv)
        self.mending = Mending(view, self._mend)
        with layout.card("Files", hint="Several files of the same columns are put under one another; tables of "
                                       "different columns are joined by their keys."):  # fmt: skip
            self.chosen_files = ui.refreshable(self._chosen_files)
            self.chosen_files()
            limit = app.max_upload / (1 << 20)
            layout.drop_zone(
                "/files/records/",
                self._received,
                hint=f"{formats_taken()}; packed files too. Up to {limit:,.0f} MB each",
                accept=",".join(endings_taken()),
                limit=app.max_upload,
            )
            layout.drop_zone(
                "/files/records/", self._received, label="Choose a folder of files", limit=app.max_upload,
                accept=",".join(endings_taken()), is_small=True, takes_folder=True,
            )  # fmt: skip
            if app.files_here:
                self._files_here()
            FromDatabase(app, view, self._received)
        self.related = RelatedCard(app, view, self._changed)
        self.asked = ui.refreshable(self._asked)
        self.asked()
        self.found = ui.refreshable(self._found)
        self.found()
        self.mended = ui.refreshable(self._mended)
        self.mended()
        self.written = ui.refreshable(self._written)
        self.written()
        self.names = ui.refreshable(self._names)
        self.names()
        self._ask_about_persons()
        self._ask_about_population()
        self._look_again()

    # Files

    def _chosen_files(self) -> None:
        chosen = self.view.chosen
        if not chosen.sources:
            ui.label("No file is chosen yet.").classes("sh-small")
            return
        with ui.element("ul").classes("sh-list").props('aria-label="Chosen files"'):
            for source in chosen.sources:
                self._file(source, partial(self._remove, source))

    def _file(self, source: SourceFile, remove: Callable[[], Any]) -> None:
        with ui.element("li").classes("sh-file"):
            ui.html(f"<strong>{html.escape(source.name)}</strong>", sanitize=False)
            ui.label(_size(source.size)).classes("sh-small")
            button = layout.button("Remove", remove, kind="quiet").classes("sh-button-small")
            button.props["aria-label"] = f"Remove {source.name}"

    def _files_here(self) -> None:
        with ui.element("details").classes("sh-help"):
            ui.html("Files in the folder in which shoal was started", tag="summary", sanitize=False)
            if len(self.app.files_here) > 1:
                layout.button(f"Take all {len(self.app.files_here)}", partial(self._take, *self.app.files_here))
            with ui.element("ul").classes("sh-list"):
                for path in self.app.files_here:
                    with ui.element("li").classes("sh-file"):
                        ui.label(path.name)
                        button = layout.button("Take", partial(self._take, path)).classes("sh-button-small")
                        button.props["aria-label"] = f"Take {path.name}"

    async def _take(self, *paths: Path) -> None:
        with self.view.telling():
            for path in paths:
                refuse_ending(path.name)
                if not path.is_file():
                    raise InputError(f"There is no file '{path.name}' any more.")
                refuse_other_content(path, path.name)
                source = await run.io_bound(self.app.project.copy_file, path)
                if source is None:  # the server is about to end
                    return
                put_into(self.app.project, source, "records")
            self._received({})

    def _received(self, _: Mapping[str, Any]) -> None:
        self.view.hush()
        self.view.catch_up()
        self._draw_again()
        self._look_again()

    def _remove(self, source: SourceFile) -> None:
        left = tuple(each for each in self.view.chosen.sources if each != source)
        if self.view.save(sources=left, rename=self.view.chosen.rename_for(left), tables={}):
            (self.app.project.folder / "sources" / source.name).unlink(missing_ok=True)
            self._draw_again()
            self._look_again()

    def _draw_again(self) -> None:
        for part in (self.chosen_files, self.asked, self.persons, self.written, self.names, self.found, self.mended):
            part.refresh()
        self.related.draw()

    # The look

    def _look_again(self) -> None:
        """Read the files in the other process, unless that was done."""
        project, job = self.app.project, self.app.jobs.latest("look")
        result = project.result("look")
        is_looked_at = result is not None and not result.is_stale and project.table_file.is_file()
        needs_key = self.view.chosen.person_file is not None and not self.view.chosen.join_on
        needs_key = needs_key or bool(self._parts_to_choose()) or self.related.is_open
        is_tried = (
            job is not None and job.made_from == project.fingerprint("data") and job.state in ("running", "failed")
        )
        if self.view.chosen.sources and not needs_key and not is_looked_at and not is_tried:
            self.app.jobs.start("look", "shoal.web.looking:look", depends_on="data", keep_as="look", replace=True)
            self.found.refresh()

    def _over(self, job: WebJob) -> None:
        with self.view.telling():
            lost = looking.take_suggestions(self.app.project) if job.state == "done" else []
            if lost:
                self.view.tell(looking.told_lost(lost), tone="warn")
        self.view.catch_up()
        for part in (self.asked, self.found, self.mended, self.written):
            part.refresh()

    @property
    def _look(self) -> Mapping[str, Any] | None:
        """The last look at the files, where nothing was changed since."""
        result = self.app.project.result("look")
        return result.data if result is not None and not result.is_stale else None

    # Questions

    def _parts_to_choose(self) -> dict[str, tuple[str, list[str]]]:
        """Workbooks of several sheets and zip files of several files of which none is chosen: by key what there is."""
        chosen = self.view.chosen
        asked = {}
        for source in (*chosen.sources, *([chosen.person_file] if chosen.person_file else [])):
            with contextlib.suppress(ShoalError):  # told when it is read
                kind, names = looking.parts_of(self.app.project, source)
                now = chosen.read_as.get("sheet") if kind == "sheet" else chosen.csv.get("member")
                if len(names) > 1 and now not in names:
                    asked[kind] = (source.name, names)
        return asked

    def _asked(self) -> None:
        words = {"sheet": "sheets", "member": "files"}
        for kind, (name, parts) in self._parts_to_choose().items():
            with layout.card(f"{name} has {len(parts):,} {words[kind]}", hint="Which holds the records?") as card:
                card.classes("sh-card-asks")
                with layout.row():
                    for part in parts[:MOST_PARTS]:
                        layout.button(part, partial(self._set_part, kind, part))
        self.how_written.ask(self.app.project.questions(with_suggested=True))

    def _set_part(self, kind: str, part: str) -> None:
        if kind == "member":
            self._set_csv("member", part)
        elif self.view.save(read_as={**self.view.chosen.read_as, "sheet": part}):
            self._changed()

    def _changed(self) -> None:
        self.view.hush()
        self._draw_again()
        self._look_again()

    # Mending

    def _mended(self) -> None:
        look = self._look
        if self.view.chosen.sources and (look or self.mending.offered or self.view.chosen.mend):
            columns = [column["name"] for column in look["columns"]] if look else []
            self.mending.show(look, columns)

    def _mend(self, mend: Mapping[str, Any]) -> None:
        chosen = self.view.chosen
        new = {each["born"] for name, each in mend.get("age", {}).items() if name not in chosen.mend.get("age", {})}
        columns = tuple(
            replace(column, role="dropped", is_confirmed=True) if column.name in new else column
            for column in chosen.columns
        )
        if self.view.save(mend=mend, columns=columns):
            self._changed()

    def _found(self) -> None:
        job = self.app.jobs.latest("look")
        result = self.app.project.result("look")
        if not self.view.chosen.sources:
            return
        if job is not None and job.is_running:
            with layout.card("What is in it"):
                layout.show_job(job, on_end=self._over)
            return
        if result is not None and not result.is_stale:
            self._show(result.data)
        elif job is not None and job.state == "failed":
            with layout.card("The files cannot be read as they are"):
                layout.note(job.error or "", tone="bad")
                if len(self.view.chosen.sources) > 1:
                    ui.label("Where they are several tables that belong together, say so above. A file that is no "
                             "part of the table can be removed there.").classes("sh-small")  # fmt: skip
        elif job is not None and job.state == "cancelled":
            with layout.note("Reading was stopped.", tone="warn"):
                layout.button("Read the files", self._look_again)
        elif self.view.chosen.person_file is not None and not self.view.chosen.join_on:
            layout.note("Choose below by which column the persons are joined to the records.", tone="warn")

    def _show(self, look: Mapping[str, Any]) -> None:
        columns = look["columns"]
        n_missing = sum(column["missing"] for column in columns)
        with layout.card("What is in it"):
            layout.facts([
                layout.Fact(f"{look['records']:,}", "records"),
                layout.Fact(f"{look['persons']:,}", "persons", note=_who(look)),
                layout.Fact(f"{len(columns):,}", "columns"),
                layout.Fact(f"{n_missing:,}", "missing values",
                            note=_in_columns(sum(column["missing"] > 0 for column in columns))),
            ])  # fmt: skip
            self._odd(look)
        with layout.card("The first records", hint="As they were read. Nothing of this leaves the machine."):
            names, records = looking.preview(self.app.project)
            numeric = [column["name"] for column in columns if column["kind"] == "number"]
            drawn = layout.table_html(names, records, caption=f"The first {len(records)} records", numeric=numeric)
            ui.html(drawn, sanitize=False).classes("sh-wide sh-preview")

    def _odd(self, look: Mapping[str, Any]) -> None:
        order = {"bad": 0, "warn": 1, "info": 2}
        told = sorted(look["odd"], key=lambda each: order[each["tone"]])
        reasons = [finding["reason"] for finding in look["findings"]]  # told where the files' forms are
        notes = [words for words in look["notes"] if not any(reason in words for reason in reasons)]
        items = [_odd_item(each) for each in told]
        items += [_odd_item({"column": None, "tone": "info", "words": words}) for words in notes]
        if not items:
            layout.note("Nothing odd was found: every line has all its fields, and no column stands out.", tone="good")
            return
        ui.html(
            f'<h3>What is odd about it</h3><ul class="sh-list sh-odd">{"".join(items)}</ul>', sanitize=False
        ).classes("sh-wide")

    # How files are written

    def _written(self) -> None:
        chosen = self.view.chosen
        files = [*chosen.sources, *([chosen.person_file] if chosen.person_file else [])]
        formats = [format_of(self.app.project.folder / "sources" / source.name) for source in files]
        if any(format.is_text for format in formats):
            self.how_written.show(self._look)
        if any(format.keeps_labels for format in formats):
            with layout.card("Codes and labels", hint="Statistical packages keep a label beside each code."):
                layout.select("Values are", WORDS_OF_LABELS, chosen.read_as.get("labels", "codes"), self._set_labels)
        if chosen.read_as.get("sheet"):
            names = [name for source in files for name in looking.parts_of(self.app.project, source)[1]]
            with layout.card("Sheet"):
                layout.select("The records are in", {name: name for name in names}, chosen.read_as["sheet"],
                              partial(self._set_part, "sheet"))  # fmt: skip

    def _set_labels(self, value: str) -> None:
        if self.view.save(read_as={**self.view.chosen.read_as, "labels": value}):
            self._changed()

    def _set_csv(self, key: str, value: Any) -> None:
        csv = {**self.view.chosen.csv, key: value}
        if self.view.save(csv={name: each for name, each in csv.items() if each is not None}):
            self._changed()

    # A table of persons

    def _ask_about_persons(self) -> None:
        hint = (
            "Where age, sex or address stand in a file of their own with one line per person, choose it here. Its "
            "columns are joined to the records by the key that both files have."
        )
        with layout.card("A table of persons (if you have one)", hint=hint):
            self.persons = ui.refreshable(self._persons)
            self.persons()
            layout.drop_zone(
                "/files/persons/", self._received, label="Choose the table of persons",
                accept=",".join(endings_taken()), limit=self.app.max_upload, takes_many=False, is_small=True,
            )  # fmt: skip

    def _persons(self) -> None:
        chosen = self.view.chosen
        if chosen.person_file is None:
            return
        with ui.element("ul").classes("sh-list").props('aria-label="Table of persons"'):
            self._file(chosen.person_file, self._remove_persons)
        own = looking.columns_of(self.app.project, chosen.person_file)
        of_records = looking.columns_of(self.app.project, chosen.sources[0]) if chosen.sources else []
        ask = {"": "choose"}
        record_key, person_key = next(iter(chosen.join_on.items()), ("", ""))
        shared = [name for name in of_records if name in own]
        state = {"records": record_key or (shared[0] if len(shared) == 1 else ""), "persons": person_key}
        state["persons"] = state["persons"] or (state["records"] if state["records"] in own else "")

        def choose(key: str, value: str) -> None:
            state[key] = value
            if state["records"] and state["persons"]:
                self._join({state["records"]: state["persons"]})

        with layout.row():
            layout.select("Key in the records", {**ask, **{name: name for name in of_records}}, state["records"],
                          lambda value: choose("records", value))  # fmt: skip
            layout.select("Key in the table of persons", {**ask, **{name: name for name in own}}, state["persons"],
                          lambda value: choose("persons", value))  # fmt: skip
            if not chosen.join_on and state["records"] and state["persons"]:
                layout.button("Join", lambda: self._join({state["records"]: state["persons"]})).classes("sh-below")

    def _join(self, on: Mapping[str, str]) -> None:
        if self.view.save(join_on=dict(on)):
            self._changed()

    def _remove_persons(self) -> None:
        source = self.view.chosen.person_file
        if source is not None and self.view.save(person_file=None, join_on={}):
            (self.app.project.folder / "sources" / source.name).unlink(missing_ok=True)
            self._draw_again()
            self._look_again()

    # The population that the table was drawn from

    def _ask_about_population(self) -> None:
        hint = (
            "Where the table is a sample and you have the register that it was drawn from, choose it here. Its persons "
            "who fit what is published are counted. Nothing of it is published, and it is not copied into any release."
        )
        with layout.card("The population (if the table is a sample of it)", hint=hint):
            self.population = ui.refreshable(self._population)
            self.population()
            layout.drop_zone(
                "/files/population/", lambda _: self._population_changed(), label="Choose the population",
                accept=",".join(endings_taken()), limit=self.app.max_upload, takes_many=False, is_small=True,
            )  # fmt: skip

    def _population(self) -> None:
        named = self.view.chosen.population
        if not named:
            return
        with ui.element("ul").classes("sh-list").props('aria-label="Population"'), ui.element("li").classes("sh-file"):
            ui.html(f"<strong>{html.escape(Path(named['file']).name)}</strong>", sanitize=False)
            button = layout.button("Remove", self._remove_population, kind="quiet").classes("sh-button-small")
            button.props["aria-label"] = "Remove the population"
        path = self.app.project.folder / named["file"]
        theirs = looking.columns_in(self.app.project, path) if path.is_file() else []
        absent = [name for name in self.view.chosen.names("quasi") if name not in theirs]
        if not theirs or not absent:
            return
        with layout.row():
            for name in absent:
                called = named.get("columns", {}).get(name, "")
                layout.select(f"‘{name}’ is called there", {"": "choose", **{each: each for each in theirs}}, called,
                              partial(self._call, name))  # fmt: skip

    def _call(self, name: str, theirs: str) -> None:
        named = dict(self.view.chosen.population)
        called = {**named.pop("columns", {}), name: theirs}
        called = {ours: each for ours, each in called.items() if each}
        self.view.save(population={**named, **({"columns": called} if called else {})})

    def _population_changed(self) -> None:
        self.view.hush()
        self.view.catch_up()
        self.population.refresh()

    def _remove_population(self) -> None:
        file = Path(self.view.chosen.population["file"])
        if self.view.save(population={}) and file.parts[0] == "population":
            (self.app.project.folder / file).unlink(missing_ok=True)
        self.population.refresh()

    # Names of columns in several files

    def _names(self) -> None:
        chosen = self.view.chosen
        if len(chosen.sources) < 2 or chosen.tables:
            return
        columns = [looking.columns_of(self.app.project, source) for source in chosen.sources]
        if not all(columns) or all(set(each) == set(columns[0]) for each in columns):
            return
        hint = (
            "The files call some columns by different names. Say which mean the same: the first file's name is taken."
        )
        with layout.card("Columns of the files", hint=hint):
            for place, (source, own) in enumerate(zip(chosen.sources[1:], columns[1:], strict=True), start=1):
                strange = [name for name in own if name not in columns[0]]
                absent = [name for name in columns[0] if name not in own]
                renamed = dict(chosen.rename[place]) if len(chosen.rename) == len(chosen.sources) else {}
                with layout.row():
                    for name in strange:
                        options = {"": "has no counterpart", **{other: f"is the same as {other}" for other in absent}}
                        layout.select(f"{name} in {source.name}", options, renamed.get(name, ""),
                                      partial(self._rename, place, name))  # fmt: skip

    def _rename(self, place: int, name: str, common: str) -> None:
        chosen = self.view.chosen
        rename = [dict(each) for each in chosen.rename] if len(chosen.rename) == len(chosen.sources) else (
            [{} for _ in chosen.sources]
        )  # fmt: skip
        rename[place].pop(name, None)
        if common:
            rename[place][name] = common
        if self.view.save(rename=tuple(rename)):
            self._look_again()


def _who(look: Mapping[str, Any]) -> str:
    return f"told apart by '{look['person']}'" if look["person"] else "each record counts as one"


def _in_columns(number: int) -> str:
    return "" if not number else "in 1 column" if number == 1 else f"in {number} columns"


def _odd_item(each: Mapping[str, Any]) -> str:
    tone = each["tone"]
    tag = f'<span class="sh-tag sh-tag-{tone}">{TAGS[tone]}</span>'
    column = f"<strong>{html.escape(each['column'])}</strong>: " if each["column"] else ""
    return f"<li>{tag}<span>{column}{html.escape(each['words'])}</span></li>"


def _size(n_bytes: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if n_bytes < 1024 or unit == "MB":
            break
        n_bytes /= 1024  # type: ignore[assignment]
    return f"{n_bytes:,.0f} {unit}" if unit == "bytes" or n_bytes >= 10 else f"{n_bytes:,.1f} {unit}"
