"""The second step: what each column is, how many persons that makes unique, and hierarchies."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import run, ui

from shoal.errors import ShoalError
from shoal.table.spelling import OF_PERSONS, OF_VALUES
from shoal.web import hierarchies, layout, looking
from shoal.web.app import App
from shoal.web.layout import PageView
from shoal.web.project import ColumnChoice

WORDS_OF_ROLE = {
    "": "choose what it is",
    "person": "names the person",
    "quasi": "others may know it",
    "sensitive": "nobody may learn it",
    "time": "when it happened",
    "kept": "publish unchanged",
    "dropped": "do not publish",
}
MEANING_OF_ROLE = {
    "person": "Tells persons apart, such as a patient number. It is published as a random pseudonym.",
    "quasi": "What a neighbour, a colleague or a register may know: age, sex, address, occupation. Others could "
    "recognise a person by it, so it is made coarser until they cannot. Specialists say quasi-identifier.",
    "sensitive": "What nobody may find out about a person: a diagnosis, an income. It is published as it is, but only "
    "among enough others. Specialists say sensitive attribute.",
    "time": "The date of a visit or an event. It is published as the person's own 1, 2, 3, or with dates moved.",
    "kept": "Published as it is, without protection. Only for what tells nothing about a person.",
    "dropped": "Left out of the release. Names, phone numbers and numbers of records belong here.",
}
WORDS_OF_KIND = {
    "auto": "as the data show",
    "number": "number",
    "nominal": "categories",
    "ordered": "categories in order",
    "date": "date",
}
WORDS_OF_SPELLING = {
    "exact": "every sign counts",
    "plain": "spaces and invisible signs do not count",
    "folded": "capitals do not count either",
}
WORDS_OF_MISSING_VALUE = {"": "a missing one is a value to protect", "nothing": "a missing one tells nothing"}
WORDS_OF_MISSING = {
    "value": "is a value of its own",
    "refuse": "stops the work with an error",
    "drop": "drops the record",
}
USUAL_SPELLING = {"person": OF_PERSONS, "sensitive": OF_VALUES}
WORDS_OF_ROUND = {"auto": "are rounded, so that they are nobody's own value", "off": "are real values of persons"}
WORDS_OF_IDS = {"pseudonyms": "random pseudonyms", "none": "nothing: nobody sees which records belong together"}
WORDS_OF_TIME = {"sequence": "the person's own 1, 2, 3", "shift": "dates, moved by a secret number of days per person"}
WORDS_OF_TIME_OF_DAY = {"cut": "are left out", "keep": "are published as they are"}
WORDS_OF_SHARED_DATES = {
    "tell": "are published and counted in a note",
    "hide": "are published as missing",
    "refuse": "stop the release",
}


def build(app: App) -> None:
    """Draw the page."""
    lead = "Say what each column is. shoal has guessed from names and counts; you know the data."
    with layout.page(app, "columns", title="Columns", lead=lead) as view:
        with view.telling():
            lost = looking.take_suggestions(app.project)
            view.catch_up()
            if lost:
                view.tell(looking.told_lost(lost), tone="warn")
        result = app.project.result("look")
        if result is None or result.is_stale or not app.project.table_file.is_file():
            job = app.jobs.latest("look")
            if job is not None and job.is_running:
                with layout.card("The files are being read"):
                    layout.show_job(job, on_end=lambda _: ui.navigate.reload())
                return
            with layout.note("The files were not read yet.", tone="warn"):
                layout.button("To the page Data", lambda: ui.navigate.to("/"))
            return
        ColumnsPage(app, view, result.data)


class ColumnsPage:
    """One open page: the table of columns, the count of unique persons, the editor, and the policy."""

    def __init__(self, app: App, view: PageView, look: Mapping[str, Any]) -> None:
        self.app, self.view = app, view
        self.seen = {column["name"]: column for column in look["columns"]}
        self.odd: dict[str, list[str]] = {}
        for each in look["odd"]:
            if each["column"] and each["tone"] != "info":
                self.odd.setdefault(each["column"], []).append(each["words"])
        self.role_before: dict[str, str] = {}
        self.n_counts = 0
        self.edited: str | None = None
        self.rows: dict[str, Any] = {}
        with ui.element("div").classes("sh-together"):  # the count stays in sight as long as the table does
            with ui.element("div").classes("sh-alone-card"), layout.card("How recognisable are the persons?"):
                self.alone = ui.html("", sanitize=False).classes("sh-wide").props('aria-live="polite"')
            with layout.card("What each column is"):
                _legend()
                self._table()
        self.editor = ui.element("div").classes("sh-wide sh-editor").props('id="editor"')
        with layout.card("Missing values and times"), layout.row():
            self._settings()
        with layout.card("The policy", hint="All choices in one file, policy.toml. The command line reads the same "
                         "file: shoal protect FILE --policy policy.toml"):  # fmt: skip
            self.policy = ui.element("div").classes("sh-wide sh-policy").props('aria-live="polite"')
        self._show_policy()
        ui.timer(0.05, self._count, once=True)

    # The table of columns

    def _table(self) -> None:
        headings = (
            "Others may know it",
            "Column",
            "Values",
            "Missing",
            "What it is",
            "Kind, or what tells texts apart",
            "Suggested because",
        )
        with (
            ui.element("div").classes("sh-scroll").props('role="region" aria-label="Columns" tabindex="0"'),
            ui.element("table").classes("sh-table sh-roles"),
        ):
            cells = "".join(f'<th scope="col">{heading}</th>' for heading in headings)
            ui.html(f"<tr>{cells}</tr>", tag="thead", sanitize=False)
            with ui.element("tbody"):
                for column in self.view.chosen.columns:
                    self.rows[column.name] = ui.element("tr")
                    self._draw_row(column.name)

    def _draw_row(self, name: str, focus: str = "") -> None:
        """Draw the row of a column (again), and leave the keyboard where it was."""
        column, seen, row = self.view.chosen.column(name), self.seen[name], self.rows[name]
        number = list(self.rows).index(name)
        row.clear()
        row.classes(replace=f"sh-role-{column.role or 'none'}")
        with row:
            if focus:
                layout.focus(f"{focus}-{number}")
            with ui.element("td").classes("sh-tick"):
                self._tick(column, number)
            _cell(f'<th scope="row">{html.escape(name)}</th>')
            _cell(f'<td class="sh-number">{seen["distinct"]:,}</td>')
            _cell(f'<td class="sh-number">{seen["missing"]:,}</td>' if seen["missing"] else "<td></td>")
            with ui.element("td"):
                layout.select(f"What {name} is", WORDS_OF_ROLE, column.role, partial(self._set_role, name),
                              is_label_seen=False, name=f"role-{number}")  # fmt: skip
            with ui.element("td"):
                if column.role == "quasi":
                    self._kind(column, number)
                elif column.role in USUAL_SPELLING:
                    usual = USUAL_SPELLING[column.role]
                    layout.select(f"Spelling of {name}", WORDS_OF_SPELLING, column.spelling or usual,
                                  partial(self._set_spelling, name, usual), is_label_seen=False,
                                  name=f"spelling-{number}")  # fmt: skip
                    if column.role == "sensitive" and seen["missing"]:
                        layout.select(f"A missing {name}", WORDS_OF_MISSING_VALUE, column.missing,
                                      partial(self._set_missing, name), is_label_seen=False,
                                      name=f"missing-{number}")  # fmt: skip
            _cell(f"<td>{self._why(column, seen)}</td>")

    def _tick(self, column: ColumnChoice, number: int) -> None:
        box = ui.element("input").props(f"type=checkbox id=tick-{number}").classes("sh-check")
        box.props["aria-label"] = f"Others may know {column.name}"
        if column.role == "quasi":
            box.props["checked"] = True
        box.on("change", lambda event: self._ticked(column.name, bool(event.args)),
               js_handler="(event) => emit(event.target.checked)")  # fmt: skip

    def _kind(self, column: ColumnChoice, number: int) -> None:
        with ui.element("div").classes("sh-kind"):
            layout.select(f"Kind of {column.name}", WORDS_OF_KIND, column.kind, partial(self._set_kind, column.name),
                          is_label_seen=False, name=f"kind-{number}")  # fmt: skip
            words = "Hierarchy: " + _told_hierarchy(column.hierarchy) if column.hierarchy else "Add a hierarchy"
            if column.kind == "ordered" and not column.hierarchy:
                words = "Order and hierarchy"
            button = layout.button(words, partial(self._edit, column.name), kind="quiet").classes("sh-button-small")
            button.props["aria-label"] = f"{words}, for {column.name}"

    def _why(self, column: ColumnChoice, seen: Mapping[str, Any]) -> str:
        reason = seen["reason"][:1].upper() + seen["reason"][1:]
        told = f"{html.escape(reason)}."
        if seen["role"] != column.role:
            told = f'<span class="sh-tag">suggested: {WORDS_OF_ROLE[seen["role"]]}</span> {told}'
        if not column.role:
            told = '<span class="sh-tag sh-tag-bad">has no role yet</span> ' + told
        for words in self.odd.get(column.name, ()) if column.role in ("quasi", "kept", "sensitive") else ():
            told += f'<br><span class="sh-row-odd">{html.escape(words)}</span>'
        return told

    # What the steward does

    def _ticked(self, name: str, is_ticked: bool) -> None:
        now = self.view.chosen.column(name).role
        if is_ticked:
            self.role_before[name] = now
            self._set_role(name, "quasi", focus="tick")
            return
        suggested = self.seen[name]["role"]
        before = self.role_before.get(name, suggested)
        self._set_role(name, before if before != "quasi" else "", focus="tick")

    def _set_role(self, name: str, role: str, *, focus: str = "role") -> None:
        changed = {name: {"role": role}}
        if role in ("person", "time"):  # there is one of each: the one before has to be decided anew
            changed |= {other: {"role": ""} for other in self.view.chosen.names(role) if other != name}
        self._change(changed, focus=focus)

    def _set_spelling(self, name: str, usual: str, form: str) -> None:
        self._change({name: {"spelling": "" if form == usual else form}}, focus="spelling")

    def _set_missing(self, name: str, tells: str) -> None:
        self._change({name: {"missing": tells}}, focus="missing")

    async def _set_kind(self, name: str, kind: str) -> None:
        column = replace(self.view.chosen.column(name), kind=kind, order=None)
        with self.view.telling():
            await run.io_bound(hierarchies.check_column, self.app.project, column)
            self.view.hush()
            self._change({name: {"kind": kind, "order": None}}, focus="kind")
            return
        self._draw_row(name, "kind")

    def _change(self, changes: Mapping[str, Mapping[str, Any]], *, focus: str = "") -> bool:
        columns = tuple(replace(column, **changes.get(column.name, {})) for column in self.view.chosen.columns)
        is_saved = self.view.save(columns=columns)
        for name in changes:
            self._draw_row(name, focus if name == next(iter(changes)) else "")
        if is_saved:
            self._show_policy()
            with self.policy:
                ui.timer(0.01, self._count, once=True)
        return is_saved

    # How many persons are unique

    async def _count(self) -> None:
        chosen = self.view.chosen
        quasi = chosen.names("quasi")
        person = next(iter(chosen.names("person")), None)
        self.n_counts += 1
        mine = self.n_counts
        if not quasi:
            self.alone.content = '<p class="sh-hint">Tick the columns that others may know of a person.</p>'
            return
        counter = self.app.cache.get("alone")
        if counter is None or not counter.is_current:
            counter = self.app.cache["alone"] = looking.AloneInTable(self.app.project)
        if not self.alone.content:
            self.alone.content = '<p class="sh-hint">Counting ...</p>'
        self.alone.classes(add="sh-busy")
        try:
            found = await run.io_bound(counter.count, person, quasi)
        except ShoalError as error:
            self.view.tell(str(error))
            return
        finally:
            if mine == self.n_counts:
                self.alone.classes(remove="sh-busy")
        if found is not None and mine == self.n_counts:
            n_alone, n_persons = found
            self.alone.content = _told_alone(n_alone, n_persons, quasi, person)

    # Settings of the whole table

    def _settings(self) -> None:
        chosen = self.view.chosen
        layout.select("A missing value that others may know", WORDS_OF_MISSING, chosen.missing,
                      lambda value: self._set(missing=value))  # fmt: skip
        layout.select("The ends of ranges", WORDS_OF_ROUND, chosen.round, lambda value: self._set(round=value))
        layout.select("Persons are published as", WORDS_OF_IDS, chosen.person_ids,
                      lambda value: self._set(person_ids=value))  # fmt: skip
        layout.select("Times are published as", WORDS_OF_TIME, chosen.time_as, lambda value: self._set(time_as=value))
        layout.select("Times of day of moved dates", WORDS_OF_TIME_OF_DAY, chosen.time_of_day,
                      lambda value: self._set(time_of_day=value))  # fmt: skip
        layout.select("Moved dates that many share", WORDS_OF_SHARED_DATES, chosen.shared_dates,
                      lambda value: self._set(shared_dates=value))  # fmt: skip
        layout.text_input("Time zone in which days are counted", chosen.zone or "",
                          lambda text: self._set(zone=text.strip() or None),
                          hint="Europe/Berlin, for times in UTC or with an offset", width="20rem")  # fmt: skip

    def _set(self, **changes: Any) -> None:
        if self.view.save(**changes):
            self._show_policy()

    def _show_policy(self) -> None:
        self.policy.clear()
        with self.policy:
            problem = self.app.project.problem()
            if problem is not None:
                layout.note(problem, tone="bad")
                return
            layout.note("Every column has a role, and the policy is saved.", tone="good")
            text = html.escape(self.app.project.policy_text() or "")
            ui.html('<details class="sh-help"><summary>Show policy.toml</summary>'
                    f'<pre class="sh-code" tabindex="0">{text}</pre></details>', sanitize=False)  # fmt: skip

    # Hierarchies

    async def _edit(self, name: str) -> None:
        self.edited = name
        self.editor.clear()
        with self.view.telling():
            values = await run.io_bound(hierarchies.values_of, self.app.project, name)
            if values is not None:
                with self.editor:
                    HierarchyEditor(self, name, values)
                ui.run_javascript("document.getElementById('editor')?.querySelector('h2')?.focus()")

    def close_editor(self) -> None:
        """Take the editor away."""
        self.editor.clear()
        self.edited = None

    def set_hierarchy(self, name: str, choice: Mapping[str, Any] | None) -> None:
        """Keep a hierarchy for a column, or none."""
        if self._change({name: {"hierarchy": choice}}):
            hierarchies.remove_unused(self.app.project)
            self.close_editor()

    def set_order(self, name: str, order: tuple[str, ...]) -> None:
        """Keep the order of a column's categories."""
        if self._change({name: {"order": order}}):
            self.close_editor()


