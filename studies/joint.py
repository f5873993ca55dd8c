"""Gal, Chen and Gangopadhyay (2008): Table 1 and figures 9 to 14, on Adult and on rwm5yr.

Run with `python -m studies.joint`; writes docs/studies/joint.md. Their cancer registry is not public.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import polars as pl

import shoal
from shoal.attacking.elimination import attack_elimination, linked_values
from shoal.demo.registry import made_up_registry
from shoal.errors import ShoalError
from shoal.grouping import BalanceTree, Grouping, Mondrian
from shoal.measuring.asking import random_queries
from shoal.measuring.queries import estimated_counts, query_error, true_counts
from shoal.measuring.utility import measure_utility
from shoal.models import Model
from shoal.table.table import Table
from studies.data import MissingDataError, adult, rwm5yr
from studies.pages import line_chart, markdown_table, write_page

QUASI = ["age", "sex", "race", "fnlwgt"]
SENSITIVE = ["occupation", "education", "hours-per-week"]
ALL_SENSITIVE = [*SENSITIVE, "workclass", "native-country", "marital-status", "relationship"]
K, L = 50, 6
N_QUERIES = 8_800
METHOD = Mondrian(spread="z-score")


def table_of(frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[str], person: str | None = None) -> Table:
    schema = shoal.Schema(person=person, quasi=list(quasi), sensitive=list(sensitive))
    return Table.from_frame(frame.select(*([person] if person else []), *quasi, *sensitive), schema)


def grouped(table: Table, *models: Model, method: Mondrian | BalanceTree = METHOD) -> tuple[Grouping, float, float]:
    """The grouping, its discernability and the CPU seconds it took."""
    started = time.process_time()
    grouping = method.group(table, list(models))
    seconds = time.process_time() - started
    return grouping, measure_utility(table, grouping).discernability, seconds


def size(table: Table, *models: Model, method: Mondrian | BalanceTree = METHOD) -> float:
    return grouped(table, *models, method=method)[1]


def can_be_met(table: Table, model: Model) -> bool:
    """Whether the whole table meets a model, so that a grouping can."""
    from shoal.grouping.feasibility import refuse_impossible

    try:
        refuse_impossible(table, [model])
    except ShoalError:
        return False
    return True


def errors_of_queries(table: Table, grouping: Grouping) -> list[str]:
    queries = random_queries(table, N_QUERIES, seed=8)
    error = query_error(
        true_counts(table, queries), estimated_counts(table, grouping, queries, shown="group"), table.n_records
    )
    return [f"{100 * share:.1f} %" if share is not None else "-"
            for share in (error.all, error.below_1_percent, error.at_least_1_percent)]  # fmt: skip


def table_1(table: Table) -> str:
    joint, _, _ = grouped(table, shoal.KAnonymity(k=K), shoal.JointDiversity(l=L))
    best, _, _ = grouped(table, shoal.KAnonymity(k=K), shoal.JointDiversity(l=L), method=BalanceTree())
    exponential, _, _ = grouped(table, shoal.KAnonymity(k=K), shoal.ExponentialL(l=L))
    rows = [
        ["paper (registry, K = 50, L = 10): Anonymize", "11.3 %", "14.6 %", "1.6 %"],
        ["paper: Exponential-L", "23.2 %", "28.6 %", "8.5 %"],
        [f"Adult, joint diversity {L}, median cut", *errors_of_queries(table, joint)],
        [f"Adult, joint diversity {L}, best cut", *errors_of_queries(table, best)],
        [f"Adult, exponential-l {L}", *errors_of_queries(table, exponential)],
    ]
    return markdown_table(["", "all queries", "< 1 % of the records", ">= 1 %"], rows)


def figure_9(table: Table) -> str:
    ls = [value for value in (2, 4, 6, 8, 10) if can_be_met(table, shoal.JointDiversity(l=value))]
    k = shoal.KAnonymity(k=K)
    lines = {
        "joint diversity, median cut": [(value, size(table, k, shoal.JointDiversity(l=value))) for value in ls],
        "joint diversity, best cut": [
            (value, size(table, k, shoal.JointDiversity(l=value), method=BalanceTree())) for value in ls
        ],
        "exponential-l": [(value, size(table, k, shoal.ExponentialL(l=value))) for value in ls],
    }
    return shown("joint-figure-9", lines, x="L", y="discernability")


def figure_10(table: Table) -> str:
    ks = (10, 25, 50, 100, 200)
    joint = shoal.JointDiversity(l=L)
    lines = {
        "joint diversity, median cut": [(k, size(table, shoal.KAnonymity(k=k), joint)) for k in ks],
        "joint diversity, best cut": [(k, size(table, shoal.KAnonymity(k=k), joint, method=BalanceTree())) for k in ks],
        "exponential-l": [(k, size(table, shoal.KAnonymity(k=k), shoal.ExponentialL(l=L))) for k in ks],
        "K itself, the floor": [(k, k) for k in ks],
    }
    return shown("joint-figure-10", lines, x="K", y="discernability")


def figure_11(frame: pl.DataFrame) -> str:
    joint, exponential = [], []
    for m in range(1, len(ALL_SENSITIVE) + 1):
        table = table_of(frame, QUASI, ALL_SENSITIVE[:m])
        k = shoal.KAnonymity(k=K)
        if can_be_met(table, shoal.JointDiversity(l=4)):
            joint.append((m, size(table, k, shoal.JointDiversity(l=4))))
        exponential.append((m, size(table, k, shoal.ExponentialL(l=4))))
    lines = {"joint diversity": joint, "exponential-l": exponential}
    return shown("joint-figure-11", lines, x="sensitive attributes", y="discernability")


def figure_12(frame: pl.DataFrame) -> str:
    table = table_of(frame, QUASI, ["occupation", "education", "relationship"])
    points = []
    for cap in range(11):
        model = shoal.JointDiversity(l=L, caps={"relationship": cap})
        if can_be_met(table, model):
            points.append((cap, size(table, shoal.KAnonymity(k=K), model)))
    return shown(
        "joint-figure-12", {"joint diversity": points}, x="cap of the last attribute", y="discernability", log=False
    )


def seconds_of(records: int, attributes: int, caps: dict[str, int] | None) -> float:
    sensitive = [f"s{n}" for n in range(1, attributes + 1)]
    table = table_of(made_up_registry(records, attributes=attributes), ["birth", "gender", "race", "zip"], sensitive)
    return grouped(table, shoal.KAnonymity(k=K), shoal.JointDiversity(l=10, caps=caps))[2]


def figure_13() -> str:
    seconds_of(2_000, 7, {"s7": 2})
    ms = range(1, 8)
    lines = {
        "without caps": [(m, seconds_of(100_000, m, None)) for m in ms],
        "last cap 2": [(m, seconds_of(100_000, m, {f"s{m}": 2})) for m in ms if m > 1],
    }
    return shown("joint-figure-13", lines, x="sensitive attributes", y="CPU seconds", log=False, digits=2)


def figure_14() -> str:
    sizes = (25_000, 50_000, 100_000, 200_000, 400_000)
    lines = {
        "without caps": [(n, seconds_of(n, 7, None)) for n in sizes],
        "last cap 2": [(n, seconds_of(n, 7, {"s7": 2})) for n in sizes],
    }
    return shown("joint-figure-14", lines, x="records", y="CPU seconds", log=False, digits=2)


def shown(
    name: str, lines: dict[str, list[tuple[float, float]]], *, x: str, y: str, log: bool = True, digits: int = 1
) -> str:
    """A figure as a table and a chart."""
    places = sorted({at for points in lines.values() for at, _ in points})
    value_of = {line: dict(points) for line, points in lines.items()}
    rows = [
        [
            f"{at:,.0f}",
            *(f"{value_of[line][at]:,.{digits}f}" if at in value_of[line] else "not reachable" for line in lines),
        ]
        for at in places
    ]
    return markdown_table([x, *lines], rows) + "\n\n" + line_chart(name, lines, x=x, y=y, log=log)


def attacks(table: Table) -> str:
    k = shoal.KAnonymity(k=10)
    alone = grouped(table, k, shoal.LDiversity(l=3, kind="distinct"))[0]
    joint = grouped(table, k, shoal.JointDiversity(l=4))[0]
    rows = []
    for name, grouping in (("3-diversity of each attribute alone", alone), ("joint diversity 4", joint)):
        found = [attack_elimination(linked_values(table, grouping), e) for e in (0, 1, 2)]
        rows.append(
            [f"K = 10, {name}", *(f"{one.exposed_persons:,}{'' if one.is_exact else ' or more'}" for one in found)]
        )
    return markdown_table(["persons who can be exposed by excluding", "no value", "one", "two"], rows)


def survey() -> str:
    """Persons with several records: rwm5yr, where a person's values are those of all their records."""
    frame = rwm5yr()
    table = table_of(frame, ["age", "female", "educ", "hhninc"], ["docvis", "hospvis"], person="id")
    rows: list[list[object]] = []
    for l_ in (2, 3, 4, 6):
        model = shoal.JointDiversity(l=l_, caps={"hospvis": 1})
        if not can_be_met(table, model):
            rows.append([l_, "not reachable", "-", "-", "-"])
            continue
        grouping, discernability, _ = grouped(table, shoal.PersonKAnonymity(k=10), model)
        rows.append([l_, f"{discernability:.1f}", *errors_of_queries(table, grouping)])
    head = ["L (cap 1 on hospvis)", "discernability", "query error, all", "< 1 %", ">= 1 %"]
    return markdown_table(head, rows)


