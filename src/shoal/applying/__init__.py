"""A stored scheme on later records: the groups that there are, and the persons who come new."""

from __future__ import annotations

from shoal.applying.apply import Applied, apply
from shoal.applying.stored import Stored, read_stored
from shoal.applying.write import write_applied

__all__ = ["Applied", "Stored", "apply", "read_stored", "write_applied"]
