"""The independent checker says what shoal says, on random releases of every mask, model by model."""

from __future__ import annotations

import ast
import json
import math
import random
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli.main import cli
from shoal.judging.verdict import BOUND, NOT_SHOWN
from shoal.policy import Policy
from shoal.publishing.related import Star, StarTable, protect_star, write_star
from shoal.table.spelling import spelled_texts
from tests.naive.covering import joint_diversity
from tools import recount

MODELS: list[tuple[str, dict[str, Any]]] = [
    ("g-balance", {"g": ["0.4", "2/3", "0.8"]}),
    ("record-risk", {"rho": ["0.2", "1/3", "0.6"]}),
    ("entropy-balance", {"k": ["2", "3.5"]}),
    ("k-anonymity", {"k": [3, 6]}),
    ("person-k-anonymity", {"k": [2, 4]}),
    ("h-affiliation", {"h": ["0.5", "2/3"], "column": [None, "disease"]}),
    ("l-diversity", {"l": ["2", "1.5"], "kind": ["frequency"], "count": ["records", "persons"]}),
    ("l-diversity", {"l": [2, 3], "kind": ["distinct"], "count": ["records", "persons"], "column": ["ward", None]}),
    ("l-diversity", {"l": ["2", "2.5"], "kind": ["entropy"], "count": ["records", "persons"]}),
    ("l-diversity", {"l": [2], "kind": ["recursive"], "c": ["1", "3"], "count": ["records", "persons"]}),
    ("t-closeness", {"t": ["0.2", "0.5"], "distance": ["equal", "ordered"], "count": ["records", "persons"]}),
    ("alpha-k-anonymity", {"alpha": ["0.5"], "k": [3, 5]}),
    ("beta-likeness", {"beta": ["1", "2"], "kind": ["basic", "enhanced"]}),
    ("delta-disclosure", {"delta": ["1", "2.5"]}),
    ("joint-diversity", {"l": [2, 3], "caps": [None, {"ward": 1}]}),
    ("exponential-l", {"l": [1]}),
    ("matching-diversity", {"l": [2]}),
    ("average-risk", {"r": ["0.2", "1/4", "0.05"]}),
    ("no-attack", {"gain": [3, 30], "cost": [1], "attacker": ["prosecutor", "journalist"]}),
    ("k-map", {"k": [3, 6], "estimator": ["poisson", "zero-truncated"], "fraction": ["0.1", "0.9"]}),
    ("k-map", {"k": [3]}),
    ("population-uniqueness", {"share": ["0.01"], "fraction": [None, "0.1"]}),
    ("expected-reidentifications", {"n": [8, 1]}),
    ("delta-presence", {"high": ["0.5"]}),
]


def drawn_models(rng: random.Random, among: list[tuple[str, dict[str, Any]]] = MODELS) -> list[dict[str, Any]]:
    models = []
    for name, choices in among:
        drawn = {parameter: rng.choice(values) for parameter, values in choices.items()}
        parameters = {parameter: value for parameter, value in drawn.items() if value is not None}
        models.append({"name": name, "asked": 0, "holds": True, "parameters": parameters})
    return models


def patients(rng: random.Random, *, most_records: int) -> pl.DataFrame:
    rows = []
    for person in range(rng.randint(14, 30)):
        age, sex, town = rng.randint(20, 60), rng.choice("mf"), rng.choice(["A", "B", "C"])
        for _ in range(rng.randint(1, most_records)):
            rows.append({
                "patient": f"p{person}", "age": age, "sex": sex, "town": town,
                "disease": rng.choice(["flu", "Flu", "cold", "hiv", "asthma"]), "ward": rng.choice([1, 2, 10]),
            })  # fmt: skip
    return pl.DataFrame(rows)


def schema(**more: Any) -> shoal.Schema:
    roles: dict[str, Any] = {"person": "patient", "quasi": ["age", "sex", "town"], "sensitive": ["disease", "ward"]}
    return shoal.Schema(**{**roles, **more})


