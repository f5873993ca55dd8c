"""Growing a class-restricted spanning tree. Arrays in, arrays out; no tables, no checks, no randomness.

Growing is Prim's algorithm with the composite distance alpha * length + (1 - alpha) * divergence, the divergence being
that of the classes of u's neighbourhood in the tree together with those of v. It depends on v through its *profile*
only (how many records it has of each class), so that for each u only the nearest outside vertex of each profile
matters. Those are found in one kd-tree per profile and kept as lower bounds, which vertices joining the tree can only
raise; the heap holds one entry per vertex. Where profiles are many, one kd-tree holds all and is searched for the
smallest composite distance.

Every comparison that decides is made on the same floats as in the definition: a bound of a box is a sum of the same
terms in the same order, each no larger, so that it is never above a distance inside.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

LEAF = 48
"""Vertices in a leaf of a kd-tree."""

NEAREST = 4
"""How many nearest vertices a search gives: when the first joins the tree, the second is at hand."""

MOST_PROFILES_TRIED = 256
"""Up to so many profiles the lowest divergence of a neighbourhood is found by trying all of them."""

NEARLY = 4e-15
"""By how much two squared distances may differ whose roots round to the same length."""


class Forest(NamedTuple):
    """One kd-tree per bucket of vertices, from which vertices are taken one by one."""

    vertex: NDArray[np.int32]
    """Vertices tree by tree, leaf by leaf; those taken stand behind the others of their leaf."""
    point: NDArray[np.float64]
    """Their points, in the same order."""
    place: NDArray[np.int32]
    """Where each vertex stands."""
    leaf: NDArray[np.int32]
    """The leaf of each vertex."""
    first: NDArray[np.int32]
    """Where the vertices of each node begin."""
    n_left: NDArray[np.int32]
    """How many vertices each node has left."""
    child: NDArray[np.int32]
    """The first of the two children of each node, or -1."""
    parent: NDArray[np.int32]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    least: NDArray[np.int32]
    """The lowest number of a vertex left in each node."""
    tree_first: NDArray[np.int64]
    """Where the vertices of each tree begin."""
    tree_root: NDArray[np.int64]
    tree_built: NDArray[np.int64]
    """How many vertices each tree had when it was last built."""
    leaf_size: int
    """At most so many vertices are in a leaf."""


@kernel
def length_of(a, b, divisor):
    """The Euclidean distance of two points over a divisor, such as the number of columns."""
    squares = 0.0
    for j in range(len(a)):
        squares += (a[j] - b[j]) * (a[j] - b[j])
    return math.sqrt(squares) / divisor


@kernel
def divergence_of(counts, whole):
    """The Jensen-Shannon divergence, in bits, of the classes counted from the shares in the whole table."""
    total = 0
    for count in counts:
        total += count
    divergence = 0.0
    for k in range(len(counts)):
        if counts[k] == 0:
            if whole[k] > 0:
                divergence += 0.5 * whole[k]
            continue
        f = counts[k] / total
        middle = (f + whole[k]) / 2
        divergence += 0.5 * f * math.log2(f / middle)
        if whole[k] > 0:
            divergence += 0.5 * whole[k] * math.log2(whole[k] / middle)
    return divergence


@kernel
def _is_before(points, column, a, b):
    """Whether vertex a stands before vertex b in a column; of equal values the lower number."""
    x, y = points[a, column], points[b, column]
    return x < y or (x == y and a < b)


@kernel
def _part_at(points, column, vertex, low, high, middle):
    """Order vertex[low:high] so that those before `middle` stand before it in a column, and those behind it behind."""
    high -= 1
    while high > low:
        centre = (low + high) // 2
        if _is_before(points, column, vertex[centre], vertex[low]):
            vertex[centre], vertex[low] = vertex[low], vertex[centre]
        if _is_before(points, column, vertex[high], vertex[low]):
            vertex[high], vertex[low] = vertex[low], vertex[high]
        if _is_before(points, column, vertex[high], vertex[centre]):
            vertex[high], vertex[centre] = vertex[centre], vertex[high]
        pivot = vertex[centre]
        i, j = low, high
        while i <= j:
            while _is_before(points, column, vertex[i], pivot):
                i += 1
            while _is_before(points, column, pivot, vertex[j]):
                j -= 1
            if i <= j:
                vertex[i], vertex[j] = vertex[j], vertex[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def _build_tree(forest, points, tree, n_vertices):
    """Build the kd-tree over the first vertices of a tree's stretch: halves of the widest column, tight boxes."""
    n_columns = points.shape[1]
    root = forest.tree_root[tree]
    forest.first[root] = forest.tree_first[tree]
    forest.n_left[root] = n_vertices
    forest.parent[root] = -1
    forest.tree_built[tree] = n_vertices
    n_nodes = root + 1
    node = root
    while node < n_nodes:
        first, size = forest.first[node], forest.n_left[node]
        least = forest.vertex[first]
        for j in range(n_columns):
            forest.low[node, j] = np.inf
            forest.high[node, j] = -np.inf
        for i in range(first, first + size):
            vertex = forest.vertex[i]
            least = min(least, vertex)
            for j in range(n_columns):
                value = points[vertex, j]
                if value < forest.low[node, j]:
                    forest.low[node, j] = value
                if value > forest.high[node, j]:
                    forest.high[node, j] = value
        forest.least[node] = least
        forest.child[node] = -1
        if size <= forest.leaf_size:
            for i in range(first, first + size):
                vertex = forest.vertex[i]
                forest.leaf[vertex] = node
                forest.place[vertex] = i
                forest.point[i] = points[vertex]
        else:
            widest = 0
            for j in range(1, n_columns):
                if forest.high[node, j] - forest.low[node, j] > forest.high[node, widest] - forest.low[node, widest]:
                    widest = j
            half = size // 2
            _part_at(points, widest, forest.vertex, first, first + size, first + half)
            forest.child[node] = n_nodes
            for side in range(2):
                forest.parent[n_nodes] = node
                forest.first[n_nodes] = first + side * half
                forest.n_left[n_nodes] = size - half if side else half
                n_nodes += 1
        node += 1


