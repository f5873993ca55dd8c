"""What it costs that nobody is found by their own records: INFORMS, MovieLens, Berka and rwm5yr, next to other ways.

Run with `python -m studies.histories`; writes docs/studies/histories.md. With names of tables after it (`informs`,
`some-informs`, `rwm5yr`, `berka`, `movielens`) only their sections are made again, and the others stay as the page has
them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

import shoal
from shoal.attacking.trajectory import TrajectoryAttack
from shoal.grouping.grouping import Grouping
from shoal.masks import History
from shoal.table.code_systems import icd_9_path
from shoal.table.hierarchy import Hierarchy
from shoal.table.table import Table
from studies.attacks import ratings
from studies.data import MissingDataError, berka, informs, rwm5yr
from studies.km_anonymity import IntArray, Tree, cut, cut_in_groups, merged_clusters
from studies.pages import FOLDER, markdown_table, write_page

RISK = shoal.RecordRisk(rho="0.1")
LEFT_OUT = -1
COMMONEST = 20
"""So many values and pairs of values are followed, those that most persons have."""
BETWEEN = 100
"""Pairs are looked for between so many values, the commonest."""
ATTACKS = {
    "1 known": "trajectory, 1 known",
    "1 and quasi-identifiers": "trajectory, 1 known and quasi-identifiers",
    "2 known": "trajectory, 2 known",
    "2 and quasi-identifiers": "trajectory, 2 known and quasi-identifiers",
    "number of records": "linkage, all and number, person",
}

BLOCKS = """
    001 010 020 030 042 045 050 060 070 080 090 100 110 120 130 137 140 150 160 170 179 190 200 209 210 230 235 239
    240 249 260 270 280 290 295 300 317 320 330 338 340 350 360 380 390 393 401 410 415 420 430 440 451 460 470 480
    490 500 510 520 530 540 550 555 560 570 580 590 600 610 614 617 630 640 650 660 670 680 690 700 710 720 725 730
    740 760 764 780 790 797 800 805 810 820 830 840 850 860 870 880 890 900 905 910 920 925 930 940 950 958 960 980
    990 996
