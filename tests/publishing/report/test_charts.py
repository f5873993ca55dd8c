"""Charts have round ticks, texts that have room beside each other, and a name for every line and colour."""

from __future__ import annotations

import itertools
import math
import re
from decimal import Decimal
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.publishing.report import axes
from shoal.publishing.report.charts import (
    Dot,
    Mark,
    Series,
    bar_chart,
    column_chart,
    dumbbell_chart,
    frontier_chart,
    percent,
    plain,
)
from shoal.publishing.report.markup import Markup
from tests.publishing.report.pages import Element, Page

TOLD = {"title": "t", "description": "d"}
LABELS = {
    "two": ["no", "yes"],
    "classes": ["≤5%", "5–10%", "10–20%", "20–33%", "33–50%", "50–75%", ">75%", "100%"],
    "long": ["Influenza, virus not identified, with other manifestations", 20 * "M", "心房細動と心房粗動", "A"],
    "forty": [f"{10 * at} to {10 * at + 10} years" for at in range(40)],
}  # fmt: skip


def is_round(tick: float) -> bool:
    """Whether a number has one or two digits that are not 0, and no more."""
    return len(Decimal(repr(tick)).normalize().as_tuple().digits) <= 2


@given(st.floats(1e-6, 1e6), st.integers(3, 8))
def test_even_ticks_are_round_even_and_few(high: float, at_most: int) -> None:
    ticks = axes.even_ticks(0.0, high, at_most)
    assert ticks[0] == 0
    assert 2 <= len(ticks) <= at_most + 1
    assert ticks[-1] <= high * (1 + 1e-9)
    step = ticks[1]
    assert Decimal(repr(step)).normalize().as_tuple().digits in {(1,), (2,), (5,)}
    assert ticks == pytest.approx([step * number for number in range(len(ticks))])


@given(st.floats(0, 1e6))
def test_the_last_tick_is_over_every_value(largest: float) -> None:
    ticks = axes.ticks_up_to(largest)
    assert ticks[-1] >= largest
    assert 2 <= len(ticks) <= 7
    assert all(map(is_round, ticks))


def test_ticks_are_not_a_quarter_of_whatever_was_measured() -> None:
    assert axes.ticks_up_to(0.0487) == [0, 0.01, 0.02, 0.03, 0.04, 0.05]
    assert axes.even_ticks(-1, 1, 5) == [-1, -0.5, 0, 0.5, 1]
    assert next(axes.ticks_by_factors(0.009, 0.3)) == [0.01, 0.02, 0.05, 0.1, 0.2]
    assert next(axes.ticks_by_factors(0.23, 0.31)) == [0.24, 0.26, 0.28, 0.3]


class Text(NamedTuple):
    """A text in a drawing, and the box it takes."""

    text: str
    left: float
    right: float
    baseline: float
    is_turned: bool


def text_of(element: Element) -> Text:
    kinds, x = element.attributes["class"].split(), float(element.attributes["x"])
    wide = axes.width_of(element.text)
    left = x - wide if "end" in kinds else x - wide / 2 if "middle" in kinds else x
    return Text(element.text, left, left + wide, float(element.attributes["y"]), "transform" in element.attributes)


def refuse_collisions(chart: Markup) -> None:
    """Texts on a line do not meet, turned ones are further apart than letters are tall, and none leaves the drawing."""
    (svg,) = Page(chart).all("svg")
    _, _, width, height = map(float, svg.attributes["viewbox"].split())
    texts = [text_of(each) for each in svg.all("text")]
    turned, level = [each for each in texts if each.is_turned], [each for each in texts if not each.is_turned]
    for one, other in itertools.combinations(level, 2):
        meet = one.left < other.right and other.left < one.right
        assert not (meet and abs(one.baseline - other.baseline) < axes.LETTERS - 1), (one, other)
    for each in level:
        assert each.left >= -0.1, each
        assert each.right <= width + 0.1, each
        assert each.baseline <= height, each
    angle = math.radians(38)
    for one, other in itertools.pairwise(turned):
        assert abs(other.right - one.right) * math.sin(angle) >= axes.LETTERS, (one, other)
    for each in turned:
        long = each.right - each.left
        assert each.right - long * math.cos(angle) >= -0.1, each
        assert each.baseline + long * math.sin(angle) <= height, each