@kernel
def _plant(points, bucket_of_vertex, n_buckets, leaf_size):
    """A kd-tree for each bucket of vertices."""
    n, n_columns = points.shape
    sizes = np.zeros(n_buckets, np.int64)
    for bucket in bucket_of_vertex:
        sizes[bucket] += 1
    tree_first = np.zeros(n_buckets, np.int64)
    tree_root = np.zeros(n_buckets, np.int64)
    n_nodes = 0
    for bucket in range(n_buckets):
        if bucket:
            tree_first[bucket] = tree_first[bucket - 1] + sizes[bucket - 1]
        tree_root[bucket] = n_nodes
        n_leaves = 1
        while n_leaves * leaf_size < sizes[bucket]:
            n_leaves *= 2
        n_nodes += 2 * n_leaves
    forest = Forest(
        np.empty(n, np.int32), np.empty((n, n_columns)), np.empty(n, np.int32), np.empty(n, np.int32),
        np.empty(n_nodes, np.int32), np.zeros(n_nodes, np.int32), np.full(n_nodes, -1, np.int32),
        np.empty(n_nodes, np.int32), np.empty((n_nodes, n_columns)), np.empty((n_nodes, n_columns)),
        np.empty(n_nodes, np.int32), tree_first, tree_root, np.zeros(n_buckets, np.int64), leaf_size,
    )  # fmt: skip
    write = tree_first.copy()
    for vertex in range(n):
        forest.vertex[write[bucket_of_vertex[vertex]]] = vertex
        write[bucket_of_vertex[vertex]] += 1
    for bucket in range(n_buckets):
        if sizes[bucket]:
            _build_tree(forest, points, bucket, sizes[bucket])
    return forest


@kernel
def _take(forest, points, tree, vertex):
    """Take a vertex out of its tree; a tree that has lost half of its vertices is built anew."""
    node = forest.leaf[vertex]
    here, last = forest.place[vertex], forest.first[node] + forest.n_left[node] - 1
    other = forest.vertex[last]
    forest.vertex[here], forest.vertex[last] = other, vertex
    forest.place[other], forest.place[vertex] = here, last
    forest.point[here] = forest.point[last]
    forest.n_left[node] -= 1
    if forest.least[node] == vertex:
        least = np.int32(2147483647)
        for i in range(forest.first[node], last):
            least = min(least, forest.vertex[i])
        forest.least[node] = least
    node = forest.parent[node]
    while node >= 0:
        forest.n_left[node] -= 1
        if forest.least[node] == vertex:
            one, two = forest.child[node], forest.child[node] + 1
            least = np.int32(2147483647)
            if forest.n_left[one]:
                least = forest.least[one]
            if forest.n_left[two]:
                least = min(least, forest.least[two])
            forest.least[node] = least
        node = forest.parent[node]
    left = forest.n_left[forest.tree_root[tree]]
    if left > forest.leaf_size and left * 2 <= forest.tree_built[tree]:
        _gather(forest, tree)
        _build_tree(forest, points, tree, left)


