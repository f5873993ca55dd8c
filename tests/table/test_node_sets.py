"""Several nodes in the place of one that covers most of a hierarchy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.table.hierarchy import Hierarchy
from shoal.table.label_sets import as_set, listed_in
from shoal.table.node_sets import MOST_NODES, node_sets


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Up to twelve values in up to three levels below the root; what has one part below it keeps another name."""
    n = draw(st.integers(2, 12))
    coarse = [draw(st.integers(0, 3)) for _ in range(n)]
    fine = [(top, draw(st.integers(0, 2))) for top in coarse]
    return Hierarchy.from_rows(
        [[f"v{at}", f"f{fine[at]}".replace(", ", "."), f"c{coarse[at]}", "*"] for at in range(n)]
    )


@given(hierarchies(), st.data())
def test_nodes_are_few_and_low_and_leave_less_open(hierarchy: Hierarchy, data: st.DataObject) -> None:
    values = list(hierarchy.values)
    groups = data.draw(st.lists(st.sets(st.integers(0, len(values) - 1), min_size=1), min_size=1, max_size=4))
    group = np.array([number for number, codes in enumerate(groups) for _ in codes])
    code = np.array([each for codes in groups for each in sorted(codes)])
    sets = node_sets(hierarchy, values, group, code)
    below = {label: {p[0] for p in hierarchy.paths if label in p} for path in hierarchy.paths for label in path}
    for number, codes in enumerate(groups):
        own = {values[each] for each in codes}
        above = hierarchy.lowest_common_ancestor(own)
        if number not in sets.nodes_of_group:
            continue
        labels = sets.labels(number)
        assert 2 * (len(below[above]) - 1) > len(values) - 1, "only what covers more than half is parted"
        assert 1 < len(labels) <= MOST_NODES
        assert sum(len(below[label]) for label in labels) < len(below[above])
        assert own <= set().union(*(below[label] for label in labels))
        for label in labels:  # disjoint, and none could stand lower
            assert hierarchy.lowest_common_ancestor(below[label] & own) == label
        assert sum(len(below[label] & own) for label in labels) == len(own)
        assert listed_in(sets.text(number)) == labels


def test_a_group_without_values_is_none() -> None:
    nobody = np.zeros(0, np.int64)
    assert node_sets(Hierarchy.from_rows([["a", "*"], ["b", "*"]]), ["a", "b"], nobody, nobody).nodes_of_group == {}
    assert as_set(["a", "b"]) == "{a, b}"
    assert listed_in("ab") is None
