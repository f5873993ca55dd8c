"""The table on which shoal's speed is measured, of any size, from a seed."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.demo.drawing import (
    IntArray,
    draw,
    generator,
    happens,
    scattered_numbers,
    shuffled,
    skewed_counts,
    texts,
    whole_numbers,
)
from shoal.errors import ParameterError

N_REGIONS = 20
N_DIAGNOSES = 500
MOST_RECORDS = 60


def benchmark_table(persons: int, *, seed: int = 0) -> pl.DataFrame:
    """A made-up table with five records per person on average, five quasi-identifiers and one sensitive attribute.

    Records per person are skewed (1 to 60), values of a person drift a little, the order of records is random.

    Parameters
    ----------
    persons
        How many persons; a million give about five million records.
    seed
        The same seed gives the same table on every machine.

    Returns
    -------
    polars.DataFrame
        person (number with gaps), age, zip, income, education (numbers), region (text, 20 values), diagnosis (text,
        500 values; the most common belongs to fewer than one person in ten).
    """
    if persons < 1:
        raise ParameterError(f"persons must be at least 1, got {persons}.")
    rng = generator(seed)
    n_records = skewed_counts(rng, persons, shift=4.68, largest=MOST_RECORDS)
    person = np.repeat(np.arange(persons), n_records)
    person = person[shuffled(rng, len(person))]
    region, zip_code = _draw_homes(rng, persons)
    education = draw(rng, np.array([2, 2, 3, 4, 14, 6, 8, 5, 13, 4, 6, 2, 2], dtype=np.float64), persons) + 8
    years_later = whole_numbers(rng, 0, 4, len(person))
    age = whole_numbers(rng, 18, 60, persons) + whole_numbers(rng, 0, 37, persons)
    diagnosis = _draw_diagnoses(rng, persons, person)
    return pl.DataFrame(
        {
            "person": scattered_numbers(rng, persons, digits=max(8, len(str(100 * persons))))[person],
            "age": age[person] + years_later,
            "zip": zip_code[person] + happens(rng, 0.02, len(person)),
            "income": _draw_incomes(rng, education)[person] + 500 * years_later,
            "education": education[person],
            "region": texts([f"region-{number:02d}" for number in range(1, N_REGIONS + 1)], region[person]),
            "diagnosis": texts([f"D{number:03d}" for number in range(N_DIAGNOSES)], diagnosis),
        }
    )


def _draw_homes(rng: np.random.Generator, persons: int) -> tuple[IntArray, IntArray]:
    """A region and a ZIP inside it; regions differ in size."""
    region = draw(rng, 1.0 / (np.arange(N_REGIONS) + 3), persons)
    from_centre = whole_numbers(rng, 0, 1_500, persons) + whole_numbers(rng, 0, 1_500, persons)
    return region, 10_000 + 4_000 * region + from_centre


def _draw_incomes(rng: np.random.Generator, education: IntArray) -> IntArray:
    """Yearly incomes in hundreds with a long tail to the right, higher with education."""
    uniform = rng.random(len(education))
    return 100 * (80 + 10 * education + 60.0 * uniform / (1.02 - uniform) * (education / 12)).astype(np.int64)


def _draw_diagnoses(rng: np.random.Generator, persons: int, person: IntArray) -> IntArray:
    """Half of a person's records carry the person's own diagnosis, the others any; some are more common."""
    weights = 1.0 / (np.arange(N_DIAGNOSES) + 12)
    own = draw(rng, weights, persons)
    return np.where(happens(rng, 0.5, len(person)), own[person], draw(rng, weights, len(person)))
