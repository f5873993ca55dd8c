"""The minimality attack on Adult and INFORMS: a model's bound on a group is not one on what is known of it."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.attacking import minimality as attack_module
from shoal.attacking.minimality import Minimality, MinimalityAttack
from shoal.attacking.setting import Setting
from shoal.grouping import Mondrian
from shoal.table.table import Table
from studies.data import MissingDataError
from studies.minimality import ADULT, PATIENTS, Study

MODELS = (shoal.LDiversity(l=2), shoal.PersonKAnonymity(k=5))


def table_of(study: Study) -> Table:
    try:
        frame = study.load()
    except MissingDataError as missing:
        pytest.skip(str(missing))
    return Table.from_frame(frame, study.schema)


@pytest.mark.data
def test_on_adult_some_are_likelier_to_have_a_value_than_the_model_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attack_module, "MOST_GROUPS", 60)
    table = table_of(ADULT)
    release = shoal.protect(table.frame, table.schema, MODELS, method="mondrian", measure_input=False)
    setting = Setting(
        schema=table.schema, frame=release.published.frame, original=table, method=Mondrian(), models=MODELS
    )
    (found,) = MinimalityAttack().try_on(setting)
    assert found.details["groups_looked_at"] == 60
    assert found.details["highest_probability_before"] <= 0.5
    assert found.details["persons_above_promise_before"] == 0
    assert found.details["persons_above_promise"] > 0
    assert abs(found.success - found.details["success_without_cuts"]) < 0.05
    assert found.low < found.success < found.high


@pytest.mark.data
def test_on_informs_the_values_that_persons_have_are_never_excluded() -> None:
    table = table_of(PATIENTS)
    models = (shoal.HAffiliation(h="0.33"), shoal.GBalance(g="0.8"))
    method = Mondrian()
    known = Minimality(table, method.group(table, models), method, models)
    sizes = np.bincount(known.grouping.group_of_person)
    small = known.constrained_groups()
    small = small[sizes[small] <= 40][:20]
    assert len(small) > 5
    for _, types, posterior in known.posteriors(small):
        own = posterior.of_type[posterior.cell_of_person, types.type_of_person]
        assert posterior.of_type.sum(axis=1) == pytest.approx(1)
        if posterior.how == "counted":
            assert own.min() > 0
