"""Writing what a study found: Markdown tables and SVG charts under docs/studies/."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import altair
import polars as pl
import vl_convert

NOT_RUN = "Not run yet."
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
    """Write a page of docs/studies/, with the commit that it was made at."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.md"
    path.write_text(f"{text.rstrip()}\n\n*Last run at commit {commit()}.*\n", encoding="utf-8")
    return path


def commit() -> str:
    """The commit that is checked out, in short, and whether something was changed since."""
    asked = ["git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=8"]
    answer = subprocess.run(asked, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "unknown"


@dataclass
class Parts:
    """The parts of a page that are made anew; the others are taken from the page as it was written last.

    Each part stands between two comments on the page, the first of which has its name and the commit it was made at.
    """

    page: str
    only: frozenset[str] = frozenset()
    """The parts to make anew; all where none is named."""
    names: list[str] = field(default_factory=list)
    """The parts that were asked for."""

    @classmethod
    def asked(cls, page: str, arguments: Sequence[str]) -> Parts:
        """From what was written behind `python -m studies.<page>`."""
        return cls(page, frozenset(arguments))

    def part(self, name: str, make: Callable[[], str]) -> str:
        """A part of the page, made anew or as it stands there."""
        self.names.append(name)
        if self.only and name not in self.only:
            return self._standing(name) or f"<!-- {name}: none -->\n\n{NOT_RUN}\n\n<!-- end of {name} -->"
        return f"<!-- {name}: {commit()} -->\n\n{make()}\n\n<!-- end of {name} -->"

    def makes(self, beginning: str) -> bool:
        """Whether some part whose name begins so is made anew."""
        return not self.only or any(name.startswith(beginning) for name in self.only)

    def _standing(self, name: str) -> str | None:
        path = FOLDER / f"{self.page}.md"
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        found = re.search(rf"<!-- {re.escape(name)}: [^>]*-->.*?<!-- end of {re.escape(name)} -->", text, re.DOTALL)
        return None if found is None else found.group()

    def refuse_unknown(self) -> None:
        """Refuse names of parts that the page does not have."""
        unknown = sorted(self.only - set(self.names))
        if unknown:
            raise SystemExit(f"No such part: {', '.join(unknown)}. The parts are: {', '.join(self.names)}.")


def rounded(values: pl.Series | Sequence[float], digits: int = 1) -> list[str]:
    """Numbers as text."""
    return [f"{value:,.{digits}f}" for value in values]
