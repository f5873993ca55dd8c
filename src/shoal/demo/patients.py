"""Made-up patients: persons with few or many visits over four years, from a seed. Nobody in it exists."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

import numpy as np
import polars as pl

from shoal.demo.drawing import (
    FloatArray,
    IntArray,
    draw,
    draw_from_rows,
    generator,
    happens,
    scattered_numbers,
    shuffled,
    skewed_counts,
    texts,
    whole_numbers,
)
from shoal.errors import ParameterError

FIRST_DAY = date(2021, 1, 1)
N_DAYS = 1461  # four years
N_TOWNS = 40
MOST_VISITS = 60
GENDERS = ["Female", "Male", "Other"]
AGES = np.arange(18, 98)
AGE_BANDS = np.array([40, 65])  # young, middle-aged, old


class Family(NamedTuple):
    """Diseases of one kind: a category, its codes, how common it is by age, and what is done about it."""

    category: str
    codes: str  # the digits after the dot, the most common first
    common: tuple[float, float, float]  # young, middle-aged, old
    women: float  # the share of women among those who have it, if there were as many women as men
    treatments: str
    partners: str = ""  # lasting families that come along with this one


LASTING = [
    Family("I10", "0 1 9", (0.8, 5, 8), 0.5, "ACE-inhibitor beta-blocker diuretic", "E11 E78 N18"),
    Family("E11", "9 2 4 0 6 8", (0.5, 3.5, 6), 0.47, "metformin insulin diet-plan", "I10 E78 H36"),
    Family("E78", "0 2 5 1 4", (0.3, 2, 3), 0.47, "statin diet-plan", "I10 I25"),
    Family("I25", "1 0 8 9", (0.1, 1.2, 3.5), 0.38, "statin beta-blocker heart-catheter anticoagulant", "I50 E78"),
    Family("I50", "0 1 9", (0.05, 0.5, 2.5), 0.47, "diuretic ACE-inhibitor beta-blocker", "I25 I48 N18"),
    Family("I48", "0 1 2 9", (0.1, 0.6, 2.5), 0.47, "anticoagulant beta-blocker heart-catheter", "I50 I10"),
    Family("N18", "3 2 4 5 9", (0.1, 0.6, 2), 0.5, "dialysis diuretic diet-plan", "I10 E11"),
    Family("H36", "0 8", (0.1, 0.5, 1), 0.5, "eye-surgery eye-drops", "E11"),
    Family("J44", "9 1 0 8", (0.1, 1.2, 2.5), 0.44, "inhaler steroids oxygen", "I50 F17"),
    Family("J45", "9 0 1 8", (2.5, 1.5, 0.8), 0.57, "inhaler steroids", "J30"),
    Family("J30", "1 4 3", (2, 1.2, 0.4), 0.52, "antihistamine nasal-spray", "J45"),
    Family("F32", "1 9 0 2", (2.5, 2.5, 1.2), 0.64, "antidepressant psychotherapy", "F41"),
    Family("F41", "1 9 0 2", (2.5, 1.8, 0.8), 0.63, "psychotherapy antidepressant", "F32"),
    Family("F17", "2 1", (1.2, 1.5, 0.4), 0.41, "nicotine-patch psychotherapy", "J44"),
    Family("M17", "1 0 9", (0.1, 1.5, 3), 0.6, "painkiller physiotherapy joint-replacement", "M54"),
    Family("M54", "5 2 4 1", (1.8, 2.5, 2), 0.52, "physiotherapy painkiller", "M17"),
    Family("M05", "8 9 0", (0.3, 0.8, 1), 0.69, "methotrexate steroids", "M81"),
    Family("M81", "0 9 8", (0.02, 0.6, 2.2), 0.8, "bisphosphonate hormone-therapy", "M17"),
    Family("G43", "9 0 1", (1.8, 1.2, 0.3), 0.71, "painkiller antidepressant", "F41"),
    Family("E03", "9 8 0", (0.6, 1.2, 1.5), 0.8, "thyroxine", "E78"),
    Family("K50", "9 0 1", (0.7, 0.5, 0.3), 0.5, "methotrexate steroids abdominal-surgery", ""),
    Family("L40", "0 9 5", (0.8, 0.9, 0.6), 0.5, "skin-cream methotrexate", ""),
    Family("G20", "0 9", (0.01, 0.2, 1.2), 0.41, "levodopa physiotherapy", "F32"),
    Family("C50", "9 4 1 2", (0.1, 0.8, 1), 0.98, "chemotherapy radiotherapy tumour-surgery", ""),
    Family("C61", "0 9", (0.01, 0.4, 1.6), 0, "radiotherapy tumour-surgery hormone-therapy", ""),
]

PASSING = [
    Family("J06", "9 0 8", (5, 3.5, 2), 0.52, "rest nasal-spray painkiller"),
    Family("J20", "9 0 8", (2, 2, 2), 0.5, "rest inhaler antibiotic"),
    Family("J18", "9 0 1", (0.5, 1, 3), 0.47, "antibiotic oxygen"),
    Family("J02", "9 0", (2, 1, 0.5), 0.52, "rest antibiotic"),
    Family("K29", "7 1 5", (1.2, 1.4, 1.3), 0.5, "acid-blocker diet-plan"),
    Family("K21", "9 0", (1, 1.6, 1.4), 0.5, "acid-blocker diet-plan"),
    Family("K25", "9 4 0", (0.3, 0.6, 0.9), 0.44, "acid-blocker antibiotic"),
    Family("K80", "2 0 1", (0.4, 0.9, 1), 0.64, "abdominal-surgery painkiller"),
    Family("K35", "8 3", (0.9, 0.4, 0.2), 0.47, "abdominal-surgery antibiotic"),
    Family("A09", "0 9", (2, 1.3, 1), 0.5, "rest infusion"),
    Family("N39", "0 4", (1.6, 1.4, 2), 0.8, "antibiotic"),
    Family("N40", "0 1", (0.02, 0.9, 2.4), 0, "alpha-blocker abdominal-surgery"),
    Family("N92", "0 1 6", (1.6, 1.2, 0.02), 1, "hormone-therapy painkiller"),
    Family("O80", "0 9", (2.2, 0.1, 0), 1, "obstetric-care"),
    Family("S52", "5 0 6", (0.7, 0.7, 1.2), 0.55, "cast fracture-surgery"),
    Family("S72", "0 1", (0.05, 0.2, 1.6), 0.67, "fracture-surgery joint-replacement"),
    Family("S93", "4 0", (1.6, 0.9, 0.4), 0.5, "bandage physiotherapy"),
    Family("S61", "0 9", (1.5, 1, 0.5), 0.38, "stitches bandage"),
    Family("L03", "1 0", (0.7, 0.9, 1.2), 0.47, "antibiotic bandage"),
    Family("L20", "9 8", (1.2, 0.6, 0.3), 0.52, "skin-cream antihistamine"),
    Family("H10", "9 1", (1.1, 0.8, 0.7), 0.5, "eye-drops"),
    Family("H66", "9 0", (0.9, 0.4, 0.2), 0.5, "antibiotic painkiller"),
    Family("H25", "1 0 9", (0.01, 0.5, 2.6), 0.55, "eye-surgery eye-drops"),
    Family("B34", "9 8", (1.3, 0.9, 0.6), 0.5, "rest"),
    Family("R51", "9", (1.1, 0.8, 0.5), 0.58, "painkiller rest"),
    Family("R07", "4 3", (0.9, 1.4, 1.3), 0.47, "observation"),
    Family("Z00", "0 1", (1.8, 2.4, 1.6), 0.55, "check-up"),
    Family("T78", "4 1", (0.7, 0.5, 0.3), 0.55, "antihistamine steroids"),
]


def made_up_patients(persons: int = 20_000, *, seed: int = 0) -> pl.DataFrame:
    """Visits of made-up patients to a hospital over four years, about four per person, in the order of their dates.

    Visit counts are skewed (most persons come once or twice, some up to 60 times), ages grow by one per year, some
    persons move, a few have no gender on record, and diseases depend on age, gender and what the person already has.

    Parameters
    ----------
    persons
        How many persons; 20,000 give about 80,000 visits.
    seed
        The same seed gives the same table on every machine.

    Returns
    -------
    polars.DataFrame
        patient (text), visit_date, age, gender (text, some missing), zip (number), education (years, 8 to 20),
        disease (code such as E11.9), treatment (text); one record a visit.

    Notes
    -----
    O(visits log visits) time; a million persons take some seconds.
    """
    if persons < 1:
        raise ParameterError(f"persons must be at least 1, got {persons}.")
    rng = generator(seed)
    people = _draw_people(rng, persons)
    visits = _draw_visits(rng, people)
    frame = pl.DataFrame(
        {
            "patient": people.name.gather(visits.person),
            "visit_date": pl.Series(visits.day, dtype=pl.Int32) + (FIRST_DAY - date(1970, 1, 1)).days,
            "age": _years(visits.day - people.birth_day[visits.person]),
            "gender": texts([*GENDERS, ""], people.gender[visits.person]),
            "zip": _zip_on(people, visits.person, visits.day),
            "education": people.education[visits.person],
            "disease": texts(_DISEASES.codes, visits.disease),
            "treatment": texts(_DISEASES.treatments, visits.treatment),
        }
    )
    return frame.with_columns(pl.col("visit_date").cast(pl.Date), pl.col("gender").replace("", None))


@dataclass(frozen=True)
class _People:
    """What is fixed for each person."""

    name: pl.Series
    birth_day: IntArray  # days before the first day, negative
    gender: IntArray  # position in GENDERS; one more where it is missing
    education: IntArray
    zip_before: IntArray
    zip_after: IntArray
    moving_day: IntArray
    lasting: IntArray  # up to three lasting families a person, -1 where there are fewer
    lasting_code: IntArray  # the disease of each of them: a lasting disease keeps its code
    n_visits: IntArray


@dataclass(frozen=True)
class _Visits:
    """One entry per visit, in the order of days."""

    person: IntArray
    day: IntArray
    disease: IntArray
    treatment: IntArray


@dataclass(frozen=True)
class _Diseases:
    """The families above as tables of weights. A profile is an age band with a gender."""

    lasting_by_profile: FloatArray
    passing_by_profile: FloatArray
    partners: FloatArray
    code_of_family: FloatArray
    treatment_of_family: FloatArray
    codes: list[str]
    treatments: list[str]


def _draw_people(rng: np.random.Generator, persons: int) -> _People:
    gender = draw(rng, np.array([52, 47, 0.6, 0.4]), persons)
    age = AGES[draw(rng, _weights_of_ages(), persons)]
    birth_day = -(age * 1461 // 4 + whole_numbers(rng, 1, 365, persons))
    band = np.searchsorted(AGE_BANDS, age, side="right")
    lasting = _draw_lasting(rng, band, gender)
    zip_before, zip_after = _draw_homes(rng, persons)
    return _People(
        name="H" + pl.Series(scattered_numbers(rng, persons, digits=_digits_for(persons))).cast(pl.String),
        birth_day=birth_day,
        gender=gender,
        education=_draw_education(rng, band),
        zip_before=zip_before,
        zip_after=zip_after,
        moving_day=np.where(happens(rng, 0.12, persons), whole_numbers(rng, 0, N_DAYS, persons), N_DAYS),
        lasting=lasting,
        lasting_code=_draw_lasting_codes(rng, lasting),
        n_visits=_draw_visit_counts(rng, (lasting >= 0).sum(axis=1)),
    )


def _weights_of_ages() -> FloatArray:
    """Adults of all ages; patients are most often between 50 and 80, and few are above 90."""
    weight_from_18 = [6, 7, 8, 8, 9, 10, 11, 12, 13, 14, 13, 11, 8, 5, 2.5, 1]  # one for each five years
    return np.repeat(np.array(weight_from_18), 5)


def _draw_lasting(rng: np.random.Generator, band: IntArray, gender: IntArray) -> IntArray:
    """None to three lasting families per person, more with age; a second and third often partner the first."""
    chances = np.array([[60.0, 24, 12, 4], [30, 26, 28, 16], [10, 20, 38, 32]])
    n_lasting = draw_from_rows(rng, chances, band)
    profile = band * 4 + gender
    lasting = np.full((len(band), 3), -1, dtype=np.int64)
    lasting[:, 0] = draw_from_rows(rng, _DISEASES.lasting_by_profile, profile)
    for place in (1, 2):
        unrelated = draw_from_rows(rng, _DISEASES.lasting_by_profile, profile)
        partner = draw_from_rows(rng, _DISEASES.partners, lasting[:, 0])
        lasting[:, place] = np.where(happens(rng, 0.75, len(band)), partner, unrelated)
    lasting[np.arange(3) >= n_lasting[:, np.newaxis]] = -1
    return lasting


def _draw_lasting_codes(rng: np.random.Generator, lasting: IntArray) -> IntArray:
    family = np.maximum(lasting, 0).ravel()
    return draw_from_rows(rng, _DISEASES.code_of_family, family).reshape(lasting.shape)


def _draw_visit_counts(rng: np.random.Generator, n_lasting: IntArray) -> IntArray:
    """One draw for everyone, and the larger of two for those with a lasting disease."""
    once = skewed_counts(rng, len(n_lasting), shift=2.0, largest=MOST_VISITS)
    again = skewed_counts(rng, len(n_lasting), shift=2.0, largest=MOST_VISITS)
    return np.where(n_lasting > 0, np.maximum(once, again), once)


def _draw_homes(rng: np.random.Generator, persons: int) -> tuple[IntArray, IntArray]:
    """A ZIP before and one after moving; towns differ in size, and most moves stay in town."""
    size = 1.0 / (np.arange(N_TOWNS) + 2)
    lowest_zip = 20_001 + 125 * shuffled(rng, N_TOWNS)
    n_zips = 3 + (60 * size).astype(np.int64)
    town_before = draw(rng, size, persons)
    town_after = np.where(happens(rng, 0.65, persons), town_before, draw(rng, size, persons))

    def zip_in(town: IntArray) -> IntArray:
        place = np.minimum(rng.random(persons), rng.random(persons))  # town centres are denser
        return lowest_zip[town] + (place * n_zips[town]).astype(np.int64)

    return zip_in(town_before), zip_in(town_after)


def _draw_education(rng: np.random.Generator, band: IntArray) -> IntArray:
    """Years of education from 8 to 20: peaks at 12 and 16, and fewer years for the old."""
    peaks = np.array([3, 2, 3, 4, 14, 6, 8, 5, 13, 4, 6, 2, 2], dtype=np.float64)
    years = np.arange(8, 21)
    tilt = np.array([years - 4.0, np.full(13, 8.0), 24.0 - years])
    return draw_from_rows(rng, peaks * tilt, band) + 8


def _draw_visits(rng: np.random.Generator, people: _People) -> _Visits:
    person = np.repeat(np.arange(len(people.n_visits)), people.n_visits)
    day = whole_numbers(rng, 0, N_DAYS, len(person))
    in_order = np.argsort(day, kind="stable")
    person, day = person[in_order], day[in_order]
    family, disease = _draw_diseases(rng, people, person, day)
    return _Visits(
        person=person, day=day, disease=disease, treatment=draw_from_rows(rng, _DISEASES.treatment_of_family, family)
    )


def _draw_diseases(
    rng: np.random.Generator, people: _People, person: IntArray, day: IntArray
) -> tuple[IntArray, IntArray]:
    """What each visit is about, as family and code: mostly a lasting disease of the person, if there is one."""
    band = np.searchsorted(AGE_BANDS, _years(day - people.birth_day[person]), side="right")
    passing = draw_from_rows(rng, _DISEASES.passing_by_profile, band * 4 + people.gender[person])
    passing += len(LASTING)
    passing_code = draw_from_rows(rng, _DISEASES.code_of_family, passing)
    place = draw(rng, np.array([3.0, 2, 1]), len(person))
    place = np.where(people.lasting[person, place] >= 0, place, 0)
    is_lasting = (people.lasting[person, place] >= 0) & happens(rng, 0.7, len(person))
    family = np.where(is_lasting, people.lasting[person, place], passing)
    return family, np.where(is_lasting, people.lasting_code[person, place], passing_code)


def _zip_on(people: _People, person: IntArray, day: IntArray) -> IntArray:
    return np.where(day < people.moving_day[person], people.zip_before[person], people.zip_after[person])


def _years(days: IntArray) -> IntArray:
    return days * 4 // 1461


def _digits_for(persons: int) -> int:
    """Six digits, or as many as leave gaps between the numbers."""
    return max(6, len(str(10 * persons)))


def _make_diseases() -> _Diseases:
    families = LASTING + PASSING
    treatments = sorted({treatment for family in families for treatment in family.treatments.split()})
    codes = [f"{family.category}.{digit}" for family in families for digit in family.codes.split()]
    code_of_family = np.zeros((len(families), len(codes)))
    treatment_of_family = np.full((len(families), len(treatments)), 0.002)
    for row, family in enumerate(families):
        for rank, digit in enumerate(family.codes.split()):
            code_of_family[row, codes.index(f"{family.category}.{digit}")] = 1 / (rank + 1)
        for rank, treatment in enumerate(family.treatments.split()):
            treatment_of_family[row, treatments.index(treatment)] = 1 / (rank + 1)
    return _Diseases(
        lasting_by_profile=_weights_by_profile(LASTING),
        passing_by_profile=_weights_by_profile(PASSING),
        partners=_weights_of_partners(),
        code_of_family=code_of_family,
        treatment_of_family=treatment_of_family,
        codes=codes,
        treatments=treatments,
    )


def _weights_by_profile(families: list[Family]) -> FloatArray:
    """How common each family is, one row per age band and gender (Female, Male, Other, missing)."""
    common = np.array([family.common for family in families]).T
    women = np.array([family.women for family in families])
    by_gender = np.array([women, 1 - women, np.full(len(women), 0.5), np.full(len(women), 0.5)])
    weights: FloatArray = common[:, np.newaxis, :] * by_gender
    return weights.reshape(-1, len(families))


def _weights_of_partners() -> FloatArray:
    """Which lasting family comes along with which; a family without partners stays by itself."""
    categories = [family.category for family in LASTING]
    weights = np.zeros((len(LASTING), len(LASTING)))
    for row, family in enumerate(LASTING):
        for partner in family.partners.split() or [family.category]:
            weights[row, categories.index(partner)] = 1.0
    return weights


_DISEASES = _make_diseases()
