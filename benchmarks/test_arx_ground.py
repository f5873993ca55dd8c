"""On ARX's own ground: Adult, eight quasi-identifiers with hierarchies, k = 5; granularity, CPU and memory.

The table has to lie in the folder that SHOAL_DATA names. CPU is that of `protect` as a whole, after a first run.
"""

from __future__ import annotations

import resource
import time

import pytest

import shoal
from benchmarks.arx_ground import K, adult_frame, schema_of_adult
from benchmarks.peers.tables import REAL, is_there

pytestmark = pytest.mark.skipif(not is_there(REAL), reason="Adult is not in the folder that SHOAL_DATA names")

MODELS = [shoal.KAnonymity(k=K)]


def measured(records: int | None, method: str) -> tuple[shoal.Release, float]:
    """A release, and the CPU seconds of protecting it."""
    frame, schema = adult_frame(records), schema_of_adult()
    shoal.protect(frame.head(2_000), schema, MODELS, method=method, measure_input=False, seed=1)
    started = time.process_time()
    release = shoal.protect(frame, schema, MODELS, method=method, measure_input=False, seed=1)
    return release, time.process_time() - started


@pytest.mark.parametrize("method", ["local-recoding", "balance-tree", "mondrian"])
def test_adult(method: str) -> None:
    release, seconds = measured(None, method)
    print(f"\nAdult, {method}: granularity {release.utility.granularity:.4f}, {release.risk.groups:,} groups, "
          f"{seconds:.2f} s CPU")  # fmt: skip
    assert release.verdict.holds
    assert len(release.data) == 30_162, "nobody is suppressed"
    if method == "local-recoding":
        assert release.utility.granularity > 0.949
        assert seconds < 1.5


def test_a_million_records() -> None:
    release, seconds = measured(1_000_000, "local-recoding")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\n1,000,000 records: granularity {release.utility.granularity:.4f}, {seconds:.2f} s CPU, {peak:.2f} GB")
    assert release.utility.granularity >= 0.990
    assert seconds < 6
    assert peak < 2
