"""The page Protect: a goal in words or models with sliders, what they cost, and the release."""

from __future__ import annotations

import contextlib
import copy
import html
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import PurePath
from typing import Any

from nicegui import ui

from shoal.errors import ShoalError
from shoal.judging.verdict import ALLOW_IT
from shoal.masking import mask_called
from shoal.parts import Option, options_of
from shoal.policy.presets import PRESETS
from shoal.publishing.report.charts import LOSSES, risk_name
from shoal.publishing.report.markup import Content, el, joined
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.words import typeset
from shoal.web import drawing, layout
from shoal.web import goal as goals
from shoal.web.app import App
from shoal.web.jobs import WebJob
from shoal.web.pages.risk import can_go_on
from shoal.web.pages.shelf import ShelfCard
from shoal.web.shelf import Candidate

Plain = dict[str, Any]
LEAD = "Say what may happen at the most. shoal finds the setting that keeps that promise and loses least."
USUAL_WIDTH, NARROWEST, WIDEST = 480, 280, 928
"""Of the chart, in pixels."""
ENLARGED = 1.25
"""How much larger than drawn the chart is shown where there is room."""
WIDTH_OF_CARDS = """(() => {
    const card = document.querySelector(".sh-card");
    return card ? card.clientWidth - 2 * parseFloat(getComputedStyle(card).paddingLeft) : 0;
})()"""
CHOOSE_POINT = """(event) => {
    const point = event.target.closest("[data-point]");
    if (!point || (event.type === "keydown" && event.key !== "Enter" && event.key !== " ")) return;
    if (event.type === "keydown") event.preventDefault();
    emit(point.dataset.point);
}"""

PERSONS_ATTACKED = 1000
"""How many persons are attacked, at the most, where every attack is tried."""

EMIT_VALUE = "(event) => emit(event.target.value)"


def build(app: App) -> None:
    """Draw the page."""
    with layout.page(app, "protect", title="Protect", lead=LEAD) as view:
        if can_go_on(app):
            ProtectPage(app, view).show()