"""
"""The first code of each block of ICD-9."""


# Tables


@dataclass(frozen=True)
class Studied:
    """A table, its roles, and what its values are part of."""

    title: str
    frame: pl.DataFrame
    schema: shoal.Schema
    hierarchies: Mapping[str, Hierarchy]
    levels: tuple[str, ...]
    """What the levels of the hierarchies are, without the root."""
    about: str
    asked: Sequence[tuple[int, int]] = tuple((k, m) for m in (0, 1, 2) for k in (2, 5, 10))
    """For which k and m it is measured."""
    rivals: Sequence[int] = (1, 2)
    """For which m rivals are."""

    @property
    def person(self) -> str:
        """The column of persons."""
        assert self.schema.person is not None
        return self.schema.person

    @property
    def knows(self) -> str:
        """What an attacker knows of one record."""
        return "records" if len(self.hierarchies) > 1 else "values"


def block_of(code: str) -> str:
    """The block of a three-digit ICD-9 code; V codes go by tens."""
    if code[0] == "V":
        return f"block V{code[1]}0"
    starts = BLOCKS.split()
    return f"block {starts[bisect_right(starts, code) - 1]}"


def icd_9_blocks(codes: Sequence[str]) -> Hierarchy:
    """Code, block, chapter; what MEPS writes where there is no code is a block and a chapter of its own."""
    rows = []
    for code in sorted(set(codes)):
        path = icd_9_path(code)
        rows.append([code, "no code", "no code ", "*"] if path is None else [code, block_of(code), path[2], "*"])
    return Hierarchy.from_rows(rows)


def ranges(values: Sequence[int], *starts: Sequence[int]) -> Hierarchy:
    """Numbers in ranges that begin at some numbers, level by level."""
    rows = []
    for value in sorted(set(values)):
        labels = []
        for level, firsts in enumerate(starts):
            at = bisect_right(firsts, value) - 1
            end = f"{firsts[at + 1] - 1}" if at + 1 < len(firsts) else "more"
            labels.append(f"{firsts[at]} to {end}{' ' * level}")
        rows.append([str(value), *labels, "*"])
    return Hierarchy.from_rows(rows)


def of_informs() -> Studied:
    """Conditions of persons, as ICD-9 codes of three digits."""
    frame = informs()
    return Studied(
        "INFORMS 2008", frame,
        shoal.Schema(person="DUPERSID", quasi=["DOBYY", "EDUCYEAR", "income", "poverty"], sensitive=["ICD9CODX"]),
        {"ICD9CODX": icd_9_blocks(frame["ICD9CODX"].to_list())}, ("code", "block", "chapter"),
        "24,072 persons, 97,170 conditions. Values are three-digit ICD-9 codes (600 different ones), above them the "
        "blocks and the chapters of ICD-9. The order of a person's records is that of the file.",
    )  # fmt: skip


def of_some_informs() -> Studied:
    """Every fourth person of INFORMS, which takes minutes in place of a quarter of an hour."""
    whole = of_informs()
    persons = whole.frame[whole.person].unique().sort()
    frame = whole.frame.filter(pl.col(whole.person).is_in(persons.gather_every(4).to_list()))
    return replace(
        whole, title="INFORMS 2008, every fourth person", frame=frame,
        about=f"{frame[whole.person].n_unique():,} persons, {len(frame):,} conditions, as above. There are four times "
        "fewer persons to hide among, so that more is lost than on the whole table.",
    )  # fmt: skip


def of_rwm5yr() -> Studied:
    """Visits to doctors, year by year."""
    frame = rwm5yr()
    return Studied(
        "rwm5yr", frame.select("id", "age", "female", "educ", "hhninc", "docvis"),
        shoal.Schema(person="id", quasi=["age", shoal.Nominal("female"), "educ", "hhninc"], sensitive=["docvis"]),
        {"docvis": ranges(frame["docvis"].to_list(), (0, 1, 3, 6, 11, 21), (0, 1, 6))}, ("number", "range", "kind"),
        "6,127 persons, 19,609 years. The value is the number of visits to doctors in a year; above it the ranges 0, 1 "
        "to 2, 3 to 5, 6 to 10, 11 to 20 and more, and then none, up to 5 and more.",
    )  # fmt: skip


def of_berka() -> Studied:
    """Amounts that went to and from accounts."""
    frame = berka()
    amounts = frame["amount"].to_list()
    return Studied(
        "Berka, transactions", frame,
        shoal.Schema(person="client_id", quasi=["born", "salary", "opened"], sensitive=["amount"]),
        {"amount": ranges(amounts, range(0, 1000, 10), range(0, 1000, 100))}, ("amount", "tens", "hundreds"),
        "1,229 persons, 49,102 transactions, about 40 per person. The value is the amount in hundreds; above it steps "
        "of 10 and of 100.",
    )  # fmt: skip


def of_movielens() -> Studied:
    """Films and what persons thought of them."""
    frame = ratings()
    genre = dict(zip(frame["film"].cast(pl.String), frame["genre"], strict=True))
    films = [[film, f"genre {number}", f"genre {number} ", "*"] for film, number in sorted(genre.items())]
    stars = [[str(n), "liked" if n > 3 else "not liked", "liked " if n > 3 else "not liked ", "*"] for n in range(1, 6)]
    return Studied(
        "MovieLens 100K", frame.select("user", "age", "gender", "zip", "film", "rating"),
        shoal.Schema(person="user", quasi=["age", shoal.Nominal("gender"), "zip"], sensitive=["film", "rating"]),
        {"film": Hierarchy.from_rows([[film, genre, "*"] for film, genre, _, _ in films]),
         "rating": Hierarchy.from_rows([[star, liked, "*"] for star, liked, _, _ in stars])},
        ("film, rating", "genre, liked"),
        "943 persons, 100,000 ratings, 106 per person. An attacker knows records: a film and its rating. Above a film "
        "is its first genre, above a rating whether it is above 3. Shares are those of both columns together.",
        rivals=(),
    )  # fmt: skip


TABLES: dict[str, Callable[[], Studied]] = {
    "informs": of_informs, "some-informs": of_some_informs, "rwm5yr": of_rwm5yr, "berka": of_berka,
    "movielens": of_movielens,
}  # fmt: skip


# What is measured


@dataclass(frozen=True)
class Fixed:
    """A method that has its groups already."""

    grouping: Grouping

    def group(self, table: Table, models: Sequence[object], progress: object) -> Grouping:
        """These."""
        return self.grouping

    @classmethod
    def of(cls, found: Found) -> Fixed:
        """The groups of a release."""
        table, published = found.release.table, found.release.published
        group_of_person = np.zeros(table.n_persons, np.int32)
        group_of_person[table.person_of_record[published.record_of_published]] = published.group_of_record
        return cls(Grouping(group_of_person, int(published.group_of_record.max()) + 1))


@dataclass
class Found:
    """A release, what it shows of the original records, and what attackers get."""

    name: str
    release: shoal.Release
    cpu: float
    levels: dict[str, NDArray[np.int64]]
    """For each column and original record: the level shown (the root hides), or LEFT_OUT."""
    attacked: dict[str, float] = field(default_factory=dict)


def protected(studied: Studied, name: str, models: Sequence[shoal.models.Model], **options: object) -> Found:
    """A release of a table, its CPU time, and what attackers get from it."""
    frame = options.pop("frame", studied.frame)
    before = float(options.pop("cpu", 0.0))  # type: ignore[arg-type]
    schema, is_attacked = options.pop("schema", studied.schema), options.pop("attacked", True)
    started = time.process_time()
    release = shoal.protect(  # type: ignore[call-overload]
        frame, schema, models, seed=1, measure_input=False, attacks=0, line_of=lambda record: record, **options
    )
    cpu = before + time.process_time() - started
    found = Found(name, release, cpu, {} if release.schema.person_ids == "none" else levels_shown(studied, release))
    if is_attacked:
        results = release.attack([TrajectoryAttack(known_values=(1, 2)), "linkage"]).results
        found.attacked = {result.name: result.success for result in results}
    print(studied.title, name, f"{cpu:.1f} s", file=sys.stderr, flush=True)
    return found


def levels_shown(studied: Studied, release: shoal.Release) -> dict[str, NDArray[np.int64]]:
    """At which level each original record shows its values."""
    line_of, published = release.table.line_of, release.published
    record = np.array([line_of(int(at)) for at in published.record_of_published])
    levels = {}
    for name, hierarchy in studied.hierarchies.items():
        own = studied.frame[name].cast(pl.String).gather(record).to_list()
        shown = published.frame[name].cast(pl.String).to_list()
        level = np.full(len(studied.frame), LEFT_OUT)
        level[record] = [hierarchy.path(value).index(label) for value, label in zip(own, shown, strict=True)]
        levels[name] = level
    return levels


def level_shares(studied: Studied, found: Found) -> list[str]:
    """Percent of the cells at each level, hidden, and left out."""
    cells = np.concatenate(list(found.levels.values()))
    return [f"{100 * (cells == level).mean():.1f}" for level in (*range(len(studied.levels) + 1), LEFT_OUT)]


def beyond_block(found: Found) -> float:
    """The share of values that are shown at no code and no block."""
    cells = np.concatenate(list(found.levels.values()))
    return float(((cells > 1) | (cells == LEFT_OUT)).mean())


def loss_of_values(studied: Studied, found: Found) -> float:
    """The mean share of values that remain possible; 1 for what is hidden or left out."""
    lost = []
    for name, hierarchy in studied.hierarchies.items():
        values, code = np.unique(studied.frame[name].cast(pl.String).to_numpy(), return_inverse=True)
        share = hierarchy.shares(values.tolist())
        level = found.levels[name]
        lost.append(np.where(level == LEFT_OUT, 1.0, share[code, np.maximum(level, 0)]).mean())
    return float(np.mean(lost))


def kept_shares(studied: Studied, found: Found) -> list[str]:
    """Percent of the support of the commonest values and pairs, and of the transitions, that are shown as they are."""
    is_shown = np.logical_and.reduce([level == 0 for level in found.levels.values()])
    _, person = np.unique(studied.frame[studied.person].cast(pl.String).to_numpy(), return_inverse=True)
    values = pl.concat_str(list(studied.hierarchies), separator="/")
    _, value = np.unique(studied.frame.select(values).to_series().cast(pl.String).to_numpy(), return_inverse=True)
    had, has = (_commonest(person, value, some) for some in (np.ones_like(is_shown), is_shown))
    alone, together = np.diag(had), np.triu(had, 1)
    pairs = np.argsort(-together, axis=None)[:COMMONEST]
    order = np.argsort(person, kind="stable")
    follows = person[order][1:] == person[order][:-1]
    both = is_shown[order][1:] & is_shown[order][:-1]
    of_values = np.diag(has)[:COMMONEST].sum() / alone[:COMMONEST].sum()
    of_pairs = np.triu(has, 1).flat[pairs].sum() / together.flat[pairs].sum()
    return [f"{100 * share:.1f}" for share in (of_values, of_pairs, both[follows].mean())]


def _commonest(person: IntArray, value: IntArray, some: NDArray[np.bool_]) -> NDArray[np.float32]:
    """How many persons have each of the commonest values (of all records), and each pair of them, in some records."""
    different = np.unique(person * (value.max() + 1) + value) % (value.max() + 1)
    commonest = np.argsort(-np.bincount(different), kind="stable")[:BETWEEN]
    place = np.full(value.max() + 1, -1)
    place[commonest] = np.arange(len(commonest))
    has = np.zeros((person.max() + 1, len(commonest)), np.float32)
    is_one = some & (place[value] >= 0)
    has[person[is_one], place[value[is_one]]] = 1
    return has.T @ has


def records_per_person(found: Found) -> str:
    """The mean and the most."""
    counts = np.bincount(found.release.table.person_of_record)
    return f"{counts.mean():.1f} / {counts.max():,}"


def lost(found: Found) -> list[str]:
    """ANE, and the loss of the quasi-identifiers."""
    utility = found.release.utility
    quasi = [utility.loss_of_column[name] for name in found.release.kinds]
    return [f"{utility.ane:.4f}", f"{np.mean(quasi):.3f}"]


# Tables of the page


def ours(
    studied: Studied,
    k: int,
    m: int,
    *,
    counts: bool = True,
    quasi: bool = True,
    hidden: Literal["shared", "free"] | None = None,
    groups: Fixed | None = None,
) -> Found:
    """A release under history-k and count-k, in groups that see histories or in some that are there already."""
    models = [RISK, shoal.HistoryK(k=k, m=m, knows=studied.knows, with_quasi=quasi, hidden=hidden)]
    models += [shoal.CountK(k=k)] if counts else []
    options = {} if groups is None else {"method": groups}
    history = History(hierarchies=studied.hierarchies, alike=1.0 if groups is None else 0.0)
    return protected(studied, f"k = {k}, m = {m}", models, history=history, **options)


def in_same_groups(studied: Studied) -> list[tuple[Found, int, int]]:
    """Ours for every k and m that is asked; for m = 0 groups are those of m = 1."""
    made = {(k, m): ours(studied, k, m) for k, m in studied.asked if m}
    for k, m in studied.asked:
        if not m:
            made[k, m] = ours(studied, k, m, groups=Fixed.of(made[k, 1]))
    return [(made[k, m], k, m) for k, m in studied.asked]


def attacks_table(releases: Sequence[tuple[Found, int, int]]) -> str:
    """What attackers get, in percent; what is promised to be at most 1/k stands in bold."""
    rows = []
    for found, k, m in releases:
        cells = []
        for head, name in ATTACKS.items():
            success = found.attacked.get(name)
            known = 0 if head == "number of records" else int(head[0])
            text = "-" if success is None else f"{100 * success:.1f}"
            cells.append(f"**{text}**" if k and success is not None and known <= m else text)
        rows.append([found.name, *cells, f"{100 / k:g}" if k else "-"])
    return markdown_table(["release", *ATTACKS, "1/k"], rows)


def broken_promises(releases: Sequence[tuple[Found, int, int]]) -> Iterator[str]:
    """Promised chances that an attack exceeds."""
    for found, k, m in releases:
        for head, name in ATTACKS.items():
            known = 0 if head == "number of records" else int(head[0])
            if k and known <= m and found.attacked.get(name, 0.0) > 1 / k + 1e-9:
                yield f"{found.name}, {head}"


def cost_table(studied: Studied, releases: Sequence[Found]) -> str:
    """What is still shown, and what it costs."""
    head = ["release", *studied.levels, "hidden", "left out", "loss of values", "values", "pairs", "transitions",
            "records per person", "ANE", "loss", "CPU s"]  # fmt: skip
    rows = []
    for found in releases:
        if found.levels:
            kept = [*level_shares(studied, found), f"{loss_of_values(studied, found):.3f}"]
            kept += kept_shares(studied, found)
        else:
            kept = ["100.0", *["0.0"] * (len(studied.levels) + 1), "0.000", "100.0", "-", "-"]
        per_person = records_per_person(found) if found.levels else "-"
        rows.append([found.name, *kept, per_person, *lost(found), f"{found.cpu:.1f}"])
    return markdown_table(head, rows)


def rival_table(studied: Studied, base: Found) -> tuple[str, dict[str, Found]]:
    """Ours without count-k next to other ways, for k = 5."""
    found = {}
    for m in studied.rivals or (1,):
        whole = ours(studied, 5, m, counts=False)
        found[f"history-k, m = {m}"] = whole
        for what, options in {
            "hidden values free": {"groups": Fixed.of(whole)},
            "free, groups by quasi-identifiers alone": {"groups": Fixed.of(base)},
            "free, against who knows no quasi-identifiers": {"groups": Fixed.of(base), "quasi": False},
        }.items():
            found[f"history-k, m = {m}, {what}"] = ours(studied, 5, m, counts=False, hidden="free", **options)
    for level, label in enumerate(studied.levels[1:], start=1):
        found[f"all values as {label}"] = _shown_as(studied, base, level)
    found |= rivals(studied, base)
    schema = shoal.Schema(person=studied.person, quasi=list(studied.schema.quasi), person_ids="none",
                          sensitive=list(studied.schema.sensitive))  # fmt: skip
    found["no person ids"] = protected(studied, "", [RISK], schema=schema)
    for name, each in found.items():
        each.name = name
    head = ["way", "first two levels", "loss of values", "values", "pairs", "transitions", "ANE", "loss",
            "1 and quasi-identifiers", "2 and quasi-identifiers", "CPU s"]  # fmt: skip
    rows = []
    for name, each in found.items():
        if each.levels:
            kept = [f"{100 * (1 - beyond_block(each)):.1f}", f"{loss_of_values(studied, each):.3f}"]
            kept += kept_shares(studied, each)
        else:
            kept = ["100.0", "0.000", "100.0", "-", "-"]
        chances = [f"{100 * each.attacked[ATTACKS[f'{n} and quasi-identifiers']]:.1f}" for n in (1, 2)
                   if ATTACKS[f"{n} and quasi-identifiers"] in each.attacked]  # fmt: skip
        rows.append([name, *kept, *lost(each), *chances, *["-"] * (2 - len(chances)), f"{each.cpu:.1f}"])
    return markdown_table(head, rows), found


def _shown_as(studied: Studied, base: Found, level: int) -> Found:
    """All values at one level of their hierarchies, in the groups of the base."""
    columns = [
        pl.Series(name, [hierarchy.path(value)[level] for value in studied.frame[name].cast(pl.String)])
        for name, hierarchy in studied.hierarchies.items()
    ]
    return _in_groups(studied, base, studied.frame.with_columns(columns), groups_of(base), 0.0)


def groups_of(found: Found) -> IntArray:
    """The group of each original record."""
    published = found.release.published
    group = np.empty(len(published.frame), np.int64)
    group[published.record_of_published] = published.group_of_record
    return group


def _in_groups(studied: Studied, base: Found, frame: pl.DataFrame, group: IntArray, cpu: float) -> Found:
    """Values as a rival shows them, in its groups."""
    table = base.release.table
    group_of_person = np.zeros(table.n_persons, np.int32)
    group_of_person[table.person_of_record] = group
    method = Fixed(Grouping(group_of_person, int(group.max()) + 1))
    return protected(studied, "a rival", [RISK], frame=frame, method=method, cpu=cpu)


def rivals(studied: Studied, base: Found) -> dict[str, Found]:
    """Plain k^m-anonymity for the whole table and in groups, and clusters that are merged; k = 5."""
    found: dict[str, Found] = {}
    (name, hierarchy), *_ = studied.hierarchies.items()
    values, leaf = np.unique(studied.frame[name].cast(pl.String).to_numpy(), return_inverse=True)
    tree = Tree.of([hierarchy.path(value) for value in values.tolist()])
    person, group = base.release.table.person_of_record.astype(np.int64), groups_of(base)
    quasi = np.column_stack([_scaled(studied.frame[column]) for column in base.release.kinds])

    def put(what: str, groups: IntArray, shown: IntArray, cpu: float) -> None:
        label = pl.Series(name, [tree.names[node] for node in shown.tolist()])
        found[what] = _in_groups(studied, base, studied.frame.with_columns(label), groups, cpu)

    for m in studied.rivals:
        for hides, how in ((False, ", as in the paper"), (True, "")):
            started = time.process_time()
            shown = cut(tree, person, leaf, k=5, m=m, hides=hides)[leaf]
            put(f"k^m of values alone, m = {m}{how}", group, shown, time.process_time() - started)
        started = time.process_time()
        shown = cut_in_groups(tree, group, person, leaf, k=5, m=m)
        put(f"k^m in every group, m = {m}", group, shown, time.process_time() - started)
        started = time.process_time()
        clusters = merged_clusters(tree, group, person, quasi, leaf, k=5, m=m)
        shown = cut_in_groups(tree, clusters, person, leaf, k=5, m=m)
        put(f"(k, k^m), clusters merged, m = {m}", clusters, shown, time.process_time() - started)
    return found


def _scaled(values: pl.Series) -> NDArray[np.float64]:
    numbers = values.cast(pl.Float64) if values.dtype.is_numeric() else values.rank("dense").cast(pl.Float64)
    array = numbers.to_numpy()
    return np.asarray((array - array.min()) / max(array.max() - array.min(), 1e-9))


def where_rivals_lose_less(studied: Studied, found: Mapping[str, Found]) -> str:
    """A sentence for each rival on the same promise: who loses less, of values and of quasi-identifiers."""
    lines = []
    for m in studied.rivals:
        same = f"history-k, m = {m}"
        promises = {
            f"k^m of values alone, m = {m}": f"{same}, free, against who knows no quasi-identifiers",
            f"k^m in every group, m = {m}": f"{same}, free, groups by quasi-identifiers alone",
            f"(k, k^m), clusters merged, m = {m}": f"{same}, hidden values free",
        }
        for name, rival_of in promises.items():
            our = found[rival_of]
            values = loss_of_values(studied, found[name]) - loss_of_values(studied, our)
            ane = found[name].release.utility.ane - our.release.utility.ane
            lines.append(
                f"- *{name}*, beside *{rival_of}*: loss of values {'lower' if values < 0 else 'higher'} by "
                f"{abs(values):.3f}, ANE {f'{abs(ane):.4f} ' if ane else ''}"
                f"{'lower' if ane < 0 else 'higher' if ane > 0 else 'the same'}."
            )
    return "\n".join(lines) if lines else "Rivals know one column of values, and are not measured here."


ALIKE = (0.0, 0.25, 0.5, 0.6, 0.75, 1.0, 1.5)
"""What histories weigh beside quasi-identifiers, where releases are compared at the same ANE."""


def at_the_same_ane(studied: Studied, found: Mapping[str, Found]) -> str:
    """What (k, k^m)-anonymity loses by merged clusters, and what history-k loses at its ANE, hidden values free."""
    rows = []
    for m in studied.rivals:
        points = []
        for alike in ALIKE:
            models = [RISK, shoal.HistoryK(k=5, m=m, knows=studied.knows, hidden="free")]
            history = History(hierarchies=studied.hierarchies, alike=alike)
            one = protected(studied, f"m = {m}, alike {alike:g}", models, history=history, attacked=False)
            points.append((one.release.utility.ane, loss_of_values(studied, one)))
        rival = found[f"(k, k^m), clusters merged, m = {m}"]
        ane, theirs = rival.release.utility.ane, loss_of_values(studied, rival)
        ours_there = between_points(points, ane)
        rows.append(
            [f"{m}", *(f"{x:.4f}: {y:.3f}" for x, y in points), f"{ane:.4f}: {theirs:.3f}", f"{ours_there:.3f}"]
        )
    head = ["m", *(f"alike {alike:g}" for alike in ALIKE), "(k, k^m), clusters merged", "history-k at its ANE"]
    return f"""### At the same ANE, k = 5

