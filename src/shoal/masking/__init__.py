"""Stage 3: what is shown of a group."""

from shoal.masking.anatomize import Anatomize
from shoal.masking.mean import Mean
from shoal.masking.permute import Permute
from shoal.masking.perturb import Perturb
from shoal.masking.ranges import Ranges
from shoal.masking.suppress import Suppress

MASKS: dict[str, type] = {cls.name: cls for cls in (Ranges, Mean, Suppress, Perturb, Anatomize, Permute)}

__all__ = ["MASKS", "Anatomize", "Mean", "Permute", "Perturb", "Ranges", "Suppress"]
