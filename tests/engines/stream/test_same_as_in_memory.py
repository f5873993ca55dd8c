"""A file protected in portions gives what the same table gives in memory, but for what is random in both."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import pipeline
from shoal.engines.stream import protect_file, verify_file
from shoal.publishing.codebook import CODEBOOKS
from shoal.reading import read
from tests.engines.stream.tables import REGIONS, STAGES, flat, read_release, schema, shown, table
from tests.publishing.report.pages import Page
from tests.tiers import EXAMPLES_OF_RELEASES, long_but_for

MODELS = {
    "g-balance": [shoal.GBalance(g="0.6")],
    "h-affiliation": [shoal.HAffiliation(h="0.7", column="disease")],
    "record-risk": [shoal.RecordRisk(rho="0.4")],
    "entropy-balance": [shoal.EntropyBalance(k=3)],
    "k": [shoal.KAnonymity(k=6)],
    "person-k": [shoal.PersonKAnonymity(k=3)],
    "l by frequency": [shoal.LDiversity(l=2, column="disease")],
    "l distinct of persons": [shoal.LDiversity(l=2, kind="distinct", count="persons", column="disease")],
    "l by entropy": [shoal.LDiversity(l=2, kind="entropy", column="disease")],
    "t": [shoal.TCloseness(t="0.4", column="disease")],
    "t ordered": [shoal.TCloseness(t="0.4", distance="ordered", column="score")],
    "several": [shoal.GBalance(g="0.5"), shoal.HAffiliation(h="0.8"), shoal.PersonKAnonymity(k=2)],
}
QUASI: dict[str, list[Any]] = {
    "number, nominal, date": ["age", shoal.Nominal("sex"), shoal.Date("born")],
    "floats of few and of many decimals": ["weight", "ratio"],
    "ordered by a list and by letters": [shoal.Ordered("stage", order=STAGES), shoal.Ordered("sex"), "age"],
    "hierarchy": [shoal.Nominal("region", REGIONS), "age"],
    "codes that begin with a zero": ["zip", "weight"],
    "nominal only": [shoal.Nominal("region"), shoal.Nominal("sex")],
}


def both(frame: pl.DataFrame, columns: shoal.Schema, models: Any, portion: int, ending: str, **options: Any) -> None:
    """Protect a table in memory and in portions, and compare all that must be the same."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder, f"table.{ending}"), Path(folder, "out")
        options = {"allow_alone": True, **options}
        frame.write_parquet(file, row_group_size=13) if ending == "parquet" else frame.write_csv(file)
        reading = read(file)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("shoal.reading.csv.BLOCK_BYTES", 40 * portion)
            patch.setattr("shoal.engines.stream.alone.MOST_CELLS", 30)  # so that several passes count
            streamed = protect_file(file, columns, models, out, seed=5, portion=portion, **options)
        held = pipeline.protect(reading.frame, columns, models, seed=5, **options)
        assert streamed.verdict.to_dict() == held.verdict.to_dict()
        assert streamed.risk == held.risk
        assert flat(streamed.utility) == pytest.approx(flat(held.utility), rel=1e-9, abs=1e-12)
        assert streamed.lone_extremes == held.lone_extremes
        held.write(Path(folder, "held"), format=ending, csv=reading.source.csv)
        assert held.before is not None
        assert flat(streamed.before) == pytest.approx(flat(held.before), rel=1e-12)
        told, theirs = (json.loads((each / "steward/report.json").read_text()) for each in (out, Path(folder, "held")))
        assert flat(told["report"]["risk"]) == pytest.approx(flat(theirs["report"]["risk"]), rel=1e-12)
        published = read_release(out)
        assert published.columns == held.published.frame.columns
        assert shown(published, columns.person) == shown(held.published.frame, columns.person)
        assert (out / "steward/policy.toml").read_text() == Path(folder, "held/steward/policy.toml").read_text()
        books = [json.loads((each / "codebook.json").read_text()) for each in (out, Path(folder, "held"))]
        assert [[file["path"] for file in book.pop("files")] for book in books] == [[f"release.{ending}"]] * 2
        assert books[0] == books[1]
        theirs = pl.read_parquet(Path(folder, "held/steward/scheme.parquet"))
        assert pl.read_parquet(out / "steward/scheme.parquet").equals(theirs)
        groups = pl.read_parquet(out / "steward/groups.parquet")
        assert groups.height == published.height
        of_labels = published.select(columns.quasi_names).with_columns(group=groups["group"])
        assert of_labels.unique().height == groups["group"].n_unique()  # a group shows one thing
        assert sorted(groups["group"].value_counts().rows()) == sorted(held.groups["group"].value_counts().rows())
        again = verify_file(out / f"release.{ending}", columns, models, portion=7, allow_alone=True)
        assert again.verdict.to_dict() == held.verdict.to_dict()


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("method", long_but_for(["balance-tree"], ["balance-tree", "mondrian"]))
def test_every_model(models: str, method: str) -> None:
    both(table(3), schema(), MODELS[models], 17, "parquet", method=method)


