"""How long tests go on. `make check` takes a glance, `make test` is quick, `make test-long` and pytest by itself are
long, `make nightly` takes hours; docs/testing.md says what each is for."""

from __future__ import annotations

import os

TIER = os.environ.get("SHOAL_TIER", "long")
NIGHTLY = TIER == "nightly"
IS_PLAIN = os.environ.get("NUMBA_DISABLE_JIT") == "1"
EXAMPLES = {"glance": 3, "quick": 6 if IS_PLAIN else 20}.get(TIER)
"""The most examples that Hypothesis draws for a test; None for as many as the test asks for."""


def sized(*, quick: int, long: int, nightly: int) -> int:
    """How many of something are tried in this tier."""
    return {"glance": quick, "quick": quick, "long": long, "nightly": nightly}[TIER]
