"""Sets of labels come back as they were written, whatever the labels hold; and the codebook says how."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from shoal.publishing.codebook import GRAMMAR
from shoal.table.label_sets import as_end, as_one, as_set, ends_in, labels_in, listed_in

pieces = st.sampled_from(
    [",", " ", ", ", '"', "{", "}", "-", "*", "a", "b", "missing", " or missing", " to ", "\n", "é"]
)
labels = st.lists(pieces, max_size=5).map("".join)


def by_hand(text: str) -> list[str | None]:
    """The labels of a set, character by character, as the codebook tells."""
    found: list[str | None] = []
    rest = text[1:-1]
    while True:
        if rest.startswith('"'):
            end = 1
            while rest[end : end + 2] == '""' or rest[end] != '"':
                end += 2 if rest[end : end + 2] == '""' else 1
            found.append(rest[1:end].replace('""', '"'))
            rest = rest[end + 1 :]
        else:
            plain, _, _ = rest.partition(", ")
            found.append(None if plain == "missing" else plain)
            rest = rest[len(plain) :]
        if not rest:
            return found
        assert rest.startswith(", ")
        rest = rest[2:]


@given(st.lists(labels | st.none(), min_size=2, max_size=5))
@example(["a, b", "c"])
@example(['"a', "a,", ' "b"'])
@example(["missing", None])
@example(["", ""])
@example(['", "', '"'])
def test_a_set_comes_back_as_it_was_written(members: list[str | None]) -> None:
    assert labels_in(as_set(members)) == members == by_hand(as_set(members))


@given(labels)
@example("*")
@example("{a, b}")
@example('"a"')
def test_a_label_alone_is_never_taken_for_a_set_or_for_anything(label: str) -> None:
    assert labels_in(as_one(label)) == [label]
    assert listed_in(as_one(label)) is None


@given(st.lists(labels, min_size=2, max_size=3), st.lists(labels, min_size=2, max_size=3))
def test_different_sets_are_written_differently(one: list[str], other: list[str]) -> None:
    assert (as_set(one) == as_set(other)) == (one == other)
    assert as_set(one) not in [as_one(label) for label in [*one, *other, as_set(one)]]


@given(labels.filter(bool), labels.filter(bool))
@example("10 to 20", "20 to 30")
@example("a to", "to b")
@example("to", '"')
def test_a_range_comes_back_as_it_was_written(low: str, high: str) -> None:
    assert ends_in(f"{as_end(low)} to {as_end(high)}") == [low, high]
    assert ends_in(as_end(low)) == [low]
    assert as_end(low) not in ("*", f"{as_end(high)} or missing", f"{as_end(high)} or less", f"at least {as_end(high)}")


def test_labels_are_quoted_only_where_they_must_be() -> None:
    plain = ["low", "very-high", "a,b", "(a)", "5 'x'", 'a "b"', "{", "é, ".strip()]
    assert as_set(plain) == "{" + ", ".join(plain) + "}"
    assert [as_one(label) for label in [*plain, "a, b", "missing"]] == [*plain, "a, b", "missing"]
    assert as_set(['say "no", or', "missing"]) == '{"say ""no"", or", "missing"}'
    ordered = ["low", "very-high", "up to 5", "a, b", 'a "b"', "{a}", "tomorrow"]
    assert [as_end(label) for label in ordered if label != "up to 5"] == [each for each in ordered if each != "up to 5"]
    assert as_end("up to 5") == '"up to 5"'
    for form in ("set", "range"):
        assert re.search("in quotes, in which two stand for one", GRAMMAR[form])
