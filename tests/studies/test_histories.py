from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.hierarchy import Hierarchy
from studies.histories import LEFT_OUT, Studied, block_of, broken_promises, level_shares, levels_shown, ours
from studies.km_anonymity import Tree, cut, cut_in_groups, merged_clusters

PATHS = [(f"{n}", f"half {n // 2}", "*") for n in range(6)]
TREE = Tree.of(PATHS)
records = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 5)), min_size=1, max_size=40)


def fewest_persons(person: list[int], shown: list[int], m: int) -> float:
    """The fewest persons who have any set of at most m nodes that somebody has; the root shows nothing."""
    sets: dict[int, set[int]] = {}
    for who, node in zip(person, shown, strict=True):
        sets.setdefault(who, set()).update({node} - {TREE.root})
    counts = Counter(some for own in sets.values() for n in range(1, m + 1) for some in combinations(sorted(own), n))
    return min(counts.values(), default=float("inf"))


@given(records, st.integers(1, 4), st.integers(1, 2), st.booleans())
def test_a_cut_leaves_no_set_to_fewer_than_k_persons(rows: list[tuple[int, int]], k: int, m: int, hides: bool) -> None:
    person, leaf = np.array(rows).T
    shown = cut(TREE, person, leaf, k=k, m=m, hides=hides)
    assert fewest_persons(person.tolist(), shown[leaf].tolist(), m) >= k
    for node in set(shown.tolist()) - ({TREE.root} if hides else set()):  # all leaves below a shown node show it
        assert (shown[TREE.leaves[node]] == node).all()


def test_a_cut_stays_low_where_nothing_is_rare() -> None:
    person, leaf = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    assert cut(TREE, person, leaf, k=4, m=2).tolist() == list(range(6))


@given(records, st.integers(1, 3), st.integers(1, 2))
def test_clusters_are_whole_groups_and_keep_the_promise(rows: list[tuple[int, int]], k: int, m: int) -> None:
    person, leaf = np.array(rows).T
    group, quasi = person // 3, (person / 11)[:, None]
    cluster = merged_clusters(TREE, group, person, quasi, leaf, k=k, m=m)
    assert len({(g, c) for g, c in zip(group.tolist(), cluster.tolist(), strict=True)}) == len(set(group.tolist()))
    shown = cut_in_groups(TREE, cluster, person, leaf, k=k, m=m)
    for number in set(cluster.tolist()):
        here = cluster == number
        assert fewest_persons(person[here].tolist(), shown[here].tolist(), m) >= k


def test_blocks_are_those_of_icd_9() -> None:
    assert [block_of(code) for code in ("250", "401", "405", "V22")] == [
        "block 249",
        "block 401",
        "block 401",
        "block V20",
    ]


def test_what_a_release_shows_is_counted_on_the_original_records() -> None:
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(60), 3)
    frame = pl.DataFrame({"who": person, "age": 20 + person // 2, "ill": rng.integers(0, 6, 180).astype(str)})
    studied = Studied(
        "made up", frame, shoal.Schema(person="who", quasi=["age"], sensitive=["ill"]),
        {"ill": Hierarchy.from_rows(PATHS)}, ("value", "half"), "",
    )  # fmt: skip
    found = ours(studied, 3, 2)
    assert not list(broken_promises([(found, 3, 2)]))
    assert abs(sum(map(float, level_shares(studied, found))) - 100) < 0.5
    level = levels_shown(studied, found.release)["ill"]
    shown = Counter(found.release.published.frame["ill"].cast(pl.String).to_list())
    own = frame["ill"].to_list()
    assert shown == Counter(PATHS[int(own[at])][step] for at, step in enumerate(level) if step != LEFT_OUT)
