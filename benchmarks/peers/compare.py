"""shoal and its peers in one run: `make bench-peers`. Prints the tables of docs/benchmarks.md as Markdown.

Each run is a process of its own with a cap on its CPU time. Loading and coding of the input stay off the clock; so do
importing, and what numba compiles once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

import polars as pl

from benchmarks.peers.growth import growth_svg
from benchmarks.peers.hierarchies import hierarchies_of
from benchmarks.peers.loss import Loss, loss_of, read_published
from benchmarks.peers.tables import TASKS, Task, is_there, table_of

RUNNERS = Path(__file__).resolve().parent / "runners"
PEERS = ("anonypy", "anonypyx", "anjana", "polarfrost", "anonymity-api")
SHOAL = ("shoal", "shoal, mondrian")
HAVE_L = ("anonypy", "anonypyx", "anjana", "anonymity-api")
K = 5
L = 3

LAUNCH = """
import json, resource, subprocess, sys
cap = int(sys.argv[1])
def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (cap, cap + 5))
done = subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, used.ru_maxrss / 1e6, used.ru_utime + used.ru_stime, done.stderr[-1500:]]))
"""
"""Runs a command with a cap on CPU seconds; small, so that its own memory does not count as the command's."""


@dataclass(frozen=True)
class Result:
    """What a run used and what it published; without seconds where it did not end."""

    tool: str
    task: str
    records: int
    models: str
    seconds: float | None = None
    peak_gb: float | None = None
    loss: Loss | None = None
    why: str = ""


