"""Every chart of shoal, as SVG: no browser, no script, readable in grey, with its numbers in words.

The report, the web app and `shoal tune` draw with this file. Before is light with an outline, after is solid, what was
asked for is a dashed line, so that they differ without colour, and each has its name in the legend. Sizes are in
pixels of a drawing that is scaled to the width of the page; colours come from `templates/chart.css`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from shoal.publishing.report.axes import (
    APART,
    LETTERS,
    cut,
    even_ticks,
    that_fit,
    ticks_by_factors,
    ticks_up_to,
    width_of,
)
from shoal.publishing.report.markup import Markup, el
from shoal.publishing.report.numbers import NOT_KNOWN

WIDTH = 400
"""As wide as a telephone: there a pixel of the drawing is about one of the screen, so that its texts can be read."""
LINE = 18
"""How far apart two lines of the legend are."""
SLANT = math.radians(38)
"""How far labels are turned where they have no room beside each other."""
LONGEST_SLANTED = 130.0
LEAST = 1e-9
"""What is smaller is drawn as nothing."""


@dataclass(frozen=True)
class Series:
    """One of the things compared: what it is called, how it is drawn, and its values."""

    name: str
    style: str
    values: Sequence[float | None] = ()


@dataclass(frozen=True)
class Mark:
    """A dashed line across the chart, such as what was asked for: what it is called, and where it lies."""

    name: str
    at: float


def figure(chart: Markup, *, title: str, caption: str, table: Markup | None = None) -> Markup:
    """A chart with its title, what it shows, and the numbers it was drawn from beneath."""
    return el(
        "figure",
        el("figcaption", el("strong", title, class_="figure-title"), el("span", caption, class_="caption")),
        chart,
        el("details", el("summary", "The numbers of this chart"), table, class_="numbers") if table else None,
    )


def column_chart(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    title: str,
    description: str,
    height: int = 150,
    width: int = WIDTH,
    mark: Mark | None = None,
    across: str = "",
    upwards: str = "",
) -> Markup:
    """Columns side by side for each label; values are shares. The mark stands behind so many labels.

    `across` and `upwards` say what the axes show.
    """
    keys = [*series, *([Series(mark.name, "mark")] if mark else [])]
    drawn, top = _legend(keys, width)
    if upwards:
        drawn.append(el("text", cut(f"\N{UPWARDS ARROW} {upwards}", width - 4), x=2, y=top + 8, class_="tick"))
        top += LINE
    ticks = ticks_up_to(max((value for each in series for value in each.values if value is not None), default=0.0))
    texts = [percent(tick) for tick in ticks]
    left, right = max(map(width_of, texts)) + 10, 8.0
    widest = max(map(width_of, labels), default=0.0)
    is_slanted = widest + 2 > (width - left - right) / max(len(labels), 1)
    if is_slanted:
        left = max(left, min(widest, LONGEST_SLANTED) * math.cos(SLANT))
    step = (width - left - right) / max(len(labels), 1)
    bottom = top + height
    for tick, text in zip(ticks, texts, strict=True):
        y = round(bottom - height * tick / ticks[-1], 1)
        drawn.append(el("line", x1=round(left, 1), x2=width - right, y1=y, y2=y, class_="grid" if tick else "axis"))
        drawn.append(el("text", text, x=round(left - 6, 1), y=y + 3.5, class_="tick end"))
    for number, each in enumerate(series):
        wide = 0.82 * step / len(series)
        for at, value in enumerate(each.values):
            if value:
                x, tall = left + (at + 0.09) * step + number * wide, max(height * value / ticks[-1], 1.0)
                drawn.append(_rect(x + 0.5, bottom - tall, max(wide - 1, 1), tall, each.style))
    places = [left + (at + 0.5) * step for at in range(len(labels))]
    drawn += _slanted(labels, places, bottom, step) if is_slanted else _beneath(labels, places, bottom)
    if mark is not None:
        x = round(left + mark.at * step, 1)
        drawn.append(el("line", x1=x, x2=x, y1=top - 4, y2=bottom, class_="mark"))
    deep = 20 + (min(widest, LONGEST_SLANTED) * math.sin(SLANT) if is_slanted else 0)
    if across:
        deep += LINE
        drawn.append(_across(across, width, bottom + deep - 6))
    return _svg(drawn, width, bottom + deep, title, description)


def _across(what: str, width: float, y: float) -> Markup:
    """What the lower axis shows."""
    return el("text", cut(f"{what} \N{RIGHTWARDS ARROW}", width - 4), x=width - 2, y=round(y, 1), class_="tick end")


def _beneath(labels: Sequence[str], places: Sequence[float], bottom: float) -> list[Markup]:
    return [
        el("text", label, x=round(x, 1), y=bottom + 14, class_="tick middle")
        for label, x in zip(labels, places, strict=True)
    ]


def _slanted(labels: Sequence[str], places: Sequence[float], bottom: float, step: float) -> list[Markup]:
    """Labels turned, as many as have room: of forty every second or third."""
    every = math.ceil((LETTERS + 2) / (step * math.sin(SLANT)))
    return [
        el("text", cut(label, LONGEST_SLANTED), x=round(x + 3, 1), y=bottom + 12, class_="tick end",
           transform=f"rotate({-math.degrees(SLANT):g} {x + 3:.1f} {bottom + 12:.1f})")
        for label, x in list(zip(labels, places, strict=True))[::every]
    ]  # fmt: skip


def bar_chart(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    title: str,
    description: str,
    texts: Sequence[Sequence[str]],
    width: int = WIDTH,
    marks: Series | None = None,
    to_one: bool = False,
    across: str = "",
) -> Markup:
    """Bars beneath each other for each label, their values to the right; `marks` are lines across, such as blind.

    `across` says what bars show.
    """
    drawn, top = _legend([*series, *([marks] if marks else [])], width)
    left = min(max(map(width_of, labels), default=0.0), 0.4 * width) + 10
    right = max((width_of(text) for each in texts for text in each), default=0.0) + APART
    thick, apart = 13.0, 9.0
    shown = [value for each in (*series, *([marks] if marks else [])) for value in each.values if value is not None]
    scale = (width - left - right) / (1.0 if to_one else max(*shown, LEAST))
    tall = thick * len(series)
    for at, label in enumerate(labels):
        y = top + at * (tall + apart)
        drawn.append(el("text", cut(label, left - 10), x=round(left - 8, 1), y=y + tall / 2 + 4, class_="label end"))
        for number, (each, text) in enumerate(zip(series, texts, strict=True)):
            value, place = each.values[at], y + number * thick
            if value:
                drawn.append(_rect(left, place + 0.5, max(scale * value, 1.0), thick - 1, each.style))
            drawn.append(el("text", text[at], x=width - 1, y=place + thick / 2 + 3.5, class_="tick end"))
        mark_at = marks.values[at] if marks else None
        if mark_at is not None:
            x = round(left + scale * mark_at, 1)
            drawn.append(el("line", x1=x, x2=x, y1=y - 3, y2=y + tall + 3, class_="mark"))
    bottom = top + len(labels) * (tall + apart) - apart
    drawn.append(el("line", x1=round(left, 1), x2=round(left, 1), y1=top - 2, y2=bottom + 2, class_="axis"))
    if across:
        bottom += LINE
        drawn.append(_across(across, width, bottom + 1))
    return _svg(drawn, width, bottom + 6, title, description)


def dumbbell_chart(
    labels: Sequence[str],
    before: Sequence[float | None],
    after: Sequence[float | None],
    *,
    title: str,
    description: str,
    low: float,
    high: float,
    across: str,
    width: int = WIDTH,
) -> Markup:
    """A line for each label from a ring, before, to a dot, after; `across` says what they stand for."""
    drawn, top = _legend([Series("before", "ring"), Series("after", "dot")], width)
    left = min(max(map(width_of, labels), default=0.0), 0.45 * width) + 16
    right, step, top = 24, 20, top + 16
    bottom = top + step * len(labels)

    def x_of(value: float) -> float:
        return round(left + (width - left - right) * (value - low) / (high - low), 1)

    for tick in that_fit((even_ticks(low, high, most) for most in (5, 4, 2, 1)), x_of, plain, width):
        drawn.append(el("line", x1=x_of(tick), x2=x_of(tick), y1=top - 5, y2=bottom,
                        class_="grid" if tick else "axis"))  # fmt: skip
        drawn.append(el("text", plain(tick), x=x_of(tick), y=top - 9, class_="tick middle"))
    for at, (label, was, now) in enumerate(zip(labels, before, after, strict=True)):
        y = top + step * at + step / 2
        drawn.append(el("text", cut(label, left - 16), x=round(left - 14, 1), y=y + 4, class_="label end"))
        if was is not None and now is not None:
            drawn.append(el("line", x1=x_of(was), x2=x_of(now), y1=y, y2=y, class_="between"))
        if was is not None:
            drawn.append(el("circle", cx=x_of(was), cy=y, r=5, class_="ring"))
        if now is not None:
            drawn.append(el("circle", cx=x_of(now), cy=y, r=4, class_="dot"))
        else:
            drawn.append(el("text", NOT_KNOWN, x=width - 2, y=y + 4, class_="tick end"))
    drawn.append(_across(across, width, bottom + LINE - 4))
    return _svg(drawn, width, bottom + 4 + LINE, title, description)


# --- risk against loss ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dot:
    """A setting that was tried: what it risks and loses, whether it is worth choosing, and what is told of it."""

    risk: float
    loss: float
    style: str
    """met or unmet, where it is worth choosing; tried, where others are better."""
    told: str
    number: int | None = None
    """Where the dot is a button: what its `data-point` says."""


LOSSES = {
    "loss": "lost in what is shown",
    "ane": "mean error of the groups (ANE)",
    "within_variance": "variance lost inside groups",
    "granularity": "detail lost",
}
"""What may be kept small, in words."""
RISKS = {
    "max_gidr": "highest record risk",
    "avg_gidr": "record risk, mean over groups",
    "max_gsar": "highest value risk",
    "avg_gsar": "value risk, mean over groups",
    "h_affiliation": "highest value risk",
    "prosecutor_risk": "highest chance to find a person",
    "journalist_risk": "highest chance to find a person",
    "marketer_risk": "share of persons expected to be found",
    "linkage": "share of persons linked by their numbers",
}
"""Risks that are shares, in words."""


def risk_name(target: str) -> str:
    """What the risk of a target is called on an axis."""
    key, _, column = target.partition(".")
    return RISKS.get(key, key) + (f" of '{column}'" if column else "")


OF_DOTS = {
    "met": "worth choosing, within the limits",
    "unmet": "worth choosing but for a limit",
    "tried": "tried; another is better",
    "line": "frontier",
    "chosen": "chosen",
}
"""What the dots of a frontier are called in its legend."""


def frontier_chart(
    dots: Sequence[Dot],
    *,
    line: Sequence[Dot],
    chosen: Dot | None,
    limit: Mark,
    risk_name: str,
    loss_name: str,
    told_risk: Callable[[float], str],
    told_loss: Callable[[float], str],
    title: str,
    description: str,
    width: int = 480,
    height: int = 230,
) -> Markup:
    """Risk, to the right by factors, against loss, upwards from 0: the settings tried, their frontier and the limit."""
    styles = [style for style in OF_DOTS if any(dot.style == style for dot in dots)]
    styles += ["line"] if len(line) > 1 else []
    styles += ["chosen"] if chosen else []
    drawn, top = _legend([*(Series(OF_DOTS[style], style) for style in styles), Series(limit.name, "mark")], width)
    losses = ticks_up_to(max((dot.loss for dot in dots), default=0.0))
    left, right, top = max(width_of(told_loss(loss)) for loss in losses) + 14, 20.0, top + 22
    bottom = top + height
    risks = [*(dot.risk for dot in dots), limit.at]
    above_zero = [risk for risk in risks if risk > LEAST] or [1.0]
    has_zero = len(above_zero) < len(risks)
    low, high = min(above_zero) / (2.0 if has_zero else 1.15), max(above_zero) * 1.15

    def x_of(risk: float) -> float:
        part = math.log(max(risk, low) / low) / math.log(high / low)
        return round(left + part * (width - left - right), 1)

    def y_of(loss: float) -> float:
        return round(bottom - height * loss / losses[-1], 1)

    ticks = (
        [0.0, *ticks] if has_zero else ticks for ticks in ticks_by_factors(min(above_zero) if has_zero else low, high)
    )
    for tick in that_fit(ticks, x_of, told_risk, width):
        drawn.append(el("line", x1=x_of(tick), x2=x_of(tick), y1=top, y2=bottom, class_="grid"))
        drawn.append(el("text", told_risk(tick), x=x_of(tick), y=bottom + 16, class_="tick middle"))
    for loss in losses:
        drawn.append(el("line", x1=round(left, 1), x2=width - right, y1=y_of(loss), y2=y_of(loss),
                        class_="grid" if loss else "axis"))  # fmt: skip
        drawn.append(el("text", told_loss(loss), x=round(left - 8, 1), y=y_of(loss) + 4, class_="tick end"))
    drawn.append(el("text", cut(f"{risk_name} \N{RIGHTWARDS ARROW}", width - right), x=width - right, y=bottom + 36,
                    class_="label end"))  # fmt: skip
    drawn.append(el("text", cut(f"\N{UPWARDS ARROW} {loss_name}", width - right), x=2, y=top - 14, class_="label"))
    drawn.append(el("line", x1=x_of(limit.at), x2=x_of(limit.at), y1=top - 4, y2=bottom, class_="mark"))
    if len(line) > 1:
        drawn.append(
            el("polyline", points=" ".join(f"{x_of(dot.risk)},{y_of(dot.loss)}" for dot in line), class_="line")
        )
    for dot in dots:
        drawn.append(_dot(dot, x_of(dot.risk), y_of(dot.loss), is_chosen=dot is chosen))
    is_group = any(dot.number is not None for dot in dots)
    return _svg(drawn, width, bottom + 46, title, description, role="group" if is_group else "img")


def _dot(dot: Dot, x: float, y: float, *, is_chosen: bool) -> Markup:
    shape = [el("circle", cx=x, cy=y, r=4 if dot.style == "tried" else 5, class_=dot.style),
             el("circle", cx=x, cy=y, r=9, class_="chosen") if is_chosen else None]  # fmt: skip
    if dot.number is None:
        return el("g", el("title", dot.told), shape)
    return el(
        "g",
        el("title", dot.told),
        el("circle", cx=x, cy=y, r=13, class_="reach"),
        shape,
        role="button",
        tabindex="0",
        aria_label=dot.told,
        aria_pressed="true" if is_chosen else "false",
        data_point=str(dot.number),
        class_="choosable",
    )


COLOURS = {
    "paper": "#ffffff", "ink": "#1c2227", "soft": "#56616b", "rule": "#d6dce1", "before": "#d3dde3",
    "before-edge": "#6f8390", "after": "#0b5566", "mark": "#9a3b12",
}  # fmt: skip
"""The report's, written out: not every viewer of pictures knows a style with names for colours."""