ANE, and the loss of values at it: history-k with hidden values free, by what histories weigh when groups are formed
(`alike`), and (k, k^m)-anonymity by merged clusters. The last column lies on the line between the two nearest releases
of ours.

{markdown_table(head, rows)}

"""


def between_points(points: Sequence[tuple[float, float]], at: float) -> float:
    """On the line between the points on both sides of a place; of several at the same place the lowest counts."""
    lowest: dict[float, float] = {}
    for x, y in points:
        lowest[x] = min(y, lowest.get(x, y))
    places = sorted(lowest)
    return float(np.interp(at, places, [lowest[x] for x in places]))


def section(studied: Studied) -> str:
    """All that is measured on one table."""
    ours(replace(studied, frame=studied.frame.head(1_000)), 2, 2)  # compiles
    started, stamp = time.process_time(), commit()
    base = protected(studied, "record risk 10 %", [RISK])
    made = in_same_groups(studied)
    releases = [(base, 0, 0), *made]
    compared, found = rival_table(studied, base)
    same = at_the_same_ane(studied, found) if studied.rivals else ""
    weighed = between(studied) if studied.rivals else ""
    broken = list(broken_promises(releases))
    promise = f"Above what was promised: {'; '.join(broken)}." if broken else "No promised chance is exceeded."
    return f"""## {studied.title}

