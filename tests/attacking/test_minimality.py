"""Where a tree stopped tells of the values: equal to its definition, and a worked example."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacking import minimality as attack_module
from shoal.attacking.contract import DoesNotApply
from shoal.attacking.minimality import Minimality, MinimalityAttack
from shoal.attacking.setting import Setting
from shoal.errors import CannotSatisfyError
from shoal.grouping import BalanceTree, Mondrian
from shoal.grouping.feasibility import refuse_impossible
from shoal.grouping.stopping import stopped_at
from shoal.judging.observation import Observation
from shoal.models.counts import SPREAD
from shoal.table.table import Table
from tests.naive import minimality as naive

SCHEMA = shoal.Schema(person="name", quasi=["age", shoal.Nominal("sex")], sensitive=["disease"])


def known(table: Table, models: list[object], method: object = None) -> Minimality:
    method = method or Mondrian()
    return Minimality(table, method.group(table, models), method, tuple(models))  # type: ignore[attr-defined, arg-type]


def of_values(minimality: Minimality) -> Iterator[tuple[list[int], list[dict[str, float]], str]]:
    """Of each group the persons, the probability of each value for each of them, and how it was found."""
    categories = minimality.table.sensitive["disease"].categories.to_list()
    for _, types, posterior in minimality.posteriors():
        chances = (posterior.of_type @ types.has["disease"])[posterior.cell_of_person]
        names = [categories[code] for code in types.codes["disease"]]
        told = [{name: chance for name, chance in zip(names, line, strict=True) if chance > 1e-12} for line in chances]
        yield posterior.persons.tolist(), told, posterior.how


@pytest.fixture
def five() -> Table:
    """Two persons of 30 and three of 40; two have flu. With h = 1/2 the cut between the ages fails exactly if both
    with flu are on one side: 1 way of 10 on the left, 3 on the right. So who is 30 has flu with 1/4, who is 40 with
    (3 * 2/3) / 4 = 1/2; the group alone says 2/5."""
    frame = pl.DataFrame(
        {
            "name": list("ABCDE"),
            "age": [30, 30, 40, 40, 40],
            "sex": ["f"] * 5,
            "disease": ["cold", "gout", "flu", "flu", "ulcer"],
        }
    )
    return Table.from_frame(frame, SCHEMA)


def test_the_worked_example(five: Table) -> None:
    ((persons, chances, how),) = of_values(known(five, [shoal.HAffiliation(h="0.5")]))
    assert (persons, how) == ([0, 1, 2, 3, 4], "counted")
    assert [chance["flu"] for chance in chances] == pytest.approx([0.25, 0.25, 0.5, 0.5, 0.5])
    others = [(1 - 0.25) / 3] * 2 + [0.5 / 3] * 3
    for person, other in enumerate(others):
        assert [chances[person][name] for name in ("cold", "gout", "ulcer")] == pytest.approx([other] * 3)


def test_a_cut_that_fails_by_numbers_of_persons_tells_nothing(five: Table) -> None:
    models = [shoal.HAffiliation(h="0.5"), shoal.PersonKAnonymity(k=3)]
    ((_, chances, how),) = of_values(known(five, models))
    assert how == "free"
    assert [chance["flu"] for chance in chances] == pytest.approx([0.4] * 5)


# Equal to the definition


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A few persons, so that all ways can be tried, some with two records."""
    rows = []
    for number in range(draw(st.integers(2, 7))):
        age, sex = draw(st.integers(1, 4)), draw(st.sampled_from("fm"))
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            rows.append((f"p{number}", age, sex, draw(st.sampled_from("abc"))))
    return Table.from_frame(pl.DataFrame(rows, schema=["name", "age", "sex", "disease"], orient="row"), SCHEMA)


def expected(table: Table, minimality: Minimality, meets: object) -> dict[int, dict[str, Fraction]]:
    """By trying all ways, with the cuts of the tree."""
    held = [
        tuple(sorted(table.frame["disease"].filter(pl.Series(table.person_of_record == person)).to_list()))
        for person in range(table.n_persons)
    ]
    stopped = stopped_at(table, minimality.method, minimality.models, minimality.grouping)
    found = {}
    for group in range(minimality.grouping.n_groups):
        persons = np.flatnonzero(minimality.grouping.group_of_person == group).tolist()
        cuts = [
            {persons.index(person) for person in stopped.left_of(cut)} for cut in np.flatnonzero(stopped.group == group)
        ]
        told = naive.posterior([held[person] for person in persons], cuts, meets)  # type: ignore[arg-type]
        found.update(zip(persons, told, strict=True))
    return found


METHODS = st.sampled_from([Mondrian(), Mondrian(spread="z-score"), BalanceTree(cut="median")])


@settings(deadline=None, max_examples=60)
@given(tables(), METHODS, st.sampled_from(["h", "l"]), st.integers(1, 2))
def test_what_is_counted_equals_its_definition(table: Table, method: object, which: str, k: int) -> None:
    model = shoal.HAffiliation(h="0.5") if which == "h" else shoal.LDiversity(l=2, kind="distinct")
    models = [model, shoal.PersonKAnonymity(k=k)]
    try:
        refuse_impossible(table, models)
    except CannotSatisfyError:
        assume(False)
    minimality = known(table, models, method)
    meets = naive.meets_h(Fraction(1, 2)) if which == "h" else naive.meets_l(2)
    by_definition = expected(table, minimality, meets)
    for persons, chances, how in of_values(minimality):
        assert how in ("free", "counted")
        for person, chance in zip(persons, chances, strict=True):
            assert chance == pytest.approx({value: float(part) for value, part in by_definition[person].items()})