@kernel
def _gather(forest, tree):
    """Move the vertices that a tree has left to the front of its stretch."""
    write = forest.tree_first[tree]
    n_left = forest.n_left[forest.tree_root[tree]]
    stack = [forest.tree_root[tree]]
    left = np.empty(n_left, np.int32)
    n = 0
    while len(stack):
        node = stack.pop()
        if forest.n_left[node] == 0:
            continue
        if forest.child[node] < 0:
            for i in range(forest.first[node], forest.first[node] + forest.n_left[node]):
                left[n] = forest.vertex[i]
                n += 1
        else:
            stack.append(np.int64(forest.child[node]))
            stack.append(np.int64(forest.child[node] + 1))
    forest.vertex[write : write + n_left] = left


@kernel
def _square_to_box(forest, node, point):
    """The squared distance of a point from the box of a node."""
    squares = 0.0
    for j in range(len(point)):
        gap = 0.0
        if point[j] < forest.low[node, j]:
            gap = forest.low[node, j] - point[j]
        elif point[j] > forest.high[node, j]:
            gap = point[j] - forest.high[node, j]
        squares += gap * gap
    return squares


@kernel
def _nearest(forest, tree, point, divisor, lengths, vertices, stack, squares_of_stack):
    """The nearest vertices left in a tree, nearest first, of equals the lowest number; gives how many were found."""
    n_columns = len(point)
    most = len(lengths)
    found = 0
    worst = np.inf  # squared, of the last of `most` found, a little too large
    root = forest.tree_root[tree]
    if forest.n_left[root] == 0:
        return 0
    stack[0] = root
    squares_of_stack[0] = _square_to_box(forest, root, point)
    depth = 1
    while depth:
        depth -= 1
        node, squares = stack[depth], squares_of_stack[depth]
        if squares > worst:
            continue
        if (
            found == most
            and forest.least[node] > vertices[most - 1]
            and math.sqrt(squares) / divisor >= lengths[most - 1]
        ):
            continue
        child = forest.child[node]
        if child >= 0:
            near, far = child, child + 1
            to_near, to_far = np.inf, np.inf
            if forest.n_left[near]:
                to_near = _square_to_box(forest, near, point)
            if forest.n_left[far]:
                to_far = _square_to_box(forest, far, point)
            if to_far < to_near or (to_far == to_near and forest.least[far] < forest.least[near]):
                near, far = far, near
                to_near, to_far = to_far, to_near
            if forest.n_left[far] and to_far <= worst:
                stack[depth] = far
                squares_of_stack[depth] = to_far
                depth += 1
            if forest.n_left[near] and to_near <= worst:
                stack[depth] = near
                squares_of_stack[depth] = to_near
                depth += 1
            continue
        first = forest.first[node]
        for i in range(first, first + forest.n_left[node]):
            squares = 0.0
            for j in range(n_columns):
                gap = point[j] - forest.point[i, j]
                squares += gap * gap
            if squares > worst:
                continue
            length = math.sqrt(squares) / divisor
            vertex = forest.vertex[i]
            at = found
            while at > 0 and (length < lengths[at - 1] or (length == lengths[at - 1] and vertex < vertices[at - 1])):
                at -= 1
            if at == most:
                continue
            if found < most:
                found += 1
            for move in range(found - 1, at, -1):
                lengths[move] = lengths[move - 1]
                vertices[move] = vertices[move - 1]
            lengths[at] = length
            vertices[at] = vertex
            if found == most:
                worst = (lengths[most - 1] * divisor) ** 2 * (1 + NEARLY)
    return found


class Profiles(NamedTuple):
    """How many records of each class vertices have, by profiles that several may share."""

    of_vertex: NDArray[np.int32]
    classes: NDArray[np.int64]
    """(profile, class)"""
    n_left: NDArray[np.int64]
    """How many vertices of each profile are outside the tree."""
    whole: NDArray[np.float64]
    """The share of each class in the whole table."""


