"""Gal, Chen and Gangopadhyay (2008): Table 1 and figures 9 to 14, on Adult and on rwm5yr.

Run with `python -m studies.joint`, or with the names of some parts behind it, which are made anew alone; writes
docs/studies/joint.md. Their cancer registry is not public.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np
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
from shoal.table.columns import NumberColumn
from shoal.table.table import Table
from studies.data import MissingDataError, adult, rwm5yr
from studies.pages import Parts, line_chart, markdown_table, write_page

QUASI = ["age", "sex", "race", "fnlwgt"]
SENSITIVE = ["occupation", "education", "hours-per-week"]
ALL_SENSITIVE = [*SENSITIVE, "workclass", "native-country", "marital-status", "relationship"]
K, L, PAPER_L = 50, 6, 10
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


CAPS = {"hours-per-week": 2}
"""The cap of Table 1's rows with one: at most two values of the last attribute are excluded."""


def table_1(table: Table) -> str:
    rows = [
        ["paper (registry, K = 50, L = 10): Anonymize", "11.3 %", "14.6 %", "1.6 %"],
        ["paper: Exponential-L", "23.2 %", "28.6 %", "8.5 %"],
    ]
    k, capped = shoal.KAnonymity(k=K), ", ".join(f"{column} at most {cap}" for column, cap in CAPS.items())
    for l_ in (L, PAPER_L):
        joint, with_caps = shoal.JointDiversity(l=l_), shoal.JointDiversity(l=l_, caps=CAPS)
        ways: list[tuple[str, Model, Mondrian | BalanceTree]] = [
            (f"joint diversity {l_}, median cut", joint, METHOD),
            (f"joint diversity {l_}, best cut", joint, BalanceTree()),
            (f"joint diversity {l_}, {capped}, median cut", with_caps, METHOD),
            (f"joint diversity {l_}, {capped}, best cut", with_caps, BalanceTree()),
            (f"exponential-l {l_}", shoal.ExponentialL(l=l_), METHOD),
        ]
        for name, model, method in ways:
            if not can_be_met(table, model):
                name += " (not reachable: the whole table as one group)"
            rows.append([f"Adult, {name}", *errors_of_queries(table, grouped(table, k, model, method=method)[0])])
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
    lines: dict[str, list[tuple[float, float]]] = {}
    for l_ in (L, PAPER_L):
        joint = shoal.JointDiversity(l=l_)
        lines[f"L = {l_}, median cut"] = [(k, size(table, shoal.KAnonymity(k=k), joint)) for k in ks]
        lines[f"L = {l_}, best cut"] = [
            (k, size(table, shoal.KAnonymity(k=k), joint, method=BalanceTree())) for k in ks
        ]
    lines[f"exponential-l {L}"] = [(k, size(table, shoal.KAnonymity(k=k), shoal.ExponentialL(l=L))) for k in ks]
    lines["K itself, the floor"] = [(k, k) for k in ks]
    return shown("joint-figure-10", lines, x="K", y="discernability")


def figure_11(frame: pl.DataFrame) -> str:
    lines: dict[str, list[tuple[float, float]]] = {f"joint diversity, L = {l_}": [] for l_ in (4, PAPER_L)}
    lines["exponential-l, L = 4"] = []
    for m in range(1, len(ALL_SENSITIVE) + 1):
        table = table_of(frame, QUASI, ALL_SENSITIVE[:m])
        k = shoal.KAnonymity(k=K)
        for l_ in (4, PAPER_L):
            if can_be_met(table, shoal.JointDiversity(l=l_)):
                lines[f"joint diversity, L = {l_}"].append((m, size(table, k, shoal.JointDiversity(l=l_))))
        lines["exponential-l, L = 4"].append((m, size(table, k, shoal.ExponentialL(l=4))))
    return shown("joint-figure-11", lines, x="sensitive attributes", y="discernability")


def figure_12(frame: pl.DataFrame) -> str:
    table = table_of(frame, QUASI, ["occupation", "education", "relationship"])
    lines: dict[str, list[tuple[float, float]]] = {f"joint diversity, L = {l_}": [] for l_ in (L, PAPER_L)}
    for l_ in (L, PAPER_L):
        for cap in range(11):
            model = shoal.JointDiversity(l=l_, caps={"relationship": cap})
            if can_be_met(table, model):
                lines[f"joint diversity, L = {l_}"].append((cap, size(table, shoal.KAnonymity(k=K), model)))
    return shown("joint-figure-12", lines, x="cap of the last attribute", y="discernability", log=False)


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


def spread(frame: pl.DataFrame) -> str:
    """Joint spread beside joint diversity, of two attributes: what the paper leaves to later work."""
    table, k = table_of(frame, QUASI, SENSITIVE[:2]), shoal.KAnonymity(k=K)
    ways: list[tuple[str, Model]] = [("joint diversity 4", shoal.JointDiversity(l=4))]
    for excluded in (0, 1, 2):
        told = f"{excluded} excluded"
        ways += [
            (f"joint spread 3 by entropy, {told}", shoal.JointSpread(l=3, kind="entropy", excluded=excluded)),
            (f"joint spread 3, recursive with c = 2, {told}",
             shoal.JointSpread(l=3, kind="recursive", c=2, excluded=excluded)),
        ]  # fmt: skip
    rows = []
    for name, model in ways:
        if not can_be_met(table, model):
            rows.append([name, *["not proved of the whole table"] * 3])
            continue
        grouping, discernability, seconds = grouped(table, k, model)
        rows.append([name, f"{discernability:.1f}", *errors_of_queries(table, grouping)[:1], f"{seconds:.1f}"])
    return markdown_table(["median cut", "discernability", "error of queries", "CPU seconds"], rows)


