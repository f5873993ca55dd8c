"""Shapes of texts: which of them are numbers or dates, in which form, and which usually mean missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache

import polars as pl

from shoal.table.date_forms import HOURS, WEEK, as_iso, pattern_of

MARKS = frozenset({
    "na", "n/a", "n.a.", "n. a.", "#n/a", "#na", "#nv", "nan", "null", "none", "nil", "missing", "unknown",
    "not available", "not applicable", "nd", "n.d.", "-", "--", "---", ".", "?", "k.a.", "k. a.", "keine angabe",
    "keine angaben", "ohne angabe", "o.a.", "o. a.", "unbekannt", "unbek.", "entfällt", "fehlt", "inconnu",
    "inconnue", "n.c.", "non renseigné", "s/d", "sin dato", "sin datos", "desconocido", "desconocida",
    "sconosciuto", "non disponibile", "onbekend", "onb.", "desconhecido", "sem dados", "nieznany", "nieznane",
    "brak", "brak danych", "b.d.",
})  # fmt: skip
"""What people write where there is no number or date, in small letters."""
SEPARATORS = (".", "/", "-")
"""What parts days, months and years."""

_GROUP = r"[1-9]\d{0,2}"
_SPACE, _APOSTROPHE = "[ \u00a0\u202f]", "['\u2019]"
NUMBERS: dict[str, str] = {
    "whole": r"^[+-]?\d+([eE][+-]?\d+)?$",
    "n,nnn": rf"^[+-]?{_GROUP},\d{{3}}$",
    "n.nnn": rf"^[+-]?{_GROUP}\.\d{{3}}$",
    "n,nnn,nnn": rf"^[+-]?{_GROUP}((,\d{{3}}){{2,}}(\.\d+)?|,\d{{3}}\.\d+)$",
    "n.nnn.nnn": rf"^[+-]?{_GROUP}((\.\d{{3}}){{2,}}(,\d+)?|\.\d{{3}},\d+)$",
    "n nnn": rf"^[+-]?{_GROUP}({_SPACE}\d{{3}})+$",
    "n nnn,n": rf"^[+-]?{_GROUP}({_SPACE}\d{{3}})+,\d+$",
    "n nnn.n": rf"^[+-]?{_GROUP}({_SPACE}\d{{3}})+\.\d+$",
    "n'nnn": rf"^[+-]?{_GROUP}({_APOSTROPHE}\d{{3}})+$",
    "n'nnn,n": rf"^[+-]?{_GROUP}({_APOSTROPHE}\d{{3}})+,\d+$",
    "n'nnn.n": rf"^[+-]?{_GROUP}({_APOSTROPHE}\d{{3}})+\.\d+$",
    "n,n": r"^[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?$",
    "n.n": r"^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$",
}
"""Shapes of numbers; the first that fits counts."""
COMMA = frozenset({"n,n", "n.nnn.nnn", "n nnn,n", "n'nnn,n"})
"""Shapes in which the comma is surely the decimal sign."""
POINT = frozenset({"n.n", "n,nnn,nnn", "n nnn.n", "n'nnn.n"})
THOUSANDS = {
    ",": {".": ("n.nnn.nnn", "n.nnn"), " ": ("n nnn", "n nnn,n"), "'": ("n'nnn", "n'nnn,n")},
    ".": {",": ("n,nnn,nnn", "n,nnn"), " ": ("n nnn", "n nnn.n"), "'": ("n'nnn", "n'nnn.n")},
}
"""By the decimal sign: what stands between thousands, and the shapes that show it."""
ISO = r"^\d{4}-\d{2}-\d{2}([ T]\d{1,2}:\d{2}.*)?$"
TWO_DIGITS = r"^\d{1,2}[./-]\d{1,2}[./-]\d{2}" + HOURS + "$"
YEAR_FIRST = {sign: f"yyyy{sign}mm{sign}dd" for sign in ("/", ".", "-")}


@dataclass
class ColumnLook:
    """How many values of a column have which shape, and which texts could mean missing."""

    shapes: Counter[str] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    is_text: bool = False
    """Whether the first values are mostly neither numbers nor dates, so that it was not looked at any further."""

    @property
    def n_marks(self) -> int:
        """How many values could mean missing."""
        return sum(self.marks.values())

    @property
    def n_values(self) -> int:
        """How many values there are besides."""
        return sum(self.shapes.values())

    @property
    def is_mostly_marks(self) -> bool:
        """Whether values are so few among the marks that these may mean something."""
        return 4 * self.n_values < self.n_marks

    @property
    def is_number(self) -> bool:
        """Whether all values are numbers in some form."""
        return bool(self.shapes) and all(shape in NUMBERS for shape in self.shapes)

    def dates(self, separator: str) -> int:
        """How many values are dates with days and months in some order, by what parts them."""
        return sum(n for shape, n in self.shapes.items() if shape.startswith(f"date{separator}"))


PLAIN = r"^[+-]?(\d{8}|[1-9]\d{0,2}\.\d{3}|.*[a-zA-Z].*)$"
"""What is a number to any program, and could be something else to people: days, thousands, NaN."""


def shapes_of(counts: pl.DataFrame) -> tuple[Counter[str], Counter[str]]:
    """How many values have which shape, and which texts could mean missing; of texts and how often each occurs."""
    text = counts["text"]
    if not text.cast(pl.Float64, strict=False).null_count() and not text.str.contains(PLAIN).any():
        is_whole = text.str.contains(NUMBERS["whole"])
        sums = {"whole": counts.filter(is_whole)["count"].sum(), "n.n": counts.filter(~is_whole)["count"].sum()}
        return Counter({shape: int(n) for shape, n in sums.items() if n}), Counter()
    is_mark = text.str.strip_chars().str.to_lowercase().is_in(list(MARKS))
    marked = counts.filter(is_mark)
    shaped = counts.filter(~is_mark).with_columns(shape=_shape()).group_by("shape").agg(pl.col("count").sum())
    shapes = Counter({shape: int(n) for shape, n in shaped.iter_rows()})
    return shapes, Counter({mark: int(n) for mark, n in marked.select("text", "count").iter_rows()})


@cache
def _shape() -> pl.Expr:
    """The shape of a text: the first that fits of numbers, dates, and text."""
    text = pl.col("text")
    compact = as_iso("text", "yyyymmdd").str.slice(0, 4).cast(pl.Int32).is_between(1850, 2100).fill_null(False)
    found: list[pl.Expr] = [pl.when(text.str.contains(r"^\d{8}$") & compact).then(pl.lit("yyyymmdd"))]
    found += [pl.when(text.str.contains(pattern)).then(pl.lit(name)) for name, pattern in NUMBERS.items()]
    found.append(pl.when(text.str.contains(ISO)).then(pl.lit("iso")))
    for sign in SEPARATORS:
        found.append(_order_of_date(sign))
        year_first = as_iso("text", YEAR_FIRST[sign]).is_not_null()
        found.append(pl.when(year_first).then(pl.lit(YEAR_FIRST[sign])))
    found.append(pl.when(as_iso("text", WEEK).is_not_null()).then(pl.lit(WEEK)))
    found.append(pl.when(text.str.contains(TWO_DIGITS)).then(pl.lit("dd.mm.yy")))
    return pl.coalesce([*found, pl.lit("text")])


def _order_of_date(sign: str) -> pl.Expr:
    """Whether a date is one with its day first, with its month first, with either or with neither."""
    is_day, is_month = (as_iso("text", f"{first}{sign}yyyy").is_not_null() for first in (f"dd{sign}mm", f"mm{sign}dd"))
    both = pl.when(is_day & is_month).then(pl.lit(f"date{sign}either"))
    which = [pl.when(is_day).then(pl.lit(f"date{sign}day")), pl.when(is_month).then(pl.lit(f"date{sign}month"))]
    of_date = pl.coalesce([both, *which, pl.lit(f"date{sign}never")])
    return pl.when(pl.col("text").str.contains(pattern_of(f"dd{sign}mm{sign}yyyy"))).then(of_date)
