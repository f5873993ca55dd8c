"""Person linkage: somebody knows quasi-identifiers of a person, and looks for the person in the release.

What fits is a candidate, and the attacker takes one of the candidates by chance: the chance to be right is computed,
not tried. The chances of all targets are averaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.attacking.attackers_view import AttackersView
from shoal.attacking.candidates import Candidates, TargetBlock
from shoal.attacking.contract import (
    GROUPS,
    ORIGINAL,
    Attack,
    AttackResult,
    Attempt,
    DoesNotApply,
    Finding,
    Recounted,
    Remedy,
)
from shoal.attacking.remedies import no_ids
from shoal.attacking.setting import Setting
from shoal.models.contract import listed
from shoal.models.exact import BoolArray, FloatArray, IntArray

KNOWS = {
    "one record": "The quasi-identifiers of one record of the person, drawn by chance, and that they are in the table.",
    "all records": "The quasi-identifiers of all records of the person, and that they are in the table.",
    "all and number": "The quasi-identifiers of all records of the person, and how many records they have.",
    "all and number of an episode": "The quasi-identifiers of all records of the person, and how many of them are in "
    "one of their episodes, drawn by chance.",
}
"""What the attacker knows, by the name of the knowledge."""
BOUND = "taken to be in the release, with all records among those that fit"
MOST_TOGETHER = 200
"""Targets looked at together where published persons stand in several places."""


@dataclass
class _Chances:
    """The chance of each target, by what is known and what is aimed at; NaN where it does not apply."""

    targets: IntArray
    of: dict[tuple[str, str], FloatArray]

    def put(self, knowledge: str, aim: str, found: pl.DataFrame) -> None:
        """Keep chances, lines `target` and `chance`; a target without a line has none."""
        chances = self.of.setdefault((knowledge, aim), np.zeros(len(self.targets)))
        at = np.searchsorted(self.targets, found["target"].to_numpy())
        chances[at] = np.clip(found["chance"].to_numpy(), 0.0, 1.0)

    def same(self, one: str, other: str, targets: IntArray) -> None:
        """Keep for some targets the chances of one knowledge as those of another."""
        at = np.searchsorted(self.targets, targets)
        for (knowledge, aim), chances in list(self.of.items()):
            if knowledge == one:
                self.of.setdefault((other, aim), np.zeros(len(self.targets)))[at] = chances[at]


class LinkageAttack(Attack):
    """The chance to point at one of a person's records, at the person, and at their sensitive values.

    Notes
    -----
    Let C be the rows that fit what is known. The chance to point at one of the person's records is the number of their
    rows in C over the number of rows in C; at the person, one over the number of published persons in C (where rows are
    not linked to persons, pointing at a row is pointing at the person). For values the attacker says the one that most
    persons in C have; of equally frequent ones, one by chance.

    Where the judge does not know whose a row is, all records of the person that fit are taken to be in C, and whoever
    fits nothing is taken not to be in the release, and is no target. For a release that shows true ranges and keeps a
    person's records together that is so; else it is an upper bound.

    Under record risk rho, no chance to point at a record exceeds rho with knowledge of one record or of all; the number
    of a person's records is not covered by any model.
    """

    name = "linkage"
    question = "Which record, which person, which values are those of somebody whose quasi-identifiers are known?"
    knows = "The quasi-identifiers of one or of all records of the person, and that they are in the table."
    needs = (GROUPS, ORIGINAL)
    bound = "at most"

    def run(self, setting: Setting) -> list[AttackResult]:
        """Try it."""
        candidates = Candidates.of(setting)
        targets = setting.targets
        chances = _Chances(targets, {})
        unfitting = [np.zeros(0, np.int64)]
        together = setting.view.keeps_together or not setting.shows_persons
        own = _own_rows(setting)
        for block in candidates.blocks(targets, most=2_000 if together else MOST_TOGETHER):
            unfitting.append(_link_block(setting, block, chances, own))
        return list(_results(setting, *_in_release(setting, chances, np.concatenate(unfitting))))

    def remedies(self, setting: Setting, result: AttackResult) -> Iterator[Remedy]:
        """Where it takes the number of records, publish no person ids: then nobody can count them."""
        by_number = (KNOWS["all and number"], KNOWS["all and number of an episode"])
        return no_ids(setting) if result.knows in by_number else iter(())

    def findings(self, recounted: Recounted) -> Iterator[Finding]:
        """Take one of those who look alike for the person looked for, and any record of their group for theirs."""
        if not recounted.shows_groups:
            return
        n, before = recounted.risk.persons, recounted.before
        yield Finding(
            name="find the person",
            knows=f"a person’s {listed([f'‘{name}’' for name in recounted.quasi])}, and that they are in the table",
            does="picks one of the persons whose published values fit",
            persons=n,
            attempts=(
                Attempt(
                    label="find the person",
                    what="the right person is picked",
                    success=recounted.risk.marketer_risk,
                    blind=1 / n,
                    before=None if before is None else before.marketer_risk,
                ),
            ),
        )
        spread, spread_before = recounted.spread, recounted.spread_before
        if spread is None or not np.isfinite(recounted.risk.max_gidr):
            return
        yield Finding(
            name="take a record",
            knows="a person’s group",
            does="takes one of the group’s records for theirs",
            persons=n,
            attempts=(
                Attempt(
                    label="take a record",
                    what="the record is the person’s",
                    success=spread.mean_record_risk,
                    blind=1 / n,
                    before=None if spread_before is None else spread_before.mean_record_risk,
                ),
            ),
        )


def _in_release(setting: Setting, chances: _Chances, unfitting: IntArray) -> tuple[_Chances, int]:
    """The chances of those who are in the release, and how many targets nothing fits.

    Where the judge does not know who is in it, whoever fits nothing is not: to count them as failures would make the
    attack look weaker than it is.
    """
    if setting.origin is not None or not len(unfitting):
        return chances, len(unfitting)
    is_in = ~np.isin(chances.targets, unfitting)
    if not is_in.any():
        raise DoesNotApply("Nothing that is published fits anybody of the original.")
    return _Chances(chances.targets[is_in], {key: of[is_in] for key, of in chances.of.items()}), len(unfitting)


def _link_block(setting: Setting, block: TargetBlock, chances: _Chances, own: pl.DataFrame | None) -> IntArray:
    """Compute the chances of the targets of a block; gives the targets whom nothing fits."""
    link = _Linking(setting, setting.view, block, own)
    one = link.known.join(block.fits, on="point").select("target", "point", "place")
    _put(chances, "one record", link, one, ["target", "point"])
    whole = link.places_of_all(one)
    published = link.published_of_all(whole, one) if setting.shows_persons else None
    if published is not None and not setting.view.keeps_together:
        _put_persons(chances, "all records", link, published)
    elif link.is_one_point:  # then to know one record is to know all
        chances.same("one record", "all records", block.targets)
    else:
        _put(chances, "all records", link, whole, ["target"])
    if published is not None and setting.origin is not None and setting.schema.has_episodes:
        chances.put("all and number of an episode", "person", link.by_number_of_episode(published, setting.origin))
    elif published is not None:
        _put_persons(chances, "all and number", link, link.with_as_many_records(published))
    return np.setdiff1d(block.targets, one["target"].unique().to_numpy())


def _own_rows(setting: Setting) -> pl.DataFrame | None:
    """Where the judge knows it, the rows of each person of the original in each place."""
    if setting.origin is None:
        return None
    rows = pl.DataFrame({"target": setting.origin, "place": setting.view.place_of_row})
    return rows.group_by("target", "place").len("own").with_columns(pl.col("own").cast(pl.Int64))


@dataclass(frozen=True)
class _Linking:
    """A block of targets, and what is needed to link them."""

    setting: Setting
    released: AttackersView
    block: TargetBlock
    own: pl.DataFrame | None

    @property
    def known(self) -> pl.DataFrame:
        """`target`, `point`, `records`."""
        return self.block.known

    @property
    def is_one_point(self) -> bool:
        """Whether all records of each target have the same quasi-identifiers."""
        return len(self.known) == len(self.block.targets)

    def places_of_all(self, one: pl.DataFrame) -> pl.DataFrame:
        """`target`, `place`: the places that fit all records of a person.

        Where rows are not linked to persons and no place fits all of their records, those of the record that fits the
        fewest rows.
        """
        if self.block.whole is not None:
            return self.block.whole
        n_points = self.known.group_by("target").len("points")
        fitting = one.group_by("target", "place").agg(pl.col("point").n_unique().alias("fitting"))
        all_fit = fitting.join(n_points, on="target").filter(pl.col("fitting") == pl.col("points"))
        together = all_fit.select("target", "place")
        if self.setting.shows_persons:
            return together
        rows = pl.DataFrame({"place": np.arange(self.released.n_places), "rows": self.released.rows_of_place})
        apart = one.join(together, on="target", how="anti").join(rows, on="place")
        fewest = apart.group_by("target", "point").agg(pl.col("rows").sum())
        fewest = fewest.sort("target", "rows", "point").group_by("target", maintain_order=True).first()
        best = one.join(fewest.select("target", "point"), on=["target", "point"], how="semi")
        return pl.concat([together, best.select("target", "place")])

    def published_of_all(self, whole: pl.DataFrame, one: pl.DataFrame) -> pl.DataFrame:
        """`target`, `published`: the published persons whose rows fit all records of a target."""
        if self.released.keeps_together:
            return whole.join(self.released.stays, on="place").select("target", "published")
        n_points = self.known.group_by("target").len("points")
        met = one.join(self.released.stays, on="place")
        met = met.group_by("target", "published").agg(pl.col("point").n_unique().alias("fitting"))
        return met.join(n_points, on="target").filter(pl.col("fitting") == pl.col("points")).select(
            "target", "published"
        )  # fmt: skip

    def with_as_many_records(self, published: pl.DataFrame) -> pl.DataFrame:
        """Of published persons who fit, those with as many rows as the target has records."""
        rows = pl.DataFrame({"published": np.arange(self.released.n_persons), "rows": self.released.rows_of_person})
        sized = published.join(rows, on="published").join(self.records(), on="target")
        return sized.filter(pl.col("rows") == pl.col("total")).select("target", "published")

    def by_number_of_episode(self, published: pl.DataFrame, origin: IntArray) -> pl.DataFrame:
        """`target`, `chance`: to take one of the target's episodes among those that fit and have as many records.

        The number is that of one of the target's episodes, each as likely.
        """
        rows = pl.DataFrame({"published": np.arange(self.released.n_persons), "rows": self.released.rows_of_person})
        sized = published.join(rows, on="published").group_by("target", "rows").len("all")
        own = self.released.own_names(origin).join(rows, on="published").group_by("target", "rows").len("own")
        found = own.join(sized, on=["target", "rows"])
        chance = (pl.col("own") * pl.col("own") / pl.col("all")).sum() / pl.col("own").sum()
        return found.group_by("target").agg(chance=chance)

    def own_names_of(self, fits: pl.DataFrame, by: list[str], origin: IntArray) -> pl.DataFrame:
        """`by`, `names`: how many episodes of the target there are among those that fit."""
        own = self.released.own_names(origin).join(self.released.stays.select("place", "published"), on="published")
        met = fits.join(own, on=["target", "place"])
        return met.group_by(by).agg(pl.col("published").n_unique().alias("names"))

    def records(self) -> pl.DataFrame:
        """`target`, `total`: how many records each target has."""
        return self.known.group_by("target").agg(pl.col("records").sum().alias("total"))

    def hits(self, fits: pl.DataFrame, by: list[str]) -> pl.DataFrame:
        """`by`, `hits`: how many of the rows that fit are the target's own, or may be at the most."""
        if self.own is not None:
            return fits.join(self.own, on=["target", "place"]).group_by(by).agg(pl.col("own").sum().alias("hits"))
        if self.is_one_point or (by == ["target"] and self.block.whole is not None):
            return fits.select(by).unique().join(self.records().rename({"total": "hits"}), on="target")
        others = self.known.join(self.block.fits, on="point").select(
            "target", pl.col("point").alias("other"), "records", "place"
        )
        pairs = fits.join(others, on=["target", "place"]).unique([*by, "other"])
        return pairs.group_by(by).agg(pl.col("records").sum().alias("hits"))


