"""CPU seconds and peak memory of other processes; ratios are taken in one run, since machines are noisy."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

RUNNER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6]))
"""


@dataclass(frozen=True)
class Cost:
    """What a process used."""

    cpu_seconds: float
    peak_gb: float


def cost_of(*command: str) -> Cost:
    """Run a command to its end and give what it used."""
    done = subprocess.run([sys.executable, "-c", RUNNER, *command], capture_output=True, text=True, check=True)
    code, seconds, peak = json.loads(done.stdout)
    if code:
        raise RuntimeError(f"{command[0]} ended with {code}: {done.stderr[-2000:]}")
    return Cost(seconds, peak)


def median_cost(times: int, *command: str) -> Cost:
    """The cost of the run with the median CPU time of several."""
    costs = sorted((cost_of(*command) for _ in range(times)), key=lambda cost: cost.cpu_seconds)
    return costs[len(costs) // 2]


def python(code: str) -> tuple[str, ...]:
    """The command that runs some Python."""
    return (sys.executable, "-c", code)


def shoal(*arguments: str) -> tuple[str, ...]:
    """The command that runs shoal's command line."""
    return (sys.executable, "-m", "shoal.cli.main", *arguments)


def bench_table(folder: Path, persons: int) -> Path:
    """The benchmark's table with so many persons, written as Parquet by another process."""
    path = folder / f"visits-{persons}.parquet"
    if not path.exists():
        cost_of(
            *python(
                "from shoal.demo.benchmark_table import benchmark_table; "
                f"benchmark_table({persons}).write_parquet({str(path)!r})"
            )
        )
    return path
