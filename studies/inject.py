"""Li and Li (2008), figures 3 to 8, on UCI Adult: rules that the data show, and releases that reckon with them.

Run with `python -m studies.inject`, or with the names of some parts behind it, which are made anew alone; writes
docs/studies/inject.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from statistics import mean

import numpy as np
import polars as pl

import shoal
from shoal.attacking.background import attack_background
from shoal.attacking.mining.adversary import against_adversary
from shoal.attacking.mining.knowledge import Knowledge, knowledge_rules
from shoal.attacking.mining.mine import mine_rules
from shoal.attacking.mining.rules import Rules
from shoal.errors import CannotSatisfyError
from shoal.grouping import Anatomy, BalanceTree, Buckets, Grouping
from shoal.masking.anatomize import Anatomize
from shoal.masking.publish import Published
from shoal.measuring.aggregates import KINDS, aggregate_error_of
from shoal.measuring.asking import Query, random_queries
from shoal.measuring.associations import AssociationError, association_error_of
from shoal.measuring.conjunctions import Mining
from shoal.measuring.queries import estimated_on, query_error, true_counts
from shoal.measuring.utility import measure_utility
from shoal.measuring.value_sets import estimated_set_counts, random_set_queries, true_set_counts
from shoal.models import Model
from shoal.models.background import BackgroundCounts
from shoal.models.exact import IntArray
from shoal.table.table import Table
from studies.census import QUASI, SENSITIVE, schema
from studies.data import MissingDataError, adult, adult_whole
from studies.pages import Parts, line_chart, markdown_table, write_page

EXPECTATIONS = ("0.75", "0.80", "0.85", "0.90", "0.95")
DEFAULT_EXPECTATION, DEFAULT_L = "0.90", 6
EXPECTED = "minimum expectation"
LS = (3, 4, 5, 6)
RANDOM_TIES = "Anatomy, random ties"
"""Anatomy that takes equally common values in an order drawn for each run, not in their own order."""
RUNS = {"Anatomy": 10, RANDOM_TIES: 10, "tree": 1, "tree by frequency": 1}
OTHER_RUNS = 3
"""How many runs numbers are the mean of; the tree draws nothing."""
LIMITS = ("0.9", "0.7", "0.5")
"""The limits of the model posterior that groups of similar persons are asked for."""
N_QUERIES = 1000
DIMENSIONS, SELECTIVITIES = (1, 2, 3, 4, 5, 6), (0.2, 0.3, 0.4, 0.5, 0.6)
DEFAULT_DIMENSION, DEFAULT_SELECTIVITY = 3, 0.5
MINING = Mining(max_len=2, min_support=0.01, min_conviction=1.005)
PRINTED_RULES = {"0.75": 45, "0.80": 39, "0.85": 32, "0.90": 22, "0.95": 15}
PRINTED_SHARES = {
    "0.75": (0, 80.4, 15.9, 2.3, 1.2, 0.2),
    "0.80": (0, 84.6, 12.2, 2.1, 1.0, 0.1),
    "0.85": (0, 87.5, 9.2, 2.0, 1.0, 0),
    "0.90": (0, 87.9, 9.2, 2.5, 0.4, 0),
    "0.95": (0, 96.2, 1.8, 2.0, 0, 0),
}
"""The paper's figure 3: the percentage of records with 0, 1, 2, 3, 4 and at least 5 excluded values."""

METHODS_COMPARED = {
    "Anatomy": "Anatomy",
    "rarest": "Injector, rarest first (the paper's)",
    "balanced": "Injector, balanced",
    "similar": "Injector, similar persons (our default)",
    "tree": "balance-tree, matching diversity alone",
}


@dataclass(frozen=True, eq=False)
class Made:
    """A release as measures need it, and how its grouping went."""

    table: Table
    published: Published
    grouping: Grouping
    left_over: int = 0
    seconds: float = 0.0
    mask: Anatomize = field(default_factory=Anatomize)
    count_errors: dict[tuple[int, float], float] = field(default_factory=dict)
    """Errors of COUNT queries that were measured already, by their settings."""

    @cached_property
    def associations(self) -> AssociationError:
        return association_error_of(self, mining=MINING)

    @cached_property
    def ane(self) -> float:
        return measure_utility(self.table, self.grouping).ane


