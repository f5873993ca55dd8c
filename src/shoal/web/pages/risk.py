"""The page Risk now: how safe each person is in the table as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from shoal.publishing.report.markup import Content, el, joined
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.sections.risk import OF_POPULATION, at_path, population_tables
from shoal.publishing.report.words import quoted
from shoal.web import drawing, layout
from shoal.web import facts as counted_facts
from shoal.web.app import App
from shoal.web.jobs import WebJob

Numbers = Mapping[str, Any]
LEAD = "How easily can somebody be recognised in the table as it is, before anything is done?"


def build(app: App) -> None:
    """Draw the page."""
    with layout.page(app, "risk", title="Risk now", lead=LEAD) as view:
        if not can_go_on(app):
            return

        @ui.refreshable
        def body() -> None:
            result = app.project.result("assess")
            job = app.jobs.latest("assess")
            if result is not None and not result.is_stale:
                show(result.data)
            elif job is not None and job.state == "failed":
                layout.note(str(job.error), tone="bad")
                layout.button("Try again", start)
            elif job is not None and job.state == "cancelled":
                layout.note("The counting was stopped.", tone="info")
                layout.button("Count again", start, kind="primary")
            else:
                start()

        def start() -> None:
            job = app.jobs.start("assess", "shoal.web.work:assess", depends_on="columns", keep_as="assess")
            with part:
                part.clear()
                with layout.card("Counting", hint="Records, persons, and which columns tell persons apart."):
                    layout.show_job(job, on_end=ended)

        def ended(job: WebJob) -> None:
            part.clear()
            with part:
                body()
            view.refresh_steps()

        part = ui.element("div").classes("sh-wide sh-stack").props('aria-live="polite"')
        with part:
            body()


def can_go_on(app: App) -> bool:
    """Whether the steps before are done; if not, says what is missing and where."""
    faults = app.project.faults()
    if not faults:
        return True
    is_data = not app.project.chosen.columns
    with layout.note("\n".join(faults), tone="info"):
        place = "/" if is_data else "/columns"
        layout.button(f"Go to {'Data' if is_data else 'Columns'}", lambda: ui.navigate.to(place), kind="primary")
    return False


def show(told: Numbers) -> None:
    """Everything about the table as it is."""
    for sentence in told.get("notes", ()):
        layout.note(sentence, tone="info")
    _in_one_look(told)
    _in_the_population(told)
    _two_ways_of_counting(told)
    with ui.element("div").classes("sh-two"):
        _records_per_person(told)
        _record_risk(told)
    _combinations(told)
    _value_risk(told)


def _in_one_look(told: Numbers) -> None:
    risk, spread = told["risk"], told["spread"]
    alone = risk["unique_persons"] / risk["persons"]
    above = counted_facts.persons_above(spread, 0.1) / risk["persons"]
    given = [
        layout.Fact(count(risk["persons"]), "persons", f"with {count(risk['records'])} records"),
        layout.Fact(share(alone, 1), "of the persons can be singled out",
                    f"{count(risk['unique_persons'])} are alone with their values",
                    "bad" if alone > 0.05 else "warn" if alone else "good"),
        layout.Fact(share(above, 1), "of the persons are above 10 %",
                    "chance that a record of their group is theirs", "bad" if above > 0.05 else "warn" if above else
                    "good"),
    ]  # fmt: skip
    for name, value in risk["max_gsar"].items():
        given.append(
            layout.Fact(share(value, 1), f"highest chance to learn ‘{name}’",
                        f"blind guessing: {share(spread['blind'][name], 1)}", "bad" if value > 0.5 else "warn")
        )  # fmt: skip
    with layout.card("In one look"):
        layout.facts(given)
        _html(el("p", _verdict(risk), class_="sh-say"))


def _in_the_population(told: Numbers) -> None:
    """The risk with respect to the population, where the table is a sample."""
    if told["risk"].get("population") is None:
        return
    rows = [
        [label, form(value)]
        for path, label, form in OF_POPULATION
        if (value := at_path(told["risk"], f"population.{path}")) is not None
    ]
    with layout.card(
        "The table is a sample: risk in the population",
        hint="For somebody who does not know who is in the table. Whoever knows that is dealt with above. Estimates "
        "rest on models, and none is a bound.",
    ):
        layout.table(["", "As it is"], rows, caption="Risk in the population", numeric=["As it is"])
        for each in population_tables(told["risk"]["population"]):
            ui.label(each.caption).classes("sh-say")
            layout.table(each.headings, each.rows, caption=each.caption, numeric=each.headings[1:])


def _verdict(risk: Numbers) -> str:
    if risk["unique_persons"]:
        return (
            f"Whoever knows these columns of a person finds {count(risk['unique_persons'])} of "
            f"{count(risk['persons'])} persons for sure, and then knows everything else that their records tell. "
            "The table must not leave as it is."
        )
    return (
        f"Nobody is alone: at least {count(risk['person_k'])} persons look alike. In the worst group one person still "
        f"has {share(risk['max_gidr'], 1)} of the records."
    )


def _two_ways_of_counting(told: Numbers) -> None:
    rows, risk = told["row_counting"], told["risk"]
    if risk["records"] == risk["persons"]:
        return
    with layout.card(
        "Counting records is not counting persons",
        hint="Many tools take each record for a person of its own. Here a person has several records, and then that "
        "count is wrong.",
    ):
        layout.table(
            ["", "If every record were a person", "Counted by person, as it is"],
            [
                ["Stand alone",
                 f"{count(rows['alone_by_records'])} of {count(risk['records'])} records "
                 f"({share(rows['alone_by_records'] / risk['records'], 1)})",
                 f"{count(rows['alone'])} of {count(risk['persons'])} persons "
                 f"({share(rows['alone'] / risk['persons'], 1)})"],
                ["Mean risk", share(rows["mean_by_records"], 1), share(rows["true_mean"], 1)],
                ["Highest risk", share(rows["risk_by_records"], 1), share(rows["true_risk"], 1)],
            ],
            caption="Risk by records and by persons",
            numeric=["If every record were a person", "Counted by person, as it is"],
        )  # fmt: skip
        _html(el("p", _why(rows), class_="sh-say"))


def _why(rows: Numbers) -> str:
    at_least = counted_facts.SAFE_LOOKING
    if not rows["safe_looking_groups"]:
        return "Here no group looks safe only because one person fills it; the means still differ."
    groups = rows["safe_looking_groups"]
    of_whom = "of one person" if rows["persons_in_them"] == 1 else f"of {count(rows['persons_in_them'])} persons"
    return (
        f"Why: {count(groups)} {'group' if groups == 1 else 'groups'} of {at_least} or more equal records "
        f"{'looks' if groups == 1 else 'look'} safe when records are counted, but all records in "
        f"{'it' if groups == 1 else 'each of them'} belong to a single person ({of_whom} in all). Whoever has many "
        "records stands out; they do not hide each other."
    )


def _records_per_person(told: Numbers) -> None:
    records = told["records_per_person"]
    with layout.card("Records per person"):
        _html(
            drawing.counted(
                records["labels"],
                records["persons"],
                title="Persons by their number of records",
                caption=f"{records['mean']:.1f} on average, {count(records['most'])} at the most; "
                f"{count(records['with_several'])} persons have more than one.",
                unit="persons",
                across="records of the person",
            )
        )


def _record_risk(told: Numbers) -> None:
    with layout.card("Record risk"):
        _html(
            drawing.counted(
                counted_facts.classes_of_risk(),
                told["spread"]["persons"],
                title="Persons by the chance that a record of their group is theirs",
                caption="A group: all who have the same values in the columns that others may know. 100 %: the person "
                "is alone in it.",
                unit="persons",
                across="chance, in %",
            )
        )


def _combinations(told: Numbers) -> None:
    persons = told["risk"]["persons"]
    found = told["combinations"]
    with (
        layout.card(
            "Which columns give persons away",
            hint="How many persons are alone with their values of these columns taken together. Columns are named, "
            "values never.",
        ),
        ui.element("div").classes("sh-two"),
    ):
        _html(
            drawing.bars("Columns together", [" + ".join(each["columns"]) for each in found],
                         [each["persons"] for each in found], of=persons, unit="Persons alone",
                         title=f"The worst of {count(told['tried'])} combinations tried")
        )  # fmt: skip
        if told["left_out"]:
            left_out = told["left_out"]
            with ui.element("div").classes("sh-stack"):
                _html(
                    drawing.bars("Not published", [each["columns"][0] for each in left_out],
                                 [each["persons"] for each in left_out], of=persons, unit="Persons alone",
                                 title="If one of the columns were left out")
                )  # fmt: skip
                _html(el("p", _best(left_out[0], found[-1]), class_="sh-say"))


def _best(best: Numbers, whole: Numbers) -> str:
    if best["persons"] == whole["persons"]:
        return "Leaving out a single column would help nobody."
    return (
        f"Leaving out {quoted(best['columns'])} would help most: {count(best['persons'])} instead of "
        f"{count(whole['persons'])} persons would be alone."
    )


def _value_risk(told: Numbers) -> None:
    names = list(told["spread"]["values"])
    if not names:
        return
    with layout.card(
        "What can be learned of a person",
        hint="A sensitive value is given away where everybody of a group has it, even if nobody knows who is who.",
    ):
        with ui.element("div").classes("sh-two"):
            for name in names:
                _html(
                    drawing.counted(
                        counted_facts.classes_of_risk(),
                        told["spread"]["values"][name],
                        title=f"Values of ‘{name}’ by the share of the group who have it too",
                        caption="100 %: everybody in the group has it, so it is known of each of them.",
                        unit="values",
                        across="share of the group’s persons, in %",
                    ),
                    classes="sh-figure",
                )
        layout.table(
            ["Sensitive attribute", "Groups where all share a value", "Persons in them", "of these in groups of two "
             "or more"],
            [[each["column"], count(each["all_groups"]), count(each["all_persons"]), count(each["persons"])]
             for each in told["homogeneous"]],
            caption="Groups in which everybody has one value in common",
            numeric=["Groups where all share a value", "Persons in them", "of these in groups of two or more"],
        )  # fmt: skip


def _html(content: Content, *, classes: str = "") -> None:
    ui.html(joined(content), sanitize=False).classes(f"sh-wide {classes}")
