"""How long the tests of bad weather go on: shorter in `make test`, longer in `make test-long`, long at night."""

from __future__ import annotations

import os

from tests.tiers import sized

CASES = int(os.environ.get("SHOAL_FUZZ_CASES", sized(quick=200, long=2_000, nightly=100_000)))
"""Random tables."""
READER_RUNS = sized(quick=1_000, long=3_000, nightly=200_000)
"""Inputs to each reader."""
REQUESTS = sized(quick=10, long=40, nightly=1_000)
"""Requests to each address of the web app."""
KILLS = sized(quick=6, long=12, nightly=50)
"""Moments at which `shoal protect` is killed; with databases a third of them, and half of them for `shoal apply`."""
