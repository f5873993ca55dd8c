"""Reading a page back, and releases of every mask to make pages of."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import shoal
from shoal import Nominal, Schema
from shoal.demo.patients import made_up_patients
from shoal.masks import History
from shoal.publishing.release import Release

VOID = {"br", "hr", "meta", "col", "rect", "line", "circle", "path"}


@dataclass
class Element:
    """An element of a page, with the text inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """The elements of a tag inside this one."""
        found = [child for child in self.children if child.tag == tag]
        return found + [each for child in self.children for each in child.all(tag)]

    def inside(self) -> list[Element]:
        """Every element inside this one."""
        return [each for child in self.children for each in (child, *child.inside())]


class Page(HTMLParser):
    """A page as a tree; every element must be closed by its own tag."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self._open = [self.root]
        self.comments: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == [self.root], f"not closed: {[each.tag for each in self._open[1:]]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def elements(self) -> list[Element]:
        """Every element of the page."""
        return self.root.inside()

    def all(self, tag: str) -> list[Element]:
        """The elements of a tag."""
        return self.root.all(tag)

    @property
    def text(self) -> str:
        """All text that a reader sees."""
        return next(iter(self.all("body"))).text

    def numbers(self) -> dict[str, str]:
        """The value of each number that names its key in report.json."""
        return {
            each.attributes["data-key"]: each.attributes["data-value"]
            for each in self.elements()
            if "data-value" in each.attributes
        }


def looked_up(numbers: Any, key: str) -> Any:
    """What stands under a dotted key of report.json; a name may have dots itself."""
    if not key:
        return numbers
    if isinstance(numbers, list):
        first, _, rest = key.partition(".")
        return looked_up(numbers[int(first)], rest)
    for name in sorted(numbers, key=len, reverse=True):
        if key == name or key.startswith(f"{name}."):
            return looked_up(numbers[name], key[len(name) + 1 :])
    raise KeyError(key)


SCHEMA = Schema(
    person="patient", quasi=["age", Nominal("gender"), "zip", "education"], sensitive=["disease", "treatment"],
    dropped=["visit_date"],
)  # fmt: skip
MODELS = [shoal.PersonKAnonymity(k=5), shoal.HAffiliation(h=0.8)]

KINDS = [
    "range", "mean", "suppress", "perturb", "anatomize", "anatomize range", "permute", "permute range",
    "no sensitive attribute", "no person column", "hierarchy", "budget", "few persons", "queries", "rules",
    "usefulness", "usefulness number", "histories", "full-domain", "cells", "safepub",
]  # fmt: skip


def release_of(kind: str) -> Release:
    """A release of one of KINDS."""
    frame = made_up_patients(240, seed=3)
    match kind:
        case "perturb":
            return shoal.protect(frame.drop_nulls(), SCHEMA, MODELS, method="mdav", mask="perturb", seed=5)
        case "permute" | "permute range":
            once = frame.unique("patient", keep="first", maintain_order=True)
            quasi_as = "range" if "range" in kind else "exact"
            return shoal.protect(once, SCHEMA, MODELS, mask="permute", quasi_as=quasi_as, seed=5)
        case "anatomize range":
            return shoal.protect(frame, SCHEMA, MODELS, mask="anatomize", quasi_as="range", seed=5)
        case "no sensitive attribute":
            schema = Schema(person="patient", quasi=["age", "zip"],
                            dropped=["gender", "education", "disease", "treatment", "visit_date"])  # fmt: skip
            return shoal.protect(frame, schema, [shoal.RecordRisk(rho=0.5)], seed=5)
        case "no person column":
            schema = Schema(quasi=["age", "zip"], sensitive=["disease"], kept=["education"],
                            dropped=["patient", "gender", "treatment", "visit_date"])  # fmt: skip
            return shoal.protect(frame, schema, [shoal.KAnonymity(k=3)], seed=5, allow_alone=True)
        case "safepub":
            many = made_up_patients(900, seed=3).unique("patient", keep="first").select("patient", "gender")
            schema = Schema(person="patient", quasi=[Nominal("gender")])
            return shoal.protect(many, schema, [], method="safepub", degree="none", seed=5)
        case "cells":
            models = [shoal.PersonKAnonymity(k=3)]
            return shoal.protect(frame, SCHEMA, models, method="cell-suppression", missing_matches="all", seed=5)
        case "full-domain":
            ages = shoal.Number("age", shoal.Hierarchy.of_intervals(low=0, width=5, high=120))
            schema = Schema(person="patient", quasi=[ages, Nominal("gender")], sensitive=["disease"],
                            dropped=["zip", "education", "treatment", "visit_date"])  # fmt: skip
            return shoal.protect(frame, schema, MODELS, method="full-domain", max_suppressed="5%", seed=5)
        case "hierarchy":
            ages = shoal.Number("age", shoal.Hierarchy.of_intervals(low=0, width=5, high=120))
            schema = Schema(person="patient", quasi=[ages, Nominal("gender")], sensitive=["disease"],
                            dropped=["zip", "education", "treatment", "visit_date"])  # fmt: skip
            return shoal.protect(frame.drop_nulls(), schema, MODELS, seed=5)
        case "budget":
            return shoal.protect(frame, SCHEMA, [shoal.RecordRisk(rho=0.02)], max_suppressed=60, seed=5)
        case "few persons":
            from shoal.demo.clinics import clinics

            schema = Schema(person="name", quasi=["age", "zip"], sensitive=["disease"], dropped=["admission", "gender"])
            return shoal.protect(clinics(), schema, [shoal.GBalance(g=0.5)], measure_input=False, seed=5)
        case "queries":
            return shoal.protect(frame, SCHEMA, MODELS, queries=40, seed=5)
        case "usefulness" | "usefulness number":
            target = "age" if "number" in kind else "treatment"
            return shoal.protect(frame, SCHEMA, MODELS, usefulness={"target": target, "queries": 40}, seed=5)
        case "histories":
            history = History(hierarchies={"disease": shoal.Hierarchy.of_icd10(frame["disease"].drop_nulls().unique())})
            models = [*MODELS, shoal.HistoryK(k=3), shoal.CountK(k=3)]
            return shoal.protect(frame, SCHEMA, models, history=history, seed=5)
        case "rules":
            once = frame.unique("patient", keep="first", maintain_order=True)
            schema = Schema(person="patient", quasi=["age", Nominal("gender")], sensitive=["treatment"],
                            dropped=["zip", "education", "disease", "visit_date"])  # fmt: skip
            return shoal.protect(once, schema, [shoal.MatchingDiversity(l=2)], mask="anatomize", seed=5)
    return shoal.protect(frame, SCHEMA, MODELS, mask=kind, seed=5)


def written(kind: str, folder: Path) -> tuple[Release, Path]:
    """A release of one of KINDS, and the folder that it was written to."""
    release = release_of(kind)
    return release, release.write(folder / kind.replace(" ", "-"))
