"""shoal verify: what a table is taken to be is said by a flag or the policy, and by nothing in the table."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Shoal
from tests.pipeline.test_published_apart import NO_ROLE, RAW

FLAGS = ("--person", "patient", "--quasi", "age,zip", "--sensitive", "disease", "--person-k", "4", "--h-affiliation",
         "0.25")  # fmt: skip


def test_the_command_line_believes_the_flag_or_the_policy(shoal: Shoal, tmp_path: Path) -> None:
    file = tmp_path / "raw.csv"
    RAW.write_csv(file)
    for more in ((), ("--mask", "range")):
        answer = shoal("verify", file, *FLAGS, *more, "--json")
        assert answer.code == 3
        assert answer.json["problems"] == [NO_ROLE]
    assert shoal("verify", file, *FLAGS, "--mask", "permute").code == 0
    assert "Did you mean 'permute'" in shoal("verify", file, *FLAGS, "--mask", "permuted").err
    spread = ("--record-risk", "0.25", "--g-balance", "0.75")
    assert shoal("verify", file, *FLAGS, *spread, "--mask", "permute").code == 3
    for mask, code in (("range", 3), ("permute", 0)):
        policy = tmp_path / f"{mask}.toml"
        policy.write_text(
            '[columns]\nperson = "patient"\nquasi = ["age", "zip"]\nsensitive = ["disease"]\n'
            f'[models]\nperson-k-anonymity = 4\nh-affiliation = 0.25\n[mask]\nname = "{mask}"\n'
        )
        assert shoal("verify", file, "--policy", policy).code == code
