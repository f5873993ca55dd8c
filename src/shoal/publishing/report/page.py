"""A page that needs nothing from elsewhere, and what stands on it: tables, and charts with their tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from shoal.publishing.report.charts import Mark, Series, column_chart, figure
from shoal.publishing.report.markup import Content, Markup, el
from shoal.publishing.report.numbers import count, share

FEW_COLUMNS = 3
"""Tables with more are laid out row by row on narrow pages."""


def page(title: str, body: Content) -> str:
    """A page that loads nothing: style inside, no script, and a policy that says so to the browser."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", title),
        el("style", Markup(_style())),
    )
    return f"<!DOCTYPE html>\n{el('html', head, el('body', el('main', body, class_='page')), lang='en')}\n"


@cache
def _style() -> str:
    templates = files("shoal.publishing.report").joinpath("templates")
    return "".join(templates.joinpath(name).read_text(encoding="utf-8") for name in ("chart.css", "report.css"))


def table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Content]],
    *,
    numeric: Sequence[int] = (),
    caption: str | None = None,
) -> Markup:
    """A table whose first cell of each row names it; `numeric` columns are set to the right."""
    head = el("tr", [el("th", text, scope="col", class_="n" if at in numeric else None)
                     for at, text in enumerate(headings)])  # fmt: skip
    body = [
        el("tr", el("th", cells[0], scope="row"),
           [_named(cell, headings[at]) if isinstance(cell, Markup) and cell.startswith("<td")
            else el("td", cell, class_="n" if at in numeric else None, data_name=headings[at])
            for at, cell in enumerate(cells[1:], start=1)])
        for cells in rows
    ]  # fmt: skip
    made = el("table", el("caption", caption) if caption else None, el("thead", head), el("tbody", body),
              class_="many" if len(headings) > FEW_COLUMNS else None)  # fmt: skip
    return el("div", made, class_="scroll", tabindex="0", role="region", aria_label=caption or "table")


def _named(cell: Markup, heading: str) -> Markup:
    """A cell that knows its heading, which stands before it where the page is too narrow for columns."""
    name = el("td", data_name=heading).removesuffix("></td>").removeprefix("<td")
    return Markup(cell.replace("<td", f"<td{name}", 1))


def cell(key: str, value: Any, text: str) -> Markup:
    """A number in a table, with its key in report.json for those who read pages by program."""
    return el("td", text, class_="n", data_key=key, data_value="" if value is None else repr(value))


def compared(
    labels: Sequence[str],
    before: Sequence[int] | None,
    after: Sequence[int],
    *,
    unit: str,
    key: str,
    title: str,
    caption: str,
    across: str,
    mark: Mark | None = None,
) -> Markup:
    """Two distributions over the same classes, as shares, with a table of counts beneath."""
    series = [Series("after: the release", "after", shares(after))]
    if before is not None:
        series.insert(0, Series("before: the table as it was", "before", shares(before)))
    headings, rows = ["Class"], [[label] for label in labels]
    listed = ([("before", before)] if before is not None else []) + [("after", after)]
    row_cells: list[list[Content]] = [list(row) for row in rows]
    for when, counts in listed:
        headings += [f"{unit.capitalize()} {when}", "Share"]
        for at, (n, part) in enumerate(zip(counts, shares(counts), strict=True)):
            row_cells[at] += [cell(f"{key}.{when}.{at}", n, count(n)), el("td", share(part), class_="n")]
    chart = column_chart(
        [short(label) for label in labels], series, title=title, description=told_of(labels, series), mark=mark,
        across=across, upwards=f"share of the {unit}",
    )  # fmt: skip
    return figure(
        chart, title=title, caption=caption, table=table(headings, row_cells, numeric=range(1, len(headings)))
    )


def short(label: str) -> str:
    """A class as an axis has room for it; that shares are in percent is said by the axis."""
    return label.replace("up to ", "≤").replace("over ", ">").replace(" %", "")


def shares(counts: Sequence[float]) -> list[float]:
    """Counts as shares of their sum."""
    total = sum(counts)
    return [n / total if total else 0.0 for n in counts]


def told_of(labels: Sequence[str], series: Sequence[Series]) -> str:
    """A distribution in words, for those who cannot see the chart."""
    told = []
    for each in series:
        parts = [f"{label} {share(value, 1)}" for label, value in zip(labels, each.values, strict=True) if value]
        told.append(f"{each.name.split(':')[0].capitalize()}: {', '.join(parts) or 'nothing'}.")
    return " ".join(told)
