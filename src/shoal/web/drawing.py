"""Charts of the pages, as SVG with their numbers in words; drawn by `publishing.report.charts`, coloured by the style.

The frontier is drawn here, since its points can be chosen: each is a button inside the drawing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.publishing.report.charts import Series, column_chart, figure
from shoal.publishing.report.markup import Markup, el, joined
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.page import shares, table, told_of

WIDTH, HEIGHT = 1120, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 24, 40, 58


def counted(
    labels: Sequence[str],
    counts: Sequence[int],
    *,
    title: str,
    caption: str,
    unit: str,
    mark_at: float | None = None,
    mark: str = "",
) -> Markup:
    """A distribution over classes, as shares, with its counts in a table beneath."""
    series = [Series("now: the table as it is", "after", shares(counts))]
    rows = [
        [label, el("td", count(n), class_="n"), el("td", share(part), class_="n")]
        for label, n, part in zip(labels, counts, shares(counts), strict=True)
    ]
    chart = column_chart(
        [_short(label) for label in labels],
        series,
        title=title,
        description=told_of(labels, series),
        height=170,
        width=480,
        mark_at=mark_at,
        mark=mark,
    )
    numbers = table(["Class", unit.capitalize(), "Share"], rows, numeric=(1, 2), caption=f"{title}: the numbers")
    return figure(chart, title=title, caption=caption, legend=series, table=numbers)


def _short(label: str) -> str:
    """A class as the axis has room for it."""
    return label.replace("up to ", "≤").replace("over ", ">")


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
    sign = -1.0 if at_least else 1.0
    alike = [point for point in points if point["method"] == points[0]["method"]]
    by_risk = sorted(alike, key=lambda point: (sign * point["reached"][target], point["loss"]))
    kept: list[Mapping[str, Any]] = []
    for point in by_risk:
        if not kept or point["loss"] < kept[-1]["loss"]:
            kept.append(point)
    return kept


def worth_choosing(points: Points, target: str) -> list[Mapping[str, Any]]:
    """The frontier, and what was tried with more effort than it, from safe to risky."""
    with_effort = [point for point in points if point["method"] != points[0]["method"]]
    return sorted([*frontier_of(points, target), *with_effort], key=lambda point: float(point["reached"][target]))


def setting_in_words(point: Mapping[str, Any]) -> str:
    """The models of a point with their thresholds."""
    return ", ".join(f"{name} {asked:.4g}" for name, asked in point["models"].items())


@dataclass(frozen=True)
class Axes:
    """Where risk and loss lie in the drawing: the risk to the right by factors, the loss upwards from 0."""

    low: float
    high: float
    most: float

    @classmethod
    def of(cls, points: Points, target: str, limit: float) -> Axes:
        """Axes with room for the points and for the limit."""
        risks = [max(point["reached"][target], 1e-9) for point in points] + [max(limit, 1e-9)]
        most = max((point["loss"] for point in points), default=0.0) * 1.1
        return cls(min(risks) / 1.15, max(risks) * 1.15, most or 1.0)

    def x(self, risk: float) -> float:
        """How far to the right."""
        part = math.log(max(risk, 1e-9) / self.low) / math.log(self.high / self.low)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, loss: float) -> float:
        """How far from the top."""
        return HEIGHT - BOTTOM - loss / self.most * (HEIGHT - TOP - BOTTOM)


def frontier_svg(
    points: Points, *, target: str, limit: float, chosen: int | None, risk_name: str, loss_name: str, is_share: bool
) -> Markup:
    """Risk against loss: every setting tried, the frontier between them, the limit, and the chosen setting.

    Points of the frontier, and those tried with more effort, are buttons; `data-point` holds their number.
    """
    axes = Axes.of(points, target, limit)
    frontier, offered = frontier_of(points, target), worth_choosing(points, target)
    numbers = {point["number"] for point in offered}
    others = [point for point in points if point["number"] not in numbers]
    line = " ".join(f"{axes.x(p['reached'][target]):.1f},{axes.y(p['loss']):.1f}" for p in frontier)
    drawn = [
        *_frame(axes, risk_name, loss_name, is_share),
        *_limit(axes, limit, is_share),
        el("polyline", points=line, class_="frontier-line") if len(frontier) > 1 else "",
        *(_tried(point, axes, target) for point in others),
        *(_choosable(point, axes, target, risk_name, loss_name, is_share, chosen) for point in offered),
    ]
    return el(
        "svg",
        joined(drawn),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="group",
        aria_label=f"{risk_name} against {loss_name}: {len(points)} settings tried, {len(offered)} worth choosing",
        class_="chart frontier",
    )


def _risk(value: float, is_share: bool) -> str:
    return share(value, 1) if is_share else f"{value:.4g}"


def _frame(axes: Axes, risk_name: str, loss_name: str, is_share: bool) -> list[Markup]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for risk in ticks(axes.low, axes.high):
        x = round(axes.x(risk), 1)
        parts.append(el("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid"))
        text = f"{100 * risk:g} %" if is_share else f"{risk:g}"
        parts.append(el("text", text, x=x, y=bottom + 18, class_="tick middle"))
    for loss in even_steps(axes.most):
        y = round(axes.y(loss), 1)
        parts.append(el("line", x1=LEFT, x2=right, y1=y, y2=y, class_="grid" if loss else "axis"))
        parts.append(el("text", f"{100 * loss:g} %", x=LEFT - 8, y=y + 4, class_="tick end"))
    parts.append(el("text", f"{risk_name} \N{RIGHTWARDS ARROW}", x=right, y=HEIGHT - 12, class_="label end"))
    parts.append(el("text", f"\N{UPWARDS ARROW} {loss_name}", x=8, y=TOP - 20, class_="label"))
    return parts


def _limit(axes: Axes, limit: float, is_share: bool) -> list[Markup]:
    x = round(axes.x(limit), 1)
    is_late = x > WIDTH * 0.75
    told = f"at most {100 * limit:.4g} %" if is_share else f"at most {limit:.4g}"
    return [
        el("line", x1=x, x2=x, y1=TOP - 4, y2=HEIGHT - BOTTOM, class_="mark"),
        el("text", told, x=x - 6 if is_late else x + 6, y=TOP + 8,
           class_=f"note{' end' if is_late else ''}"),
    ]  # fmt: skip


def _tried(point: Mapping[str, Any], axes: Axes, target: str) -> Markup:
    return el("circle", cx=round(axes.x(point["reached"][target]), 1), cy=round(axes.y(point["loss"]), 1), r=4,
              class_="tried")  # fmt: skip


def _choosable(
    point: Mapping[str, Any], axes: Axes, target: str, risk_name: str, loss_name: str, is_share: bool,
    chosen: int | None,
) -> Markup:  # fmt: skip
    x, y = round(axes.x(point["reached"][target]), 1), round(axes.y(point["loss"]), 1)
    is_chosen = point["number"] == chosen
    told = (
        f"{risk_name} {_risk(point['reached'][target], is_share)}, {loss_name} {share(point['loss'], 1)}"
        f"{'' if point['meets'] else ', above a limit'}"
    )
    kind = "met" if point["meets"] else "unmet"
    return el(
        "g",
        el("title", told),
        el("circle", cx=x, cy=y, r=13, class_="reach"),
        el("circle", cx=x, cy=y, r=5.5, class_=f"point {kind}"),
        el("circle", cx=x, cy=y, r=10, class_="ringed") if is_chosen else None,
        role="button",
        tabindex="0",
        aria_label=told,
        aria_pressed="true" if is_chosen else "false",
        data_point=str(point["number"]),
        class_="choosable",
    )


def ticks(low: float, high: float) -> list[float]:
    """Round numbers 1, 2, 5 times a power of ten between two others."""
    found = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        found += [float(f"{digit}e{power}") for digit in (1, 2, 5) if low <= float(f"{digit}e{power}") <= high]
    return found


def even_steps(most: float) -> list[float]:
    """From 0 in round steps up to a number, four to eight of them."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if most / (times * power) <= 6)
    return [round(number * step, 12) for number in range(int(most / step) + 1)]
