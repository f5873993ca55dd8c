"""How fast spanning trees are grown and cut: beside the plain way, and beside public minimum spanning trees.

Run with `make bench`. Prints the figures of docs/benchmarks.md. All on one thread, after a first run that compiles.
"""

from __future__ import annotations

import importlib.util
import json

import pytest

from benchmarks.measure import Cost, cost_of, python

SETUP = """
import json, os, sys, time
os.environ.update(NUMBA_NUM_THREADS="1", OMP_NUM_THREADS="1")
import numpy as np
from shoal.kernels import cutting, spanning
def survey(n):
    'A table like a health survey: 6 counts, 3 measures and 12 columns of 0 and 1.'
    chance = np.random.default_rng(1)
    means = (5.8, 1.6, 0.75, 0.5, 0.3, 0.3)
    counts = [np.minimum(chance.negative_binomial(1, 1 / (1 + mean), n), 90) for mean in means]
    measures = [chance.integers(66, 110, n), chance.integers(0, 19, n), np.round(chance.gamma(0.7, 3.6, n), 4)]
    shares = (0.13, 0.08, 0.2, 0.19, 0.26, 0.18, 0.13, 0.4, 0.55, 0.1, 0.78, 0.09)
    return scaled(np.column_stack([*counts, *measures, *(chance.random(n) < share for share in shares)]).astype(float))

def normal(n, columns):
    return scaled(np.random.default_rng(0).normal(size=(n, columns)))

def scaled(points):
    return np.ascontiguousarray((points - points.min(axis=0)) / (points.max(axis=0) - points.min(axis=0)))

def classes(n):
    return (3 * np.random.default_rng(1).random(n) ** 1.5).astype(np.int32)

ONE = np.eye(3, dtype=np.int64)

def grow(points, alpha):
    n, n_columns = points.shape
    whole = np.bincount(classes(n), minlength=3) / n
    return spanning.grow(points, float(n_columns), classes(n), ONE, whole, alpha, 5, 0, True)

def cut(edges, points, longest):
    n = len(points)
    state = cutting.start_cutting(*edges, ONE[classes(n)], np.bincount(classes(n), minlength=3) / n, 5)
    cutting.cut_all(state, 5, longest)
    return int(state.n_components[0])

def seconds(work):
    began = time.process_time()
    done = work()
    return time.process_time() - began, done

def tell(**figures):
    with open({out!r}, "w") as file:
        json.dump(figures, file)

few = normal(300, 3)
cut(grow(few, 0.5), few, False), cut(grow(few, 1.0), few, True)
"""


def figures_of(folder: pytest.TempPathFactory, code: str) -> tuple[dict[str, float], Cost]:
    """What some code tells, run on its own in a process."""
    out = folder.mktemp("spanning") / "figures.json"
    cost = cost_of(*python(SETUP.replace("{out!r}", repr(str(out))) + code))
    return json.loads(out.read_text()), cost


@pytest.mark.parametrize(
    ("points", "aim"),
    [("survey(4406)", 1), ("normal(20_000, 8)", 4), ("normal(100_000, 8)", 40), ("normal(100_000, 3)", 6)],
)
def test_growing_and_cutting_keep_within_their_aims(
    tmp_path_factory: pytest.TempPathFactory, points: str, aim: float
) -> None:
    told, cost = figures_of(
        tmp_path_factory,
        f"""
points = {points}
growing, edges = seconds(lambda: grow(points, 0.5))
cutting_, n_groups = seconds(lambda: cut(edges, points, False))
tell(growing=growing, cutting=cutting_, groups=n_groups)
""",
    )
    total = told["growing"] + told["cutting"]
    print(
        f"\n{points}, 3 classes, m = b = 5: growing {told['growing']:.2f} s, cutting {told['cutting']:.2f} s CPU (aim: "
        f"{aim} s), {told['groups']:,} groups; the process took {cost.peak_gb:.2f} GB"
    )
    assert total <= aim


def test_memory_grows_no_faster_than_persons(tmp_path_factory: pytest.TempPathFactory) -> None:
    peaks = [figures_of(tmp_path_factory, f"tell(groups=len(grow(normal({n}, 3), 0.5)))")[1].peak_gb
             for n in (10, 100_000, 200_000)]  # fmt: skip
    print(f"\nbeyond starting: 100,000 persons {peaks[1] - peaks[0]:.3f} GB, 200,000 {peaks[2] - peaks[0]:.3f} GB")
    assert peaks[2] - peaks[0] <= 2.5 * (peaks[1] - peaks[0])


def test_the_tree_is_that_of_the_plain_way_and_many_times_faster(tmp_path_factory: pytest.TempPathFactory) -> None:
    told, _ = figures_of(
        tmp_path_factory,
        """
from benchmarks.plain_spanning import plain_tree
points = survey(2000)
ours, (u, v, _) = seconds(lambda: grow(points, 0.5))
plain, edges = seconds(lambda: plain_tree(points, classes(2000), alpha=0.5, b=5))
tell(ours=ours, plain=plain, same=edges == list(zip(u.tolist(), v.tolist())))
""",
    )
    ratio = told["plain"] / told["ours"]
    print(f"\n2,000 x 21: {told['ours']:.3f} s, in the plain way {told['plain']:.1f} s CPU; ratio {ratio:.0f}")
    assert told["same"]
    assert ratio >= 10


RIVALS = """
def hdbscan_tree(points):
    from hdbscan._hdbscan_boruvka import KDTreeBoruvkaAlgorithm
    from sklearn.neighbors import KDTree
    tree = KDTree(points, leaf_size=40)
    search = KDTreeBoruvkaAlgorithm(tree, 1, leaf_size=13, approx_min_span_tree=False, n_jobs=1)
    return float(search.spanning_tree()[:, 2].sum())

def fast_hdbscan_tree(points):
    from fast_hdbscan.boruvka import parallel_boruvka
    from fast_hdbscan.numba_kdtree import build_kdtree
    tree = build_kdtree(points.astype(np.float32))
    return float(parallel_boruvka(tree, 1, 1, np.zeros(1, np.float32), False)[0][:, 2].sum())
"""


@pytest.mark.parametrize("points", ["survey(4406)", "normal(20_000, 8)", "normal(100_000, 3)"])
@pytest.mark.parametrize("rival", ["hdbscan", "fast_hdbscan"])
def test_the_longest_edges_are_cut_before_others_have_their_tree(
    tmp_path_factory: pytest.TempPathFactory, rival: str, points: str
) -> None:
    if importlib.util.find_spec(rival) is None:
        pytest.skip(f"{rival} is not installed: pip install 'shoal[bench]'")
    told, _ = figures_of(
        tmp_path_factory,
        f"""{RIVALS}
points = {points}
{rival}_tree(few)
growing, edges = seconds(lambda: grow(points, 1.0))
cutting_, n_groups = seconds(lambda: cut(edges, points, True))
theirs, length = seconds(lambda: {rival}_tree(points))
ours_long = edges[2].sum() * points.shape[1]
tell(growing=growing, cutting=cutting_, theirs=theirs, ours_long=ours_long, theirs_long=length)
""",
    )
    ours = told["growing"] + told["cutting"]
    print(
        f"\n{points}, alpha = 1: growing {told['growing']:.2f} s and cutting {told['cutting']:.2f} s CPU; {rival}'s "
        f"tree {told['theirs']:.2f} s; ratio {ours / told['theirs']:.2f}"
    )
    assert told["theirs_long"] == pytest.approx(told["ours_long"], rel=1e-6), "both are minimum spanning trees"
    assert ours <= told["theirs"]
