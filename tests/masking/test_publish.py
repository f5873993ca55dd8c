"""The published table: every record, under new names, in a secret order, with nothing that the schema withholds."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import shoal
from shoal import Nominal, Schema
from shoal.masking.publish import without_unused_categories
from shoal.publishing.release import Release

N = 300
SCHEMA = Schema(
    person="patient", quasi=["age", Nominal("gender")], sensitive=["disease"], kept=["ward"], dropped=["phone"]
)


def visits() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "phone": [f"555-{i}" for i in range(N)],
            "disease": rng.choice(["flu", "ulcer", "gout", "asthma"], N),
            "patient": [f"id-{i // 3:05d}" for i in range(N)],
            "age": rng.integers(20, 90, N),
            "ward": rng.choice(["north", "south"], N),
            "gender": rng.choice(["f", "m"], N),
        }
    )


def release(frame: Any = None, **options: Any) -> Release:
    return shoal.protect(visits() if frame is None else frame, SCHEMA, [shoal.GBalance(g=0.6)], **options)


def test_every_record_is_published_with_its_own_values() -> None:
    made = release()
    table, published = made.table, made.published
    original = table.frame[published.record_of_published]
    assert sorted(published.record_of_published.tolist()) == list(range(N))
    for name in ("disease", "ward"):
        assert made.data[name].to_list() == original[name].to_list()
    ages = zip(original["age"], made.data["age"], strict=True)
    assert all(covers(str(label), age) for age, label in ages)


def covers(label: str, age: int) -> bool:
    low, _, high = label.partition("-")
    return int(low) <= age <= int(high or low)


def test_columns_keep_names_and_order_and_dropped_ones_are_gone() -> None:
    assert release().data.columns == ["disease", "patient", "age", "ward", "gender"]


def test_persons_keep_together_under_names_that_are_not_derived() -> None:
    first, second = release(seed=1), release(seed=1)
    for made in (first, second):
        assert made.data["patient"].n_unique() == N // 3
        assert set(Counter(made.data["patient"]).values()) == {3}
    assert not set(first.data["patient"]) & set(second.data["patient"])
    assert not any("id-" in name for name in first.data["patient"])
    of_person = {
        (table_person, pseudonym)
        for table_person, pseudonym in zip(
            first.table.frame["patient"][first.published.record_of_published], first.data["patient"], strict=True
        )
    }
    assert len(of_person) == N // 3
    in_order_of_ids = [pseudonym for _, pseudonym in sorted(of_person)]
    assert in_order_of_ids != sorted(in_order_of_ids)


def test_the_seed_fixes_the_grouping_and_not_the_order() -> None:
    first, second = release(seed=7), release(seed=7)
    group = [
        dict(zip(made.published.record_of_published.tolist(), made.published.group_of_record.tolist(), strict=True))
        for made in (first, second)
    ]
    assert group[0] == group[1]
    assert first.published.record_of_published.tolist() != second.published.record_of_published.tolist()
    assert first.data["age"].to_list() != second.data["age"].to_list()


def test_the_seed_fixes_the_sample() -> None:
    schema = Schema(person="p", quasi=["age"], sensitive=["s"])
    frame = pl.DataFrame(
        {"p": [0] * 50 + list(range(1, 11)), "age": list(range(60)), "s": [f"v{i}" for i in range(60)]}
    )
    models = [shoal.RecordRisk(rho=0.2)]

    def sample(seed: int) -> list[str]:
        return sorted(shoal.protect(frame, schema, models, max_records=2, seed=seed).data["s"])

    assert sample(1) == sample(1)
    assert len({tuple(sample(seed)) for seed in range(5)}) > 1


def test_the_order_is_unrelated_to_the_original_one() -> None:
    order = release().published.record_of_published
    assert abs(np.corrcoef(np.arange(N), order)[0, 1]) < 0.4  # seven standard deviations


def test_groups_stand_in_the_order_of_the_data() -> None:
    made = release()
    labels = zip(made.data["age"], made.data["gender"], strict=True)
    label_of_group = dict(zip(made.groups["group"], labels, strict=True))
    assert [label_of_group[group] for group in made.groups["group"]] == list(
        zip(made.data["age"], made.data["gender"], strict=True)
    )


def test_the_same_kind_of_frame_comes_out_with_the_same_content() -> None:
    in_polars = release()
    frames: list[Any] = [
        visits().to_arrow(), visits().to_pandas(), visits().to_pandas().sample(frac=1, random_state=1),
        visits().to_pandas().set_index(pd.Index([3] * N, name="id")),
    ]  # fmt: skip
    for frame in frames:
        made = release(frame)
        assert type(made.data) is type(frame)
        assert type(made.groups) is type(frame)
        out = pl.from_arrow(made.data) if isinstance(made.data, pa.Table) else pl.from_pandas(made.data)
        assert isinstance(out, pl.DataFrame)
        assert out.columns == in_polars.data.columns
        rows = [Counter(data.select(pl.exclude("patient").cast(pl.String)).rows()) for data in (in_polars.data, out)]
        assert rows[0] == rows[1]
        assert made.risk == in_polars.risk
        if isinstance(made.data, pd.DataFrame):
            assert made.data.index.equals(pd.RangeIndex(-1, -1 - N, -1))


def test_without_a_person_column_there_are_no_pseudonyms() -> None:
    schema = Schema(quasi=["age", "gender"], sensitive=["disease"], kept=["ward"], dropped=["phone", "patient"])
    made = shoal.protect(visits(), schema, [shoal.KAnonymity(k=5)])
    assert made.data.columns == ["disease", "age", "ward", "gender"]
    assert made.published.pseudonyms is None


@pytest.mark.parametrize("dtype", [pl.Enum(["unused-canary", "gout", "flu"]), pl.Categorical])
def test_categories_that_no_published_record_has_stay_behind(dtype: Any) -> None:
    values = pl.Series("disease", ["flu", "gout", None, "unused-canary"]).cast(dtype)[:3]
    tidy = without_unused_categories(values)
    assert tidy.to_list() == ["flu", "gout", None]
    if isinstance(tidy.dtype, pl.Enum):
        assert tidy.dtype.categories.to_list() == ["gout", "flu"]
    assert "unused-canary" not in str(tidy.to_frame().to_arrow()["disease"].chunk(0).dictionary.to_pylist())


def test_categories_of_persons_left_out_stay_behind() -> None:
    frame = pl.DataFrame({"p": ["heavy"] * 50 + [f"p{i}" for i in range(20)], "age": list(range(70))})
    diseases = ["canary"] * 50 + ["flu", "gout"] * 10
    schema = Schema(person="p", quasi=["age"], sensitive=["s"])
    made = shoal.protect(
        frame.with_columns(s=pl.Series(diseases, dtype=pl.Enum(["canary", "flu", "gout"]))), schema,
        [shoal.RecordRisk(rho=0.3)], max_suppressed=1,
    )  # fmt: skip
    assert made.table.suppressed_persons == 1
    assert made.data["s"].dtype == pl.Enum(["flu", "gout"])
    in_pandas = frame.to_pandas().assign(s=pd.Categorical(diseases))
    out = shoal.protect(in_pandas, schema, [shoal.RecordRisk(rho=0.3)], max_suppressed=1).data
    assert sorted(out["s"].cat.categories) == ["flu", "gout"]


@pytest.mark.parametrize(
    "name", ["", "group", "person", "value", "time", "days", "len", "code", "a,b", 'say "x"', "漢字"]
)
@pytest.mark.parametrize("role", ["person", "quasi", "sensitive", "kept", "time"])
def test_columns_may_have_any_name(name: str, role: str) -> None:
    roles = {"person": "p", "quasi": "q", "sensitive": "s", "kept": "k", "time": "t"} | {role: name}
    columns = {"p": ["a", "b", "c", "a"], "q": [1, 9, 3, 2], "s": ["x", "y", "x", "y"], "k": [1] * 4, "t": [4, 3, 2, 1]}
    frame = pl.DataFrame({roles[which]: values for which, values in zip(roles, columns.values(), strict=True)})
    schema = Schema(
        person=roles["person"], quasi=[roles["quasi"]], sensitive=[roles["sensitive"]], kept=[roles["kept"]],
        time=roles["time"],
    )  # fmt: skip
    made = shoal.protect(frame, schema, [shoal.GBalance(g=0.5)])
    assert made.data.columns == frame.columns
    assert shoal.verify(made.data, schema, [shoal.GBalance(g=0.5)]).holds
