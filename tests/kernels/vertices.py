"""Random vertices for the kernels that grow and cut spanning trees, on grids coarse enough for many ties."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from shoal.kernels import cutting, spanning
from tests.naive import spanning as naive


@dataclass
class Vertices:
    """Points on a coarse or a fine grid, and the kinds of vertices by how many records they have of each class."""

    points: list[list[float]]
    kind_of_vertex: list[int]
    counts_of_kind: list[list[int]]

    @property
    def classes(self) -> list[list[int]]:
        return [self.counts_of_kind[kind] for kind in self.kind_of_vertex]

    @property
    def whole(self) -> list[float]:
        return naive.distribution(self.classes)

    def grow(
        self,
        *,
        alpha: float,
        b: int,
        start: int = 0,
        one_tree_a_kind: bool = True,
        divisor: float | None = None,
        leaf_size: int = 4,
    ) -> list[naive.Edge]:
        grown = spanning.grow(
            np.array(self.points),
            float(len(self.points[0])) if divisor is None else divisor,
            np.array(self.kind_of_vertex, np.int32),
            np.array(self.counts_of_kind, np.int64),
            np.array(self.whole),
            alpha, b, start, one_tree_a_kind, leaf_size,
        )  # fmt: skip
        return [naive.Edge(int(u), int(v), float(length)) for u, v, length in zip(*grown, strict=True)]

    def start_cutting(self, edges: list[naive.Edge], m: int) -> cutting.Cutting:
        u, v, length = zip(*edges, strict=True)
        state: cutting.Cutting = cutting.start_cutting(
            np.array(u, np.int32), np.array(v, np.int32), np.array(length, np.float64),
            np.array(self.classes, np.int64), np.array(self.whole), m,
        )  # fmt: skip
        return state


@st.composite
def some_vertices(draw: st.DrawFn, *, most: int = 26) -> Vertices:
    """Few or many steps a column: on a coarse grid most distances are tied, and many are zero."""
    n = draw(st.integers(2, most))
    n_columns = draw(st.integers(1, 3))
    steps = draw(st.sampled_from([1, 2, 4, 1000]))
    n_classes = draw(st.integers(2, 4))
    several_records = draw(st.booleans())
    chance = random.Random(draw(st.integers(0, 2**32)))
    counts = []
    for kind in range(draw(st.integers(1, 6))):
        own = [0] * n_classes
        for _ in range(chance.randint(1, 3) if several_records else 1):
            own[chance.randrange(n_classes) if several_records else kind % n_classes] += 1
        counts.append(own)
    points = [[chance.randint(0, steps) / steps for _ in range(n_columns)] for _ in range(n)]
    return Vertices(points, [chance.randrange(len(counts)) for _ in range(n)], counts)


def duplicated(few: Vertices, n: int, seed: int) -> Vertices:
    """Many vertices at the points of a few."""
    chance = random.Random(seed)
    places = [chance.randrange(len(few.points)) for _ in range(n)]
    kinds = [chance.randrange(len(few.counts_of_kind)) for _ in range(n)]
    return Vertices([few.points[place] for place in places], kinds, few.counts_of_kind)
