"""What is shown of histories: every demand is met as defined, and nothing is hidden that could be shown by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.masking import histories as stage
from shoal.masking.histories import Demand, Histories, HistoryColumn, levels_shown, records_kept
from tests.naive import histories as naive

# values 0 to 3 as themselves, as two pairs, as one; value 4 has a path of its own, value 5 joins at the top
NODES = np.array([[0, 1, 2, 3, 4, 5], [6, 6, 7, 7, 8, 9], [10, 10, 10, 10, 11, 11]], np.int32)
LOSSES = np.array([[0.0] * 6, [0.25] * 6, [0.6] * 6])


def published(histories: Histories, levels: Sequence[NDArray[np.int8]]) -> list[naive.Record]:
    """The records as the naive definitions take them."""
    records: list[naive.Record] = []
    for record, person in enumerate(histories.person_of_record):
        labels: list[object] = []
        for column, level in zip(histories.columns, levels, strict=True):
            nodes = column.node_of_value
            shown = int(level[record])
            labels.append(int(nodes[shown, column.value_of_record[record]]) if shown < len(nodes) else naive.HIDDEN)
        time = 0 if histories.time_of_record is None else int(histories.time_of_record[record])
        records.append((int(histories.group_of_person[person]), int(person), *labels, time))
    return records


def meets(histories: Histories, demands: Sequence[Demand], levels: Sequence[NDArray[np.int8]]) -> bool:
    """Whether what is shown keeps to all demands by their definitions."""
    records = published(histories, levels)
    return all(
        naive.holds(
            records,
            k=demand.k,
            m=demand.m,
            c=demand.c,
            columns=demand.columns,
            knows=demand.knows,
            by_group=demand.by_group,
        )
        and (
            not demand.shares_hidden
            or naive.shares_hidden(
                records, k=demand.k, m=demand.m, columns=demand.columns, knows=demand.knows, by_group=demand.by_group
            )
        )
        for demand in demands
    )


def column_of(values: Sequence[int], n_levels: int) -> HistoryColumn:
    return HistoryColumn(np.array(values, np.int32), NODES[:n_levels], LOSSES[:n_levels])


@st.composite
def some_histories(draw: st.DrawFn, *, least_persons: int = 4) -> Histories:
    """A few persons in up to three groups, each of at least four persons, with one or two columns."""
    n_groups = draw(st.integers(1, 3))
    group_of_person = [g for g in range(n_groups) for _ in range(draw(st.integers(least_persons, 7)))]
    records = [draw(st.integers(1, 3)) for _ in group_of_person]
    person_of_record = np.repeat(np.arange(len(records)), records).astype(np.int32)
    n = len(person_of_record)
    values = st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5]), min_size=n, max_size=n)
    columns = tuple(column_of(draw(values), draw(st.integers(1, 3))) for _ in range(draw(st.integers(1, 2))))
    times = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), np.int64)
    return Histories(np.array(group_of_person, np.int32), n_groups, person_of_record, columns, times)


@st.composite
def some_demand(draw: st.DrawFn, n_columns: int) -> Demand:
    columns = draw(st.sampled_from([(0,)] if n_columns == 1 else [(0,), (1,), (0, 1)]))
    c = draw(st.sampled_from([None, None, Fraction(1, 2), Fraction(4, 5), Fraction(1)]))
    return Demand(
        k=draw(st.integers(1, 4)),
        m=draw(st.integers(0, 3 if c is None else 2)),
        c=c,
        columns=columns,
        knows=draw(st.sampled_from(["values", "records", "times", "order"])),
        by_group=draw(st.booleans()),
    )


@st.composite
def sharing_tasks(draw: st.DrawFn) -> tuple[Histories, list[Demand]]:
    """Demands to which what is hidden is an item; everybody has as many records as are known together."""
    histories = draw(some_histories())
    records = draw(st.integers(1, 3))
    person = np.repeat(np.arange(len(histories.group_of_person)), records).astype(np.int32)
    values = st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 4, 5]), min_size=len(person), max_size=len(person))
    columns = tuple(replace(each, value_of_record=np.array(draw(values), np.int32)) for each in histories.columns)
    times = np.array(draw(st.lists(st.integers(0, 2), min_size=len(person), max_size=len(person))), np.int64)
    same = replace(histories, person_of_record=person, columns=columns, time_of_record=times)
    demands = draw(st.lists(some_demand(len(columns)), min_size=1, max_size=2))
    return same, [
        replace(each, knows="values" if each.knows == "times" else each.knows, shares_hidden=each.c is None)
        for each in demands
    ]


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Histories, list[Demand]]:
    histories = draw(some_histories())
    return histories, draw(st.lists(some_demand(len(histories.columns)), min_size=1, max_size=3))


@settings(max_examples=300, deadline=None)
@given(tasks())
def test_every_demand_is_met(task: tuple[Histories, list[Demand]]) -> None:
    histories, demands = task
    assert meets(histories, demands, levels_shown(histories, demands))


@settings(max_examples=300, deadline=None)
@given(sharing_tasks())
def test_hidden_values_are_shared_where_they_are_items(task: tuple[Histories, list[Demand]]) -> None:
    histories, demands = task
    assert meets(histories, demands, levels_shown(histories, demands))


@pytest.mark.parametrize("m", [1, 2])
@settings(max_examples=60, deadline=None)
@given(histories=some_histories(least_persons=5), k=st.integers(2, 4), by_group=st.booleans(), data=st.data())
def test_values_that_are_hidden_are_hidden_by_enough_persons(
    m: int, histories: Histories, k: int, by_group: bool, data: st.DataObject
) -> None:
    """Where k is all that is asked of single values, with two records for everybody."""
    person = np.repeat(np.arange(len(histories.group_of_person)), 2).astype(np.int32)
    values = data.draw(st.lists(st.integers(0, 5), min_size=len(person), max_size=len(person)))
    n_levels = data.draw(st.integers(1, 3))
    same = replace(histories, person_of_record=person, columns=(column_of(values, n_levels),), time_of_record=None)
    demands = [Demand(k=k, m=m, columns=(0,), by_group=by_group, shares_hidden=True)]
    assert meets(same, demands, levels_shown(same, demands))
    assert meets(same, demands, levels_shown(same, demands, is_quick=True))


def lowered(
    levels: Sequence[NDArray[np.int8]], column: int, records: NDArray[np.intp], level: int
) -> list[NDArray[np.int8]]:
    """The same with some cells of a column at a lower level."""
    other = [each.copy() for each in levels]
    other[column][records] = level
    return other


@settings(max_examples=150, deadline=None)
@given(tasks())
def test_nothing_is_hidden_that_could_be_shown_by_itself(task: tuple[Histories, list[Demand]]) -> None:
    """Neither one cell nor all cells of one label of a group can go down to a level below."""
    histories, demands = task
    levels = levels_shown(histories, demands)
    by_group = all(demand.by_group for demand in demands)
    group = histories.group_of_person[histories.person_of_record] if by_group else 0 * histories.person_of_record
    for at, column in enumerate(histories.columns):
        for level in range(len(column.node_of_value)):
            higher = levels[at] > level
            node = column.node_of_value[level][column.value_of_record]
            for record in np.flatnonzero(higher):
                assert not meets(histories, demands, lowered(levels, at, np.array([record]), level))
                together = np.flatnonzero(higher & (node == node[record]) & (group == group[record]))
                assert not meets(histories, demands, lowered(levels, at, together, level))


@settings(max_examples=100, deadline=None)
@given(some_histories(least_persons=4), st.integers(2, 3), st.integers(1, 2), st.booleans())
def test_without_levels_no_set_of_records_can_show_more_of_a_label(
    histories: Histories, k: int, m: int, by_group: bool
) -> None:
    flat = replace(
        histories, columns=(replace(histories.columns[0], node_of_value=NODES[:1], loss_of_level=LOSSES[:1]),)
    )
    demands = [Demand(k=k, m=m, columns=(0,), by_group=by_group)]
    levels = levels_shown(flat, demands)
    group = flat.group_of_person[flat.person_of_record] if by_group else 0 * flat.person_of_record
    for value, one_group in product(range(6), range(3)):
        hidden = np.flatnonzero((levels[0] > 0) & (flat.columns[0].value_of_record == value) & (group == one_group))
        for chosen in product([False, True], repeat=min(len(hidden), 7)):
            records = hidden[: len(chosen)][list(chosen)]
            assert not len(records) or not meets(flat, demands, lowered(levels, 0, records, 0))


@settings(max_examples=100, deadline=None)
@given(tasks(), st.randoms(use_true_random=False))
def test_the_same_persons_show_the_same_in_whatever_order_they_stand(
    task: tuple[Histories, list[Demand]], random: object
) -> None:
    histories, demands = task
    n_persons, n_records = len(histories.group_of_person), len(histories.person_of_record)
    persons, records = list(range(n_persons)), list(range(n_records))
    random.shuffle(persons)  # type: ignore[attr-defined]
    random.shuffle(records)  # type: ignore[attr-defined]
    place = np.empty(n_persons, np.int32)
    place[persons] = np.arange(n_persons)
    assert histories.time_of_record is not None
    shuffled = Histories(
        histories.group_of_person[persons],
        histories.n_groups,
        place[histories.person_of_record[records]],
        tuple(replace(column, value_of_record=column.value_of_record[records]) for column in histories.columns),
        histories.time_of_record[records],
    )

    def shown(of: Histories) -> Counter[object]:
        levels = levels_shown(of, demands)
        original = [np.zeros_like(level) for level in levels]
        by_person: dict[object, list[object]] = {}
        for known, told in zip(published(of, original), published(of, levels), strict=True):
            by_person.setdefault(known[:2], []).append((known[2:], told[2:]))
        return Counter((key[0], tuple(sorted(map(repr, cells)))) for key, cells in by_person.items())  # type: ignore[index]

    assert shown(histories) == shown(shuffled)


def small(values: Sequence[int], persons: Sequence[int], groups: Sequence[int], n_levels: int = 3) -> Histories:
    return Histories(
        np.array(groups, np.int32), max(groups) + 1, np.array(persons, np.int32), (column_of(values, n_levels),)
    )


def test_rare_values_go_up_until_enough_persons_share_a_label() -> None:
    histories = small([0, 0, 2, 3, 4], range(5), [0] * 5)
    (levels,) = levels_shown(histories, [Demand(k=2, m=1, columns=(0,))])
    assert levels.tolist() == [0, 0, 1, 1, 3]


def test_a_common_value_goes_up_for_one_person_so_that_rare_neighbours_are_shown() -> None:
    histories = small([0, 0, 0, 0, 1, 1], range(6), [0] * 6, n_levels=2)
    (levels,) = levels_shown(histories, [Demand(k=3, m=1, columns=(0,))])
    assert sorted(levels[:4].tolist()) == [0, 0, 0, 1]
    assert levels[4:].tolist() == [1, 1]


def test_a_group_smaller_than_k_shows_nothing() -> None:
    histories = small([0] * 7, range(7), [0, 0, 0, 0, 1, 1, 1])
    for m in range(3):
        (levels,) = levels_shown(histories, [Demand(k=4, m=m, columns=(0,))])
        assert levels.tolist() == [0] * 4 + [3] * 3
    (levels,) = levels_shown(histories, [Demand(k=8, m=0, columns=(0,), by_group=False)])
    assert levels.tolist() == [3] * 7


def test_a_value_shown_twice_counts_twice() -> None:
    histories = small([0, 0, 0, 0], [0, 0, 1, 2], [0] * 3, n_levels=1)
    (levels,) = levels_shown(histories, [Demand(k=2, m=1, columns=(0,))])
    assert levels.tolist() == [0] * 4
    (levels,) = levels_shown(histories, [Demand(k=2, m=2, columns=(0,))])
    assert sorted(levels.tolist()) == [0, 0, 0, 1]
    assert levels[:2].sum() == 1


def test_a_column_that_nothing_is_asked_of_is_shown() -> None:
    one = small([0, 1], [0, 1], [0, 0])
    both = replace(one, columns=one.columns * 2)
    first, second = levels_shown(both, [Demand(k=2, m=1, columns=(1,))])
    assert first.tolist() == [0, 0]
    assert second.tolist() == [1, 1]
    assert [each.tolist() for each in levels_shown(both, [])] == [[0, 0], [0, 0]]


def test_a_table_without_records_is_answered() -> None:
    nobody = small([], [], [0, 0])
    assert [each.tolist() for each in levels_shown(nobody, [Demand(k=2, m=1, columns=(0,))])] == [[]]


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    histories = small([0] * 40, [0] * 20 + [1] * 20, [0, 0])
    monkeypatch.setattr(stage, "MOST_COMBINATIONS", 2 * (20 + 190))
    levels_shown(histories, [Demand(k=2, m=2, columns=(0,))])
    for m in (3, 4, 100):
        with pytest.raises(ParameterError, match=r"combinations of up to .* smaller m.*max_records="):
            levels_shown(histories, [Demand(k=2, m=m, columns=(0,))])


def test_more_room_is_made_for_combinations(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    person = np.repeat(np.arange(30), 4).astype(np.int32)
    histories = Histories(
        (np.arange(30) // 10).astype(np.int32), 3, person, (column_of(rng.integers(0, 6, 120).tolist(), 3),)
    )
    demands = [Demand(k=3, m=2, columns=(0,))]
    for asked in (demands, [replace(demands[0], by_group=False)]):
        (usual,) = levels_shown(histories, asked)
        with monkeypatch.context() as patch:
            patch.setattr(stage, "FIRST_ROOM", 2)
            (tight,) = levels_shown(histories, asked)
        assert tight.tolist() == usual.tolist()


def fewest_left_out(counts: Sequence[int], k: int) -> int:
    """By trying every number for every person."""
    return min(
        sum(counts) - sum(kept)
        for kept in product(*(range(count + 1) for count in counts))
        if all(n >= k for n in Counter(kept).values())
    )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=6), min_size=1, max_size=2),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_the_fewest_records_are_left_out(counts_of_group: list[list[int]], k: int, random: object) -> None:
    persons = [(group, count) for group, counts in enumerate(counts_of_group) for count in counts]
    random.shuffle(persons)  # type: ignore[attr-defined]
    group = np.array([group for group, _ in persons], np.int32)
    counts = np.array([count for _, count in persons], np.int64)
    kept = records_kept(group, len(counts_of_group), counts, k)
    assert (kept <= counts).all()
    for at, of_group in enumerate(counts_of_group):
        assert all(n >= k for n in Counter(kept[group == at].tolist()).values())
        assert sum(of_group) - kept[group == at].sum() == fewest_left_out(of_group, k)


def test_who_has_more_records_keeps_no_fewer() -> None:
    group, counts = np.zeros(9, np.int32), np.array([9, 1, 5, 5, 30, 2, 8, 1, 31], np.int64)
    kept = records_kept(group, 1, counts, 3)
    assert kept.tolist() == [9, 1, 5, 5, 9, 1, 5, 1, 9]


def test_a_group_smaller_than_k_keeps_no_records() -> None:
    kept = records_kept(np.array([0, 0, 1, 1, 1], np.int32), 2, np.array([2, 2, 4, 4, 5], np.int64), 3)
    assert kept.tolist() == [0, 0, 4, 4, 4]


def test_a_label_is_shown_in_the_place_of_others_where_less_is_lost() -> None:
    """Whoever has 2 and 1 shows 1 instead of the commoner 2, since somebody else can show 1 then, too."""
    histories = small([3, 0, 2, 3, 3, 2, 3, 2, 1, 1, 2, 1], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5], [0] * 6, n_levels=1)
    demands = [Demand(k=2, m=2, columns=(0,))]
    (quick,), (best,) = (levels_shown(histories, demands, is_quick=is_quick) for is_quick in (True, False))
    assert quick[8:].tolist() == [1, 1, 0, 1]
    assert best[8:].tolist() == [1, 0, 1, 0]


@settings(max_examples=60, deadline=None)
@given(some_histories(), st.integers(2, 4), st.booleans())
def test_with_pairs_in_a_table_no_more_is_lost_than_with_a_tree(histories: Histories, k: int, by_group: bool) -> None:
    demands = [Demand(k=k, m=2, columns=tuple(range(len(histories.columns))), by_group=by_group)]

    def lost() -> float:
        levels = levels_shown(histories, demands)
        assert meets(histories, demands, levels)
        return sum(
            float(np.append(column.loss_of_level, np.ones((1, 6)), axis=0)[level, column.value_of_record].sum())
            for column, level in zip(histories.columns, levels, strict=True)
        )

    in_table = lost()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stage, "MOST_LABELS", 0)
        assert in_table <= lost() + 1e-9
