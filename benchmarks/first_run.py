"""What the first run after an install costs beyond a warm one: CPU seconds of compiling, and which kernels they go to.

    python -m benchmarks.first_run                   # shoal protect on 10,000 made-up patients, with the report
    python -m benchmarks.first_run --flow demo
    python -m benchmarks.first_run --flow starter    # with the policy that shoal profile writes for the same table
    python -m benchmarks.first_run --kernels 20      # the twenty kernels that compile longest

A cold run has an empty folder for compiled code; the warm ones after it use what it left there.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

POLICY = """seed = 7
[columns]
person = "patient"
quasi = ["age:number", "gender:nominal", "zip:number", "education:number"]
sensitive = ["disease", "treatment"]
time = "visit_date"
[models]
record-risk = "1/10"
g-balance = {k = 20}
h-affiliation = {l = 2}
"""

PLAIN = "from shoal.cli.main import main; main()"
LISTENING = """
import json, os, sys, time
from numba.core import event

class Kernels(event.Listener):
    def __init__(self):
        self.open, self.took = [], []
    def on_start(self, told):
        self.open.append([time.process_time(), 0.0])
    def on_end(self, told):
        began, inside = self.open.pop()
        whole = time.process_time() - began
        if self.open:
            self.open[-1][1] += whole
        kernel = told.data["dispatcher"].py_func
        place = kernel.__module__.rpartition(".")[2] + "." + kernel.__qualname__
        self.took.append([place, whole, whole - inside, [str(a) for a in told.data["args"]]])

kernels = Kernels()
event.register("numba:compile", kernels)
sys.argv = ["shoal", *sys.argv[1:]]
from shoal.cli.main import main
try:
    main()
finally:
    with open(os.environ["KERNELS_TO"], "w") as file:
        json.dump(kernels.took, file)
"""


def flow(name: str, folder: Path) -> list[str]:
    """The arguments of shoal for a flow, and what it needs."""
    if name == "demo":
        return ["demo", "-o", str(folder / "demo"), "--json"]
    table, policy = folder / "visits.csv", folder / "visits.policy.toml"
    if not table.exists():
        from shoal.demo.patients import made_up_patients

        made_up_patients(10_000, seed=7).write_csv(table)
        policy.write_text(POLICY)
    if name == "starter":
        policy = folder / "starter.policy.toml"
        asked = ["profile", str(table), "-o", str(policy), "--json"]
        subprocess.run([sys.executable, "-c", PLAIN, *asked], check=True, stdout=subprocess.DEVNULL)
    return ["protect", str(table), "--policy", str(policy), "-o", str(folder / "release"), "--overwrite", "--json"]


def cpu_of(arguments: list[str], compiled: Path, kernels_to: Path | None = None) -> float:
    """User and system seconds of one run."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(compiled), "KERNELS_TO": str(kernels_to)}
    code = LISTENING if kernels_to else PLAIN
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure one flow and print it."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--flow", choices=["protect", "demo", "starter"], default="protect")
    asked.add_argument("--warm", type=int, default=3, help="warm runs, of which the median counts")
    asked.add_argument("--kernels", type=int, default=0, metavar="N", help="show the N kernels that compile longest")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments, compiled, kernels_to = flow(given.flow, folder), folder / "compiled", folder / "kernels.json"
        cold = cpu_of(arguments, compiled, kernels_to if given.kernels else None)
        warm = sorted(cpu_of(arguments, compiled) for _ in range(given.warm))[given.warm // 2]
        bytes_kept = sum(path.stat().st_size for path in compiled.rglob("*") if path.is_file())
        took = json.loads(kernels_to.read_text()) if given.kernels else []
    print(f"{given.flow}: cold {cold:.1f} s, warm {warm:.2f} s, compiling {cold - warm:.1f} s of CPU; "
          f"{bytes_kept / 1e6:.1f} MB kept")  # fmt: skip
    if took:
        print(f"{len(took)} compiled, {len({place for place, *_ in took})} different")
    for place, whole, own, types in sorted(took, key=lambda one: -one[2])[: given.kernels]:
        print(f"{own:6.2f} own {whole:6.2f} with callees  {place}({', '.join(types)[:100]})")


if __name__ == "__main__":
    main()