Number = Callable[[Made, str], float]
"""A number of a release against the rules of a minimum expectation."""
Lines = dict[str, list[tuple[float, float]]]


@dataclass(frozen=True, eq=False)
class Adult:
    """One of the two tables, what is mined from it and what is made of it."""

    name: str
    table: Table

    @cache  # noqa: B019 - two tables, which live as long as the study
    def rules(self, expectation: str) -> tuple[Rules, float]:
        """The rules of single quasi-identifiers, and the CPU seconds that mining took."""
        started = time.process_time()
        rules = mine_rules(self.table, min_expectation=Fraction(expectation))
        return rules, time.process_time() - started

    def made(self, method: str, least: int, expectation: str) -> list[Made]:
        """The runs of a method; Anatomy looks at no rules."""
        rules_of = None if method in ("Anatomy", RANDOM_TIES) else expectation
        return [self._made(method, least, rules_of, run) for run in range(RUNS.get(method, OTHER_RUNS))]

    @cache  # noqa: B019
    def _made(self, method: str, least: int, expectation: str | None, run: int) -> Made:
        asked: list[Model] = [shoal.LDiversity(l=least, kind="distinct")]
        if expectation is not None:
            asked = [shoal.MatchingDiversity(l=least, rules=self.rules(expectation)[0])]
        if method == "tree by frequency":
            asked.append(shoal.LDiversity(l=least, kind="frequency"))
        table, models = against_adversary(self.table, asked, is_linked=False)
        rng = np.random.default_rng(run)
        started = time.process_time()
        left_over = 0
        if method.startswith("tree"):
            grouping = BalanceTree().group(table, models)
        else:
            if method == RANDOM_TIES:
                table, models = against_adversary(self.in_another_order(run), asked, is_linked=False)
            how = Anatomy() if method in ("Anatomy", RANDOM_TIES) else Buckets(order=method)
            found = how.bucketize(table, models, rng=rng)
            grouping, left_over = found.grouping, found.n_left_over
        seconds = time.process_time() - started
        published = replace(Anatomize().publish(self.table, grouping), linked=None)
        return Made(self.table, published, grouping, left_over, seconds)

    def in_another_order(self, run: int) -> Table:
        """The table with its sensitive values named anew, so that they stand in an order drawn for the run."""
        values = self.table.sensitive[SENSITIVE].categories.to_list()
        order = np.random.default_rng(1000 + run).permutation(len(values))
        names = {value: f"{place:03d}" for value, place in zip(values, order.tolist(), strict=True)}
        frame = self.table.frame.with_columns(pl.col(SENSITIVE).replace_strict(names))
        return Table.from_frame(frame, self.table.schema)

    @cache  # noqa: B019
    def queries(self, dimension: int, selectivity: float) -> tuple[list[Query], IntArray]:
        """Queries with conditions on so many quasi-identifiers and on the sensitive attribute, and their answers."""
        conditions = (dimension + 1, dimension + 1)
        drawn = random_queries(self.table, N_QUERIES, seed=8, conditions=conditions, selectivity=selectivity)
        return drawn, true_counts(self.table, drawn)

    def mean(self, number: Number, method: str, least: int = DEFAULT_L, rules: str = DEFAULT_EXPECTATION) -> float:
        """The mean of a number over the runs of a method."""
        return mean(number(made, rules) for made in self.made(method, least, rules))

    def by_l(self, number: Number) -> Lines:
        return {
            name: [(least, self.mean(number, method, least)) for least in LS]
            for method, name in METHODS_COMPARED.items()
        }

    def by_expectation(self, number: Number) -> Lines:
        return {
            name: [(float(rules), self.mean(number, method, rules=rules)) for rules in EXPECTATIONS]
            for method, name in METHODS_COMPARED.items()
        }

    def by_setting(self, settings: Sequence[float], number_of: Callable[[float], Number]) -> Lines:
        return {
            name: [(setting, self.mean(number_of(setting), method)) for setting in settings]
            for method, name in METHODS_COMPARED.items()
        }


def table_of(name: str, frame: pl.DataFrame) -> Adult:
    return Adult(name, Table.from_frame(frame.select(*QUASI, SENSITIVE), schema()))


