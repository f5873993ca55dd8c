"""The release folder: what leaves carries nothing of single persons; what stays is enough to repeat the run."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import shoal
from shoal import Hierarchy, Nominal, Schema
from shoal.attacking.setting import Setting
from shoal.attacking.suite import SuiteResult, attack_for_report
from shoal.errors import OutputError, ParameterError, PrivacyNotMetError
from shoal.policy import Policy
from shoal.publishing.codebook import CODEBOOKS
from shoal.publishing.manifest import check_manifest, read_manifest
from shoal.publishing.release import Release
from shoal.publishing.write import codebook, finite
from shoal.reading import CsvOptions, read
from tests.pipeline.tables import MODELS, SCHEMA, visits

LEAVING = {format: {f"release.{format}", *CODEBOOKS, "summary.html"} for format in ("csv", "parquet")}
STAYING = {"policy.toml", "manifest.json", "groups.parquet", "scheme.parquet", "report.html", "report.json"}


def release(**options: Any) -> Release:
    return shoal.protect(visits(), SCHEMA, MODELS, seed=11, **options)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_what_leaves_and_what_stays(tmp_path: Path, format: str) -> None:
    folder = release().write(tmp_path / "out", format=format)
    assert folder == tmp_path / "out"
    assert files(folder) == LEAVING[format]
    assert files(folder / "steward") == STAYING
    assert check_manifest(folder) == []
    if os.name == "posix":
        assert stat.S_IMODE((folder / "steward").stat().st_mode) == 0o700


def test_attacks_are_tried_once_for_the_report_and_for_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def counted(setting: Setting) -> SuiteResult:
        tried.append(setting)
        return attack_for_report(setting)

    monkeypatch.setattr("shoal.publishing.release.attack_for_report", counted)
    made = release()
    made.write(tmp_path / "out")
    assert made.to_dict()["attacks"] == json.loads((tmp_path / "out/steward/report.json").read_text())["attacks"]
    assert len(tried) == 1


def test_the_report_can_be_left_out(tmp_path: Path) -> None:
    folder = release().write(tmp_path / "out", report=False)
    assert files(folder / "steward") == STAYING - {"report.html", "report.json"}
    assert files(folder) == LEAVING["csv"] - {"summary.html"}
    assert check_manifest(folder) == []


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_published_file_is_the_data_and_verifies(tmp_path: Path, format: str) -> None:
    made = release()
    folder = made.write(tmp_path / "out", format=format)
    again = read(folder / f"release.{format}").frame
    assert again.columns == made.data.columns
    as_text = [frame.with_columns(pl.all().cast(pl.String)).rows() for frame in (again, made.data)]
    assert as_text[0] == as_text[1]
    policy = Policy.load(folder / "steward" / "policy.toml")
    answer = shoal.verify(again, policy.schema_of_release(), policy.models)
    assert answer.holds
    assert answer.risk == made.risk


def test_the_format_follows_the_input(tmp_path: Path) -> None:
    made = release()
    for name, expected in (("in.parquet", "parquet"), ("IN.PARQUET", "parquet"), ("in.csv", "csv"), ("in.txt", "csv")):
        source = tmp_path / name
        source.write_bytes(b"x")
        folder = made.write(tmp_path / f"out-{name}", inputs=[source])
        assert f"release.{expected}" in files(folder)
    assert "release.csv" in files(made.write(tmp_path / "frame"))


def test_delimiter_and_encoding_follow_the_input_and_are_kept_in_the_policy(tmp_path: Path) -> None:
    frame = pl.DataFrame({"p": range(6), "town": ["Köln", "Malmö"] * 3, "s": list("abcdef")})
    made = shoal.protect(frame, Schema(person="p", quasi=["town"], sensitive=["s"]), [shoal.GBalance(g=0.5)])
    folder = made.write(tmp_path / "out", csv=CsvOptions(delimiter=";", encoding="latin-1"))
    text = (folder / "release.csv").read_bytes().decode("latin-1")
    assert text.startswith("p;town;s\n")
    assert "Köln" in text
    source = Policy.load(folder / "steward" / "policy.toml").source
    assert (source.delimiter, source.encoding) == (";", "latin-1")


class TestNothingTellsWhoOrWhere:
    """Values that must not be found anywhere in what leaves, searched for byte by byte."""

    N = 400

    def canaries(self) -> pl.DataFrame:
        rng = np.random.default_rng(8)
        person = rng.permutation(self.N) // 4
        return pl.DataFrame(
            {
                "record_id": [f"rowcanary{i:04d}" for i in range(self.N)],
                "patient": [f"idcanary{i:04d}" for i in person],
                "number_id": (person + 91_000_000).tolist(),
                "salary": [54_000_000 + int(i) for i in rng.permutation(self.N)],  # every value once
                "weight": [f"{70 + i / 1000:.3f}" for i in rng.permutation(self.N)],
                "gender": rng.choice(["f", "m"], self.N).tolist(),
                "disease": pl.Series(rng.choice(["flu", "gout"], self.N), dtype=pl.Enum(["flu", "gout", "enumcanary"])),
                "visit": [f"1987-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(self.N)],
            }
        )

    def schema(self, **changes: Any) -> Schema:
        roles: dict[str, Any] = {
            "person": "patient", "quasi": ["salary", shoal.Number("weight"), Nominal("gender")],
            "sensitive": ["disease"], "time": "visit", "dropped": ["record_id", "number_id"],
        }  # fmt: skip
        return Schema(**{**roles, **changes})

    @pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow"])
    @pytest.mark.parametrize("format", ["csv", "parquet"])
    def test_no_canary_leaves(self, tmp_path: Path, format: str, kind: str) -> None:
        given = self.canaries()
        indexed = given.to_pandas().set_index(pl.Series([f"indexcanary{i}" for i in range(self.N)]).to_pandas())
        frame = {"polars": given, "pandas": indexed, "pyarrow": given.to_arrow()}[kind]
        made = shoal.protect(frame, self.schema(), [shoal.GBalance(g=0.9)], seed=1)
        folder = made.write(tmp_path / "out", format=format)
        shown = {str(label) for column in ("salary", "weight") for label in pl.Series(made.published.frame[column])}
        ends = {end for label in shown for end in label.split("-")}
        inner = [str(value) for value in given["salary"] if str(value) not in ends]
        assert len(inner) > self.N / 2
        plain = tmp_path / "plain.parquet"  # compression could hide what a reader finds
        made.published.frame.write_parquet(plain, compression="uncompressed")
        for path in (*(folder / name for name in files(folder)), plain):
            content, name = path.read_bytes(), path.name
            for canary in (
                b"rowcanary",
                b"idcanary",
                b"indexcanary",
                b"enumcanary",
                b"record_id",
                b"number_id",
                b"1987",
            ):
                assert canary not in content, (name, canary)
            assert not [value for value in inner if value.encode() in content]
            assert not [value for value in range(91_000_000, 91_000_100) if str(value).encode() in content]
        if format == "parquet":
            metadata = pq.read_metadata(folder / "release.parquet")
            assert set(metadata.metadata) <= {b"ARROW:schema"}
            assert pq.read_schema(folder / "release.parquet").names == made.published.frame.columns
            values = pl.read_parquet(folder / "release.parquet").to_series(0)
            assert len(values) == self.N

    def test_whole_numbers_do_not_hide_in_binary_form(self, tmp_path: Path) -> None:
        """In Parquet 91,000,000 would be eight bytes, not digits."""
        made = shoal.protect(self.canaries(), self.schema(), [shoal.GBalance(g=0.9)])
        content = (made.write(tmp_path / "out", format="parquet") / "release.parquet").read_bytes()
        uncompressed = pl.read_parquet(tmp_path / "out" / "release.parquet")
        assert not any(dtype.is_integer() for name, dtype in uncompressed.schema.items() if name != "visit")
        for value in range(91_000_000, 91_000_100):
            assert value.to_bytes(8, "little") not in content

    def test_the_order_of_the_file_is_new_each_time(self, tmp_path: Path) -> None:
        def shown(name: str) -> list[str]:
            made = shoal.protect(self.canaries(), self.schema(), [shoal.GBalance(g=0.9)], seed=1)
            made.write(tmp_path / name)
            return [line.split(",", 1)[1] for line in (tmp_path / name / "release.csv").read_text().splitlines()]

        first, second = shown("one"), shown("two")
        assert Counter(first) == Counter(second)  # but for the pseudonyms the same records
        assert first != second

    def test_shifted_dates_are_never_the_original_ones(self, tmp_path: Path) -> None:
        made = shoal.protect(self.canaries(), self.schema(time_as="shift"), [shoal.GBalance(g=0.9)])
        made.write(tmp_path / "out")
        original = self.canaries()["visit"].str.to_date()[made.published.record_of_published]
        assert (made.data["visit"] != original).all()

    def test_the_group_of_a_record_stays_with_the_steward(self, tmp_path: Path) -> None:
        made = shoal.protect(self.canaries(), self.schema(), [shoal.GBalance(g=0.9)])
        folder = made.write(tmp_path / "out")
        assert "group" not in (folder / "release.csv").read_text().splitlines()[0]
        groups = pl.read_parquet(folder / "steward" / "groups.parquet")
        assert groups["group"].to_list() == made.groups["group"].to_list()


class TestCodebook:
    def test_it_says_how_every_column_is_shown(self, tmp_path: Path) -> None:
        folder = release().write(tmp_path / "out")
        book = json.loads((folder / "codebook.json").read_text(encoding="utf-8"))
        kinds = {column["name"]: (column["role"], column.get("kind")) for column in book["columns"]}
        assert kinds == {
            "patient": ("person", None), "age": ("quasi", "number"), "gender": ("quasi", "nominal"),
            "zip": ("quasi", "number"), "stage": ("quasi", "ordered"), "born": ("quasi", "date"),
            "smoker": ("quasi", "nominal"), "bmi": ("quasi", "number"), "disease": ("sensitive", None),
            "drug": ("sensitive", None), "visit": ("time", None), "ward": ("kept", None),
        }  # fmt: skip
        assert all(column["shown_as"] for column in book["columns"])
        assert book["mask"] == "range"
        assert [model["name"] for model in book["models"]] == ["g-balance", "h-affiliation"]

    def test_it_depends_on_no_value_of_the_table(self) -> None:
        """Two tables with other values but of the same kinds have the same codebook."""
        frames = [visits(seed=3), visits(seed=4)]
        frames[1] = frames[1].with_columns(
            disease=pl.lit("other ") + pl.col("disease"), age=pl.col("age") + 900, ward=pl.lit("west")
        )
        books = [codebook(shoal.protect(frame, SCHEMA, [shoal.GBalance(g=0.5)], allow_alone=True)) for frame in frames]
        assert books[0] == books[1]

    def test_a_column_may_be_called_group(self) -> None:
        frame = pl.DataFrame({"p": range(4), "group": [1, 2, 3, 4]})
        made = shoal.protect(frame, Schema(person="p", quasi=["group"]), [shoal.GBalance(g=0.5)])
        assert codebook(made)["columns"][1] == {
            "name": "group", "role": "quasi", "kind": "number", "form": "range",
            "shown_as": "the range of values of a group",
        }  # fmt: skip

    def test_a_hierarchy_is_mentioned_not_listed(self) -> None:
        zips = [f"canary{i % 3}" for i in range(12)]
        frame = pl.DataFrame({"p": range(12), "zip": zips})
        schema = Schema(person="p", quasi=[Nominal("zip", Hierarchy.of_prefixes(zips))])
        made = shoal.protect(frame, schema, [shoal.GBalance(g=0.5)])
        assert "canary" not in json.dumps(codebook(made))
        assert "canary" not in repr(made)
        assert "hierarchy" in codebook(made)["columns"][1]["shown_as"]


class TestRepeating:
    @pytest.mark.parametrize(
        "options",
        [
            {}, {"mask": "mean"}, {"mask": "suppress"}, {"cut": "median"}, {"cut": "median", "ties": "split"},
            {"method": "mondrian"}, {"code_extremes": True}, {"max_suppressed": 3, "max_records": 50},
        ],
    )  # fmt: skip
    def test_the_policy_repeats_the_run(self, tmp_path: Path, options: dict[str, Any]) -> None:
        made = release(**options)
        folder = made.write(tmp_path / "out")
        policy = Policy.load(folder / "steward" / "policy.toml")
        again = shoal.protect(
            visits(), policy.schema(folder / "steward", visits()), policy.models, method=policy.method,
            mask=policy.mask, seed=policy.seed, max_suppressed=policy.budget.max_suppressed,
            max_records=policy.budget.max_records, **policy.options,
        )  # fmt: skip
        assert again.seed == made.seed == 11
        assert again.schema == made.schema
        assert again.models == made.models
        assert (again.method, again.mask) == (made.method, made.mask)
        assert again.risk == made.risk
        assert again.utility == made.utility
        labels = [Counter(data.select(SCHEMA.quasi_names).rows()) for data in (made.data, again.data)]
        assert labels[0] == labels[1]

    def test_a_sample_is_repeated_too(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"p": [0] * 50 + list(range(1, 11)), "q": range(60), "s": [f"v{i}" for i in range(60)]})
        schema = Schema(person="p", quasi=["q"], sensitive=["s"])
        made = shoal.protect(frame, schema, [shoal.RecordRisk(rho=0.2)], max_records=2)
        policy = Policy.load(made.write(tmp_path / "out") / "steward" / "policy.toml")
        again = shoal.protect(
            frame, policy.schema(tmp_path, frame), policy.models, seed=policy.seed,
            max_records=policy.budget.max_records,
        )  # fmt: skip
        assert sorted(again.data["s"]) == sorted(made.data["s"])

    def test_hierarchies_are_written_down(self, tmp_path: Path) -> None:
        zips = [f"{20000 + 7 * i}" for i in range(12)]
        frame = pl.DataFrame({"p": range(12), "zip": zips, "age": range(20, 32)})
        schema = Schema(
            person="p",
            quasi=[
                Nominal("zip", Hierarchy.of_prefixes(zips)),
                shoal.Number("age", Hierarchy.of_intervals(low=20, width=5, high=99)),
            ],
        )
        made = shoal.protect(frame, schema, [shoal.GBalance(g=0.5)])
        policy = Policy.load(made.write(tmp_path / "out") / "steward" / "policy.toml")
        again = shoal.protect(frame, policy.schema(tmp_path, frame), policy.models, seed=policy.seed)
        assert sorted(again.data["zip"]) == sorted(made.data["zip"])
        assert sorted(again.data["age"]) == sorted(made.data["age"])

    def test_the_manifest_has_seed_hashes_versions_and_verdict(self, tmp_path: Path) -> None:
        source = tmp_path / "visits.csv"
        visits().write_csv(source)
        made = release()
        manifest: dict[str, Any] = read_manifest(made.write(tmp_path / "out", inputs=[source])) or {}
        assert manifest["seed"] == "11"  # as text: not every reader of JSON keeps 128 bits
        assert manifest["verdict"]["holds"] is True
        assert "visits.csv" in json.dumps(manifest["inputs"])
        assert check_manifest(tmp_path / "out") == []
        (tmp_path / "out" / "release.csv").write_text("changed")
        assert len(check_manifest(tmp_path / "out")) == 1

    def test_a_seed_that_was_drawn_is_kept_exactly(self, tmp_path: Path) -> None:
        made = shoal.protect(visits(60), SCHEMA, [shoal.GBalance(g=0.5)])
        folder = made.write(tmp_path / "out")
        assert (read_manifest(folder) or {})["seed"] == str(made.seed)
        assert Policy.load(folder / "steward" / "policy.toml").seed == made.seed

    def test_the_report_has_the_numbers(self, tmp_path: Path) -> None:
        made = release()
        report = json.loads((made.write(tmp_path / "out") / "steward" / "report.json").read_text(encoding="utf-8"))
        assert report["max_gidr"] == made.risk.max_gidr
        assert report["before"]["max_gidr"] == made.before.max_gidr  # type: ignore[union-attr]
        assert report["lone_extremes"] == made.lone_extremes


class TestPersonMap:
    def test_it_is_written_on_request_only(self, tmp_path: Path) -> None:
        made = release()
        assert "persons.parquet" not in files(made.write(tmp_path / "without") / "steward")
        folder = made.write(tmp_path / "with", keep_person_map=True)
        assert files(folder / "steward") == STAYING | {"persons.parquet"}
        assert check_manifest(folder) == []
        mapping = pl.read_parquet(folder / "steward" / "persons.parquet")
        assert mapping.columns == ["person", "pseudonym"]
        assert mapping["person"].n_unique() == mapping["pseudonym"].n_unique() == visits()["patient"].n_unique()
        original = visits()["patient"][made.published.record_of_published]
        of_person = dict(mapping.iter_rows())
        assert [of_person[person] for person in original] == made.data["patient"].to_list()

    def test_without_persons_there_is_none(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"q": range(4)})
        made = shoal.protect(frame, Schema(quasi=["q"]), [shoal.KAnonymity(k=2)])
        with pytest.raises(ParameterError, match="no person column"):
            made.write(tmp_path / "out", keep_person_map=True)
        assert not (tmp_path / "out").exists()


class TestWhereItMayNotGo:
    def test_a_folder_with_files_is_left_alone(self, tmp_path: Path) -> None:
        folder = tmp_path / "out"
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")
        for overwrite in (False, True):
            with pytest.raises(OutputError):
                release().write(folder, overwrite=overwrite)
        assert {path.name for path in folder.iterdir()} == {"mine.txt"}

    def test_an_earlier_release_is_replaced_when_asked(self, tmp_path: Path) -> None:
        release().write(tmp_path / "out", keep_person_map=True)
        with pytest.raises(OutputError):
            release().write(tmp_path / "out")
        folder = release().write(tmp_path / "out", overwrite=True, format="parquet")
        assert files(folder) == LEAVING["parquet"]
        assert files(folder / "steward") == STAYING
        assert check_manifest(folder) == []

    def test_an_unknown_format_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="format must be one of csv, parquet"):
            release().write(tmp_path / "out", format="ods")
        assert list(tmp_path.iterdir()) == []


def test_numbers_that_json_cannot_write_become_null() -> None:
    assert finite({"a": float("inf"), "b": [float("nan"), 1.5], "c": ("x", 2)}) == {
        "a": None,
        "b": [None, 1.5],
        "c": ["x", 2],
    }


@pytest.mark.parametrize("format", ["csv", "xlsx"])
def test_a_format_that_shows_empty_texts_as_missing_is_refused_where_that_breaks_a_model(
    tmp_path: Path, format: str
) -> None:
    """An empty text stands before the others and a missing value behind them: ordered distances tell them apart."""
    frame = pl.DataFrame({"age": [20, 20, 60, 60], "s": ["", "c", "a", "b"]})
    schema = shoal.Schema(quasi=["age"], sensitive=["s"])
    near = shoal.protect(frame, schema, [shoal.TCloseness(t="0.2", distance="ordered")])
    assert near.risk.groups == 2
    with pytest.raises(PrivacyNotMetError, match=r"show empty texts as missing.*t-closeness"):
        near.write(tmp_path / "out", format=format)
    assert list(tmp_path.iterdir()) == []
    near.write(tmp_path / "out", format="parquet")
    loose = shoal.protect(frame, schema, [shoal.TCloseness(t="0.34", distance="ordered")])
    assert loose.risk.groups == 2
    loose.write(tmp_path / "loose", format=format)
