"""Stage 3: what is shown of a group."""

from shoal.masking.mean import Mean
from shoal.masking.ranges import Ranges
from shoal.masking.suppress import Suppress

MASKS: dict[str, type] = {cls.name: cls for cls in (Ranges, Mean, Suppress)}

__all__ = ["MASKS", "Mean", "Ranges", "Suppress"]
