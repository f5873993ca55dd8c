"""What a release that shows numbers keeps of their statistics (Li and Sarkar, 2013, section 6.1)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shoal.measuring.shown import Released, grouping_of
from shoal.measuring.statistics import (
    SHOWN_AS_NUMBERS,
    ClassMix,
    abico,
    abim,
    abisd,
    class_mix,
    masked_of,
    number_columns,
    numbers_of,
)


@dataclass(frozen=True, kw_only=True)
class KeptStatistics:
    """What published numbers keep of the original ones, and how groups mix classes.

    Attributes
    ----------
    abim, abisd, abico
        Average absolute bias in mean, standard deviation and correlation; None where it is defined nowhere.
    undefined
        How many columns, or pairs of them, each leaves out, because the original is 0 or something is constant.
    classes
        For each sensitive attribute how its values are mixed in groups.
    """

    abim: float | None
    abisd: float | None
    abico: float | None
    undefined: dict[str, int]
    classes: dict[str, ClassMix]

    def to_dict(self) -> dict[str, Any]:
        """The keys of the JSON contract."""
        return asdict(self)


def statistics_of(release: Released) -> KeptStatistics | None:
    """What a release keeps; None where its mask shows no numbers, or no quasi-identifier is one."""
    table = release.table
    if release.mask.form not in SHOWN_AS_NUMBERS or not number_columns(table):
        return None
    original, masked = numbers_of(table), masked_of(table, release.published)
    biases = {bias.__name__: bias(original, masked) for bias in (abim, abisd, abico)}
    group = grouping_of(release).group_of_record(table)
    return KeptStatistics(
        **{name: bias.value if np.isfinite(bias.value) else None for name, bias in biases.items()},
        undefined={name: bias.undefined for name, bias in biases.items()},
        classes={name: class_mix(column.codes, group) for name, column in table.sensitive.items()},
    )
