"""PRAM: matrices as defined, frequencies as they say, marginals kept, one draw per person, corrected estimates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.grouping.grouping import everybody
from shoal.masking.pram import Pram, drawn_anew, drawn_matrix, invariant
from shoal.masking.publish import Published
from shoal.measuring.pram import corrected, estimated_counts
from shoal.table.table import Table
from tests.naive import changing as naive

SCHEMA = shoal.Schema(person="who", quasi=[shoal.Nominal("job"), shoal.Nominal("place")], sensitive=["disease"])
SHARES = {"clerk": 0.55, "smith": 0.3, "judge": 0.1, "pilot": 0.05}


def people(n: int = 8_000, *, seed: int = 99, records: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    job = rng.choice(list(SHARES), n, p=list(SHARES.values()))
    place = np.where(rng.random(n) < 0.3, "north", "south")
    who = np.repeat(np.arange(n), records)
    return pl.DataFrame({"who": who, "job": job[who], "place": place[who], "disease": rng.integers(0, 4, n)[who]})


def changed(mask: Pram, frame: pl.DataFrame, seed: int = 3) -> tuple[Table, Published, pl.DataFrame]:
    """The table, what is published, and the same in the order of the table."""
    table = Table.from_frame(frame, SCHEMA)
    published = mask.publish(table, everybody(table), rng=np.random.default_rng(seed))
    return table, published, published.frame[np.argsort(published.record_of_published).tolist()]


@given(st.lists(st.floats(0.01, 1.0), min_size=2, max_size=6), st.data())
def test_matrices_are_those_of_the_definition(stay: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(1, 50), min_size=len(stay), max_size=len(stay)))
    shares = np.array(weights) / sum(weights)
    matrix = drawn_matrix(np.array(stay))
    assert matrix == pytest.approx(np.array(naive.spread_evenly(stay)))
    twice = invariant(matrix, shares)
    assert twice == pytest.approx(np.array(naive.invariant(matrix.tolist(), shares.tolist())))
    assert twice.sum(axis=1) == pytest.approx(np.ones(len(stay)))
    assert shares @ twice == pytest.approx(shares)  # invariant


def test_the_matrix_of_sdcmicro_is_ours() -> None:
    counts = np.array([814, 3697, 19, 34, 16])
    stay = np.array([0.857515504024923, 0.957661027088761, 0.88179538436234, 0.976603480800986, 0.988093456858769])
    ours = 0.5 * invariant(drawn_matrix(stay), counts / counts.sum()) + 0.5 * np.eye(5)
    theirs = [0.922926926072339, 0.982023578719762, 0.58696633747994, 0.659065698985933, 0.592219885199859]
    assert np.diag(ours) == pytest.approx(theirs, abs=1e-14)


@settings(deadline=None)
@given(st.data())
def test_a_category_is_drawn_where_its_chance_falls(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    weights = np.array([data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)) for _ in range(n)]) + np.eye(n)
    matrix = weights / weights.sum(axis=1, keepdims=True)
    present = np.array(sorted(data.draw(st.sets(st.integers(0, 20), min_size=n, max_size=n))))
    line = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=30))
    chance = np.random.default_rng(data.draw(st.integers(0, 99))).random(len(line))
    found = drawn_anew(present[line], present, matrix, chance)
    assert found.tolist() == [present[naive.drawn(matrix[i].tolist(), u)] for i, u in zip(line, chance, strict=True)]


def test_transitions_are_drawn_by_the_matrix_and_marginals_stay() -> None:
    frame = people()
    for matrix in ("drawn", "invariant"):
        mask = Pram(stays=0.3, strength=1.0, matrix=matrix)  # type: ignore[arg-type]
        _, published, after = changed(mask, frame)
        told = published.told["job"]["matrices"][0]
        pairs = pl.DataFrame({"a": frame["job"], "b": after["job"]})
        for i, a in enumerate(told["categories"]):
            own = pairs.filter(pl.col("a") == a)
            for j, b in enumerate(told["categories"]):
                p = told["lines"][i][j]
                seen = (own["b"] == b).mean()
                assert abs(seen - p) < 4.5 * np.sqrt(p * (1 - p) / len(own)) + 1e-9  # type: ignore[operator]
    # the invariant one, over draws of the matrix too
    means = np.mean(
        [
            [(changed(Pram(stays=0.2, strength=1.0), frame, seed)[2]["job"] == a).mean() for a in SHARES]
            for seed in range(20)
        ],
        axis=0,
    )
    own = [(frame["job"] == a).mean() for a in SHARES]
    assert means == pytest.approx(own, abs=0.004)
    biased = [
        (changed(Pram(stays=0.2, strength=1.0, matrix="drawn"), frame, s)[2]["job"] == "clerk").mean() for s in range(5)
    ]
    assert abs(np.mean(biased) - own[0]) > 0.02  # which the drawn one is not


def test_all_records_of_a_person_with_one_category_show_one() -> None:
    frame = people(300, records=5)
    _, _, after = changed(Pram(stays=0.1, strength=1.0), frame)
    assert after.with_columns(frame["who"].alias("own")).group_by("own").agg(pl.col("job").n_unique())["job"].max() == 1
    assert (after["job"] != frame["job"]).mean() > 0.1


def test_strata_have_matrices_of_their_own() -> None:
    frame = people(3_000)
    schema = shoal.Schema(person="who", quasi=[shoal.Nominal("job")], sensitive=["disease"], kept=["place"])
    table = Table.from_frame(frame, schema)
    published = Pram(strata="place", stays=0.2, strength=1.0, publish_matrix=True).publish(
        table, everybody(table), rng=np.random.default_rng(1)
    )
    both = published.book["job"]["matrices"]
    assert [each["stratum"]["place"] for each in both] == ["north", "south"]
    for each in both:
        inside = frame.filter(pl.col("place") == each["stratum"]["place"])
        shares = np.array([(inside["job"] == name).mean() for name in each["categories"]])
        assert shares @ np.array(each["lines"]) == pytest.approx(shares)
    estimated = estimated_counts(published.frame, {"job": published.book["job"]})
    own = frame["job"].value_counts()
    joined = estimated.join(own.rename({"count": "own"}), on="job")
    assert ((joined["estimate"] - joined["own"]).abs() < 5 * joined["standard_error"] + 1).all()


def test_the_matrix_leaves_only_where_that_is_asked_for() -> None:
    frame = people(500)
    kept, told = (changed(Pram(publish_matrix=each), frame)[1] for each in (False, True))
    assert "matrices" not in kept.book["job"]
    assert "matrices" in kept.told["job"]
    assert told.book["job"]["matrices"] == told.told["job"]["matrices"]


def test_a_given_matrix_is_used_and_a_wrong_one_refused(tmp_path: Path) -> None:
    jobs = {a: {b: 1.0 if a == b else 0.0 for b in SHARES} for a in SHARES}
    jobs["clerk"] = {"clerk": 0.25, "judge": 0.75}
    places = {"north": {"south": 1.0}, "south": {"north": 1.0}}
    matrices = {"job": jobs, "place": places}
    (tmp_path / "m.json").write_text(json.dumps(matrices))
    for form in (matrices, json.dumps(matrices), str(tmp_path / "m.json")):
        _, _, after = changed(Pram(matrix="given", given=form), (frame := people(2_000)))
        assert (after["place"] != frame["place"]).all()
        clerks = after.filter(frame["job"] == "clerk")["job"]
        assert set(clerks) == {"clerk", "judge"}
        assert (clerks == "judge").mean() == pytest.approx(0.75, abs=0.06)
        assert (after.filter(frame["job"] == "pilot")["job"] == "pilot").all()
    for wrong, words in (
        ({"job": jobs}, "no matrix for 'place'"),
        ({"job": {"clerk": {"clerk": 1.0}}, "place": places}, "lacks lines for 3 of its 4"),
        ({"job": {**jobs, "pilot": {"pilot": 0.5}}, "place": places}, "of 1 lines"),
    ):
        with pytest.raises(shoal.errors.ParameterError, match=words):
            changed(Pram(matrix="given", given=wrong), people(2_000))
    for options in ({"matrix": "given"}, {"given": "{}"}, {"strength": 0}, {"stays": 1.0}):
        with pytest.raises(shoal.errors.ParameterError):
            Pram(**options)  # type: ignore[arg-type]


def test_missing_stays_and_sensitive_columns_can_be_changed() -> None:
    frame = people(1_000).with_columns(pl.when(pl.col("who") < 50).then(None).otherwise(pl.col("job")).alias("job"))
    table, published, after = changed(Pram(columns=["job", "place", "disease"], stays=0.1, strength=1.0), frame)
    assert (after["job"].is_null() == frame["job"].is_null()).all()
    assert set(after["disease"]) <= set(frame["disease"])
    assert (after["disease"] != frame["disease"]).mean() > 0.2
    assert published.book["disease"]["form"] == "changed"
    assert table.sensitive["disease"].codes is not None
    with pytest.raises(shoal.errors.ParameterError, match="is a stratum"):
        changed(Pram(strata="job"), frame)


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 4), st.integers(2, 3), st.integers(0, 1000))
def test_corrected_counts_give_back_what_was(n: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, two = drawn_matrix(0.6 + 0.4 * rng.random(n)), drawn_matrix(0.7 + 0.3 * rng.random(m))
    own = rng.integers(0, 50, (n, m))
    expected = one.T @ own @ two
    assert corrected(expected, [one, two])[0] == pytest.approx(own)
    # the variance of a count, by the definition: sum over own cells of the spread of what one draw adds
    variance = corrected(expected, [one, two])[1]
    back = np.kron(np.linalg.inv(one.T), np.linalg.inv(two.T))
    chances = np.kron(one, two)
    naive_variance = [
        sum(own.ravel()[x] * ((back[c] ** 2 @ chances[x]) - (back[c] @ chances[x]) ** 2) for x in range(n * m))
        for c in range(n * m)
    ]
    assert variance.ravel() == pytest.approx(np.array(naive_variance), abs=1e-6)


def test_corrected_estimates_are_unbiased_and_as_sure_as_they_say() -> None:
    frame = people(2_000)
    errors, plain = [], []
    for seed in range(60):
        _, published, _ = changed(Pram(stays=0.5, strength=1.0, matrix="drawn", publish_matrix=True), frame, seed)
        found = estimated_counts(published.frame, {name: published.book[name] for name in ("job", "place")})
        own = frame.group_by("job", "place").len("own")
        both = found.join(own, on=["job", "place"])
        errors += ((both["estimate"] - both["own"]) / both["standard_error"]).to_list()
        plain += ((both["count"] - both["own"]) / both["standard_error"]).to_list()
    assert abs(np.mean(errors)) < 0.15
    assert 0.75 < np.std(errors) < 1.25
    assert np.std(plain) > 1.5  # without the correction they are off


def test_ordered_categories_are_drawn_too() -> None:
    frame = pl.DataFrame({"grade": ["low", "middle", "high", "middle"] * 50})
    schema = shoal.Schema(quasi=[shoal.Ordered("grade", order=("low", "middle", "high"))])
    release = shoal.protect(frame, schema, [], mask="pram", stays=0.2, strength=1.0, max_linkage=0.5, seed=1)
    assert set(release.data["grade"]) == {"low", "middle", "high"}
    assert release.to_dict()["changed"]["grade"]["changed"] > 0.05  # type: ignore[index]
