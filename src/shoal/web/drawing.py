"""What the pages show as charts, drawn by `publishing.report.charts`; the points of the frontier can be chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.measuring.tuning.frontier import undominated
from shoal.publishing.report.charts import Dot, Mark, Series, column_chart, figure, frontier_chart, percent, plain
from shoal.publishing.report.markup import Markup, el
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.page import shares, short, table, told_of


def counted(
    labels: Sequence[str], counts: Sequence[int], *, title: str, caption: str, unit: str, across: str
) -> Markup:
    """A distribution over classes, as shares, with its counts in a table beneath; `across` says what classes are of."""
    series = [Series("now: the table as it is", "after", shares(counts))]
    rows = [
        [label, el("td", count(n), class_="n"), el("td", share(part), class_="n")]
        for label, n, part in zip(labels, counts, shares(counts), strict=True)
    ]
    chart = column_chart(
        [short(label) for label in labels], series, title=title, description=told_of(labels, series),
        across=across,
        upwards=f"share of the {unit}",
    )  # fmt: skip
    numbers = table(["Class", unit.capitalize(), "Share"], rows, numeric=(1, 2), caption=f"{title}: the numbers")
    return figure(chart, title=title, caption=caption, table=numbers)


def bars(heading: str, labels: Sequence[str], counts: Sequence[int], *, of: int, unit: str, title: str) -> Markup:
    """A table of counts with a bar behind each: its share of a whole."""
    rows = [
        el("tr", el("th", label, scope="row"), el("td", count(n), class_="n"), el("td", share(n / of, 1), class_="n"),
           el("td", el("span", "", class_="bar", style=f"width: {100 * n / of:.2f}%"), class_="bar-cell"))
        for label, n in zip(labels, counts, strict=True)
    ]  # fmt: skip
    head = el("tr", el("th", heading, scope="col"), el("th", unit, scope="col", class_="n"),
              el("th", "Share", scope="col", class_="n"), el("td", ""))  # fmt: skip
    made = el("table", el("caption", title), el("thead", head), el("tbody", rows), class_="bars")
    return el("div", made, class_="scroll", role="region", aria_label=title, tabindex="0")


# --- the frontier --------------------------------------------------------------------------------------------------

Points = Sequence[Mapping[str, Any]]


def frontier_of(points: Points, target: str, *, at_least: bool = False) -> list[Mapping[str, Any]]:
    """The points that no other beats in both the risk and the loss, from safe to risky; as `Tuning.frontier`."""
    alike = [point for point in points if point["method"] == points[0]["method"]]
    sign = -1.0 if at_least else 1.0
    return undominated(alike, lambda point: (sign * point["reached"][target], point["minimised"]))


def worth_choosing(points: Points, target: str) -> list[Mapping[str, Any]]:
    """The frontier, and what was tried with more effort than it, from safe to risky."""
    with_effort = [point for point in points if point["method"] != points[0]["method"]]
    return sorted([*frontier_of(points, target), *with_effort], key=lambda point: float(point["reached"][target]))


def setting_in_words(point: Mapping[str, Any]) -> str:
    """The models of a point with their thresholds."""
    return ", ".join(f"{name} {asked:.4g}" for name, asked in point["models"].items())


def frontier_svg(
    points: Points,
    *,
    target: str,
    limit: float,
    chosen: int | None,
    risk_name: str,
    loss_name: str,
    is_share: bool,
    width: int = 480,
) -> Markup:
    """Risk against loss: every setting tried, the frontier between them, the limit, and the chosen setting.

    Points of the frontier, and those tried with more effort, are buttons; `data-point` holds their number.
    """
    offered = {point["number"] for point in worth_choosing(points, target)}
    told_risk = percent if is_share else plain

    def dot(point: Mapping[str, Any]) -> Dot:
        risk, is_offered = point["reached"][target], point["number"] in offered
        told = (
            f"{risk_name} {share(risk, 1) if is_share else f'{risk:.4g}'}, {loss_name} {share(point['loss'], 1)}"
            f"{'' if point['meets'] else ', above a limit'}"
        )
        style = "tried" if not is_offered else "met" if point["meets"] else "unmet"
        return Dot(risk, point["minimised"], style, told, point["number"] if is_offered else None)

    dots = {point["number"]: dot(point) for point in points}
    return frontier_chart(
        sorted(dots.values(), key=lambda dot: (dot.style != "tried", dot.risk)),
        line=[dots[point["number"]] for point in frontier_of(points, target)],
        chosen=None if chosen is None else dots.get(chosen),
        limit=Mark(f"limit: at most {told_risk(limit)}", limit),
        risk_name=risk_name,
        loss_name=loss_name,
        told_risk=told_risk,
        told_loss=percent,
        title=f"{risk_name} against {loss_name}",
        description=f"{len(points)} settings tried, {len(offered)} worth choosing.",
        width=width,
    )