def figure(name: str, lines: Lines, *, x: str, y: str, digits: int = 1) -> str:
    """Lines as a table and a chart."""
    places = [at for at, _ in next(iter(lines.values()))]
    rows = [
        [f"{at:g}", *(f"{points[row][1]:,.{digits}f}" for points in lines.values())] for row, at in enumerate(places)
    ]
    return markdown_table([x, *lines], rows) + "\n\n" + line_chart(f"inject-figure-{name}", lines, x=x, y=y, log=False)


# --- figure 3 --------------------------------------------------------------------------------------------------------


def figure_3(tables: Sequence[Adult]) -> str:
    rows: list[list[object]] = []
    for expectation in EXPECTATIONS:
        shares = [f"{share:g}" for share in PRINTED_SHARES[expectation]]
        rows.append([expectation, "paper", PRINTED_RULES[expectation], *shares])
        for of in tables:
            rules = of.rules(expectation)[0]
            rows.append([expectation, of.name, len(rules), *(f"{share:.1f}" for share in excluded_shares(of, rules))])
    head = [
        "minimum expectation",
        "table",
        "rules",
        *(f"{n} excluded, %" for n in ("0", "1", "2", "3", "4", "5 or more")),
    ]
    return markdown_table(head, rows)


def excluded_shares(of: Adult, rules: Rules) -> list[float]:
    """The percentage of records with 0, 1, 2, 3, 4 and at least 5 excluded values."""
    counts = excluded_counts(of, rules)
    shares = [100 * count / sum(counts) for count in [*counts, *[0] * 6]]
    return [*shares[:5], sum(shares[5:])]


def longer_rules(of: Adult) -> str:
    """How many rules there are when they may combine more quasi-identifiers."""
    rows = []
    for expectation in ("0.75", "0.90"):
        found = [mine_rules(of.table, min_expectation=Fraction(expectation), max_len=length) for length in (1, 2, 3)]
        most = [len(excluded_counts(of, rules)) - 1 for rules in found]
        rows.append([expectation, *(f"{len(rules):,} ({n})" for rules, n in zip(found, most, strict=True))])
    return markdown_table(["minimum expectation", *(f"up to {n} quasi-identifiers" for n in (1, 2, 3))], rows)


def excluded_counts(of: Adult, rules: Rules) -> list[int]:
    """How many records have 0, 1, 2, ... excluded values."""
    values = of.table.sensitive[SENSITIVE].categories
    allowed = rules.allowed(of.table.frame, of.table.schema, SENSITIVE, values)
    return np.bincount((~allowed.allowed).sum(axis=1)[allowed.type_of_person]).tolist()


# --- figures 4 and 5 -------------------------------------------------------------------------------------------------


def vulnerable(of: Adult, least: int) -> Number:
    """How many records have fewer than l possible values once the rules are known."""

    def number(made: Made, expectation: str) -> float:
        rules = of.rules(expectation)[0]
        found = attack_background(made.published.frame, of.table.schema, rules, l=least, tables=made.published.tables)[
            0
        ]
        return float(found.vulnerable_by_matching)

    return number


def figure_4(of: Adult) -> str:
    by_l: Lines = {
        name: [(least, of.mean(vulnerable(of, least), method, least)) for least in LS]
        for method, name in METHODS_COMPARED.items()
    }
    by_expectation = of.by_expectation(vulnerable(of, DEFAULT_L))
    y = "vulnerable records"
    return "\n\n".join(
        [figure("4-l", by_l, x="l", y=y, digits=0), figure("4-e", by_expectation, x=EXPECTED, y=y, digits=0)]
    )


def figure_5(tables: Sequence[Adult]) -> str:
    rows = []
    for of in tables:
        rows.append([of.name, "mining", *(f"{of.rules(rules)[1]:.3f}" for rules in EXPECTATIONS)])
    mining = markdown_table(["table", "CPU seconds, minimum expectation:", *EXPECTATIONS], rows)
    rows = []
    for of in tables:
        for method, name in METHODS_COMPARED.items():
            seconds = [of.mean(lambda made, rules: made.seconds, method, least) for least in LS]
            rows.append([of.name, name, *(f"{one:.3f}" for one in seconds)])
    head = ["table", "CPU seconds of grouping, l:", *(str(least) for least in LS)]
    return mining + "\n\n" + markdown_table(head, rows)


