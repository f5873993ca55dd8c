"""What is shown of a group: every mask with its options, as in `protect(..., mask=shoal.masks.Range(...))`.

The name of a mask, `mask="range"`, is short for it; its options are then further keyword arguments. `History` says how
histories are hidden where models of them are asked for.
"""

from shoal.masking import (
    MASKS,
    Anatomize,
    ByColumn,
    IndividualRanking,
    Mask,
    Mean,
    Noise,
    Permute,
    Perturb,
    Pram,
    Range,
    RankSwap,
    RecordSwap,
    Shuffle,
    Suppress,
    Wildcards,
)
from shoal.policy.history import History

__all__ = [
    "MASKS",
    "Anatomize",
    "ByColumn",
    "History",
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
]
