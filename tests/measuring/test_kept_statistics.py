"""What a release that shows numbers says of their statistics: in Python, in JSON, and not where it shows none."""

from __future__ import annotations

import polars as pl
import pytest

import shoal
from shoal.measuring import statistics
from shoal.measuring.kept_statistics import statistics_of
from tests.measuring.tuning.test_linkage import SCHEMA, people
from tests.naive import statistics as naive

MODELS = [shoal.PersonKAnonymity(k=5)]


@pytest.mark.parametrize("mask", ["mean", "perturb"])
def test_the_measures_are_those_of_the_definitions(mask: str) -> None:
    release = shoal.protect(people(120), SCHEMA, MODELS, method="mdav", mask=mask, seed=7)
    told = release.to_dict()["statistics"]
    assert release.statistics.to_dict() == told
    original = statistics.numbers_of(release.table).tolist()
    masked = statistics.masked_of(release.table, release.published).tolist()
    for name in ("abim", "abisd", "abico"):
        assert (told[name], told["undefined"][name]) == pytest.approx(getattr(naive, name)(original, masked), rel=1e-6)
    group_of_record = [0] * len(original)
    for at, group in zip(release.published.record_of_published, release.published.group_of_record, strict=True):
        group_of_record[at] = int(group)
    for column in ("ill", "insured"):
        classes = release.table.sensitive[column].codes.tolist()
        kld, wjsd = naive.mean_divergences(classes, group_of_record)
        assert told["classes"][column] == pytest.approx(
            {
                "chi_square": naive.class_chi_square(classes, group_of_record),
                "one_class": naive.homogeneous_share(classes, group_of_record),
                "kld": kld,
                "wjsd": wjsd,
            }
        )


def test_ranges_have_none() -> None:
    release = shoal.protect(people(60), SCHEMA, MODELS, seed=7)
    assert release.statistics is None
    assert "statistics" not in release.to_dict()


def test_no_numbers_no_statistics() -> None:
    cities = pl.DataFrame({"city": ["x", "y"] * 5, "ill": ["yes"] * 10})
    release = shoal.protect(cities, shoal.Schema(quasi=["city"], sensitive=["ill"]), MODELS, mask="mean", seed=7)
    assert release.statistics is None


def test_missing_numbers_and_constants_are_left_out() -> None:
    frame = people(60).drop("z", "insured").with_columns(one=pl.lit(0), x=pl.when(pl.col("x") > 0).then("x"))
    schema = shoal.Schema(quasi=["x", "y", "one"], sensitive=["ill"])
    release = shoal.protect(frame, schema, MODELS, mask="mean", seed=7)
    found = statistics_of(release)
    assert found.undefined == {"abim": 1, "abisd": 1, "abico": 2}
    assert found.abisd > 0