@settings(deadline=None, max_examples=60)
@given(tables(), METHODS)
def test_cuts_that_are_listed_fail_by_values_alone(table: Table, method: object) -> None:
    models = [shoal.LDiversity(l=2, kind="distinct"), shoal.PersonKAnonymity(k=1)]
    try:
        refuse_impossible(table, models)
    except CannotSatisfyError:
        assume(False)
    minimality = known(table, models, method)
    stopped = stopped_at(table, method, models, minimality.grouping)
    for cut, group in enumerate(stopped.group.tolist()):
        members = np.flatnonzero(minimality.grouping.group_of_person == group)
        left = set(stopped.left_of(cut).tolist())
        assert left < set(members.tolist())
        sides = np.where(np.isin(np.arange(table.n_persons), list(left)), 0, 2)
        sides[np.setdiff1d(members, list(left))] = 1
        counts = Observation.of_groups(table, sides.astype(np.int32), 3).counts(frozenset({"distinct_values"}))
        holds = [model.holds(counts)[:2] for model in models]
        assert all(each.all() for each, model in zip(holds, models, strict=True) if model.needs <= SPREAD)
        assert not np.logical_and.reduce(holds).all()


# Drawing and walking


@pytest.mark.parametrize("way", ["drawn", "walked"])
def test_drawing_and_walking_come_near_to_counting(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "name": [f"p{number:02}" for number in range(14)],
            "age": [30] * 6 + [40] * 8,
            "sex": [*"fffffm", *"ffmmmmmm"],
            "disease": [
                *["flu"] * 6,
                *rng.permutation(["cold", "gout", "ulcer", "cold", "gout", "ulcer", "rash", "rash"]),
            ],
        }
    )
    table = Table.from_frame(frame, SCHEMA)
    models = [shoal.HAffiliation(h="0.5"), shoal.PersonKAnonymity(k=3)]
    monkeypatch.setattr(attack_module, "MOST_WAYS", 10**6)
    ((_, counted, how),) = of_values(known(table, models))
    assert how == "counted"
    monkeypatch.setattr(attack_module, "MOST_WAYS", 0)
    if way == "walked":
        monkeypatch.setattr(attack_module, "LEAST", 10**9)
    ((_, types, posterior),) = known(table, models).posteriors()
    assert posterior.how == way
    error = float(np.sqrt(posterior.error**2 @ types.has["disease"]).max())
    assert 0 < error < 0.05
    ((_, found, _),) = of_values(known(table, models))
    for one, other in zip(counted, found, strict=True):
        for name in one:
            assert other.get(name, 0.0) == pytest.approx(one[name], abs=5 * error)


# The attack


def setting_of(table: Table, models: list[object], method: object, **options: object) -> Setting:
    release = shoal.protect(table.frame, SCHEMA, models, method=method, measure_input=False, **options)  # type: ignore[arg-type]
    return Setting(
        schema=SCHEMA, frame=release.published.frame, original=table, method=method, models=tuple(models),  # type: ignore[arg-type]
        tables=release.published.tables, mask=getattr(release.mask, "name", "range"),
    )  # fmt: skip


def test_the_attack_on_the_worked_example(five: Table) -> None:
    (found,) = MinimalityAttack().try_on(setting_of(five, [shoal.HAffiliation(h="0.5")], Mondrian()))
    # of 30 the three others are equally likely (1/4 each, as flu is): one of four; of 40 flu, which two of three have
    assert found.success == pytest.approx((2 * 0.25 + 2) / 5)
    assert found.details["success_without_cuts"] == pytest.approx(2 / 5)
    assert found.blind == pytest.approx(2 / 5)
    assert found.targets == 5
    assert found.details["highest_probability"] == pytest.approx(0.5)
    assert found.details["largest_rise"] == pytest.approx(0.1)
    assert found.details["persons_above_promise"] == 0
    assert found.details["groups_by_way"] == {"counted": 1}


@pytest.mark.parametrize(
    ("models", "method", "options", "why"),
    [
        ([shoal.HAffiliation(h="0.5")], BalanceTree(), {}, "cut at the median"),
        ([shoal.PersonKAnonymity(k=2)], Mondrian(), {}, "No model asks about sensitive values"),
        ([shoal.LDiversity(l=2, kind="distinct", count="persons")], Mondrian(), {}, "who has what"),
        ([shoal.HAffiliation(h="0.9"), shoal.PersonKAnonymity(k=3)], Mondrian(), {}, "nothing is learned"),
    ],
)
def test_where_it_does_not_apply_it_says_why(
    five: Table, models: list[object], method: object, options: dict[str, object], why: str
) -> None:
    with pytest.raises(DoesNotApply, match=why):
        MinimalityAttack().try_on(setting_of(five, models, method, **options))
