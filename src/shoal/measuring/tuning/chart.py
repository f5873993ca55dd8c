"""The frontier as a picture: what each setting risks, and what it loses. One SVG file that loads nothing."""

from __future__ import annotations

import math
from html import escape

from shoal.measuring.tuning.frontier import Tuning
from shoal.measuring.tuning.targets import Target
from shoal.measuring.tuning.workbench import Point

WIDTH, HEIGHT = 720, 440
LEFT, RIGHT, TOP, BOTTOM = 76, 24, 56, 60
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#222}.small{font-size:11px;fill:#555}.axis{stroke:#444}.grid{stroke:#ddd}"
    ".line{fill:none;stroke:#1b5e8a;stroke-width:2}.tried{fill:#fff;stroke:#777}.kept{fill:#1b5e8a}"
    ".chosen{fill:none;stroke:#b3400c;stroke-width:3}.limit{stroke:#b3400c;stroke-dasharray:6 4}"
)


def frontier_svg(tuning: Tuning) -> str:
    """Risk against loss, the settings tried, the frontier between them, the target and the chosen setting."""
    first = tuning.targets[0]
    plot = _Plot(tuning, first)
    parts = [*plot.frame(), *plot.limit(), *plot.line(), *plot.dots()]
    described = _described(tuning, first)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-labelledby="title described"><title id="title">Risk against loss</title>'
        f'<desc id="described">{escape(described)}</desc><style>{STYLE}</style>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _described(tuning: Tuning, first: Target) -> str:
    said = f"{len(tuning.points)} settings tried; {len(tuning.frontier)} lie on the frontier. Target: {first}."
    if tuning.chosen is None:
        return said
    point = tuning.chosen
    setting = ", ".join(f"{name} {asked:g}" for name, asked in point.setting().items())
    return (
        f"{said} Chosen: {setting}, with {first.name} {point.reached[first.name]:.4g} and a loss of {point.loss:.4g}."
    )


class _Plot:
    """Places points: the risk runs to the right on a scale of factors, the loss upwards from 0."""

    def __init__(self, tuning: Tuning, first: Target) -> None:
        self.tuning, self.first = tuning, first
        risks = [self._risk(point) for point in tuning.points] + [max(float(first.limit), 1e-9)]
        self.low, self.high = min(risks) / 1.1, max(risks) * 1.1
        self.most = max((point.loss for point in tuning.points), default=1.0) * 1.08 or 1.0

    def _risk(self, point: Point) -> float:
        return max(point.reached[self.first.name], 1e-9)

    def x(self, risk: float) -> float:
        share = math.log(risk / self.low) / math.log(self.high / self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, loss: float) -> float:
        return HEIGHT - BOTTOM - loss / self.most * (HEIGHT - TOP - BOTTOM)

    def at(self, point: Point) -> tuple[float, float]:
        return self.x(self._risk(point)), self.y(point.loss)

    def frame(self) -> list[str]:
        """Axes, their numbers and names."""
        bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = []
        for risk in _ticks(self.low, self.high):
            x = self.x(risk)
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>')
            parts.append(f'<text class="small" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{risk:g}</text>')
        for step in range(5):
            loss = self.most * step / 4.32
            parts.append(
                f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{self.y(loss):.1f}" y2="{self.y(loss):.1f}"/>'
            )
            parts.append(
                f'<text class="small" x="{LEFT - 8}" y="{self.y(loss) + 4:.1f}" text-anchor="end">{loss:.3g}</text>'
            )
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}"/>')
        parts.append(f'<line class="axis" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{bottom}"/>')
        middle = (LEFT + right) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 16}" text-anchor="middle">{escape(self.first.name)}</text>')
        parts.append(f'<text x="{LEFT}" y="{TOP - 12}">{escape(self.tuning.minimise)}, lost</text>')
        parts.append(f'<text x="{LEFT}" y="22" font-weight="600">Risk against loss</text>')
        return parts

    def limit(self) -> list[str]:
        """Where the target lies."""
        x = self.x(max(float(self.first.limit), 1e-9))
        return [
            f'<line class="limit" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>',
            f'<text class="small" x="{x + 5:.1f}" y="{TOP + 12}">target {float(self.first.limit):g}</text>',
        ]

    def line(self) -> list[str]:
        """The frontier."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.at, self.tuning.frontier))
        return [f'<polyline class="line" points="{places}"/>']

    def dots(self) -> list[str]:
        """Every setting, filled where it lies on the frontier, ringed where it was chosen."""
        on_frontier = {id(point) for point in self.tuning.frontier}
        parts = []
        for point in self.tuning.points:
            x, y = self.at(point)
            kind = "kept" if id(point) in on_frontier else "tried"
            setting = ", ".join(f"{name} {asked:g}" for name, asked in point.setting().items())
            parts.append(
                f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape(setting)}</title></circle>'
            )
        if self.tuning.chosen is not None:
            x, y = self.at(self.tuning.chosen)
            parts.append(f'<circle class="chosen" cx="{x:.1f}" cy="{y:.1f}" r="9"/>')
            parts.append(f'<text class="small" x="{x + 14:.1f}" y="{y + 4:.1f}">chosen</text>')
        return parts


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers 1, 2, 5 times a power of ten between two others."""
    ticks = []
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        ticks += [float(f"{digit}e{power}") for digit in (1, 2, 5) if low <= float(f"{digit}e{power}") <= high]
    return ticks
