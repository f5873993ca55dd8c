"""The game between publisher and adversary: as ARX plays it."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import ParameterError
from shoal.measuring.game import Game
from tests.models.test_population_models import SCHEMA, counts, drawn, town

DATA = Path(os.environ.get("SHOAL_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
EIGHT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


def test_payouts_are_those_of_arx() -> None:
    game = Game(gain=300, cost=4, benefit=1200, loss=300)
    assert (game.adversary(0.2), game.adversary(0.01)) == (56, -1)
    assert (game.publisher(0.25, 0.2), game.publisher(0.25, 0.01)) == (840, 900)
    assert game.payout(np.array([5, 100]), np.array([0.25, 0.25])) == 1740


@pytest.mark.data
@pytest.mark.parametrize(("cost", "printed"), [(4, 32_460_900), (2, 32_457_000)])
def test_raw_adult_is_worth_what_arx_says(cost: float, printed: float) -> None:
    file = DATA / "adult" / "adult_arx.csv"
    if not file.is_file():
        pytest.skip("adult_arx.csv is not in the folder that SHOAL_DATA names")
    rows = pl.read_csv(file, separator=";").select(EIGHT).rows()
    size = Counter(rows)
    assert Game(gain=300, cost=cost, benefit=1200, loss=300).payout(np.array([size[row] for row in rows])) == (
        pytest.approx(printed, abs=0.5)
    )


@pytest.mark.parametrize(("gain", "cost", "k"), [(300, 4, 76), (300, 2, 151), (600, 2, 301), (1200, 2, 601), (1, 2, 1)])
def test_no_attack_asks_for_as_many_persons_as_arx(gain: float, cost: float, k: int) -> None:
    model = shoal.NoAttack(gain=gain, cost=cost)
    assert model.least_persons == k
    assert model.holds(counts([k, k + 1])).all()
    assert not model.holds(counts([k - 1])).any()


def test_a_release_on_which_no_attack_pays() -> None:
    release = shoal.protect(drawn(), SCHEMA, [shoal.NoAttack(gain=9, cost=1)], seed=1)
    assert release.risk.person_k >= 10
    journalist = shoal.NoAttack(gain=19, cost=1, attacker="journalist", population=town())
    other = shoal.protect(drawn(), SCHEMA, [journalist], seed=1)
    assert other.risk.person_k < 20
    assert shoal.verify(other.data, SCHEMA, [journalist]).holds


@pytest.mark.parametrize(
    "wrong", [{"gain": 0, "cost": 1}, {"gain": 1, "cost": -1}, {"gain": 1, "cost": 1, "attacker": "x"}]
)
def test_stakes_that_are_none_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        shoal.NoAttack(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        Game(gain=1, cost=1, benefit=-1, loss=0)


STAKES = Game(gain=20, cost=3, benefit=10, loss=40)


def naive_payout(data: pl.DataFrame, fit: dict[tuple[object, ...], float], lost: float) -> float:
    """The sum over published persons, one record each, of what each is worth."""
    worth = 0.0
    for row in data.rows():
        chance = 1 / fit[row]
        worth += STAKES.benefit * (1 - lost) - (STAKES.loss * chance if STAKES.gain * chance > STAKES.cost else 0)
    return worth


def test_tune_finds_what_a_release_is_worth_most_at() -> None:
    found = shoal.tune(drawn(), SCHEMA, minimise="payout", game=STAKES, points=6, seed=1)
    assert found.chosen is not None
    assert found.release is not None
    best = max(point.payout or 0 for point in found.points if point.method == found.chosen.method)
    assert found.chosen.payout == best
    assert found.chosen.loss == pytest.approx(1 - best / (10 * 40))
    assert found.to_dict()["chosen"]["payout"] == best  # type: ignore[index]
    sizes = Counter(found.release.data.rows())
    told = naive_payout(found.release.data, dict(sizes), found.release.utility.loss)
    assert best == pytest.approx(told)
    assert any(point.setting().get("person-k-anonymity") == 7 for point in found.points)  # no attack pays there


def test_a_journalist_looks_into_the_population() -> None:
    game = Game(gain=20, cost=3, benefit=10, loss=40, attacker="journalist")
    with pytest.raises(ParameterError, match="needs a population"):
        shoal.tune(drawn(), SCHEMA, minimise="payout", game=game)
    by_table = shoal.tune(drawn(), SCHEMA, minimise="payout", game=game, population=town(), points=4, seed=1)
    own = shoal.tune(drawn(), SCHEMA, minimise="payout", game=STAKES, points=4, seed=1)
    weighted = shoal.Schema(quasi=SCHEMA.quasi, weight="w")
    by_weight = shoal.tune(drawn().with_columns(w=10.0), weighted, minimise="payout", game=game, points=4, seed=1)
    worth = [found.chosen.payout for found in (own, by_table, by_weight) if found.chosen is not None]
    assert worth[0] < worth[1]
    assert worth[0] < worth[2]


def test_a_payout_needs_stakes_and_stakes_are_read() -> None:
    with pytest.raises(ParameterError, match="needs the stakes"):
        shoal.tune(drawn(), SCHEMA, targets={"max_gidr": 0.5}, minimise="payout")
    assert Game.parse("gain=300, cost=4,benefit=1200,loss=300") == Game(gain=300, cost=4, benefit=1200, loss=300)
    for wrong, why in (("gain=1", "cost, benefit and loss not given"), ("gian=1", "'gian' is none"),
                       ("gain=x,cost=1,benefit=1,loss=1", "gain must be a number")):  # fmt: skip
        with pytest.raises(ParameterError, match=why):
            Game.parse(wrong)