class ProtectPage:
    """One open page: the goal as it is being set, and the point that is chosen."""

    def __init__(self, app: App, view: layout.PageView) -> None:
        self.app, self.view = app, view
        assessed = app.project.result("assess")
        self.told: Mapping[str, Any] | None = None if assessed is None or assessed.is_stale else assessed.data
        chosen = app.project.chosen
        self.chart_width = USUAL_WIDTH
        self.goal = goals.starting_goal(chosen.names("sensitive"), self.told, chosen.goal, app.project.policy())

    def show(self) -> None:
        """The page from top to bottom."""
        self._ask()
        self.cost = ui.element("div").classes("sh-wide sh-stack")
        self.beside = ui.element("div").classes("sh-wide sh-stack")
        self.making = ui.element("div").classes("sh-wide sh-stack")
        self.shelf = ui.element("div").classes("sh-wide sh-stack")
        self._show_cost()
        self._show_beside()
        self._show_making()
        self._show_shelf()
        ui.timer(0.05, self._fit, once=True)

    # What is asked

    def _ask(self) -> None:
        with layout.card("What may happen at the most?"):
            ways = {"goal": "A goal in words", "models": "Models, one by one"}
            ui.radio(ways, value=self.goal["way"], on_change=lambda event: self._turn(event.value)).props(
                'inline aria-label="How to ask"'
            ).classes("sh-radio")
            self.asking = ui.element("div").classes("sh-wide sh-stack")
            self._show_asking()
            self._options()

    def _turn(self, way: str) -> None:
        self.goal["way"] = way
        self._show_asking()
        self._show_cost()
        self._show_beside()
        self._show_making()
        self._remember()

    def _remember(self) -> None:
        """Keep the goal as it is being set, so that it is there when the page is loaded again, and can be undone."""
        if self.view.seen == self.app.project.chosen.version:
            self.view.save(goal=copy.deepcopy(self.goal))

    def _show_asking(self) -> None:
        self.asking.clear()
        with self.asking:
            if self.goal["way"] == "goal":
                self._goal_in_words()
            else:
                self._models_one_by_one()

    def _presets(self) -> None:
        """Limits that authorities ask for, to begin with: what each means, whom it was made for, and its source."""
        options = {"": "choose, if you answer to one", **{name: preset.title for name, preset in PRESETS.items()}}
        layout.select(
            "Begin with a limit that an authority asks for", options, self.goal.get("preset", ""), self._begin
        )
        preset = PRESETS.get(self.goal.get("preset", ""))
        if preset is not None:
            links = " ".join(
                f'<a href="{html.escape(source, quote=True)}" target="_blank" rel="noreferrer">source {number}</a>'
                for number, source in enumerate(preset.sources, start=1)
            )
            told = html.escape(f"{preset.means} Made for: {preset.made_for}")
            ui.html(f'<p class="sh-hint">{told} {links}</p>', sanitize=False)

    def _begin(self, name: str) -> None:
        self.goal["preset"] = name
        for model, asked in PRESETS[name].models.items() if name else ():
            if model == "record-risk":
                self.goal["record"] = {"on": True, "limit": str(asked)}
            else:
                self.goal["persons"] = {"on": True, "k": int(asked)}
        self._show_asking()
        self._remember()

    def _goal_in_words(self) -> None:
        self._presets()
        with ui.element("div").classes("sh-goals"):
            now = self.told["risk"]["max_gidr"] if self.told else None
            self._goal_line(
                self.goal["record"],
                "No record can be said to be a given person’s with more than",
                name="record risk",
                now=now,
                lowest=goals.lowest_record_limit(self.told),
            )
            for column, each in self.goal["values"].items():
                now = self.told["risk"]["max_gsar"].get(column) if self.told else None
                self._goal_line(
                    each,
                    f"Nobody’s ‘{column}’ can be guessed with more than",
                    name=f"value risk of {column}",
                    now=now,
                    lowest=goals.lowest_value_limit(self.told, column),
                )
            if self.told and self.told["records_per_person"]["most"] > 1:
                self._goal_line(
                    self.goal["history"],
                    "Nobody is found by one of their own values, or by how many records they have, with more than",
                    name="history risk",
                    now=None,
                    lowest=None,
                )
            self._persons_line()
            self._floors("goal")
        with layout.row():
            layout.button("Find the best setting", self._find, kind="primary")
            ui.label("20 or more settings are tried, and each is drawn below as it is measured.").classes("sh-small")

    def _goal_line(self, each: Plain, sentence: str, *, name: str, now: float | None, lowest: Decimal | None) -> None:
        def typed(percent: float) -> None:
            each["limit"] = goals.from_percent(percent)
            _put(slider, percent)
            _put(number, percent)
            self._remember()

        percent = goals.to_percent(each["limit"])
        with ui.element("div").classes("sh-goal"):
            _check(sentence, each, self._remember)
            slider = _slider(f"{name}, slider", percent, low=1, high=100, step=1, on_change=typed, unit="percent")
            number = _number(f"{name}, at most percent", percent, low=0.01, high=100, on_change=typed, unit="%")
            ui.label(_now(now, lowest)).classes("sh-goal-now")

    def _persons_line(self) -> None:
        each = self.goal["persons"]

        def typed(persons: float) -> None:
            each["k"] = max(2, round(persons))
            _put(slider, each["k"])
            _put(number, each["k"])
            self._remember()

        with ui.element("div").classes("sh-goal"):
            _check("Besides, every group has at least so many persons", each, self._remember)
            slider = _slider("persons of a group, slider", each["k"], low=2, high=50, step=1, on_change=typed,
                             unit="persons")  # fmt: skip
            number = _number("persons of a group, at least", each["k"], low=2, high=1000, on_change=typed, unit="")
            ui.label("").classes("sh-goal-now")

    def _models_one_by_one(self) -> None:
        self.words_of_slide: dict[str, Any] = {}
        with ui.element("div").classes("sh-goals"):
            for slide in goals.SLIDES:
                if slide.name in ("h-affiliation", "l-diversity", "t-closeness") and not self.goal["values"]:
                    continue
                self._slide(slide)
            self._floors("models")
        with ui.element("details").classes("sh-help sh-wide"):
            _summary("Further models")
            with ui.element("div").classes("sh-goals"):
                for name, each in self.goal["further"].items():
                    if name not in self.goal["floors"]:
                        self._further(name, each)
        with layout.row():
            layout.button("Use these models", self._use_models, kind="primary")
            ui.label("Each sentence says what the model promises at this threshold.").classes("sh-small")

    def _floors(self, way: str) -> None:
        """Further models that a policy asked for: they stay unless they are unticked."""
        for name, each in self.goal["floors"].items():
            if way in each["ways"]:
                with ui.element("div").classes("sh-goal sh-goal-wide"):
                    _check(" ".join(_promises_of(self.app, {name: each["value"]}, {})), each)

    def _slide(self, slide: goals.Slide) -> None:
        each = self.goal["models"][slide.name]

        def slid(number: float) -> None:
            each["value"] = goals.text_of(Decimal(str(number)).quantize(Decimal(slide.step)))
            words.text, value.text = _promise(slide, each["value"]), _shown(slide, each["value"])
            self._remember()

        with ui.element("div").classes("sh-goal"):
            with ui.element("div"):
                _check(slide.label, each, self._remember)
                words = ui.label(_promise(slide, each["value"])).classes("sh-goal-promise")
            _slider(slide.label, float(each["value"]), low=float(slide.low), high=float(slide.high),
                    step=float(slide.step), on_change=slid, unit="")  # fmt: skip
            value = ui.label(_shown(slide, each["value"])).classes("sh-slide-value").props('aria-live="polite"')
            ui.label("").classes("sh-goal-now")

    def _further(self, name: str, each: Plain) -> None:
        """A model without a slider: its parameters are typed."""

        def typed(parameter: str, text: str) -> None:
            each["value"][parameter] = text.strip()
            words.text = _promise_of(name, each["value"])
            self._remember()

        with ui.element("div").classes("sh-goal"):
            with ui.element("div"):
                _check(name, each, self._remember)
                words = ui.label(_promise_of(name, each["value"])).classes("sh-goal-promise")
            with layout.row():
                for parameter, value in each["value"].items():
                    layout.text_input(f"{name}: {parameter}", str(value), partial(typed, parameter), width="6rem")

    def _part_options(self, part: str) -> None:
        """The options of the method or mask that is chosen, as it describes them."""
        options = self.goal["options"]
        made = goals.parts(part).get(options[part])
        given = options[f"{part}_options"]

        def put(name: str, value: Any) -> None:
            given.pop(name, None)
            if value is not None:
                given[name] = value
            self._remember()

        if made is None:  # a part of one's own, which a policy names
            return
        for each in options_of(made):
            if each.name == "code_extremes":  # it has a sentence of its own
                continue
            label, now = f"{made.title or made.name}: {each.name.replace('_', ' ')}", given.get(each.name, each.default)
            choices = dict.fromkeys(each.choices) if each.choices else {"yes": None, "no": None}
            if each.choices or each.kind is bool:
                shown = now if each.choices else "yes" if now else "no"
                layout.select(label, {name: str(name) for name in choices}, str(shown),
                              partial(_chosen, put, each), hint=each.help)  # fmt: skip
            elif each.kind in (int, float):
                layout.text_input(label, "" if now is None else f"{now:g}", partial(_number_typed, put, each),
                                  kind="number", hint=each.help)  # fmt: skip
            elif each.kind is str:
                layout.text_input(
                    label, "" if now is None else str(now), partial(_text_typed, put, each), hint=each.help
                )

    def _part_changed(self, part: str, name: str) -> None:
        options = self.goal["options"]
        options.update({part: name, f"{part}_options": {}})
        self._remember()
        self._show_parts()
        self._show_making()

    def _show_parts(self) -> None:
        self.parts.clear()
        options = self.goal["options"]
        with self.parts:
            layout.select("How groups are formed", _with(goals.methods(), options["method"]), options["method"],
                          partial(self._part_changed, "method"))  # fmt: skip
            layout.select("What is shown of a group", _with(goals.masks(), options["mask"]), options["mask"],
                          partial(self._part_changed, "mask"))  # fmt: skip
            self._part_options("method")
            self._part_options("mask")
            if not mask_called(options["mask"]).shows_groups:
                self._linkage(options)

    def _linkage(self, options: Plain) -> None:
        """How many may be linked, where the release shows no groups."""

        def typed(text: str) -> None:
            try:
                most = float(text.replace(",", ".")) / 100
            except ValueError:
                most = -1.0
            options["max_linkage"] = most if 0 <= most <= 1 else None
            self._remember()
            self._show_making()

        now = options.get("max_linkage")
        needed = "" if mask_called(options["mask"]).takes_groups else " Needed here: no model can be promised."
        layout.text_input("Persons that may be linked to their original values, at the most, in %",
                          "" if now is None else f"{100 * now:g}", typed, kind="number",
                          hint=f"By the values that are closest or second closest.{needed}")  # fmt: skip

    def _options(self) -> None:
        options = self.goal["options"]
        with ui.element("details").classes("sh-help sh-wide"):
            _summary(
                "Options: method, what is shown, who may be left out or be alone, what it is for, attacks, earlier "
                "and later releases"
            )
            self.parts = ui.element("div").classes("sh-columns sh-options")
            self._show_parts()
            with ui.element("div").classes("sh-columns sh-options"):
                _select("What to keep small", LOSSES, options, "minimise", self._remember)
                _select("What somebody wants to predict from the release", self._targets(), options, "useful_for",
                        self._remember)  # fmt: skip
                _whole("Persons that may be left out, at the most", options, "max_suppressed", least=0, empty=0,
                       hint="So that the others can be protected. 0: nobody.")  # fmt: skip
                _whole("Persons of a random sample that is published", options, "sample", least=1,
                       hint="They are drawn by chance. Empty: everybody is published.")  # fmt: skip
                _whole("Records that a person keeps, at the most", options, "max_records", least=1,
                       hint="Of persons with more, some are drawn. Empty: all are kept.")  # fmt: skip
                _whole("Persons that may be alone in their group by what else leaves, at the most", options,
                       "max_alone", least=0, hint="By columns published unchanged, their number of records, a "
                       "sensitive column or the time. Empty: no limit.")  # fmt: skip
                self._histories()
                self._ledger()
            _tick("Try every attack, not only the quick ones; this takes longer", options, "attack_all")
            _tick("Keep who has which pseudonym, so that later records of the same persons can be added to the release",
                  options, "keep_person_map")  # fmt: skip
            _tick("Allow that the columns published unchanged, all together, single out more than 5 % of the persons",
                  options, "allow_alone")  # fmt: skip
            _tick("Where groups show ranges, hide the lowest and the highest value that one person alone has",
                  options, "code_extremes")  # fmt: skip
            _tick("In CSV and Excel files, put an apostrophe before cells that a spreadsheet would run as formulas",
                  options, "safe_cells")  # fmt: skip

    def _histories(self) -> None:
        """Several pseudonyms per person, and numbers of records in steps."""
        options = self.goal["options"]

        def typed(key: str, read: Callable[[str], Any], text: str) -> None:
            try:
                read(text)
            except ShoalError as error:
                self.view.tell(typeset(str(error)), tone="warn")
                return
            options[key] = text.strip()
            self._remember()

        layout.text_input("Publish each person’s records in episodes, each under a pseudonym of its own",
                          options["episode"], partial(typed, "episode", goals.episode_in),
                          hint="90 days, or 5 records. Empty: one pseudonym per person.")  # fmt: skip
        layout.text_input("Bring numbers of records per person to steps", options["record_steps"],
                          partial(typed, "record_steps", goals.steps_in),
                          hint="1, 2, 3, 5, 10, 20: others are sampled down to the step below.")  # fmt: skip

    def _ledger(self) -> None:
        """Where it is remembered what was released about whom, and what happens where releases do not go together."""
        options = self.goal["options"]

        def named(text: str) -> None:
            name = text.strip()
            is_elsewhere = PurePath(name).is_absolute() or ".." in PurePath(name).parts
            if name and self.app.is_exposed and is_elsewhere:
                self.view.tell("Other machines reach this project, so its ledger must lie in the project’s folder: "
                               "give a plain file name.", tone="warn")  # fmt: skip
                return
            if name and not self.app.is_kept and not is_elsewhere:
                self.view.tell("This project is removed when the app ends, and the ledger with it. Give the full path "
                               "of a file that stays.", tone="warn")  # fmt: skip
                return
            options["ledger"] = name
            self._remember()

        layout.text_input("Remember what was released about whom, in this file", options["ledger"], named,
                          hint="A ledger, by keyed hashes: later releases are looked at together with this one. Empty: "
                          "none.")  # fmt: skip
        _select("Where a promise is broken together with earlier releases",
                {"warn": "say so", "refuse": "release nothing"}, options, "ledger_mode", self._remember)  # fmt: skip

    def _targets(self) -> dict[str, str]:
        """The columns that somebody may want to predict; it is then measured how well the release still teaches it."""
        chosen, options = self.app.project.chosen, self.goal["options"]
        names = [*chosen.names("quasi"), *chosen.names("sensitive")]
        if options["useful_for"] not in names:  # its role was changed since
            options["useful_for"] = ""
        return {"": "nothing in particular", **{name: f"‘{name}’" for name in names}}

    # What it costs

    def _find(self) -> None:
        if not goals.targets_of(self.goal):
            self.view.tell("Tick at least one sentence: what shall not happen?", tone="warn")
            return
        self.view.hush()
        if not self.view.save(goal={**self.goal, "point": None, "of": None}):
            return
        self.goal.update(point=None, of=None)
        self.app.jobs.start("tune", "shoal.web.work:tune", goals.asked_of(self.goal, self._protection),
                            depends_on="columns", keep_as="frontier", replace=True)  # fmt: skip
        self._show_cost()
        self._show_making()

    def _points(self) -> tuple[list[Plain], int | None, bool]:
        """The points to draw, the one that is chosen, and whether the search was stopped early."""
        job = self.app.jobs.latest("tune")
        if job is not None and (job.is_running or job.state == "cancelled"):
            points = list(job.partials)
            return points, self._chosen_of(points, None, None), job.state == "cancelled"
        result = self.app.project.result("frontier")
        if result is None or result.is_stale:
            return [], None, False
        data = result.data
        points = data.get("points") or data.get("partials") or []
        return points, self._chosen_of(points, data.get("chosen"), result.made_at), bool(data.get("is_cancelled"))

    def _chosen_of(self, points: Sequence[Plain], best: int | None, made_at: str | None) -> int | None:
        numbers = {point["number"] for point in points}
        if self.goal.get("point") in numbers and self.goal.get("of") in (made_at, None):
            return int(self.goal["point"])
        if best is not None:
            return best
        meeting = [point for point in points if point["meets"]]
        return min(meeting, key=lambda point: point["minimised"])["number"] if meeting else None

    def _show_cost(self) -> None:
        self.cost.clear()
        if self.goal["way"] != "goal":
            return
        job = self.app.jobs.latest("tune")
        points, _, is_stopped = self._points()
        if job is None and not points:
            return
        with (
            self.cost,
            layout.card(
                "What it costs",
                hint="Each dot is a setting: further left is safer, further down loses less. Those on the line are "
                "worth choosing; a dot below it was grouped with more effort, as a release is. Choose one with the "
                "mouse, or with Tab and Enter.",
            ),
        ):
            if job is not None and job.is_running:
                layout.show_job(job, on_news=lambda _: self._draw(), on_end=self._found)
            elif job is not None and job.state == "failed":
                self._show_refusal(str(job.error))
            if is_stopped:
                layout.note(f"The search was stopped; {len(points)} settings were tried until then.", tone="info")
            if points and self._is_other_goal(points):
                layout.note("The goal was changed since these settings were found. Find the best setting again.",
                            tone="warn")  # fmt: skip
            self.drawing = ui.html("", sanitize=False).classes("sh-wide sh-figure")
            self.drawing.on("click", self._choose, js_handler=CHOOSE_POINT)
            self.drawing.on("keydown", self._choose, js_handler=CHOOSE_POINT)
            self.about = ui.element("div").classes("sh-wide sh-stack").props('aria-live="polite"')
            self._draw()

    def _is_other_goal(self, points: Sequence[Plain]) -> bool:
        return bool(points[0].get("asked") != goals.asked_of(self.goal, self._protection))

    @property
    def _protection(self) -> Mapping[str, Any]:
        return self.app.project.chosen.protection

    def _found(self, job: WebJob) -> None:
        self._show_cost()
        self._show_beside()
        self._show_making()
        self.view.refresh_steps()

    async def _fit(self) -> None:
        """Draw the chart anew as wide as the page is, with words of one size on a phone and on a wide screen."""
        with contextlib.suppress(TimeoutError):  # the page was left
            width = min(await ui.run_javascript(WIDTH_OF_CARDS), WIDEST)
            fitting = max(NARROWEST, int(width if width < USUAL_WIDTH else max(USUAL_WIDTH, width / ENLARGED)))
            if width > 0 and fitting != self.chart_width:
                self.chart_width = fitting
                self._show_cost()

    def _draw(self) -> None:
        points, chosen, _ = self._points()
        if not points:
            self.drawing.set_content("")
            return
        asked = points[0]["asked"]
        targets, minimise = asked["targets"], asked["minimise"]
        target = next(iter(targets))
        svg = drawing.frontier_svg(
            points,
            target=target,
            limit=float(Decimal(targets[target])),
            chosen=chosen,
            risk_name=risk_name(target),
            loss_name=LOSSES.get(minimise, minimise),
            is_share=True,
            width=self.chart_width,
        )
        self.drawing.set_content(svg + _numbers(points, target, chosen))
        self.about.clear()
        with self.about:
            self._about_point(next((point for point in points if point["number"] == chosen), None))

    def _about_point(self, point: Plain | None) -> None:
        if point is None:
            job = self.app.jobs.latest("tune")
            if job is not None and job.is_running:
                ui.label("No setting tried so far meets every limit; stricter ones follow.").classes("sh-small")
            else:
                layout.note("No setting tried so far meets every limit.", tone="warn")
            return
        given = [
            layout.Fact(share(point["max_gidr"], 1), "highest record risk", "", "good" if point["meets"] else "warn"),
            *(layout.Fact(share(value, 1), f"highest value risk of ‘{name}’")
              for name, value in point["max_gsar"].items()),
            layout.Fact(share(point["loss"], 1), "lost in what is shown", "100 % would hide everything"),
            layout.Fact(count(point["groups"]), "groups of persons who look alike",
                        f"{count(point['person_k'])} persons at least"),
        ]  # fmt: skip
        ui.label("The chosen setting").classes("sh-label")
        layout.facts(given)
        if not point["meets"]:
            layout.note("This setting is above a limit of the goal. It can be released all the same; the promise is "
                        "then the weaker one that the policy states.", tone="warn")  # fmt: skip

    def _choose(self, event: Any) -> None:
        points, _, _ = self._points()
        number = int(event.args)
        point = next((each for each in points if each["number"] == number), None)
        if point is None:
            return
        job = self.app.jobs.latest("tune")
        result = self.app.project.result("frontier")
        is_over = result is not None and not result.is_stale and (job is None or job.state == "done")
        self.goal.update(point=number, of=result.made_at if is_over and result is not None else None)
        if is_over:
            self._keep(point["policy_models"])
        self._draw()
        self._show_making()
        ui.run_javascript(f"document.querySelector('[data-point=\"{number}\"]')?.focus()")

    def _keep(self, models: Mapping[str, Any]) -> bool:
        protection = goals.protection_with(self.goal, models, self._protection)
        return self.view.save(goal=dict(self.goal), protection=protection)

    # Methods side by side

    def _show_beside(self) -> None:
        self.beside.clear()
        targets = goals.targets_of(self.goal)
        points, _, _ = self._points()
        if self.goal["way"] != "goal" or not points or not targets:
            return
        with (
            self.beside,
            layout.card(
                "Methods side by side",
                hint="What each method loses when the first limit of the goal is just met. Lower is better.",
            ),
        ):
            job, result = self.app.jobs.latest("compare"), self.app.project.result("compare")
            if job is not None and job.is_running:
                layout.show_job(job, on_news=self._show_rows, on_end=lambda _: self._show_beside())
                self.rows = ui.element("div").classes("sh-wide")
                self._show_rows(job)
                return
            if job is not None and job.state == "failed":
                layout.note(str(job.error), tone="bad")
            kept = result.data if result is not None and not result.is_stale else None
            rows = [] if kept is None else kept.get("rows") or kept.get("partials") or []
            if rows and not self._is_compared(rows):
                layout.note("The goal was changed since methods were compared. Compare again.", tone="warn")
                rows = []
            self.rows = ui.element("div").classes("sh-wide")
            self._draw_rows(rows)
            layout.button("Compare methods" if kept is None else "Compare again", self._compare)

    def _is_compared(self, rows: Sequence[Mapping[str, Any]]) -> bool:
        """Whether methods were compared at the goal as it is."""
        return bool(rows[0].get("asked") == goals.compared_of(self.goal, self._protection))

    def _compare(self) -> None:
        if not goals.targets_of(self.goal):
            self.view.tell("Tick at least one sentence: what shall not happen?", tone="warn")
            return
        if not self.view.is_current():
            return
        asked = goals.compared_of(self.goal, self._protection)
        by = ["record-risk", "k-anonymity"] if asked["target"] == "max_gidr" else ["h-affiliation"]
        arguments = {**asked, "by": by}
        self.app.jobs.start("compare", "shoal.web.work:compare", arguments, depends_on="columns", keep_as="compare",
                            replace=True)  # fmt: skip
        self._show_beside()

    def _show_rows(self, job: WebJob) -> None:
        self._draw_rows(job.partials)

    def _draw_rows(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows.clear()
        if not rows:
            return
        asked = next((row["usefulness"] for row in rows if row.get("usefulness")), None)
        least = min((row["minimised"] for row in rows if row.get("met")), default=None)
        lines = []
        for row in rows:
            if row.get("met"):
                mark = "least" if row["minimised"] == least else f"+{row['minimised'] / least - 1:.0%}" if least else ""
                lines.append([_method_in_words(row["method"]), _model_in_words(row["model"]),
                              share(row["minimised"], 2), mark, count(row["groups"]),
                              share(row["max_gidr"], 1), *_prediction(row, asked)])  # fmt: skip
            else:
                why = row.get("error", "no threshold meets the limit")
                lines.append([_method_in_words(row["method"]), _model_in_words(row["model"]), layout.in_fields(why),
                              "", "", "", *([""] if asked else [])])  # fmt: skip
        heads = ["Method", "Threshold turned", "Loss", "", "Groups", "Highest record risk",
                 *([f"Prediction of ‘{asked['target']}’ kept"] if asked else [])]  # fmt: skip
        with self.rows:
            layout.table(heads, lines, caption="Methods side by side", numeric=heads[2:])

    # The release

    def _models_chosen(self) -> Plain | None:
        if not goals.takes_groups(self.goal):
            return {}
        if self.goal["way"] == "models":
            kept = self._protection.get("models") or {}
            return dict(kept) if kept == goals.models_of_sliders(self.goal) else None
        points, chosen, _ = self._points()
        point = next((each for each in points if each["number"] == chosen), None)
        return None if point is None or self._is_other_goal(points) else point["policy_models"]

    def _use_models(self) -> None:
        models = goals.models_of_sliders(self.goal)
        if not models and goals.takes_groups(self.goal):
            self.view.tell("Tick at least one model: what shall every group meet?", tone="warn")
            return
        self.view.hush()
        if self._keep(models):
            self._show_making()

    def _show_making(self) -> None:
        self.making.clear()
        job = self.app.jobs.latest("protect")
        tuning = self.app.jobs.latest("tune")
        models = self._models_chosen()
        if models is None or (self.goal["way"] == "goal" and tuning is not None and tuning.is_running):
            return
        with (
            self.making,
            layout.card(
                "Make the release",
                hint="Groups are formed, masked, and counted again from what would be published. Where a promise is "
                "not kept nothing is written.",
            ),
        ):
            self._promises(models)
            if job is not None and job.is_running:
                layout.show_job(job, on_end=self._made)
                return
            result = self.app.project.result("release")
            is_made = result is not None and not result.is_stale
            is_same = is_made and self._is_kept(models)
            if job is not None and job.state == "failed" and not is_same:
                self._show_refusal(str(job.error))
            elif job is not None and job.state == "cancelled":
                layout.note("The release was stopped; nothing was written.", tone="info")
            with layout.row():
                layout.button("Make the release" if not is_same else "Make it again", lambda: self._make(models),
                              kind="plain" if is_same else "primary")  # fmt: skip
                trying = self.app.jobs.latest("try")
                if trying is None or not trying.is_running:
                    layout.button("Only try it, and put it on the shelf", lambda: self._try(models))
                if is_same:
                    layout.button("See the release", lambda: ui.navigate.to("/release"), kind="primary")

    # The shelf

    def _show_shelf(self) -> None:
        self.shelf.clear()
        job = self.app.jobs.latest("try")
        with self.shelf:
            if job is not None and job.is_running:
                with layout.card("Trying a setting", hint="Nothing is written for handing out."):
                    layout.show_job(job, on_end=self._tried)
            elif job is not None and job.state == "failed":
                self._show_refusal(str(job.error))
            ShelfCard(self.app, self.view, make=self._make_of).show()

    def _try(self, models: Mapping[str, Any]) -> None:
        if self._is_ready(models):
            self.app.jobs.start("try", "shoal.web.work:try_out", self._how_to_attack(), depends_on="protect")
            self._show_making()
            self._show_shelf()

    def _tried(self, job: WebJob) -> None:
        self._show_making()
        self._show_shelf()

    def _how_to_attack(self) -> Plain:
        return {"attacks": PERSONS_ATTACKED} if self.goal["options"]["attack_all"] else {}

    def _make_of(self, candidate: Candidate) -> None:
        """Make the release of a candidate: its choices become those of the project."""
        if ShelfCard(self.app, self.view, make=self._make_of).take(candidate):
            self.app.jobs.start("protect", "shoal.web.work:protect", self._how_to_make(), depends_on="protect",
                                keep_as="release")  # fmt: skip
            ui.navigate.to("/release")

    def _how_to_make(self) -> Plain:
        return {**self._how_to_attack(), "keep_person_map": bool(self.goal["options"]["keep_person_map"])}

    def _is_kept(self, models: Mapping[str, Any]) -> bool:
        kept = self._protection
        return goals.is_same_protection(kept, goals.protection_with(self.goal, models, kept))

    def _promises(self, models: Mapping[str, Any]) -> None:
        try:
            sentences = [el("li", sentence) for sentence in _promises_of(self.app, models, self.goal)]
        except ShoalError as error:
            layout.note(str(error), tone="bad")
            return
        method, mask = self.goal["options"]["method"], self.goal["options"]["mask"]
        how = f"Method: {goals.methods().get(method, method)}. Shown: {goals.masks().get(mask, mask)}."
        _html([el("p", "The promises:", class_="sh-label"), el("ul", sentences, class_="sh-promises"),
               el("p", how, class_="sh-small")])  # fmt: skip

    def _make(self, models: Mapping[str, Any]) -> None:
        if self._is_ready(models):
            self.app.jobs.start("protect", "shoal.web.work:protect", self._how_to_make(), depends_on="protect",
                                keep_as="release")  # fmt: skip
            self._show_making()

    def _is_ready(self, models: Mapping[str, Any]) -> bool:
        """Whether the project asks for these models now; it says why not where it does not."""
        self.view.hush()
        if not self.view.is_current():
            return False
        if models != self._models_chosen():
            self._show_cost()
            self._show_making()
            self.view.tell("What is asked was changed since these promises were shown, so no release was made. "
                           f"{'Find the best setting' if self.goal['way'] == 'goal' else 'Use these models'} again.",
                           tone="warn")  # fmt: skip
            return False
        if not self._is_kept(models) or self.goal["way"] == "goal":
            if self.goal["way"] == "goal" and goals.takes_groups(self.goal):
                _, chosen, _ = self._points()
                result = self.app.project.result("frontier")
                self.goal.update(point=chosen, of=result.made_at if result is not None else None)
            if not self._keep(models):
                return False
        return True

    def _made(self, job: WebJob) -> None:
        self.view.refresh_steps()
        if job.state == "done":
            ui.navigate.to("/release")
            return
        self._show_making()

    def _show_refusal(self, words: str) -> None:
        told = words.replace(" (allow_alone)", " below")
        with layout.note(f"No release was made, and nothing was written.\n{told}", tone="bad"):
            if ALLOW_IT in words:
                _html(el("p", "These columns leave as they are, and lead to the persons counted above. That can be "
                              "right where nobody outside knows them.", class_="sh-label"))  # fmt: skip
                layout.button("Allow it, and try again", self._allow_alone)
                return
            hints = [el("li", typeset(hint)) for hint in goals.to_relax(self.goal, self.told)]
            _html([el("p", "What you can relax:", class_="sh-label"), el("ul", hints)])

    def _allow_alone(self) -> None:
        """Try again with the steward's word that kept columns may single persons out."""
        self.goal["options"]["allow_alone"] = True
        models = self._models_chosen()
        if self.goal["way"] == "goal":
            self._find()
        elif models is not None:
            self._make(models)
        ui.navigate.to("/protect")


# --- small parts ---------------------------------------------------------------------------------------------------


def _promises_of(app: App, models: Mapping[str, Any], goal: Plain) -> list[str]:
    """What models promise, one sentence per model; and the limit on linkage, where no model can be promised."""
    from shoal.policy import Policy
    from shoal.policy.explain import explain_model, promised_by_linkage

    document = {**app.project.document(), "models": dict(models)}
    if goals.takes_groups(goal):
        return [typeset(explain_model(model)) for model in Policy.from_document(document).models]
    document["mask"] = goals.beside_of(goal, app.project.chosen.protection)["mask"]
    told = promised_by_linkage(Policy.from_document(document))
    return [typeset(sentence) for sentence in told or ["Say under Options how many persons may be linked."]]


def _now(now: float | None, lowest: Decimal | None) -> str:
    told = f"now {share(now, 1)}" if now is not None else ""
    if lowest is None:
        return told
    return f"{told}; lowest possible {share(float(lowest), 1)}"


def _promise(slide: goals.Slide, value: str) -> str:
    from shoal.policy.explain import explain_model
    from shoal.policy.load import make_model

    number: Any = int(Decimal(value)) if Decimal(slide.step) == 1 else value
    return typeset(explain_model(make_model(slide.name, number)))


def _shown(slide: goals.Slide, value: str) -> str:
    return f"{goals.to_percent(value):.4g} %" if slide.is_share else f"{Decimal(value):f}"


def _numbers(points: Sequence[Plain], target: str, chosen: int | None) -> str:
    from shoal.publishing.report.page import table

    rows: list[list[Content]] = []
    for point in drawing.worth_choosing(points, target):
        mark = "chosen" if point["number"] == chosen else "meets the goal" if point["meets"] else ""
        rows.append([drawing.setting_in_words(point), share(point["reached"][target], 1), share(point["minimised"], 2),
                     count(point["groups"]), mark])  # fmt: skip
    made = table(["Setting", "Risk", "Loss", "Groups", ""], rows, numeric=(1, 2, 3), caption="Settings on the line")
    return el("details", el("summary", "The numbers of this chart"), made, class_="numbers")


def _prediction(row: Mapping[str, Any], asked: Mapping[str, Any] | None) -> list[str]:
    """How much of what can be learned of the column that was asked for is kept; nothing where nobody asked."""
    if asked is None:
        return []
    kept = (row.get("usefulness") or {}).get("kept")
    return ["not measured" if kept is None else share(kept, 0)]


def _method_in_words(method: str) -> str:
    if method == "balance-tree:cut=median":
        return "Balance tree, cut at the median (Kartal and Li)"
    return goals.methods().get(method, method).removesuffix(" (proposed)")


def _model_in_words(model: str) -> str:
    words = {"record-risk": "record risk", "k-anonymity": "records in a group (k)", "h-affiliation": "value risk"}
    return words.get(model, model)


def _summary(words: str) -> None:
    with ui.element("summary"):
        ui.label(words).classes("sh-inline")


def _check(words: str, each: Plain, then: Callable[[], Any] = lambda: None) -> None:
    """A sentence of a goal that is ticked where it shall hold."""
    _tick(words, each, "on", then)


def _tick(words: str, options: Plain, key: str, then: Callable[[], Any] = lambda: None) -> None:
    """A box to tick, with its words; `then` is called when it was."""

    def ticked(is_on: bool) -> None:
        options[key] = is_on
        then()

    with ui.element("label").classes("sh-ticked"):
        box = ui.element("input").props("type=checkbox").classes("sh-check")
        if options[key]:
            box.props["checked"] = True
        box.on("change", lambda event: ticked(bool(event.args)), js_handler="(event) => emit(event.target.checked)")
        ui.label(words).classes("sh-inline")


def _slider(
    name: str, value: float, *, low: float, high: float, step: float, on_change: Callable[[float], None], unit: str
) -> Any:
    """A slider that keys move too; the page is told when it is let go."""
    made = ui.element("input").props(f"type=range min={low} max={high} step={step}").classes("sh-slider")
    made.props["aria-label"] = name
    made.props[".value"] = value  # as a property, and only when it changes: else each drawing would reset it
    if unit:
        made.props["aria-valuetext"] = f"{value:g} {unit}"
    return made.on("change", lambda event: on_change(float(event.args)), js_handler=EMIT_VALUE)


def _number(
    name: str, value: float, *, low: float, high: float, on_change: Callable[[float], None], unit: str
) -> Any:  # fmt: skip
    """A field for a number; what is no number, or out of its range, is put back."""

    def typed(text: str) -> None:
        try:
            number = float(text)
        except ValueError:
            number = low - 1
        if low <= number <= high:
            shown["value"] = number
            on_change(number)
        else:
            ui.run_javascript(f"document.getElementById('c{made.id}').value = '{shown['value']:g}'")

    with ui.element("div").classes("sh-percent"):
        made = ui.element("input").props(f"type=number min={low} max={high} step=any").classes("sh-input")
        made.props["aria-label"] = name
        made.props[".value"] = f"{value:g}"
        if unit:
            ui.label(unit).props("aria-hidden=true")
    shown = {"value": value}
    return made.on("change", lambda event: typed(str(event.args)), js_handler=EMIT_VALUE)


def _put(made: Any, value: float | None) -> None:
    made.props[".value"] = "" if value is None else f"{value:g}"
    if "aria-valuetext" in made.props and value is not None:
        unit = str(made.props["aria-valuetext"]).partition(" ")[2]
        made.props["aria-valuetext"] = f"{value:g} {unit}"
    made.update()


def _with(choices: Mapping[str, str], name: str) -> dict[str, str]:
    """The choices, and the one that a policy file made."""
    return {**choices, **({} if name in choices else {name: name})}


def _select(
    label: str, choices: Mapping[str, str], options: Plain, key: str, then: Callable[[], Any] = lambda: None
) -> None:
    layout.select(label, choices, options[key], lambda value: (options.update({key: value}), then()))


def _chosen(put: Callable[[str, Any], None], option: Option, value: str) -> None:
    """A choice of an option of a method or a mask; its default need not be named."""
    found: Any = value == "yes" if option.kind is bool else value
    put(option.name, None if found == option.default else found)


def _number_typed(put: Callable[[str, Any], None], option: Option, text: str) -> None:
    """A number for an option of a method or a mask; what is none leaves the default."""
    try:
        number: Any = option.kind(text)
    except ValueError:
        number = None
    put(option.name, None if number == option.default else number)


def _text_typed(put: Callable[[str, Any], None], option: Option, text: str) -> None:
    """A text for an option of a method or a mask; none leaves the default."""
    put(option.name, None if not text.strip() or text.strip() == option.default else text.strip())


def _whole(label: str, options: Plain, key: str, *, least: int, hint: str, empty: int | None = None) -> None:
    def typed(text: str) -> None:
        is_number = text.strip().isdigit() and int(text) >= least
        options[key] = int(text) if is_number else empty

    layout.text_input(label, "" if options[key] is None else str(options[key]), typed, kind="number", hint=hint)


def _promise_of(name: str, value: Mapping[str, str]) -> str:
    """What a model without a slider promises, or what is wrong with its parameters."""
    from shoal.policy.explain import explain_model
    from shoal.policy.load import make_model

    try:
        return typeset(explain_model(make_model(name, goals.value_of_further(value))))
    except ShoalError as error:
        return typeset(str(error))


def _html(content: Content, *, classes: str = "") -> None:
    ui.html(joined(content), sanitize=False).classes(f"sh-wide {classes}")
