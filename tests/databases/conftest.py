"""A PostgreSQL server of the tests' own, on loopback, for as long as the tests run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.databases.servers import Server, started


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with an empty database."""
    with started() as made:
        if made is None:
            pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
        yield made