def _put(chances: _Chances, knowledge: str, link: _Linking, fits: pl.DataFrame, by: list[str]) -> None:
    """Keep the chances that places which fit give, averaged over the records that may be known."""
    released, setting = link.released, link.setting
    sizes = pl.DataFrame(
        {
            "place": np.arange(released.n_places),
            "rows": released.rows_of_place,
            "persons": released.persons_of_place,
            "group": released.group_of_place,
        }
    )
    sized = fits.join(sizes, on="place")
    found = sized.group_by(by).agg(pl.col("rows").sum(), pl.col("persons").sum())
    if setting.shows_persons and not released.keeps_together:
        stays = fits.join(released.stays.select("place", "published"), on="place")
        apart = stays.group_by(by).agg(pl.col("published").n_unique().alias("persons"))
        found = found.drop("persons").join(apart, on=by)
    found = found.join(link.hits(fits, by), on=by)
    is_hit = pl.col("hits") > 0
    if not setting.tables:
        chances.put(
            knowledge, "record", _averaged(link, found.with_columns(chance=pl.col("hits") / pl.col("rows")), by)
        )
    if setting.shows_persons or setting.tables:
        names = pl.lit(1)
        if setting.origin is not None and setting.schema.has_episodes:  # the person is any of their episodes
            found, names = found.join(link.own_names_of(fits, by, setting.origin), on=by, how="left"), pl.col("names")
        chance = pl.when(is_hit).then(names / pl.col("persons")).otherwise(0.0)
        chances.put(knowledge, "person", _averaged(link, found.with_columns(chance=chance), by))
    for name in setting.guessed:
        guessed = _guesses(link, sized, name, by)
        chances.put(knowledge, f"value of {name}", _averaged(link, guessed, by))


