"""HTML and SVG made of elements, so that no name or text of a table is ever taken for markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

VOID = frozenset({"br", "hr", "meta", "rect", "line", "circle", "path", "col"})
"""Elements that have no content."""


ALLOWED = "\n\t\N{NO-BREAK SPACE}"
"""What is not printable and stays all the same."""


class Markup(str):
    """Text that is markup already; every other text is escaped when it is put into an element."""

    __slots__ = ()


Content = str | int | None | Iterable["Content"]
"""What may stand in an element: texts, which are escaped, elements, lists of both; None is left out."""


def el(tag: str, /, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """An element. `class_` is written as class, and an underscore in another attribute's name as a dash.

    Examples
    --------
    >>> el("td", "a < b", class_="number")
    '<td class="number">a &lt; b</td>'
    """
    given = "".join(
        f" {key}" if value is True else f' {key}="{escape(_printable(str(value)), quote=True)}"'
        for key, value in ((_attribute(key), value) for key, value in attributes.items())
        if value is not None and value is not False
    )
    if tag in VOID:
        return Markup(f"<{tag}{given}/>" if tag not in ("br", "hr", "meta", "col") else f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{joined(content)}</{tag}>")


def joined(content: Content) -> Markup:
    """Content put one behind the other, all texts escaped."""
    if content is None:
        return Markup("")
    if isinstance(content, Markup):
        return content
    if isinstance(content, str | int):
        return Markup(escape(_printable(str(content)), quote=True))
    return Markup("".join(joined(each) for each in content))


def _attribute(key: str) -> str:
    key = key.rstrip("_")
    return key if key in ("viewBox",) else key.replace("_", "-")


def _printable(text: str) -> str:
    """The text without control characters, which HTML does not allow, and which could turn the order of letters."""
    if text.isprintable():  # as nearly all are
        return text
    return "".join(
        letter if letter.isprintable() or letter in ALLOWED else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
