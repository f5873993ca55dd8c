"""The first page: the verdict and what it means, for somebody who reads no further."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shoal.judging.alone import by_what
from shoal.publishing.report import words
from shoal.publishing.report.markup import Content, Markup, el
from shoal.publishing.report.numbers import count, share

Numbers = Mapping[str, Any]


def front(numbers: Numbers, manifest: Numbers) -> Content:
    """The first page."""
    made = str(manifest.get("finished", ""))[:10]
    notes = words.to_look_at(numbers)
    return [
        el("p", "Release report", class_="kicker"),
        el("h1", f"{count(numbers['records'])} records of {words.persons(numbers['persons'])}"),
        el("p", f"Made on {made} by {maker(manifest)} from {_inputs(manifest)}.", class_="lead"),
        el("p", "For the steward and the review board. Not for handing out.", class_="keep"),
        verdict_box(numbers),
        key_figures(numbers),
        el("div",
           _answer("Can a person be found?", words.about_finding(numbers)),
           _answer("Can something be learned of a person?", words.about_learning(numbers)),
           _answer("What did it cost?", words.about_cost(numbers)),
           _answer("What is not promised?", [words.not_promised(numbers)]),
           class_="answers"),
        el("aside", el("h3", "To look at before deciding"),
           el("ul", [el("li", words.typeset(note)) for note in notes]), class_="look") if notes else None,
    ]  # fmt: skip


def verdict_box(numbers: Numbers) -> Markup:
    """Whether the promises are kept, and how that was counted."""
    holds = numbers["verdict"]["holds"]
    return el("div", _sign(holds),
              el("div", el("strong", words.verdict_in_words(numbers), data_key="verdict.holds", data_value=str(holds)),
                 el("span", words.how_counted(numbers))),
              class_="verdict" if holds else "verdict broken")  # fmt: skip


def maker(manifest: Numbers) -> str:
    """Shoal, with its version where it is known."""
    version = str(manifest.get("shoal_version", ""))
    return f"shoal {version}" if version[:1].isdigit() else "shoal"


def _inputs(manifest: Numbers) -> str:
    names = [str(entry.get("name")) for entry in manifest.get("inputs") or ()] or list(manifest.get("sources") or ())
    if names:
        return words.quoted(names)
    return "a Spark frame" if manifest.get("engine") == "spark" else "a table in memory"


def _sign(holds: bool) -> Markup:
    form = "M9.5 16.5 l4.6 4.6 L22.8 11.6" if holds else "M11 11 L21 21 M21 11 L11 21"
    ring = el("circle", cx=16, cy=16, r=14.4, class_="tick-mark")
    return el("svg", ring, el("path", d=form, class_="tick-mark"), viewBox="0 0 32 32", aria_hidden="true")


def _answer(question: str, told: Sequence[str]) -> Markup:
    return el("div", el("h3", question), [el("p", sentence) for sentence in told])


def key_figures(numbers: Numbers) -> Markup:
    """The few numbers that matter most, side by side."""
    before = numbers.get("before")
    entries: list[tuple[str, str, str]] = []

    def add(label: str, key: str, form: Callable[[Any], str]) -> None:
        if numbers.get(key) is not None:
            entries.append((label, form(numbers[key]), f"before: {form(before[key])}" if before else ""))

    if words.is_perturbed(numbers) and numbers.get("linkage"):
        entries.append(("Persons linked by their numbers", share(numbers["linkage"]["rate"]),
                        f"blind: {share(min(2 / numbers['linkage']['n'], 1.0))}"))  # fmt: skip
    if not words.shows_identities(numbers) and not words.is_perturbed(numbers):
        add("Highest risk that a record is linked to its person", "max_gidr", share)
    if numbers.get("h_affiliation") is not None:
        add("Highest risk that a value is learned", "h_affiliation", share)
    if not words.is_perturbed(numbers):
        add("Persons alone in some group", "unique_persons", count)
    alone = numbers.get("alone_by")
    if alone:
        most = max(alone, key=lambda key: alone[key])
        entries.append(("Most persons alone in their group by something else that leaves", count(alone[most]),
                        f"by {words.typeset(by_what(most))}" if alone[most] else ""))  # fmt: skip
    add("Fewest persons in a group", "person_k", count)
    if numbers.get("loss") is not None:
        entries.append(("Lost in what is shown", share(numbers["loss"]), "0 % nothing, 100 % everything hidden"))
    return el("dl", [el("div", el("dt", label), el("dd", value), el("dd", was) if was else None)
                     for label, value, was in entries], class_="figures")  # fmt: skip


def contents(titles: Sequence[str]) -> Markup:
    """The sections, to go to."""
    entries = [
        el("li", el("span", str(at), class_="no"), el("a", title, href=f"#s{at}"))
        for at, title in enumerate(titles, start=1)
    ]
    return el("nav", el("ol", entries, class_="contents"), aria_label="Contents")
