"""The class-restricted spanning tree grown in the plain way, O(b n^2), with numpy: what the kernel is compared with."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def plain_tree(
    points: NDArray[np.float64], class_of_vertex: NDArray[np.int32], *, alpha: float, b: int
) -> list[tuple[int, int]]:
    """The edges in the order in which vertices join, from vertex 0, one record a vertex.

    Every vertex of the tree knows its best candidate. It looks for it anew, at all vertices outside, when that
    candidate has joined or when its own neighbourhood has changed.
    """
    n, n_columns = points.shape
    whole = np.bincount(class_of_vertex) / n
    is_outside = np.ones(n, np.bool_)
    neighbours: list[list[int]] = [[] for _ in range(n)]
    best: dict[int, tuple[float, float, int, int]] = {}
    edges = []

    def lengths_from(u: int) -> NDArray[np.float64]:
        squares = np.zeros(n)
        for j in range(n_columns):
            squares += (points[:, j] - points[u, j]) ** 2
        return np.sqrt(squares) / n_columns

    def length(u: int, v: int) -> float:
        squares = 0.0
        for j in range(n_columns):
            squares += (points[u, j] - points[v, j]) ** 2
        return math.sqrt(squares) / n_columns

    def around(u: int, most: int) -> list[int]:
        """The nearest vertices of the tree in whole rings, until there are enough, or so many edges away."""
        depth_of = {u: 0}
        ring = [u]
        while ring and len(depth_of) - 1 < most:
            further = [w for v in ring for w in neighbours[v] if w not in depth_of]
            depth_of.update(dict.fromkeys(further, depth_of[ring[0]] + 1))
            ring = further
        return sorted(list(depth_of)[1:], key=lambda w: (depth_of[w], length(u, w), w))[:most]

    def within(v: int, depth: int) -> set[int]:
        reached, ring = {v}, [v]
        for _ in range(depth):
            ring = [w for u in ring for w in neighbours[u] if w not in reached]
            reached.update(ring)
        return reached

    def look(u: int) -> None:
        counts = np.bincount(class_of_vertex[[u, *around(u, b - 2)]], minlength=len(whole))
        divergence = [_divergence(counts + np.eye(len(whole), dtype=int)[k], whole) for k in range(len(whole))]
        lengths = lengths_from(u)
        composite = alpha * lengths + (1 - alpha) * np.array(divergence)[class_of_vertex]
        composite[~is_outside] = np.inf
        tied = np.flatnonzero(composite == composite.min())
        v = tied[np.argmin(lengths[tied])]
        best[u] = (composite[v], lengths[v], u, int(v))

    is_outside[0] = False
    look(0)
    while len(edges) < n - 1:
        _, _, u, v = min(best.values())
        edges.append((u, v))
        neighbours[u].append(v)
        neighbours[v].append(u)
        is_outside[v] = False
        if len(edges) < n - 1:
            stale = {w for w, candidate in best.items() if candidate[3] == v}
            for w in stale | within(v, max(b - 2, 0)):
                look(w)
    return edges


def _divergence(counts: NDArray[np.int64], whole: NDArray[np.float64]) -> float:
    """The Jensen-Shannon divergence in bits, its terms in the order of the classes."""
    total = int(counts.sum())
    divergence = 0.0
    for count, share in zip(counts.tolist(), whole.tolist(), strict=True):
        f = count / total
        middle = (f + share) / 2
        if f:
            divergence += 0.5 * f * math.log2(f / middle)
        if share:
            divergence += 0.5 * share * math.log2(share / middle)
    return divergence
