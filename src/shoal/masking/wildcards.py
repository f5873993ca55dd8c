"""Mask "wildcards": cells are shown as they are or as `*`, and `*` is counted as matching anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.masking.suppress import Suppress


@dataclass(frozen=True, kw_only=True)
class Wildcards(Suppress):
    """Show what the groups show, and count a hidden cell as alike to anything.

    Notes
    -----
    Models count, for each row, everybody whose shown values do not contradict it. That is weaker than counting those
    who look the same: whoever knows a person's hidden value may rule out some of them.
    """

    name: ClassVar[str] = "wildcards"
    title: ClassVar[str] = "Hidden cells that match anything"
    sentence: ClassVar[str] = "Cells are shown as they are or hidden, and a hidden one is counted as matching anything."
    is_in_app: ClassVar[bool] = False
    engines: ClassVar[frozenset[str]] = frozenset({"memory"})
    has_scheme: ClassVar[bool] = False
    matches_anything: ClassVar[bool] = True