def page() -> str:
    frame = adult()
    table = table_of(frame, QUASI, SENSITIVE)
    printed = size(table, shoal.KAnonymity(k=K), shoal.JointDiversity(l=L))
    best = size(table, shoal.KAnonymity(k=K), shoal.JointDiversity(l=L), method=BalanceTree())
    return f"""# Several sensitive attributes: the paper's figures

Made by `python -m studies.joint`. The paper (Gal, Chen and Gangopadhyay, 2008) used 72,194 records of a cancer registry
that is not public. Here are the same experiments on UCI Adult ({table.n_records:,} complete records; quasi-identifiers
{", ".join(QUASI)}; sensitive {", ".join(SENSITIVE)}) and on the German health survey rwm5yr (several records per
person).
Adult's attributes have fewer values than the registry's, so L is {L} where the paper has 10. The figures of the paper
are charts without printed numbers; compare orders and shapes.

At K = {K} and L = {L} discernability is {printed:.1f} with the paper's median cuts (other attributes tried, both sides
tested) and {best:.1f} with the best cut; no grouping can go below {K}.

## Table 1: relative error of {N_QUERIES:,} random COUNT queries

{table_1(table)}

## Figure 9: discernability by L (K = {K}, three attributes)

{figure_9(table)}

## Figure 10: discernability by K (L = {L}, three attributes)

{figure_10(table)}

## Figure 11: discernability by the number of sensitive attributes (K = {K}, L = 4)

Attributes in this order: {", ".join(ALL_SENSITIVE)}. With few values in an attribute, or one value that nearly all
records have, fewer deletions suffice; where no grouping can meet L the table says so.

{figure_11(frame)}

## Figure 12: the cap of the last attribute (occupation, education, relationship; L = {L})

relationship has six values. A cap of 0 leaves it unprotected; from L - 1 on a cap says nothing any more. The tree is
greedy: with a cap just below that it may accept an early cut that hinders later ones, so that its groups come out
larger than without a cap, though every group of the uncapped tree would meet the cap too.

{figure_12(frame)}

## Figures 13 and 14: CPU time (made-up registry, K = 50, L = 10)

{figure_13()}

{figure_14()}

## The attack of the introduction

Somebody who knows a person's group and can exclude a few values: how many persons are left with one value of some
attribute. Diversity of each attribute alone does not stop it; joint diversity L stops it for up to L - 2 values.

{attacks(table)}

## Persons with several records: rwm5yr

Quasi-identifiers age, female, educ, hhninc; sensitive docvis and hospvis; person-k 10. A person has the union of the
values of their records and is excluded when any of them is.

{survey()}
"""


def main() -> None:
    try:
        print(write_page("joint", page()))
    except MissingDataError as error:
        raise SystemExit(f"Not run: {error}") from None


if __name__ == "__main__":
    main()
