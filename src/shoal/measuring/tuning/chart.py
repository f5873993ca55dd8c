"""The frontier as a picture: what each setting risks, and what it loses. One SVG file that loads nothing."""

from __future__ import annotations

from shoal.measuring.tuning.frontier import Tuning
from shoal.measuring.tuning.targets import Target
from shoal.measuring.tuning.workbench import Point
from shoal.publishing.report.charts import (
    LOSSES,
    RISKS,
    Dot,
    Mark,
    frontier_chart,
    percent,
    plain,
    risk_name,
    standing_alone,
)


def frontier_svg(tuning: Tuning) -> str:
    """Risk against loss, the settings tried, the frontier between them, the target and the chosen setting."""
    first = tuning.targets[0]
    told_risk = percent if first.key in RISKS else plain
    told_loss = percent if tuning.minimise in LOSSES else plain
    dot_of = {id(point): _dot(point, first, tuning) for point in tuning.points}
    chart = frontier_chart(
        list(dot_of.values()),
        line=[dot_of[id(point)] for point in tuning.frontier],
        chosen=next((dot_of[id(point)] for point in tuning.points if point is tuning.chosen), None),
        limit=Mark(
            f"target: at {'least' if first.at_least else 'most'} {told_risk(float(first.limit))}", float(first.limit)
        ),
        risk_name=risk_name(first.name),
        loss_name=LOSSES.get(tuning.minimise, f"{tuning.minimise}, lost"),
        told_risk=told_risk,
        told_loss=told_loss,
        title="Risk against loss",
        description=_described(tuning, first),
    )
    return standing_alone(chart)


def _dot(point: Point, first: Target, tuning: Tuning) -> Dot:
    with_effort = point.method != tuning.points[0].method
    is_best = with_effort or any(point is other for other in tuning.frontier)
    style = "tried" if not is_best else "met" if point.meets else "unmet"
    return Dot(point.reached[first.name], point.loss, style, _setting(point))


def _setting(point: Point) -> str:
    return ", ".join(f"{name} {asked:g}" for name, asked in point.setting().items())


def _described(tuning: Tuning, first: Target) -> str:
    said = f"{len(tuning.points)} settings tried; {len(tuning.frontier)} lie on the frontier. Target: {first}."
    if tuning.chosen is None:
        return said
    point = tuning.chosen
    return (
        f"{said} Chosen: {_setting(point)}, with {first.name} {point.reached[first.name]:.4g} and a loss of "
        f"{point.loss:.4g}."
    )
