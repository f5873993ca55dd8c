"""What hiding histories adds to protect: CPU seconds with and without it, on made-up patients, and the peak memory.

Run with `python -m benchmarks.histories` for 100,000 persons and m = 1 and 2, or with the number of persons and then
those of m: `python -m benchmarks.histories 1000000 1`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence

import shoal
from shoal.demo.patients import made_up_patients
from shoal.masks import History
from shoal.table.hierarchy import Hierarchy

QUASI = ["age", shoal.Nominal("gender"), "zip", "education"]
RISK = shoal.RecordRisk(rho="0.1")


def main(n_persons: int, known: Sequence[int]) -> None:
    """Print one line for protect as it is, and one for each m."""
    patients = made_up_patients(n_persons, seed=1).drop("visit_date", "treatment")
    schema = shoal.Schema(person="patient", quasi=QUASI, sensitive=["disease"])
    diseases = patients["disease"].drop_nulls().unique().to_list()
    hierarchies = {"disease": Hierarchy.of_icd10(diseases)}
    print(f"{n_persons:,} persons, {len(patients):,} records")
    for alike in (0.0, 1.0):
        for m in (None, *known) if not alike else known:
            models = [RISK] if m is None else [RISK, shoal.HistoryK(k=5, m=m), shoal.CountK(k=5)]
            history = None if m is None else History(hierarchies=hierarchies, alike=alike)
            for frame in (patients.head(2_000), patients):  # the first compiles
                started = time.process_time()
                shoal.protect(frame, schema, models, seed=1, attacks=0, history=history)
                took = time.process_time() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            name = "record risk 10 %" if m is None else f"and history-k 5, m = {m}, count-k 5, alike = {alike:g}"
            print(f"{name}: {took:.1f} s CPU, {peak:.2f} GB so far", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, [int(m) for m in sys.argv[2:]] or [1, 2])