class Hood(NamedTuple):
    """One neighbourhood: its classes, and what is known of its divergence together with a vertex of each profile."""

    classes: NDArray[np.int64]
    stamp: NDArray[np.int64]
    """A number that is raised with every neighbourhood; what carries another is not known yet."""
    divergence: NDArray[np.float64]
    """By profile, as far as it is known."""
    known: NDArray[np.int64]
    """The stamp with which it was found."""
    together: NDArray[np.int64]
    """Room for the classes of the neighbourhood and a vertex."""


@kernel
def _divergence_with(hood, profiles, profile):
    """The divergence of a neighbourhood together with a vertex of a profile."""
    if hood.known[profile] != hood.stamp[0]:
        for k in range(len(hood.classes)):
            hood.together[k] = hood.classes[k] + profiles.classes[profile, k]
        hood.divergence[profile] = divergence_of(hood.together, profiles.whole)
        hood.known[profile] = hood.stamp[0]
    return hood.divergence[profile]


@kernel
def _lowest_divergence(hood, profiles):
    """The lowest divergence of a neighbourhood together with a vertex of any profile that is left."""
    lowest = np.inf
    for profile in range(len(profiles.classes)):
        if profiles.n_left[profile]:
            lowest = min(lowest, _divergence_with(hood, profiles, profile))
    return lowest


@kernel
def _best_of_all(forest, point, divisor, alpha, hood, profiles, lowest, stack, squares_of_stack):
    """The vertex left that has the smallest (composite distance, length, number) from u with its neighbourhood.

    `lowest` is a divergence that no candidate is below.
    """
    best_distance, best_length, best_vertex = np.inf, np.inf, np.int32(-1)
    root = forest.tree_root[0]
    stack[0] = root
    squares_of_stack[0] = _square_to_box(forest, root, point)
    depth = 1
    while depth:
        depth -= 1
        node = stack[depth]
        length = math.sqrt(squares_of_stack[depth]) / divisor
        distance = alpha * length + (1 - alpha) * lowest
        if distance > best_distance or (
            distance == best_distance
            and (length > best_length or (length == best_length and forest.least[node] > best_vertex))
        ):
            continue
        child = forest.child[node]
        if child >= 0:
            near_child, far_child = child, child + 1
            to_near = _square_to_box(forest, child, point)
            to_far = _square_to_box(forest, child + 1, point)
            if to_far < to_near or (to_far == to_near and forest.least[far_child] < forest.least[near_child]):
                near_child, far_child = far_child, near_child
                to_near, to_far = to_far, to_near
            if forest.n_left[far_child]:
                stack[depth] = far_child
                squares_of_stack[depth] = to_far
                depth += 1
            if forest.n_left[near_child]:
                stack[depth] = near_child
                squares_of_stack[depth] = to_near
                depth += 1
            continue
        first = forest.first[node]
        for i in range(first, first + forest.n_left[node]):
            length = length_of(point, forest.point[i], divisor)
            if alpha * length + (1 - alpha) * lowest > best_distance:
                continue
            vertex = forest.vertex[i]
            distance = alpha * length + (1 - alpha) * _divergence_with(hood, profiles, profiles.of_vertex[vertex])
            if distance < best_distance or (
                distance == best_distance and (length < best_length or (length == best_length and vertex < best_vertex))
            ):
                best_distance, best_length, best_vertex = distance, length, vertex
    return best_distance, best_length, best_vertex


class Front(NamedTuple):
    """What is known of the vertices in the tree: the heap, the nearest outside vertices, the neighbourhoods."""

    heap: NDArray[np.int32]
    heap_place: NDArray[np.int32]
    distance: NDArray[np.float64]
    """The composite distance of the best candidate edge of each vertex, or what it is not below."""
    length: NDArray[np.float64]
    bucket: NDArray[np.int32]
    """The bucket of that candidate."""
    near_vertex: NDArray[np.int32]
    """(vertex, bucket, rank): the nearest outside vertices when last searched."""
    near_length: NDArray[np.float64]
    near_at: NDArray[np.int8]
    """(vertex, bucket): which rank is the nearest now."""
    near_found: NDArray[np.int8]
    divergence: NDArray[np.float64]
    """(vertex, bucket): that of the neighbourhood together with an outside vertex."""
    hood: NDArray[np.int32]
    """(vertex, rank): the vertices of the neighbourhood, without the vertex itself."""
    hood_depth: NDArray[np.int32]
    hood_length: NDArray[np.float64]
    hood_size: NDArray[np.int32]
    edge_first: NDArray[np.int32]
    """The first entry of each vertex in the list of its neighbours."""
    edge_next: NDArray[np.int32]
    edge_to: NDArray[np.int32]