# --- figures 6 and 7 -------------------------------------------------------------------------------------------------


def confidence_error(made: Made, rules: str) -> float:
    return 100 * (made.associations.confidence or 0.0)


def false_positives(made: Made, rules: str) -> float:
    return 100 * (made.associations.false_positives or 0.0)


def false_negatives(made: Made, rules: str) -> float:
    return 100 * (made.associations.false_negatives or 0.0)


def figure_6(of: Adult) -> str:
    y = "confidence error %"
    by_l = figure("6-l", of.by_l(confidence_error), x="l", y=y)
    return by_l + "\n\n" + figure("6-e", of.by_expectation(confidence_error), x=EXPECTED, y=y)


def figure_7(of: Adult) -> str:
    figures = []
    for short, number, y in (("p", false_positives, "false positives %"), ("n", false_negatives, "false negatives %")):
        figures.append(figure(f"7-{short}", of.by_l(number), x="l", y=y))
        figures.append(figure(f"7-{short}-e", of.by_expectation(number), x=EXPECTED, y=y))
    return "\n\n".join(figures)


def stricter(of: Adult) -> str:
    """Figure 7 at other thresholds, which the paper does not print."""
    rows = []
    for least_conviction in (1.005, 1.02, 1.05, 1.1):
        mining = Mining(max_len=2, min_support=MINING.min_support, min_conviction=least_conviction)
        found = [
            association_error_of(of.made(method, DEFAULT_L, DEFAULT_EXPECTATION)[0], mining=mining)
            for method in METHODS_COMPARED
        ]
        errors = [f"{100 * (one.confidence or 0):.1f} / {100 * (one.false_negatives or 0):.0f}" for one in found]
        rows.append([f"{least_conviction:g}", found[0].n_rules, *errors])
    return markdown_table(["minimum conviction", "rules", *METHODS_COMPARED.values()], rows)


def conjunctions(of: Adult, frame: pl.DataFrame) -> str:
    """Both conjunctions of fuzzy intervals, on a table with two quantitative attributes."""
    hours = shoal.Number("hours-per-week")
    both = shoal.Schema(quasi=[*schema().columns, hours], sensitive=[SENSITIVE])
    table = Table.from_frame(frame.select(*QUASI, "hours-per-week", SENSITIVE), both)
    rows = []
    for conjunction in ("product", "minimum"):
        mining = Mining(
            max_len=2,
            min_support=MINING.min_support,
            min_conviction=MINING.min_conviction,
            margin={"age": 5.0, "hours-per-week": 5.0},
            conjunction=conjunction,
        )
        errors = []
        for method in METHODS_COMPARED:
            grouping = of.made(method, DEFAULT_L, DEFAULT_EXPECTATION)[0].grouping
            errors.append(
                association_error_of(Made(table, Anatomize().publish(table, grouping), grouping), mining=mining)
            )
        rows.append([conjunction, errors[0].n_rules, *(f"{100 * (one.confidence or 0):.1f}" for one in errors)])
    return markdown_table(["conjunction", "rules", *METHODS_COMPARED.values()], rows)


# --- figure 8 --------------------------------------------------------------------------------------------------------


def count_error(of: Adult, dimension: float = DEFAULT_DIMENSION, selectivity: float = DEFAULT_SELECTIVITY) -> Number:
    """The error of COUNT queries."""

    def number(made: Made, rules: str) -> float:
        setting = int(dimension), selectivity
        if setting not in made.count_errors:
            queries, true = of.queries(*setting)
            error = query_error(true, estimated_on(made, queries), made.table.n_records)
            made.count_errors[setting] = 100 * (error.all or 0.0)
        return made.count_errors[setting]

    return number


