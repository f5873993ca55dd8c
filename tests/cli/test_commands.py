"""assess, protect and verify keep the contract: JSON keys, exit codes, flags and policy alike."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import polars as pl
import pytest

from shoal.cli.main import cli
from shoal.policy import Policy
from tests.cli.conftest import COLUMNS, MODELS, Shoal

KEYS = {
    "records", "persons", "groups", "max_gidr", "avg_gidr", "max_gsar", "avg_gsar", "g_balance", "h_affiliation", "k",
    "person_k", "ane", "seconds", "verdict",
}  # fmt: skip
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
MODEL_KEYS = {"name", "asked", "reached", "holds", "checked_from"}


def test_assess_tells_the_risk_of_the_table(shoal: Shoal) -> None:
    answer = shoal("assess", "clinics.csv", *COLUMNS, "--json").json
    assert answer.keys() >= KEYS
    assert (answer["records"], answer["persons"]) == (19, 8)
    assert answer["max_gidr"] == 1
    assert answer["max_gsar"] == {"disease": 1.0}
    assert answer["verdict"] == {**answer["verdict"], "holds": False, "models": []}


def test_assess_answers_where_a_model_is_not_met(shoal: Shoal) -> None:
    asked = shoal("assess", "clinics.csv", *COLUMNS, *MODELS, "--json")
    assert asked.code == 0
    assert not asked.json["verdict"]["holds"]
    assert [set(model) >= MODEL_KEYS for model in asked.json["verdict"]["models"]] == [True, True]


def test_protect_gives_the_release_of_the_paper(shoal: Shoal) -> None:
    answer = shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "out", "--json").json
    assert answer.keys() >= KEYS | {"before"}
    assert answer["before"].keys() >= KEYS - {"seconds", "verdict"}
    assert (answer["records"], answer["persons"], answer["groups"]) == (19, 8, 3)
    assert (answer["max_gidr"], answer["g_balance"], answer["h_affiliation"]) == (0.5, 0.5, 0.5)
    assert round(answer["avg_gidr"], 4) == 0.4667
    assert answer["verdict"]["holds"]
    assert [model["name"] for model in answer["verdict"]["models"]] == ["g-balance", "h-affiliation"]
    released = pl.read_csv("out/release.csv", infer_schema=False)
    assert released.columns == ["name", "age", "gender", "zip", "disease"]
    assert set(released["age"]) == {"84-86", "78-85", "69-76"}
    assert not set(released["name"]) & {"Ashley", "Bob", "Charlie", "Diana", "Edward", "Fred", "Greg", "Harry"}
    assert {path.name for path in Path("out").iterdir()} == {
        "release.csv", "codebook.html", "codebook.json", "datapackage.json", "summary.html", "steward"}  # fmt: skip


def test_flags_and_policy_meet_in_one_policy(shoal: Shoal) -> None:
    assert shoal("protect", "clinics.csv", *COLUMNS, *MODELS, "--cut", "median", "-o", "by_flags").code == 0
    assert shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "by_policy").code == 0
    texts = [Path(folder, "steward/policy.toml").read_text() for folder in ("by_flags", "by_policy")]
    assert texts[0] == texts[1]
    assert Policy.load("by_flags/steward/policy.toml") == Policy.load("policy.toml")


def test_the_stored_policy_repeats_the_run(shoal: Shoal) -> None:
    Path("sub").mkdir()
    zips = ("20048", "20090", "20375", "20400", "20420")
    Path("sub/zip.csv").write_text("".join(f"{zip_code};any\n" for zip_code in zips))
    Path("sub/policy.toml").write_text(
        Path("policy.toml").read_text().replace('"zip"', '{ name = "zip", kind = "number", hierarchy = "zip.csv" }')
    )
    first = shoal("protect", "clinics.csv", "--policy", "sub/policy.toml", "-o", "first", "--json").json
    second = shoal("protect", "clinics.csv", "--policy", "first/steward/policy.toml", "-o", "second", "--json").json
    shown = set(pl.read_csv("second/release.csv", infer_schema=False)["zip"])
    assert all(label.startswith("{") for label in shown - {*zips, "any"}), "sets of nodes, no ranges of numbers"
    assert shown - set(zips)
    assert {key: first[key] for key in KEYS - {"seconds"}} == {key: second[key] for key in KEYS - {"seconds"}}


def test_flags_win_over_the_policy(shoal: Shoal) -> None:
    answer = shoal(
        "protect", "clinics.csv", "--policy", "policy.toml", "-o", "out", "--g-balance", "k=4", "--seed", "3",
        "--h-affiliation", "l=2", "--person-k", "2", "--method", "mondrian", "--mask", "suppress", "--json",
    ).json  # fmt: skip
    asked = {model["name"]: model["asked"] for model in answer["verdict"]["models"]}
    assert asked == {"g-balance": 0.75, "h-affiliation": 0.5, "person-k-anonymity": 2}
    stored = tomllib.loads(Path("out/steward/policy.toml").read_text())
    assert stored["method"] == {"name": "mondrian"}  # the policy's cut belongs to another method
    assert (stored["mask"], stored["seed"]) == ({"name": "suppress"}, 3)


@pytest.mark.parametrize(
    ("flags", "name", "asked"),
    [
        (["--record-risk", "1/2"], "record-risk", 0.5),
        (["--entropy-balance", "1.5"], "entropy-balance", 1.5),
        (["--k", "3"], "k-anonymity", 3),
        (["--person-k", "2"], "person-k-anonymity", 2),
        (["--l", "2"], "l-diversity", 2),
        (["--l", "2", "--l-kind", "distinct", "--l-count", "persons"], "l-diversity", 2),
        (["--l", "2", "--l-kind", "recursive", "--l-c", "3"], "l-diversity", 2),
        (["--t", "0.5", "--t-distance", "ordered"], "t-closeness", 0.5),
        (["--alpha-k", "0.6,3"], "alpha-k-anonymity", 0.6),
        (["--beta", "3", "--beta-kind", "basic"], "beta-likeness", 3),
        (["--delta-disclosure", "9"], "delta-disclosure", 9),
    ],
)
def test_every_model_has_its_flag(shoal: Shoal, flags: list[str], name: str, asked: float) -> None:
    (model,) = shoal("protect", "clinics.csv", *COLUMNS, *flags, "-o", "out", "--json").json["verdict"]["models"]
    assert (model["name"], model["asked"], model["holds"]) == (name, asked, True)
    assert shoal("verify", "out", "--json").json["verdict"]["models"][0]["name"] == name


def test_two_clinics_are_put_together_by_renaming(shoal: Shoal) -> None:
    names = {"visit_no": "admission", "patient": "name", "age_years": "age", "sex": "gender", "zip_code": "zip",
             "diagnosis": "disease", "doctor": "physician"}  # fmt: skip
    renames = [flag for old, new in names.items() for flag in ("--rename", f"lexington.csv:{old}={new}")]
    run = shoal(
        "protect", "franklin.csv", "lexington.csv", *renames, "--policy", "policy.toml",
        "--drop", "admission,physician", "-o", "out", "--json",
    )  # fmt: skip
    assert (run.json["records"], run.json["groups"], run.json["max_gidr"]) == (19, 3, 0.5)
    assert "9 of 'franklin.csv', 10 of 'lexington.csv'" in run.err


def test_persons_are_joined_to_their_records(shoal: Shoal) -> None:
    frame = pl.read_csv("clinics.csv", infer_schema=False)
    frame.select("admission", pl.col("name").alias("who"), "age", "disease").write_csv("records.csv")
    frame.group_by("name").agg(pl.col("gender", "zip").first()).filter(pl.col("name") != "Bob").write_csv("persons.csv")
    run = shoal(
        "assess", "records.csv", "--join", "persons.csv", "--on", "who=name", "--person", "who",
        "--quasi", "age,gender,zip", "--sensitive", "disease", "--drop", "admission", "--json",
    )  # fmt: skip
    assert (run.json["records"], run.json["persons"]) == (18, 7)
    assert "1 of 19 records match no person" in run.err


def test_parquet_in_parquet_out_and_csv_if_asked(shoal: Shoal) -> None:
    pl.read_csv("clinics.csv").write_parquet("clinics.parquet")
    assert shoal("protect", "clinics.parquet", "--policy", "policy.toml", "-o", "out").code == 0
    assert pl.read_parquet("out/release.parquet").height == 19
    assert shoal("protect", "clinics.parquet", "--policy", "policy.toml", "-o", "out2", "--format", "csv").code == 0
    assert Path("out2/release.csv").is_file()
    assert shoal("verify", "out").code == shoal("verify", "out2").code == 0


def test_a_csv_in_another_dress_keeps_it(shoal: Shoal) -> None:
    frame = pl.read_csv("clinics.csv", infer_schema=False).with_columns(pl.col("disease") + " é")
    Path("dressed.csv").write_bytes(frame.write_csv(separator=";").encode("latin-1"))
    run = shoal("protect", "dressed.csv", "--policy", "policy.toml", "--encoding", "latin-1", "-o", "out")
    assert run.code == 0, run.err
    assert shoal("verify", "out", "--json").json["verdict"]["holds"]


def test_other_quotes_and_missing_texts_do_not_confuse_verify(shoal: Shoal) -> None:
    frame = pl.read_csv("clinics.csv", infer_schema=False)
    frame = frame.with_columns(pl.when(pl.col("age") == "69").then(pl.lit("NA")).otherwise("age").alias("age"))
    frame.write_csv("quoted.csv", quote_char="'", quote_style="always")
    run = shoal("protect", "quoted.csv", "--policy", "policy.toml", "--quasi", "age:number,gender,zip:nominal",
                "--quote", "'", "--missing-text", "NA", "-o", "out", "--json")  # fmt: skip
    assert run.json["verdict"]["holds"]
    assert "or missing" in Path("out/release.csv").read_text()
    assert shoal("verify", "out", "--json").json["verdict"]["holds"]


def test_verify_says_what_is_not_met(shoal: Shoal) -> None:
    assert shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "out").code == 0
    met = shoal("verify", "out", "--json")
    assert (met.code, met.json["verdict"]["holds"], met.json["problems"]) == (0, True, [])
    assert met.json.keys() >= KEYS
    assert shoal("verify", "out/release.csv", "--policy", "policy.toml").code == 0
    harder = shoal("verify", "out", "--g-balance", "0.6", "--json")
    assert (harder.code, harder.json["verdict"]["holds"]) == (3, False)
    assert [model["holds"] for model in harder.json["verdict"]["models"]] == [False, True]
    assert shoal("verify", "clinics.csv", *COLUMNS, *MODELS).code == 3


def test_verify_needs_no_steward_folder(shoal: Shoal) -> None:
    assert shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "out").code == 0
    Path("handed").mkdir()
    for name in ("release.csv", "codebook.json"):
        Path("handed", name).write_bytes(Path("out", name).read_bytes())
    assert shoal("verify", "handed", "--policy", "policy.toml").code == 0
    assert shoal("verify", "handed").code == 0, "the codebook tells what was promised"


def test_verify_notices_a_changed_file(shoal: Shoal) -> None:
    assert shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "out").code == 0
    codebook = Path("out/codebook.json")
    codebook.write_text(codebook.read_text() + " ")
    changed = shoal("verify", "out", "--json")
    assert changed.code == 3
    assert not changed.json["verdict"]["holds"]
    assert any("codebook.json" in problem for problem in changed.json["problems"])
    assert "codebook.json" in shoal("verify", "out").out


def test_verify_notices_a_dropped_column_that_is_published(shoal: Shoal) -> None:
    assert shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "out").code == 0
    frame = pl.read_csv("out/release.csv", infer_schema=False)
    frame.with_columns(pl.lit("1").alias("admission")).write_csv("more.csv")
    run = shoal("verify", "more.csv", "--policy", "policy.toml", "--json")
    assert run.code == 3
    assert any("'admission'" in problem for problem in run.json["problems"])


def test_people_read_tables_and_what_may_leave(shoal: Shoal) -> None:
    run = shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "out")
    for words in ["before", "after", "records", "persons", "groups", "50.00 %", "g-balance", "met", "May be handed out",
                  "release.csv", "Stays with you", "manifest.json"]:  # fmt: skip
        assert words in run.out
    assert "person map" not in run.out
    assessed = shoal("assess", "clinics.csv", "--policy", "policy.toml")
    assert "NOT MET" in assessed.out
    assert "100.00 %" in assessed.out


def test_the_person_map_is_kept_only_when_asked_for(shoal: Shoal) -> None:
    shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "out")
    shoal("protect", "clinics.csv", "--policy", "policy.toml", "-o", "kept", "--keep-person-map", "--no-report")
    assert not Path("out/steward/persons.parquet").exists()
    assert Path("kept/steward/persons.parquet").exists()
    assert Path("out/steward/report.json").exists()
    assert not Path("kept/steward/report.json").exists()


def test_an_earlier_release_is_replaced_only_when_asked_for(shoal: Shoal) -> None:
    run = ["protect", "clinics.csv", "--policy", "policy.toml", "-o", "out"]
    assert shoal(*run).code == 0
    first = Path("out/release.csv").read_bytes()
    refused = shoal(*run)
    assert refused.code == 2
    assert "not empty" in refused.err
    assert Path("out/release.csv").read_bytes() == first
    assert shoal(*run, "--overwrite").code == 0
    assert Path("out/release.csv").read_bytes() != first  # new pseudonyms, another order


def test_the_budget_is_passed_on(shoal: Shoal) -> None:
    impossible = ["protect", "clinics.csv", *COLUMNS, "--record-risk", "0.25", "-o", "out", "--json"]
    assert shoal(*impossible).code == 3
    assert not Path("out").exists()
    run = shoal(*impossible, "--max-suppressed", "2")
    assert run.json["persons"] < 8
    assert "left out" in run.err or "suppressed" in run.err


def test_a_kept_column_that_identifies_is_refused_unless_that_is_allowed(shoal: Shoal) -> None:
    frame = pl.read_csv("clinics.csv", infer_schema=False)
    frame.rename({"admission": "badge"}).write_csv("badges.csv")
    policy = Path("policy.toml").read_text()
    Path("badges.toml").write_text(policy.replace('dropped = ["admission"]', 'kept = ["badge"]'))
    asked = ["protect", "badges.csv", "--policy", "badges.toml", "-o", "badges"]
    refused = shoal(*asked, "--json")
    assert refused.code == 3
    assert "8 of 8 persons (100.0%) are alone in their group by the kept column 'badge'" in refused.err
    assert "allow it (allow_alone)" in refused.json["error"]["hint"]
    assert not Path("badges").exists()
    assert shoal(*asked, "--allow-alone", "--max-alone", "7").code == 3
    assert shoal(*asked, "--allow-alone", "--json").json["alone_by"]["kept"] == 8
    assert shoal("verify", "badges").code == 0  # by the policy's word
    shown = shoal("verify", "badges", "--max-alone", "7")
    assert shown.code == 3
    assert "persons alone in their group by the kept columns together" in shown.out
    assert "at most 7 may be (max_alone)" in " ".join(shown.out.split())
    policy = Path("badges/steward/policy.toml").read_text()
    Path("strict.toml").write_text(policy.replace("allow_alone = true", ""))
    assert shoal("verify", "badges/release.csv", "--policy", "strict.toml").code == 3
    shutil.rmtree("badges/steward")
    assert shoal("verify", "badges").code == 0  # whoever received it has the codebook's word


def test_the_command_answers_as_a_program(shoal: Shoal, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "shoal.cli.main", "assess", "clinics.csv", "--policy", "policy.toml", "--json"],
        capture_output=True, text=True, check=True, cwd=tmp_path, env=ENVIRONMENT,
    )  # fmt: skip
    assert run.stdout.count("\n") == 1
    assert run.stderr == ""


@pytest.mark.parametrize(("command", "most"), [([], 0.25), (["demo"], 0.25), (["protect"], 0.5)])
def test_help_comes_at_once(command: list[str], most: float) -> None:
    """The models are asked for their flags only where these are shown, which takes numpy."""

    def seconds_of_cpu() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run([sys.executable, "-m", "shoal.cli.main", *command, "--help"], capture_output=True,
                             check=True, text=True, env=ENVIRONMENT)  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "Examples:" in run.stdout
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds_of_cpu() for _ in range(3)) <= most


@pytest.mark.parametrize("command", ["protect", "tune", "compare", "assess"])
def test_help_is_one_screen_and_says_where_the_rest_is(command: str, shoal: Shoal) -> None:
    made = cli.get_command(click.Context(cli), command)
    assert made is not None
    lines = made.get_help(click.Context(made, info_name=f"shoal {command}", terminal_width=100)).splitlines()
    assert len(lines) <= 50
    assert all(len(line) <= 100 for line in lines[: lines.index("Examples:")])
    assert [line for line in lines if line in ("Source:", "Columns:", "Models:")] == ["Source:", "Columns:", "Models:"]
    assert f"'shoal {command} --help-all' shows every flag" in " ".join(lines)
    assert len(shoal(command, "--help-all").out.splitlines()) > len(lines)
    assert shoal(command, "visits.csv", "--help").out == shoal(command, "--help", "visits.csv").out


def test_help_explains_a_part_by_its_name(shoal: Shoal) -> None:
    method = " ".join(shoal("protect", "--help", "spanning-tree").out.split())
    assert "spanning-tree, a method. Near persons" in method
    assert "--repair, --no-repair Whether groups of 2m" in method
    assert "--cut" not in method
    assert "Engines that offer it: memory." in method
    mask = " ".join(shoal("tune", "--help", "anatomize").out.split())
    assert "--quasi-as exact|range" in mask
    assert "Engines that offer it: memory, spark." in mask
    model = " ".join(shoal("assess", "--help", "h-affiliation").out.split())
    assert "h-affiliation, a model. No sensitive value" in model
    assert "--h-affiliation H" in model
    wrong = shoal("protect", "--help", "madv")
    assert wrong.code == 2
    assert "Did you mean 'mdav'?" in wrong.err


def test_help_names_every_command_and_flag(shoal: Shoal) -> None:
    told = shoal("--help").out
    for command in ("demo", "profile", "assess", "protect", "verify"):
        assert f"  {command} " in told
        assert "--json" in shoal(command, "--help").out
    flags = shoal("protect", "--help-all").out
    for flag in ("--person", "--quasi", "--sensitive", "--drop", "--keep", "--time", "--g-balance", "--h-affiliation",
                 "--record-risk", "--k ", "--person-k", "--l ", "--t ", "--method", "--mask", "--seed", "--overwrite",
                 "--no-report", "--engine", "--keep-person-map", "--max-suppressed"):  # fmt: skip
        assert flag in flags
