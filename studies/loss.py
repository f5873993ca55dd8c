"""How much is lost at the same risk, and what each part of the search for better groups pays.

Run with `python -m studies.loss`; writes docs/studies/loss.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

import shoal
from shoal.grouping import BalanceTree, Grouping
from shoal.grouping.improve import EFFORTS, Effort, improve
from shoal.grouping.person_space import PersonSpace, person_space
from shoal.measuring.tuning import Target, compare
from shoal.measuring.utility import Utility, measure_utility
from shoal.table.table import Table
from studies.data import MissingDataError, berka, berka_orders, informs, movielens, rwm5yr
from studies.loss_bound import bound_on_ane
from studies.pages import line_chart, markdown_table, write_page

LEVELS = ("0.2", "0.1", "0.05")
NORMAL = EFFORTS["normal"]
FEWER_ROUNDS = (1, 2, 5, 10, 20, 40)

PARTS: dict[str, Effort] = {
    "normal": NORMAL,
    "without wide pools": replace(NORMAL, wide_up_to=0),
    "wide pools only, one round": replace(NORMAL, most_rounds=1, wide_up_to=10**9),
    "without looking ahead": replace(NORMAL, shares_of_room=(0.0,)),
    "without turning": replace(NORMAL, turning=0.0),
    "without swaps": replace(NORMAL, swaps_up_to=0),
    "without moves and swaps": replace(NORMAL, passes=0),
    "moves and swaps only": replace(NORMAL, recuts=False),
}
DROPPED: dict[str, Effort] = {
    "pools of 3 groups (5)": replace(NORMAL, groups_of_pool=3),
    "pools of 8 groups (5)": replace(NORMAL, groups_of_pool=8),
    "wide pools of 1,600 units (800)": replace(NORMAL, wide_pool=1600),
    "turning by 0.6 (0.3)": replace(NORMAL, turning=0.6),
    "always a share of 0.4 of the room": replace(NORMAL, shares_of_room=(0.4,)),
    "the 8 nearest groups (3)": replace(NORMAL, most_near=8),
    "3 passes (1)": replace(NORMAL, passes=3),
}


@dataclass
class Study:
    """One table: where it comes from, and the trees that were grown on it."""

    name: str
    load: Callable[[], pl.DataFrame]
    schema: shoal.Schema
    table: Table = field(init=False)
    paper: dict[str, float] = field(init=False)
    """What the paper's tree loses at each level."""
    space: PersonSpace = field(init=False)
    trees: dict[str, Grouping] = field(init=False)

    def prepare(self) -> None:
        """Read the table, find what the paper's tree loses, and grow ours."""
        columns = [self.schema.person, *self.schema.quasi_names, *self.schema.sensitive]
        frame = self.load().select(columns)
        self.table = Table.from_frame(frame, self.schema)
        at = [Target("max_gidr", level) for level in LEVELS]  # type: ignore[arg-type]
        rows = compare(frame, self.schema, methods=[BalanceTree(cut="median")], at=at, by=["g-balance"]).rows
        self.paper = {level: row.point.loss for level, row in zip(LEVELS, rows, strict=True) if row.point is not None}
        self.space = person_space(self.table)
        self.trees = {level: BalanceTree(effort="low").group(self.table, asked(level)) for level in LEVELS}

    def improved(self, level: str, effort: Effort | None) -> tuple[Utility, float]:
        """What is lost after an effort (None: after the tree alone), and the CPU seconds it took."""
        started = time.process_time()
        grouping = self.trees[level]
        if effort is not None:
            grouping = improve(self.space, asked(level), grouping, effort=effort)
        seconds = time.process_time() - started
        return measure_utility(self.table, grouping), seconds

    def ratio(self, level: str, effort: Effort | None) -> float:
        return self.improved(level, effort)[0].ane / self.paper[level]

    def floor(self, level: str) -> float:
        """What nobody can avoid: each person alone, whose records differ from their own mean."""
        alone = Grouping(np.arange(self.table.n_persons, dtype=np.int32), self.table.n_persons, ())
        return measure_utility(self.table, alone).ane / self.paper[level]


def asked(level: str) -> list[shoal.Model]:
    return [shoal.RecordRisk(rho=level)]


STUDIES = [
    Study(
        "MovieLens",
        movielens,
        shoal.Schema(person="user", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["seen"]),
    ),
    Study(
        "INFORMS",
        informs,
        shoal.Schema(person="DUPERSID", quasi=["DOBYY", "EDUCYEAR", "income", "poverty"], sensitive=["ICD9CODX"]),
    ),
    Study(
        "rwm5yr",
        rwm5yr,
        shoal.Schema(person="id", quasi=["age", shoal.Nominal("female"), "educ", "hhninc"], sensitive=["docvis"]),
    ),
    Study(
        "Berka, transactions",
        berka,
        shoal.Schema(person="client_id", quasi=["born", "salary", "opened"], sensitive=["amount"]),
    ),
    Study(
        "Berka, orders",
        berka_orders,
        shoal.Schema(person="client_id", quasi=["born", "salary", "opened"], sensitive=["amount"]),
    ),
]


