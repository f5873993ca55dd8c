"""At night every test of bad weather is run in its long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiers import NIGHTLY


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if NIGHTLY and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.nightly)
