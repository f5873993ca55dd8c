"""What was mended in a table on the page Data, as steps that can be undone one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.reading.mend import SENTENCES
from shoal.reading.to_mend import Mend, copied, listed, quoted


def steps_of(mend: Mend) -> list[tuple[tuple[Any, ...], str]]:
    """Each thing that is mended: where it stands in [mend], for `undone`, and in words."""
    steps: list[tuple[tuple[Any, ...], str]] = []
    for step, each in mend.items():
        if step == "filter":
            steps += [((step, at), f"{entry['column']}: records are kept by {_limits(entry)}.")
                      for at, entry in enumerate(each)]  # fmt: skip
        elif step == "trim":
            steps += [((step, at), f"{column}: blanks before and after values are taken away.")
                      for at, column in enumerate(each)]  # fmt: skip
        elif step == "missing":
            steps += [((step, column, at), f"{column}: {quoted(str(mark))} means missing.")
                      for column, marks in each.items() for at, mark in enumerate(marks)]  # fmt: skip
        elif step == "map":
            steps += [((step, column, old), f"{column}: {quoted(old)} becomes {quoted(str(new))}.")
                      for column, others in each.items() for old, new in others.items()]  # fmt: skip
        else:
            steps += [((step, column), f"{column}: {_told(step, value)}.") for column, value in each.items()]
    return steps


def _told(step: str, value: Any) -> str:
    if step == "case":
        return "values are written in small letters" if value == "lower" else "values are written in capitals"
    if step == "age":
        return f"the age in whole years on {value['on']}, from {value['born']}"
    if step == "code":
        return f"only the first {value['keep']} characters are kept" if "keep" in value else (
            f"only what stands before the first '{value['before']}' is kept"
        )  # fmt: skip
    if step == "range":
        what = "stop the work" if value.get("outside") == "refuse" else "are taken as missing"
        return f"values that are not {_limits(value)} {what}"
    return f"{SENTENCES[step].removeprefix('were ')} ({value})"


def _limits(given: Mapping[str, Any]) -> str:
    parts = [f"{word} {given[key]}" for key, word in (("low", "from"), ("high", "up to")) if given.get(key) is not None]
    parts += [f"{word} {listed([quoted(str(each)) for each in given[key]])}"
              for key, word in (("values", "the values"), ("without", "leaving out")) if given.get(key)]  # fmt: skip
    return " ".join(parts)


def undone(mend: Mend, place: Sequence[Any]) -> dict[str, Any]:
    """[mend] without the thing that stands in a place."""
    result = {step: copied(each) for step, each in mend.items()}
    *path, last = place
    inside: Any = result
    parents: list[tuple[Any, Any]] = []
    for key in path:
        parents.append((inside, key))
        inside = inside[key]
    del inside[last]
    for holder, key in reversed(parents):
        if not holder[key]:
            del holder[key]
    return result