@pytest.mark.parametrize("quasi", QUASI)
@pytest.mark.parametrize(
    "shown_as",
    long_but_for(["range in csv"], ["range in csv", "range in parquet", "mean in parquet", "suppress in csv"]),
)
def test_every_kind_of_column(quasi: str, shown_as: str) -> None:
    mask, _, ending = shown_as.split()
    both(table(4), schema(*QUASI[quasi]), [shoal.GBalance(g="0.5")], 11, ending, mask=mask)


@pytest.mark.parametrize(("mask", "ending"), [("mean", "parquet"), ("suppress", "csv")])
def test_every_mask(mask: str, ending: str) -> None:
    both(table(4), schema(), [shoal.GBalance(g="0.5")], 13, ending, mask=mask, method="mondrian")


@pytest.mark.parametrize(
    ("method", "models"), [("mondrian", "k"), ("balance-tree", "t"), ("balance-tree", "l by frequency")]
)
def test_nodes_of_hierarchies_are_looked_at_alike(method: str, models: str) -> None:
    """What models ask of values is counted over the whole file, also of cells along nodes."""
    columns = schema(shoal.Nominal("region", REGIONS), shoal.Nominal("sex"), "weight")
    both(table(6), columns, MODELS[models], 17, "parquet", method=method)


@pytest.mark.parametrize("quasi", [["age"], ["age", shoal.Nominal("weight")]])
def test_floats_that_count_as_one_value(quasi: list[Any]) -> None:
    """-0.0 is 0.0, and NaN is missing, in sensitive, kept and nominal columns."""
    frame = table(5, with_missing=False)
    odd = [0.0, -0.0, float("nan"), None, 1.5, 2.5]
    cycle = pl.Series([odd[place % 6] for place in range(frame.height)], dtype=pl.Float64)
    zeros = pl.Series([(0.0, -0.0)[place % 2] for place in range(frame.height)])
    frame = frame.with_columns(score=cycle, note=cycle, weight=zeros)
    both(frame, schema(*quasi), [shoal.GBalance(g="0.5"), shoal.LDiversity(l=2, kind="distinct")], 11, "parquet")


@given(
    seed=st.integers(0, 10**6),
    persons=st.integers(12, 40),
    portion=st.integers(1, 60),
    with_missing=st.booleans(),
    persons_as=st.sampled_from(["text", "number"]),
    ending=st.sampled_from(["parquet", "csv"]),
    quasi=st.sampled_from(list(QUASI.values())),
    cut=st.sampled_from([{"cut": "median"}, {"cut": "median", "ties": "split"}, {"effort": "low"}, {}]),
)
@settings(deadline=None, max_examples=EXAMPLES_OF_RELEASES or 15)
def test_any_table(
    seed: int,
    persons: int,
    portion: int,
    with_missing: bool,
    persons_as: str,
    ending: str,
    quasi: list[Any],
    cut: dict[str, str],
) -> None:
    frame = table(seed, persons, with_missing=with_missing, persons_as=persons_as)
    both(frame, schema(*quasi), MODELS["several"][::2], portion, ending, **cut)


def test_one_record_per_person() -> None:
    dropped = ["who", "weight", "ratio", "born", "stage", "region", "zip", "score", "extra"]
    columns = shoal.Schema(quasi=["age", shoal.Nominal("sex")], sensitive=["disease"], kept=["note"], dropped=dropped)
    for method in ("balance-tree", "mondrian"):
        both(table(8), columns, [shoal.KAnonymity(k=4)], 9, "parquet", method=method)


def test_records_that_miss_a_quasi_identifier_are_left_out() -> None:
    columns = schema("age", "weight", missing="drop")
    both(table(9), columns, [shoal.PersonKAnonymity(k=2)], 13, "parquet")


