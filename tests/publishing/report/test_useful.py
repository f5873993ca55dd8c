"""The section of the report on what can still be done with a release, and its words."""

from __future__ import annotations

from typing import Any

import pytest

from shoal.publishing.report import words
from shoal.publishing.report.markup import joined
from shoal.publishing.report.sections.useful import useful
from tests.measuring.test_prediction import MASKS, people, released


@pytest.mark.parametrize(("mask", "options"), MASKS)
@pytest.mark.parametrize("target", ["ill", "income"])
def test_the_section_shows_every_number(mask: str, options: dict[str, Any], target: str) -> None:
    release = released(people(120), mask, **options)
    told = release.usefulness(target, queries=50).to_dict()
    shown = joined(useful({"usefulness": told}))
    assert f"Predicting ‘{target}’ of persons kept apart" in shown
    assert "Random counts" in shown
    for who in ("release", "original", "blind"):
        for key, value in told[who].items():
            assert f'data-key="usefulness.{who}.{key}" data-value="{value!r}"' in shown
    for at, pair in enumerate(told["pairs"]):
        after = "" if pair["after"] is None else repr(pair["after"])
        assert f'data-key="usefulness.pairs.{at}.after" data-value="{after}"' in shown
    for name, value in told["marginals"].items():
        assert value is None or f'data-key="usefulness.marginals.{name}" data-value="{value!r}"' in shown


def test_where_nothing_was_measured_the_section_says_why() -> None:
    told = released(people(20)).usefulness("ill", queries=0).to_dict()
    shown = joined(useful({"usefulness": told}))
    assert "was not measured: There are 20 persons" in shown
    assert "Predicting" not in shown


def test_a_prediction_is_told_in_words() -> None:
    release = released(people())
    classes = {"usefulness": release.usefulness("ill", queries=0).to_dict()}
    assert "predicts ‘ill’ right in" in words.about_prediction(classes)
    assert "of what can be learned." in words.about_prediction(classes)
    number = {"usefulness": release.usefulness("income", queries=0).to_dict()}
    assert "with a mean error of" in words.about_prediction(number)
    why = {"usefulness": {**classes["usefulness"], "why_not": "It is so."}}
    assert words.about_prediction(why) == "How well ‘ill’ can be predicted was not measured: It is so."
    hardly = {"usefulness": {**classes["usefulness"], "kept": None}}
    assert words.about_prediction(hardly).endswith("Even the original hardly tells more than a blind guess.")
