"""Charts as inline SVG, drawn by hand: no browser, no script, readable in grey, with their numbers in words.

Before is light with an outline, after is solid, so that they differ without colour. Sizes are in pixels of a drawing
that is scaled to the width of the page; colours come from the page's style.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from shoal.publishing.report.markup import Markup, el
from shoal.publishing.report.numbers import NOT_KNOWN

LETTER = 6.1
"""About how wide a letter of a label is."""
LONGEST_LABEL = 26
"""Letters of a label beside a bar; longer ones are cut."""


@dataclass(frozen=True)
class Series:
    """One of the things compared: what it is called, how it is drawn, and its values."""

    name: str
    style: str
    values: Sequence[float | None]


def figure(chart: Markup, *, title: str, caption: str, legend: Sequence[Series], table: Markup) -> Markup:
    """A chart with its title, what it shows, and the numbers it was drawn from beneath."""
    return el(
        "figure",
        el("figcaption", el("strong", title, class_="figure-title"), el("span", caption, class_="caption")),
        _legend(legend) if len(legend) > 1 else None,
        chart,
        el("details", el("summary", "The numbers of this chart"), table, class_="numbers"),
    )


def _legend(series: Sequence[Series]) -> Markup:
    keys = [
        el("span", el("span", "", class_=f"key {each.style}", aria_hidden="true"), each.name, class_="legend-item")
        for each in series
    ]
    return el("p", keys, class_="legend")


def column_chart(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    title: str,
    description: str,
    height: int = 190,
    width: int = 680,
    mark_at: float | None = None,
    mark: str = "",
) -> Markup:
    """Columns side by side for each label; values are shares. `mark_at` draws a line behind so many labels."""
    left, right, top = 44, 8, 12
    slant = max((len(label) for label in labels), default=0) * LETTER > (width - left - right) / max(len(labels), 1) - 4
    bottom = 22 + (min(max(map(len, labels)), LONGEST_LABEL) * LETTER * 0.62 if slant else 0)
    ceiling = _ceiling(max((value for each in series for value in each.values if value is not None), default=0.0))
    inner, step = height, (width - left - right) / max(len(labels), 1)

    def y_of(value: float) -> float:
        return top + inner * (1 - value / ceiling)

    drawn: list[Markup] = []
    for tick in _ticks(ceiling):
        y = round(y_of(tick), 1)
        drawn.append(el("line", x1=left, x2=width - right, y1=y, y2=y, class_="grid" if tick else "axis"))
        drawn.append(el("text", f"{100 * tick:g} %", x=left - 6, y=y + 3.5, class_="tick end"))
    gap = 0.18 * step
    wide = (step - gap) / len(series)
    for at, label in enumerate(labels):
        x = left + at * step
        for number, each in enumerate(series):
            value = each.values[at]
            if value:
                tall = max(inner * value / ceiling, 1.0)
                drawn.append(
                    el(
                        "rect",
                        x=round(x + gap / 2 + number * wide + 0.5, 1),
                        y=round(top + inner - tall, 1),
                        width=round(max(wide - 1, 1), 1),
                        height=round(tall, 1),
                        class_=each.style,
                    )
                )
        middle, low = round(x + step / 2, 1), top + inner + 14
        if slant:
            drawn.append(
                el("text", _cut(label), x=middle + 3, y=low - 2, class_="tick end",
                   transform=f"rotate(-38 {middle + 3} {low - 2})")
            )  # fmt: skip
        else:
            drawn.append(el("text", label, x=middle, y=low, class_="tick middle"))
    if mark_at is not None:
        x = round(left + mark_at * step, 1)
        drawn.append(el("line", x1=x, x2=x, y1=top - 6, y2=top + inner, class_="mark"))
        is_late = mark_at > len(labels) * 0.75
        drawn.append(
            el("text", mark, x=x - 5 if is_late else x + 5, y=top + 4, class_=f"note{' end' if is_late else ''}")
        )
    return _svg(drawn, width, math.ceil(top + inner + bottom), title, description)


def bar_chart(
    labels: Sequence[str],
    series: Sequence[Series],
    *,
    title: str,
    description: str,
    texts: Sequence[Sequence[str]],
    width: int = 680,
    ticks: Sequence[float | None] | None = None,
    to_one: bool = False,
) -> Markup:
    """Bars beneath each other for each label, their values behind them; `ticks` are marks across, such as blind."""
    left = min(max((len(label) for label in labels), default=0), LONGEST_LABEL) * LETTER + 14
    right, top, thick, apart = 62, 4, 12 if len(series) > 1 else 14, 9
    largest = max(
        (value for values in (*(each.values for each in series), ticks or ()) for value in values if value is not None),
        default=0.0,
    )
    ceiling = 1.0 if to_one else max(largest, 1e-9)
    scale = (width - left - right) / ceiling
    drawn: list[Markup] = []
    y = float(top)
    for at, label in enumerate(labels):
        tall = thick * len(series)
        drawn.append(el("text", _cut(label), x=left - 8, y=round(y + tall / 2 + 4, 1), class_="label end"))
        for number, each in enumerate(series):
            value = each.values[at]
            place = y + number * thick
            long = max(scale * value, 1.0) if value else 0.0
            if long:
                drawn.append(
                    el("rect", x=left, y=round(place + 0.5, 1), width=round(long, 1), height=thick - 1,
                       class_=each.style)
                )  # fmt: skip
            drawn.append(
                el("text", texts[number][at], x=round(left + long + 5, 1), y=round(place + thick / 2 + 3.5, 1),
                   class_="tick")
            )  # fmt: skip
        if ticks is not None and ticks[at] is not None:
            x = round(left + scale * (ticks[at] or 0.0), 1)
            drawn.append(el("line", x1=x, x2=x, y1=y - 2, y2=y + tall + 1, class_="mark"))
        y += tall + apart
    drawn.insert(0, el("line", x1=left, x2=left, y1=top - 2, y2=y - apart + 2, class_="axis"))
    return _svg(drawn, width, math.ceil(y - apart + top + 2), title, description)


def dumbbell_chart(
    labels: Sequence[str],
    before: Sequence[float | None],
    after: Sequence[float | None],
    *,
    title: str,
    description: str,
    low: float,
    high: float,
    width: int = 680,
) -> Markup:
    """A line for each label from a ring, before, to a dot, after."""
    left = min(max((len(label) for label in labels), default=0), 2 * LONGEST_LABEL) * LETTER + 14
    right, top, step = 16, 20, 20
    scale = (width - left - right) / (high - low)
    bottom = top + step * len(labels)
    drawn: list[Markup] = []
    for tick in (low, (low + high) / 2, high):
        x = round(left + scale * (tick - low), 1)
        drawn.append(el("line", x1=x, x2=x, y1=top - 6, y2=bottom, class_="grid" if tick else "axis"))
        drawn.append(el("text", f"{tick:g}".replace("-", "\N{MINUS SIGN}"), x=x, y=top - 9, class_="tick middle"))
    for at, label in enumerate(labels):
        y = top + step * at + step / 2
        drawn.append(el("text", _cut(label, 2 * LONGEST_LABEL), x=left - 10, y=y + 4, class_="label end"))
        places = [
            None if value is None else round(left + scale * (value - low), 1) for value in (before[at], after[at])
        ]
        if places[0] is not None and places[1] is not None:
            drawn.append(el("line", x1=places[0], x2=places[1], y1=y, y2=y, class_="between"))
        if places[0] is not None:
            drawn.append(el("circle", cx=places[0], cy=y, r=5, class_="ring"))
        if places[1] is not None:
            drawn.append(el("circle", cx=places[1], cy=y, r=4, class_="dot"))
        else:
            drawn.append(el("text", NOT_KNOWN, x=width - right, y=y + 4, class_="tick end"))
    return _svg(drawn, width, math.ceil(bottom + 6), title, description)


def _svg(drawn: Sequence[Markup], width: int, height: int, title: str, description: str) -> Markup:
    """A drawing that a screen reader tells by its title and its description."""
    return el(
        "svg",
        el("title", title),
        el("desc", description),
        drawn,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=f"{title}. {description}",
        class_="chart",
    )


def _ceiling(largest: float) -> float:
    """The top of an axis: a round share that is at least the largest."""
    for ceiling in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0):
        if largest <= ceiling:
            return ceiling
    return math.ceil(largest)


def _ticks(ceiling: float) -> list[float]:
    parts = 5 if round(1000 * ceiling) in (10, 50, 100, 500, 1000) else 3 if round(1000 * ceiling) in (300, 600) else 4
    return [ceiling * part / parts for part in range(parts + 1)]


def _cut(label: str, longest: int = LONGEST_LABEL) -> str:
    return label if len(label) <= longest else label[: longest - 1] + "…"