@kernel
def _comes_first(front, a, b):
    if front.distance[a] != front.distance[b]:
        return front.distance[a] < front.distance[b]
    if front.length[a] != front.length[b]:
        return front.length[a] < front.length[b]
    return a < b


@kernel
def _settle(front, n, vertex):
    """Put a vertex whose key has changed in its place in the heap of n vertices."""
    at = front.heap_place[vertex]
    while at > 0:
        above = (at - 1) // 2
        if not _comes_first(front, vertex, front.heap[above]):
            break
        front.heap[at] = front.heap[above]
        front.heap_place[front.heap[at]] = at
        at = above
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and _comes_first(front, front.heap[below + 1], front.heap[below]):
            below += 1
        if not _comes_first(front, front.heap[below], vertex):
            break
        front.heap[at] = front.heap[below]
        front.heap_place[front.heap[at]] = at
        at = below
    front.heap[at] = vertex
    front.heap_place[vertex] = at


@kernel
def _choose(front, forest, alpha, is_outside, u):
    """The best candidate edge of u by what is known: sets its key and bucket, gives v, or -1 where it is a bound."""
    best_distance, best_length, best_vertex, best_bucket = np.inf, np.inf, -1, -1
    for bucket in range(front.near_at.shape[1]):
        if forest.n_left[forest.tree_root[bucket]] == 0:
            continue
        at, found = front.near_at[u, bucket], front.near_found[u, bucket]
        while at < found and not is_outside[front.near_vertex[u, bucket, at]]:
            at += 1
        front.near_at[u, bucket] = at
        vertex, length = -1, 0.0
        if at < found:
            vertex, length = front.near_vertex[u, bucket, at], front.near_length[u, bucket, at]
        elif found:
            length = front.near_length[u, bucket, found - 1]
        distance = alpha * length + (1 - alpha) * front.divergence[u, bucket]
        if (
            best_bucket < 0
            or distance < best_distance
            or (
                distance == best_distance and (length < best_length or (length == best_length and vertex < best_vertex))
            )
        ):
            best_distance, best_length, best_vertex, best_bucket = distance, length, vertex, bucket
    front.distance[u] = best_distance
    front.length[u] = best_length
    front.bucket[u] = best_bucket
    return best_vertex


@kernel
def _enter_hood(front, most, w, depth, length, v):
    """Take v into the neighbourhood of w if it is among the nearest: in edges, in length, by number."""
    size = front.hood_size[w]
    at = size
    while at > 0:
        other = at - 1
        if depth != front.hood_depth[w, other]:
            is_nearer = depth < front.hood_depth[w, other]
        elif length != front.hood_length[w, other]:
            is_nearer = length < front.hood_length[w, other]
        else:
            is_nearer = v < front.hood[w, other]
        if not is_nearer:
            break
        at -= 1
    if at == most:
        return False
    if size < most:
        size += 1
        front.hood_size[w] = size
    for move in range(size - 1, at, -1):
        front.hood[w, move] = front.hood[w, move - 1]
        front.hood_depth[w, move] = front.hood_depth[w, move - 1]
        front.hood_length[w, move] = front.hood_length[w, move - 1]
    front.hood[w, at] = v
    front.hood_depth[w, at] = depth
    front.hood_length[w, at] = length
    return True


@kernel
def _count_hood(front, w, profiles, hood):
    """Count the classes of a vertex and its neighbourhood; what was known of another is forgotten."""
    hood.classes[:] = profiles.classes[profiles.of_vertex[w]]
    for rank in range(front.hood_size[w]):
        profile = profiles.of_vertex[front.hood[w, rank]]
        for k in range(len(hood.classes)):
            hood.classes[k] += profiles.classes[profile, k]
    hood.stamp[0] += 1