def standing_alone(chart: Markup) -> str:
    """A chart as a file of its own, with its style inside."""
    head, content = chart.split(">", 1)
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{_style()}</style>{content}\n'


@cache
def _style() -> str:
    style = files("shoal.publishing.report").joinpath("templates", "chart.css").read_text(encoding="utf-8")
    coloured = re.sub(r"var\(--([a-z-]+)\)", lambda found: COLOURS[found[1]], style)
    alone = f"font-family: system-ui, sans-serif; max-width: 60rem; background: {COLOURS['paper']}"
    return f"{coloured}.chart {{ {alone} }}"


# --- what all have in common ---------------------------------------------------------------------------------------


def percent(value: float) -> str:
    """A share at an axis, such as 2.5 %."""
    return f"{100 * value:.6g}\N{NO-BREAK SPACE}%"


def plain(value: float) -> str:
    """A number at an axis: 0.05."""
    return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")


def _legend(keys: Sequence[Series], width: int) -> tuple[list[Markup], float]:
    """What each style means, in as many lines as it takes, and where the chart begins beneath."""
    if len(keys) < 2:
        return [], 10.0
    drawn: list[Markup] = []
    x, y = 2.0, 11.0
    for key in keys:
        name = cut(key.name, width - 30)
        wide = 24 + width_of(name)
        if x > 2 and x + wide > width:
            x, y = 2.0, y + LINE
        drawn += [_symbol(key.style, x, y), el("text", name, x=round(x + 24, 1), y=y + 4, class_="label")]
        x += wide + 2 * APART
    return [el("g", drawn, class_="legend")], y + 20


def _symbol(style: str, x: float, y: float) -> Markup:
    kind = f"key {style}"
    if style in ("mark", "line"):
        return el("line", x1=round(x, 1), x2=round(x + 19, 1), y1=y, y2=y, class_=kind)
    if style in ("before", "after"):
        return _rect(x + 2, y - 5, 14, 10, kind)
    return el("circle", cx=round(x + 9, 1), cy=y, r=7 if style == "chosen" else 5, class_=kind)


def _rect(x: float, y: float, width: float, height: float, style: str) -> Markup:
    return el("rect", x=round(x, 1), y=round(y, 1), width=round(width, 1), height=round(height, 1), class_=style)


def _svg(
    drawn: Sequence[Markup], width: int, height: float, title: str, description: str, *, role: str = "img"
) -> Markup:
    """A drawing that a screen reader tells by its title and its description."""
    return el(
        "svg",
        el("title", title),
        el("desc", description),
        drawn,
        viewBox=f"0 0 {width} {math.ceil(height)}",
        role=role,
        aria_label=f"{title}. {description}",
        class_="chart",
    )
