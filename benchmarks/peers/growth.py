"""CPU seconds against records as a picture, both on scales of factors: one SVG file that loads nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 50, 56
COLOURS = ("#1b5e8a", "#b3400c", "#4b7a1d", "#6a3d9a")
STYLE = "text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#555}.grid{stroke:#ddd}"

Points = Sequence[tuple[float, float]]


def growth_svg(seconds_of_tool: Mapping[str, Points]) -> str:
    """A line a tool, and a dashed one for growth in proportion to the records."""
    points = [point for line in seconds_of_tool.values() for point in line]
    across = _Scale([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = _Scale([y for _, y in points], HEIGHT - BOTTOM, TOP)
    drawn = [f'<text x="{LEFT}" y="24" font-weight="600">CPU seconds of protect, by records</text>']
    for power in across.powers():
        x = across(10.0**power)
        drawn.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        drawn.append(_text(x, HEIGHT - BOTTOM + 18, f"{10**power:,}", anchor="middle"))
    for power in up.powers():
        y = up(10.0**power)
        drawn.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(_text(LEFT - 8, y + 4, f"{10.0**power:g} s", anchor="end"))
    drawn.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "records", anchor="middle"))
    for colour, (tool, line) in zip(COLOURS, seconds_of_tool.items(), strict=False):
        places = [(across(x), up(y)) for x, y in line]
        drawn.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{_places(places)}"/>')
        drawn += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in places]
        drawn.append(_text(places[-1][0] + 8, places[-1][1] + 4, tool, anchor="start"))
        (first, least), (last, _) = line[0], line[-1]
        straight = [(across(first), up(least)), (across(last), up(least * last / first))]
        drawn.append(f'<polyline fill="none" stroke="{colour}" stroke-dasharray="3 4" points="{_places(straight)}"/>')
    title = "Growth of shoal: " + ", ".join(seconds_of_tool)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>{"".join(drawn)}</svg>\n'
    )


class _Scale:
    """Places numbers between two ends by their logarithm."""

    def __init__(self, numbers: Sequence[float], start: float, end: float) -> None:
        self.low, self.high = math.log10(min(numbers)), math.log10(max(numbers))
        self.start, self.end = start, end

    def __call__(self, number: float) -> float:
        share = (math.log10(number) - self.low) / ((self.high - self.low) or 1)
        return self.start + share * (self.end - self.start)

    def powers(self) -> range:
        return range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1)


def _places(places: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def _text(x: float, y: float, words: str, *, anchor: str) -> str:
    return f'<text class="small" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