def figure_8(of: Adult) -> str:
    y, by_dimension = "COUNT error %", of.by_setting(DIMENSIONS, lambda dimension: count_error(of, dimension=dimension))
    by_selectivity = of.by_setting(SELECTIVITIES, lambda share: count_error(of, selectivity=share))
    return "\n\n".join(
        [
            figure("8-d", by_dimension, x="quasi-identifiers asked for", y=y),
            figure("8-s", by_selectivity, x="selectivity", y=y),
            figure("8-l", of.by_l(count_error(of)), x="l", y=y),
            figure("8-e", of.by_expectation(count_error(of)), x=EXPECTED, y=y),
        ]
    )


def value_sets(of: Adult) -> str:
    """The paper's own queries, over random sets of values, beside intervals."""
    rows = []
    for dimension, selectivity in (*((one, DEFAULT_SELECTIVITY) for one in DIMENSIONS), (DEFAULT_DIMENSION, 0.2)):
        first = [of.made(method, DEFAULT_L, DEFAULT_EXPECTATION)[0] for method in METHODS_COMPARED]
        queries = random_set_queries(of.table, N_QUERIES, dimension=dimension, selectivity=selectivity, seed=8)
        true = true_set_counts(of.table, queries)
        errors = [query_error(true, estimated_set_counts(made, queries), of.table.n_records) for made in first]
        cells = [f"{100 * (error.all or 0):.1f}" for error in errors]
        rows.append([dimension, f"{selectivity:g}", errors[0].n_empty, *cells])
    return markdown_table(["quasi-identifiers asked for", "selectivity", "empty", *METHODS_COMPARED.values()], rows)


def ties(of: Adult) -> str:
    """Rarest first against Anatomy with both ways to settle ties."""
    rows = []
    for least in LS:
        numbers = [
            f"{of.mean(confidence_error, method, least):.2f} / {of.mean(count_error(of), method, least):.2f}"
            for method in ("rarest", "Anatomy", RANDOM_TIES)
        ]
        rows.append([least, *numbers])
    head = [
        "l",
        "rarest first: confidence / COUNT error %",
        "Anatomy, values in their order",
        "Anatomy, in a random order",
    ]
    return markdown_table(head, rows)


def other_queries(of: Adult) -> str:
    """SUM, AVERAGE, MIN and MAX of age, which the paper only mentions."""
    rows = []
    for kind in KINDS:
        first = [of.made(method, DEFAULT_L, DEFAULT_EXPECTATION)[0] for method in METHODS_COMPARED]
        errors = [aggregate_error_of(made, kind=kind, n=N_QUERIES, seed=8).all for made in first]
        rows.append([kind.upper(), *(f"{100 * (error or 0):.1f}" for error in errors)])
    return markdown_table(["error % of", *METHODS_COMPARED.values()], rows)


def largest_group(made: Made, rules: str) -> float:
    return float(np.bincount(made.grouping.group_of_person).max())


def largest_share(made: Made, rules: str) -> float:
    """The largest percentage of a group's records that have one and the same value."""
    codes, n_codes = made.table.sensitive[SENSITIVE].codes, made.table.sensitive[SENSITIVE].n_codes
    counts = np.bincount(made.grouping.group_of_person * n_codes + codes, minlength=made.grouping.n_groups * n_codes)
    by_group = counts.reshape(-1, n_codes)
    return float(100 * (by_group.max(axis=1) / by_group.sum(axis=1)).max())


def left_over(made: Made, rules: str) -> float:
    return float(made.left_over)


# --- all in one table ------------------------------------------------------------------------------------------------


def summary(of: Adult) -> str:
    columns: list[tuple[str, Callable[[int], Number], str]] = [
        ("largest group", lambda least: largest_group, ",.0f"),
        ("largest share of a value %", lambda least: largest_share, ".1f"),
        ("left over", lambda least: left_over, ",.0f"),
        ("vulnerable", lambda least: vulnerable(of, least), ",.0f"),
        ("confidence error %", lambda least: confidence_error, ".1f"),
        ("false positives %", lambda least: false_positives, ".1f"),
        ("false negatives %", lambda least: false_negatives, ".1f"),
        ("COUNT error %", lambda least: count_error(of), ".1f"),
        ("ANE", lambda least: lambda made, rules: made.ane, ".3f"),
    ]  # fmt: skip
    rows = [
        [least, name, *(f"{of.mean(number(least), method, least):{form}}" for _, number, form in columns)]
        for least in LS
        for method, name in METHODS_COMPARED.items()
    ]
    return markdown_table(["l", "method", *(title for title, _, _ in columns)], rows)