{studied.about}

### What attackers get

{attacks_table(releases)}

{promise}

### What is shown, and what it costs

{cost_table(studied, [each for each, _, _ in releases])}

### Next to others, k = 5

{compared}

{where_rivals_lose_less(studied, found)}

{same}{weighed}Measured with shoal at commit {stamp}, in {time.process_time() - started:,.0f} s CPU.
"""


def between(studied: Studied) -> str:
    """How much is hidden or beyond the second level, by what histories weigh beside quasi-identifiers and by risk."""
    rows = []
    for rho, alike in (("0.1", 0.0), ("0.1", 1.0), ("0.1", 2.0), ("0.05", 0.0), ("0.05", 1.0)):
        cells = []
        for counts in ([], [shoal.CountK(k=5)]):
            models = [shoal.RecordRisk(rho=rho), shoal.HistoryK(k=5, m=1, knows=studied.knows), *counts]
            history = History(hierarchies=studied.hierarchies, alike=alike)
            found = protected(studied, f"{rho}, alike {alike:g}", models, history=history, attacked=False)
            cells += [f"{100 * beyond_block(found):.1f}", *lost(found)]
        rows.append([f"{100 * float(rho):g} %", f"{alike:g}", *cells])
    head = ["record risk", "alike", "beyond", "ANE", "loss", "beyond, count-k", "ANE, count-k", "loss, count-k"]
    return f"""### Between quasi-identifiers and histories, k = 5, m = 1

