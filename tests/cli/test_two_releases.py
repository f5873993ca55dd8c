"""shoal attack --with, and minimality, as a user would ask for them."""

from __future__ import annotations

from tests.cli.conftest import Shoal


def protect(shoal: Shoal, out: str, quasi: str, *more: str) -> None:
    shown = {each.split(":")[0] for each in quasi.split(",")}
    dropped = ",".join(["admission", *sorted({"age", "gender", "zip"} - shown)])
    made = shoal("protect", "clinics.csv", "--person", "name", "--quasi", quasi, "--sensitive", "disease", "--drop",
                 dropped, "--method", "mondrian", "-o", out, "--no-report", *more)  # fmt: skip
    assert made.code == 0, made.err


def test_two_releases_tell_more_than_one(shoal: Shoal) -> None:
    protect(shoal, "a", "age", "--person-k", "2")
    protect(shoal, "b", "zip,gender:nominal", "--person-k", "2")
    asked = ("attack", "a", "--original", "clinics.csv", "--with", "b", "--attacks", "two-releases")
    person, value = shoal(*asked, "--json").json["attacks"]
    assert (person["name"], value["name"]) == ("two releases, person", "two releases, value of disease")
    assert person["targets"] == 8
    assert person["low"] <= person["success"] <= person["high"]
    assert person["blind"] == 1 / 8
    assert person["success"] > person["details"]["success_with_the_first_alone"]
    assert value["details"]["mean_values_left"] >= 1
    assert shoal(*asked, "--fail-above", "0.1").code == 3
    assert "two releases, person" in shoal(*asked).out


def test_the_other_release_needs_the_original_and_a_policy(shoal: Shoal) -> None:
    protect(shoal, "a", "age", "--person-k", "2")
    said = shoal("attack", "a", "--with", "a")
    assert said.code == 2
    assert "name the original" in said.err
    said = shoal("attack", "a", "--original", "clinics.csv", "--with", "a/release.csv")
    assert said.code == 2
    assert "folder that protect has written" in said.err


def test_minimality_takes_method_and_models_from_the_policy(shoal: Shoal) -> None:
    protect(shoal, "a", "age,zip", "--h-affiliation", "0.5")
    answer = shoal("attack", "a", "--original", "clinics.csv", "--attacks", "minimality", "--json").json
    (found,) = answer["attacks"]
    assert found["name"] == "minimality, value of disease"
    assert sum(found["details"]["groups_by_way"].values()) == found["details"]["groups_with_failed_cuts"]
    protect(shoal, "b", "age,zip", "--person-k", "2")
    answer = shoal("attack", "b", "--original", "clinics.csv", "--attacks", "minimality", "--json").json
    assert "No model asks about sensitive values" in answer["not_tried"][0]["why"]
