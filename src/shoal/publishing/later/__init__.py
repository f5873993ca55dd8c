"""A stored scheme on later records: the groups that there are, and the persons who come new."""

from __future__ import annotations

from shoal.publishing.later.apply import Applied, apply
from shoal.publishing.later.stored import Stored, read_stored
from shoal.publishing.later.write import write_applied

__all__ = ["Applied", "Stored", "apply", "read_stored", "write_applied"]
