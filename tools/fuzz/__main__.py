"""python -m tools.fuzz: random tables through every method, model and mask, verified at the end.

python -m tools.fuzz --cases 100000      many cases; failed ones are printed with their numbers
python -m tools.fuzz --case 4711         one of them again, with its traceback
"""

from __future__ import annotations

import argparse
import sys
import time

from tools.fuzz.run import no_longer_than, run_case, run_cases
from tools.fuzz.tables import case_of

STEP = 500


def main() -> int:
    """Run what was asked for; 1 where a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__.split("\n\n")[0])
    parser.add_argument("--case", type=int, help="run one case, and show what it is and where it fails")
    parser.add_argument("--cases", type=int, default=2000, help="how many cases to run")
    parser.add_argument("--start", type=int, default=0, help="the number of the first")
    parser.add_argument("--seconds", type=float, help="end after this many seconds, whatever is left")
    asked = parser.parse_args()
    if asked.case is not None:
        case = case_of(asked.case)
        print(case.told())
        with no_longer_than(600):
            print(run_case(case))
        return 0
    began, cpu = time.perf_counter(), time.process_time()
    total = None
    for first in range(asked.start, asked.start + asked.cases, STEP):
        if asked.seconds is not None and time.perf_counter() - began >= asked.seconds:
            break
        tally = run_cases(range(first, min(first + STEP, asked.start + asked.cases)))
        for number, what in tally.failures:
            print(f"FAILED  python -m tools.fuzz --case {number}  {what}", flush=True)
        if total is None:
            total = tally
        else:
            total.released += tally.released
            total.verified_files += tally.verified_files
            total.refused.update(tally.refused)
            total.failures += tally.failures
        print(f"{total.told()}; {time.process_time() - cpu:,.0f} s of CPU", flush=True)
    return 1 if total is None or total.failures else 0


if __name__ == "__main__":
    sys.exit(main())
