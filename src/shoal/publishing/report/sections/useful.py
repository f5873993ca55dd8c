"""What can still be done with a release: a column predicted, marginals and associations, random counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.publishing.report import words
from shoal.publishing.report.charts import Series, bar_chart, dumbbell_chart, figure
from shoal.publishing.report.markup import Content, Markup, el
from shoal.publishing.report.numbers import count, number, quantity, share
from shoal.publishing.report.page import cell, table

Numbers = Mapping[str, Any]

WHO = (("release", "taught on the release"), ("original", "taught on the original"), ("blind", "blind guess"))
"""Who predicts, in the order of the report."""
MEASURES = {
    "classes": (("accuracy", "Right"), ("auc", "Area under the curve")),
    "number": (("mean_absolute_error", "Mean error"), ("r2", "Variance explained (R²)")),
}
AS_SHARES = ("accuracy",)


def useful(numbers: Numbers) -> Content:
    """What was measured for the column that an analyst wants to predict."""
    told = numbers["usefulness"]
    return [
        el("p", words.typeset(words.about_prediction(numbers))),
        [_predicted(told)] if told["why_not"] is None else [],
        [el("p", words.typeset(note), class_="soft") for note in told["notes"]],
        _marginals(told),
        _pairs(told),
        _counts(told),
    ]


def _form(measure: str, value: float | None) -> str:
    if measure in AS_SHARES:
        return share(value, 1)
    return number(value, 3) if measure in ("auc", "r2") else quantity(value)


def _predicted(told: Numbers) -> Markup:
    measures = MEASURES[told["kind"]]
    rows: list[Sequence[Content]] = [
        [words.capital(name),
         *(cell(f"usefulness.{who}.{key}", told[who][key], _form(key, told[who][key])) for key, _ in measures)]
        for who, name in WHO
    ]  # fmt: skip
    made = table(["", *(label for _, label in measures)], rows, numeric=range(1, len(measures) + 1))
    key, label = measures[0]
    values = [told[who][key] for who, _ in WHO]
    texts = [_form(key, value) for value in values]
    largest = 1.0 if key in AS_SHARES else max(value for value in values if value is not None) or 1.0
    title = f"Predicting ‘{told['target']}’ of persons kept apart"
    chart = bar_chart(
        [words.capital(name) for _, name in WHO],
        [Series(label.lower(), "after", [None if value is None else value / largest for value in values])],
        title=title, description="; ".join(f"{name}: {text}" for (_, name), text in zip(WHO, texts, strict=True)),
        texts=[texts], to_one=True,
    )  # fmt: skip
    how = (
        "Share of records whose value is named right." if key in AS_SHARES else "Mean error, in the column’s own unit."
    )
    return figure(
        chart, title=title, table=made,
        caption=f"{how} {count(told['persons'])} persons in three parts: each part is predicted by what the records of "
                f"the other two teach, as published and as they were. Predicted from {words.quoted(told['features'])}.",
    )  # fmt: skip


def _marginals(told: Numbers) -> Content:
    known = {name: value for name, value in told["marginals"].items() if value is not None}
    if not known:
        return None
    values = list(known.values())
    top = next(end for end in (0.05, 0.1, 0.2, 0.5, 1.0) if max(values) <= end)
    texts = [share(value) for value in values]
    title = "Marginals: records that seem to be in another class"
    chart = bar_chart(
        list(known), [Series("total variation", "after", [value / top for value in values])], title=title,
        description="; ".join(f"{name}: {text}" for name, text in zip(known, texts, strict=True)), texts=[texts],
        to_one=True,
    )  # fmt: skip
    rows = [[name, cell(f"usefulness.marginals.{name}", value, share(value))] for name, value in known.items()]
    return figure(
        chart, title=title, table=table(["Quasi-identifier", "Total variation"], rows, numeric=(1,)),
        caption=f"Half the sum of the differences of all shares, before and after. A full bar is {share(top, 0)}.",
    )  # fmt: skip


def _pairs(told: Numbers) -> Content:
    """Correlations and Cramér's V, each on its scale."""
    drawn = []
    listed = list(enumerate(told["pairs"]))
    for measure, title, caption in (
        ("correlation", "Numbers that go together", "Pearson’s correlation; a range stands as its middle."),
        ("cramers_v", "Categories that go together", "Cramér’s V by classes: 0 where one tells nothing of the other, 1 "
                                                    "where it tells all. A range or set is spread over its values."),
    ):  # fmt: skip
        pairs = [(at, pair) for at, pair in listed if pair["measure"] == measure]
        if pairs:
            drawn.append(_dumbbells(pairs, title, f"{caption} A dash: the release shows nothing of it."))
    return drawn


def _dumbbells(pairs: Sequence[tuple[int, Numbers]], title: str, caption: str) -> Markup:
    labels = [f"{pair['first']} and {pair['second']}" for _, pair in pairs]
    before, after = [pair["before"] for _, pair in pairs], [pair["after"] for _, pair in pairs]
    known = [value for value in (*before, *after) if value is not None]
    high = next(end for end in (0.2, 0.5, 1.0) if max(map(abs, known)) <= end)
    told = "; ".join(f"{label}: {number(a, 2)} before, {number(b, 2)} after"
                     for label, a, b in zip(labels, before, after, strict=True))  # fmt: skip
    chart = dumbbell_chart(
        labels, before, after, title=title, description=told, low=-high if min(known) < 0 else 0.0, high=high,
        across="correlation" if pairs[0][1]["measure"] == "correlation" else "Cramér’s V",
    )  # fmt: skip
    rows = [
        [label, cell(f"usefulness.pairs.{at}.before", pair["before"], number(pair["before"])),
         cell(f"usefulness.pairs.{at}.after", pair["after"], number(pair["after"]))]
        for label, (at, pair) in zip(labels, pairs, strict=True)
    ]  # fmt: skip
    return figure(chart, title=title, caption=caption,
                  table=table(["", "Before", "After"], rows, numeric=(1, 2)))  # fmt: skip


def _counts(told: Numbers) -> Content:
    error = told["counts"]
    if error is None:
        return None
    rows: list[Sequence[Content]] = [
        [label, cell(f"usefulness.counts.{n}", error[n], count(error[n])),
         cell(f"usefulness.counts.{key}", error[key], share(error[key]))]
        for label, n, key in (
            ("All counts", "n_queries", "all"),
            ("of less than 1 % of the records", "n_below_1_percent", "below_1_percent"),
            ("of more", "n_at_least_1_percent", "at_least_1_percent"),
        )
    ]  # fmt: skip
    return [
        el("h3", "Random counts"),
        el("p", "How many records meet one to four random conditions, answered from the release. The error is relative "
                "to the true count."),
        table(["", "Counts", "Mean relative error"], rows, numeric=(1, 2)),
    ]  # fmt: skip
