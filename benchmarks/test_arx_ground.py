"""On ARX's own ground: Adult, eight quasi-identifiers with hierarchies, k = 5; granularity, CPU and memory.

The table has to lie in the folder that SHOAL_DATA names. CPU is that of `protect` as a whole, after a first run.
"""

from __future__ import annotations

import resource
import time

import pytest

import shoal
from benchmarks.arx_ground import SENSITIVE, K, adult_frame, schema_of_adult
from benchmarks.peers.tables import REAL, is_there

pytestmark = pytest.mark.skipif(not is_there(REAL), reason="Adult is not in the folder that SHOAL_DATA names")

ALIKE = [shoal.KAnonymity(k=K)]
DIVERSE = [shoal.KAnonymity(k=K), shoal.LDiversity(l=3, kind="distinct")]


def measured(
    records: int | None, method: str, *, models: list[shoal.Model] = ALIKE, sensitive: str = SENSITIVE[0]
) -> tuple[shoal.Release, float]:
    """A release, and the CPU seconds of protecting it."""
    frame, schema = adult_frame(records), schema_of_adult(sensitive)
    shoal.protect(frame.head(2_000), schema, models, method=method, measure_input=False, seed=1)
    started = time.process_time()
    release = shoal.protect(frame, schema, models, method=method, measure_input=False, seed=1)
    return release, time.process_time() - started


@pytest.mark.parametrize("method", ["local-recoding", "balance-tree", "mondrian"])
@pytest.mark.parametrize("sensitive", SENSITIVE)
def test_adult(method: str, sensitive: str) -> None:
    release, seconds = measured(None, method, sensitive=sensitive)
    print(f"\nAdult, {sensitive} sensitive, {method}: granularity {release.utility.granularity:.4f}, "
          f"{release.risk.groups:,} groups, {seconds:.2f} s CPU")  # fmt: skip
    assert release.verdict.holds
    assert len(release.data) == 30_162, "nobody is suppressed"
    if method != "mondrian":
        assert release.utility.granularity > (0.970 if sensitive == SENSITIVE[0] else 0.949)
        assert seconds < (1.5 if method == "local-recoding" else 3)


def test_adult_with_three_diversity() -> None:
    release, seconds = measured(None, "local-recoding", models=DIVERSE)
    print(f"\nAdult, 3 distinct occupations: granularity {release.utility.granularity:.4f}, "
          f"{release.risk.groups:,} groups, {seconds:.2f} s CPU")  # fmt: skip
    assert len(release.data) == 30_162, "nobody is suppressed"
    assert release.utility.granularity > 0.957
    assert seconds < 1.5


def test_a_million_records() -> None:
    release, seconds = measured(1_000_000, "local-recoding")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\n1,000,000 records: granularity {release.utility.granularity:.4f}, {seconds:.2f} s CPU, {peak:.2f} GB")
    assert release.utility.granularity >= 0.990
    assert seconds < 6
    assert peak < 2