def by_frequency(of: Adult) -> str:
    """A tree whose groups have each value at most once in l records."""
    rows = []
    for least in (LS[0], LS[-1]):
        for method, name in (("tree by frequency", "balance-tree"), ("similar", "similar"), ("Anatomy", "Anatomy")):
            numbers = (largest_share, confidence_error, false_negatives, count_error(of), largest_group)
            rows.append([least, name, *(f"{of.mean(number, method, least):,.1f}" for number in numbers)])
    errors = ["confidence error %", "false negatives %", "COUNT error %"]
    return markdown_table(["l", "method", "largest share of a value %", *errors, "largest group"], rows)


def by_chances(of: Adult) -> str:
    """How probable the likeliest value of a record is, to somebody who knows values alone, or their chances too."""
    chances = knowledge_rules(
        of.table, knowledge=Knowledge(min_expectation=Fraction(DEFAULT_EXPECTATION), chances=True)
    )
    table = of.table.against(chances, is_linked=False)
    background = table.background()
    assert background is not None
    groupings: dict[str, Grouping | None] = {
        name: of.made(method, DEFAULT_L, DEFAULT_EXPECTATION)[0].grouping for method, name in METHODS_COMPARED.items()
    }
    for limit in LIMITS:
        asked = [shoal.MatchingDiversity(l=DEFAULT_L, rules=chances), shoal.Posterior(c=limit, rules=chances)]
        name = f"Injector, similar persons, posterior {limit}"
        try:
            groupings[name] = Buckets().bucketize(table, asked, rng=np.random.default_rng(0)).grouping
        except CannotSatisfyError:
            groupings[f"{name}: not met"] = None
    rows = []
    for name, grouping in groupings.items():
        if grouping is None:
            rows.append([name, *["-"] * 7])
            continue
        who = np.argsort(grouping.group_of_person, kind="stable")
        start = np.append(0, np.cumsum(np.bincount(grouping.group_of_person, minlength=grouping.n_groups)))
        known = BackgroundCounts(start_of_group=start, who=who, background=background)
        cells = []
        for counts in (known.without_rules(), known):
            likeliest = counts.highest_posterior(SENSITIVE)
            cells += [f"{100 * likeliest.max():.1f}", f"{100 * likeliest.mean():.1f}", f"{(likeliest > 0.5).sum():,}"]
        rows.append([name, *cells, f"{measure_utility(of.table, grouping).ane:.3f}"])
    told = f"{len(chances):,} rules, {sum(not rule.is_never for rule in chances):,} of them with exceptions:"
    head = ["", "highest %", "mean %", "above one half", "highest %, chances known", "mean %, chances known",
            "above one half, chances known", "ANE"]  # fmt: skip
    return f"{told}\n\n{markdown_table(head, rows)}"


