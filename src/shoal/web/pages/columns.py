"""The second step: what each column is, how many persons that makes unique, and hierarchies."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import run, ui

from shoal.errors import ShoalError
from shoal.table.schema import MAY_BE_BESIDE
from shoal.table.spelling import OF_PERSONS, OF_VALUES
from shoal.web import hierarchies, layout, looking
from shoal.web.app import App
from shoal.web.layout import PageView
from shoal.web.pages.hierarchy_editor import READY, HierarchyEditor, told_hierarchy
from shoal.web.project import ONE_OF, PUBLISHED, ColumnChoice, codes_as_text, codes_in

WORDS_OF_ROLE = {
    "": "choose what it is",
    "person": "names the person",
    "quasi": "others may know it",
    "sensitive": "nobody may learn it",
    "time": "when it happened",
    "kept": "publish unchanged",
    "dropped": "do not publish",
    "weight": "weight of the sample",
    "household": "who lives together",
    "strata": "stratum of the sample",
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
    "weight": "Of a sample: how many persons of the population one stands for. The risk is then told for the "
    "population too. It is not published.",
    "household": "Of a sample of households: which persons live together. It is not published.",
    "strata": "Of a sample: from which part of the population a person was drawn. It is not published.",
}
WORDS_OF_KIND = {
    "auto": "as the data show",
    "number": "number",
    "nominal": "categories",
    "ordered": "categories in order",
    "date": "date",
}
WORDS_OF_SURE = {"sure": "sure", "likely": "likely", "unsure": "not sure"}
ORDER_OF_SURE = ("unsure", "likely", "sure")
TONE_OF_SURE = {"sure": "good", "likely": "info", "unsure": "warn"}
WORDS_OF_SPELLING = {
    "exact": "every sign counts",
    "plain": "spaces do not count",
    "folded": "capitals do not count",
}
WORDS_OF_MISSING_VALUE = {"": "missing is a value too", "nothing": "missing tells nothing"}
WORDS_OF_MISSING = {
    "value": "is a value of its own",
    "refuse": "stops the work with an error",
    "drop": "drops the record",
}
WORDS_OF_SAMPLE = {
    "": "not of the sample",
    "weight": "the weight besides",
    "household": "household besides",
    "strata": "a stratum besides",
}
USUAL_SPELLING = {"person": OF_PERSONS, "sensitive": OF_VALUES}
WORDS_OF_ROUND = {"auto": "are rounded: nobody's own value", "off": "are real values of persons"}
WORDS_OF_IDS = {"pseudonyms": "random pseudonyms", "none": "nothing: no records are linked"}
WORDS_OF_TIME = {"sequence": "the person's own 1, 2, 3", "shift": "dates, moved by secret days"}
WORDS_OF_TIME_OF_DAY = {"cut": "are left out", "keep": "are published as they are"}
WORDS_OF_GAPS = {"": "in days, as they are", "week": "rounded to weeks", "month": "rounded to months"}
WORDS_OF_SHARED_DATES = {
    "tell": "are published, and counted",
    "hide": "are published as missing",
    "refuse": "stop the release",
}


SHOW_EDITOR = """setTimeout(() => {
  const heading = document.querySelector('#editor h2');
  heading?.setAttribute('tabindex', '-1');
  heading?.focus({preventScroll: true});
  document.getElementById('editor')?.scrollIntoView({block: 'start'});
}, 80)"""
"""The editor opens below the table: it is brought into view, and the keyboard with it."""


def build(app: App) -> None:
    """Draw the page."""
    lead = "Say what each column is. shoal has guessed from names and contents; you know the data."
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
        self.table_of: Mapping[str, str] = look.get("table_of", {})
        self.role_before: dict[str, str] = {}
        self.n_counts = 0
        self.edited: str | None = None
        self.rows: dict[str, Any] = {}
        with ui.element("div").classes("sh-together"):  # the count stays in sight as long as the table does
            with ui.element("div").classes("sh-alone-card"), layout.card("How recognisable are the persons?"):
                self.alone = ui.html("", sanitize=False).classes("sh-wide").props('aria-live="polite"')
            hint = "What is least sure stands first. Look at each line, and confirm: only then is this step done."
            with layout.card("What each column is", hint=hint):
                _legend()
                self._table()
                self.confirming = ui.element("div").classes("sh-confirm sh-wide").props('aria-live="polite"')
                self._draw_confirming()
        self.editor = ui.element("div").classes("sh-wide sh-editor").props('id="editor"')
        with layout.card("Missing values and times"), layout.row():
            self._settings()
        with layout.card("The policy", hint="All choices in one file, policy.toml: whoever has it can repeat the "
                         "release, also without this app."):  # fmt: skip
            self.policy = ui.element("div").classes("sh-wide sh-policy").props('aria-live="polite"')
        self._show_policy()
        ui.timer(0.05, self._count, once=True)

    # The table of columns

    def _table(self) -> None:
        headings = (
            "Others may know it",
            "Column",
            "Values",
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
                doubt = {name: ORDER_OF_SURE.index(seen.get("sure", "sure")) for name, seen in self.seen.items()}
                for column in sorted(self.view.chosen.columns, key=lambda column: doubt[column.name]):
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
            table = self.table_of.get(name, "")
            told = f'<br><span class="sh-small">of {html.escape(table)}</span>' if table else ""
            _cell(f'<th scope="row">{html.escape(name)}{told}</th>')
            missing = f'<br><span class="sh-small">{seen["missing"]:,} missing</span>' if seen["missing"] else ""
            _cell(f'<td class="sh-number">{seen["distinct"]:,}{missing}</td>')
            with ui.element("td"):
                layout.select(f"What {name} is", WORDS_OF_ROLE, column.role, partial(self._set_role, name),
                              is_label_seen=False, name=f"role-{number}")  # fmt: skip
                self._confirmation(column, number)
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
                self._of_sample(column, number)
            _cell(f"<td>{self._why(column, seen)}</td>")

    def _of_sample(self, column: ColumnChoice, number: int) -> None:
        """What a column says besides of how the table was drawn, where it is a sample."""
        is_sample = any(self.view.chosen.names(role) for role in MAY_BE_BESIDE)
        offered = [role for role, others in MAY_BE_BESIDE.items() if column.role in others and column.role != "dropped"]
        if is_sample and offered:
            now = next(iter(column.beside), "")
            layout.select(f"Of the sample, {column.name} is", {each: WORDS_OF_SAMPLE[each] for each in ("", *offered)},
                          now, partial(self._set_beside, column.name), is_label_seen=False,
                          name=f"beside-{number}")  # fmt: skip

    def _confirmation(self, column: ColumnChoice, number: int) -> None:
        """Whether the role is confirmed, or a button to do so; a second one for what names persons by itself."""
        name = column.name
        if not column.is_confirmed and column.role:
            button = layout.button("Confirm", partial(self._confirm, name), kind="quiet").classes("sh-button-small")
            button.props["aria-label"] = f"Confirm that {name} {WORDS_OF_ROLE[column.role]}"
            button.props["id"] = f"confirm-{number}"
        elif column.is_confirmed:
            ui.html("✓ confirmed", sanitize=False).classes("sh-confirmed")
        direct = self.seen[name].get("direct")
        if column.role not in PUBLISHED or not direct:
            return
        if column.is_confirmed_twice:
            ui.html(f"Leaves though it looks like {html.escape(direct)}: confirmed twice.",
                    sanitize=False).classes("sh-row-odd")  # fmt: skip
            return
        ui.html(f"It looks like {html.escape(direct)}, and would leave. It does so only if you confirm it again.",
                sanitize=False).classes("sh-row-odd").props('role="alert"')  # fmt: skip
        button = layout.button("Publish it nevertheless", partial(self._confirm_again, name), kind="danger")
        button.classes("sh-button-small").props["aria-label"] = f"Publish {name} nevertheless"

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
            ready = self.seen[column.name].get("hierarchy")
            if not column.hierarchy and ready in READY and column.kind != "ordered":
                take = layout.button(f"Use {READY[ready]}", partial(self._use_ready, column.name, ready))
                take.classes("sh-button-small").props["aria-label"] = f"Use {READY[ready]}, for {column.name}"
                alone = ", ".join(f"{level['alone']:,}" for level in self.seen[column.name]["levels"])
                ui.label(f"persons alone, level by level: {alone}").classes("sh-small")
            words = "Hierarchy: " + told_hierarchy(column.hierarchy) if column.hierarchy else "Add a hierarchy"
            if column.kind == "ordered" and not column.hierarchy:
                words = "Order and hierarchy"
            button = layout.button(words, partial(self._edit, column.name), kind="quiet").classes("sh-button-small")
            button.props["aria-label"] = f"{words}, for {column.name}"

    def _why(self, column: ColumnChoice, seen: Mapping[str, Any]) -> str:
        reason = seen["reason"][:1].upper() + seen["reason"][1:]
        sure = seen.get("sure", "sure")
        told = f'<span class="sh-tag sh-tag-{TONE_OF_SURE[sure]}">{WORDS_OF_SURE[sure]}</span> {html.escape(reason)}.'
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
        changed: dict[str, dict[str, Any]] = {
            name: {"role": role, "is_confirmed": bool(role), "is_confirmed_twice": False, "beside": ()}
        }
        if role in ONE_OF:  # there is one of each: the one before has to be decided anew
            changed |= {
                other: {"role": "", "is_confirmed": False} for other in self.view.chosen.names(role) if other != name
            }
        self._change(changed, focus=focus)

    def _confirm(self, name: str) -> None:
        self._change({name: {"is_confirmed": True}}, focus="role")

    def _confirm_again(self, name: str) -> None:
        self._change({name: {"is_confirmed": True, "is_confirmed_twice": True}}, focus="role")

    def _confirm_all(self) -> None:
        names = [column.name for column in self.view.chosen.columns if column.role and not column.is_confirmed]
        if self._change({name: {"is_confirmed": True} for name in names}):
            layout.focus("confirming")

    def _draw_confirming(self) -> None:
        chosen = self.view.chosen
        left = [column for column in chosen.columns if not column.is_confirmed]
        self.confirming.clear()
        self.confirming.props('id=confirming tabindex="-1"')
        with self.confirming:
            if not left:
                layout.note("All roles are confirmed.", tone="good")
                return
            unsure = sum(self.seen[column.name].get("sure") == "unsure" for column in left)
            more = f", of which {unsure} are not sure" if unsure else ""
            ui.label(f"{len(left)} of {len(chosen.columns)} roles are not confirmed yet{more}.")
            layout.button("These roles are right: confirm all", self._confirm_all, kind="primary")

    async def _use_ready(self, name: str, ready: str) -> None:
        with self.view.telling():
            column = replace(self.view.chosen.column(name), hierarchy={ready: True})
            await run.io_bound(hierarchies.check_column, self.app.project, column)
            self.view.hush()
            self._change({name: {"hierarchy": {ready: True}}}, focus="kind")

    def _set_spelling(self, name: str, usual: str, form: str) -> None:
        self._change({name: {"spelling": "" if form == usual else form, "is_confirmed": True}}, focus="spelling")

    def _set_beside(self, name: str, role: str) -> None:
        self._change({name: {"beside": (role,) if role else (), "is_confirmed": True}}, focus="beside")

    def _set_missing(self, name: str, tells: str) -> None:
        self._change({name: {"missing": tells, "is_confirmed": True}}, focus="missing")

    async def _set_kind(self, name: str, kind: str) -> None:
        column = replace(self.view.chosen.column(name), kind=kind, order=None)
        with self.view.telling():
            await run.io_bound(hierarchies.check_column, self.app.project, column)
            self.view.hush()
            self._change({name: {"kind": kind, "order": None, "is_confirmed": True}}, focus="kind")
            return
        self._draw_row(name, "kind")

    def _change(self, changes: Mapping[str, Mapping[str, Any]], *, focus: str = "") -> bool:
        columns = tuple(replace(column, **changes.get(column.name, {})) for column in self.view.chosen.columns)
        is_saved = self.view.save(columns=columns)
        for name in changes:
            self._draw_row(name, focus if name == next(iter(changes)) else "")
        if is_saved:
            self._draw_confirming()
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
        layout.text_input("Extremes and rare categories", codes_as_text(chosen.coded),
                          lambda text: self._set(coded=codes_in(text)),
                          hint="age top 90, income top 99%, job rare k=10", width="20rem")  # fmt: skip
        layout.select("Persons are published as", WORDS_OF_IDS, chosen.person_ids,
                      lambda value: self._set(person_ids=value))  # fmt: skip
        layout.select("Times are published as", WORDS_OF_TIME, chosen.time_as, lambda value: self._set(time_as=value))
        layout.select("Times of day of moved dates", WORDS_OF_TIME_OF_DAY, chosen.time_of_day,
                      lambda value: self._set(time_of_day=value))  # fmt: skip
        layout.select("Time between a person’s moved dates", _gaps(chosen.round_gaps), _gap(chosen.round_gaps),
                      lambda value: self._set(round_gaps=value or None))  # fmt: skip
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
                ui.run_javascript(SHOW_EDITOR)

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


def _gap(step: int | str | None) -> str:
    """A step to which the time between dates is rounded, as it is chosen."""
    return "" if step is None else {"7": "week", "30": "month"}.get(str(step), str(step))


def _gaps(step: int | str | None) -> dict[str, str]:
    """What can be chosen; a policy may have named another number of days."""
    now = _gap(step)
    return WORDS_OF_GAPS if now in WORDS_OF_GAPS else {**WORDS_OF_GAPS, now: f"rounded to {now} days"}