def test_columns_of_categories_show_no_others(tmp_path: Path) -> None:
    frame = table(2).with_columns(
        pl.col("note").cast(pl.Enum(["n2", "n0", "n1", "never"])), pl.col("disease").cast(pl.Categorical)
    )
    frame.write_parquet(tmp_path / "t.parquet")
    models, allowed = [shoal.PersonKAnonymity(k=2)], {"allow_alone": True}
    protect_file(tmp_path / "t.parquet", schema(), models, tmp_path / "out", portion=10, **allowed)
    published = pl.read_parquet(tmp_path / "out/release.parquet")
    assert published["note"].dtype == pl.Enum(["n2", "n0", "n1"])
    held = shoal.protect(frame, schema(), models, **allowed)
    assert shown(published, "who") == shown(held.data, "who")


def test_the_person_map_says_who_is_who(tmp_path: Path) -> None:
    frame = table(2, persons_as="number")
    frame.write_parquet(tmp_path / "t.parquet")
    protect_file(tmp_path / "t.parquet", schema(), [shoal.PersonKAnonymity(k=2)], tmp_path / "out", portion=10,
                 keep_person_map=True, allow_alone=True)  # fmt: skip
    who = pl.read_parquet(tmp_path / "out/steward/persons.parquet")
    published = pl.read_parquet(tmp_path / "out/release.parquet").join(who, left_on="who", right_on="pseudonym")
    kept = ("person", "disease", "score", "note")
    theirs = frame.rename({"who": "person"}).select(kept).sort(kept)
    assert published.select(kept).sort(kept).equals(theirs)


def test_a_policy_makes_the_same_release_as_what_it_says(tmp_path: Path) -> None:
    table(2).write_parquet(tmp_path / "t.parquet")
    models = [shoal.PersonKAnonymity(k=2)]
    policy = shoal.Policy.of(schema(), models, method="balance-tree", mask="range", allow_alone=True)
    by_policy = protect_file(tmp_path / "t.parquet", policy, output=tmp_path / "one", seed=4)
    held = shoal.protect(pl.read_parquet(tmp_path / "t.parquet"), policy, seed=4)
    assert type(by_policy) is type(held)
    assert (by_policy.engine, by_policy.risk, by_policy.utility) == ("stream", held.risk, held.utility)
    assert shown(by_policy.data.collect(), "who") == shown(held.data, "who")
    assert by_policy.groups.collect().height == held.risk.records
    with pytest.raises(shoal.errors.ParameterError, match="while it was made"):
        by_policy.write(tmp_path / "two")
    with pytest.raises(shoal.errors.ParameterError, match="does not hold its records in memory"):
        by_policy.attack()


def test_what_is_known_of_the_run_is_written(tmp_path: Path) -> None:
    table(2).write_parquet(tmp_path / "t.parquet")
    protect_file(tmp_path / "t.parquet", schema(), [shoal.PersonKAnonymity(k=2)], tmp_path / "out", portion=10, seed=4,
                 allow_alone=True)  # fmt: skip
    manifest = json.loads((tmp_path / "out/steward/manifest.json").read_text())
    assert (manifest["engine"], manifest["seed"], manifest["verdict"]["holds"]) == ("stream", "4", True)
    listed = {entry["path"] for entry in manifest["files"]}
    steward = ("groups.parquet", "policy.toml", "report.html", "report.json", "scheme.parquet")
    assert listed == {"release.parquet", *CODEBOOKS, "summary.html", *(f"steward/{name}" for name in steward)}
    numbers = json.loads((tmp_path / "out/steward/report.json").read_text())
    assert numbers["person_k"] >= 2
    assert "Exclude values" in numbers["report"]["left_out"]["attacks"]
    page = Page((tmp_path / "out/steward/report.html").read_text())
    for sentence in numbers["report"]["left_out"].values():
        assert sentence in page.text
    assert "Distributions before and after" not in page.text
    assert "Total variation" not in page.text
    assert str(numbers["before"]["unique_persons"]) in page.text
    assert "2 persons" in Page((tmp_path / "out/summary.html").read_text()).text or numbers["person_k"] > 2


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_dates_with_zones_are_those_of_memory(ending: str) -> None:
    berlin = pl.col("born").cast(pl.Datetime("us")).dt.replace_time_zone("Europe/Berlin")
    frame = table(40).with_columns(berlin)
    both(frame, schema(shoal.Date("born")), MODELS["person-k"], 7, ending)
    utc = frame.with_columns(pl.col("born").dt.convert_time_zone("UTC"))
    with pytest.raises(shoal.errors.SchemaError, match=r"'born' holds .* times in UTC"):
        both(utc, schema(shoal.Date("born")), MODELS["person-k"], 7, ending)