def by_effort(studies: list[Study]) -> str:
    """What each effort loses on each table, with what it costs."""
    efforts = {"low": None, "normal": NORMAL, "high": EFFORTS["high"]}
    rows, floors = [], []
    ratios: dict[str, list[float]] = {name: [] for name in efforts}
    for study in studies:
        for level in LEVELS:
            found = {name: study.improved(level, effort) for name, effort in efforts.items()}
            of_paper = {name: utility.ane / study.paper[level] for name, (utility, _) in found.items()}
            seconds = [f"{found[name][1]:.1f}" for name in ("normal", "high")]
            shown = [f"{found[name][0].granularity:.3f}" for name in efforts]
            rows.append([study.name, f"{100 * float(level):g} %", f"{study.paper[level]:.4f}",
                         *(f"{of_paper[name]:.2f}" for name in efforts), f"{study.floor(level):.2f}",
                         " / ".join(shown), " / ".join(seconds)])  # fmt: skip
            for name in efforts:
                ratios[name].append(of_paper[name])
            floors.append(study.floor(level))
    agree = np.array(floors) < 0.01
    for name_of_mean, which in (("mean", np.ones_like(agree)), ("mean where a person's records agree", agree)):
        means = [np.array(ratios[name])[which].mean() for name in efforts]
        rows.append([name_of_mean, "", "", *(f"{mean:.3f}" for mean in means), "", "", ""])
    head = ["table", "MaxGIDR at most", "ANE of the paper's tree", "low", "normal", "high", "floor",
            "granularity: low / normal / high", "CPU s: normal / high"]  # fmt: skip
    return markdown_table(head, rows)


def by_bound(studies: list[Study]) -> str:
    """The bound on what any grouping loses, and the share of the way from the paper to it."""
    rows = []
    for study in studies:
        for level in LEVELS:
            bound = bound_on_ane(study.table, level) / study.paper[level]
            ratios = [study.ratio(level, effort) for effort in (NORMAL, EFFORTS["high"])]
            ways = (f"{(1 - ratio) / (1 - bound):.2f}" for ratio in ratios)
            rows.append([study.name, f"{100 * float(level):g} %", f"{bound:.2f}", *ways])
    return markdown_table(["table", "MaxGIDR at most", "bound", "normal", "high"], rows)


def by_part(studies: list[Study], efforts: dict[str, Effort]) -> str:
    """The mean ratio of each table, for some ways to search."""
    rows = []
    for name, effort in efforts.items():
        started = time.process_time()
        means = [sum(study.ratio(level, effort) for level in LEVELS) / len(LEVELS) for study in studies]
        seconds = time.process_time() - started
        rows.append([name, *(f"{mean:.3f}" for mean in means), f"{sum(means) / len(means):.3f}", f"{seconds:.0f}"])
    return markdown_table(["search", *(study.name for study in studies), "mean", "CPU s"], rows)


def by_rounds(studies: list[Study]) -> str:
    """What more rounds bring, at MaxGIDR 10 %."""
    lines = {}
    for study in studies:
        points = [(0.0, study.ratio("0.1", None))]
        for rounds in FEWER_ROUNDS:
            effort = replace(NORMAL, most_rounds=rounds, persons_per_round=10**9)
            points.append((float(rounds), study.ratio("0.1", effort)))
        lines[study.name] = points
    return line_chart("loss-rounds", lines, x="rounds", y="ANE over that of the paper", log=False)


def main() -> None:
    """Run the study and write its page."""
    studies, missing = [], []
    for study in STUDIES:
        try:
            study.prepare()
            studies.append(study)
        except MissingDataError as error:
            missing.append(f"{study.name} was not run: {error}")
    page = PAGE.format(
        about_bounds=ABOUT_BOUNDS,
        missing="\n\n".join(missing) + "\n\n" if missing else "",
        efforts=by_effort(studies),
        bounds=by_bound(studies),
        parts=by_part(studies, PARTS),
        dropped=by_part(studies, DROPPED),
        rounds=by_rounds(studies),
    )
    print(f"written: docs/studies/{write_page('loss', page).name}")


ABOUT_BOUNDS = """Under record risk rho a group has at least m = 1 / rho persons, and two of them are together at
least as far from its mean as they are from each other. So the mean error is at least the mean of 1 / (2 m) times the
distances to the m - 1 nearest others, and none is smaller than how far the records of a person are from their own
median (`studies/loss_bound.py`). No grouping loses less than this *bound*, given as a share of what the paper's tree
loses; on small tables it is tested against the best of all groupings. It is not tight: it takes the nearest for
everybody, which no grouping can, and nominal quasi-identifiers count as 0. *Normal* and *high* are the share of the
way from the paper's tree to the bound that the effort goes."""

PAGE = """# Less lost at the same risk

Made by `python -m studies.loss`. What the balance tree loses at the same highest risk (MaxGIDR), next to Kartal and
Li's own tree, and what each part of the search after the tree pays. The paper's tree has the g that loses least under
the bound; ours asks for record risk at the bound.

{missing}## By effort

ANE as a share of what the paper's tree loses. The *floor* is what remains with each person alone: the records of a
person differ there from their own mean, and no grouping avoids that. Granularity is that of the mask range (1: nothing
was generalized): groups are improved for ANE, and need no longer be boxes. CPU seconds are those of the search alone.

{efforts}

## How far is the best

{about_bounds}

{bounds}

## What each part pays

The mean over MaxGIDR 20, 10 and 5 %, with the effort *normal* and one part left out.

{parts}

- *Wide pools*: the first round cuts hundreds of units anew, looking ahead to what later cuts can still reach.
- *Looking ahead*: a cut is weighed by what both sides will lose once they are cut on, as often as there is room for.
- *Turning*: later rounds cut in directions between those of the quasi-identifiers.
- *Moves and swaps*: of single persons to the nearest groups of the pool, while every limit is kept.

Cutting anew and moving pay most, and each needs the other. After many rounds little is left of what wide pools, looking
ahead and turning bring; they count where there are few rounds, as in large tables, and cost next to nothing.

{rounds}

## What was tried and dropped

The same, with another setting than the one that is used (in brackets). What gains little for much time, or nothing, was
left out.

{dropped}
"""


if __name__ == "__main__":
    main()
