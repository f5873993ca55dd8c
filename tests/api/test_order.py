"""Records of a release stand in another order than those that were given, and do not meet them by mistake."""

from __future__ import annotations

import pandas as pd

import shoal
from shoal.demo.clinics import clinics

SCHEMA = shoal.Schema(person="name", quasi=["age", "zip"], sensitive=["disease"], dropped=["admission", "gender"])


def test_columns_of_a_release_and_of_the_original_do_not_meet_by_their_index() -> None:
    given = clinics().to_pandas()
    release = shoal.protect(given, SCHEMA, [shoal.PersonKAnonymity(k=2)])
    assert given.assign(shown=release.data["age"])["shown"].isna().all()
    assert len(pd.concat([given, release.data], axis=1)) == 2 * len(given)


def test_the_groups_of_a_release_meet_its_records() -> None:
    release = shoal.protect(clinics().to_pandas(), SCHEMA, [shoal.PersonKAnonymity(k=2)])
    together = release.data.assign(group=release.groups["group"])
    assert (together.groupby("group")[["age", "zip"]].nunique() == 1).all(axis=None)
