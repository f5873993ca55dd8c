"""A policy file is read exactly, and all its faults are told at once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from shoal.errors import ParameterError, PolicyError
from shoal.models import MODELS, AlphaKAnonymity, GBalance, HAffiliation, LDiversity
from shoal.policy import Policy
from shoal.policy.load import make_model
from shoal.table.schema import Nominal, Ordered

WHOLE = """
seed = 7

[source]
delimiter = ";"
encoding = "latin-1"
missing = ["", "NA"]
rename = [{}, { sex = "gender" }]
join = { person_file = "persons.csv", on = { pid = "id" } }

[columns]
person = "patient"
quasi = [
    "age:number",
    { name = "gender", kind = "nominal" },
    { name = "level", kind = "ordered", order = ["low", "high"] },
    { name = "zip", hierarchy = { prefixes = [3, 5] } },
]
sensitive = ["disease"]
kept = ["ward"]
dropped = ["name"]
time = "visit"
time_as = "shift"
missing = "drop"

[models]
g-balance = 0.8
h-affiliation = [{ l = 3 }, { h = 0.5, column = "disease" }]
l-diversity = { l = 2.5, kind = "entropy" }
alpha-k-anonymity = { alpha = 0.5, k = 3 }

[method]
name = "balance-tree"
cut = "median"

[mask]
name = "range"
code_extremes = true

[budget]
max_suppressed = 3
max_records = 20
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults_of(folder: Path, text: str) -> str:
    with pytest.raises(PolicyError) as caught:
        Policy.load(written(folder, text))
    return str(caught.value)


def test_a_whole_policy_is_read(tmp_path: Path) -> None:
    policy = Policy.load(written(tmp_path, WHOLE))
    schema = policy.schema_of_release()
    assert (schema.person, schema.sensitive, schema.kept, schema.dropped) == (
        "patient",
        ("disease",),
        ("ward",),
        ("name",),
    )
    assert (schema.time, schema.time_as, schema.missing) == ("visit", "shift", "drop")
    assert [column.kind for column in schema.columns] == ["number", "nominal", "ordered", "auto"]
    assert schema.columns[1:3] == (Nominal("gender"), Ordered("level", None, ("low", "high")))
    assert policy.models == (
        GBalance(g=Fraction(4, 5)),
        HAffiliation(h=Fraction(1, 3)),
        HAffiliation(h=Fraction(1, 2), column="disease"),
        LDiversity(l=Fraction(5, 2), kind="entropy"),
        AlphaKAnonymity(alpha=Fraction(1, 2), k=3),
    )
    assert (policy.method, policy.mask, policy.seed) == ("balance-tree", "range", 7)
    assert policy.options == {"cut": "median", "code_extremes": True}
    assert (policy.budget.max_suppressed, policy.budget.max_records) == (3, 20)
    assert (policy.source.delimiter, policy.source.encoding, policy.source.missing) == (";", "latin-1", ("", "NA"))
    assert policy.source.rename == ({}, {"sex": "gender"})
    assert policy.source.join is not None
    assert policy.source.join.on == {"pid": "id"}


@pytest.mark.parametrize("text", ["0.8", "0.80", "8e-1", "'4/5'", "{ g = 0.8 }", "{ k = 5 }", "{ k = 5.0 }"])
def test_thresholds_are_the_numbers_as_written(tmp_path: Path, text: str) -> None:
    policy = Policy.load(written(tmp_path, f"[columns]\nquasi = ['age']\n[models]\ng-balance = {text}\n"))
    assert policy.models == (GBalance(g=Fraction(4, 5)),)


def test_a_long_decimal_is_not_rounded(tmp_path: Path) -> None:
    text = "0.12345678901234567890123"
    policy = Policy.load(written(tmp_path, f"[columns]\nquasi = ['age']\n[models]\nrecord-risk = {text}\n"))
    assert policy.models[0].rho == Fraction(text)  # type: ignore[attr-defined]