class Race:
    """One run of the comparison, in a folder of its own."""

    def __init__(self, folder: Path, peers_python: str, cap_seconds: int) -> None:
        self.folder = folder
        self.peers_python = peers_python
        self.cap_seconds = cap_seconds
        self.former: dict[tuple[str, str, str], Result] = {}

    def table(self, task: Task, records: int) -> Path:
        """The table as CSV, with its hierarchies beside it."""
        path = self.folder / f"{task.name}-{records}.csv"
        if not path.exists():
            table = table_of(task, records)
            table.write_csv(path)
            path.with_suffix(".hierarchies.json").write_text(json.dumps(hierarchies_of(task, table)), encoding="utf-8")
        return path

    def race(self, tool: str, task: Task, records: int, l: int | None) -> Result:  # noqa: E741 - its name everywhere
        """Run a tool, unless a smaller table already says that it would go over the cap."""
        models = f"k = {K}" + (f", l = {l}" if l else "")
        result = Result(tool, task.name, records, models)
        former = self.former.get((tool, task.name, models))
        cap = f"over {self.cap_seconds // 60} min"
        if former is not None and former.why:
            result = replace(result, why=former.why)
        elif former is not None and (former.seconds or 0) * records / former.records > self.cap_seconds:
            result = replace(result, why=f"{cap} (from {former.records:,})")
        else:
            result = self._run(result, task, self.table(task, records), l, cap)
        self.former[tool, task.name, models] = result
        return result

    def _run(self, result: Result, task: Task, table: Path, l: int | None, cap: str) -> Result:  # noqa: E741
        published, told = self.folder / "published.csv", self.folder / "told.json"
        for path in (published, told):
            path.unlink(missing_ok=True)
        name, *options = result.tool.split(", ")
        python = sys.executable if name == "shoal" else self.peers_python
        runner = RUNNERS / f"run_{name.replace('-', '_')}.py"
        peak, why = self.launch([python, str(runner)], options, task, table, l=l)
        if why is not None:
            return replace(result, why=cap if why == "cap" else why)
        seconds = json.loads(told.read_text(encoding="utf-8"))["seconds"]
        loss = loss_of(read_published(published), pl.read_csv(table), task)
        return replace(result, seconds=seconds, peak_gb=peak, loss=loss)

    def launch(
        self,
        command: list[str],
        options: list[str],
        task: Task,
        table: Path,
        *,
        l: int | None = None,  # noqa: E741
    ) -> tuple[float, str | None]:
        """Run a runner on a table; its peak memory in GB, and why it did not end, if it did not."""
        todo = self.folder / "job.json"
        todo.write_text(
            json.dumps(
                {
                    "table": str(table), "published": str(self.folder / "published.csv"),
                    "told": str(self.folder / "told.json"), "numbers": task.numbers, "nominal": task.nominal,
                    "sensitive": task.sensitive, "k": K, "l": l,
                    "hierarchies": str(table.with_suffix(".hierarchies.json")),
                }
            ),
            encoding="utf-8",
        )  # fmt: skip
        launched = subprocess.run(
            [sys.executable, "-c", LAUNCH, str(self.cap_seconds + 20), *command, str(todo), *options],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        code, peak, used, words = json.loads(launched.stdout)
        if code and used >= self.cap_seconds:
            return peak, "cap"
        if code:
            print(words, file=sys.stderr)
            return peak, f"failed: {words.strip().splitlines()[-1][:80] if words.strip() else code}"
        return peak, None

    def checks(self, task: Task, records: int) -> list[tuple[str, float, float, str]]:
        """pycanon and shoal on one published table: what, CPU seconds of each, and what each found."""
        self._run(Result("shoal", task.name, records, ""), task, self.table(task, records), None, "")
        published = self.folder / f"published-{records}.csv"
        (self.folder / "published.csv").rename(published)
        found = {}
        for name, python in (("shoal", sys.executable), ("pycanon", self.peers_python)):
            told = self.folder / "told.json"
            told.unlink(missing_ok=True)
            _, why = self.launch([python, str(RUNNERS / f"check_{name}.py")], [], task, published)
            if why is not None:
                print(f"{name} did not end its checks of {records:,} records: {why}", file=sys.stderr)
            found[name] = json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
        ours, theirs = found["shoal"], found["pycanon"]
        lines = [
            (what, theirs[f"{what}_seconds"], ours[f"{what}_seconds"], f"{theirs[what]:.4g} and {ours[what]:.4g}")
            for what in ("k", "l", "t")
            if what in ours and what in theirs
        ]
        return [*lines, ("all three", theirs["seconds"], ours["seconds"], "")] if len(lines) == 3 else lines


def shown(result: Result, ours: dict[str, Result]) -> str:
    """A line of the table; times are those of shoal's default and of its fastest method."""
    start = f"| {result.tool} | {result.records:,} | {result.models} "
    if result.seconds is None or result.loss is None:
        return f"{start}| {result.why} | | | | | | |"
    times = " | ".join(_times(result.seconds, ours.get(tool)) for tool in SHOAL)
    loss = result.loss
    return (
        f"{start}| {result.seconds:.2f} | {times} | {result.peak_gb:.2f} | {loss.ncp:.4f} | {loss.left_out:.1%} | "
        f"{loss.smallest_group} |"
    )


def _times(seconds: float, ours: Result | None) -> str:
    """How many times ours a time is; nothing where ours is not known."""
    if ours is None or not ours.seconds:
        return ""
    times = seconds / ours.seconds
    return f"{times:,.0f}" if times >= 10 else f"{times:.1f}"


def runs(race: Race, task: Task, peers: list[str], sizes: list[int], l: int | None) -> Iterator[str]:  # noqa: E741
    """The lines of one table, as they come."""
    yield "| tool | records | models | CPU s | times shoal | times mondrian | GB | NCP | left out | smallest group |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for records in sizes:
        ours: dict[str, Result] = {}
        for tool in (*SHOAL, *(peer for peer in peers if not l or peer in HAVE_L)):
            result = race.race(tool, task, records, l)
            if tool in SHOAL:
                ours[tool] = result
            yield shown(result, ours)


def versions(peers_python: str) -> str:
    """The versions of all tools, on one line."""
    code = "import sys; from importlib.metadata import version; print(*map(version, sys.argv[1:]))"
    names = [*PEERS, "pycanon", "pandas"]
    done = subprocess.run([peers_python, "-c", code, *names], capture_output=True, text=True, check=True)
    peers = ", ".join(f"{name} {number}" for name, number in zip(names, done.stdout.split(), strict=True))
    ours = ", ".join(f"{name} {version(name)}" for name in ("polars", "numba"))
    return f"shoal with {ours}; {peers}; Python {sys.version.split()[0]}"


def main() -> None:
    """Run all, or what the arguments choose."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--peers-python", default=".venv-peers/bin/python", help="the Python that has the peers")
    asked.add_argument("--tables", nargs="*", default=list(TASKS), choices=list(TASKS))
    asked.add_argument("--peers", nargs="*", default=list(PEERS), choices=list(PEERS))
    asked.add_argument("--sizes", nargs="*", type=int, default=[10_000, 30_000, 100_000, 1_000_000])
    asked.add_argument("--l-sizes", nargs="*", type=int, default=[10_000, 30_000])
    asked.add_argument("--check-sizes", nargs="*", type=int, default=[10_000, 100_000, 1_000_000])
    asked.add_argument("--growth", nargs="*", type=int, default=[100_000, 300_000, 1_000_000, 3_000_000, 10_000_000])
    asked.add_argument("--plot", type=Path, default=Path("docs/images/growth.svg"), help="where growth is drawn")
    asked.add_argument("--cap-minutes", type=int, default=5, help="CPU minutes a run may take")
    chosen = asked.parse_args()
    print(versions(chosen.peers_python), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        race = Race(Path(folder), chosen.peers_python, 60 * chosen.cap_minutes)
        for name in chosen.tables:
            task = TASKS[name]
            if not is_there(task):
                print(f"\nThe table {name} is not in the folder that SHOAL_DATA names; left out.", flush=True)
                continue
            for sizes, l in ((chosen.sizes, None), (chosen.l_sizes, L)):  # noqa: E741 - its name everywhere
                print(f"\nTable {name}\n" if sizes else "", flush=True)
                for line in runs(race, task, chosen.peers, sizes, l) if sizes else ():
                    print(line, flush=True)
        for records in chosen.check_sizes:
            print(f"\nChecking {records:,} records\n\n| check | pycanon, CPU s | shoal, CPU s | times | found |")
            print("|---|---|---|---|---|")
            for what, theirs, ours, found in race.checks(TASKS["made-up"], records):
                print(f"| {what} | {theirs:.2f} | {ours:.3f} | {theirs / ours:,.0f} | {found} |", flush=True)
        if chosen.growth:
            race.cap_seconds *= 10
            grow(race, chosen.growth, chosen.plot)


def grow(race: Race, sizes: list[int], plot: Path) -> None:
    """Print what shoal takes at growing sizes, and draw it."""
    print("\nGrowth of shoal\n\n| tool | records | CPU s | us a record | peak GB | NCP |\n|---|---|---|---|---|---|")
    lines: dict[str, list[tuple[float, float]]] = {}
    for tool in reversed(SHOAL):
        for records in sizes:
            result = race.race(tool, TASKS["made-up"], records, None)
            if result.seconds is None or result.loss is None:
                print(f"| {tool} | {records:,} | {result.why} | | | |", flush=True)
                continue
            each = result.seconds / records * 1e6
            print(f"| {tool} | {records:,} | {result.seconds:.2f} | {each:.1f} | {result.peak_gb:.2f} | "
                  f"{result.loss.ncp:.4f} |", flush=True)  # fmt: skip
            lines.setdefault(tool, []).append((records, result.seconds))
    if lines:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot.write_text(growth_svg(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
