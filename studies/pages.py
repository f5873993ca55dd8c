"""Writing what a study found: Markdown tables and SVG charts under docs/studies/."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import altair
import polars as pl
import vl_convert

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "studies"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as a Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(str(cell) for cell in row)} |" for row in rows]
    return "\n".join(lines)


def line_chart(name: str, lines: Mapping[str, Sequence[tuple[float, float]]], *, x: str, y: str, log: bool) -> str:
    """Write a chart of some lines as SVG and give the Markdown that shows it."""
    rows = [{x: at, y: value, "line": line} for line, points in lines.items() for at, value in points]
    chart = (
        altair.Chart(altair.Data(values=rows), width=420, height=240)
        .mark_line(point=True)
        .encode(
            x=altair.X(f"{x}:Q"),
            y=altair.Y(f"{y}:Q", scale=altair.Scale(type="log" if log else "linear")),
            strokeDash=altair.StrokeDash("line:N", title=None),
            color=altair.Color("line:N", title=None),
        )
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.svg").write_text(vl_convert.vegalite_to_svg(chart.to_json()), encoding="utf-8")
    return f"![{y} by {x}: {', '.join(lines)}]({name}.svg)"


def write_page(name: str, text: str) -> Path:
    """Write a page of docs/studies/."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.md"
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    return path


def rounded(values: pl.Series | Sequence[float], digits: int = 1) -> list[str]:
    """Numbers as text."""
    return [f"{value:,.{digits}f}" for value in values]
