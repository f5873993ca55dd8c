"""The demo tables are what they say: the paper's 19 records, and made-up ones that look like life and repeat."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shoal.demo.benchmark_table import benchmark_table
from shoal.demo.clinics import clinics, franklin_center, lexington_clinic, ten_records
from shoal.demo.drawing import draw_from_rows, generator, scattered_numbers
from shoal.demo.patients import made_up_patients
from shoal.errors import ParameterError

TABLE_3A = """
1001 Ashley 86 Female 20375 Asthma
2001 Ashley 86 Female 20375 Reflux
2002 Bob 85 Male 20375 Reflux
1002 Charlie 69 Male 20048 Pneumonia
1005 Charlie 70 Male 20048 Pneumonia
1006 Charlie 71 Male 20048 Pneumonia
2003 Charlie 71 Male 20048 Gastritis
2005 Charlie 71 Male 20048 Gastritis
2004 Diana 84 Female 20090 Ulcer
2006 Diana 84 Female 20090 Gastritis
1007 Edward 84 Male 20090 Pneumonia
2007 Edward 84 Male 20090 Gastritis
1008 Fred 78 Male 20400 Pneumonia
2008 Greg 78 Male 20420 Ulcer
1003 Harry 74 Male 20400 Asthma
1004 Harry 75 Male 20400 Bronchitis
1009 Harry 76 Male 20400 Asthma
2009 Harry 74 Male 20400 Ulcer
2010 Harry 76 Male 20400 Ulcer
"""


@pytest.fixture(scope="module")
def patients() -> pl.DataFrame:
    return made_up_patients()


@pytest.fixture(scope="module")
def bench() -> pl.DataFrame:
    return benchmark_table(20_000)


def share_of_persons(frame: pl.DataFrame, condition: pl.Expr) -> float:
    """The share of persons for whom the condition holds in some record."""
    share = frame.group_by("patient").agg(condition.any().alias("holds"))["holds"].mean()
    assert isinstance(share, float)
    return share


def g_balance(counts: np.ndarray) -> float:
    return float(1 - (counts.astype(float) ** 2).sum() / counts.sum() ** 2)


def test_clinics_are_table_3a_record_by_record():
    expected = [line.split() for line in TABLE_3A.strip().splitlines()]
    assert [[str(value) for value in record] for record in clinics().iter_rows()] == expected
    assert clinics().columns == ["admission", "name", "age", "gender", "zip", "disease"]


def test_clinics_have_the_balance_and_affiliation_that_the_paper_prints():
    table = clinics()
    assert g_balance(table.group_by("name").len()["len"].to_numpy()) == pytest.approx(0.8199, abs=5e-5)
    persons_of_disease = table.group_by("disease").agg(pl.col("name").n_unique())["name"]
    assert persons_of_disease.max() / table["name"].n_unique() == 0.375


def test_the_two_clinics_have_different_column_names_and_make_up_the_whole():
    first, second = franklin_center(), lexington_clinic()
    assert (first.height, second.height) == (9, 10)
    assert not set(first.columns) & set(second.columns)
    assert sorted(first["admission"].to_list() + second["visit_no"].to_list()) == sorted(clinics()["admission"])
    assert first.dtypes == second.dtypes


def test_ten_records_are_two_groups_of_five_one_of_them_a_single_person():
    groups = ten_records().group_by("age", "zip").agg(pl.len(), pl.col("person").n_unique()).sort("age")
    assert groups["len"].to_list() == [5, 5]
    assert groups["person"].to_list() == [5, 1]
    assert groups["age"].to_list()[1] == 93


def test_visit_counts_are_skewed_with_a_mean_of_four(patients):
    counts = patients.group_by("patient").len()["len"]
    assert counts.len() == 20_000
    assert 3.5 <= counts.mean() <= 4.5
    assert counts.median() <= 3
    assert counts.min() == 1
    assert 40 <= counts.max() <= 60
    assert counts.skew() > 2


def test_columns_kinds_and_missing_values(patients):
    assert patients.schema == {
        "patient": pl.String,
        "visit_date": pl.Date,
        "age": pl.Int64,
        "gender": pl.String,
        "zip": pl.Int64,
        "education": pl.Int64,
        "disease": pl.String,
        "treatment": pl.String,
    }
    assert 0 < patients["gender"].null_count() < 0.02 * patients.height
    assert sum(patients.drop("gender").null_count().row(0)) == 0
    assert patients["patient"].str.contains(r"^H\d{6}$").all()
    assert patients["disease"].str.contains(r"^[A-Z]\d\d\.\d$").all()
    assert patients["disease"].n_unique() >= 120
    assert 35 <= patients["treatment"].n_unique() <= 50
    assert patients["education"].is_between(8, 20).all()
    assert patients["zip"].is_between(20_000, 25_999).all()


def test_records_come_in_the_order_of_dates_not_of_persons(patients):
    assert patients["visit_date"].is_sorted()
    next_is_same_person = (patients["patient"] == patients["patient"].shift(-1)).mean()
    assert next_is_same_person < 0.01
    in_order_of_first_visit = patients["patient"].unique(maintain_order=True)
    assert not in_order_of_first_visit.is_sorted()


def test_a_person_ages_with_the_dates_and_some_move(patients):
    of_person = patients.group_by("patient").agg(
        (pl.col("age").last() - pl.col("age").first()).alias("years_older"),
        pl.col("age").diff().min().alias("least_step"),
        (pl.col("visit_date").last() - pl.col("visit_date").first()).dt.total_days().alias("days"),
        pl.col("gender", "education", "zip").n_unique(),
    )
    assert of_person["years_older"].max() in (4, 5)
    assert of_person["least_step"].min() == 0
    assert ((of_person["years_older"] - of_person["days"] / 365.25).abs() < 1.01).all()
    assert (of_person["gender"] == 1).all()
    assert (of_person["education"] == 1).all()
    assert 0.01 < (of_person["zip"] > 1).mean() < 0.10
    assert of_person["zip"].max() == 2


def test_towns_differ_in_size(patients):
    homes = patients.unique("patient")["zip"].sort()
    town = ((homes - 20_001) // 125).value_counts()["count"]
    assert town.len() == 40
    assert town.max() > 5 * town.min()


def test_diseases_are_skewed_and_none_belongs_to_too_many_persons(patients):
    persons_of_disease = patients.group_by("disease").agg(pl.col("patient").n_unique())["patient"].sort(descending=True)
    assert 0.05 < persons_of_disease[0] / 20_000 < 0.25
    assert persons_of_disease[0] > 10 * persons_of_disease[-1]


def test_diseases_go_with_age_and_gender(patients):
    hypertension = pl.col("disease").str.starts_with("I10")
    young, old = patients.filter(pl.col("age") < 40), patients.filter(pl.col("age") >= 65)
    assert share_of_persons(old, hypertension) > 3 * share_of_persons(young, hypertension) > 0
    women, men = patients.filter(pl.col("gender") == "Female"), patients.filter(pl.col("gender") == "Male")
    cystitis = pl.col("disease").str.starts_with("N39")
    assert share_of_persons(women, cystitis) > 2 * share_of_persons(men, cystitis) > 0
    assert not men["disease"].str.starts_with("O80").any()
    assert not women["disease"].str.starts_with("N40").any()
    assert women["disease"].str.starts_with("O80").any()


def test_lasting_diseases_repeat_and_come_together(patients):
    rng = np.random.default_rng(1)
    shuffled = patients.with_columns(patients["disease"].gather(rng.permutation(patients.height)))

    def repeats(frame: pl.DataFrame) -> float:
        return 1 - frame.group_by("patient").agg(pl.col("disease").n_unique())["disease"].sum() / frame.height

    assert repeats(patients) > 3 * repeats(shuffled)
    elderly = patients.filter(pl.col("age").max().over("patient") >= 65, pl.len().over("patient") >= 5)
    has_hypertension = pl.col("disease").str.starts_with("I10").any().over("patient")
    diabetes = pl.col("disease").str.starts_with("E11")
    with_it, without_it = elderly.filter(has_hypertension), elderly.filter(~has_hypertension)
    assert share_of_persons(with_it, diabetes) > 1.4 * share_of_persons(without_it, diabetes) > 0


def test_treatments_go_with_diseases(patients):
    commonest = patients["treatment"].value_counts(sort=True)["count"][0] / patients.height
    per_disease = patients.group_by("disease", "treatment").len().group_by("disease").agg(pl.col("len").max())
    guessed_from_disease = per_disease["len"].sum() / patients.height
    assert guessed_from_disease > 4 * commonest


@pytest.mark.parametrize("make", [made_up_patients, benchmark_table])
def test_a_seed_gives_the_same_table_and_another_seed_another(make):
    assert make(500, seed=3).equals(make(500, seed=3))
    assert not make(500, seed=3).equals(make(500, seed=4))
    with pytest.raises(ParameterError, match="persons must be at least 1"):
        make(0)
    assert make(1).height >= 1


def test_tables_of_a_seed_are_pinned():
    visits, records = made_up_patients(1_000, seed=5), benchmark_table(1_000, seed=5)
    assert visits.select("age", "zip", "education").sum().row(0) == (202381, 78271556, 49422)
    assert records.select("person", "age", "zip", "income").sum().row(0) == (160315601529, 290003, 187108158, 225800800)


def test_benchmark_table_has_the_promised_shape(bench):
    counts = bench.group_by("person").len()["len"]
    assert counts.len() == 20_000
    assert 4.8 <= counts.mean() <= 5.2
    assert counts.min() == 1
    assert 40 <= counts.max() <= 60
    assert bench.columns == ["person", "age", "zip", "income", "education", "region", "diagnosis"]
    assert bench.dtypes == [pl.Int64] * 5 + [pl.String] * 2
    assert bench["region"].n_unique() == 20
    assert bench["diagnosis"].n_unique() == 500
    assert bench["income"].skew() > 2
    assert sum(bench.null_count().row(0)) == 0


def test_benchmark_table_can_meet_what_the_benchmark_asks(bench):
    assert g_balance(bench.group_by("person").len()["len"].to_numpy()) > 0.999
    persons_of_diagnosis = bench.group_by("diagnosis").agg(pl.col("person").n_unique())["person"]
    assert 0.02 < persons_of_diagnosis.max() / 20_000 < 0.25


def test_benchmark_persons_have_scattered_ids_and_scattered_records(bench):
    ids = bench["person"].unique().sort()
    assert (ids.diff().drop_nulls() > 1).mean() > 0.9
    assert (bench["person"] == bench["person"].shift(-1)).mean() < 0.01


def test_draws_follow_the_weights_of_their_own_row():
    weights = np.array([[1.0, 0.0, 3.0], [0.0, 1.0, 0.0]])
    row_of_draw = np.tile([0, 1], 20_000)
    drawn = draw_from_rows(generator(0), weights, row_of_draw)
    assert set(drawn[row_of_draw == 1]) == {1}
    assert np.bincount(drawn[row_of_draw == 0], minlength=3) / 20_000 == pytest.approx([0.25, 0, 0.75], abs=0.02)


@pytest.mark.parametrize("n", [0, 1, 1_000, 90_000])
def test_scattered_numbers_are_different_and_of_the_right_length(n):
    numbers = scattered_numbers(generator(0), n, digits=5)
    assert len(set(numbers.tolist())) == n
    assert all(len(str(number)) == 5 for number in numbers.tolist())
