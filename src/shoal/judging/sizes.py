"""Groups for models that no method can ask while it forms groups: their size is sought by which a release meets them.

Such models are about the whole table, or about a population that only what is shown can be compared with. They need not
hold in larger groups where they hold in smaller ones; so what is found is judged once more from what is published.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np

from shoal.errors import CannotSatisfyError
from shoal.grouping.grouping import Grouping, Method, without_left_out
from shoal.judging.alone import AloneLimit
from shoal.judging.population_table import PopulationTable
from shoal.judging.recount import look_at_release
from shoal.judging.verdict import Verdict
from shoal.masking.history import group_with_histories
from shoal.masking.publish import Mask, Published, publish
from shoal.models.contract import Model
from shoal.models.counts import IN_POPULATION
from shoal.models.person_k_anonymity import PersonKAnonymity
from shoal.policy.history import History
from shoal.progress import Progress, silent
from shoal.table.sample import Sample
from shoal.table.table import Table


def sample_of(table: Table, published: Published) -> Sample | None:
    """How the published records were drawn, in their order."""
    if table.sample is None or published.tables:
        return None
    return table.sample.taken(published.record_of_published)


@dataclass(frozen=True)
class Sizes:
    """Groups of a method, of the smallest size by which models are met that it cannot ask by itself."""

    method: Method
    mask: Mask
    table: Table
    models: tuple[Model, ...]
    of_groups: tuple[Model, ...]
    """What the models ask of groups while these are formed."""
    history: History
    population: PopulationTable | None = None
    progress: Progress = silent

    def group(self, rng: np.random.Generator) -> Grouping:
        """The groups."""
        if not any(model.is_searched for model in self.models):
            return self._grouped(1, rng)
        return self._by_the_method(rng) if self.method.asks_of_samples else self._grouped(self._size(rng), rng)

    def _by_the_method(self, rng: np.random.Generator) -> Grouping:
        """The groups of a method that asks models of samples by itself."""
        table = self.table
        if self.population is not None and any(model.needs & IN_POPULATION for model in self.models):
            table = replace(table, beside=self.population.beside(table))
        asked = (*self.of_groups, *(model for model in self.models if model.is_searched))
        return group_with_histories(self.method, table, asked, self.models, self.history, self.progress, rng=rng)

    def _size(self, rng: np.random.Generator) -> int:
        """The smallest size that was found: doubled until the models hold, then halved between the last two."""

        def tried(size: int) -> Verdict:
            return self._judged(self._grouped(size, deepcopy(rng)), deepcopy(rng))

        n_persons, fails, size = self.table.n_persons, 0, 1
        while not _holds(verdict := tried(size)):
            if size >= n_persons:
                raise _impossible(verdict)
            fails, size = size, min(2 * size, n_persons)
        while size - fails > 1:
            middle = (fails + size) // 2
            if _holds(tried(middle)):
                size = middle
            else:
                fails = middle
        return size

    def _grouped(self, size: int, rng: np.random.Generator) -> Grouping:
        of_groups = self.of_groups if size == 1 else (*self.of_groups, PersonKAnonymity(k=size))
        of_groups = of_groups or (PersonKAnonymity(k=1),)
        return group_with_histories(
            self.method, self.table, of_groups, self.models, self.history, self.progress, rng=rng
        )

    def _judged(self, grouping: Grouping, rng: np.random.Generator) -> Verdict:
        """What the models that are sought say of a release with these groups."""
        table, grouping = without_left_out(self.table, grouping, freely=self.method.leaves_out_freely)
        published = publish(table, grouping, self.mask, rng=rng)
        sought = [model for model in self.models if model.is_searched]
        return look_at_release(
            published.frame, table.schema, sought, mask=type(self.mask), tables=published.tables,
            linked=published.linked, excluded=published.excluded, limit=AloneLimit(allow_alone=True),
            sample=sample_of(table, published), population=self.population, tells_population=False,
        )[1]  # fmt: skip


def _holds(verdict: Verdict) -> bool:
    """Whether every model does; what else may be wrong with a release is judged at the end."""
    return all(model.holds for model in verdict.models)


def _impossible(verdict: Verdict) -> CannotSatisfyError:
    """Why not even the whole table as one group meets them."""
    told = [
        f"{model.name} {model.asked:g} is not met by the whole table as one group"
        + (f", which reaches {model.reached:.4g}." if model.reached == model.reached else ".")
        for model in verdict.models
        if not model.holds
    ]
    hint = "Ask for less, or for a mask that shows groups."
    return CannotSatisfyError(" ".join([*told, hint]), hint=hint)
