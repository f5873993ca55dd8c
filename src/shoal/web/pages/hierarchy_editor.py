"""The editor of a hierarchy, on the page Columns: ready-made ones, own sets of several levels, files, and a preview."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from nicegui import run, ui

from shoal.errors import ShoalError
from shoal.web import hierarchies, layout

if TYPE_CHECKING:
    from shoal.web.pages.columns import ColumnsPage

READY = {
    "dates": "months, quarters, years, decades",
    "numbers": "intervals that fit",
    "prefixes": "shortened codes",
    "icd10": "blocks and chapters of ICD-10",
    "icd9": "chapters of ICD-9",
    "atc": "groups of ATC",
}
"""Hierarchies that are made from the values alone, in one click."""
WAYS = {
    "prefixes": "shorten codes (20375, 203**, 20***)",
    "intervals": "intervals of numbers (20-29, 20-39)",
    "sets": "my own sets of categories",
    "dates": "dates: months, quarters, years, decades",
    "numbers": "intervals of numbers that fit by themselves",
    "icd10": "diagnosis codes of ICD-10 (E11.9, E11, E10-E14, chapter)",
    "icd9": "diagnosis codes of ICD-9",
    "icd": "categories of diagnosis codes (E11.9, E11)",
    "atc": "drug codes of ATC (A10BA02, A10BA, A10)",
    "file": "a file in ARX's format",
}
FROM_VALUES = ("dates", "numbers", "icd10", "icd9", "icd", "atc")


class HierarchyEditor:
    """How the values of one column may be shown coarser, and a preview of the levels."""

    def __init__(self, page: ColumnsPage, name: str, values: list[str]) -> None:
        self.page, self.name, self.values = page, name, values
        self.column = page.view.chosen.column(name)
        self.choice: dict[str, Any] = dict(self.column.hierarchy or {})
        self.way = self._first_way()
        self.sets: hierarchies.Sets | None = None
        self.level = 1
        self.picked: list[str] = []
        self.n_shown = 0
        hint = "How values may be shown coarser: a group is shown as the closest level that covers all its values."
        with layout.card(f"Hierarchy of {name}", hint=hint):
            if self.column.kind == "ordered":
                self._order()
            layout.select("Make it from", WAYS, self.way, self._set_way)
            self.form = ui.element("div").classes("sh-wide sh-form")
            self.preview = ui.element("div").classes("sh-wide").props('aria-live="polite"')
            with layout.row():
                self.use = layout.button("Use this hierarchy", self._use, kind="primary")
                self.download = layout.button("Download as CSV, in ARX's format", self._download)
                if self.column.hierarchy:
                    layout.button("Remove the hierarchy", partial(page.set_hierarchy, name, None), kind="danger")
                layout.button("Close", page.close_editor, kind="quiet")
        self._draw()

    def _first_way(self) -> str:
        for way in ("prefixes", "intervals", *FROM_VALUES):
            if way in self.choice:
                return way
        if "file" in self.choice:
            return "sets" if hierarchies.is_of_sets(self.choice["file"], self.name) else "file"
        ready = self.page.seen[self.name].get("hierarchy")
        if ready in READY and ready != "numbers":
            return str(ready)
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
        ways = {"prefixes": self._prefixes, "intervals": self._intervals, "sets": self._sets, "file": self._file}
        with self.form, self.page.view.telling():
            ways.get(self.way, self._from_values)()

    # The ways

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

    def _from_values(self) -> None:
        self.choice = {self.way: True}
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
        self._levels(self.sets)
        names = self.sets.names[self.level - 1]
        state = {"name": "", "to": ""}
        with layout.row().classes("sh-row-end"):
            layout.text_input("New set", "", lambda text: state.update(name=text), width="14rem")
            layout.button("Add the set", lambda: self._add_set(state["name"]))
            options = {"": "no set", **{name: name for name in names}}
            layout.select("Move what is ticked to", options, "", lambda value: state.update(to=value))
            layout.button("Move", lambda: self._move(self.picked, state["to"]))
        self.board = ui.html(board_of(self.sets, self.level), sanitize=False).classes("sh-board sh-wide")
        self.board.on("change", lambda event: self._pick(event.args),
                      js_handler="(event) => emit(window.shoal.ticked(event.currentTarget))")  # fmt: skip
        self.board.on("moved", lambda event: self._dragged(event.args), js_handler="(event) => emit(event.detail)")
        if names:
            with layout.row():
                for name in names:
                    layout.button(f"Dissolve {name}", partial(self._dissolve, name), kind="quiet").classes(
                        "sh-button-small"
                    )
        self._paste(self.sets)
        self._show()

    def _levels(self, sets: hierarchies.Sets) -> None:
        """Which level of sets is on the board."""
        with ui.element("div").classes("sh-row").props('role="group" aria-label="Levels of sets"'):
            for level in range(1, sets.n_levels + 1):
                words = "Sets of categories" if level == 1 else f"Level {level}: sets of sets"
                button = layout.button(words, partial(self._go_to_level, level),
                                       kind="primary" if level == self.level else "plain")  # fmt: skip
                button.classes("sh-button-small").props["aria-pressed"] = "true" if level == self.level else "false"
            if sets.names[-1]:
                layout.button("Add a level above", self._add_level, kind="quiet").classes("sh-button-small")

    def _go_to_level(self, level: int) -> None:
        self.level = level
        self._sets_again()

    def _add_level(self) -> None:
        assert self.sets is not None
        self.sets.add_level()
        self._go_to_level(self.sets.n_levels)

    def _paste(self, sets: hierarchies.Sets) -> None:
        with ui.element("details").classes("sh-help"):
            ui.html("Copy to a spreadsheet, or paste from one", tag="summary", sanitize=False)
            area, state = text_area("One line per category: the category, its set, its larger set, ...", sets.text())
            area.props["spellcheck"] = "false"
            layout.button("Take what is pasted", lambda: self._take_pasted(state["text"]))

    def _take_pasted(self, text: str) -> None:
        with self.page.view.telling():
            self.sets, n_unknown = hierarchies.Sets.of_text(self.values, text)
            self.level = 1
            self._sets_again()
            if n_unknown:
                self.page.view.tell(
                    f"{n_unknown:,} lines name no category of '{self.name}', and were left out.", "warn"
                )

    def _pick(self, places: Any) -> None:
        self.picked = self._items_at(places)

    def _items_at(self, places: Any) -> list[str]:
        items = self.sets.items(self.level) if self.sets is not None else []
        return [items[int(place)] for place in places if str(place).isdecimal() and int(place) < len(items)]

    def _dragged(self, detail: Mapping[str, Any]) -> None:
        names = ["", *(self.sets.names[self.level - 1] if self.sets else [])]
        place = int(detail["to"])
        if 0 <= place < len(names):
            self._move(self._items_at(detail["values"]), names[place])

    def _add_set(self, name: str) -> None:
        with self.page.view.telling():
            assert self.sets is not None
            self.sets.add(name, self.level)
            if self.picked:
                self.sets.move(self.picked, name.strip(), self.level)
            self._sets_again()

    def _move(self, items: list[str], name: str) -> None:
        with self.page.view.telling():
            assert self.sets is not None
            self.sets.move(items, name, self.level)
            self._sets_again()

    def _dissolve(self, name: str) -> None:
        assert self.sets is not None
        self.sets.remove(name, self.level)
        self._sets_again()

    def _sets_again(self) -> None:
        self.page.view.hush()
        self.picked = []
        self._draw()

    # Preview and end

    def _show(self) -> None:
        self.preview.clear()
        self.n_shown += 1
        with self.preview:
            try:
                hierarchy = self._hierarchy()
                levels = hierarchies.levels_of(hierarchy, self.values, self.name)
            except ShoalError as error:
                layout.note(str(error), tone="info" if self.way == "sets" else "warn")
                self.use.disable()
                self.download.disable()
                return
            self.use.enable()
            self.download.enable()
            last = len(levels.n_labels) - 1
            names = [
                "value" if level == 0 else "everything" if level == last else f"level {level}"
                for level in range(last + 1)
            ]
            ui.html("<h3>The levels</h3>", sanitize=False)
            counts = ui.html(self._counts(names, levels.n_labels, None), sanitize=False).classes("sh-wide")
            layout.table(names, levels.examples, caption=f"Examples of the hierarchy of {self.name}")
            ui.timer(0.05, partial(self._count, hierarchy, names, levels.n_labels, counts, self.n_shown), once=True)

    def _counts(self, names: list[str], n_labels: tuple[int, ...], alone: list[int] | None) -> str:
        rows = [
            (name, f"{n:,}", "…" if alone is None else f"{alone[level]:,}")
            for level, (name, n) in enumerate(zip(names, n_labels, strict=True))
        ]
        headings = ("shown as", "different ones", "persons alone with theirs")
        return layout.table_html(headings, rows, caption=f"Levels of the hierarchy of {self.name}",
                                 numeric=headings[1:])  # fmt: skip

    async def _count(self, hierarchy: Any, names: list[str], n_labels: tuple[int, ...], shown: Any, mine: int) -> None:
        """How many persons each level leaves alone, counted while the steward goes on."""
        with self.page.view.telling():
            alone = await run.io_bound(hierarchies.alone_at, self.page.app.project, self.name, hierarchy)
            if alone is not None and mine == self.n_shown:
                shown.content = self._counts(names, n_labels, alone)

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

    def _download(self) -> None:
        with self.page.view.telling():
            rows = hierarchies.rows_of(self._hierarchy(), self.values)
            ui.download.content(hierarchies.as_arx(rows), f"{hierarchies.name_for(self.name)}.csv", "text/csv")

    # The order of categories

    def _order(self) -> None:
        order = self.column.order or tuple(self.values)
        _, state = text_area("The categories in their order, one per line", "\n".join(order))
        layout.button("Use this order", lambda: self._use_order(state["text"]))

    async def _use_order(self, text: str) -> None:
        order = tuple(line.strip() for line in text.split("\n") if line.strip())
        with self.page.view.telling():
            column = replace(self.column, order=order)
            await run.io_bound(hierarchies.check_column, self.page.app.project, column)
            self.page.view.hush()
            self.page.set_order(self.name, order)


# Parts


def text_area(words: str, text: str) -> tuple[Any, dict[str, str]]:
    """A field of several lines with a label, and what is typed in it."""
    state = {"text": text}
    with ui.element("div").classes("sh-field sh-wide"):
        area = ui.element("textarea").classes("sh-area").props(f"rows={min(text.count(chr(10)) + 1, 10) + 1}")
        name = f"area-{area.id}"
        area.props["id"] = name
        ui.html(html.escape(words), tag="label", sanitize=False).classes("sh-label").props(f"for={name}").move(
            target_index=0
        )
        area.props["value"] = text
        area.on("input", lambda event: state.update(text=str(event.args)),
                js_handler="(event) => emit(event.target.value)", throttle=0.2)  # fmt: skip
    return area, state


def told_hierarchy(choice: Mapping[str, Any] | None) -> str:
    """What a column's hierarchy is, in words."""
    if not choice:
        return "none"
    if "file" in choice:
        return "from a file" if not str(choice["file"]).count("-") else "sets"
    kind = next(iter(choice))
    return {"intervals": "intervals", "icd": "diagnosis codes", "rows": "listed", **READY}[kind]


def board_of(sets: hierarchies.Sets, level: int = 1) -> str:
    """The sets of a level with what is in them; each item can be ticked and dragged."""
    place_of = {item: place for place, item in enumerate(sets.items(level))}
    boxes = []
    for number, name in enumerate(["", *sets.names[level - 1]]):
        members = sets.members(name, level)
        title = html.escape(name) if name else "In no set"
        chips = "".join(
            f'<li class="sh-chip" draggable="true" data-place="{place_of[item]}"><label><input type="checkbox" '
            f'value="{place_of[item]}"> {html.escape(item) or "(empty)"}</label></li>'
            for item in members
        )
        boxes.append(
            f'<section class="sh-set" data-set="{number}" aria-label="{title}"><h3>{title} '
            f'<span class="sh-small">{len(members)}</span></h3><ul>{chips}</ul></section>'
        )
    return "".join(boxes)
