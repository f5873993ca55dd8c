"""Kartal and Li (2020): Tables 7 to 18, on MovieLens 100K, INFORMS 2008 (2005 only) and a part of Berka.

Run with `python -m studies.mrpp`; writes docs/studies/mrpp.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

import shoal
from shoal.errors import ShoalError
from shoal.grouping import BalanceTree
from shoal.measuring.tuning import Point, Target, compare
from shoal.measuring.tuning.workbench import Workbench
from shoal.models import Model
from shoal.table.table import Table
from studies.data import MissingDataError, berka, informs, movielens
from studies.pages import markdown_table, write_page

SIZES = (2, 3, 5, 7, 10, 20, 50)
BALANCES = ("0.50", "0.67", "0.80", "0.86", "0.90", "0.95", "0.98")
DIVERSITIES = (2, 3, 5, 10, 20)
AFFILIATIONS = ("0.50", "0.33", "0.20", "0.10", "0.05")
PAPER, BEST = BalanceTree(cut="median"), BalanceTree()


@dataclass(frozen=True)
class Study:
    """One of the paper's three tables: where it comes from, and what was printed for it."""

    name: str
    numbers: tuple[int, int, int, int]
    """Its tables in the paper."""
    load: Callable[[], pl.DataFrame]
    schema: shoal.Schema
    risk_levels: tuple[str, ...]
    printed_k: tuple[float, ...]
    """MaxGIDR in percent with k-anonymity, for each of SIZES."""
    printed_person_k: tuple[float, ...]
    printed_g: tuple[float, ...]
    printed_loss: tuple[tuple[float, float, float], ...]
    """ANE with k, person-k and g-balance, for each of the risk levels."""
    printed_l: tuple[float, ...]
    """MaxGSAR in percent with l-diversity at g = 0.5, for each of DIVERSITIES."""
    printed_h: tuple[float, ...]
    printed_value_loss: tuple[tuple[float, float], ...]
    """ANE with l-diversity and h-affiliation at g = 0.5, at MaxGSAR 20, 15 and 10 %."""
    note: str


PATIENTS = Study(
    "Patients (INFORMS 2008)", (7, 10, 13, 16), informs,
    shoal.Schema(person="DUPERSID", quasi=["DOBYY", "EDUCYEAR", "income", "poverty"], sensitive=["ICD9CODX"]),
    ("0.20", "0.15", "0.10", "0.05", "0.02", "0.01"),
    (100, 100, 100, 100, 100, 100, 76.67), (96.67, 94.29, 77.14, 76.74, 59.02, 45.59, 17.46),
    (68.18, 54.17, 40.00, 33.33, 25.58, 16.45, 7.33),
    ((1.479, 1.118, 0.469), (2.951, 1.814, 0.923), (4.031, 3.160, 2.477), (10.505, 9.229, 8.962),
     (34.815, 34.571, 22.789), (81.068, 78.809, 55.298)),
    (100, 100, 100, 100, 27.78), (50, 31.58, 20, 10, 4.39),
    ((14.989, 0.404), (27.249, 1.536), (259.512, 28.317)),
    "The paper has three years, 117,307 records of 29,531 persons; only 2005 is available with its conditions. Its "
    "whole table has h = 0.21, so that h below that cannot be met by any grouping: the paper's algorithm as printed "
    "would publish the table as one group.",
)  # fmt: skip
FILMS = Study(
    "Films (MovieLens 100K)", (8, 11, 14, 17), movielens,
    shoal.Schema(person="user", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["seen"]),
    ("0.25", "0.20", "0.15", "0.10", "0.05"),
    (100, 100, 100, 100, 100, 100, 100), (96.07, 90.21, 81.35, 81.02, 50.74, 35.90, 9.87),
    (67.37, 53.89, 35.46, 30.16, 23.54, 11.98, 5.88),
    ((0.908, 0.902, 0.506), (1.022, 0.984, 0.867), (2.133, 2.107, 1.723), (2.785, 2.918, 2.205),
     (8.551, 8.976, 7.825)),
    (66.67, 66.67, 66.67, 66.67, 66.67), (50, 28.57, 20, 10, 4.84),
    ((0.383, 0.198), (0.899, 0.404), (1.959, 0.789)),
    "The same table as the paper's. The sensitive value is film, rating and month together.",
)  # fmt: skip
BANK = Study(
    "Bank clients (Berka, a part)", (9, 12, 15, 18), berka,
    shoal.Schema(person="client_id", quasi=["born", "salary", "opened"], sensitive=["amount"]),
    ("0.25", "0.20", "0.15", "0.10", "0.05"),
    (100, 100, 100, 100, 100, 100, 100), (98.14, 82.58, 56.61, 41.64, 33.43, 17.19, 6.08),
    (66.49, 51.06, 34.24, 25.69, 19.10, 10.30, 5.12),
    ((1.263, 0.610, 0.498), (1.341, 0.806, 0.557), (1.811, 1.431, 0.947), (3.298, 2.804, 1.786),
     (8.230, 7.781, 4.608)),
    (100, 75, 66.67, 27.38, 20), (50, 30.77, 20, 10, 6.21),
    ((1.795, 0.614), (2.222, 1.208), (8.646, 5.509)),
    "Only the first 49,102 of 1,056,320 transactions are available, of 1,229 clients; the paper aggregates 273,508 "
    "records of 3,674. The sensitive value here is the amount in hundreds. Orders can be compared, figures cannot.",
)  # fmt: skip


def percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f}"


def measured(bench: Workbench, method: BalanceTree, *models: Model) -> Point | None:
    """A setting's point, or None where the whole table cannot meet it."""
    try:
        return bench.try_out(models, method)
    except ShoalError:
        return None


def record_risks(study: Study, table: Table) -> str:
    """Tables 7 to 9: the risk that each threshold leaves."""
    bench = Workbench(table, [Target("max_gidr", 1)], "ane")  # type: ignore[arg-type]
    rows = []
    for number, (size, balance) in enumerate(zip(SIZES, BALANCES, strict=True)):
        points = [
            measured(bench, PAPER, shoal.KAnonymity(k=size)),
            measured(bench, PAPER, shoal.PersonKAnonymity(k=size)),
            measured(bench, PAPER, shoal.GBalance(g=balance)),
            measured(bench, BEST, shoal.GBalance(g=balance)),
        ]
        ours = [None if point is None else point.risk.max_gidr for point in points]
        printed = (study.printed_k[number], study.printed_person_k[number], study.printed_g[number])
        cells = [f"{paper:.2f} / {percent(here)}" for paper, here in zip(printed, ours[:3], strict=True)]
        rows.append([size, *cells, balance, percent(ours[3])])
    head = ["k", "k: paper / ours", "person-k: paper / ours", "g-balance: paper / ours", "g", "g-balance, default"]
    return markdown_table(head, rows)


def record_losses(study: Study, frame: pl.DataFrame) -> str:
    """Tables 10 to 12: what is lost at the same risk, relative to the paper's method on the same table."""
    levels = [Target("max_gidr", level) for level in study.risk_levels]  # type: ignore[arg-type]
    paper = compare(frame, study.schema, methods=[PAPER], at=levels, by=["k", "person-k", "g-balance"])
    best = compare(frame, study.schema, methods=[BEST], at=levels, by=["record-risk"])
    loss = {(row.model, row.target): row.point for row in [*paper.rows, *best.rows]}
    rows, ordered = [], []
    for target, printed in zip(levels, study.printed_loss, strict=True):
        points = [loss[model, target] for model in ("k-anonymity", "person-k-anonymity", "g-balance", "record-risk")]
        base = points[2]
        if base is None:
            rows.append([f"{100 * float(target.limit):g} %", "-", "-", "-", "-", "-", "-"])
            continue
        ours = ["-" if point is None else f"{point.loss / base.loss:.2f}" for point in points]
        if None not in points:
            ordered.append([point.loss for point in points if point is not None])
        theirs = [f"{value / printed[2]:.2f}" for value in printed]
        both = [f"{paper_says} / {here}" for paper_says, here in zip(theirs[:2], ours[:2], strict=True)]
        rows.append([f"{100 * float(target.limit):g} %", *both, "1 / 1", ours[3], f"{base.loss:.4f}"])
    head = ["MaxGIDR at most", "k: paper / ours", "person-k: paper / ours", "g-balance", "record risk, default",
            "ANE of g-balance, ours"]  # fmt: skip
    return f"{markdown_table(head, rows)}\n\n{orders_of(ordered)}"


def orders_of(losses: list[list[float]]) -> str:
    """In how many bounds the methods come in the paper's order: k, person-k, g-balance, and ours."""
    n = len(losses)

    def as_ordered(first: int, then: int) -> str:
        found = sum(row[first] >= row[then] for row in losses)
        return "all" if found == n else f"{found} of {n}"

    return (
        f"Orders, by ANE before rounding: k loses at least as much as person-k at {as_ordered(0, 1)} bounds and as "
        f"g-balance at {as_ordered(0, 2)}, person-k at least as much as g-balance at {as_ordered(1, 2)}, and g-balance "
        f"at least as much as our default at {as_ordered(2, 3)}."
    )


