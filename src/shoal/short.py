"""What an answer shows of itself where it is printed, and in a notebook: a short table."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

MOST_ROWS = 20
MOST_CHARACTERS = 60


@dataclass(frozen=True, kw_only=True)
class Short:
    """A title, a table and some lines; rows and texts that are many or long are cut."""

    title: str
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[str] = ()

    @property
    def _cells(self) -> list[list[str]]:
        rows = [[_cut(cell) for cell in row] for row in self.rows]
        left = len(rows) - MOST_ROWS
        return rows if left <= 0 else [*rows[:MOST_ROWS], [f"... and {left:,} more", *[""] * (len(self.headings) - 1)]]

    def text(self) -> str:
        """For a terminal."""
        table = [list(self.headings), *self._cells] if self.rows else []
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        shown = ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
        return "\n".join([self.title, *shown, *(f"  {line}" for line in self.lines)])

    def html(self, drawing: str = "") -> str:
        """For a notebook. Every text is escaped, and a drawing (an SVG) is an image, in which nothing runs."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.headings)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in self._cells)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if self.rows else ""
        lines = "".join(f"<div>{escape(line)}</div>" for line in self.lines)
        return f"<div><strong>{escape(self.title)}</strong>{table}{lines}{_as_image(drawing)}</div>"


class ShownInShort(ABC):
    """An answer that is printed as a short table."""

    @abstractmethod
    def short(self) -> Short:
        """What is shown of it."""

    def drawn(self) -> str:
        """A drawing of it as an SVG that stands alone, for notebooks; empty where there is none."""
        return ""

    def __repr__(self) -> str:
        """A short table."""
        return self.short().text()

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return self.short().html(self.drawn())


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 3] + "..."


def _as_image(drawing: str) -> str:
    if not drawing:
        return ""
    data = base64.b64encode(drawing.encode("utf-8")).decode("ascii")
    return f'<img alt="" style="max-width: 40rem" src="data:image/svg+xml;base64,{data}">'
