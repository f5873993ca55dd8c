"""Masking later records by the groups of a release, and verifying all records together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, InputError, ParameterError, PrivacyNotMetError, SchemaError
from shoal.judging.observation import Observation
from shoal.judging.verdict import Verdict, not_met, why_not
from shoal.masking import secrecy
from shoal.masking.publish import without_unused_categories
from shoal.masking.times import masked_times, shared_in
from shoal.pipeline import verify
from shoal.policy import Policy
from shoal.publishing.cells import note_on_cells
from shoal.publishing.later.covering import Covering, schema_by_scheme
from shoal.publishing.later.stored import Stored, read_stored
from shoal.publishing.manifest import sha256_of_file
from shoal.publishing.release import Assessment
from shoal.reading import Reading, Source, put_under_one_another, read
from shoal.reading.mend import mended_reading
from shoal.reading.source import DATABASE
from shoal.short import Short, ShownInShort
from shoal.table.frames import to_polars
from shoal.table.schema import Schema
from shoal.table.spelling import spelled
from shoal.table.table import Table
from shoal.table.times import notes_on_shared, refuse_shared

HOLD_BACK = "Allow to leave out persons of these groups with max_suppressed=, or make a new release of all records."


@dataclass(frozen=True, repr=False)
class Applied(ShownInShort):
    """All records of a release and the later ones, as they will be published, and what was counted on them."""

    stored: Stored
    frame: pl.DataFrame = field(repr=False)
    group_of_record: NDArray[np.int32] = field(repr=False)
    is_new: NDArray[np.bool_] = field(repr=False)
    pseudonyms: pl.DataFrame | None = field(repr=False)
    """The person map of all, where the release has one."""
    together: Assessment
    """Of all records together."""
    alone: Assessment
    """Of the later records alone, which whoever keeps the earlier release can tell from the others."""
    apart: dict[str, Assessment]
    """Of the later records of newcomers alone, and of known persons alone, where there are both: whoever keeps the
    earlier release tells them apart by their pseudonyms."""
    new_persons: int
    known_persons: int
    suppressed_persons: int
    notes: tuple[str, ...]

    def short(self) -> Short:
        """What all records together reach, and how many came."""
        came = f"{self.new_persons:,} persons came new, {self.known_persons:,} were known"
        told = self.together.short()
        return replace(told, title=f"Applied: {self.together.verdict.state}", lines=[*told.lines, came])

    def write(self, folder: str | Path, *, overwrite: bool = False, format: str | None = None) -> Path:
        """Write the release of old and new records together; `folder` may be that of the old one, with `overwrite`."""
        from shoal.publishing.later.write import write_applied

        return write_applied(self, folder, overwrite=overwrite, format=format)

    def to_dict(self) -> dict[str, object]:
        """The keys of the JSON contract, of all records together; the later ones alone stand under "new"."""
        return {
            **self.together.to_dict(),
            "ane": None,  # only the originals of the earlier records could tell
            "new": {
                "records": int(self.is_new.sum()),
                "persons": self.new_persons + self.known_persons,
                "known_persons": self.known_persons,
                "verdict": self.alone.verdict.to_dict(),
                **{part: {"verdict": answer.verdict.to_dict()} for part, answer in self.apart.items()},
            },
            "suppressed_persons": self.suppressed_persons,
            "notes": list(self.notes),
        }


def apply(
    release: Stored | str | Path,
    new: Any,
    schema: Schema | Policy | None = None,
    *,
    all_new: bool = False,
    max_suppressed: int = 0,
    check_new: bool = False,
) -> Applied:
    """Mask later records by the groups of a release.

    A person whom the person map knows stays in their group and keeps their pseudonym. Anybody else joins the narrowest
    group that covers all their records. The union of old and new records is then verified.

    Parameters
    ----------
    release
        The folder of the release, whole with `steward/`.
    new
        Later records of the same kind: a frame, a file, or what `shoal.read` gave.
    schema
        The roles of their columns, which are those of the release unless told; or a policy, whose limits on who may be
        alone then count instead of those of the release.
    all_new
        Says that nobody among the new records is in the release already, where no person map tells.
    max_suppressed
        How many persons may be left out, because no group covers them or because their records would break a model in
        their group.
    check_new
        Whether the new records alone must meet the models too, and so must those of newcomers and those of known
        persons, each by themselves. Whoever keeps the earlier release can tell them from the others.

    Raises
    ------
    InputError
        A file is in the release already.
    CannotSatisfyError
        More persons than may be left out are covered by no group.
    PrivacyNotMetError
        The union breaks a model, or more persons than may be are alone in their group by what else leaves; or with
        `check_new` the new records alone break a model.
    """
    stored = release if isinstance(release, Stored) else read_stored(release)
    new = _as_reading(new)
    mends = (schema if isinstance(schema, Policy) else stored.policy).mend
    if mends and new.mended is None:
        new = mended_reading(new, mends)
    stored, schema = _with_roles(stored, new, schema)
    table = _later_table(stored, new, schema, all_new)
    joined = _joined(stored, table, schema, max_suppressed)
    masked = Reading(_masked(stored, table, schema, joined), new.source)
    union = put_under_one_another([stored.published, masked]).frame
    is_left_out = _held_back(stored, union, table, joined.group_of_person < 0, max_suppressed)
    if is_left_out.all():
        raise CannotSatisfyError("Nobody among the new persons can be added. Make a new release of all records.")
    n_old, keep = stored.published.frame.height, ~is_left_out[table.person_of_record]
    frame = union.filter(pl.Series(np.concatenate([np.ones(n_old, np.bool_), keep])))
    is_known = (joined.known >= 0)[table.person_of_record][keep]
    together, alone, apart = _judged(stored, frame, n_old, is_known)
    if check_new:
        _refuse_unmet_apart(alone, apart)
    order, group_of_new = secrecy.secret_order(frame.height), joined.group_of_person[table.person_of_record][keep]
    n_known, n_suppressed = int((~is_left_out & (joined.known >= 0)).sum()), int(is_left_out.sum())
    return Applied(
        stored,
        frame[order],
        np.concatenate([stored.group_of_record.to_numpy(), group_of_new]).astype(np.int32)[order],
        (np.arange(frame.height) >= n_old)[order],
        _of_published(joined.pseudonyms, frame, schema),
        together,
        alone,
        apart,
        new_persons=table.n_persons - n_known - n_suppressed,
        known_persons=n_known,
        suppressed_persons=n_suppressed,
        notes=(
            *table.notes,
            *notes_on_shared(schema, table.shared_dates),
            *_notes(alone, apart, n_suppressed),
            *_note_on_repeated(stored.published.frame, frame[n_old:].filter(pl.Series(is_known)), schema),
            *note_on_cells([frame]),
        ),
    )


def _with_roles(stored: Stored, new: Reading, schema: Schema | Policy | None) -> tuple[Stored, Schema]:
    """The release with the limits of a policy, where one is given, and the roles of the columns."""
    if isinstance(schema, Policy):
        stored = replace(stored, policy=replace(stored.policy, budget=schema.budget))
        schema = schema.schema(schema.folder, new.frame)
    schema = schema or stored.policy.schema(stored.folder / "steward", new.frame)
    return stored, replace(schema, coded=stored.policy.columns.coded)  # as it was settled when the release was made


def _later_table(stored: Stored, new: Reading, schema: Schema, all_new: bool) -> Table:
    """The later records, coded; those that may be in the release already are refused."""
    _refuse_unknown_persons(stored, schema, all_new)
    _refuse_again(stored, new)
    table = Table.from_frame(new.frame, schema_by_scheme(schema, stored.scheme), line_of=new.line_of_record)
    table = replace(table, shared_dates=shared_in(table))
    refuse_shared(schema, table.shared_dates)
    return table


class _Joined(NamedTuple):
    """Where new persons join a release: their groups, and how they are called there."""

    known: NDArray[np.int32]
    """The group of those who are in it already, -1 of others."""
    group_of_person: NDArray[np.int32]
    """The group of each; -1 where none covers them."""
    names: pl.Series | None
    pseudonyms: pl.DataFrame | None


def _joined(stored: Stored, table: Table, schema: Schema, max_suppressed: int) -> _Joined:
    own_names = _known_names(stored, table, schema)
    known = _groups_of_known(stored, table, schema, own_names)
    covering = Covering.of(table, schema, stored.scheme, stored.policy.mask)
    group_of_person = _assigned(covering, known)
    _refuse_uncovered(covering, group_of_person, known, max_suppressed)
    return _Joined(known, group_of_person, *_named(stored, table, schema, own_names))


def _judged(
    stored: Stored, frame: pl.DataFrame, n_old: int, is_known: NDArray[np.bool_]
) -> tuple[Assessment, Assessment, dict[str, Assessment]]:
    """What is counted on all records together, on the new ones alone, and on those of newcomers and of known persons.

    All together must hold.
    """
    schema, models = stored.policy.schema_of_release(), stored.policy.models
    together = verify(frame, schema, models, **stored.policy.budget.alone)
    if not together.holds:
        raise not_met(together.verdict, f"With the new records: {why_not(together.verdict)} {HOLD_BACK}")
    added = frame[n_old:]
    parts = {"newcomers": ~is_known, "known": is_known} if is_known.any() and not is_known.all() else {}
    alone, *apart = (
        verify(records, schema, models, allow_alone=True)
        for records in (added, *(added.filter(pl.Series(chosen)) for chosen in parts.values()))
    )
    return together, alone, dict(zip(parts, apart, strict=True))


def _of_published(pseudonyms: pl.DataFrame | None, frame: pl.DataFrame, schema: Schema) -> pl.DataFrame | None:
    """The person map of those who are published."""
    if pseudonyms is None or schema.person is None:
        return pseudonyms
    published = frame.select(pseudonym=pl.col(schema.person).cast(pl.String))
    return pseudonyms.join(published, on="pseudonym", how="semi", maintain_order="left")


def _held_back(
    stored: Stored, union: pl.DataFrame, table: Table, is_left_out: NDArray[np.bool_], max_suppressed: int
) -> NDArray[np.bool_]:
    """Who is left out: those whom no group covers and, as far as it is allowed, those who would break a group."""
    schema, models = stored.policy.schema_of_release(), stored.policy.models
    needs: frozenset[str] = frozenset().union(*(model.needs for model in models))
    n_old = stored.published.frame.height
    while True:
        keep = np.concatenate([np.ones(n_old, np.bool_), ~is_left_out[table.person_of_record]])
        seen = Observation.of_frame(union.filter(pl.Series(keep)), schema)
        counts = seen.counts(needs)
        is_broken = ~np.logical_and.reduce([model.holds(counts) for model in models])
        records = np.flatnonzero(keep)[is_broken[seen.group_of_record]] - n_old
        breaking = np.unique(table.person_of_record[records[records >= 0]])
        if not len(breaking) or int(is_left_out.sum()) + len(breaking) > max_suppressed:
            return is_left_out  # the verdict tells whether it holds
        is_left_out = is_left_out.copy()
        is_left_out[breaking] = True


RECORDS_OF = {"newcomers": "The new records of newcomers alone", "known": "The new records of known persons alone"}


def _unmet_apart(alone: Assessment, apart: Mapping[str, Assessment]) -> dict[str, Verdict]:
    """Which of the new records alone break a model: all of them, those of newcomers, those of known persons."""
    views = {"The new records alone": alone, **{RECORDS_OF[part]: answer for part, answer in apart.items()}}
    return {records: answer.verdict for records, answer in views.items() if not answer.holds}


def _refuse_unmet_apart(alone: Assessment, apart: Mapping[str, Assessment]) -> None:
    for records, verdict in _unmet_apart(alone, apart).items():
        raise PrivacyNotMetError(f"{records}: {why_not(verdict)}")


def _notes(alone: Assessment, apart: Mapping[str, Assessment], n_suppressed: int) -> list[str]:
    notes = []
    if n_suppressed:
        notes.append(f"{n_suppressed:,} persons were left out: no group covers them, or they would break one.")
    for records, verdict in _unmet_apart(alone, apart).items():
        broken = [model.name for model in verdict.models if not model.holds]
        notes.append(
            f"{records} do not meet {', '.join(broken)}. Whoever keeps the earlier release can tell them "
            "from the others: where that is possible, ask for check_new=True, or wait for more records."
        )
    return notes


def _refuse_again(stored: Stored, new: Reading) -> None:
    """Refuse a file that is in the release already; a file of persons that is joined to records may come again."""
    join = stored.policy.source.join
    files = [path for path in new.source.paths if new.source.format != DATABASE and path.is_file()]
    records = [path for path in files if join is None or path.name != Path(join.person_file).name]
    again = [path.name for path in records if sha256_of_file(path) in stored.inputs]
    if again:
        raise InputError(
            f"{len(again):,} of the files are in the release already ({', '.join(again)}): their records would be "
            "counted twice. Nothing was written. Name only files with later records."
        )


def _note_on_repeated(old: pl.DataFrame, added: pl.DataFrame, schema: Schema) -> list[str]:
    """What to tell where every new record of known persons stands in the release already, value by value."""
    if schema.person is None or added.is_empty():
        return []
    columns = [name for name in (schema.person, *schema.sensitive, *schema.kept) if name in old.columns]
    before, now = (frame.select(pl.col(columns).cast(pl.String)) for frame in (old, added))
    if now.join(before, on=columns, how="anti", nulls_equal=True).height:
        return []
    return [
        f"All of the {added.height:,} new records of known persons have values that the same person has in the release "
        "already. Were they the same records, they would be counted twice: look whether they are later ones."
    ]


def _as_reading(new: Any) -> Reading:
    """Later records as they were read, from a file, or from a frame."""
    if isinstance(new, Reading):
        return new
    if isinstance(new, str | Path):
        return read(new)
    return Reading(to_polars(new)[0], Source((), "parquet", shown=("the new records",)))


def _refuse_unknown_persons(stored: Stored, schema: Schema, all_new: bool) -> None:
    """Refuse to count a person as two: without a person map nobody knows which of the new persons are known."""
    if not schema.links_records:
        raise ParameterError(
            "The release does not show which records belong to one person (person_ids='none'), so later records "
            "cannot be added to the persons in it. Protect all records together."
        )
    if schema.person is not None and stored.pseudonyms is None and not all_new:
        raise ParameterError(
            "The release keeps no person map (steward/persons.parquet), so persons who are in it already would be "
            "counted twice, and the risk would look lower than it is. Make releases with keep_person_map=True; or, "
            "where nobody among the new records is in the release, say so with all_new=True."
        )


def _ids(table: Table, schema: Schema) -> pl.DataFrame:
    """`person`, `code`: the different ids of the table as texts, and the number of their person."""
    assert schema.person is not None
    ids = pl.DataFrame({"person": table.frame[schema.person], "code": pl.Series(table.person_of_record)}).unique()
    return ids.with_columns(spelled(ids["person"], "exact")).sort("code", "person")


def _known_names(stored: Stored, table: Table, schema: Schema) -> pl.Series | None:
    """The pseudonym of each person whom the person map knows, missing of others; None where there is no map.

    Persons are known by their id in its spelling: 7 is 7.0 in files of floats. Those who would be known but for
    leading zeros are refused: they may be counted twice.
    """
    if schema.person is None or stored.pseudonyms is None:
        return None
    form = schema.spelling_of(schema.person)
    persons = stored.pseudonyms.select("pseudonym", form=spelled(stored.pseudonyms["person"], form)).unique()
    several = len(persons) - persons["form"].n_unique()
    if several:
        raise SchemaError(
            f"{several:,} persons of the release are named as another one but for the spelling of their ids, and have "
            "pseudonyms of their own. Make a new release of all records, in which they are one, or say in the policy "
            f"that the spelling of '{schema.person}' is 'exact'. Nothing was written."
        )
    ids = _ids(table, schema).unique("code", maintain_order=True)
    ids = ids.select(form=spelled(ids["person"], form))
    persons, ids = (each.with_columns(bare=_without_zeros("form")) for each in (persons, ids))
    known, bare = (
        ids.join(persons.unique(key).select(key, "pseudonym"), on=key, how="left", maintain_order="left")["pseudonym"]
        for key in ("form", "bare")
    )
    doubtful = int((known.is_null() & bare.is_not_null()).sum())
    if doubtful:
        raise SchemaError(
            f"{doubtful:,} of {table.n_persons:,} new persons have ids of persons in the release but for leading "
            "zeros. Were they the same, they would be counted twice. Write ids alike. Nothing was written."
        )
    return known


def _without_zeros(name: str) -> pl.Expr:
    return pl.col(name).str.replace(r"^0+(\d+)$", "${1}")


def _groups_of_known(stored: Stored, table: Table, schema: Schema, own_names: pl.Series | None) -> NDArray[np.int32]:
    """The group of each person whom the release knows, -1 of others."""
    if schema.person is None or own_names is None:
        return np.full(table.n_persons, -1, dtype=np.int32)
    published = pl.DataFrame(
        {"pseudonym": stored.published.frame[schema.person].cast(pl.String), "group": stored.group_of_record}
    ).unique("pseudonym")
    found = own_names.to_frame("pseudonym").join(published, on="pseudonym", how="left", maintain_order="left")
    lost = found.filter(pl.col("pseudonym").is_not_null() & pl.col("group").is_null()).height
    if lost or found.height != table.n_persons:
        raise SchemaError("The person map of the release does not fit its published table.")
    return found["group"].fill_null(-1).cast(pl.Int32).to_numpy()


def _assigned(covering: Covering, known: NDArray[np.int32]) -> NDArray[np.int32]:
    """The group of each person: the one they are in, or the closest that covers them; -1 where none does."""
    group_of_person = np.full(len(known), -1, dtype=np.int32)
    for person, own in enumerate(known.tolist()):
        covers = covering.groups_of(person)
        if own >= 0:
            group_of_person[person] = own if covers[own] else -1
        elif covers.any():
            group_of_person[person] = covering.closest(person, covers)
    return group_of_person


def _refuse_uncovered(
    covering: Covering, group_of_person: NDArray[np.int32], known: NDArray[np.int32], max_suppressed: int
) -> None:
    uncovered = np.flatnonzero(group_of_person < 0)
    if len(uncovered) <= max_suppressed:
        return
    n_known = int((known[uncovered] >= 0).sum())
    never: dict[str, int] = {}
    for person in uncovered.tolist():
        for name in covering.columns_that_never_fit(person):
            never[name] = never.get(name, 0) + 1
    named = (
        f" Values that no group shows: {', '.join(f'{name} of {n:,}' for name, n in never.items())}." if never else ""
    )
    raise CannotSatisfyError(
        f"{len(uncovered):,} of {len(known):,} persons are covered by no group of the release ({n_known:,} of them are "
        f"in it, with values outside what their group shows).{named} Nothing was written. Leave them out with "
        f"max_suppressed={len(uncovered)}, or make a new release of all records."
    )


def _named(
    stored: Stored, table: Table, schema: Schema, own_names: pl.Series | None
) -> tuple[pl.Series | None, pl.DataFrame | None]:
    """The pseudonym of each person, and the map of all: known persons keep theirs, others get new ones."""
    if schema.person is None:
        return None, None
    taken = set(stored.published.frame[schema.person].cast(pl.String).to_list())
    fresh: list[str] = []
    while len(fresh) < table.n_persons:
        fresh += [name for name in secrecy.pseudonyms(table.n_persons).to_list() if name not in taken][
            : table.n_persons
        ]
        taken.update(fresh)
    new_names = pl.Series("pseudonym", fresh[: table.n_persons])
    if stored.pseudonyms is None or own_names is None:
        return new_names, None
    names = own_names.fill_null(new_names).alias("pseudonym")
    ids, known = _ids(table, schema), stored.pseudonyms.select("person", "pseudonym")
    both = ids.select("person", names.gather(ids["code"])).join(known, on="person", how="anti", maintain_order="left")
    return names, pl.concat([known, both])


def _masked(stored: Stored, table: Table, schema: Schema, joined: _Joined) -> pl.DataFrame:
    """The later records as they will be published: what their group shows, just as it stands in the release."""
    old, names = stored.published.frame, joined.names
    shown = old.select(schema.quasi_names).with_columns(group=stored.group_of_record).unique("group", keep="first")
    by_group = shown.sort("group")
    place = np.searchsorted(by_group["group"].to_numpy(), np.maximum(joined.group_of_person, 0)[table.person_of_record])
    columns: dict[str, pl.Series] = {}
    for name in old.columns:
        if name in schema.quasi_names:
            columns[name] = by_group[name].gather(place)
        elif name == schema.person and names is not None:
            columns[name] = names.gather(table.person_of_record)
        elif name == schema.time:
            columns[name] = _times(stored, table, schema, names, joined.known)
        else:
            columns[name] = without_unused_categories(table.frame[name])
    return pl.DataFrame(columns)


def _times(
    stored: Stored, table: Table, schema: Schema, names: pl.Series | None, known: NDArray[np.int32]
) -> pl.Series:
    """Times of later records: a known person's sequence goes on where it ended."""
    assert schema.time is not None
    times = masked_times(table)
    if not (known >= 0).any():
        return times
    if schema.time_as == "shift":
        raise ParameterError(
            "Dates of the release were shifted by a number of days per person that was not kept, so later dates of "
            "known persons cannot follow them. Publish times as a sequence, or make a new release of all records."
        )
    assert schema.person is not None
    assert names is not None
    old = stored.published.frame
    last = old.group_by(pl.col(schema.person).cast(pl.String).alias("name")).agg(
        last=pl.col(schema.time).cast(pl.Int64, strict=False).max()
    )
    before = names.to_frame("name").join(last, on="name", how="left", maintain_order="left")["last"].fill_null(0)
    return times.cast(pl.Int64) + before.gather(table.person_of_record)