@kernel
def _find_hood(front, points, divisor, most, v, waiting, came_from):
    """Collect the neighbourhood of a new leaf, one whole ring of the tree after the other until it is full."""
    entry = front.edge_first[v]
    if entry >= 0 and length_of(points[v], points[front.edge_to[entry]], divisor) == 0.0:
        u = front.edge_to[entry]  # v stands where u does: what is near u is near v, one edge further
        _enter_hood(front, most, v, 1, 0.0, u)
        for rank in range(min(front.hood_size[u], most - 1)):
            depth = front.hood_depth[u, rank] + 1
            _enter_hood(front, most, v, depth, front.hood_length[u, rank], front.hood[u, rank])
        return
    waiting[0] = v
    came_from[0] = -1
    first, last, depth = 0, 1, 0
    while first < last and last - 1 < most:
        depth += 1
        ring = last
        for i in range(first, last):
            entry = front.edge_first[waiting[i]]
            while entry >= 0:
                other = front.edge_to[entry]
                if other != came_from[i]:
                    waiting[ring] = other
                    came_from[ring] = waiting[i]
                    ring += 1
                    _enter_hood(front, most, v, depth, length_of(points[v], points[other], divisor), other)
                entry = front.edge_next[entry]
        first, last = last, ring


@kernel
def _tell_others(front, points, divisor, most, v, waiting, came_from, depth_of_waiting, changed):
    """Enter a new leaf in the neighbourhoods where it is among the nearest; lists whose these are, gives how many.

    The search goes no further where a full neighbourhood lies nearer than the leaf: beyond, it does so too.
    """
    n_changed = 0
    waiting[0] = v
    came_from[0] = -1
    depth_of_waiting[0] = 0
    first, last = 0, 1
    while first < last:
        here, depth = waiting[first], depth_of_waiting[first] + 1
        entry = front.edge_first[here]
        while entry >= 0:
            w = front.edge_to[entry]
            entry = front.edge_next[entry]
            if w == came_from[first]:
                continue
            if front.hood_size[w] == most and front.hood_depth[w, most - 1] < depth:
                continue
            length = length_of(points[w], points[v], divisor)
            if _enter_hood(front, most, w, depth, length, v):
                changed[n_changed] = w
                n_changed += 1
            elif depth == 1 and length == 0.0:
                return 0  # enough neighbours of w stand where v does and come first, for everybody
            waiting[last] = w
            came_from[last] = here
            depth_of_waiting[last] = depth
            last += 1
        first += 1
    return n_changed


