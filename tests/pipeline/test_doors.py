"""The doors as a newcomer tries them who has read the names and nothing else."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.demo.clinics import clinics
from shoal.errors import ParameterError

SCHEMA = shoal.Schema(
    person="name", quasi=["age", "gender:nominal", "zip:number"], sensitive=["disease"], dropped=["admission"]
)
SOURCE = Path(shoal.__file__).parents[1]


def test_a_kind_may_follow_the_name_in_python_as_on_the_command_line() -> None:
    named = shoal.Schema(quasi=["age", "zip:number", "sex:nominal", "level:ordered", "born:date"])
    assert named.columns[1:] == (shoal.Number("zip"), shoal.Nominal("sex"), shoal.Ordered("level"), shoal.Date("born"))
    assert shoal.Schema(quasi=[shoal.Number("odd:date")]).quasi_names == ("odd:date",)
    mixed = pl.DataFrame({"zip": ["1234", "12A", "1234", "12A"]})
    with pytest.raises(shoal.errors.SchemaError, match="zip:nominal"):
        shoal.assess(mixed, shoal.Schema(quasi=["zip"]))
    assert shoal.assess(mixed, shoal.Schema(quasi=["zip:nominal"])).k == 2


def test_a_kind_that_there_is_not_is_named_as_such() -> None:
    with pytest.raises(shoal.errors.SchemaError) as refusal:
        shoal.assess(pl.DataFrame({"zip": ["1", "2"]}), shoal.Schema(quasi=["zip:nominl"]))
    assert "'zip' is named with the kind 'nominl'" in str(refusal.value)
    assert "Did you mean 'nominal'?" in str(refusal.value)
    assert "no role" not in str(refusal.value)


def test_an_assessment_has_every_key_of_a_release() -> None:
    before = shoal.assess(clinics(), SCHEMA)
    assert (before.ane, before.to_dict()["ane"]) == (0.0, 0.0)
    release = shoal.protect(clinics(), SCHEMA, [shoal.PersonKAnonymity(k=2)])
    verified = shoal.verify(release.data, SCHEMA, release.models)
    assert verified.to_dict()["ane"] is None
    assert before.to_dict().keys() <= release.to_dict().keys()


def test_masked_quasi_identifiers_are_texts_in_every_kind_of_frame() -> None:
    frame, models = clinics(), [shoal.GBalance(g=0.5), shoal.HAffiliation(h=0.5)]
    in_polars, in_pandas, in_pyarrow = (
        shoal.protect(given, SCHEMA, models).data for given in (frame, frame.to_pandas(), frame.to_arrow())
    )
    assert in_polars["age"].str.contains("-").all()
    assert {str(in_pyarrow.schema.field(name).type) for name in ("age", "gender", "zip")} == {"large_string"}
    assert in_pandas.groupby(["age", "gender", "zip"], observed=False).size().tolist() == [10, 5, 4]


def test_what_anatomize_publishes_is_verified_as_it_comes() -> None:
    models = [shoal.PersonKAnonymity(k=2)]
    release = shoal.protect(clinics().to_pandas(), SCHEMA, models, mask="anatomize")
    assert list(release.tables) == ["disease"]
    assert list(release.tables["disease"].columns) == ["group", "disease", "persons"]
    assert type(release.tables["disease"]) is type(release.data)
    assert shoal.verify(release.data, SCHEMA, models, tables=release.tables).holds
    assert shoal.protect(clinics(), SCHEMA, models).tables == {}


def test_a_seed_of_numpy_is_a_seed() -> None:
    release = shoal.protect(clinics(), SCHEMA, [shoal.PersonKAnonymity(k=2)], seed=np.int64(7))  # type: ignore[arg-type]
    assert release.seed == 7
    assert type(release.seed) is int


def test_models_of_size_are_not_advised_to_make_the_table_smaller() -> None:
    for model, reach in ((shoal.PersonKAnonymity(k=9), "at most 8."), (shoal.KAnonymity(k=20), "at most 19.")):
        with pytest.raises(shoal.errors.CannotSatisfyError) as refusal:
            shoal.protect(clinics(), SCHEMA, [model])
        assert str(refusal.value).endswith(f"Ask for {reach}")
    with pytest.raises(shoal.errors.CannotSatisfyError, match="max_suppressed"):
        shoal.protect(clinics(), SCHEMA, [shoal.GBalance(g=0.9)])


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/",
                          env={"PYTHONPATH": str(SOURCE)})  # fmt: skip
    return done.stdout.strip()


def test_parts_are_found_without_importing_them_first() -> None:
    names = run(
        "import shoal; parts = shoal.engines.stream, shoal.publishing.later, shoal.publishing.related\n"
        "print(*(part.__name__ for part in parts))"
    )
    assert names == "shoal.engines.stream shoal.publishing.later shoal.publishing.related"
    assert run("import shoal; print(callable(shoal.engines.spark.protect))") == "True"


def test_the_version_is_told_also_where_shoal_is_not_installed() -> None:
    hidden = (
        "import importlib.metadata as m\ndef absent(name):\n    raise m.PackageNotFoundError\nm.version = absent\n"
        "import shoal; print(shoal.__version__)\n"
        "from shoal.cli.main import cli; cli(['--version'], prog_name='shoal')"
    )
    assert run(hidden).splitlines() == ["not installed", "shoal not installed"]


def test_a_policy_runs_as_its_parts_do(tmp_path: Path) -> None:
    frame = clinics()
    document = {
        "columns": {"person": "name", "quasi": ["age", "gender", "zip"], "sensitive": ["disease"],
                    "dropped": ["admission"]},
        "models": {"g-balance": "1/2", "h-affiliation": {"l": 2}},
        "method": {"name": "balance-tree", "cut": "median"},
        "seed": 7,
    }  # fmt: skip
    saved = shoal.Policy.from_document(document).save(tmp_path / "policy.toml")
    policy = shoal.Policy.load(saved)
    by_policy = shoal.protect(frame, policy)
    by_parts = shoal.protect(frame, policy.schema_of_release(), policy.models, cut="median", seed=7)
    assert by_policy.risk == by_parts.risk
    assert by_policy.method == by_parts.method
    assert shoal.protect(frame, policy, seed=9).seed == 9
    with pytest.raises(ParameterError, match="either a policy, or a schema and models with models, mask, cut"):
        shoal.protect(frame, policy, policy.models, mask="mean", cut="best")


def test_a_release_is_shown_in_a_few_lines_and_never_pickled() -> None:
    release = shoal.protect(clinics(), SCHEMA, [shoal.GBalance(g=0.5)], seed=7)
    shown = repr(release)
    assert shown.startswith("Release: holds\n  model")
    assert "g-balance" in shown
    assert len(shown) < 400
    assert "Charlie" not in shown
    assert release != shoal.protect(clinics(), SCHEMA, [shoal.GBalance(g=0.5)], seed=7)
    with pytest.raises(ParameterError, match="holds the original table, so it is not pickled"):
        pickle.dumps(release)
    assert repr(shoal.assess(clinics(), SCHEMA)).startswith("Assessment: no model was asked\n")


def test_the_suite_takes_a_release_or_a_published_table() -> None:
    release = shoal.protect(clinics(), SCHEMA, [shoal.GBalance(g=0.5)], seed=7)
    own = shoal.attack(release, attacks=["linkage"])
    assert own == release.attack(["linkage"])
    told = own.to_dict()["attacks"][0]
    assert {"name", "knows", "success", "low", "high", "blind"} <= told.keys()
    published = shoal.attack(release.data, clinics(), SCHEMA, attacks=["linkage"])
    assert {result.name for result in published.results} == {result.name for result in own.results}