def whole(table: Table) -> str:
    """What the default comes to, and how large groups are where only the widest attribute is tried."""
    k, joint = shoal.KAnonymity(k=K), shoal.JointDiversity(l=L)
    printed, best = size(table, k, joint), size(table, k, joint, method=BalanceTree())
    widest = only_the_widest(table, k, joint)
    return (
        f"At K = {K} and L = {L} discernability is {printed:.1f} with the paper's median cuts (other attributes tried, "
        f"both sides\ntested), {best:.1f} with the best cut, and {widest:,.1f} where only the "
        f"widest attribute is tried, as figure 5 of the paper\nsays; no grouping can go below {K}."
    )


def only_the_widest(table: Table, *models: Model) -> float:
    """Discernability where a group is final as soon as its widest attribute cannot be cut at the median."""
    from shoal.judging.observation import Observation

    scores = {}
    for name, column in table.quasi.items():
        values = column.units if isinstance(column, NumberColumn) else column.codes
        scores[name] = (values - values.mean()) / max(float(values.std()), 1e-300)

    def fits(*sides: np.ndarray) -> bool:
        group = np.full(table.n_persons, -1, dtype=np.int32)
        for number, side in enumerate(sides):
            group[side] = number
        chosen = group >= 0
        part = table.without_persons(~chosen)
        seen = Observation.of_groups(part, group[chosen], len(sides))
        return all(bool(model.holds(seen.counts(model.needs)).all()) for model in models)

    final, waiting = 0.0, [np.arange(table.n_persons)]
    while waiting:
        members = waiting.pop()
        widest = max(scores, key=lambda name: float(np.ptp(scores[name][members])))
        own = scores[widest][members]
        is_left = own <= np.sort(own)[(len(own) - 1) // 2]
        sides = members[is_left], members[~is_left]
        if len(sides[1]) and fits(*sides):
            waiting += sides
        else:
            final += float(len(members)) ** 2
    return final / table.n_persons


def page(parts: Parts, frame: pl.DataFrame) -> str:
    table = table_of(frame, QUASI, SENSITIVE)
    return f"""# Several sensitive attributes: the paper's figures

Made by `python -m studies.joint`. The paper (Gal, Chen and Gangopadhyay, 2008) used 72,194 records of a cancer registry
that is not public. Here are the same experiments on UCI Adult ({table.n_records:,} complete records; quasi-identifiers
{", ".join(QUASI)}; sensitive {", ".join(SENSITIVE)}) and on the German health survey rwm5yr (several records per
person).
Adult's attributes have fewer values than the registry's, so L is {L} beside the paper's {PAPER_L}. The figures of the
paper are charts without printed numbers; compare orders and shapes.

{parts.part("whole", lambda: whole(table))}

## Table 1: relative error of {N_QUERIES:,} random COUNT queries

{parts.part("table_1", lambda: table_1(table))}

## Figure 9: discernability by L (K = {K}, three attributes)

{parts.part("figure_9", lambda: figure_9(table))}

## Figure 10: discernability by K (three attributes)

{parts.part("figure_10", lambda: figure_10(table))}

## Figure 11: discernability by the number of sensitive attributes (K = {K})

Attributes in this order: {", ".join(ALL_SENSITIVE)}. With few values in an attribute, or one value that nearly all
records have, fewer deletions suffice; where no grouping can meet L the table says so.

{parts.part("figure_11", lambda: figure_11(frame))}

## Figure 12: the cap of the last attribute (occupation, education, relationship)

relationship has six values. A cap of 0 leaves it unprotected; from L - 1 on a cap says nothing any more. The tree is
greedy: with a cap just below that it may accept an early cut that hinders later ones, so that its groups come out
larger than without a cap, though every group of the uncapped tree would meet the cap too.

{parts.part("figure_12", lambda: figure_12(frame))}

## Figures 13 and 14: CPU time (made-up registry, K = 50, L = 10)

{parts.part("figure_13", lambda: figure_13())}

{parts.part("figure_14", lambda: figure_14())}

## The attack of the introduction

Somebody who knows a person's group and can exclude a few values: how many persons are left with one value of some
attribute. Diversity of each attribute alone does not stop it; joint diversity L stops it for up to L - 2 values.

{parts.part("attacks", lambda: attacks(table))}

## Joint spread: other kinds of diversity

The paper's future work ([joint spread](../models/several-attributes.md#joint-spread)): whichever few values are
excluded, those that are left stay as hard to guess as three. With occupation and education alone, K = {K}. Of a group
as large as the table a bound decides, which proves less than holds; a tree cannot begin where it proves nothing.

{parts.part("spread", lambda: spread(frame))}

## Persons with several records: rwm5yr

Quasi-identifiers age, female, educ, hhninc; sensitive docvis and hospvis; person-k 10. A person has the union of the
values of their records and is excluded when any of them is.

{parts.part("survey", lambda: survey())}
"""


def main() -> None:
    parts = Parts.asked("joint", sys.argv[1:])
    try:
        text = page(parts, adult())
        parts.refuse_unknown()
        print(write_page("joint", text))
    except MissingDataError as error:
        raise SystemExit(f"Not run: {error}") from None


if __name__ == "__main__":
    main()
