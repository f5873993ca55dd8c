"""Work that falls into parts, on as many threads as there are processors.

Parts never depend on each other, and their results are put together in the order of the parts: so what comes out does
not depend on the number of threads. Kernels let go of Python's lock while they run.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError

Part = TypeVar("Part")
Result = TypeVar("Result")

SETTING = "SHOAL_THREADS"
"""The environment variable that says on how many threads to work."""


def n_threads() -> int:
    """On how many threads to work: as the environment says, else one for each processor that may be used."""
    asked = os.environ.get(SETTING, "").strip()
    if not asked:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not asked.isdecimal() or int(asked) < 1:
        raise ParameterError(f"{SETTING} must be a whole number of threads, at least 1.")
    return int(asked)


def side_by_side(work: Callable[[Part], Result], parts: Sequence[Part]) -> Iterator[Result]:
    """The results of some work on each part, in the order of the parts, each as soon as it is there.

    Where the caller stops listening, or a part fails, parts that have not begun are left undone.
    """
    threads = min(n_threads(), len(parts))
    if threads < 2:
        yield from map(work, parts)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="shoal")
    try:
        yield from pool.map(work, parts)
    finally:
        pool.shutdown(cancel_futures=True)


def fair_parts(weights: NDArray[np.int64], least: int) -> list[slice]:
    """Neighbours in parts of about equal weight: one for each thread, fewer where one would weigh less than `least`.

    Where there is nothing, that is one part.
    """
    behind = np.cumsum(weights)
    total = int(behind[-1]) if len(behind) else 0
    n_parts = max(1, min(n_threads(), total // least))
    ends = np.searchsorted(behind, total * np.arange(1, n_parts) / n_parts, side="left") + 1
    bounds = [0, *np.minimum(ends, len(weights)).tolist(), len(weights)]
    parts = [slice(first, last) for first, last in itertools.pairwise(bounds) if last > first]
    return parts or [slice(0, 0)]
