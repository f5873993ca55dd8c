"""Bad input: a clear error with names and counts, and never a cell value."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from shoal import Hierarchy, Schema
from shoal.errors import CannotSatisfyError, InputError, ParameterError, SchemaError, ShoalError
from shoal.grouping.grouping import Grouping
from tests.pipeline.tables import MODELS, SCHEMA, visits

SIMPLE = Schema(person="p", quasi=["q"], sensitive=["s"])
G = [shoal.GBalance(g=0.5)]


def frame(**columns: Any) -> pl.DataFrame:
    plain = {"p": ["a", "b", "c", "d"], "q": [1, 2, 3, 4], "s": ["w", "x", "y", "z"]}
    return pl.DataFrame(plain).with_columns(**{name: pl.Series(values) for name, values in columns.items()})


DOORS: list[Callable[..., Any]] = [shoal.assess, shoal.protect]


class TestTables:
    @pytest.mark.parametrize("door", DOORS)
    def test_no_records(self, door: Callable[..., Any]) -> None:
        with pytest.raises(InputError, match="no records"):
            door(frame().head(0), SIMPLE, G)

    @pytest.mark.parametrize("door", DOORS)
    def test_a_column_that_is_absent(self, door: Callable[..., Any]) -> None:
        with pytest.raises(SchemaError, match="Did you mean 'q'"):
            door(frame(), Schema(person="p", quasi=["Q"], sensitive=["s"]), G)

    @pytest.mark.parametrize("door", DOORS)
    def test_a_column_without_a_role(self, door: Callable[..., Any]) -> None:
        with pytest.raises(SchemaError, match="1 of 4 columns have no role: phone"):
            door(frame(phone=[1, 2, 3, 4]), SIMPLE, G)

    @pytest.mark.parametrize("door", DOORS)
    def test_missing_persons(self, door: Callable[..., Any]) -> None:
        with pytest.raises(SchemaError, match="'p' is missing in 1 of 4 records, the first in line 4"):
            door(frame(p=["a", "b", None, "d"]), SIMPLE, G, line_of=lambda record: record + 2)

    @pytest.mark.parametrize("door", DOORS)
    def test_text_in_a_number_column(self, door: Callable[..., Any]) -> None:
        schema = Schema(person="p", quasi=[shoal.Number("q")], sensitive=["s"])
        with pytest.raises(SchemaError, match=r"2 of 4 values are text \(the first in line 3\)"):
            door(frame(q=["1", "old", "3", "?"]), schema, G, line_of=lambda record: record + 2)

    @pytest.mark.parametrize("door", DOORS)
    @pytest.mark.parametrize("odd", [float("inf"), float("nan")])
    def test_numbers_that_are_none(self, door: Callable[..., Any], odd: float) -> None:
        with pytest.raises(SchemaError, match="'q' has 1 values that are infinite or not a number"):
            door(frame(q=[1.5, odd, 2.5, 3.5]), SIMPLE, G)

    def test_pandas_nan_is_a_missing_value(self) -> None:
        given = frame().to_pandas().assign(q=[1.0, float("nan"), 3.0, 4.0])
        assert len(shoal.protect(given, SIMPLE, G).data) == 4

    def test_one_person_is_refused_by_protect_alone(self) -> None:
        alone = frame(p=["a"] * 4)
        with pytest.raises(CannotSatisfyError, match="4 records of one person only"):
            shoal.protect(alone, SIMPLE, G)
        with pytest.raises(CannotSatisfyError):
            shoal.protect(alone, SIMPLE, [shoal.KAnonymity(k=1)], max_suppressed=5)
        assert shoal.assess(alone, SIMPLE, G).risk.max_gidr == 1.0
        assert shoal.verify(alone, SIMPLE, G).risk.max_gidr == 1.0

    def test_a_model_that_the_whole_table_cannot_meet(self) -> None:
        with pytest.raises(CannotSatisfyError) as refusal:
            shoal.protect(frame(s=["x", "x", "x", "y"]), SIMPLE, [shoal.HAffiliation(h=0.2), shoal.KAnonymity(k=9)])
        message = str(refusal.value)
        assert "h-affiliation 0.2" in message
        assert "reach 0.75" in message
        assert "at least 0.75" in message
        assert "9" in message  # both models are named
        assert refusal.value.exit_code == 3


class TestChoices:
    @pytest.mark.parametrize(
        "make",
        [
            lambda: shoal.GBalance(g=1), lambda: shoal.GBalance(g=-0.1), lambda: shoal.HAffiliation(h=0),
            lambda: shoal.RecordRisk(rho=2), lambda: shoal.KAnonymity(k=0), lambda: shoal.PersonKAnonymity(k=2.5),
            lambda: shoal.LDiversity(l=0), lambda: shoal.TCloseness(t=-1),
        ],
    )  # fmt: skip
    def test_a_threshold_out_of_range(self, make: Callable[[], object]) -> None:
        with pytest.raises(ParameterError):
            make()

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"method": "balancetree"}, "Did you mean 'balance-tree'"),
            ({"mask": "ranges"}, "Did you mean 'range'"),
            ({"cutt": "median"}, "Did you mean 'cut'"),
            ({"cut": "middle"}, "cut must be"),
            ({"mask": "mean", "code_extremes": True}, "Neither the method nor the mask has an option 'code_extremes'"),
            ({"code_extremes": "yes"}, "code_extremes must be true or false"),
            ({"seed": -1}, "seed must be"),
            ({"seed": 2**128}, "seed must be"),
            ({"seed": True}, "seed must be"),
            ({"seed": "7"}, "seed must be"),
            ({"max_suppressed": -1}, "max_suppressed must be"),
            ({"max_suppressed": 1.5}, "max_suppressed must be"),
            ({"max_records": 0}, "max_records must be"),
            ({"max_records": True}, "max_records must be"),
        ],
    )
    def test_options_that_cannot_be_meant(self, options: dict[str, Any], words: str) -> None:
        with pytest.raises(ParameterError, match=words):
            shoal.protect(frame(), SIMPLE, G, **options)

    @pytest.mark.parametrize("door", [*DOORS, shoal.verify])
    def test_what_is_no_schema(self, door: Callable[..., Any]) -> None:
        with pytest.raises(SchemaError, match=r"A shoal\.Schema is expected, got dict"):
            door(frame(), {"quasi": ["q"]}, G)

    @pytest.mark.parametrize("door", [*DOORS, shoal.verify])
    @pytest.mark.parametrize(
        "models", [shoal.GBalance(g=0.5), shoal.GBalance, "g-balance", [0.5], [shoal.GBalance], None]
    )
    def test_what_is_no_list_of_models(self, door: Callable[..., Any], models: Any) -> None:
        with pytest.raises(ParameterError, match="list"):
            door(frame(), SIMPLE, models)

    def test_no_model_protects_nothing(self) -> None:
        with pytest.raises(ParameterError, match="No model was asked for"):
            shoal.protect(frame(), SIMPLE, [])


CANARY = "zebra7391"
NUMBER = 7391.7391
DAY = dt.date(1873, 9, 1)
CANARIES = (CANARY, "7391", "1873")


def canaries(n: int = 12) -> dict[str, list[Any]]:
    """Columns of every kind, each with values that no message may hold."""
    return {
        "person": [f"{CANARY}-{i // 2}" for i in range(n)],
        "number": [NUMBER + i for i in range(n)],
        "big": [7391 * 10**9 + i for i in range(n)],
        "text": [f"{CANARY} {i % 3}" for i in range(n)],
        "mixed": [f"{CANARY}{i}" if i % 2 else "7391" for i in range(n)],
        "day": [DAY + dt.timedelta(i) for i in range(n)],
        "wrong_day": [f"{CANARY}-01-01" if i % 2 else "1873-01-01" for i in range(n)],
        "s": [f"{CANARY} {i % 2}" for i in range(n)],
        "infinite": [float("inf") if i == 3 else NUMBER for i in range(n)],
        "huge": [7391 * 10**15 + i for i in range(n)],
        "dropped": [f"{CANARY}-phone-{i}" for i in range(n)],
        "lost": [None if i == 5 else f"{CANARY}-{i}" for i in range(n)],
    }


def with_roles(**roles: Any) -> Schema:
    named = {*(str(getattr(column, "name", column)) for column in roles["quasi"]), *roles.get("sensitive", ())}
    named |= {*roles.get("kept", ()), roles.get("person"), roles.get("time")}
    return Schema(**roles, dropped=[name for name in canaries() if name not in named])


TEXT_TREE = Hierarchy.from_rows([(CANARY, "*")])
PROVOCATIONS: dict[str, Callable[[Any], Any]] = {
    "mixed kinds": lambda data: shoal.assess(data(), with_roles(person="person", quasi=["mixed"])),
    "text as number": lambda data: shoal.assess(data(), with_roles(quasi=[shoal.Number("text")])),
    "mixed as number": lambda data: shoal.assess(data(), with_roles(quasi=[shoal.Number("mixed")])),
    "text as date": lambda data: shoal.assess(data(), with_roles(quasi=[shoal.Date("wrong_day")])),
    "number as date": lambda data: shoal.assess(data(), with_roles(quasi=[shoal.Date("number")])),
    "date as number": lambda data: shoal.assess(data(), with_roles(quasi=[shoal.Number("day")])),
    "infinite": lambda data: shoal.assess(data(), with_roles(quasi=["infinite"])),
    "huge": lambda data: shoal.assess(data(), with_roles(quasi=["huge"])),
    "order": lambda data: shoal.assess(data(), with_roles(quasi=[shoal.Ordered("text", order=("other",))])),
    "hierarchy": lambda data: shoal.assess(data(), with_roles(quasi=[shoal.Nominal("text", TEXT_TREE)])),
    "intervals": lambda data: shoal.protect(
        data(), with_roles(quasi=[shoal.Number("big", Hierarchy.of_intervals(low=0, width=1, high=5))]), G
    ),
    "missing person": lambda data: shoal.assess(data(), with_roles(person="lost", quasi=["text"])),
    "missing person verified": lambda data: shoal.verify(data(), with_roles(person="lost", quasi=["text"]), G),
    "missing refused": lambda data: shoal.assess(data(), with_roles(quasi=["lost"], missing="refuse")),
    "no role": lambda data: shoal.assess(data(), Schema(quasi=["text"])),
    "absent": lambda data: shoal.assess(data(), with_roles(quasi=["text", "absent"])),
    "absent verified": lambda data: shoal.verify(data(), with_roles(quasi=["absent"]), G),
    "time": lambda data: shoal.protect(data(), with_roles(person="person", quasi=["text"], time="wrong_day"), G),
    "shift": lambda data: shoal.protect(
        data(), with_roles(person="person", quasi=["text"], time="number", time_as="shift"), G
    ),
    "impossible": lambda data: shoal.protect(
        data(), with_roles(person="person", quasi=["text"], sensitive=["s"]), [shoal.HAffiliation(h=0.1)]
    ),
    "too few": lambda data: shoal.protect(
        data(), with_roles(person="person", quasi=["text"]), [shoal.KAnonymity(k=99)]
    ),
    "one person": lambda data: shoal.protect(data(2), with_roles(person="person", quasi=["text"]), G),
    "no records": lambda data: shoal.protect(data(0), with_roles(person="person", quasi=["text"]), G),
    "not met": lambda data: shoal.protect(
        data(), with_roles(person="person", quasi=["text", "number"], sensitive=["s"]), [shoal.GBalance(g=0.7)],
        mask=ShowsGroups(), method=Alone(),
    ),
    "unknown column of a model": lambda data: shoal.assess(
        data(), with_roles(person="person", quasi=["text"], sensitive=["s"]), [shoal.HAffiliation(h=1, column="S")]
    ),
}  # fmt: skip


class ShowsGroups:
    name = "groups"

    def mask(self, column: Any, records: Any, table: Any) -> pl.Series:
        return pl.Series([f"group {group}" for group in range(records.n_groups)])


class Alone:
    name = "alone"

    def group(self, table: Any, models: Any, progress: Any) -> Any:
        return Grouping(np.arange(table.n_persons, dtype=np.int32), table.n_persons)


def everything_said(error: BaseException | None) -> str:
    """The message of an error and of every error that a traceback would show with it."""
    said = ""
    while error is not None:
        said += f"{error!r} {error}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return said


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
@pytest.mark.parametrize("provocation", PROVOCATIONS)
def test_no_message_holds_a_cell_value(provocation: str, kind: str) -> None:
    given = pl.DataFrame(canaries())

    def as_kind(frame: pl.DataFrame) -> Any:
        return {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[kind]

    with pytest.raises(ShoalError) as refusal:
        PROVOCATIONS[provocation](lambda n=12: as_kind(given.head(n)))
    said = everything_said(refusal.value)
    for canary in CANARIES:
        assert canary not in said


@pytest.mark.parametrize(
    "odd",
    [[{CANARY}, 5], [CANARY, {"a": CANARY}], [complex(7391), 5j], [b"\xff" + CANARY.encode(), 5], [[CANARY], 7391]],
)
def test_nor_does_one_about_a_column_that_cannot_be_read(odd: list[Any]) -> None:
    data = pd.DataFrame({"q": [1, 2], "odd": pd.Series(odd, dtype=object)})
    with pytest.raises(ShoalError) as refusal:
        shoal.assess(data, Schema(quasi=["q"], kept=["odd"]))
    for canary in CANARIES:
        assert canary not in everything_said(refusal.value)


def test_nor_do_warnings_notes_and_verdicts() -> None:
    data = pl.DataFrame(canaries()).with_columns(kept=pl.col("dropped"))
    names = ("number", "text", "person", "s")
    schema = Schema(
        person="person", quasi=["number", "text"], sensitive=["s"], kept=["kept"],
        dropped=[name for name in canaries() if name not in names],
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        release = shoal.protect(data, schema, G, max_suppressed=1, allow_alone=True)
    with pytest.raises(shoal.errors.PrivacyNotMetError) as refusal:
        shoal.protect(data, schema, G, max_suppressed=1)
    said = everything_said(refusal.value)
    assert "alone in their group by the kept column" in said
    said += " ".join([*(str(warning.message) for warning in caught), *release.notes, str(release.to_dict())])
    answer = shoal.verify(release.data.with_columns(dropped=pl.lit(CANARY)), schema, [shoal.GBalance(g=0.9)])
    said += " ".join(answer.problems) + str(answer.to_dict()) + repr(answer) + repr(release)
    for canary in CANARIES:
        assert canary not in said


NASTY: dict[str, Any] = {
    "unicode": ["ä", "漢字", "🙂", "e\u0301", "a,b", 'q"uo', "x\ny", ";"] * 5,
    "control characters": ["\0", "\x1b[0m", "\u202e", "\ufeff", "\t"] * 8,
    "very long texts": [f"{'x' * 50_000}{i % 5}" for i in range(40)],
    "huge whole numbers": [(-1) ** i * (10**18 - 1 - i) for i in range(40)],
    "huge with missing": [None if i % 3 else (-1) ** i * (10**18 - 1 - i) for i in range(40)],
    "floats": [i / 7 for i in range(40)],
    "floats at the ends": [(-1) ** i * 1.7e308 / (1 + i) for i in range(40)],
    "tiny floats": [5e-324 * i for i in range(40)],
    "one value": [5] * 40,
    "one text": ["a"] * 40,
    "nothing": [None] * 40,
    "almost nothing": [None] * 39 + ["a"],
    "empty texts": ["", "a", None, " "] * 10,
    "our own signs": ["*", "missing", "{a, b}", "1-2", "a or missing"] * 8,
    "booleans": [True, False, None, True] * 10,
    "times": [dt.time(i % 24) for i in range(40)],
    "date-times": [dt.datetime(2020, 1, 1) + dt.timedelta(hours=7 * i) for i in range(40)],
    "far dates": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1), None] * 10,
    "categories": pl.Series([f"c{i % 9}" for i in range(40)]).cast(pl.Categorical),
    "small numbers": pl.Series([i % 100 for i in range(40)], dtype=pl.Int8),
    "unsigned": pl.Series([2**63 - 2 - i for i in range(40)], dtype=pl.UInt64),
    "decimals": pl.Series([i / 4 for i in range(40)]).cast(pl.Decimal(10, 2)),
    "single floats": pl.Series([i / 7 for i in range(40)], dtype=pl.Float32),
}


@pytest.mark.parametrize("role", ["quasi", "nominal", "ordered", "sensitive", "person", "kept", "time"])
@pytest.mark.parametrize("nasty", NASTY)
def test_nasty_columns_are_protected_or_refused_by_name(nasty: str, role: str) -> None:
    values = NASTY[nasty] if isinstance(NASTY[nasty], pl.Series) else pl.Series(NASTY[nasty])
    data = pl.DataFrame({"p": [i // 2 for i in range(40)], "q": [i % 9 for i in range(40)]}).with_columns(x=values)
    kinds = {"quasi": "x", "nominal": shoal.Nominal("x"), "ordered": shoal.Ordered("x")}
    roles: dict[str, Any] = {"person": "p", "quasi": ["q"]}
    if role in kinds:
        roles["quasi"] = ["q", kinds[role]]
    elif role in ("sensitive", "kept"):
        roles[role] = ["x"]
    else:
        roles[role] = "x"
    schema = Schema(**roles, dropped=["p"] if role == "person" else [])
    refusals: list[str] = []
    for mask in ("range", "mean", "suppress"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", shoal.errors.ShoalWarning)
                release = shoal.protect(data, schema, G, mask=mask)
        except ShoalError as error:
            refusals.append(str(error))
            continue
        assert len(release.data) == 40
        assert shoal.verify(release.data, schema, G).holds
    assert all("'x'" in refusal or "one person only" in refusal for refusal in refusals)


def test_two_persons_and_one_record_each() -> None:
    release = shoal.protect(frame().head(2), SIMPLE, G)
    assert release.data["q"].to_list() == ["1-2", "1-2"]


def test_very_many_categories() -> None:
    n = 20_000
    data = pl.DataFrame({"p": np.arange(n) // 2, "q": [f"c{i}" for i in range(n)], "s": [f"v{i}" for i in range(n)]})
    assert shoal.protect(data, SIMPLE, [*G, shoal.HAffiliation(h=0.5)]).verdict.holds


def test_a_table_of_everything_is_protected_by_every_model() -> None:
    for model in (*MODELS, shoal.PersonKAnonymity(k=3), shoal.LDiversity(l=2), shoal.TCloseness(t=0.9)):
        assert shoal.protect(visits(), SCHEMA, [model], allow_alone=True).verdict.holds
