"""How long tests go on. `make check` takes a glance, `make test` is quick, `make test-long` and pytest by itself are
long, `make nightly` takes hours; docs/testing.md says what each is for."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from typing import Any

import pytest

TIER = os.environ.get("SHOAL_TIER", "long")
NIGHTLY = TIER == "nightly"
IS_PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
EXAMPLES = {"glance": 3, "quick": 6 if IS_PLAIN else 20}.get(TIER)
"""The most examples that Hypothesis draws for a test; None for as many as the test asks for."""
EXAMPLES_OF_RELEASES = {"glance": 3, "quick": 4 if IS_PLAIN else 8}.get(TIER)
"""The same for laws: each of their examples is a release, of every method, mask and model in turn."""


def sized(*, quick: int, long: int, nightly: int) -> int:
    """How many of something are tried in this tier."""
    return {"glance": quick, "quick": quick, "long": long, "nightly": nightly}[TIER]


def long_but_for(quick: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """Cases of a test of which those named are tried in `make test`, and the others, which go the same way, later."""
    return [case if case in quick else pytest.param(case, marks=pytest.mark.long) for case in cases]
