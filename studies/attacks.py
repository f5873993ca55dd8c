"""What attackers who know something of everybody get out of releases of MovieLens and INFORMS.

Run with `python -m studies.attacks`; writes docs/studies/attacks.md.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

import shoal
from shoal.attacking.contract import AttackResult
from studies.data import MissingDataError, data_file, informs
from studies.pages import markdown_table, write_page

QUASI = ["age", shoal.Nominal("gender"), "zip"]
RISK = [shoal.RecordRisk(rho="0.1")]
FEWEST = 30
"""A film and its rating that fewer persons have are left out where rare values are suppressed."""


def ratings() -> pl.DataFrame:
    """MovieLens 100K with film, rating, the first genre of the film, and whether the rating is above 3."""
    persons = pl.read_csv(
        data_file("movielens100k", "u.user"), separator="|", has_header=False,
        new_columns=["user", "age", "gender", "occupation", "zip"], schema_overrides={"column_5": pl.String},
    ).with_columns(pl.col("zip").cast(pl.Int64, strict=False).fill_null(0))  # fmt: skip
    seen = pl.read_csv(data_file("movielens100k", "u.data"), separator="\t", has_header=False,
                       new_columns=["user", "film", "rating", "seconds"])  # fmt: skip
    films = pl.read_csv(data_file("movielens100k", "u.item"), separator="|", has_header=False, encoding="latin-1",
                        infer_schema_length=0, truncate_ragged_lines=True)  # fmt: skip
    flags = films.select(pl.nth(range(5, films.width)).cast(pl.Int64)).to_numpy()
    genre = pl.DataFrame({"film": films[:, 0].cast(pl.Int64), "genre": flags.argmax(axis=1)})
    joined = seen.join(persons, on="user").join(genre, on="film")
    liked = pl.when(pl.col("rating") > 3).then(pl.lit("liked")).otherwise(pl.lit("not liked"))
    return joined.select("user", "age", "gender", "zip", "film", "rating", "genre", liked=liked)


def successes(results: tuple[AttackResult, ...]) -> dict[str, AttackResult]:
    """Results by their names."""
    return {result.name: result for result in results}


def percent(result: AttackResult | None) -> str:
    """A success in percent, with its interval."""
    if result is None:
        return "-"
    return f"{100 * result.success:.1f} ({100 * result.low:.1f}-{100 * result.high:.1f})"


def released(frame: pl.DataFrame, sensitive: list[str], models: list[shoal.models.Model], **options: object) -> object:
    """A release of MovieLens with some of its columns."""
    ids = str(options.pop("person_ids", "pseudonyms"))
    schema = shoal.Schema(person="user", quasi=QUASI, sensitive=sensitive, person_ids=ids)
    return shoal.protect(frame.select("user", "age", "gender", "zip", *sensitive), schema, models, seed=1, **options)


def trajectories(frame: pl.DataFrame) -> str:
    """How often who knows some ratings finds the person, with what may be done against it."""
    held = frame.group_by("film", "rating").agg(pl.col("user").n_unique().alias("persons"))
    common = frame.join(held.filter(pl.col("persons") >= FEWEST), on=["film", "rating"], how="semi")
    ways: Mapping[str, object] = {
        "pseudonyms, film and rating": released(frame, ["film", "rating"], RISK),
        "the film, and whether it was liked": released(frame, ["film", "liked"], RISK),
        f"without what fewer than {FEWEST} persons have ({100 * (1 - len(common) / len(frame)):.0f} % of the records)":
            released(common, ["film", "rating"], RISK),
        "the first genre and the rating": released(frame, ["genre", "rating"], RISK),
        "no person ids, film and rating": released(frame, ["film", "rating"], RISK, person_ids="none"),
    }  # fmt: skip
    rows = []
    for name, release in ways.items():
        found = successes(release.attack(["trajectory"]).results)  # type: ignore[attr-defined]
        asked = [f"trajectory, {n} known" for n in (1, 2, 3, 4)]
        asked += [f"trajectory, {n} known and quasi-identifiers" for n in (1, 2, 4)]
        rows.append([name, *(percent(found.get(each)) for each in asked)])
    head = ["release", "1 known", "2", "3", "4", "1 and quasi-identifiers", "2 and", "4 and"]
    return markdown_table(head, rows)


NAMES = {
    "one record, a record": "linkage, one record, record",
    "one record, the person": "linkage, one record, person",
    "all records and their number, the person": "linkage, all and number, person",
    "nearest": "distance, nearest",
    "assignment": "distance, assignment",
}


def linkages(frame: pl.DataFrame) -> str:
    """How often somebody is found by their quasi-identifiers."""
    ways = {
        "k-anonymity by records, k = 50": released(frame, ["film", "rating"], [shoal.KAnonymity(k=50)]),
        "person-k-anonymity, k = 10": released(frame, ["film", "rating"], [shoal.PersonKAnonymity(k=10)]),
        "record risk 10 %": released(frame, ["film", "rating"], RISK),
        "record risk 10 %, mask mean": released(frame, ["film", "rating"], RISK, mask="mean"),
        "record risk 10 %, mask perturb": released(frame, ["film", "rating"], RISK, mask="perturb"),
        "record risk 10 %, no person ids": released(frame, ["film", "rating"], RISK, person_ids="none"),
    }
    return _linkage_rows(ways)


def _linkage_rows(ways: Mapping[str, object]) -> str:
    rows = []
    for name, release in ways.items():
        found = successes(release.attack(["linkage", "distance"]).results)  # type: ignore[attr-defined]
        first = found.get("linkage, one record, record")
        highest = "-" if first is None else f"{100 * first.details['highest']:.1f}"
        rows.append([name, *(percent(found.get(key)) for key in NAMES.values()), highest])
    return markdown_table(["release", *NAMES, "highest chance of a record"], rows)


def conditions() -> tuple[str, str]:
    """The same and what classifiers learn, on INFORMS."""
    schema = shoal.Schema(person="DUPERSID", quasi=["DOBYY", "EDUCYEAR", "income", "poverty"], sensitive=["ICD9CODX"])
    frame = informs()
    ways = {
        "k-anonymity by records, k = 10": shoal.protect(frame, schema, [shoal.KAnonymity(k=10)], seed=1),
        "record risk 10 %": shoal.protect(frame, schema, RISK, seed=1),
        "record risk 10 %, t-closeness 0.4":
            shoal.protect(frame, schema, [*RISK, shoal.TCloseness(t="0.4")], seed=1),
    }  # fmt: skip
    rows = []
    for name, release in ways.items():
        found = successes(release.attack(["skewness", "inference"]).results)
        skew = found["skewness, ICD9CODX"]
        for method in ("naive Bayes", "nearest"):
            result = found[f"inference, {method}, ICD9CODX"]
            rows.append([name, method, percent(result), f"{100 * result.details['baseline']:.1f}",
                         f"{100 * result.blind:.1f}", f"{skew.details['mean_distance']:.2f}",
                         f"{skew.details['farthest']:.2f}"])  # fmt: skip
    learned = markdown_table(
        ["release", "classifier", "trained on the release", "on others", "commonest", "mean distance", "farthest"], rows
    )
    return _linkage_rows(ways), learned


PAGE = """# What attackers get