def received(folder: Path, models: list[dict[str, Any]] | None = None) -> Path:
    """What is handed out of a release folder, with other promises in the codebook where they are given."""
    target = folder.with_name(f"{folder.name}-received")
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("steward", "summary.html"))
    if models is not None:
        book = json.loads((target / "codebook.json").read_text())
        (target / "codebook.json").write_text(json.dumps({**book, "models": models}))
    return target


def by_shoal(release: Path) -> tuple[int, dict[str, Any]]:
    run = CliRunner().invoke(cli, ["verify", str(release), "--json"])
    assert run.exit_code in (0, 3), run.output
    return run.exit_code, json.loads(run.stdout)


def by_recount(release: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = recount.main([str(release), "--json"])
    return code, json.loads(capsys.readouterr().out)


def assert_same(shoals: Mapping[str, Any], own: Mapping[str, Any], known: Mapping[int, Mapping[str, Any]]) -> None:
    """Model by model the same answer, as far as both give one; what shoal cannot see is `known` from the steward."""
    for place, (its, ours) in enumerate(zip(shoals["verdict"]["models"], own["models"], strict=True)):
        assert its["name"] == ours["name"]
        if its["checked_from"].startswith(NOT_SHOWN):
            assert not its["holds"]
            its = known.get(place, its)
            if its["checked_from"].startswith(NOT_SHOWN) or not ours["recounted"]:
                continue
        if not its["holds"] and its["reached"] is None:  # the attributes do not fit the model
            assert not ours["holds"]
            continue
        assert ours["recounted"], (its, ours)
        assert its["holds"] == ours["holds"], (its, ours)
        if its["checked_from"] != BOUND and its["reached"] is not None:
            assert math.isclose(its["reached"], ours["reached"], rel_tol=1e-9), (its, ours)


WAYS: dict[str, tuple[dict[str, Any], dict[str, Any], int]] = {
    "range": ({}, {"mask": "range"}, 4),
    "range, extremes coded": ({}, {"mask": "range", "code_extremes": True}, 4),
    "mean": ({}, {"mask": "mean"}, 4),
    "suppress": ({}, {"mask": "suppress"}, 3),
    "perturb": ({}, {"mask": "perturb"}, 3),
    "without persons": ({"person": None, "dropped": ["patient"]}, {}, 1),
    "no person ids": ({"person_ids": "none"}, {}, 3),
    "anatomize, one record each": ({}, {"mask": "anatomize"}, 1),
    "anatomize, several records": ({}, {"mask": "anatomize"}, 3),
    "anatomize, ranges": ({}, {"mask": "anatomize", "quasi_as": "range"}, 3),
    "permute": ({}, {"mask": "permute"}, 1),
    "permute, ranges": ({}, {"mask": "permute", "quasi_as": "range"}, 1),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seed", [1, 2])
def test_it_says_what_shoal_says(tmp_path: Path, capsys: pytest.CaptureFixture[str], way: str, seed: int) -> None:
    roles, options, most_records = WAYS[way]
    rng = random.Random(f"{way} {seed}")
    release = shoal.protect(
        patients(rng, most_records=most_records), schema(**roles), [shoal.PersonKAnonymity(k=3)], seed=seed, **options
    )
    folder = release.write(tmp_path / "out", format=rng.choice(["csv", "parquet", "arrow"]), report=False)
    models = drawn_models(rng)
    handed_out = received(folder, models)
    book = json.loads((folder / "codebook.json").read_text())
    (folder / "codebook.json").write_text(json.dumps({**book, "models": models}))
    (folder / "steward" / "policy.toml").unlink()
    _, known = by_shoal(folder)  # the same promises, with what the steward keeps
    (_, shoals), (_, own) = by_shoal(handed_out), by_recount(handed_out, capsys)
    assert_same(shoals, own, dict(enumerate(known["verdict"]["models"])))
    assert (way == "perturb") == (not any(model["recounted"] for model in own["models"]))


OF_HISTORIES: list[tuple[str, dict[str, Any]]] = [
    ("history-k", {"k": [2, 3], "m": [0, 1, 2], "columns": [None, ["disease"]], "knows": ["values", "records"],
                   "with_quasi": [True, False], "hidden": [None, "free", "shared"]}),
    ("history-confidence", {"c": ["0.5", "2/3"], "m": [0, 1, 2], "columns": [None, ["ward"]],
                            "knows": ["values", "records"], "with_quasi": [True, False]}),
    ("count-k", {"k": [2, 3]}),
    ("person-k-anonymity", {"k": [2, 4]}),
    ("h-affiliation", {"h": ["0.5", "2/3"], "column": [None, "disease"]}),
]  # fmt: skip


@pytest.mark.parametrize("hides", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_it_says_what_shoal_says_of_histories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int, hides: bool
) -> None:
    """Of releases in which values are hidden, and of those that promise nothing of histories."""
    rng = random.Random(f"histories {seed} {hides}")
    promised = [shoal.HistoryK(k=3, m=1 + seed % 2), shoal.CountK(k=2)] if hides else []
    release = shoal.protect(
        patients(rng, most_records=3), schema(), [shoal.PersonKAnonymity(k=4), *promised], seed=seed, attacks=0
    )
    folder = received(release.write(tmp_path / "out", format="csv", report=False))
    code, own = by_recount(folder, capsys)
    assert (code, own["problems"]) == (0, [])
    assert_same(by_shoal(folder)[1], own, {})
    book = json.loads((folder / "codebook.json").read_text())
    for _ in range(4):
        (folder / "codebook.json").write_text(json.dumps({**book, "models": drawn_models(rng, OF_HISTORIES)}))
        (_, shoals), (_, own) = by_shoal(folder), by_recount(folder, capsys)
        assert_same(shoals, own, {})
        assert all(model["recounted"] for model in own["models"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_it_says_what_shoal_says_of_related_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    rng = random.Random(seed)
    persons = [{"id": f"p{n}", "age": rng.randint(20, 60), "town": rng.choice("AB")} for n in range(24)]
    visits = [
        {"patient": person["id"], "visit": f"{person['id']}-{n}", "ward": rng.choice([1, 2, 10])}
        for person in persons for n in range(rng.randint(0 if seed > 1 else 1, 3))
    ]  # fmt: skip
    found = [
        {"at": visit["visit"], "disease": rng.choice(["flu", "cold", "hiv"])}
        for visit in visits for _ in range(rng.randint(0, 2))
    ]  # fmt: skip
    frames = {"person": pl.DataFrame(persons), "visit": pl.DataFrame(visits), "found": pl.DataFrame(found)}
    star = Star({
        "person": StarTable(key="id"), "visit": StarTable(key="visit", links={"patient": "person"}),
        "found": StarTable(links={"at": "visit"}),
    })  # fmt: skip
    roles = shoal.Schema(person="id", quasi=["age", "town"], sensitive=["disease", "ward"])
    promised = [shoal.PersonKAnonymity(k=4)]
    release = protect_star(frames, star, roles, promised, seed=seed)
    text = Policy.of(roles, promised).to_toml()
    folder = received(write_star(release, tmp_path / "out", policy_text=text, report=False), drawn_models(rng))
    (_, shoals), (_, own) = by_shoal(folder), by_recount(folder, capsys)
    assert_same(shoals, own, {})
    assert any(model["recounted"] for model in own["models"])


@given(st.lists(st.tuples(*[st.sets(st.sampled_from("abc"), min_size=1)] * 2), min_size=1, max_size=6),
       st.dictionaries(st.sampled_from([0, 1]), st.integers(0, 2), max_size=2))  # fmt: skip
def test_joint_diversity_is_the_smallest_set_that_excludes_everybody(persons: Any, caps: dict[int, int]) -> None:
    members = [frozenset((place, value) for place, own in enumerate(person) for value in own) for person in persons]
    sets = [{str(place): frozenset(own) for place, own in enumerate(person)} for person in persons]
    group = recount.Group(len(persons), len(persons), None, {}, None, sets)
    asked = {"l": 1, "caps": {str(place): cap for place, cap in caps.items()}}
    reached, _ = recount.joint_diversity(group, asked, recount.View("", ["0", "1"], [group]))
    assert reached == joint_diversity(members, caps)


SIGNS = "aA7.+-0e_ \t\u00e9\u00df\u0130\u017f\u00a0\u200d\ufeff\u0301\uff10\uff11"
spellings = st.text(st.characters() | st.sampled_from(SIGNS), max_size=8) | st.from_regex(
    r"[+-]?[0-9]{0,3}\.?[0-9]{0,3}", fullmatch=True
)


@given(spellings)
def test_texts_are_one_where_shoal_takes_them_as_one(text: str) -> None:
    assert [recount.plain_form(text)] == spelled_texts([text], "plain")
    assert [recount.folded_form(text)] == spelled_texts([text], "folded")


def release_in(folder: Path, **options: Any) -> Path:
    frame = patients(random.Random(7), most_records=3)
    models = [shoal.GBalance(g=0.5), shoal.HAffiliation(h="0.9"), shoal.PersonKAnonymity(k=3)]
    return received(shoal.protect(frame, schema(), models, **options).write(folder / "out", report=False))


def test_it_needs_nothing_of_shoal() -> None:
    tree = ast.parse(Path(recount.__file__).read_text(encoding="utf-8"))
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    named |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in named} - set(sys.stdlib_module_names) == {"pandas"}


def test_a_release_that_was_received_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = release_in(tmp_path)
    assert recount.main([str(folder)]) == 0
    assert "Every promise was recounted" in capsys.readouterr().out
    moved = tmp_path / "elsewhere.csv"
    shutil.move(folder / "release.csv", moved)
    assert recount.main([str(moved), "--codebook", str(folder / "codebook.json")]) == 0
    assert "whether it was changed" in capsys.readouterr().out


def test_a_changed_file_is_noticed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = release_in(tmp_path)
    with open(folder / "release.csv", "a", encoding="utf-8") as file:
        file.write("\n")
    code, told = by_recount(folder, capsys)
    assert code == 3
    assert told["problems"] == ["The file 'release.csv' has changed: its SHA-256 is not the one in the codebook."]


def unlisted(folder: Path) -> Path:
    """The same folder with a codebook that lists no files, as if somebody had changed both."""
    book = json.loads((folder / "codebook.json").read_text())
    (folder / "codebook.json").write_text(json.dumps({**book, "files": []}))
    return folder / "release.csv"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.with_columns(ssn=pl.int_range(pl.len())), "'ssn' is published, but"),
        (lambda frame: frame.with_columns(pl.when(pl.col("patient").is_first_distinct()).then(pl.lit("*"))
                                          .otherwise("age").alias("age")), "have records in several groups"),
    ],
    ids=["a column more", "a record in another group"],
)  # fmt: skip
def test_what_was_changed_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any, told: str) -> None:
    file = unlisted(release_in(tmp_path))
    change(pl.read_csv(file, infer_schema=False)).write_csv(file)
    code, answer = by_recount(file.parent, capsys)
    assert code == by_shoal(file.parent)[0] == 3
    assert any(told in problem for problem in answer["problems"])


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (lambda folder: (folder / "codebook.json").unlink(), "There is no codebook"),
        (lambda folder: (folder / "codebook.json").write_text("[1"), "cannot be read as JSON"),
        (lambda folder: (folder / "codebook.json").write_text('{"made_by": "shoal"}'), "format_version"),
        (lambda folder: (folder / "codebook.json").write_text('{"format_version": 1}'), "does not tell"),
        (lambda folder: (folder / "release.csv").unlink(), "must hold one file"),
        (lambda folder: (folder / "release.csv").write_text("patient,age\n"), "lacks columns"),
        (lambda folder: shutil.rmtree(folder), "There is no release"),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], broken: Any, told: str
) -> None:
    folder = release_in(tmp_path)
    broken(folder)
    assert recount.main([str(folder)]) == 2
    assert told in capsys.readouterr().err
    code, answer = by_recount(folder, capsys)
    assert code == 2
    assert told in answer["error"]
