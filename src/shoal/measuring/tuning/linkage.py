"""The smallest groups from whose masked numbers few persons are found again (Li and Sarkar, 2013, section 6.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping import Grouping, Method
from shoal.grouping.tree_cutting import fewest_asked
from shoal.masking.chosen import choose
from shoal.masking.publish import Mask
from shoal.measuring.statistics import (
    Linkage,
    abico,
    abim,
    abisd,
    class_chi_square,
    homogeneous_share,
    linkage_of,
    masked_of,
    numbers_of,
    within_share,
)
from shoal.measuring.tuning.workbench import SEEDS
from shoal.models import PersonKAnonymity
from shoal.models.contract import Model
from shoal.pipeline import protect
from shoal.progress import Progress, silent
from shoal.publishing.release import Release
from shoal.table.schema import Schema
from shoal.table.table import Table


@dataclass(frozen=True)
class SizeTried:
    """What groups of at least m persons come to, averaged over the draws of noise; shares as fractions."""

    m: int
    groups: int
    linkage: float
    """The share of persons whose masked numbers are closest or second closest to their own original ones."""
    linkage_of_seed: tuple[float, ...]
    chi_square: float | None
    """X^2: how far the classes of groups are from those of the table; None without a sensitive attribute."""
    homogeneous: float | None
    """The share of records in groups that have one class only."""
    within: float
    """SSE/SST."""
    abim: float
    abisd: float
    abico: float


@dataclass(kw_only=True)
class LinkageSweep:
    """Protects a table with groups of one size after the other and measures who can be found again.

    Parameters
    ----------
    frame, schema, models
        The table, the roles of its columns, and what every group must meet besides its size.
    method, mask, options
        How groups are formed and what is shown of them: the mask perturb or mean, since numbers must be shown.
    seeds
        The draws of noise that are averaged.

    Notes
    -----
    A size is asked for as person-k-anonymity, so that any method can be swept. Persons are grouped once per size, and a
    size is tried once. Seeds make the figures repeatable; a release that leaves the house is made without one, and its
    own linkage is gated by `max_linkage` of `protect`.
    """

    frame: Any
    schema: Schema
    models: Sequence[Model] = ()
    method: str | Method = "spanning-tree"
    mask: str | Mask = "perturb"
    seeds: Sequence[int] = SEEDS
    options: dict[str, Any] = field(default_factory=dict)
    tried: dict[int, SizeTried] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if "m" in self.options:
            raise ParameterError("m is what a sweep varies: leave it out.")
        if any((fewest_asked(model) or 1) > 1 for model in self.models):
            raise ParameterError("k and person-k are what a sweep varies: leave them out.")
        if not self.seeds:
            raise ParameterError("At least one seed is needed.")

    def at(self, m: int) -> SizeTried:
        """What groups of at least m persons come to."""
        if m not in self.tried:
            chosen_method, chosen_mask = choose(self.method, self.mask, self.options)
            grouped_once = _GroupedOnce(chosen_method)
            releases = [self._protected(m, grouped_once, chosen_mask, seed) for seed in self.seeds]
            assert grouped_once.grouping is not None
            self.tried[m] = _measured(m, releases, grouped_once.grouping)
        return self.tried[m]

    def _protected(self, m: int, method: Method, mask: Mask, seed: int) -> Release:
        models = [*self.models, PersonKAnonymity(k=m)]
        return protect(self.frame, self.schema, models, method=method, mask=mask, seed=seed, measure_input=False)

    def smallest(self, target: float, *, first: int = 3) -> SizeTried:
        """The smallest groups that meet a linkage: m of them meet it and m - 1 do not, or m is `first`.

        The size is doubled until the target is met and then narrowed down, so that about 2 log m sizes are tried.
        Linkage falls with m, but not at every step: a smaller size that meets the target by chance may be passed over.

        Parameters
        ----------
        target
            The largest linkage, in [0, 1].
        first
            The size to begin with.

        Raises
        ------
        CannotSatisfyError
            Where even two groups do not meet it.
        """
        if not 0 <= target <= 1:
            raise ParameterError(f"The linkage to meet must lie in [0, 1], got {target}. Say 0.05 for 5 %.")
        fails, meets = first - 1, first
        while self.at(meets).linkage > target:
            fails, meets = meets, self._larger(meets, target)
        while meets - fails > 1:
            middle = (fails + meets) // 2
            if self.at(middle).linkage > target:
                fails = middle
            else:
                meets = middle
        return self.at(meets)

    def _larger(self, m: int, target: float) -> int:
        n_persons = Table.from_frame(self.frame, self.schema).n_persons
        if 2 * m < n_persons // 2:
            return 2 * m
        if m < n_persons // 2:
            return n_persons // 2
        lowest = min(tried.linkage for tried in self.tried.values())
        raise CannotSatisfyError(
            f"No size of groups that was tried meets a linkage of {target:.1%}: with {n_persons:,} persons the lowest "
            f"was {lowest:.1%}. Ask for a higher one, or name fewer quasi-identifiers."
        )


class _GroupedOnce(Method):
    """A method that groups a table once; the other draws of noise take the same groups."""

    def __init__(self, method: Method) -> None:
        self.method = method
        self.grouping: Grouping | None = None

    def group(
        self,
        table: Table,
        models: Sequence[Model],
        progress: Progress = silent,
        *,
        rng: np.random.Generator | None = None,
    ) -> Grouping:
        """The groups, formed when they are first asked for."""
        if self.grouping is None:
            self.grouping = self.method.group(table, models, progress, rng=rng)
        return self.grouping


def _measured(m: int, releases: Sequence[Release], grouping: Grouping) -> SizeTried:
    table = releases[0].table
    original = numbers_of(table)
    if not np.isfinite(original).all():
        raise SchemaError(
            "Numbers are missing, and a missing number has no distance to any other. Complete them first."
        )
    masked = [masked_of(table, release.published) for release in releases]
    linkages = [_linkage(release).rate for release in releases]
    group, class_of_record = grouping.group_of_record(table), _class_of_record(table)
    return SizeTried(
        m=m,
        groups=grouping.n_groups,
        linkage=fmean(linkages),
        linkage_of_seed=tuple(linkages),
        chi_square=None if class_of_record is None else class_chi_square(class_of_record, group),
        homogeneous=None if class_of_record is None else homogeneous_share(class_of_record, group),
        within=within_share(original, group),
        abim=fmean(abim(original, one).value for one in masked),
        abisd=fmean(abisd(original, one).value for one in masked),
        abico=fmean(abico(original, one).value for one in masked),
    )


def _linkage(release: Release) -> Linkage:
    return release.linkage if release.linkage is not None else linkage_of(release.table, release.published)


def _class_of_record(table: Table) -> NDArray[np.int64] | None:
    """The sensitive value of each record, or the combination of several."""
    if not table.sensitive:
        return None
    combined = np.stack([column.codes for column in table.sensitive.values()], axis=1)
    return np.unique(combined, axis=0, return_inverse=True)[1].reshape(-1)
