"""A permuted table: each attribute is dealt out anew inside its group, apart from everything else."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError, SchemaError
from shoal.grouping.grouping import Grouping
from shoal.masking.permute import Permute
from shoal.masking.publish import Published
from shoal.table.table import Table
from tests.masking.patients import ONE_RECORD, patients


def permuted(
    frame: pl.DataFrame, *, n_groups: int = 7, schema: Any = ONE_RECORD, **options: Any
) -> tuple[Published, Table]:
    table = Table.from_frame(frame, schema)
    lot = np.random.default_rng(2).permutation(table.n_persons) % n_groups
    return Permute(**options).publish(table, Grouping(lot.astype(np.int32), n_groups)), table


@pytest.mark.parametrize("missing", [(), ("disease", "sex")])
def test_each_group_keeps_its_persons_and_its_counts(missing: tuple[str, ...]) -> None:
    frame = patients(missing=missing)
    published, table = permuted(frame)
    groups = np.random.default_rng(2).permutation(table.n_persons)[table.person_of_record] % 7

    def bags(own: pl.DataFrame, column: pl.Series) -> Counter[Any]:
        parts = [own.filter(column == group) for group in column.unique()]
        return Counter(
            (
                frozenset(Counter(part.select("age", "sex").rows()).items()),
                frozenset(Counter(part["disease"]).items()),
                frozenset(Counter(part["treatment"]).items()),
            )
            for part in parts
        )

    assert bags(published.frame, published.frame["group"]) == bags(frame, pl.Series(groups))


def test_attributes_are_dealt_out_apart_from_each_other_and_from_the_person() -> None:
    """Each person has a value of their own in both columns: after dealing hardly anybody has either, or both alike."""
    frame = patients(300).with_columns(
        age=pl.int_range(300), disease=pl.int_range(300).cast(pl.String), treatment=pl.int_range(300).cast(pl.String)
    )
    published, _ = permuted(frame, n_groups=3)
    shown = published.frame.select("age", pl.col("disease", "treatment").cast(pl.Int64))
    assert (shown["disease"] == shown["age"]).sum() < 20, "three are expected by chance"
    assert (shown["treatment"] == shown["age"]).sum() < 20
    assert (shown["treatment"] == shown["disease"]).sum() < 20
    assert not shown["age"].is_sorted()


def test_every_dealing_is_about_as_likely() -> None:
    """Two persons in a group: their values are exchanged about every other time."""
    frame = patients(2).with_columns(age=pl.Series([1, 2]), disease=pl.Series(["x", "y"]), treatment=pl.lit("t"))
    exchanged = 0
    for _ in range(200):
        published, _ = permuted(frame, n_groups=1)
        exchanged += published.frame.filter(pl.col("age") == 1)["disease"].to_list() == ["y"]
    assert 60 < exchanged < 140


def test_persons_are_pseudonyms_and_groups_random_numbers() -> None:
    frame = patients(400).with_columns(age=pl.int_range(400))
    first, _ = permuted(frame, n_groups=40)
    second, _ = permuted(frame, n_groups=40)
    assert first.frame.columns == ["patient", "age", "sex", "disease", "treatment", "group"]
    assert not set(first.frame["patient"]) & set(frame["patient"])
    assert first.frame["patient"].n_unique() == 400
    numbers = [dict(each.frame.select("age", "group").rows()) for each in (first, second)]
    assert numbers[0] != numbers[1]
    assert sorted(set(numbers[0].values())) == list(range(1, 41))


def test_ranges_are_those_of_the_group() -> None:
    published, _ = permuted(patients(), quasi_as="range")
    assert len(published.frame.select("group", "age", "sex").unique()) == 7
    assert published.frame["age"].cast(pl.String).str.contains("-").all()
    with pytest.raises(ParameterError, match="quasi_as"):
        Permute(quasi_as="blurred")


def test_kept_columns_stay_with_their_record() -> None:
    frame = patients().with_columns(ward=pl.col("age") * 2)
    published, _ = permuted(frame, schema=replace(ONE_RECORD, kept=["ward"]))
    assert (published.frame["ward"] == published.frame["age"] * 2).all()


def test_several_records_a_person_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"one record per person, but 120 persons have \d+ records"):
        permuted(patients(most_records=3))


def test_times_and_columns_called_group_are_refused() -> None:
    with pytest.raises(SchemaError, match="name 'phone' as dropped"):
        permuted(patients(), schema=replace(ONE_RECORD, dropped=[], time="phone"))
    for role in ("kept", "dropped"):
        schema = replace(ONE_RECORD, **{role: [*getattr(ONE_RECORD, role), "group"]})
        with pytest.raises(SchemaError, match="'group' of its own"):
            permuted(patients().with_columns(group=pl.lit(1)), schema=schema)


def test_a_permuted_table_names_no_person_twice_and_says_what_it_cannot_show() -> None:
    models = [shoal.LDiversity(l=2), shoal.PersonKAnonymity(k=4)]
    release = shoal.protect(patients(), ONE_RECORD, models, mask="permute")
    answer = shoal.verify(release.data, ONE_RECORD, models, mask="permute")
    assert answer.verdict == release.verdict
    assert any("identities are visible" in note for note in answer.verdict.notes)
    assert any("taken as permuted" in note for note in answer.verdict.notes)
    first = release.data["patient"][0]
    twice = release.data.with_columns(patient=pl.lit(first))
    answer = shoal.verify(twice, ONE_RECORD, models, mask="permute")
    assert any("names persons more than once" in problem for problem in answer.problems)


def test_a_row_without_a_group_is_answered(tmp_path: Path) -> None:
    models = [shoal.LDiversity(l=2), shoal.PersonKAnonymity(k=4)]
    release = shoal.protect(patients(), ONE_RECORD, models, mask="permute")
    torn = release.data.with_columns(group=pl.when(pl.int_range(pl.len()) > 0).then("group"))
    answer = shoal.verify(torn, ONE_RECORD, models, mask="permute")
    assert not answer.holds
    assert answer.risk.person_k == 1
    release.write(tmp_path / "out", keep_person_map=True)
    kept = pl.read_parquet(tmp_path / "out" / "steward" / "persons.parquet")
    assert set(kept["pseudonym"]) == set(release.data["patient"])
