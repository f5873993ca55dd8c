"""Several related tables under one policy: persons, their encounters, the conditions found there."""

from __future__ import annotations

from shoal.publishing.related.protect import StarRelease, protect_star
from shoal.publishing.related.read import joined_to_look_at, mended_tables, read_tables, star_of
from shoal.publishing.related.star import Star, StarTable
from shoal.publishing.related.suggest import suggested_tables
from shoal.publishing.related.verify import read_star, verify_star
from shoal.publishing.related.write import write_star

__all__ = [
    "Star", "StarRelease", "StarTable", "joined_to_look_at", "mended_tables", "protect_star", "read_star",
    "read_tables", "star_of", "suggested_tables", "verify_star", "write_star",
]  # fmt: skip
