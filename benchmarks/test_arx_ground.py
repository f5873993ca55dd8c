"""On ARX's own ground: Adult, eight quasi-identifiers with hierarchies, k = 5; granularity, CPU and memory.

The table has to lie in the folder that SHOAL_DATA names. CPU is that of `protect` as a whole, after a first run.
"""

from __future__ import annotations

import resource
import time

import polars as pl
import pytest

import shoal
from benchmarks.arx_ground import COLUMNS, SENSITIVE, K, adult_frame, adult_in_bands, schema_of_adult
from benchmarks.peers.tables import REAL, is_there

pytestmark = pytest.mark.skipif(not is_there(REAL), reason="Adult is not in the folder that SHOAL_DATA names")

ALIKE = [shoal.KAnonymity(k=K)]
DIVERSE = [shoal.KAnonymity(k=K), shoal.LDiversity(l=3, kind="distinct")]


def measured(
    records: int | None,
    method: str,
    *,
    models: list[shoal.Model] = ALIKE,
    sensitive: str = SENSITIVE[0],
    **options: str,
) -> tuple[shoal.Release, float]:
    """A release, and the CPU seconds of protecting it."""
    return timed(adult_frame(records), schema_of_adult(sensitive), models, method, options)


def timed(
    frame: pl.DataFrame, schema: shoal.Schema, models: list[shoal.Model], method: str, options: dict[str, str]
) -> tuple[shoal.Release, float]:
    """A release, and the CPU seconds of protecting it once all is compiled."""
    shoal.protect(frame.head(2_000), schema, models, method=method, measure_input=False, seed=1, **options)
    started = time.process_time()
    release = shoal.protect(frame, schema, models, method=method, measure_input=False, seed=1, **options)
    return release, time.process_time() - started


def hidden_groups(release: shoal.Release) -> int:
    """How many records are in groups of which nothing is shown."""
    quasi = [pl.col(name).cast(pl.String) == "*" for name in COLUMNS if name in release.data.columns]
    return len(release.data.filter(pl.sum_horizontal(quasi) == len(COLUMNS) - 1))


@pytest.mark.parametrize("method", ["local-recoding", "balance-tree", "mondrian"])
@pytest.mark.parametrize("sensitive", SENSITIVE)
def test_adult(method: str, sensitive: str) -> None:
    release, seconds = measured(None, method, sensitive=sensitive)
    print(f"\nAdult, {sensitive} sensitive, {method}: granularity {release.utility.granularity:.4f}, "
          f"{release.risk.groups:,} groups, {seconds:.2f} s CPU")  # fmt: skip
    assert release.verdict.holds
    assert len(release.data) == 30_162
    if method != "mondrian":
        assert release.utility.granularity > (0.970 if sensitive == SENSITIVE[0] else 0.949)
        assert seconds < (1.5 if method == "local-recoding" else 3)


@pytest.mark.parametrize(("models", "effort", "least", "most_seconds"), [
    (ALIKE, "normal", 0.9725, 1.0),
    (ALIKE, "high", 0.9740, 10.0),
    (DIVERSE, "normal", 0.9695, 1.5),
    (DIVERSE, "high", 0.9710, 15.0),
])  # fmt: skip
def test_adult_by_effort(models: list[shoal.Model], effort: str, least: float, most_seconds: float) -> None:
    release, seconds = measured(None, "local-recoding", models=models, effort=effort)
    print(f"\nAdult, {len(models)} models, effort {effort}: granularity {release.utility.granularity:.5f}, "
          f"{release.risk.groups:,} groups, {seconds:.2f} s CPU, "
          f"{hidden_groups(release)} records of which nothing is shown")  # fmt: skip
    assert len(release.data) == 30_162
    assert release.utility.granularity >= least
    assert seconds < most_seconds


@pytest.mark.parametrize(("models", "least", "most_seconds"), [(ALIKE, 0.9980, 4.0), (DIVERSE, 0.9870, 10.0)])
def test_a_million_records(models: list[shoal.Model], least: float, most_seconds: float) -> None:
    release, seconds = measured(1_000_000, "local-recoding", models=models)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\n1,000,000 records, {len(models)} models: granularity {release.utility.granularity:.5f}, "
          f"{seconds:.2f} s CPU, {peak:.2f} GB with the table")  # fmt: skip
    assert round(release.utility.granularity, 4) >= least
    assert seconds < most_seconds


@pytest.mark.parametrize("effort", ["normal", "high"])
def test_cells_hidden(effort: str) -> None:
    frame, schema = adult_in_bands()
    release, seconds = timed(frame, schema, ALIKE, "local-recoding", {"effort": effort})
    shown = {name: frame[name].unique().to_list() for name in COLUMNS if name != SENSITIVE[0]}
    hidden = sum(int((~release.data[name].cast(pl.String).is_in(values)).sum()) for name, values in shown.items())
    print(f"\nAges in seven bands, effort {effort}: {hidden:,.0f} cells where something is hidden, {seconds:.2f} s CPU")
    assert hidden <= 11_000