@kernel
def grow(points, divisor, profile_of_vertex, classes_of_profile, whole, alpha, b, start, one_tree_a_profile,
         leaf_size=LEAF):  # fmt: skip
    """Grow the class-restricted spanning tree: u, v and length of each edge, in the order in which vertices join.

    Points are scaled to [0, 1], lengths are Euclidean over `divisor`; a profile is a count of records of each class. Of
    equal candidates the first by (composite distance, length, u, v) joins. With `one_tree_a_profile` memory is
    O(vertices x profiles).
    """
    n = len(points)
    n_classes = len(whole)
    n_profiles = len(classes_of_profile)
    looks_at_classes = alpha < 1
    is_mixed = looks_at_classes and not one_tree_a_profile  # one tree holds vertices of several profiles
    bounds_divergence = is_mixed and n_profiles <= MOST_PROFILES_TRIED
    n_buckets = n_profiles if looks_at_classes and one_tree_a_profile else 1
    bucket_of_vertex = profile_of_vertex if n_buckets > 1 else np.zeros(n, np.int32)
    forest = _plant(points, bucket_of_vertex, n_buckets, leaf_size)
    n_left = np.bincount(profile_of_vertex, minlength=n_profiles)
    profiles = Profiles(profile_of_vertex, classes_of_profile, n_left, whole)
    hood = Hood(
        np.zeros(n_classes, np.int64), np.zeros(1, np.int64), np.zeros(n_profiles), np.zeros(n_profiles, np.int64),
        np.zeros(n_classes, np.int64),
    )  # fmt: skip
    most = b - 2
    width = max(most, 1) if looks_at_classes else 1
    rows = n if looks_at_classes else 1
    front = Front(
        np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n), np.zeros(n), np.zeros(n, np.int32),
        np.empty((n, n_buckets, NEAREST), np.int32), np.empty((n, n_buckets, NEAREST)),
        np.zeros((n, n_buckets), np.int8), np.zeros((n, n_buckets), np.int8), np.zeros((n, n_buckets)),
        np.empty((rows, width), np.int32), np.empty((rows, width), np.int32), np.empty((rows, width)),
        np.zeros(n, np.int32), np.full(n, -1, np.int32), np.empty(2 * n, np.int32), np.empty(2 * n, np.int32),
    )  # fmt: skip
    is_outside = np.ones(n, np.bool_)
    edge_u, edge_v = np.empty(n - 1, np.int32), np.empty(n - 1, np.int32)
    edge_length = np.empty(n - 1)
    stack, squares_of_stack = np.empty(128, np.int64), np.empty(128)
    waiting, came_from = np.empty(n, np.int32), np.empty(n, np.int32)
    depth_of_waiting, changed = np.empty(n, np.int32), np.empty(n, np.int32)
    nothing_below = np.zeros(n)  # mixed: a length that no outside vertex is nearer than
    n_edges = -1
    u, v, length = -1, start, 0.0
    while True:
        is_outside[v] = False
        profiles.n_left[profile_of_vertex[v]] -= 1
        _take(forest, points, bucket_of_vertex[v], v)
        if n_edges >= 0:
            edge_u[n_edges], edge_v[n_edges], edge_length[n_edges] = u, v, length
        n_edges += 1
        if n_edges == n - 1:
            break
        n_changed = 0
        if looks_at_classes:
            if u >= 0:
                for side in range(2):
                    one, two = (u, v) if side == 0 else (v, u)
                    entry = 2 * n_edges + side
                    front.edge_to[entry] = two
                    front.edge_next[entry] = front.edge_first[one]
                    front.edge_first[one] = entry
            if most > 0:
                _find_hood(front, points, divisor, most, v, waiting, came_from)
                n_changed = _tell_others(front, points, divisor, most, v, waiting, came_from, depth_of_waiting, changed)
        front.heap[n_edges] = v
        front.heap_place[v] = n_edges
        front.distance[v] = np.inf
        changed[n_changed] = v
        for i in range(n_changed + 1):
            w = changed[i]
            if is_mixed:
                front.near_found[w, 0] = 0
                front.near_at[w, 0] = 0
                if bounds_divergence:
                    _count_hood(front, w, profiles, hood)
                    front.divergence[w, 0] = _lowest_divergence(hood, profiles)
                front.distance[w] = alpha * nothing_below[w] + (1 - alpha) * front.divergence[w, 0]
                front.length[w] = 0.0
            else:
                if looks_at_classes:
                    _count_hood(front, w, profiles, hood)
                    for profile in range(n_profiles):
                        front.divergence[w, profile] = _divergence_with(hood, profiles, profile)
                _choose(front, forest, alpha, is_outside, w)
            _settle(front, n_edges + 1, w)
        while True:
            u = front.heap[0]
            if is_mixed:
                if front.near_found[u, 0]:
                    v = front.near_vertex[u, 0, 0]
                    length = front.length[u]
                    if is_outside[v]:
                        break
                if nothing_below[u] == 0.0:
                    _nearest(forest, 0, points[u], divisor, front.near_length[u, 0, :1], front.near_vertex[u, 0, :1],
                             stack, squares_of_stack)  # fmt: skip
                    nothing_below[u] = front.near_length[u, 0, 0]
                _count_hood(front, u, profiles, hood)
                front.distance[u], front.length[u], front.near_vertex[u, 0, 0] = _best_of_all(
                    forest, points[u], divisor, alpha, hood, profiles, front.divergence[u, 0], stack, squares_of_stack
                )
                front.near_found[u, 0] = 1
                _settle(front, n_edges + 1, u)
                continue
            distance, length = front.distance[u], front.length[u]
            v = _choose(front, forest, alpha, is_outside, u)
            if front.distance[u] != distance or front.length[u] != length:
                _settle(front, n_edges + 1, u)
            elif v >= 0:
                break
            else:
                bucket = front.bucket[u]
                front.near_found[u, bucket] = _nearest(
                    forest, bucket, points[u], divisor, front.near_length[u, bucket], front.near_vertex[u, bucket],
                    stack, squares_of_stack,
                )  # fmt: skip
                front.near_at[u, bucket] = 0
                _choose(front, forest, alpha, is_outside, u)
                _settle(front, n_edges + 1, u)
    return edge_u, edge_v, edge_length
