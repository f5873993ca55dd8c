"""What mining rules costs: on Adult, on a million records, and next to the definition read literally.

Run with `make bench`. Prints the figures of docs/benchmarks.md.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import polars as pl
import pytest

import shoal
from benchmarks.measure import Cost, bench_table, cost_of, python
from tests.naive import mining as naive

PROJECT = Path(__file__).resolve().parent.parent
ADULT = Path(os.environ.get("SHOAL_DATA", PROJECT.parent / "shared" / "data")) / "adult"
QUASI = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]

MINE_ADULT = """
import time
import polars as pl
import shoal
frame = pl.read_csv({table!r}, separator=";", infer_schema_length=0).select({columns!r})
quasi = [shoal.Nominal(name, shoal.Hierarchy.read_arx_csv({folder!r} + f"/adult_hierarchy_{{name}}.csv"))
         for name in {quasi!r}]
schema = shoal.Schema(quasi=quasi, sensitive=["occupation"])
shoal.mine(frame.head(1000), schema, max_len=2)
if {records}:
    frame = frame.sample({records}, with_replacement=True, seed=1)
started = time.process_time()
rules = shoal.mine(frame, schema, max_len=2)
open({out!r}, "w").write(f"{{time.process_time() - started}} {{len(rules)}}")
"""

MINE_VISITS = """
import time
import polars as pl
import shoal
frame = pl.read_parquet({table!r})
quasi = ["age", "zip", "income", "education", shoal.Nominal("region")]
schema = shoal.Schema(person="person", quasi=quasi, sensitive=["diagnosis"])
shoal.mine(frame.head(1000), schema, max_len=2)
started = time.process_time()
rules = shoal.mine(frame, schema, max_len=2)
open({out!r}, "w").write(f"{{time.process_time() - started}} {{len(rules)}}")
"""


def measured(code: str, out: Path) -> tuple[float, int, Cost]:
    """CPU seconds of mining alone, the number of rules, and what the whole process used."""
    cost = cost_of(*python(code))
    seconds, n_rules = out.read_text(encoding="utf-8").split()
    return float(seconds), int(n_rules), cost


@pytest.mark.data
@pytest.mark.parametrize(("records", "most_seconds"), [(0, 2), (1_000_000, 20)], ids=["as it is", "a million"])
def test_mining_adult(tmp_path: Path, records: int, most_seconds: float) -> None:
    if not ADULT.is_dir():
        pytest.skip("the folder adult is not in the folder that SHOAL_DATA names")
    code = MINE_ADULT.format(
        table=str(ADULT / "adult_arx.csv"), columns=[*QUASI, "occupation"], folder=str(ADULT / "hierarchies_arx"),
        quasi=QUASI, records=records, out=str(tmp_path / "out"),
    )  # fmt: skip
    seconds, n_rules, cost = measured(code, tmp_path / "out")
    print(
        f"\nAdult, {records or 30_162:,} records, 7 quasi-identifiers, max_len 2: {seconds:.2f} s CPU, {n_rules:,} "
        f"rules, {cost.peak_gb:.2f} GB"
    )
    assert seconds < most_seconds
    assert cost.peak_gb < 2


def test_mining_a_million_records_of_persons_who_are_all_different(tmp_path: Path) -> None:
    """200,000 persons with five records each, 500 sensitive values: nobody is of another's kind."""
    table = bench_table(tmp_path, 200_000)
    seconds, n_rules, cost = measured(MINE_VISITS.format(table=str(table), out=str(tmp_path / "out")), tmp_path / "out")
    n_records = pl.scan_parquet(table).select(pl.len()).collect().item()
    print(f"\n{n_records:,} records of 200,000 persons, max_len 2: {seconds:.2f} s CPU, {n_rules:,} rules, "
          f"{cost.peak_gb:.2f} GB")  # fmt: skip
    assert seconds < 20
    assert cost.peak_gb < 2


def test_mining_next_to_its_definition() -> None:
    """The definition tries every itemset on every person: 300 persons, two quasi-identifiers at once."""
    ages, regions = [20 + i * 7 % 60 for i in range(300)], ["nsew"[i * i % 4] for i in range(300)]
    diseases = [
        "flu" if age < 50 else "gout" if region in "ns" else "cold" for age, region in zip(ages, regions, strict=True)
    ]
    rows = [[str(age), f"{age // 10}0s", "young" if age < 50 else "old", "*"] for age in range(20, 80)]
    frame = pl.DataFrame({"age": ages, "region": regions, "disease": diseases})
    schema = shoal.Schema(
        quasi=[shoal.Number("age", shoal.Hierarchy.from_rows(rows)), shoal.Nominal("region")], sensitive=["disease"]
    )
    shoal.mine(frame, schema, max_len=2)
    started = time.process_time()
    found = shoal.mine(frame, schema, max_len=2)
    ours = time.process_time() - started
    started = time.process_time()
    paths = {"age": {int(row[0]): row for row in rows}, "region": {region: [region, "*"] for region in "nsew"}}
    persons = [[record] for record in frame.to_dicts()]
    every = naive.rules(persons, paths, ["disease"], min_expectation=0.9, max_len=2, margin={}, conjunction="product")
    theirs = time.process_time() - started
    print(
        f"\n300 records, {len(found)} rules: {ours * 1000:.0f} ms CPU; the definition {theirs:.1f} s: "
        f"{theirs / ours:.0f} times"
    )
    assert len(found) == len(naive.most_general(paths, every))
    assert theirs > 10 * ours
