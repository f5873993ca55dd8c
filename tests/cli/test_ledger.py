"""protect --ledger and shoal ledger, as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Shoal


def protect(shoal: Shoal, out: str, *more: str, quasi: str = "age,gender:nominal,zip") -> Answer:
    shown = {each.split(":")[0] for each in quasi.split(",")}
    dropped = ",".join(["admission", *sorted({"age", "gender", "zip"} - shown)])
    return shoal("protect", "clinics.csv", "--person", "name", "--quasi", quasi, "--sensitive", "disease", "--drop",
                 dropped, "--person-k", "2", "--method", "mondrian", "-o", out, "--no-report", *more)  # fmt: skip


def test_releases_are_entered_listed_and_forgotten(shoal: Shoal, tmp_path: Path) -> None:
    first = protect(shoal, "a", "--ledger", "ledger.sqlite", "--json").json
    assert first["ledger"]["known_persons"] == 0
    assert (tmp_path / "ledger.sqlite.key").is_file()
    again = protect(shoal, "b", "--ledger", "ledger.sqlite", "--json").json
    assert (again["ledger"]["known_persons"], again["ledger"]["holds"]) == (8, True)
    listed = shoal("ledger", "ledger.sqlite", "--json").json["releases"]
    assert [(each["number"], each["name"], each["state"], each["persons"]) for each in listed] == [
        (1, "a", "done", 8), (2, "b", "done", 8),
    ]  # fmt: skip
    shown = shoal("ledger", "ledger.sqlite", "--forget", "1")
    assert shown.code == 0
    assert "Release 1 is forgotten" in shown.out
    assert shoal("ledger", "ledger.sqlite", "--forget", "1").code == 2
    listed = shoal("ledger", "ledger.sqlite", "--json").json["releases"]
    assert [each["state"] for each in listed] == ["forgotten", "done"]


def test_releases_that_break_a_model_together_are_told_or_refused(shoal: Shoal, tmp_path: Path) -> None:
    protect(shoal, "a", "--ledger", "ledger.sqlite", quasi="age")
    told = protect(shoal, "b", "--ledger", "ledger.sqlite", quasi="zip")
    assert told.code == 0
    assert "person-k-anonymity 2 is broken for" in told.err
    assert "models are BROKEN for" in told.out
    refused = protect(shoal, "c", "--ledger", "ledger.sqlite", "--ledger-mode", "refuse", quasi="zip,gender:nominal")
    assert refused.code == 3
    assert "Nothing was written" in refused.err
    assert not (tmp_path / "c").exists()


def test_a_policy_may_name_the_ledger(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    text = (tmp_path / "policy.toml").read_text()
    ledger = '\n[ledger]\nfile = "../kept.sqlite"\nkey = "../secret.key"\nmode = "refuse"\n'
    (tmp_path / "rules" / "p.toml").write_text(text + ledger)
    said = shoal("protect", "clinics.csv", "--policy", "rules/p.toml", "-o", "a")
    assert said.code == 0, said.err
    assert (tmp_path / "kept.sqlite").is_file()
    kept = (tmp_path / "a" / "steward" / "policy.toml").read_text()
    assert 'file = "../../kept.sqlite"' in kept
    assert 'mode = "refuse"' in kept
    key = (tmp_path / "secret.key").read_text().strip()
    for path in (tmp_path / "a").rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes(), path
    assert shoal("verify", "a").code == 0
    assert shoal("protect", "clinics.csv", "--policy", "a/steward/policy.toml", "-o", "b").code == 0
    assert len(shoal("ledger", "kept.sqlite", "--json").json["releases"]) == 2


@pytest.mark.parametrize("flags", [["--ledger-key", "k"], ["--ledger-mode", "refuse"]])
def test_flags_about_no_ledger_are_refused(shoal: Shoal, flags: list[str]) -> None:
    said = protect(shoal, "a", *flags)
    assert said.code == 2
    assert "--ledger" in said.err


def test_a_ledger_that_cannot_be_used_is_refused_before_the_work(shoal: Shoal, tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_text("something else")
    (tmp_path / "ledger.sqlite.key").write_text("ab" * 32)
    (tmp_path / "ledger.sqlite.key").chmod(0o600)
    said = protect(shoal, "a", "--ledger", "ledger.sqlite")
    assert said.code == 2
    assert "no ledger" in said.err
    assert not (tmp_path / "a").exists()
