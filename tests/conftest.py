"""Settings for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# The first call of a kernel compiles it, so no example has a deadline.
settings.register_profile("shoal", deadline=None)
settings.register_profile(
    "nojit", deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "shoal"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """In CI a skipped test is a failed one, unless it needs the real tables, which are not part of the project."""
    outcome = yield
    report = outcome.get_result()
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    if is_skip and os.environ.get("CI") == "true" and item.get_closest_marker("data") is None:
        report.outcome = "failed"
        report.longrepr = f"Skipped, which CI does not allow: {report.longrepr[2]}"