def page(parts: Parts, frame: pl.DataFrame, both: pl.DataFrame) -> str:
    of, whole = (table_of(f"{len(one):,} records", one) for one in (frame, both))
    if parts.makes("figure-5"):
        mine_rules(of.table, min_expectation=0.5)  # compiles what is timed below
        for method in METHODS_COMPARED:
            of.made(method, 2, DEFAULT_EXPECTATION)
    return f"""# Background knowledge: the paper's figures

Made by `python -m studies.inject`. The paper (Li and Li, 2008) mines negative rules such as "no doctor of philosophy
is a handler or cleaner" from UCI Adult, reckons with them when it forms groups (*Injector*), and compares with groups
that do not (*Anatomy*, Xiao and Tao, 2006). Its figures 4 to 8 are charts without printed numbers: compare orders and
shapes. Quasi-identifiers are {", ".join(QUASI)}; sensitive is the {SENSITIVE} (14 values). "30,162
records" are the complete ones of the training part, "45,222 records" those of both parts.

The paper prints neither its hierarchies nor its thresholds of support and conviction. Hierarchies here have the heights
of its Table III: ages by 5, 10 and 20 years; workclass as government, business, unpaid; education in seven groups and
two; marital status by whether a spouse is present; race as white or not. Rules have one quasi-identifier, and unless
said otherwise the minimum expectation is {DEFAULT_EXPECTATION} and l = {DEFAULT_L}, as in the paper. Numbers of Anatomy
are means over {RUNS["Anatomy"]} runs, those of Injector over {OTHER_RUNS}, which differ little.

The last column of each table is not in the paper: the method [balance-tree](../methods/trees.md#balance-tree) with
matching diversity as its only model. It promises less than the others: everybody may have l values, but the groups are
large and may have one value far more often than the others, which a guess uses (*largest share*). All releases publish
quasi-identifiers exactly and sensitive values by group (mask anatomize).

## What was found

{parts.part("found", lambda: found(of))}

{parts.part("summary", lambda: summary(of))}

Vulnerable: records with fewer than l possible values once the rules are known,
by matching. Largest share: that of a value in some group, which is what a guess without rules gets there. Left over:
records for which no group of l was left, so that they joined one. ANE is that of the groups, as if quasi-identifiers
were masked too.

### The same with {whole.table.n_records:,} records

{parts.part("summary-whole", lambda: summary(whole))}

### The same promise by a tree

balance-tree with matching diversity and frequency l-diversity, so that no value has a larger share of a group than
1 / l, beside groups of l similar persons and Anatomy:

{parts.part("by-frequency", lambda: by_frequency(of))}

### How Anatomy settles ties

Anatomy takes one record of each of the l commonest values that are left, and which of equally common ones it does not
say. Ours takes them in the order of the values; with an order that is drawn for each run its errors differ a little:

{parts.part("ties", lambda: ties(of))}

## Figure 3: rules, and how many values they exclude

{parts.part("figure-3", lambda: figure_3([of, whole]))}

The numbers of rules come close, the shares less so: more of our records have two excluded values and fewer have one.
Both depend on hierarchies that the paper does not print. There are far more rules of greater length; brackets say how
many of the 14 values they exclude for somebody, and l cannot exceed what is left:

{parts.part("longer-rules", lambda: longer_rules(of))}

## Figure 4: vulnerable records

{parts.part("figure-4", lambda: figure_4(of))}

## Figure 5: CPU time, mining and grouping apart

{parts.part("figure-5", lambda: figure_5([of, whole]))}

The paper's algorithm looks at all records for each one that it places. Ours looks at kinds of records: those that share
a value, and what rules exclude for them.

## Figure 6: confidence error of association rules

Rules of up to {MINING.max_len} quasi-identifiers with a support of at least {100 * MINING.min_support:g} % and a
conviction of at least {MINING.min_conviction:g}; see [Measures](../measures.md#association-rules).

{parts.part("figure-6", lambda: figure_6(of))}

## Figure 7: association rules that appear and disappear

{parts.part("figure-7", lambda: figure_7(of))}

Thresholds matter, and the paper prints none. With stricter ones nearly all rules vanish from releases whose groups have
l random persons: a rule of confidence c is thinned out to about c / l plus what the other values of the group add, and
the commonest values are in nearly every group. Confidence error / false negatives in % at l = {DEFAULT_L}, first run:

{parts.part("stricter", lambda: stricter(of))}

**Fuzzy intervals**: with hours-per-week as a second quantitative attribute and margins of 5 years and 5 hours, the
confidence error in % by both conjunctions (the paper names both and uses the product):

{parts.part("conjunctions", lambda: conjunctions(of, frame))}

## Figure 8: error of COUNT queries

{N_QUERIES:,} queries, each with an interval of up to a share (the selectivity) of the values of some quasi-identifiers
and of the sensitive attribute; {DEFAULT_DIMENSION} quasi-identifiers and a selectivity of {DEFAULT_SELECTIVITY:g}
unless said otherwise. Queries whose true answer is 0 are left out, as no relative error is defined for them.

{parts.part("figure-8", lambda: figure_8(of))}

The paper asks for random sets of values, which may be empty; these are intervals. {N_QUERIES:,} queries over sets,
first run, l = {DEFAULT_L}; *empty* are those whose answer is 0:

{parts.part("value-sets", lambda: value_sets(of))}

## Section VIII-B: rules with exceptions

The paper leaves them to later work. Somebody who knows, from rules with exceptions too, how much likelier an occupation
is for some persons than for others, computes how probable each is for each person
([posterior](../models/knowledge.md#posterior)). The probability of the likeliest value, over records, at l = {
        DEFAULT_L
    }; in
groups of many records an upper bound:

{parts.part("posterior", lambda: by_chances(of))}

## Other aggregates

The paper mentions AVERAGE and MAX only. {N_QUERIES:,} queries of each kind for the age, the one numeric attribute, with
1 to 4 conditions, at l = {DEFAULT_L}:

{parts.part("aggregates", lambda: other_queries(of))}
"""


