"""Stage 3: what is shown of a group."""

from shoal.masking.anatomize import Anatomize
from shoal.masking.mean import Mean
from shoal.masking.permute import Permute
from shoal.masking.perturb import Perturb
from shoal.masking.publish import Mask
from shoal.masking.ranges import Ranges
from shoal.masking.suppress import Suppress

MASKS: dict[str, type[Mask]] = {cls.name: cls for cls in (Ranges, Mean, Suppress, Perturb, Anatomize, Permute)}


def mask_called(name: str) -> type[Mask]:
    """The mask of a name; one that is not known here, such as somebody's own, is taken in the way that is safe."""
    return MASKS.get(name, Mask)


__all__ = ["MASKS", "Anatomize", "Mask", "Mean", "Permute", "Perturb", "Ranges", "Suppress", "mask_called"]
