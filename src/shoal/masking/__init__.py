"""Stage 3: what is shown of a group."""

from shoal.masking.anatomize import Anatomize
from shoal.masking.by_column import ByColumn
from shoal.masking.individual_ranking import IndividualRanking
from shoal.masking.mean import Mean
from shoal.masking.noise import Noise
from shoal.masking.permute import Permute
from shoal.masking.perturb import Perturb
from shoal.masking.pram import Pram
from shoal.masking.publish import Mask
from shoal.masking.ranges import Range
from shoal.masking.rank_swap import RankSwap
from shoal.masking.record_swap import RecordSwap
from shoal.masking.shuffle import Shuffle
from shoal.masking.suppress import Suppress
from shoal.masking.wildcards import Wildcards
from shoal.registry import Registry

MASKS: Registry[Mask] = Registry(
    what="mask",
    contract=Mask,
    own=(
        Range,
        Mean,
        Suppress,
        Wildcards,
        Perturb,
        Anatomize,
        Permute,
        Noise,
        Pram,
        RankSwap,
        RecordSwap,
        Shuffle,
        IndividualRanking,
        ByColumn,
    ),
    entry_points="shoal.masks",
)
"""Every mask by its name."""


def mask_called(name: str) -> type[Mask]:
    """The mask of a name; one that is not known here, such as somebody's own, is taken in the way that is safe."""
    return MASKS.get(name, Mask)


__all__ = [
    "MASKS",
    "Anatomize",
    "ByColumn",
    "IndividualRanking",
    "Mask",
    "Mean",
    "Noise",
    "Permute",
    "Perturb",
    "Pram",
    "Range",
    "RankSwap",
    "RecordSwap",
    "Shuffle",
    "Suppress",
    "Wildcards",
    "mask_called",
]
