"""A policy that mends makes three engines publish the same, with the same counts; what one refuses all refuse."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli.main import cli
from shoal.errors import InputError, SchemaError
from shoal.policy import Policy
from shoal.policy.mend import MendChoices
from shoal.policy.write import document_of, toml_of
from shoal.reading.mend import MendedParts, mend
from tests.engines.test_engines import collected
from tests.tiers import long_but_for

EVERY_STEP = {
    "trim": ["ward"], "case": {"sex": "lower"}, "missing": {"sex": ["k.a."], "weight": [999]},
    "map": {"sex": {"f": "w"}}, "dates": {"admitted": "dd.mm.yyyy"}, "numbers": {"cost": "n.nnn,n"},
    "code": {"icd": {"before": "."}}, "age": {"age": {"born": "born", "on": "2024-01-01"}},
    "range": {"weight": {"low": 2, "high": 300}},
    "filter": [{"column": "ward", "without": ["test"]}, {"column": "age", "low": 40},
               {"column": "ward", "values": ["a", "b"]}],
}  # fmt: skip
"""Every step; two filters are on one column."""


def messy(n: int = 120) -> pl.DataFrame:
    return pl.DataFrame({
        "patient": [f"p{i // 2}" for i in range(n)],
        "sex": [["m", "M", "w", "F", "k.A.", None][i % 6] for i in range(n)],
        "ward": [[" a", "a", "b ", "test", "c"][i % 5] for i in range(n)],
        "weight": [[70, 80, 999, 1, None][(i // 2) % 5] for i in range(n)],
        "admitted": [f"{i % 28 + 1:02d}.03.2023" for i in range(n)],
        "cost": [f"1.{i:03d},50" for i in range(n)],
        "icd": [["C50.4", "C50.9", "I10"][i % 3] for i in range(n)],
        "born": [f"19{50 + (i // 2) % 40}-05-01" for i in range(n)],
    })  # fmt: skip


def asked(**steps: Any) -> Policy:
    columns = {"person": "patient", "quasi": ["sex:nominal", "ward:nominal", "weight:number", "age:number"],
               "sensitive": ["icd"], "kept": ["cost", "admitted"], "dropped": ["born"]}  # fmt: skip
    return Policy.from_document({
        "columns": columns, "models": {"person-k-anonymity": 2}, "mend": steps, "budget": {"allow_alone": True},
    })  # fmt: skip


@given(cuts=st.lists(st.integers(0, 120), max_size=4))
def test_parts_of_a_table_add_up_to_the_whole(cuts: list[int]) -> None:
    choices, frame, parts = MendChoices(**EVERY_STEP), messy(), MendedParts()
    ends = [0, *sorted(cuts), len(frame)]
    pieces = [frame[start:end] for start, end in pairwise(ends)]
    made = [mend(piece, choices, is_part=True) for piece in pieces]
    for piece, each in zip(pieces, made, strict=True):
        parts.add(len(piece), each.changes, each.refused)
    whole = mend(frame, choices)
    assert parts.told() == tuple(change.to_dict() for change in whole.changes)
    assert [each["column"] for each in parts.told() if each["step"] == "filter"] == ["ward", "age", "ward"]
    assert pl.concat([each.frame for each in made]).equals(whole.frame)


@pytest.mark.parametrize("steps", [
    {"dates": {"icd": "dd.mm.yyyy"}}, {"range": {"weight": {"high": 75, "outside": "refuse"}}},
    {"filter": [{"column": "ward", "without": ["test"]}, {"column": "sex", "values": ["x"]}]},
])  # fmt: skip
def test_what_is_refused_in_a_table_is_refused_in_its_parts_with_the_same_counts(steps: dict[str, Any]) -> None:
    choices, frame, parts = MendChoices(**steps), messy(), MendedParts()
    for piece in (frame[:50], frame[50:]):
        made = mend(piece, choices, is_part=True)
        parts.add(len(piece), made.changes, made.refused)
    with pytest.raises(InputError) as whole:
        mend(frame, choices)
    with pytest.raises(InputError, match=re.escape(str(whole.value))):
        parts.told()


def _parts(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def _shape(frame: pl.DataFrame) -> Any:
    return sorted(frame.drop("patient").cast(pl.String).rows(), key=str)


@pytest.mark.spark
@pytest.mark.parametrize("format", long_but_for(["csv"], ["csv", "parquet"]))
def test_engines_mend_files_alike(spark: Any, tmp_path: Path, format: str) -> None:
    table, policy = tmp_path / f"table.{format}", tmp_path / "policy.toml"
    steps = EVERY_STEP
    messy().write_parquet(table)
    document = document_of(asked(**steps))
    if format == "csv":  # its reader takes decimal commas for what they are
        messy().write_csv(table, separator=";")
        steps = {step: each for step, each in EVERY_STEP.items() if step != "numbers"}
        source = {"delimiter": ";", "decimal": ",", "thousands": ".", "date_format": {"admitted": "dd.mm.yyyy"}}
        document = {**document, "mend": steps, "source": source}
    policy.write_text(toml_of(document))
    runs = {}
    for engine in ("memory", "stream", "spark"):
        made = CliRunner().invoke(
            cli, ["protect", str(table), "--policy", str(policy), "-o", str(tmp_path / engine), "--engine", engine,
                  "--json"], catch_exceptions=False,
        )  # fmt: skip
        assert made.exit_code == 0, made.output
        runs[engine] = json.loads(made.stdout)
    assert {each["step"] for each in runs["memory"]["mended"]} == set(steps)
    releases = {engine: tmp_path / engine / f"release.{format}" for engine in runs}
    published = {engine: _shape(shoal.read(_parts(path)).frame) for engine, path in releases.items()}
    for engine in ("stream", "spark"):
        assert runs[engine]["mended"] == runs["memory"]["mended"]
        assert published[engine] == published["memory"]
    assert CliRunner().invoke(cli, ["verify", str(tmp_path / "spark")]).exit_code == 0


@pytest.mark.long
@pytest.mark.spark
def test_a_frame_of_spark_is_mended(spark: Any) -> None:
    from shoal.engines.spark import protect as protect_on_spark

    policy, frame = asked(**EVERY_STEP), messy()
    given = spark.createDataFrame(frame.to_arrow()).repartition(3)
    release = protect_on_spark(given, policy)
    memory = shoal.protect(frame, policy)
    assert _shape(collected(release.data)) == _shape(memory.data)
    assert release.to_dict()["mended"] == memory.to_dict()["mended"]


@pytest.mark.spark
def test_spark_refuses_what_memory_refuses_in_the_same_words(spark: Any) -> None:
    from shoal.engines.spark import protect as protect_on_spark

    given = spark.createDataFrame(messy().to_arrow()).repartition(3)
    age = EVERY_STEP["age"]
    for steps, kind in (
        ({"age": age, "range": {"weight": {"high": 75, "outside": "refuse"}}}, InputError),
        ({"age": age, "trim": ["wrd"]}, SchemaError),
        ({"age": age, "filter": [{"column": "sex", "values": ["x"]}]}, InputError),
    ):
        with pytest.raises(kind) as memory:
            shoal.protect(messy(), asked(**steps))
        with pytest.raises(kind, match=re.escape(str(memory.value))):
            protect_on_spark(given, asked(**steps))