WAYS = {
    "prefixes": "shorten codes (20375, 203**, 20***)",
    "intervals": "intervals of numbers (20-29, 20-39)",
    "sets": "my own sets of categories",
    "icd": "categories of diagnosis codes (E11.9, E11)",
    "file": "a file in ARX's format",
}


class HierarchyEditor:
    """How the values of one column may be shown coarser: five ways, and a preview of the levels."""

    def __init__(self, page: ColumnsPage, name: str, values: list[str]) -> None:
        self.page, self.name, self.values = page, name, values
        self.column = page.view.chosen.column(name)
        self.choice: dict[str, Any] = dict(self.column.hierarchy or {})
        self.way = self._first_way()
        self.sets: hierarchies.Sets | None = None
        self.picked: list[str] = []
        hint = "How values may be shown coarser: a group is shown as the closest level that covers all its values."
        with layout.card(f"Hierarchy of {name}", hint=hint):
            if self.column.kind == "ordered":
                self._order()
            layout.select("Make it from", WAYS, self.way, self._set_way)
            self.form = ui.element("div").classes("sh-wide sh-form")
            self.preview = ui.element("div").classes("sh-wide").props('aria-live="polite"')
            with layout.row():
                self.use = layout.button("Use this hierarchy", self._use, kind="primary")
                if self.column.hierarchy:
                    layout.button("Remove the hierarchy", partial(page.set_hierarchy, name, None), kind="danger")
                layout.button("Close", page.close_editor, kind="quiet")
        self._draw()

    def _first_way(self) -> str:
        for way in ("prefixes", "intervals", "icd"):
            if way in self.choice:
                return way
        if "file" in self.choice:
            return "sets" if hierarchies.is_of_sets(self.choice["file"], self.name) else "file"
        are_numbers = bool(self.values) and all(hierarchies._is_number(value) for value in self.values[:1000])
        if are_numbers:
            lengths = {len(value) for value in self.values[:1000]}
            return "prefixes" if len(lengths) == 1 and max(lengths) >= 4 else "intervals"
        return "sets" if len(self.values) <= hierarchies.MOST_TO_SORT else "prefixes"

    def _set_way(self, way: str) -> None:
        self.way, self.choice = way, {}
        self._draw()

    def _draw(self) -> None:
        self.form.clear()
        with self.form, self.page.view.telling():
            {"prefixes": self._prefixes, "intervals": self._intervals, "sets": self._sets, "icd": self._icd,
             "file": self._file}[self.way]()  # fmt: skip

    # The five ways

    def _prefixes(self) -> None:
        lengths = self.choice.get("prefixes")
        lengths = hierarchies.first_prefixes(self.values) if lengths is None or lengths is True else list(lengths)
        self.choice = {"prefixes": lengths}
        layout.text_input("Characters that the levels keep", ", ".join(map(str, lengths)), self._set_prefixes,
                          hint="From the finest level to the coarsest: 3, 2", width="14rem")  # fmt: skip
        self._show()

    def _set_prefixes(self, text: str) -> None:
        with self.page.view.telling():
            self.choice = {"prefixes": hierarchies.read_lengths(text)}
            self._show()

    def _intervals(self) -> None:
        given = self.choice.get("intervals") or hierarchies.first_intervals(self.values)
        self.choice = {"intervals": dict(given)}
        words = {"low": "From", "width": "Width of the finest interval", "high": "To", "factor": "Merged by"}
        with layout.row():
            for key, label in words.items():
                value = str(self.choice["intervals"].get(key, 2))
                layout.text_input(label, value, partial(self._set_interval, key, label), width="9rem")
        self._show()

    def _set_interval(self, key: str, label: str, text: str) -> None:
        with self.page.view.telling():
            self.choice["intervals"][key] = hierarchies.read_number(text, f"'{label}'")
            self._show()

    def _icd(self) -> None:
        self.choice = {"icd": True}
        self._show()

    def _file(self) -> None:
        layout.drop_zone("/files/hierarchy/", self._received, label="Choose a hierarchy file", takes_many=False,
                         hint="No header; one line per value: the value, what it is part of, and so on, and last *",
                         accept=".csv,.txt", is_small=True)  # fmt: skip
        if "file" in self.choice:
            ui.label(f"Now: {self.choice['file'].rpartition('/')[2]}").classes("sh-small")
            self._show()
        else:
            self.preview.clear()

    def _received(self, answer: Mapping[str, Any]) -> None:
        self.choice = {"file": str(answer["file"])}
        self._draw()

    # Own sets

    def _sets(self) -> None:
        if self.sets is None:
            hierarchy = None
            if self.choice.get("file"):
                hierarchy = hierarchies.made(self.page.app.project, self.name, self.choice)
            self.sets = hierarchies.Sets.of(self.values, hierarchy)
        self.choice = {}
        sets = self.sets
        state = {"name": "", "to": ""}
        with layout.row().classes("sh-row-end"):
            layout.text_input("New set", "", lambda text: state.update(name=text), width="14rem")
            layout.button("Add the set", lambda: self._add_set(state["name"]))
            options = {"": "no set", **{name: name for name in sets.names}}
            layout.select("Move what is ticked to", options, "", lambda value: state.update(to=value))
            layout.button("Move", lambda: self._move(self.picked, state["to"]))
        self.board = ui.html(_board(sets), sanitize=False).classes("sh-board sh-wide")
        self.board.on("change", lambda event: self._pick(event.args),
                      js_handler="(event) => emit(window.shoal.ticked(event.currentTarget))")  # fmt: skip
        self.board.on("moved", lambda event: self._dragged(event.args), js_handler="(event) => emit(event.detail)")
        if sets.names:
            with layout.row():
                for name in sets.names:
                    layout.button(f"Dissolve {name}", partial(self._dissolve, name), kind="quiet").classes(
                        "sh-button-small"
                    )
        self._show()

    def _pick(self, places: Any) -> None:
        self.picked = self._values_at(places)

    def _values_at(self, places: Any) -> list[str]:
        return [self.values[int(place)] for place in places if str(place).isdecimal() and int(place) < len(self.values)]

    def _dragged(self, detail: Mapping[str, Any]) -> None:
        names = ["", *(self.sets.names if self.sets else [])]
        place = int(detail["to"])
        if 0 <= place < len(names):
            self._move(self._values_at(detail["values"]), names[place])

    def _add_set(self, name: str) -> None:
        with self.page.view.telling():
            assert self.sets is not None
            self.sets.add(name)
            if self.picked:
                self.sets.move(self.picked, name.strip())
            self._sets_again()

    def _move(self, values: list[str], name: str) -> None:
        with self.page.view.telling():
            assert self.sets is not None
            self.sets.move(values, name)
            self._sets_again()

    def _dissolve(self, name: str) -> None:
        assert self.sets is not None
        self.sets.remove(name)
        self._sets_again()

    def _sets_again(self) -> None:
        self.page.view.hush()
        self.picked = []
        self._draw()

    # Preview and end

    def _show(self) -> None:
        self.preview.clear()
        with self.preview:
            try:
                levels = hierarchies.levels_of(self._hierarchy(), self.values, self.name)
            except ShoalError as error:
                layout.note(str(error), tone="info" if self.way == "sets" else "warn")
                self.use.disable()
                return
            self.use.enable()
            last = len(levels.n_labels) - 1
            names = [
                "value" if level == 0 else "everything" if level == last else f"level {level} ({n:,} labels)"
                for level, n in enumerate(levels.n_labels)
            ]
            ui.html("<h3>The levels</h3>", sanitize=False)
            layout.table(names, levels.examples, caption=f"Levels of the hierarchy of {self.name}")

    def _hierarchy(self) -> Any:
        if self.way == "sets":
            from shoal.table.hierarchy import Hierarchy

            assert self.sets is not None
            return Hierarchy.from_rows(self.sets.rows())
        return hierarchies.made(self.page.app.project, self.name, self.choice)

    def _use(self) -> None:
        with self.page.view.telling():
            hierarchies.levels_of(self._hierarchy(), self.values, self.name)
            choice = self.choice
            if self.way == "sets" and self.sets is not None:
                choice = self.sets.save(self.page.app.project, self.name)
            self.page.view.hush()
            self.page.set_hierarchy(self.name, choice)

    # The order of categories

    def _order(self) -> None:
        order = self.column.order or tuple(self.values)
        name = f"order-{id(self)}"
        words = "The categories in their order, one per line"
        ui.html(f'<label class="sh-label" for="{name}">{words}</label>', sanitize=False)
        area = ui.element("textarea").classes("sh-area").props(f"id={name} rows={min(len(order), 10) + 1}")
        area.props["value"] = "\n".join(order)
        state = {"text": "\n".join(order)}
        area.on("input", lambda event: state.update(text=str(event.args)),
                js_handler="(event) => emit(event.target.value)", throttle=0.2)  # fmt: skip
        layout.button("Use this order", lambda: self._use_order(state["text"]))

    async def _use_order(self, text: str) -> None:
        order = tuple(line.strip() for line in text.split("\n") if line.strip())
        with self.page.view.telling():
            column = replace(self.column, order=order)
            await run.io_bound(hierarchies.check_column, self.page.app.project, column)
            self.page.view.hush()
            self.page.set_order(self.name, order)


