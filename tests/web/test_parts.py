"""What stands in a table or a message is shown as text: no value, name or error can become part of a page."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

pytest.importorskip("nicegui", reason="the extra 'web' is not installed")

from shoal.web import layout
from shoal.web.hierarchies import Sets
from shoal.web.pages import columns, data
from shoal.web.pages.hierarchy_editor import board_of

EVIL = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>&amp;"


class Tags(HTMLParser):
    """The tags and the text of a piece of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "made",
    [
        layout.table_html([EVIL], [[EVIL], [None]], caption=EVIL, numeric=[EVIL]),
        layout.facts_html([layout.Fact(EVIL, EVIL, EVIL, "bad")]),
        data._odd_item({"column": EVIL, "tone": "warn", "words": EVIL}),
        columns._told_alone(1, 2, (EVIL,), None),
        board_of(Sets([EVIL, "b"], [{EVIL: EVIL + "2"}])),
    ],
)
def test_nothing_of_a_table_becomes_part_of_the_page(made: str) -> None:
    seen = Tags(made)
    assert not seen.tags & {"img", "script"}
    assert not [name for name in seen.attributes if name.startswith("on")]
    assert EVIL in seen.text


def test_missing_values_are_told_from_empty_ones() -> None:
    made = layout.table_html(["a"], [[None], [""], [0]], caption="x")
    assert made.count('<span class="sh-missing">missing</span>') == 1
    assert "<td>0</td>" in made


def test_lengths_of_time_are_words() -> None:
    assert [layout.told_seconds(seconds) for seconds in (0.2, 20, 600, 7200)] == [
        "a second", "20 seconds", "10 minutes", "2.0 hours",
    ]  # fmt: skip


def test_advice_names_places_of_the_page_instead_of_flags() -> None:
    for words in (
        "The delimiter may be ',' or ';'. Set it with delimiter=.",
        "It is ',' (found from the first lines; delimiter= sets another).",
        "Name the encoding of the file, for instance encoding='cp1252' or encoding='latin-1'.",
        "Leave them out with max_suppressed=3, or write safe_cells=True.",
    ):
        told = layout.in_fields(words)
        assert "=" not in told
        assert "on the page" in told


def test_the_steps_say_their_state_in_words() -> None:
    states = {"data": "done", "columns": "stale", "risk": "open", "protect": "open", "release": "open"}
    bar = layout._step_bar(states, "risk")
    text = Tags(bar).text
    assert "Data, done" in text
    assert "Columns, choices changed since" in text
    assert "Risk now, you are here" in text
    assert bar.count('aria-current="step"') == 1
