"""How long the tests of bad weather go on: short in every run, long at night (`make nightly`)."""

from __future__ import annotations

import os

NIGHTLY = os.environ.get("SHOAL_NIGHTLY") == "1"

CASES = int(os.environ.get("SHOAL_FUZZ_CASES", "2000"))
"""Random tables."""
READER_RUNS = 200_000 if NIGHTLY else 3_000
"""Inputs to each reader."""
REQUESTS = 1_000 if NIGHTLY else 40
"""Requests to each address of the web app."""
KILLS = 50 if NIGHTLY else 12
"""Moments at which `shoal protect` is killed; with databases a third of them, and half of them for `shoal apply`."""