def _averaged(link: _Linking, found: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """`target`, `chance`: over the records that may be known, each as likely."""
    if by == ["target"]:
        return found.select("target", "chance")
    weighted = link.known.join(found.select(*by, "chance"), on=by, how="left").with_columns(
        pl.col("chance").fill_null(0.0)
    )
    return weighted.group_by("target").agg(
        chance=(pl.col("chance") * pl.col("records")).sum() / pl.col("records").sum()
    )


def _guesses(link: _Linking, sized: pl.DataFrame, name: str, by: list[str]) -> pl.DataFrame:
    """`by`, `chance`: whether the value that most persons among the candidates have is the target's."""
    values = link.released.values[name]
    groups = sized.group_by(*by, "group").agg(pl.col("rows").sum())
    total = pl.DataFrame({"group": np.arange(link.released.n_groups), "all_rows": link.released.rows_of_group})
    counts = groups.join(total, on="group").join(values.counts, on="group")
    counts = counts.with_columns(weight=pl.col("persons") * (pl.col("rows") / pl.col("all_rows")))
    counts = counts.group_by(*by, "value").agg(pl.col("weight").sum())
    return most_frequent(counts, own_values(link.setting, name, link.block.targets), by)


def most_frequent(counts: pl.DataFrame, own: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """`by`, `chance`: of the values with the largest weight, the share that are the target's own."""
    top = counts.filter(pl.col("weight") >= pl.col("weight").max().over(by) * (1 - 1e-12))
    top = top.join(own.with_columns(is_own=pl.lit(1.0)), on=["target", "value"], how="left")
    return top.group_by(by).agg(chance=pl.col("is_own").fill_null(0.0).mean())


def own_values(setting: Setting, name: str, targets: IntArray) -> pl.DataFrame:
    """`target`, `value`: the sensitive values of some persons of the original, in the codes of the release."""
    original = setting.known_original
    wanted = np.zeros(original.n_persons, np.bool_)
    wanted[targets] = True
    is_theirs = wanted[original.person_of_record]
    values = original.frame[name].filter(pl.Series(is_theirs))
    codes = setting.view.values[name].codes_of(values)
    person = original.person_of_record[is_theirs].astype(np.int64)
    own = pl.DataFrame({"target": person, "value": codes}).unique()
    if name in setting.schema.missing_tells_nothing:
        own = own.filter(pl.col("value") != len(setting.view.values[name].categories))
    return own


def _put_persons(chances: _Chances, knowledge: str, link: _Linking, fits: pl.DataFrame) -> None:
    """Keep the chances of taking one of the published persons that fit: lines `target` and `published`."""
    released, setting = link.released, link.setting
    found = fits.group_by("target").agg(pl.col("published").n_unique().alias("persons"))
    if setting.origin is not None:
        theirs = fits.join(released.own_names(setting.origin), on=["published", "target"])
        found = found.join(theirs.group_by("target").agg(names=pl.col("published").n_unique()), on="target")
    names = pl.lit(1) if setting.origin is None else pl.col("names")
    found = found.with_columns(chance=names / pl.col("persons"))
    chances.put(knowledge, "record", found)
    chances.put(knowledge, "person", found)
    if setting.is_apart:
        return
    for name in setting.guessed:
        counts = fits.join(released.held[name], on="published").group_by("target", "value").len("weight")
        guessed = most_frequent(counts, own_values(setting, name, link.block.targets), ["target"])
        chances.put(knowledge, f"value of {name}", guessed)


# --- results ----------------------------------------------------------------------------------------------------------


def _results(setting: Setting, chances: _Chances, n_unfitting: int) -> Iterator[AttackResult]:
    original, released = setting.known_original, setting.view
    aims = {"record": "a record pointed at is one of the person's", "person": "the person pointed at is the person"}
    for (knowledge, aim), chance_of_all in chances.of.items():
        chance, column = chance_of_all, aim.removeprefix("value of ")
        if column in original.sensitive:
            chance = chance[who_has_value(setting, column, chances.targets)]
            if not len(chance):
                continue
        details: dict[str, Any] = {"highest": float(chance.max(initial=0.0)), "certain": int((chance == 1).sum())}
        if n_unfitting:
            details["targets_that_fit_nowhere"] = n_unfitting
        is_exact = setting.origin is not None or aim.startswith("value") or _is_sure(setting)
        if not is_exact:
            details["upper_bound"] = BOUND
        yield LinkageAttack.result(
            f"linkage, {knowledge}, {aim}",
            knows=KNOWS[knowledge],
            aim=aims.get(aim, f"a value of '{column}' that is said of the person is theirs"),
            successes=float(chance.sum()),
            targets=len(chance),
            blind={
                "record": lambda: float(original.records_of_person[chances.targets].mean() / len(setting.frame)),
                "person": lambda: 1 / released.n_persons,
            }.get(aim, lambda column=column: commonest(setting, column))(),
            is_exact=is_exact,
            details=details,
        )


def _is_sure(setting: Setting) -> bool:
    """Whether what is published shows that a person's records stand together, in true ranges."""
    all_there = len(setting.frame) == setting.known_original.n_records or bool(setting.tables)
    together = setting.schema.person is None or (setting.shows_persons and setting.view.keeps_together)
    return not setting.changes_numbers and all_there and together


def commonest(setting: Setting, name: str) -> float:
    """What a guess gets without the release: of the persons who have a value, the largest share who have the same."""
    original, column = setting.known_original, setting.known_original.sensitive[name]
    pairs = pl.DataFrame({"person": original.person_of_record, "value": column.codes}).unique()
    if column.code_left_out is not None:
        pairs = pairs.filter(pl.col("value") != column.code_left_out)
    return int(np.bincount(pairs["value"].to_numpy(), minlength=1).max()) / max(pairs["person"].n_unique(), 1)


def who_has_value(setting: Setting, name: str, targets: IntArray) -> BoolArray:
    """Which of some persons have a value of a sensitive attribute: all, but where a missing one tells nothing."""
    original, column = setting.known_original, setting.known_original.sensitive[name]
    if column.code_left_out is None:
        return np.ones(len(targets), np.bool_)
    has_value = np.zeros(original.n_persons, np.bool_)
    has_value[original.person_of_record[column.codes != column.code_left_out]] = True
    return np.asarray(has_value[targets])
