"""What a release cost: errors, distributions before and after, correlations and dependences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.masking import mask_called
from shoal.publishing.report import words
from shoal.publishing.report.charts import Series, bar_chart, column_chart, dumbbell_chart, figure
from shoal.publishing.report.markup import Content, Markup, el
from shoal.publishing.report.numbers import count, day, number, quantity, share, span
from shoal.publishing.report.page import cell, shares, table, told_of

Numbers = Mapping[str, Any]

QUALITY: tuple[tuple[str, str, Callable[[Any], str], str], ...] = (
    ("loss", "Lost in what is shown", share, "0 % nothing, 100 % everything hidden; the mean over the columns below"),
    (
        "ane",
        "Average normalized error (ANE)",
        share,
        "of a column’s extent; of the groups, whatever is shown",
    ),
    ("granularity", "Granularity", share, "100 % every value exact, 0 everything hidden"),
    ("within_variance", "Variance inside groups", share, "of the total sum of squares, in the groups; lower is better"),
    ("average_group_size", "Records a group", quantity, "mean"),
    ("discernability", "Discernability", quantity, "records that a record cannot be told from, mean"),
)


def cost(numbers: Numbers) -> Content:
    """What was lost, of all quasi-identifiers and of each."""
    lost = numbers["report"]["cost"]
    if lost is None:
        return el("p", "The release was made without a report, and the table as it was is not at hand: what it cost is "
                       "not known.")  # fmt: skip
    parts: list[Content] = [_quality(numbers), _shown(numbers), _by_column(numbers)]
    if numbers.get("query_error") or numbers.get("aggregate_error"):
        parts.append(_query_error(numbers))
    if numbers.get("association_error"):
        parts.append(_rules_kept(numbers))
    if numbers.get("moments"):
        parts.append(_moments(numbers))
    if numbers.get("statistics"):
        parts += _statistics(numbers)
    if numbers.get("estimates"):
        parts.append(_estimates(numbers))
    left_out = numbers["report"].get("left_out", {}).get("cost")
    if left_out is not None:
        return [*parts, el("p", left_out, class_="soft")]
    parts.append(el("h3", "Distributions before and after"))
    is_linked = mask_called(numbers["report"]["done"]["mask"]).links_values
    unmasked = " Sensitive attributes are published as they are." if is_linked else ""
    parts.append(
        el("p", "Shares of records by class. After: as an analyst reads the release, every value that a group shows "
                f"being equally likely. A class has at least {lost['fewest_persons']} persons, smaller ones are put "
                "together, and the outer ones are open, so that no single person can be seen. Persons who were left "
                f"out are not counted before either.{unmasked}")
    )  # fmt: skip
    drawn = [each for name, column in lost["columns"].items() if (each := _distribution(name, column)) is not None]
    parts.append(el("div", drawn, class_="pair") if drawn else None)
    absent = [name for name, column in lost["columns"].items() if not column.get("classes")]
    if absent:
        parts.append(el("p", f"Not drawn, since every class would have fewer than {lost['fewest_persons']} persons or "
                             f"there is a single one: {words.quoted(absent)}.", class_="soft"))  # fmt: skip
    parts += [_correlations(numbers), _dependences(numbers)]
    return parts


def _estimates(numbers: Numbers) -> Markup:
    """Means and totals for the population by the weights, and how far tables move."""
    kinds = {column["name"]: column.get("kind", "") for column in numbers["report"]["columns"]}
    rows: list[Sequence[Content]] = []
    for name, column in numbers["estimates"]["columns"].items():
        form = day if kinds.get(name) == "date" else quantity
        forms = {"mean_before": form, "mean_after": form, "total_before": quantity, "total_after": quantity,
                 "total_variation": share}  # fmt: skip
        rows.append([name, *(cell(f"estimates.columns.{name}.{key}", column[key], each(column[key]))
                             for key, each in forms.items())])  # fmt: skip
    headings = ["", "Mean before", "Mean after", "Total before", "Total after", "Table moves by"]
    return table(
        headings, rows, numeric=range(1, len(headings)), caption="Estimates for the population, by the weights"
    )


def _quality(numbers: Numbers) -> Markup:
    rows = [
        [label, cell(key, numbers.get(key), form(numbers.get(key))), note]
        for key, label, form, note in QUALITY
        if numbers.get(key) is not None
    ]
    return table(["", "Value", ""], rows, numeric=(1,), caption="Over all quasi-identifiers")


def _shown(numbers: Numbers) -> Markup | None:
    """What is shown of each quasi-identifier, in its own unit."""
    columns = numbers.get("columns") or {}
    if not columns:
        return None
    rows: list[Sequence[Content]] = []
    for name, column in columns.items():
        in_unit = span if column["unit"] == "days" else quantity
        forms = {"loss": share, "hidden": share, "width": in_unit, "error": in_unit, "possible": quantity}
        rows.append([name, *(cell(f"columns.{name}.{key}", column[key], form(column[key]))
                             for key, form in forms.items())])  # fmt: skip
    headings = ["Quasi-identifier", "Lost", "Records that show nothing", "Range shown, mean width",
                "Best guess is off by, mean", "Values that remain possible, mean"]  # fmt: skip
    return table(headings, rows, numeric=range(1, len(headings)), caption="What is shown of each quasi-identifier")


def _by_column(numbers: Numbers) -> Markup:
    columns = numbers["report"]["cost"]["columns"]
    has_numbers = any(column.get("mean_before") is not None for column in columns.values())
    headings = ["Quasi-identifier", "Kind", "ANE"]
    measures: list[tuple[str, Callable[[Any], str]]] = [("ane", share)]
    if any("total_variation" in column for column in columns.values()):
        headings.append("Total variation")
        measures.append(("total_variation", share))
    if has_numbers:
        headings += ["Mean before", "Mean after", "Standard deviation before", "Standard deviation after"]
        measures += [(name, quantity) for name in ("mean_before", "mean_after", "deviation_before", "deviation_after")]
    of_dates = {"mean_before": day, "mean_after": day, "deviation_before": span, "deviation_after": span}
    kinds = {column["name"]: column.get("kind", "") for column in numbers["report"]["columns"]}
    rows = [
        [name, kinds.get(name, ""),
         *(cell(f"report.cost.columns.{name}.{key}", column.get(key),
                (of_dates.get(key, form) if kinds.get(name) == "date" else form)(column.get(key)))
           for key, form in measures)]
        for name, column in columns.items()
    ]  # fmt: skip
    return table(headings, rows, numeric=range(2, len(headings)),
                 caption="Each quasi-identifier: groups, shares of classes, means")  # fmt: skip


def _query_error(numbers: Numbers) -> Markup:
    rows: list[Sequence[Content]] = []

    def add(label: str, key: str, error: Numbers, n: str, name: str) -> None:
        rows.append([label, cell(f"{key}.{n}", error[n], count(error[n])),
                     cell(f"{key}.{name}", error[name], share(error[name]))])  # fmt: skip

    counted = numbers.get("query_error")
    if counted:
        add("COUNT, all queries", "query_error", counted, "n_queries", "all")
        add("those that return less than 1 % of the records", "query_error", counted, "n_below_1_percent",
            "below_1_percent")  # fmt: skip
        add("all others", "query_error", counted, "n_at_least_1_percent", "at_least_1_percent")
    for kind, error in (numbers.get("aggregate_error") or {}).items():
        add(f"{kind.upper()}, all queries", f"aggregate_error.{kind}", error, "n_queries", "all")
    return table(["Random queries", "Queries", "Mean relative error"], rows, numeric=(1, 2),
                 caption="Answers from the release")  # fmt: skip


def _rules_kept(numbers: Numbers) -> Markup:
    error = numbers["association_error"]
    labels = (
        ("n_rules", "Rules of the table", count),
        ("n_shown", "Rules that the release shows", count),
        ("confidence", "Mean relative error of their confidence", share),
        ("false_positives", "Rules that only the release shows, for each rule of the table", share),
        ("false_negatives", "Rules of the table that the release does not show, for each", share),
    )
    rows = [[label, cell(f"association_error.{key}", error[key], form(error[key]))] for key, label, form in labels]
    return table(["Association rules", "Value"], rows, numeric=(1,), caption="What becomes of association rules")


def _moments(numbers: Numbers) -> Markup:
    moments = numbers["moments"]
    kinds = {column["name"]: column.get("kind", "") for column in numbers["report"]["columns"]}
    rows = []
    for at, name in enumerate(moments["columns"]):
        mean, deviation = (day, span) if kinds.get(name) == "date" else (quantity, quantity)
        values = [mean(moments["mean_before"][at]), mean(moments["mean_after"][at]),
                  deviation(math.sqrt(max(moments["covariance_before"][at][at], 0.0))),
                  deviation(math.sqrt(max(moments["covariance_after"][at][at], 0.0)))]  # fmt: skip
        rows.append([name, *(el("td", value, class_="n") for value in values)])
    headings = ["Perturbed column", "Mean before", "Mean after", "Standard deviation before",
                "Standard deviation after"]  # fmt: skip
    return table(headings, rows, numeric=range(1, 5), caption="Means and standard deviations of perturbed numbers")


BIASES = (
    ("abim", "means (ABIM)"),
    ("abisd", "standard deviations (ABISD)"),
    ("abico", "correlations (ABICO)"),
)
"""What published numbers keep, by the keys of JSON."""

MIXES: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("chi_square", "Distance from the table’s shares (X²)", quantity),
    ("one_class", "Records in groups of one value", share),
    ("kld", "Bits that a group tells (KLD)", quantity),
    ("wjsd", "Divergence from 0 to 1 (WJSD)", quantity),
)
"""How groups mix the values of a sensitive attribute."""


def _statistics(numbers: Numbers) -> list[Content]:
    kept = numbers["statistics"]
    rows = [
        [f"Mean relative change of {label}",
         cell(f"statistics.{key}", kept[key], "undefined" if kept[key] is None else share(kept[key])),
         cell(f"statistics.undefined.{key}", kept["undefined"][key], count(kept["undefined"][key]))]
        for key, label in BIASES
    ]  # fmt: skip
    parts: list[Content] = [
        table(["Numbers as published", "Value", "Left out"], rows, numeric=(1, 2), caption="What numbers keep")
    ]
    if kept["classes"]:
        mixed = [
            [name, *(cell(f"statistics.classes.{name}.{key}", mix[key], form(mix[key])) for key, _, form in MIXES)]
            for name, mix in kept["classes"].items()
        ]
        headings = ["Sensitive attribute", *(label for _, label, _ in MIXES)]
        parts.append(table(headings, mixed, numeric=range(1, len(headings)), caption="How groups mix sensitive values"))
    return parts


def _distribution(name: str, column: Numbers) -> Markup | None:
    classes = column.get("classes")
    if not classes:
        return None
    labels = [entry["label"] for entry in classes]
    series = [
        Series("before", "before", shares([entry["before"] for entry in classes])),
        Series("after", "after", shares([entry["after"] for entry in classes])),
    ]
    title = f"‘{name}’"
    if column.get("kind") not in ("number", "date"):
        texts = [[share(value, 1) for value in each.values] for each in series]
        chart = bar_chart(labels, series, title=title, description=told_of(labels, series), texts=texts,
                          across="share of the records")  # fmt: skip
    else:
        short = [_lower_end(label) for label in labels]
        chart = column_chart(short, series, title=title, description=told_of(labels, series), height=130,
                             across=f"lower end of a class of ‘{name}’", upwards="share of the records")  # fmt: skip
    key = f"report.cost.columns.{name}.classes"
    rows = [
        [entry["label"], cell(f"{key}.{at}.before", entry["before"], count(entry["before"])),
         el("td", share(series[0].values[at]), class_="n"),
         cell(f"{key}.{at}.after", entry["after"], count(entry["after"])),
         el("td", share(series[1].values[at]), class_="n")]
        for at, entry in enumerate(classes)
    ]  # fmt: skip
    return figure(
        chart, title=title,
        caption=f"{share(column['total_variation'])} of the records seem to be in another class.",
        table=table(["Class", "Records before", "Share", "Records after", "Share"], rows, numeric=range(1, 5)),
    )  # fmt: skip


def _lower_end(label: str) -> str:
    """The lower end of a class of numbers or dates, which is all that a chart has room for."""
    for words_before, sign in (("up to ", "≤"), ("under ", "<")):
        if label.startswith(words_before):
            return sign + label.removeprefix(words_before).removesuffix(" or missing")
    return label.removesuffix(" and over") + "+" if label.endswith(" and over") else label.split(" to ")[0]


def _correlations(numbers: Numbers) -> Content:
    pairs = [pair for pair in numbers["report"]["cost"]["correlations"] if pair["before"] is not None]
    if not pairs:
        return None
    labels = [f"{pair['first']} and {pair['second']}" for pair in pairs]
    return _dumbbells(
        labels, pairs, low=-1.0, high=1.0, title="Correlations",
        caption="Pearson’s correlation of each two numbers, before and after; a range stands as its middle. A dash: "
                "the release shows no numbers.",
        key="report.cost.correlations", across="Pearson’s correlation",
    )  # fmt: skip


def _dependences(numbers: Numbers) -> Content:
    pairs = [pair for pair in numbers["report"]["cost"]["dependences"] if pair["before"] is not None]
    if not pairs:
        return None
    labels = [f"{pair['quasi']} and {pair['sensitive']}" for pair in pairs]
    largest = max(value for pair in pairs for value in (pair["before"], pair["after"]) if value is not None)
    return _dumbbells(
        labels, pairs, low=0.0, high=1.0 if largest > 0.5 else 0.5 if largest > 0.2 else 0.2,
        title="Dependence of sensitive attributes on quasi-identifiers",
        caption="Cramér’s V by the classes above: 0 where one tells nothing of the other, 1 where it tells all. What "
                "an analyst can still find out.",
        key="report.cost.dependences", across="Cramér’s V",
    )  # fmt: skip


def _dumbbells(
    labels: Sequence[str],
    pairs: Sequence[Numbers],
    *,
    low: float,
    high: float,
    title: str,
    caption: str,
    key: str,
    across: str,
) -> Markup:
    before, after = [pair["before"] for pair in pairs], [pair["after"] for pair in pairs]
    told = "; ".join(f"{label}: {number(a, 2)} before, {number(b, 2)} after"
                     for label, a, b in zip(labels, before, after, strict=True))  # fmt: skip
    chart = dumbbell_chart(labels, before, after, title=title, description=told, low=low, high=high,
                           across=across)  # fmt: skip
    rows = [[label, cell(f"{key}.{at}.before", a, number(a)), cell(f"{key}.{at}.after", b, number(b))]
            for at, (label, a, b) in enumerate(zip(labels, before, after, strict=True))]  # fmt: skip
    return figure(chart, title=title, caption=caption,
                  table=table(["", "Before", "After"], rows, numeric=(1, 2)))  # fmt: skip
