"""Markup escapes, numbers do not look rounder than they are, charts hold what they are given."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.publishing.report.charts import Series, bar_chart, column_chart, dumbbell_chart
from shoal.publishing.report.markup import Markup, el, joined
from shoal.publishing.report.numbers import NOT_KNOWN, count, number, quantity, share
from shoal.publishing.report.words import capital, listed, typeset
from tests.publishing.report.pages import Page


@given(st.text(), st.text())
def test_any_text_comes_back_as_the_text_it_is(inside: str, attribute: str) -> None:
    page = Page(el("p", inside, title=attribute))
    (paragraph,) = page.all("p")
    assert not paragraph.children
    shown = "".join(letter if letter.isprintable() or letter in "\n\t\xa0" else "\ufffd" for letter in inside)
    assert paragraph.text == shown
    assert page.comments == []


def test_elements_are_put_together() -> None:
    assert el("p", "a", None, [el("b", 1), " & "], class_="x", hidden=True, title=None) == (
        '<p class="x" hidden>a<b>1</b> &amp; </p>'
    )
    assert el("meta", http_equiv="x") == '<meta http-equiv="x">'
    assert el("svg", viewBox="0 0 1 1") == '<svg viewBox="0 0 1 1"></svg>'
    assert joined([Markup("<b>"), "<b>"]) == "<b>&lt;b&gt;"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "10.00 %"), (1.0, "100 %"), (0.0, "0 %"), (0.99999, "over 99.99 %"), (0.00001, "under 0.01 %"),
        (None, NOT_KNOWN), (math.nan, NOT_KNOWN), (1.5, "150.00 %"),
    ],
)  # fmt: skip
def test_a_share_that_is_nearly_nothing_or_all_does_not_look_it(value: float | None, text: str) -> None:
    assert share(value).replace("\xa0", " ") == text


def test_numbers_are_written_as_people_read_them() -> None:
    assert (count(1234567), count(None)) == ("1,234,567", NOT_KNOWN)
    assert (number(-0.25, 2), number(-0.0001, 2)) == ("−0.25", "0.00")
    assert (quantity(123456.7), quantity(-3.14159)) == ("123,457", "−3.142")


def test_sentences() -> None:
    assert listed([]) == ""
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert capital("the value of 'Disease'") == "The value of 'Disease'"
    assert typeset("a person's 'age' and 'zip code'") == "a person’s ‘age’ and ‘zip code’"


values = st.lists(st.floats(0, 1), min_size=1, max_size=16)


@given(values, st.data())
def test_charts_stay_inside_their_drawing(shares: list[float], data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.text(max_size=60), min_size=len(shares), max_size=len(shares)))
    series = [Series("before", "before", shares), Series("after", "after", shares[::-1])]
    texts = [[f"{value:.1%}" for value in each.values] for each in series]
    for chart in (
        column_chart(labels, series, title="t", description="d", across="a", upwards="b"),
        bar_chart(
            labels, series, title="t", description="d", texts=texts, across="a", marks=Series("blind", "mark", shares)
        ),
        dumbbell_chart(labels, shares, shares[::-1], title="t", description="d", low=0, high=1, across="a"),
    ):
        (svg,) = Page(chart).all("svg")
        _, _, width, height = map(float, svg.attributes["viewbox"].split())
        for bar in svg.all("rect"):
            x, y, wide, tall = (float(bar.attributes[name]) for name in ("x", "y", "width", "height"))
            assert x >= 0
            assert y >= 0
            assert x + wide <= width
            assert y + tall <= height
        for dot in svg.all("circle"):
            assert 0 <= float(dot.attributes["cx"]) <= width
            assert 0 <= float(dot.attributes["cy"]) <= height


def test_a_value_that_is_not_there_is_not_drawn() -> None:
    chart = Page(dumbbell_chart(["a"], [0.5], [None], title="t", description="d", low=-1, high=1, across="a"))
    kinds = [each.attributes["class"] for each in chart.all("circle")]
    assert [kind for kind in kinds if not kind.startswith("key ")] == ["ring"]
    assert NOT_KNOWN in chart.root.text