def found(of: Adult) -> str:
    """What holds of the paper's claims, from the numbers."""
    errors = {
        method: {
            least: [of.mean(number, method, least) for number in (confidence_error, count_error(of))] for least in LS
        }
        for method in (*METHODS_COMPARED, RANDOM_TIES)
    }

    def where_worse(method: str, than: str = "Anatomy") -> str:
        worse = [
            str(least)
            for least in LS
            if any(own >= other for own, other in zip(errors[method][least], errors[than][least], strict=True))
        ]
        return f"at l = {', '.join(worse)}" if worse else "at no l"

    def where_more() -> str:
        more = [
            str(least)
            for least in LS
            if of.mean(false_positives, "similar", least) >= of.mean(false_positives, "Anatomy", least)
        ]
        return f"at l = {', '.join(more)}" if more else "at no l"

    def both(method: str) -> str:
        return f"{errors[method][DEFAULT_L][0]:.1f} % and {errors[method][DEFAULT_L][1]:.1f} %"

    over = {method: f"{of.mean(left_over, method):,.0f}" for method in METHODS_COMPARED}
    exposed = {method: of.mean(vulnerable(of, DEFAULT_L), method) for method in METHODS_COMPARED}
    return f"""- **No vulnerable record.** Where groups reckon with the rules {
        max(exposed[method] for method in METHODS_COMPARED if method != "Anatomy"):,.0f} records are vulnerable at l = {
        DEFAULT_L
    };
  in Anatomy {exposed["Anatomy"]:,.0f} are. This claim of the paper reproduces, at every l and minimum expectation
  (figure 4).
- **"Smaller errors in all experiments" does not reproduce** with the paper's own order. Rarest first has a confidence
  or COUNT error as large as Anatomy's or larger {where_worse("rarest")}: values that go with few others are used up
  first, and {over["rarest"]} of {of.table.n_records:,} records are left over at l = {
        DEFAULT_L
    }; they join groups, which
  grow. Against Anatomy with ties settled at random it is so {where_worse("rarest", RANDOM_TIES)}:
  see [the table](#how-anatomy-settles-ties).
  Taking the commonest value first leaves {over["balanced"]} over, and is as bad or worse {where_worse("balanced")}.
- **Similar persons first** has an error as large as Anatomy's {where_worse("similar")}, and leaves
  {over["similar"]} records over. At l = {DEFAULT_L} confidence and COUNT errors are {both("similar")}, against
  {both("Anatomy")} of Anatomy and {both("rarest")} of rarest first.
- **False positives** of similar persons first are as many as Anatomy's or more {where_more()}: a release that shows
  hardly any rule shows no wrong ones either. False negatives are fewer at every l.
- **A tree over quasi-identifiers with matching diversity alone** keeps far more, {both("tree")}, and promises less: in
  some group {of.mean(largest_share, "tree"):.0f} % of the records have one value, where groups of l different values
  have {100 / DEFAULT_L:.0f} %. Asked for that too (frequency l-diversity), it has no advantage left at l = {DEFAULT_L}:
  see [below](#the-same-promise-by-a-tree). Ask for both wherever a guess with a good chance would harm.
- Rarest first, too, promises less than it seems: groups that took in records left over have one value in up to
  {of.mean(largest_share, "rarest"):.0f} % of their records."""


def main() -> None:
    parts = Parts.asked("inject", sys.argv[1:])
    try:
        text = page(parts, adult(), adult_whole())
        parts.refuse_unknown()
        print(write_page("inject", text))
    except MissingDataError as error:
        raise SystemExit(f"Not run: {error}") from None


if __name__ == "__main__":
    main()