What histories weigh when groups are formed (`alike`), and how large groups are. *Beyond*: percent of the values that
are hidden, left out, or coarser than the second level.

{markdown_table(head, rows)}

"""


def commit() -> str:
    """The last commit that changed shoal itself."""
    asked = ["git", "log", "-1", "--format=%h", "--", "src"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


PAGE = """# Nobody is found by their own records: what it costs

Made by `python -m studies.histories`. The models [history-k](../models/histories.md#history-anonymity) and
[count-k](../models/histories.md#count-anonymity) beside record risk 10 %, with what [attackers](attacks.md) get before
and after. *m* values of a person are known; m = 0 asks for k persons per group. All releases but the first have count-k
too, with the same k.

- **What attackers get**: percent of the persons who are found by one or two of their records, with and without
  quasi-identifiers, and by quasi-identifiers and the number of records. What is promised to be at most 1/k is bold.
- **Levels**: percent of all original values that are shown as they are, at each level of their hierarchy, hidden, or
  left out with their record. *Loss of values* is the mean share of values that remain possible; hidden and left out
  lose 1.
- **Values, pairs, transitions**: the {commonest} commonest values and pairs of values, percent of the persons who have
  them and still show them as they are; percent of the pairs of consecutive records that are both shown as they are.
- **Records per person**: mean and most. **ANE** and **loss** are of the quasi-identifiers. CPU seconds are those of
  `protect`, measured while other work ran on the machine; for m = 0 groups are those of m = 1, and the time is that of
  the rest.

Next to others: values made coarser by hand; k^m-anonymity of values alone for the whole table, as Amnesia does it
(apriori anonymization; Terrovitis and others, 2008), which knows no quasi-identifiers; the same inside every group of
record risk 10 %; (k, k^m)-anonymity (Poulis and others, 2013), for which such groups are merged with near ones while
that lowers the loss; no person ids. The rivals are plain implementations in `studies/km_anonymity.py`. They promise
less than history-k: a value that a person has twice counts once, and hidden values are not
[shared](../models/histories.md#hidden-values-are-shared), so that they stand beside lines of ours in which these are
free. By the paper a value that is rare even at the last
level below the root takes all values to the root; except where a line says so, rivals here hide such a value alone,
which loses less.

In short: no attack of the suite gets more than was promised. One known value costs little where groups see histories,
two cost much; that hidden values are shared costs little but where groups are small and persons have few records, as in
rwm5yr. For INFORMS, k = 5, m = 1, the aim was under 25 % of the values beyond the block at an ANE of at most .020: the
table *between quasi-identifiers and histories* tells how near each way comes. Count-k costs most
where persons have many records, as in MovieLens. Rivals on the same promise show far fewer values, pairs and
transitions as they are; the lists under the tables say where one loses less by the share of values that remain
possible, and the tables *at the same ANE* what is lost where quasi-identifiers are as wide. Coarser values by hand lose
less, and promise nothing: who knows quasi-identifiers and a value finds many. K^m of values alone loses little for
m = 1, and does not help against who knows quasi-identifiers. Without person ids single values are all kept, and pairs,
transitions and records per person are gone.

{sections}
"""


def kept_sections() -> dict[str, str]:
    """The sections that the page has, by their titles."""
    path = FOLDER / "histories.md"
    if not path.exists():
        return {}
    text = re.sub(r"^\*Last run at commit .*\*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {text.splitlines()[0][3:]: text for text in found}


def main(names: Sequence[str]) -> None:
    """Run the study and write its page, table by table."""
    for name in names or [each for each in TABLES if each != "some-informs"]:
        try:
            studied = TABLES[name]()
        except MissingDataError as error:
            print(error)
            continue
        made = section(studied)
        sections = {**kept_sections(), studied.title: made}
        text = "\n\n".join(sections[title].strip() for title in sorted(sections))
        print(write_page("histories", PAGE.format(commonest=COMMONEST, sections=text)))


if __name__ == "__main__":
    main(sys.argv[1:])