Made by `python -m studies.attacks`. The [attacks](../attacks.md) that know the original, on MovieLens 100K (943
persons, 100,000 ratings; quasi-identifiers age, gender and ZIP) and on INFORMS 2008 (24,072 persons, 97,170
conditions). Percent of the persons for whom the attacker is right, with a 95 % interval.

## Linkage, MovieLens

{linkages}

A group of fifty ratings often belongs to one person, which k-anonymity by records does not see. Under record risk the
highest chance to point at a record stays at or below what was asked for. Whoever also knows **how many** records a
person has finds most persons among the pseudonyms of a group: no model promises anything against that. Without person
ids there are no pseudonyms to find.

## Linkage, INFORMS

{informs}

## Trajectories, MovieLens

The attacker knows some of a person's ratings and looks for the person by them.

{trajectories}

Groups do not help: the sensitive values themselves lead to the person. Coarser values and leaving out rare ones
help somewhat, and lose what many want the data for; without person ids what remains is the chance that some further
record of the group is the person's, which record risk limits. In that line success counts one further record, in all
others the person with all their records.

## Inference, INFORMS

A classifier trained on the release, one trained on other persons' original records, and the commonest diagnosis.

{learned}

Naive Bayes knows hardly more than it knows from other people. The smaller the groups, the more the nearest
records know of the person, since the person's own records are among them; part of their gain is no disclosure, though:
a group has more records to average over than the ten nearest of the baseline.
"""


def main() -> None:
    """Run the study and write its page."""
    try:
        frame = ratings()
        linked, learned = conditions()
    except MissingDataError as error:
        print(error)
        return
    page = PAGE.format(linkages=linkages(frame), informs=linked, trajectories=trajectories(frame), learned=learned)
    print(write_page("attacks", page))


if __name__ == "__main__":
    main()
