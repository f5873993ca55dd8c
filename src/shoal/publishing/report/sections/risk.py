"""Risk before and after: measures, distributions over persons and values, groups by their size. No value is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from shoal.judging.alone import by_what
from shoal.publishing.report import words
from shoal.publishing.report.charts import Mark, Series, column_chart, figure
from shoal.publishing.report.markup import Content, Markup, el
from shoal.publishing.report.numbers import count, number, share
from shoal.publishing.report.page import cell, compared, shares, table, told_of

Numbers = Mapping[str, Any]

MEASURES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("records", "Records", count),
    ("persons", "Persons", count),
    ("groups", "Groups of persons who look alike", count),
    ("max_gidr", "Record risk, highest: largest share of a group’s records that is one person’s", share),
    ("avg_gidr", "Record risk, mean over groups", share),
    ("max_gsar", "Value risk{}, highest: largest share of a group’s persons with one value", share),
    ("avg_gsar", "Value risk{}, mean over groups", share),
    ("g_balance", "g-balance, lowest of any group", number),
    ("h_affiliation", "h-affiliation, highest of any group", number),
    ("k", "Fewest records of a group", count),
    ("person_k", "Fewest persons of a group", count),
    ("prosecutor_risk", "Prosecutor risk: 1 / fewest persons alike", share),
    ("journalist_risk", "Journalist risk: bounded by the same", share),
    ("marketer_risk", "Marketer risk: share of persons expected to be found", share),
    ("unique_persons", "Persons alone in some group", count),
    ("alone_by", "Persons alone in their group{}", count),
)

BY_GROUP, BY_QUASI = "to whoever knows the group only", "to whoever knows the exact quasi-identifiers"
TOLD_APART = {
    **dict.fromkeys(("max_gidr", "avg_gidr", "g_balance"), BY_GROUP),
    **dict.fromkeys(("prosecutor_risk", "journalist_risk", "marketer_risk", "unique_persons"), BY_QUASI),
}
"""The adversary that a measure is about, where quasi-identifiers are published exactly, so that these are two."""


def risk(numbers: Numbers) -> Content:
    """Measures and distributions of risk, before and after."""
    spread = numbers["report"]["risk"]
    parts: list[Content] = [
        el("p", "Before: the table as it was, with persons who have equal quasi-identifiers in a group. After: the "
                "release, by what it shows. No value of any record is told in this section."),
        _measures(numbers),
    ]  # fmt: skip
    if numbers.get("population") is not None:
        parts.append(_population(numbers))
    if numbers.get("safe_harbour"):
        parts.append(_safe_harbour(numbers))
    if spread["record_risk"]["after"] is not None:
        parts.append(_record_risk(numbers))
    else:
        parts.append(el("p", "How many records a person has is not shown by this release, so that there is no record "
                             "risk to draw.", class_="soft"))  # fmt: skip
    parts += [_value_risk(numbers, name) for name in spread["value_risk"]]
    if spread["group_sizes"]["after"] is not None:
        parts.append(_group_sizes(numbers))
    if spread["riskiest_groups"]:
        parts.append(_riskiest(numbers))
    return parts


def _measures(numbers: Numbers) -> Markup:
    before = numbers.get("before")
    rows: list[Sequence[Content]] = []
    adversary = TOLD_APART if words.shows_identities(numbers) else {}
    for key, label, form in MEASURES:
        after = numbers.get(key)
        label = f"{label} ({adversary[key]})" if key in adversary else label
        if isinstance(after, Mapping):
            for name, value in after.items():
                old = (before or {}).get(key, {}).get(name)
                of_what = f" by {words.typeset(by_what(name))}" if key == "alone_by" else f" of ‘{name}’"
                rows.append([label.format(of_what), cell(f"before.{key}.{name}", old, form(old)),
                             cell(f"{key}.{name}", value, form(value))])  # fmt: skip
        elif after is not None or (before or {}).get(key) is not None:
            old = (before or {}).get(key)
            rows.append([label, cell(f"before.{key}", old, form(old)), cell(key, after, form(after))])
    return table(["", "Before", "After"], rows, numeric=(1, 2), caption="Measures of risk")


OF_POPULATION: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("persons", "Persons of the sample", count),
    ("population", "Persons of the population that they stand for", count),
    ("sample_uniques", "Persons alone in the sample", count),
    ("expected_reidentifications", "Persons expected to be found in the population", number),
    ("global_risk", "Mean chance of a person to be found", share),
    ("max_risk", "Highest chance of a person to be found", share),
    ("uniques.dankar", "Unique persons of the population, estimated (Dankar’s rule)", number),
    ("uniques.pitman", "The same by Pitman’s model", number),
    ("uniques.zayatz", "The same by Zayatz", number),
    ("uniques.snb", "The same by slide negative binomial", number),
    ("log_linear.uniques", "Sample uniques expected to be unique in the population (log-linear)", number),
    ("log_linear.found", "Sample uniques expected to be found (log-linear)", number),
    ("journalist.highest", "Journalist risk by the population table, highest", share),
    ("journalist.mean", "Journalist risk by the population table, mean", share),
    ("households.expected_any", "Households of which a member is expected to be found", number),
    ("households.expected_all", "Households of which everybody is expected to be found", number),
    ("households.max_any", "Highest chance that a member of a household is found", share),
    ("suda.persons", "Special uniques: persons alone by some of the columns already (SUDA2)", count),
    ("suda.total_score", "Sum of their scores", number),
    ("suda.expected_found", "Sum of their DIS scores: how many matches of uniques are expected to be right", number),
)
MOST_SHOWN = 12
"""So many sets of columns, and so many classes, are shown in a table."""


class PopulationTable(NamedTuple):
    """A table of what is told of a sample beside its figures; the same in the report and in the app."""

    caption: str
    headings: tuple[str, ...]
    rows: list[list[str]]


def population_tables(population: Numbers) -> list[PopulationTable]:
    """Columns and how they tell persons apart, and classes of the largest risk; no value is told."""
    found = []
    shares_of = (population.get("suda") or {}).get("contributions") or {}
    columns = population.get("columns") or {}
    if columns:
        sets = sorted(columns, key=lambda name: (name.count("+"), -columns[name]["separation"]))
        rows = [
            [name.replace("+", " + "), number(of["distinction"]), share(of["separation"], 2), count(of["rare_1"]),
             count(of["rare_5"]), f"{shares_of[name]:.1f} %" if name in shares_of else ""]
            for name in sets[:MOST_SHOWN] if (of := columns[name])
        ]  # fmt: skip
        headings = ("Columns", "Values per person", "Pairs of persons told apart", "Values of one person",
                    "Values of five or fewer", "Share of SUDA scores")  # fmt: skip
        found.append(PopulationTable("How well columns tell persons apart", headings, rows))
    classes = population.get("frequencies") or ()
    if classes:
        rows = [
            [count(each["f"]), f"{each['F']:,.6g}", share(each["risk"], 2), count(each["classes"])]
            for each in classes[:MOST_SHOWN]
        ]
        shown = ("Persons of the sample (f)", "Of the population (F)", "Chance to be found", "Classes like this")
        found.append(PopulationTable("Classes of persons who are alike, the largest risk first", shown, rows))
    return found


def _population(numbers: Numbers) -> Content:
    """The risk with respect to the population, of a sample."""
    rows: list[Sequence[Content]] = []
    for path, label, form in OF_POPULATION:
        values = [at_path(numbers, f"{when}population.{path}") for when in ("before.", "")]
        if any(value is not None for value in values):
            old, new = values
            rows.append([label, cell(f"before.population.{path}", old, form(old)),
                         cell(f"population.{path}", new, form(new))])  # fmt: skip
    measures = table(
        ["", "Before", "After"], rows, numeric=(1, 2), caption="Risk in the population that the table samples"
    )
    details = [
        table(list(each.headings), each.rows, numeric=tuple(range(1, len(each.headings))),
              caption=f"{each.caption}, after")
        for each in population_tables(numbers["population"])
    ]  # fmt: skip
    return [measures, *details]


def _safe_harbour(numbers: Numbers) -> Markup:
    """The columns that seem to hold identifiers of the safe harbour, and how they leave."""
    rows: list[Sequence[Content]] = [
        [each["column"], f"{each['number']}. {each['identifier']}", each["because"], LEAVES[each["leaves"]]]
        for each in numbers["safe_harbour"]
    ]
    return table(["Column", "Identifier", "Why", "How it leaves"], rows,
                 caption="Columns that HIPAA’s safe harbour seems to name, by their names and contents")  # fmt: skip


LEAVES = {
    "not": "it does not", "masked": "masked", "as a pseudonym": "as a random pseudonym",
    "as a sequence": "as the person’s own 1, 2, 3", "moved": "moved by a secret number of days", "as it is": "as it is",
}  # fmt: skip


def at_path(numbers: Numbers, path: str) -> Any:
    """What stands at a path of keys, or None."""
    found: Any = numbers
    for key in path.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def class_of_risk(entry: Numbers) -> str:
    """What a class of risk is called."""
    above, up_to = entry["above"], entry["up_to"]
    if above == up_to:
        return "100 %"
    if above == 0:
        return f"up to {100 * up_to:.0f} %"
    return f"{100 * above:.0f}–{100 * up_to:.0f} %" if up_to < 1 else f"over {100 * above:.0f} %"


def _record_risk(numbers: Numbers) -> Markup:
    risk = numbers["report"]["risk"]
    return compared(
        [class_of_risk(entry) for entry in risk["classes"]],
        risk["record_risk"]["before"],
        risk["record_risk"]["after"],
        unit="persons",
        key="report.risk.record_risk",
        title="Record risk over persons",
        caption="Each person by the share of the group’s records that are theirs. Upper ends belong to a class; "
        "100 % is a person whose records stand alone."
        + (" The groups of this release cannot be seen in it." if words.is_perturbed(numbers) else ""),
        across="a person’s share of the group’s records, in %",
        mark=_asked(risk["classes"], risk["record_risk"]["asked"]),
    )


def _value_risk(numbers: Numbers, name: str) -> Markup | None:
    risk = numbers["report"]["risk"]
    of_value = risk["value_risk"][name]
    if of_value["after"] is None:
        return None
    return compared(
        [class_of_risk(entry) for entry in risk["classes"]],
        of_value["before"],
        of_value["after"],
        unit="values of persons",
        key=f"report.risk.value_risk.{name}",
        title=f"Value risk of ‘{name}’",
        caption="Each value that a person has, by the share of the group’s persons who have it too.",
        across="share of the group’s persons with the value, in %",
        mark=_asked(risk["classes"], of_value["asked"]),
    )


def _asked(classes: Sequence[Numbers], asked: float | None) -> Mark | None:
    """A threshold, behind as many classes as lie below it; inside a class in proportion."""
    if asked is None:
        return None
    for at, entry in enumerate(classes[:-1]):
        if asked <= entry["up_to"]:
            inside = float((asked - entry["above"]) / (entry["up_to"] - entry["above"]))
            return Mark(f"asked: at most {share(asked, 1)}", at + inside)
    return None


def _size_label(size: Numbers) -> str:
    if size["at_most"] is None:
        return f"{size['at_least']} or more"
    return str(size["at_least"]) if size["at_least"] == size["at_most"] else f"{size['at_least']}–{size['at_most']}"


def _group_sizes(numbers: Numbers) -> Markup:
    sizes = numbers["report"]["risk"]["group_sizes"]
    labels = [_size_label(size) for size in sizes["after"]]
    series = [Series("after: the release", "after", shares([size["persons"] for size in sizes["after"]]))]
    if sizes["before"] is not None:
        before = shares([size["persons"] for size in sizes["before"]])
        series.insert(0, Series("before: the table as it was", "before", before))
    headings, rows = ["Persons a group"], [[label] for label in labels]
    cells: list[list[Content]] = [list(row) for row in rows]
    for when in ("before", "after"):
        if sizes[when] is None:
            continue
        headings += [f"Groups {when}", f"Persons {when}", "Highest record risk", "Highest value risk"]
        for at, size in enumerate(sizes[when]):
            key = f"report.risk.group_sizes.{when}.{at}"
            cells[at] += [
                cell(f"{key}.{name}", size[name], form(size[name]))
                for name, form in (
                    ("groups", count), ("persons", count), ("max_record_risk", share), ("max_value_risk", share),
                )
            ]  # fmt: skip
    title = "Persons by the size of their group"
    chart = column_chart(
        labels, series, title=title, description=told_of(labels, series), height=130, across="persons of the group",
        upwards="share of the persons",
    )  # fmt: skip
    return figure(
        chart, title=title,
        caption="How many persons look alike. Before, who stands in several groups counts in each.",
        table=table(headings, cells, numeric=range(1, len(headings))),
    )  # fmt: skip


def _riskiest(numbers: Numbers) -> Content:
    groups = numbers["report"]["risk"]["riskiest_groups"]
    names = list(groups[0]["value_risk"])
    rows = []
    for at, group in enumerate(groups):
        key = f"report.risk.riskiest_groups.{at}"
        rows.append(
            [str(at + 1)]
            + [cell(f"{key}.{name}", group[name], form(group[name]))
               for name, form in (("persons", count), ("records", count), ("record_risk", share))]
            + [cell(f"{key}.value_risk.{name}", group["value_risk"][name], share(group["value_risk"][name]))
               for name in names]
        )  # fmt: skip
    headings = ["", "Persons", "Records", "Record risk", *(f"Value risk ‘{name}’" for name in names)]
    return [
        el("h3", "The riskiest groups of the release"),
        el(
            "p", "By record risk, then value risk. Groups are told by their size, never by their values.", class_="soft"
        ),
        table(headings, rows, numeric=range(1, len(headings)), caption=None),
    ]
