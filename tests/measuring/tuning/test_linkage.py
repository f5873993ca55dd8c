"""The sweep over group sizes: the size found meets the linkage, the next smaller one does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.errors import CannotSatisfyError, ParameterError, SchemaError
from shoal.grouping import Grouping, Mdav
from shoal.masking.perturb import Perturb
from shoal.measuring.statistics import abisd, class_chi_square, homogeneous_share, linkage, numbers_of
from shoal.measuring.tuning.linkage import SEEDS, LinkageSweep
from shoal.models.contract import Model
from shoal.progress import Progress
from shoal.table.table import Table

SCHEMA = shoal.Schema(quasi=["x", "y", "z"], sensitive=["ill", "insured"])


def people(n: int = 400, seed: int = 77) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 10, (n, 3)).round(2)
    ill = np.where(values[:, 0] + rng.normal(0, 8, n) > 0, "yes", "no")
    return pl.DataFrame(values, schema=["x", "y", "z"]).with_columns(
        ill=pl.Series(ill), insured=pl.Series(rng.choice(["a", "b"], n))
    )


class Counted(Mdav):
    """MDAV that counts how often it is asked."""

    asked: list[int] = []  # noqa: RUF012

    def group(self, table: Table, models: Sequence[Model], progress: Progress, *, rng: object = None) -> Grouping:
        self.asked.append(max(int(model.asked) for model in models))
        return super().group(table, models, progress)


@pytest.mark.parametrize("target", [0.3, 0.1, 0.04])
def test_the_size_found_meets_the_target_and_the_next_smaller_does_not(target: float) -> None:
    sweep = LinkageSweep(frame=people(), schema=SCHEMA, method="mdav")
    found = sweep.smallest(target)
    assert found.linkage <= target
    assert sweep.at(found.m - 1).linkage > target
    assert sweep.smallest(1.0).m == 3


def test_what_is_measured_is_the_mean_over_five_draws_of_one_grouping() -> None:
    frame = people()
    tried = LinkageSweep(frame=frame, schema=SCHEMA, method="mdav").at(4)
    releases = [
        shoal.protect(frame, SCHEMA, [shoal.PersonKAnonymity(k=4)], method="mdav", mask="perturb", seed=seed)
        for seed in SEEDS
    ]
    assert tried.linkage_of_seed == tuple(release.linkage.rate for release in releases)
    assert tried.linkage == pytest.approx(np.mean(tried.linkage_of_seed))
    assert len(set(tried.linkage_of_seed)) > 1
    table = releases[0].table
    group = Mdav(m=4).group(table, []).group_of_record(table)
    both = [ill + insured for ill, insured in zip(frame["ill"], frame["insured"], strict=True)]
    assert tried.chi_square == pytest.approx(class_chi_square(np.array(both), group))
    assert tried.homogeneous == pytest.approx(homogeneous_share(np.array(both), group))
    assert tried.groups == releases[0].risk.groups or tried.groups == len(np.unique(group))
    assert tried.abim < 1e-3  # centred noise
    assert 0 < tried.abisd < 0.2


def test_persons_are_grouped_once_a_size() -> None:
    Counted.asked.clear()
    sweep = LinkageSweep(frame=people(), schema=SCHEMA, method=Counted())
    sweep.smallest(0.1)
    sweep.smallest(0.05)
    assert len(Counted.asked) == len(set(Counted.asked)) == len(sweep.tried)


def test_the_mask_mean_is_measured_too() -> None:
    frame = people()
    tried = LinkageSweep(frame=frame, schema=SCHEMA, method="longest-edge", mask="mean", seeds=[0]).at(5)
    table = Table.from_frame(frame, SCHEMA)
    original = numbers_of(table)
    group = shoal.grouping.LongestEdge(m=5).group(table, []).group_of_record(table)
    means = np.stack([np.bincount(group, weights=column) for column in original.T], axis=1)
    means = (means / np.bincount(group)[:, None])[group]
    assert tried.linkage == pytest.approx(linkage(original, means).rate, abs=0.02)
    assert tried.abisd == pytest.approx(abisd(original, means).value, rel=0.01)


def test_options_go_to_method_and_mask() -> None:
    sweep = LinkageSweep(
        frame=people(), schema=SCHEMA, method="mdav", options={"alpha": 0.5, "noise": "published"}, seeds=[0, 1]
    )
    plain = LinkageSweep(frame=people(), schema=SCHEMA, method="mdav", mask=Perturb(noise="published"), seeds=[0, 1])
    assert sweep.at(4).chi_square < plain.at(4).chi_square
    assert sweep.at(4).abim > 1e-3


def test_a_model_may_be_asked_for_besides() -> None:
    frame = people()
    free = LinkageSweep(frame=frame, schema=SCHEMA, method="longest-edge", seeds=[0]).at(5)
    bound = LinkageSweep(
        frame=frame, schema=SCHEMA, models=[shoal.TCloseness(t=0.3)], method="longest-edge", seeds=[0]
    ).at(5)
    assert bound.groups < free.groups


def test_without_a_sensitive_attribute_no_classes_are_measured() -> None:
    schema = shoal.Schema(quasi=["x", "y", "z"], dropped=["ill", "insured"])
    tried = LinkageSweep(frame=people(), schema=schema, method="mdav", seeds=[0]).at(4)
    assert tried.chi_square is None
    assert tried.homogeneous is None


def test_a_target_that_no_size_meets_is_told() -> None:
    sweep = LinkageSweep(frame=people(24), schema=SCHEMA, method="mdav", seeds=[0, 1])
    with pytest.raises(CannotSatisfyError, match=r"meets a linkage of 0.0%: with 24 persons the lowest was \d"):
        sweep.smallest(0.0)
    assert max(sweep.tried) == 12


def test_what_a_sweep_varies_cannot_be_given() -> None:
    for models in ([shoal.PersonKAnonymity(k=4)], [shoal.KAnonymity(k=4)]):
        with pytest.raises(ParameterError, match="are what a sweep varies"):
            LinkageSweep(frame=people(), schema=SCHEMA, models=models)
    with pytest.raises(ParameterError, match="m is what a sweep varies"):
        LinkageSweep(frame=people(), schema=SCHEMA, options={"m": 3})
    with pytest.raises(ParameterError, match="At least one seed"):
        LinkageSweep(frame=people(), schema=SCHEMA, seeds=[])
    with pytest.raises(ParameterError, match="linkage to meet must lie in"):
        LinkageSweep(frame=people(), schema=SCHEMA, method="mdav").smallest(5)


def test_missing_numbers_are_refused() -> None:
    frame = people(30).with_columns(x=pl.when(pl.col("x") > 5).then(None).otherwise(pl.col("x")))
    with pytest.raises(SchemaError, match="missing"):
        LinkageSweep(frame=frame, schema=SCHEMA, method="mdav", mask="mean", seeds=[0]).at(3)


# --- linkage as a target of tune --------------------------------------------------------------------------------------


def test_tune_finds_groups_large_enough() -> None:
    """What is chosen meets the target on average over draws and as it is released; smaller groups tried do not."""
    tuned = shoal.tune(people(200), SCHEMA, targets={"linkage": 0.1}, method="mdav", mask="perturb", points=4, seed=1)
    assert tuned.release.linkage.rate <= 0.1
    assert tuned.chosen.linkage <= 0.1
    sweep = LinkageSweep(frame=people(200), schema=SCHEMA, method="mdav")
    size = int(tuned.chosen.setting()["person-k-anonymity"])
    assert sweep.at(size).linkage == pytest.approx(tuned.chosen.linkage)
    for point in tuned.points:
        assert point.meets == (point.reached["linkage"] <= 0.1)
        assert point.meets or point.loss < tuned.chosen.loss or point.linkage > 0.1
    assert tuned.to_dict()["targets"] == {"linkage": 0.1}


def test_tune_to_the_linkage_of_means() -> None:
    tuned = shoal.tune(people(100), SCHEMA, targets={"linkage": 0.2}, mask="mean", points=3, effort="low", seed=1)
    assert tuned.chosen.linkage <= 0.2


def test_linkage_of_ranges_is_refused() -> None:
    with pytest.raises(ParameterError, match="masks that show numbers, not of range"):
        shoal.tune(people(50), SCHEMA, targets={"linkage": 0.1})
