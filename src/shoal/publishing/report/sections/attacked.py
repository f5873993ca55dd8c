"""The attacks that were tried, beside blind guessing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.attacking.contract import Attack
from shoal.attacking.suite import ATTACKS
from shoal.publishing.report import words
from shoal.publishing.report.charts import Series, bar_chart, figure
from shoal.publishing.report.markup import Content, el
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.page import cell, table

Numbers = Mapping[str, Any]


def attacked(numbers: Numbers) -> Content:
    """The findings of all attacks, as a table and a chart; and of those that know the original."""
    left_out = numbers["report"].get("left_out", {}).get("attacks")
    return [
        _strongest(numbers),
        _found(numbers),
        el("p", left_out, class_="soft") if left_out else None,
        _suite(numbers),
    ]


def _strongest(numbers: Numbers) -> Content:
    told = words.about_strongest(numbers)
    return [el("h3", "The strongest attack"), [el("p", sentence) for sentence in told]] if told else []


def _suite(numbers: Numbers) -> Content:
    """What attacks that were tried with the original at hand got, by what the attacker knows."""
    suite = numbers["report"].get("suite")
    if suite is None:
        return []
    rows: list[Sequence[Content]] = []
    for at, result in enumerate(suite["attacks"]):
        key = f"report.suite.attacks.{at}"
        bound = "" if result["is_exact"] else f"{ATTACKS.get(result['attack'], Attack).bound} "
        rows.append([[el("strong", words.capital(result["name"])), el("br"), f"Knows: {result['knows']}", el("br"),
                      el("span", f"Right where {result['aim']}.", class_="soft")],
                     cell(f"{key}.success", result["success"], bound + share(result["success"])),
                     cell(f"{key}.low", result["low"], f"{share(result['low'])} to {share(result['high'])}"),
                     cell(f"{key}.blind", result["blind"], share(result["blind"])),
                     cell(f"{key}.targets", result["targets"], count(result["targets"]))])  # fmt: skip
    untried = [f"Not tried: {each['attack']}. {each['why']}" for each in suite["not_tried"]]
    made = table(["Attack", "Success", "95 % interval", "Blind", "Persons"], rows, numeric=(1, 2, 3, 4)) if rows else []
    return [
        el("h3", "Attacks that know the original"),
        el("p", "The attacker is given what the original says of each person attacked. Success is the share of them "
                "for whom the attacker is right; the interval is Wilson’s, persons taken as drawn from others like "
                "them."),
        made,
        [el("p", sentence, class_="soft") for sentence in untried],
    ]  # fmt: skip


def _found(numbers: Numbers) -> Content:
    found = numbers["report"]["attacks"]
    if not found:
        return el("p", "No attack that the report knows applies to this release.")
    rows: list[Sequence[Content]] = []
    labels: list[str] = []
    attempts = [(finding, attempt) for finding in found for attempt in finding["attempts"]]
    for at, finding in enumerate(found):
        for place, attempt in enumerate(finding["attempts"]):
            key = f"report.attacks.{at}.attempts.{place}"
            about = [el("strong", words.capital(finding["name"])), el("br"),
                     f"Knows {finding['knows']}; {finding['does']}.", el("br")] if not place else []  # fmt: skip
            at_least = "" if attempt["is_exact"] else "at least "
            rows.append([[about, el("span", words.capital(attempt["what"]), class_="soft")],
                         cell(f"{key}.before", attempt["before"], share(attempt["before"])),
                         cell(f"{key}.success", attempt["success"], at_least + share(attempt["success"])),
                         cell(f"{key}.blind", attempt["blind"], share(attempt["blind"]))])  # fmt: skip
            labels.append(attempt["label"])
    series = [Series("success on the release", "after", [attempt["success"] for _, attempt in attempts])]
    blind = Series("blind guessing", "mark", [attempt["blind"] for _, attempt in attempts])
    texts = [[share(value) for value in series[0].values]]
    told = "; ".join(f"{label}: {share(a)}, blind {share(b)}"
                     for label, a, b in zip(labels, series[0].values, blind.values, strict=True))  # fmt: skip
    title = "Success of attacks on the release, beside blind guessing"
    chart = bar_chart(
        labels,
        series,
        title=title,
        description=told,
        texts=texts,
        marks=blind,
        to_one=True,
        across="persons for whom it is right, of 100 %",
    )
    tried = {finding["name"]: finding["persons"] for finding in found if finding["persons"] < numbers["persons"]}
    drawn = [f"‘{name}’ was tried on {words.persons(n)}, in groups drawn at random." for name, n in tried.items()]
    return [
        el("p", "Shares of persons for whom the adversary is right. Before: the same on the table as it was. Blind: "
                "without the release. An attack that exposes nobody is no proof of safety; somebody may know more."),
        table(["Attack", "Before", "Release", "Blind"], rows, numeric=(1, 2, 3)),
        [el("p", sentence, class_="soft") for sentence in drawn],
        figure(chart, title=title, caption="Shares of persons. The numbers stand in the table above."),
    ]  # fmt: skip
