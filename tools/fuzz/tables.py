"""Random tables with nasty values, and a random way to protect each; a number says which, and says it again."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl

import shoal
from shoal.grouping import METHODS
from shoal.masking import MASKS
from shoal.models import MODELS, Model
from shoal.table.hierarchy import Hierarchy
from shoal.table.schema import Date, Nominal, Number, Ordered, Schema

Draw = random.Random

HUGE = (2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 10**18, 10**18 - 1, 0, -1, 1)
ODD_FLOATS = (
    0.0,
    -0.0,
    float("nan"),
    float("inf"),
    float("-inf"),
    5e-324,
    1.7e308,
    0.1 + 0.2,
    1e-10,
    2.0**53,
    1e18,
    -1.5,
)
ODD_TEXTS = (
    "", " ", "*", "-", "a-b", "1-2", "1 to 2", "NULL", "NA", "nan", "None", "\x00", "a\x00b", "\n", "a\nb", "\r",
    "\t", "'", '"', '""', "a,b", "{a, b}", "a; b", "=1+1", "'=1+1", "+1", "-1", "@x", "\u202eabc", "\u05d0\u05d1",
    "\u0627\u0644", "\ufeff", "e\u0301", "\u00e9", "\U0001f41f", "\u0130", "\u1e9e", "007", "7", "1e5", "<b>", "&amp;",
    "x" * 300, "%s", "{0}", "\\", "a|b", "\u2028",
)  # fmt: skip
ODD_NAMES = (
    "age", "zip code", "a'b", 'a"b', "a\nb", "\u05d2\u05d9\u05dc", "=cmd", "<i>n</i>", "a,b", "name ", "len", "persons",
    "value", "count", "record", "person", "code", "index", "\U0001f41f", "%d{x}", "x" * 80, "literal", "row", "true",
    "group", "records", "\ufeffa", "a;b", "a|b", "label", "proportion", "weight", "__index_level_0__", "null",
)  # fmt: skip
DATES = tuple(
    date.fromisoformat(day)
    for day in (
        "0001-01-01",
        "1582-10-15",
        "1899-12-31",
        "1900-02-28",
        "1970-01-01",
        "2000-02-29",
        "2038-01-19",
        "9999-12-31",
    )
)
TIMES = (
    datetime(1, 1, 1),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 2, 29),
    datetime(9999, 12, 31, 23, 59),
)

# Small thresholds, so that most tables can be protected; the others must be refused in words.
MODEL_MAKERS: dict[str, Callable[[Draw, list[str]], Model]] = {
    "g-balance": lambda draw, _: shoal.GBalance(g=draw.choice(["0", "0.3", "1/2", "2/3", "0.8"])),
    "h-affiliation": lambda draw, _: shoal.HAffiliation(h=draw.choice(["1", "0.9", "0.5", "2/3"])),
    "record-risk": lambda draw, _: shoal.RecordRisk(rho=draw.choice(["1", "0.7", "1/3", "0.5"])),
    "entropy-balance": lambda draw, _: shoal.EntropyBalance(k=draw.choice(["1.5", "2", "3"])),
    "k-anonymity": lambda draw, _: shoal.KAnonymity(k=draw.choice([1, 2, 3, 5])),
    "person-k-anonymity": lambda draw, _: shoal.PersonKAnonymity(k=draw.choice([1, 2, 3, 5])),
    "subset-k": lambda draw, _: shoal.SubsetK(k=draw.choice([1, 2, 3]), m=draw.choice([1, 2])),
    "l-diversity": lambda draw, _: _l_diversity(draw),
    "t-closeness": lambda draw, _: shoal.TCloseness(
        t=draw.choice(["0", "0.3", "0.6", "1"]),
        distance=draw.choice(["equal", "ordered"]),
        count=draw.choice(["records", "persons"]),
    ),
    "alpha-k-anonymity": lambda draw, _: shoal.AlphaKAnonymity(alpha=draw.choice(["0.9", "0.5", "1"]), k=2),
    "beta-likeness": lambda draw, _: shoal.BetaLikeness(
        beta=draw.choice(["1", "3", "1/2"]), kind=draw.choice(["basic", "enhanced"])
    ),
    "delta-disclosure": lambda draw, _: shoal.DeltaDisclosure(delta=draw.choice(["1", "4"])),
    "joint-diversity": lambda draw, names: shoal.JointDiversity(
        l=draw.choice([1, 2, 3]), caps={names[0]: draw.choice([1, 2])} if names and draw.random() < 0.3 else {}
    ),
    "joint-spread": lambda draw, _: shoal.JointSpread(
        l=draw.choice([1, 2]),
        **draw.choice([{"kind": "entropy"}, {"kind": "recursive", "c": "3"}]),
        excluded=draw.choice([0, 1, 2]),
    ),
    "exponential-l": lambda draw, _: shoal.ExponentialL(l=draw.choice([1, 2])),
    "matching-diversity": lambda draw, _: shoal.MatchingDiversity(l=draw.choice([1, 2, 3])),
    "posterior": lambda draw, _: shoal.Posterior(c=draw.choice(["1", "0.9", "2/3"])),
    "history-k": lambda draw, _: shoal.HistoryK(
        k=draw.choice([1, 2, 3]),
        m=draw.choice([0, 1, 1, 2]),
        with_quasi=draw.random() < 0.8,
        knows=draw.choice(["values", "records"]),
    ),
    "history-confidence": lambda draw, _: shoal.HistoryConfidence(
        c=draw.choice(["0.5", "0.8", "1"]), m=draw.choice([0, 1])
    ),
    "count-k": lambda draw, _: shoal.CountK(k=draw.choice([1, 2, 3])),
    "k-map": lambda draw, _: shoal.KMap(k=draw.choice([2, 5]), estimator="poisson", fraction=draw.choice(["0.1", "1"])),
    "delta-presence": lambda draw, _: shoal.DeltaPresence(high="0.9"),  # refused, since no population is known
    "population-uniqueness": lambda draw, _: shoal.PopulationUniqueness(
        share=draw.choice(["0", "0.1", "0.5"]), fraction=draw.choice(["0.1", "1"])
    ),
    "average-risk": lambda draw, _: shoal.AverageRisk(r=draw.choice(["1/3", "0.5", "1"])),
    "expected-reidentifications": lambda draw, _: shoal.ExpectedReidentifications(n=draw.choice([1, 5])),  # refused
    "no-attack": lambda draw, _: shoal.NoAttack(gain=draw.choice([2, 5]), cost=draw.choice([1, 2])),
}


def _l_diversity(draw: Draw) -> Model:
    kind = draw.choice(["frequency", "distinct", "entropy", "recursive"])
    number = draw.choice([1, 2, 3]) if kind in ("distinct", "recursive") else draw.choice(["1", "1.2", "2"])
    more: dict[str, Any] = {"c": draw.choice(["1", "3"])} if kind == "recursive" else {}
    return shoal.LDiversity(l=number, kind=kind, count=draw.choice(["records", "persons"]), **more)


# Masks that take no groups: they are asked for no model, mostly, and limit linkage instead.
CHANGING: dict[str, Callable[[Draw, Sequence[str]], dict[str, Any]]] = {
    "noise": lambda draw, _: {
        "kind": draw.choice(["additive", "correlated", "multiplicative"]),
        "amount": draw.choice([0.1, 0.5, 2.0]),
        "round_to_domain": draw.random() < 0.5,
    },
    "pram": lambda draw, _: {"matrix": draw.choice(["invariant", "drawn"]), "stays": draw.choice([0.1, 0.5, 0.8])},
    "rank-swap": lambda draw, _: {"within": draw.choice([0.05, 0.3, 1.0])},
    "record-swap": lambda draw, quasi: {"region": draw.choice(quasi), "rate": draw.choice([0.1, 0.5])},
    "shuffle": lambda draw, _: {},
    "individual-ranking": lambda draw, _: {"size": draw.choice([2, 3, 5])},
    "columns": lambda draw, _: {
        "by": f"pram; {draw.choice(['noise', 'rank-swap', 'shuffle', 'individual-ranking'])}",
    },
}


@dataclass(frozen=True)
class Case:
    """A table and what to do with it. The same number gives the same case."""

    number: int
    frame: pl.DataFrame
    schema: Schema
    models: list[Model]
    method: str
    mask: str
    options: dict[str, Any]
    max_suppressed: int
    max_records: int | None
    frame_kind: str
    """Whether shoal is given the frame as polars, pandas or pyarrow."""
    format: str | None
    """Of the files that are written, read back and verified too; None where the frame alone is."""
    safe_cells: bool

    def told(self) -> str:
        """The case in one line, without a value of the table."""
        kinds = ", ".join(f"{name!r}: {kind}" for name, kind in self.frame.schema.items())
        return (
            f"case {self.number}: {self.frame.height} records as {self.frame_kind} ({kinds}), "
            f"{self.method}, {self.mask}, {self.options}, {[str(model) for model in self.models]}, "
            f"suppressed {self.max_suppressed}, records {self.max_records}, file {self.format}"
        )


def case_of(number: int) -> Case:
    """The case of a number: methods and masks take turns, all else is drawn."""
    draw = Draw(number)
    turn, place = divmod(number, len(METHODS))
    method = list(METHODS)[place]
    mask = list(MASKS)[(turn + place) % len(MASKS)]  # another one for each method, and for each turn
    n_records = draw.choice(
        [draw.choice([1, 2, 3]), 8, *(draw.randint(low, 4 * low) for low in (5, 8, 10, 15, 20, 30))]
    )
    names = draw.sample(ODD_NAMES, 8)
    columns: dict[str, pl.Series] = {}
    person = None
    if draw.random() < (0.2 if mask == "permute" else 0.6):
        person = names.pop()
        columns[person] = _persons(draw, person, n_records)
    quasi: list[Any] = []
    for _ in range(draw.randint(1, 3)):
        name = names.pop()
        columns[name], said = _quasi(draw, name, n_records, KINDS_OF_MASK.get(mask, KINDS))
        quasi.append(said)
    sensitive = [names.pop() for _ in range(draw.choices([0, 1, 2], [1, 16, 5])[0])]
    for name in sensitive:
        columns[name] = _any_column(draw, name, n_records)
    kept = [names.pop()] if draw.random() < 0.15 else []
    dropped = [names.pop()] if draw.random() < 0.15 else []
    for name in kept + dropped:
        columns[name] = _any_column(draw, name, n_records)
    time = names.pop() if names and person is not None and draw.random() < 0.1 else None
    if time is not None:
        columns[time] = pl.Series(time, [draw.choice(DATES) for _ in range(n_records)], dtype=pl.Date)
    order = list(columns)
    draw.shuffle(order)
    frame = pl.DataFrame([columns[name] for name in order])
    schema = Schema(
        person=person, quasi=quasi, sensitive=sensitive, kept=kept, dropped=dropped, time=time,
        time_as=draw.choice(["sequence", "shift"]), missing=draw.choices(["value", "drop", "refuse"], [20, 3, 1])[0],
    )  # fmt: skip
    asked = _model_names(draw, number) if MASKS[mask].takes_groups or draw.random() < 0.05 else []
    models = [MODEL_MAKERS[name](draw, sensitive) for name in asked]
    return Case(
        number=number, frame=frame, schema=schema, models=models, method=method, mask=mask,
        options=_options(draw, method, mask, models, schema.quasi_names),
        max_suppressed=draw.choice([0, 0, 0, 3, n_records]),
        max_records=draw.choice([None, None, None, 1, 3]),
        frame_kind=draw.choice(["polars", "polars", "pandas", "pyarrow"]),
        format=draw.choices([None, "csv", "parquet", "arrow", "xlsx"], [24, 14, 6, 2, 1])[0],
        safe_cells=draw.random() < 0.5,
    )  # fmt: skip


def _model_names(draw: Draw, number: int) -> list[str]:
    """One model by turns, so that none is forgotten, and sometimes others with it."""
    names = [list(MODELS)[number // (len(METHODS) * len(MASKS)) % len(MODELS)]]
    if draw.random() < 0.3:
        names += draw.sample(list(MODELS), draw.randint(1, 2))
    return list(dict.fromkeys(names))


def _options(draw: Draw, method: str, mask: str, models: list[Model], quasi: Sequence[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if method == "balance-tree":
        options["effort"] = draw.choice(["low", "normal"])
        options["cut"] = draw.choice(["best", "best", "median"])
        options["ties"] = draw.choice(["together", "split"]) if options["cut"] == "median" else "together"
    if method in ("mdav", "spanning-tree", "spanning-cells", "longest-edge", "buckets", "anatomy"):
        options["m"] = draw.choices([2, 3, None], [7, 3, 1])[0]
    if method == "mdav":
        options["variable"] = draw.random() < 0.5
    if method in ("spanning-tree", "spanning-cells"):
        options["alpha"] = draw.choice([0.5, 1.0, 0.0])
    if mask in ("anatomize", "permute"):
        about_records = any(model.needs & {"squared_records", "most_records", "log_records"} for model in models)
        options["quasi_as"] = "range" if about_records and draw.random() < 0.9 else draw.choice(["exact", "range"])
    if mask == "range":
        options["code_extremes"] = draw.random() < 0.3
    if mask == "perturb":
        options["noise"] = draw.choice(["centred", "rescaled", "published"])
        options["round_to_domain"] = draw.random() < 0.5
    if mask in CHANGING:
        options |= CHANGING[mask](draw, quasi)
    if not MASKS[mask].takes_groups:
        options["max_linkage"] = draw.choices([1.0, 0.5, None], [16, 3, 1])[0]
    return options


# Columns


def _persons(draw: Draw, name: str, n: int) -> pl.Series:
    n_persons = draw.choices([1, 2, max(n // 3, 1), n], [1, 2, 8, 8])[0]
    kind = draw.choices(["number", "text", "odd", "huge", "float", "date"], [5, 5, 3, 3, 1, 2])[0]
    if kind == "number":
        return pl.Series(name, [draw.randrange(n_persons) for _ in range(n)])
    if kind == "huge":
        return pl.Series(
            name, [2**53 + draw.randrange(n_persons) for _ in range(n)], dtype=draw.choice([pl.Int64, pl.UInt64])
        )
    if kind == "float":
        return pl.Series(name, [draw.choice(ODD_FLOATS if n % 2 else (0.0, -0.0, 0.1, 2.5, 1e18)) for _ in range(n)])
    if kind == "date":
        return pl.Series(name, [date(2000, 1, 1) + timedelta(draw.randrange(n_persons)) for _ in range(n)])
    texts = [f"p{number}" for number in range(n_persons)] if kind == "text" else list(ODD_TEXTS)
    return pl.Series(name, [draw.choice(texts) for _ in range(n)])


def _with_nulls(draw: Draw, values: list[Any]) -> list[Any]:
    share = draw.choices([0, 0.1, 0.5, 1.0], [14, 3, 3, 1])[0]
    return [None if draw.random() < share else value for value in values]


NUMBERS = ("small", "small", "number", "float", "decimal")
CATEGORIES = ("text", "odd text", "category", "enum", "bool", "hierarchy")
KINDS = (*NUMBERS, *CATEGORIES, "huge", "intervals", "odd float", "date", "time", "constant", "padded", "any")
KINDS_OF_MASK = {"pram": CATEGORIES} | dict.fromkeys(("noise", "rank-swap", "shuffle", "individual-ranking"), NUMBERS)
"""Of masks that refuse a quasi-identifier of another kind, so that few tables would be left."""


def _quasi(draw: Draw, name: str, n: int, kinds: Sequence[str]) -> tuple[pl.Series, Any]:
    kind = draw.choice(kinds)
    said: Any = name
    if kind == "small":
        values: list[Any] = [draw.randint(18, 30) for _ in range(n)]
        series = pl.Series(name, _with_nulls(draw, values), dtype=draw.choice([pl.Int8, pl.UInt8, pl.Int64, pl.UInt64]))
        said = draw.choice([name, Number(name), Nominal(name)])
    elif kind == "number":
        series = pl.Series(name, _with_nulls(draw, [draw.randint(-(10**6), 10**6) for _ in range(n)]), dtype=pl.Int64)
    elif kind == "huge":
        series = pl.Series(name, _with_nulls(draw, [draw.choice(HUGE) for _ in range(n)]), dtype=pl.Int64)
    elif kind == "float":
        places = draw.choice([0, 2, 9, 12, 17])
        series = pl.Series(name, _with_nulls(draw, [round(draw.uniform(-90, 90), places) for _ in range(n)]),
                           dtype=draw.choice([pl.Float32, pl.Float64]))  # fmt: skip
    elif kind == "odd float":
        floats = ODD_FLOATS if n % 3 else (0.0, -0.0, 1e-10, 5e-324, 2.5, 1e15)
        series = pl.Series(name, _with_nulls(draw, [draw.choice(floats) for _ in range(n)]), dtype=pl.Float64)
        said = draw.choice([name, Number(name), Nominal(name)])
    elif kind == "decimal":
        texts = [f"{draw.randint(-999, 999)}.{draw.randint(0, 99):02}" for _ in range(n)]
        series = pl.Series(name, _with_nulls(draw, texts), dtype=pl.String).cast(pl.Decimal(20, 2))
    elif kind == "date":
        series = pl.Series(name, _with_nulls(draw, [draw.choice(DATES) for _ in range(n)]), dtype=pl.Date)
        said = draw.choice([name, Date(name), Nominal(name)])
    elif kind == "time":
        series = pl.Series(name, _with_nulls(draw, [draw.choice(TIMES) for _ in range(n)]), dtype=pl.Datetime("us"))
        said = draw.choice([name, Date(name)])
    elif kind == "constant":
        series = pl.Series(name, [draw.choice([7, "7", "", 0.5, None])] * n)
    elif kind == "bool":
        series = pl.Series(name, _with_nulls(draw, [draw.random() < 0.5 for _ in range(n)]), dtype=pl.Boolean)
    elif kind == "category":
        series = pl.Series(name, _with_nulls(draw, [draw.choice(ODD_TEXTS) for _ in range(n)]), dtype=pl.Categorical)
    elif kind == "enum":
        series = pl.Series(
            name, _with_nulls(draw, [draw.choice("abc") for _ in range(n)]), dtype=pl.Enum(["c", "a", "b", "d"])
        )
        said = draw.choice([name, Ordered(name, order=("c", "a", "b", "d")), Nominal(name)])
    elif kind == "hierarchy":
        series = pl.Series(name, _with_nulls(draw, [draw.choice("abcd") for _ in range(n)]), dtype=pl.String)
        paths = [["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"], ["e", "cd", "*"]]
        said = Nominal(name, hierarchy=Hierarchy.from_rows(paths))
    elif kind == "intervals":
        series = pl.Series(name, _with_nulls(draw, [draw.randint(0, 99) for _ in range(n)]), dtype=pl.Int64)
        said = Number(name, hierarchy=Hierarchy.of_intervals(low=0, width=5, high=99))
    elif kind == "padded":
        series = pl.Series(name, _with_nulls(draw, [f"{draw.randint(0, 99999):05}" for _ in range(n)]), dtype=pl.String)
        said = draw.choice([name, Number(name), Nominal(name)])
    elif kind == "text":
        texts = ["".join(draw.choices(string.ascii_lowercase, k=2)) for _ in range(5)]
        series = pl.Series(name, _with_nulls(draw, [draw.choice(texts) for _ in range(n)]), dtype=pl.String)
    elif kind == "odd text":
        series = pl.Series(name, _with_nulls(draw, [draw.choice(ODD_TEXTS) for _ in range(n)]), dtype=pl.String)
        said = draw.choice([name, Nominal(name)])
    else:
        series = _any_column(draw, name, n)
    return series, said


def _any_column(draw: Draw, name: str, n: int) -> pl.Series:
    kind = draw.choice(
        ["few", "few", "few", "odd", "number", "huge", "float", "date", "null", "category", "random", "bool"]
    )
    if kind == "few":
        return pl.Series(
            name,
            _with_nulls(draw, [draw.choice(["flu", "cold", "asthma", "ulcer"]) for _ in range(n)]),
            dtype=pl.String,
        )
    if kind == "odd":
        return pl.Series(name, _with_nulls(draw, [draw.choice(ODD_TEXTS) for _ in range(n)]), dtype=pl.String)
    if kind == "number":
        return pl.Series(name, _with_nulls(draw, [draw.randint(0, 5) for _ in range(n)]), dtype=pl.Int32)
    if kind == "huge":
        return pl.Series(name, _with_nulls(draw, [draw.choice(HUGE) for _ in range(n)]), dtype=pl.Int64)
    if kind == "float":
        return pl.Series(name, _with_nulls(draw, [draw.choice(ODD_FLOATS) for _ in range(n)]), dtype=pl.Float64)
    if kind == "date":
        return pl.Series(name, _with_nulls(draw, [draw.choice(DATES) for _ in range(n)]), dtype=pl.Date)
    if kind == "null":
        return pl.Series(name, [None] * n, dtype=draw.choice([pl.Null, pl.String, pl.Int64, pl.Float64, pl.Date]))
    if kind == "category":
        return pl.Series(name, _with_nulls(draw, [draw.choice("ab") for _ in range(n)]), dtype=pl.Categorical)
    if kind == "bool":
        return pl.Series(name, _with_nulls(draw, [draw.random() < 0.5 for _ in range(n)]), dtype=pl.Boolean)
    letters = [*range(1, 128), *range(0x590, 0x700), *range(0x1F300, 0x1F400)]
    texts = ["".join(map(chr, draw.choices(letters, k=draw.randint(0, 6)))) for _ in range(4)]
    return pl.Series(name, [draw.choice(texts) for _ in range(n)], dtype=pl.String)