@pytest.mark.parametrize("width", [420, 480])
@pytest.mark.parametrize("kind", LABELS)
def test_no_text_meets_another(kind: str, width: int) -> None:
    labels = LABELS[kind]
    values = [(7 * at % 11) / 29 for at in range(len(labels))]
    series = [Series("before: the table as it was", "before", values), Series("after: the release", "after", values)]
    texts = [["under 0.01 %" for _ in labels], ["at least 20.00 %" for _ in labels]]
    refuse_collisions(
        column_chart(
            labels,
            series,
            mark=Mark("asked: at most 10 %", 1.5),
            width=width,
            across="share of the records",
            upwards="share of the persons",
            **TOLD,
        )
    )
    blind = Series("blind guessing", "mark", values)
    refuse_collisions(
        bar_chart(labels, series, texts=texts, marks=blind, width=width, across="persons for whom it is right", **TOLD)
    )
    refuse_collisions(
        dumbbell_chart(labels, values, [None, *values[1:]], low=-1, high=1, across="correlation", width=width, **TOLD)
    )


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=8), st.floats(0, 1))
@example([(1e-5, 0.5)], 1e-5)
@settings(max_examples=300)
def test_a_frontier_has_ticks_that_do_not_meet(points: list[tuple[float, float]], limit: float) -> None:
    dots = [Dot(risk, loss, "met", "told") for risk, loss in points]
    chart = frontier_of(dots, limit)
    refuse_collisions(chart)
    (svg,) = Page(chart).all("svg")
    _, _, width, height = map(float, svg.attributes["viewbox"].split())
    for circle in svg.all("circle"):
        assert 0 <= float(circle.attributes["cx"]) <= width
        assert 0 <= float(circle.attributes["cy"]) <= height


def frontier_of(dots: list[Dot], limit: float) -> Markup:
    return frontier_chart(
        dots, line=dots, chosen=dots[0], limit=Mark("limit", limit), risk_name="risk", loss_name="loss",
        told_risk=plain, told_loss=percent, **TOLD,
    )  # fmt: skip


def test_a_risk_of_nothing_has_a_place_on_a_scale_of_factors() -> None:
    chart = frontier_of([Dot(0.0, 0.4, "tried", "a"), Dot(0.1, 0.2, "met", "b")], 0.2)
    ticks = [each.text for each in Page(chart).all("text") if each.attributes["class"] == "tick middle"]
    assert ticks[0] == "0"
    assert "1e-09" not in chart


def styles_of(chart: Markup) -> tuple[set[str], set[str]]:
    """The styles that are drawn, and those that the legend names."""
    drawn = {"before", "after", "ring", "dot", "mark", "line", "met", "unmet", "tried", "chosen"}
    kinds = {each.attributes.get("class", "") for each in Page(chart).elements()}
    return kinds & drawn, {kind.removeprefix("key ") for kind in kinds if kind.startswith("key ")}


def test_every_line_and_colour_is_named_in_the_legend() -> None:
    series = [Series("before", "before", [0.1, 0.2]), Series("after", "after", [0.2, 0.1])]
    dots = [Dot(0.1, 0.4, "met", "a"), Dot(0.2, 0.2, "unmet", "b"), Dot(0.2, 0.3, "tried", "c")]
    blind = Series("blind guessing", "mark", [0.1, 0.2])
    for chart in (
        column_chart(["a", "b"], series, mark=Mark("asked: at most 10 %", 0.5), **TOLD),
        column_chart(["a", "b"], series[1:], mark=Mark("asked: at most 10 %", 0.5), **TOLD),
        bar_chart(["a", "b"], series, texts=[["", ""]] * 2, marks=blind, **TOLD),
        dumbbell_chart(["a"], [0.1], [0.2], low=0, high=1, across="V", **TOLD),
        frontier_of(dots, 0.15),
    ):
        used, named = styles_of(chart)
        assert used == named


def test_what_is_dashed_is_so_wherever_it_is_drawn() -> None:
    from importlib.resources import files

    style = files("shoal.publishing.report").joinpath("templates", "chart.css").read_text(encoding="utf-8")
    assert re.search(r"\.chart \.mark \{[^}]*stroke-dasharray", style)
    assert f"font-size: {axes.LETTERS:g}px" in style
