"""An attack of somebody else's package: found by its entry point, in Python, on the command line and in the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest

import shoal as library
from shoal.attacking.contract import GROUPS, Attack, AttackResult, Attempt, Finding, Recounted
from shoal.attacking.setting import Setting
from shoal.errors import ParameterError
from shoal.parts import option
from tests.cli.conftest import COLUMNS, Shoal
from tests.conftest import Installed
from tests.pipeline import tables


@dataclass(frozen=True)
class Coin(Attack):
    """Toss a coin for everybody."""

    name = "coin"
    question = "Does a coin know?"
    knows = "Nothing but a coin."
    needs = (GROUPS,)

    sides: int = field(default=2, metadata=option("How many sides the coin has.", low=2))

    def run(self, setting: Setting) -> list[AttackResult]:
        n = setting.view.n_persons
        return [self.result("coin, heads", aim="heads", successes=n / self.sides, targets=n, blind=0.5, is_exact=False)]

    def findings(self, recounted: Recounted) -> Iterator[Finding]:
        toss = Attempt(label="toss", what="heads", success=0.5, blind=0.5)
        yield Finding(name="toss a coin", knows="nothing", does="tosses", persons=1, attempts=(toss,))


class Silent(Attack):
    """An attack that says nothing of itself, and has no result."""

    name = "silent"

    def run(self, setting: Setting) -> list[AttackResult]:
        return []


def test_what_an_attack_does_not_say_is_taken_in_the_way_that_is_safe(visits: pl.DataFrame) -> None:
    schema = library.Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    (alone,) = library.attack(visits, schema=schema, attacks=[Silent()]).not_tried
    assert "original" in alone.why
    (untried,) = library.attack(visits, visits, schema, attacks=[Silent()]).not_tried
    assert untried.why == "It gave no result."
    assert Silent.result("s", aim="a", successes=0, targets=1, blind=0.0).knows.endswith("everything.")
    assert (Silent.bound, Silent.in_suite) == ("at least", True)


@pytest.fixture
def coin(installed: Installed) -> None:
    installed("coins", "shoal.attacks", {"coin": f"{__name__}:Coin"})


@pytest.mark.usefixtures("coin")
def test_it_is_tried_with_all_others(visits: pl.DataFrame) -> None:
    release = library.protect(tables.visits(), tables.SCHEMA, tables.MODELS, seed=1)
    suite = release.attack(["coin", "skewness"], sides=4)
    assert list(dict.fromkeys(result.attack for result in suite.results)) == ["skewness", "coin"]
    assert suite.of("coin")[0].success == 0.25
    assert suite.of("coin") == library.attack(release, attacks=["skewness", Coin(sides=4)]).of("coin")
    assert [each["name"] for each in suite.to_dict()["attacks"]][-1] == "coin, heads"
    assert suite.to_dict()["attacks"][-1]["knows"] == "Nothing but a coin."
    schema = library.Schema(person="person", quasi=["age", "city"], sensitive=["disease"])
    assert "coin" in {result.attack for result in library.attack(visits, schema=schema).results}
    with pytest.raises(ParameterError, match="sides must be a whole number of at least 2"):
        release.attack(["coin"], sides=1)
    with pytest.raises(ParameterError, match="Did you mean 'sides'"):
        release.attack(["coin"], side=3)


@pytest.mark.usefixtures("coin")
def test_it_has_a_flag_an_answer_and_a_line_in_the_report(shoal: Shoal) -> None:
    made = shoal("protect", "clinics.csv", *COLUMNS, "--k", "3", "-o", "out", "--attack", "--json")
    assert "coin" in {result["attack"] for result in made.json["attacks"]}
    page = Path("out/steward/report.html").read_text(encoding="utf-8")
    assert "Coin, heads" in page
    assert "at least 50" in page  # what is not exact may be more, unless the attack says otherwise
    assert "Toss a coin" in page
    answer = shoal("attack", "out", "--attacks", "coin", "--sides", "5", "--json").json
    assert [(each["name"], each["success"]) for each in answer["attacks"]] == [("coin, heads", 0.2)]
    gate = shoal("attack", "out", "--attacks", "coin", "--fail-above", "0.9")
    assert (gate.code, "coin was not searched to its end" in gate.err) == (3, True)
    assert shoal("attack", "out", "--sides", "1").code == 2
    told = shoal("attack", "--help").out
    assert "--sides" in told
    assert "minimality, coin" in " ".join(told.split())
