"""How far estimates of population risk are from the truth: Adult as the population, drawn as 1 % and 10 %.

Writes docs/studies/samples.md.
"""

from __future__ import annotations

import numpy as np
import polars as pl

import shoal
from studies.data import adult_whole
from studies.pages import markdown_table, write_page

SETS = {
    "sex, age, race": ["sex", "age", "race"],
    "sex, age, race, marital-status": ["sex", "age", "race", "marital-status"],
    "sex, age, race, education, native-country": ["sex", "age", "race", "education", "native-country"],
    "age, education, occupation": ["age", "education", "occupation"],
}
FRACTIONS = (0.01, 0.1)
DRAWS = 20
ESTIMATORS = ("pitman", "zayatz", "snb", "dankar")


def truth(population: pl.DataFrame, quasi: list[str], drawn: pl.DataFrame) -> tuple[float, float, float]:
    """The unique persons of the population; of the sample, who is found by somebody who has it, and of its uniques."""
    sizes = population.group_by(quasi).len("size")
    both = drawn.join(sizes, on=quasi, how="left").select(found=1 / pl.col("size"), alone=pl.len().over(quasi) == 1)
    of_uniques = both.filter("alone")["found"].sum()
    return float((sizes["size"] == 1).sum()), float(both["found"].sum()), float(of_uniques)


def estimated(drawn: pl.DataFrame, quasi: list[str]) -> dict[str, float]:
    """What is told of a sample: uniques of the population, and how many are expected to be found."""
    dropped = [name for name in drawn.columns if name not in (*quasi, "w")]
    schema = shoal.Schema(quasi=[shoal.Nominal(name) for name in quasi], weight="w", dropped=dropped)
    told = shoal.assess(drawn, schema).to_dict()["population"]
    assert isinstance(told, dict)
    by = {name: told["uniques"][name] for name in ESTIMATORS}
    return {
        **{name: np.nan if value is None else value for name, value in by.items()},
        "found": told["expected_reidentifications"],
        "log_linear": told["log_linear"]["found"],
        "alone": told["sample_uniques"],
    }


def row(population: pl.DataFrame, name: str, quasi: list[str], fraction: float) -> tuple[list[str], list[str]]:
    """The lines of a set of columns: of uniques, and of persons found."""
    uniques, found, alone, told = [], [], [], []
    for seed in range(DRAWS):
        drawn = population.sample(fraction=fraction, seed=seed, shuffle=True)
        drawn = drawn.with_columns(w=pl.lit(len(population) / len(drawn)))
        true_uniques, true_found, true_alone = truth(population, quasi, drawn)
        uniques.append(true_uniques)
        found.append(true_found)
        alone.append(true_alone)
        told.append(estimated(drawn, quasi))

    def ratio(key: str, true: list[float]) -> str:
        values = np.array([each[key] for each in told]) / np.array(true)
        known = values[~np.isnan(values)]
        if not len(known):
            return "none"
        shown = f"{known.mean():.2f} ({known.min():.2f} to {known.max():.2f})"
        return shown if len(known) == len(values) else f"{shown}, {len(known)} of {len(values)} draws"

    share = f"{fraction:.0%}"
    return (
        [name, share, f"{uniques[0]:,.0f}", *(ratio(key, uniques) for key in ESTIMATORS)],
        [name, share, f"{np.mean(found):,.1f}", ratio("found", found), f"{np.mean(alone):,.1f}",
         ratio("log_linear", alone), ratio("alone", alone)],
    )  # fmt: skip


def main() -> None:
    """Draw, estimate, and write the page."""
    population = adult_whole().select(sorted({name for quasi in SETS.values() for name in quasi}))
    rows = [row(population, name, quasi, fraction) for fraction in FRACTIONS for name, quasi in SETS.items()]
    of_uniques = markdown_table(
        ["columns", "drawn", "unique in the population", *ESTIMATORS], [line for line, _ in rows]
    )
    of_found = markdown_table(
        ["columns", "drawn", "found by who has the population", "individual risk",
         "found of sample uniques", "log-linear", "all of them"], [line for _, line in rows],
    )  # fmt: skip
    write_page(
        "samples",
        f"""# A sample of Adult

Adult ({len(population):,} complete records, training and test part) is the population. It is drawn {DRAWS} times as
1 % and as 10 %, each person with the same chance, and every estimator is asked for what is known here: how many
persons of the population are unique, and how many of the sample are found by somebody who has the whole population.
Cells have the estimate divided by the truth: the mean of the draws, and from the lowest to the highest. 1 is right;
above 1 the risk is overstated, below 1 understated.

## Unique persons of the population

{of_uniques}

## Persons of the sample who are found

The truth is the sum over the sample of one divided by the persons of the population who are alike. The last three
columns are of those alone who are unique in the sample, which the log-linear model is about; the very last counts
all of them as found, as a table does that is taken for the population.

{of_found}

## What follows

- Counting all sample uniques as found overstates the risk of a sample, more the fewer were drawn.
- Of uniques in the population Pitman's model is nearest at 1 %, on average within a factor of four. Zayatz' estimate
  is far too high at 1 %, and of use at 10 %. The slide negative binomial jumps from draw to draw at 1 %.
- The individual risk understates who is found where many classes are small and few were drawn, by up to a factor of
  five here: it lets the weight of one person stand for its class, also where the person is alone in the population.
- The log-linear model, which is about sample uniques, is nearest: from 0.95 to 1.20 on average.
- So look at several of them, and keep a distance from a limit. None is a bound.

Made by `python -m studies.samples`.
""",
    )


if __name__ == "__main__":
    main()