# Words


def _legend() -> None:
    items = "".join(
        f"<dt>{WORDS_OF_ROLE[role]}</dt><dd>{html.escape(words)}</dd>" for role, words in MEANING_OF_ROLE.items()
    )
    ui.html(f'<details class="sh-help"><summary>What the choices mean</summary><dl class="sh-legend">{items}</dl>'
            "</details>", sanitize=False).classes("sh-wide")  # fmt: skip


def _cell(cell: str) -> None:
    """A cell of a row that holds nothing but text."""
    tag = "th" if cell.startswith("<th") else "td"
    inside = cell[cell.index(">") + 1 : -len(f"</{tag}>")]
    made = ui.html(inside, tag=tag, sanitize=False)
    if 'class="sh-number"' in cell[: cell.index(">")]:
        made.classes("sh-number")
    if tag == "th":
        made.props("scope=row")


def _told_alone(n_alone: int, n_persons: int, quasi: tuple[str, ...], person: str | None) -> str:
    share = n_alone / n_persons if n_persons else 0.0
    tone = "good" if share < 0.01 else "warn" if share < 0.2 else "bad"
    by = ", ".join(html.escape(name) for name in quasi)
    unit = "" if person else " No column names the person, so each record counts as one."
    return (
        f'<div class="sh-alone"><p class="sh-alone-words"><strong class="sh-ink-{tone}">{n_alone:,} of {n_persons:,}'
        f"</strong> persons are unique on the columns that others may know</p>"
        f'<div class="sh-meter" aria-hidden="true"><div class="sh-meter-{tone}" style="width: {share:.2%}"></div></div>'
        f'<p class="sh-hint">{share:.1%} of the persons: whoever knows their {by} finds them in the table, and reads '
        f"everything else there.{unit}</p></div>"
    )


def _told_hierarchy(choice: Mapping[str, Any] | None) -> str:
    if not choice:
        return "none"
    if "file" in choice:
        return "from a file" if not str(choice["file"]).count("-") else "sets"
    return {"prefixes": "shortened codes", "intervals": "intervals", "icd": "diagnosis codes", "rows": "listed"}[
        next(iter(choice))
    ]


def _board(sets: hierarchies.Sets) -> str:
    """The sets with their categories; each category can be ticked and dragged."""
    place_of = {value: place for place, value in enumerate(sets.values)}
    boxes = []
    for number, name in enumerate(["", *sets.names]):
        members = sets.members(name)
        title = html.escape(name) if name else "In no set"
        chips = "".join(
            f'<li class="sh-chip" draggable="true" data-place="{place_of[value]}"><label><input type="checkbox" '
            f'value="{place_of[value]}"> {html.escape(value) or "(empty)"}</label></li>'
            for value in members
        )
        boxes.append(
            f'<section class="sh-set" data-set="{number}" aria-label="{title}"><h3>{title} '
            f'<span class="sh-small">{len(members)}</span></h3><ul>{chips}</ul></section>'
        )
    return "".join(boxes)