def test_all_faults_are_told_together_with_their_places(tmp_path: Path) -> None:
    told = faults_of(
        tmp_path,
        """
        sed = 1
        [columns]
        quasi = ["a", { name = "b", kinde = "x" }, { name = "c", kind = "foo" }]
        missing = "no"
        [source]
        decimal = "x"
        [models]
        g-balance = 1.5
        h-affiliaton = 0.3
        alpha-k-anonymity = 0.5
        k-anonymity = 2.5
        l-diversity = { l = 2, kin = "x" }
        t-closeness = [{ t = 0.1 }, { t = 7 }]
        [budget]
        max_suppressed = -1
        max_records = true
        """,
    )
    assert told.startswith("'policy.toml' has 13 faults:")
    for place in [
        "sed: there is no such key",
        "columns.quasi[2].kinde: there is no such key",
        "columns.quasi[3].kind: must be",
        "columns.missing: must be 'value', 'refuse' or 'drop'",
        "source.decimal: must be '.' or ','",
        "models.g-balance: g must lie in [0, 1)",
        "models.h-affiliaton: there is no such model",
        "Did you mean 'h-affiliation'?",
        "models.alpha-k-anonymity: alpha-k-anonymity needs 'k'",
        "models.k-anonymity: k must be a whole number",
        "models.l-diversity: l-diversity has no parameter 'kin'",
        "models.t-closeness[2]: t must",
        "budget.max_suppressed: must be a whole number of persons, 0 or more",
        "budget.max_records: must be a whole number",
    ]:
        assert place in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "columns: this is needed"),
        ("[columns]\nperson = 'p'\n", "columns.quasi: this is needed"),
        ("[columns]\nquasi = []\n", "names no quasi-identifier"),
        ("[columns]\nquasi = 'age'\n", "columns.quasi: must be a list"),
        ("[columns]\nquasi = ['age']\nsensitive = ['age']\n", "'age' is named as quasi and as sensitive"),
        ("[columns]\nquasi = ['age', 'age:number']\n", "'age' is named as quasi and as quasi"),
        ("[columns]\nquasi = [{ name = 'zip', hierarchy = {} }]\n", "give exactly one of"),
        ("[columns]\nquasi = [{ name = 'zip', hierarchy = { icd = true, prefixes = true } }]\n", "give exactly one of"),
        (
            "[columns]\nquasi = [{ name = 'a', hierarchy = { intervals = { low = 0, width = 0, high = 9 } } }]\n",
            "width",
        ),
        ("[columns]\nquasi = [{ name = 'a', kind = 'number', order = ['x'] }]\n", "an order goes with"),
        ("columns = 3\nmodels = 4\n", "columns: must be a table"),
        ("[columns]\nquasi = ['a']\n[models]\ng-balance = true\n", "models.g-balance: g must be a number"),
        ("[columns]\nquasi = ['a']\n[models]\ng-balance = nan\n", "models.g-balance: g must be a number"),
        ("[columns]\nquasi = ['a']\n[models]\ng-balance = { g = 0.5, k = 2 }\n", "no parameter 'k'"),
        ("[columns]\nquasi = ['a']\n[models]\ng-balance = { k = 0 }\n", "k must be a whole number"),
        ("[columns\n", "not valid TOML"),
        ("seed = 1\nseed = 2\n", "not valid TOML"),
    ],
)
def test_a_faulty_file_is_refused(tmp_path: Path, text: str, told: str) -> None:
    assert told in faults_of(tmp_path, text)


def test_an_absent_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="There is no policy file"):
        Policy.load(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PolicyError, match="UTF-8"):
        Policy.load(tmp_path / "binary.toml")


def test_a_bare_number_is_the_first_parameter_of_every_model_that_needs_one() -> None:
    for name in MODELS:
        if name in (needs := {"alpha-k-anonymity": "k", "no-attack": "cost"}):
            with pytest.raises(ParameterError, match=f"needs '{needs[name]}'"):
                make_model(name, 1)
        else:
            assert make_model(name, 1 if name != "g-balance" else 0).name == name


def test_a_colon_in_a_name_is_kept_unless_a_kind_follows() -> None:
    policy = Policy.from_document({"columns": {"quasi": ["a:b", "c:d:number", {"name": "e:date"}]}})
    assert [(column.name, column.kind) for column in policy.columns.quasi] == [
        ("a:b", "auto"),
        ("c:d", "number"),
        ("e:date", "auto"),
    ]
    assert Policy.from_document(policy.to_document()) == policy