def value_risks(study: Study, table: Table) -> str:
    """Tables 13 to 15, at g = 0.5: the risk that a value is learned."""
    bench = Workbench(table, [Target("max_gsar", 1)], "ane")  # type: ignore[arg-type]
    balance = shoal.GBalance(g="0.5")
    rows = []
    for number, (diversity, affiliation) in enumerate(zip(DIVERSITIES, AFFILIATIONS, strict=True)):
        with_l = measured(bench, PAPER, balance, shoal.LDiversity(l=diversity))
        with_h = measured(bench, PAPER, balance, shoal.HAffiliation(h=affiliation))
        best = measured(bench, BEST, balance, shoal.HAffiliation(h=affiliation))
        ours = [None if point is None else max(point.risk.max_gsar.values()) for point in (with_l, with_h, best)]
        rows.append([diversity, f"{study.printed_l[number]:.2f} / {percent(ours[0])}", affiliation,
                     f"{study.printed_h[number]:.2f} / {percent(ours[1])}", percent(ours[2])])  # fmt: skip
    return markdown_table(["l", "l-diversity: paper / ours", "h", "h-affiliation: paper / ours", "h, default"], rows)


def value_losses(study: Study, frame: pl.DataFrame) -> str:
    """Tables 16 to 18, at g = 0.5: what is lost at the same risk of a value, relative to h-affiliation."""
    levels = [Target("max_gsar", level) for level in ("0.20", "0.15", "0.10")]  # type: ignore[arg-type]
    fixed = [shoal.KAnonymity(k=1)]
    asked = {"methods": [_WithBalance("0.5")], "at": levels}
    paper = compare(frame, study.schema, fixed, by=["l", "h-affiliation"], **asked)  # type: ignore[arg-type]
    best = compare(frame, study.schema, fixed, methods=[_WithBalance("0.5", BEST)], at=levels, by=["h-affiliation"])
    loss = {(row.model, row.target): row.point for row in paper.rows}
    ours_best = {row.target: row.point for row in best.rows}
    rows = []
    for target, printed in zip(levels, study.printed_value_loss, strict=True):
        with_l, with_h, with_best = loss["l-diversity", target], loss["h-affiliation", target], ours_best[target]
        printed_ratio = f"{printed[0] / printed[1]:.2f}"
        if with_h is None:
            rows.append([f"{100 * float(target.limit):g} %", f"{printed_ratio} / -", "-", "-", "-"])
            continue
        ratio = "-" if with_l is None else f"{with_l.loss / with_h.loss:.2f}"
        of_best = "-" if with_best is None else f"{with_best.loss / with_h.loss:.2f}"
        rows.append([f"{100 * float(target.limit):g} %", f"{printed_ratio} / {ratio}", "1 / 1", of_best,
                     f"{with_h.loss:.4f}"])  # fmt: skip
    head = ["MaxGSAR at most", "l-diversity: paper / ours", "h-affiliation", "h-affiliation, default",
            "ANE of h-affiliation, ours"]  # fmt: skip
    return markdown_table(head, rows)


@dataclass(frozen=True)
class _WithBalance:
    """A tree that always asks for g-balance as well: `compare` turns the models of values only."""

    g: str
    tree: BalanceTree = PAPER
    name = "balance-tree"

    def group(self, table: Table, models: Sequence[Model], progress: object = None) -> object:
        return self.tree.group(table, [*models, shoal.GBalance(g=self.g)])


def section(study: Study) -> str:
    """One table of the paper, recomputed."""
    risk, loss, value_risk, value_loss = study.numbers
    try:
        frame = study.load()
    except MissingDataError as missing:
        return f"## {study.name}\n\nNot run: {missing}"
    table = Table.from_frame(frame, study.schema)
    return f"""## {study.name}

{table.n_records:,} records of {table.n_persons:,} persons. {study.note}

**Table {risk}: MaxGIDR in percent at the same thresholds.**

{record_risks(study, table)}

**Table {loss}: information lost (ANE) at the same MaxGIDR, as a multiple of the paper's g-balance tree.**

{record_losses(study, frame)}

**Table {value_risk}: MaxGSAR in percent, with g-balance 0.5.**

{value_risks(study, table)}

**Table {value_loss}: information lost (ANE) at the same MaxGSAR, with g-balance 0.5, as a multiple of h-affiliation.**

{value_losses(study, frame)}
"""


def main() -> None:
    """Run the study and write its page."""
    parts = [section(study) for study in (PATIENTS, FILMS, BANK)]
    page = write_page("mrpp", INTRODUCTION + "\n\n".join(parts))
    print(f"written: docs/studies/{page.name}")


INTRODUCTION = """# Many records per person: Kartal and Li's Tables 7 to 18

Made by `python -m studies.mrpp`. Each cell has the paper's figure and ours, recomputed with the paper's tree
(`cut="median"`); the last columns are our default (the best cut, and a search after the tree), and for the loss at
the same risk the model record risk. A dash means that the whole table cannot meet the threshold, so that no grouping
can.

The paper's ANE is in another unit than its definition gives (its figures exceed 1), so losses are compared as
multiples of the paper's own method: above 1 loses more, below 1 loses less. Every model is set as finely as it can be:
of all its settings that keep to the bound, the one that loses least counts. k can be set more finely than person-k (a
group has more records than persons), which is why it is now and then the better of the two, as in two of the paper's
own rows for MovieLens.

"""


if __name__ == "__main__":
    main()
