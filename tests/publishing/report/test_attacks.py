"""Attacks of the report: the same as the library's own, beside blind guessing, on some groups where there are many."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import Schema
from shoal.attacking import elimination
from shoal.attacking.contract import Attack, AttackResult, Finding, Recounted
from shoal.attacking.elimination import attack_elimination
from shoal.attacking.setting import Setting
from shoal.attacking.suite import ATTACKS, findings
from shoal.demo.patients import made_up_patients
from shoal.measuring.spread import observe_release, spread_of_risk
from shoal.models.counts import JOINT
from tests.publishing.report.pages import release_of

APPLY = {
    "range": {"find the person", "take a record", "guess a value", "exclude values"},
    "anatomize": {"find the person", "guess a value", "exclude values"},
    "permute": {"find the person", "take a record", "guess a value", "exclude values"},
    "perturb": {"guess a value", "exclude values", "link numbers"},
    "no sensitive attribute": {"find the person", "take a record"},
    "rules": {"find the person", "take a record", "guess a value", "exclude values", "use rules"},
}


def attacked(kind: str) -> Recounted:
    release = release_of(kind)
    seen = observe_release(release)
    return Recounted(
        risk=release.risk, spread=spread_of_risk(seen), seen=seen, quasi=tuple(release.schema.quasi_names),
        before=release.before, spread_before=release.spread_before, linkage=release.linkage, seed=1,
        shows_groups=getattr(release.mask, "shows_groups", True),
    )  # fmt: skip


def found_in(known: Recounted) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings(known)}


@pytest.mark.parametrize("kind", APPLY)
def test_each_is_tried_where_it_applies(kind: str) -> None:
    found = found_in(attacked(kind))
    assert found.keys() == APPLY[kind]
    for finding in found.values():
        for attempt in finding.attempts:
            assert 0 <= attempt.success <= 1
            assert attempt.blind is not None
            assert 0 < attempt.blind <= 1


def test_they_are_those_of_the_measures() -> None:
    known = attacked("range")
    found = found_in(known)
    assert known.spread is not None
    assert known.before is not None
    assert found["find the person"].attempts[0].success == known.risk.marketer_risk
    assert found["find the person"].attempts[0].before == known.before.marketer_risk
    assert found["take a record"].attempts[0].success == known.spread.mean_record_risk
    assert found["take a record"].attempts[0].success <= known.risk.max_gidr
    guesses = {attempt.label: attempt for attempt in found["guess a value"].attempts}
    assert guesses["guess ‘disease’"].success == known.spread.guessed["disease"]
    assert guesses["guess ‘disease’"].success <= known.risk.max_gsar["disease"]
    assert found["exclude values"].persons == known.risk.persons


def test_elimination_is_the_library_s() -> None:
    known = attacked("range")
    assert known.seen is not None
    joint = known.seen.counts(JOINT).joint
    assert joint is not None
    attempts = found_in(known)["exclude values"].attempts
    for e, attempt in enumerate(attempts):
        expected = attack_elimination(joint, e)
        assert attempt.success <= expected.share if not attempt.is_exact else attempt.success == expected.share
        assert attempt.blind == expected.blind


def test_linkage_stands_beside_a_blind_guess() -> None:
    release = release_of("perturb")
    assert release.linkage is not None
    closest, one_of_two = found_in(attacked("perturb"))["link numbers"].attempts
    n = release.linkage.n
    assert (closest.success, closest.blind) == (release.linkage.linked / n, 1 / n)
    assert (one_of_two.success, one_of_two.blind) == (release.linkage.rate, 2 / n)


def test_of_many_persons_some_groups_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = made_up_patients(1000, seed=1)
    schema = Schema(person="patient", quasi=["age", "zip"], sensitive=["disease"],
                    dropped=["gender", "education", "treatment", "visit_date"])  # fmt: skip
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=3)], seed=1)
    seen = observe_release(release)
    known = Recounted(risk=release.risk, spread=spread_of_risk(seen), seen=seen, quasi=("age", "zip"), seed=4)
    whole = found_in(known)["exclude values"]
    monkeypatch.setattr(elimination, "MOST_ATTACKED", 200)
    some, again = found_in(known)["exclude values"], found_in(known)["exclude values"]
    assert whole.persons == 1000
    assert 200 <= some.persons < 260
    assert some == again
    assert some.attempts[0].blind == whole.attempts[0].blind  # of the whole table
    assert some.attempts[1].success == pytest.approx(whole.attempts[1].success, abs=0.2)


class Nothing(Attack):
    """An attack that gets nothing, and says so in the report."""

    name = "nothing"
    knows = "Nothing."

    def run(self, setting: Setting) -> list[AttackResult]:
        return []

    def findings(self, recounted: Recounted) -> list[Finding]:
        return [Finding(name="nothing", knows="nothing", does="nothing", persons=0, attempts=())]


def test_another_attack_is_one_more_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ATTACKS, "nothing", Nothing)
    assert "nothing" in found_in(attacked("no sensitive attribute"))


def test_somebody_who_is_known_for_sure_is_seen() -> None:
    """Everybody of a group has the same value, so that nothing needs to be excluded."""
    frame = pl.DataFrame({"p": range(20), "q": np.repeat([1, 9], 10), "s": ["flu"] * 10 + ["gout"] * 10})
    release = shoal.protect(frame, Schema(person="p", quasi=["q"], sensitive=["s"]), [shoal.PersonKAnonymity(k=10)])
    seen = observe_release(release)
    known = Recounted(risk=release.risk, spread=spread_of_risk(seen), seen=seen, quasi=("q",))
    assert found_in(known)["exclude values"].attempts[0].success == 1.0
