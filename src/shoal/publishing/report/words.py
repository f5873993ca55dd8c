"""What a release is and is not, in sentences that need no statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.publishing.report.numbers import count, share

Numbers = Mapping[str, Any]
"""What `steward/report.json` holds."""

NOT_PROMISED = (
    "It does not protect from somebody who already knows sensitive values of a person, from columns that were given "
    "the wrong role, or from another release about the same persons laid beside this one. It is not differential "
    "privacy."
)

CHECKED_FROM = {
    "published table": "the published table alone",
    "published table, by a bound": "the published table, by a bound that is on the safe side",
    "steward": "what the steward keeps",
    "not shown by the published table": "cannot be checked",
}


def listed(texts: Sequence[str]) -> str:
    """Texts with commas and an 'and'."""
    if len(texts) < 2:
        return "".join(texts)
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def quoted(names: Sequence[str]) -> str:
    """Names in quotes, listed."""
    return listed([f"‘{name}’" for name in names])


def typeset(sentence: str) -> str:
    """A sentence of another part of shoal with the quotes that pages have."""
    return re.sub(r"'([^']*)'(?!\w)", "‘\\1’", re.sub(r"(?<=\w)'(?=\w)", "’", sentence))


def capital(sentence: str) -> str:
    """The same beginning with a capital; names in it stay as they are."""
    return sentence[:1].upper() + sentence[1:]


def persons(n: int) -> str:
    """So many persons, in words."""
    return "1 person" if n == 1 else f"{count(n)} persons"


def names_of(numbers: Numbers, role: str) -> list[str]:
    """The columns of a role."""
    return [column["name"] for column in numbers["report"]["columns"] if column["role"] == role]


def shows_identities(numbers: Numbers) -> bool:
    """Whether quasi-identifiers are published as they are."""
    done = numbers["report"]["done"]
    return done["mask"] in ("anatomize", "permute") and done["mask_options"].get("quasi_as", "exact") == "exact"


def is_perturbed(numbers: Numbers) -> bool:
    """Whether groups cannot be seen."""
    return bool(numbers["report"]["done"]["mask"] == "perturb")


def verdict_in_words(numbers: Numbers) -> str:
    """Whether the promises are kept, in one sentence."""
    models = numbers["verdict"]["models"]
    broken = sum(not model["holds"] for model in models)
    where = f"each of the {count(numbers['groups'])} groups" if numbers["groups"] != 1 else "the one group"
    if numbers["verdict"]["holds"]:
        said = "The promise is kept" if len(models) == 1 else f"All {len(models)} promises are kept"
        return f"{said} in {where} of persons."
    if broken:
        return f"{broken} of {len(models)} promises {'is' if broken == 1 else 'are'} NOT kept."
    return "The promises are kept, but something else is wrong with the release."


def how_counted(numbers: Numbers) -> str:
    """From what the verdict was counted, in one sentence."""
    if not numbers["verdict"]["holds"]:
        return "This release must not be handed out."
    sources = {model["checked_from"] for model in numbers["verdict"]["models"]}
    if all(source.startswith("published table") for source in sources):
        return "Counted again from what is published, before anything was written."
    what = "from what only the steward keeps" if sources == {"steward"} else "partly from what only the steward keeps"
    return f"Counted again {what}, before anything was written."


def about_finding(numbers: Numbers) -> list[str]:
    """Whether somebody can be found in the release."""
    before, quasi = numbers.get("before"), names_of(numbers, "quasi")
    if is_perturbed(numbers):
        return _about_linking(numbers)
    if shows_identities(numbers):
        return [
            f"Yes: {quoted(quasi)} are published as they are, so that whoever knows them finds a person's row. What is "
            "hidden is which sensitive value belongs to whom."
        ]
    told = [
        f"Whoever knows {quoted(quasi)} of a person finds a group of at least {persons(numbers['person_k'])} who look "
        "alike in the release."
    ]
    if numbers["person_k"] == 1:
        told = [f"Yes: {count(numbers['unique_persons'])} of {persons(numbers['persons'])} are alone in a group."]
    if before is not None:
        told.append(
            f"In the table as it was, {count(before['unique_persons'])} of {persons(before['persons'])} were alone "
            "with a combination of values that nobody else had."
        )
    if numbers["max_gidr"] is not None:
        was = f" (before: {share(before['max_gidr'])})" if before is not None else ""
        told.append(
            "Taking any record of a group, the chance that it is a given person’s is at most "
            f"{share(numbers['max_gidr'])}{was}."
        )
    return told


def _about_linking(numbers: Numbers) -> list[str]:
    told = ["Published numbers are not the true ones: each is the mean of a group, with noise."]
    linkage = numbers.get("linkage")
    if linkage:
        told.append(
            "Somebody who knows a person’s exact numbers, and takes the closest and the second closest published ones, "
            f"has the right person among them for {share(linkage['rate'])} of {persons(linkage['n'])}; blind guessing "
            f"would for {share(min(2 / linkage['n'], 1.0))}."
        )
    told.append(
        f"The groups behind the means have at least {persons(numbers['person_k'])} each; they cannot be seen in the "
        "release."
    )
    return told


def about_learning(numbers: Numbers) -> list[str]:
    """Whether a sensitive value of somebody can be learned."""
    before = numbers.get("before")
    if not numbers["max_gsar"]:
        return [
            "The policy names no sensitive attribute, so nothing is promised about what can be learned of a person."
        ]
    risks = numbers["max_gsar"]
    told = [f"In no group does one value belong to more than {_each(risks)} of the persons{_was(before, risks)}."]
    for finding in numbers["report"]["attacks"]:
        if finding["name"] == "guess a value":
            told.append(
                "Guessing the value that most of a person’s group have is right for "
                f"{_each(dict(zip(risks, (attempt['success'] for attempt in finding['attempts']), strict=False)))} of "
                "the persons; without the release, guessing the commonest value for "
                f"{_each(dict(zip(risks, (attempt['blind'] for attempt in finding['attempts']), strict=False)))}."
            )
    return told


def _each(shares: Mapping[str, float | None]) -> str:
    """Shares, each with its attribute."""
    return listed([f"{share(value)} (‘{name}’)" for name, value in shares.items()])


def _was(before: Numbers | None, risks: Mapping[str, Any]) -> str:
    """In brackets what it was before; once where it was the same for all."""
    if before is None:
        return ""
    was = list(dict.fromkeys(share(before["max_gsar"].get(name)) for name in risks))
    return f" (before: {listed(was)})"


def about_cost(numbers: Numbers) -> list[str]:
    """What was given up."""
    told = []
    ane = numbers.get("ane")
    if ane is None:
        told.append("The cost is not known, since the table as it was is not at hand.")
    elif shows_identities(numbers):
        told.append(
            "Quasi-identifiers are exact; what is lost is which sensitive values go with them inside a group, and "
            "which values of different attributes belong to one person."
        )
    else:
        told.append(
            f"What is published of a person is off by {share(ane)} of a column’s extent on average (average normalized "
            "error, ANE)."
        )
    suppressed = numbers.get("suppressed_persons", 0)
    before = numbers.get("before")
    if suppressed:
        told.append(
            f"{_counted(suppressed, 'person was', 'persons were')} left out so that the others can be protected."
        )
    elif before is not None and before["records"] > numbers["records"]:
        told.append(f"{count(before['records'] - numbers['records'])} records were left out; no person was.")
    elif before is not None:
        told.append("No person and no record was left out.")
    return told


def _counted(n: int, one: str, many: str) -> str:
    return f"{count(n)} {one if n == 1 else many}"


def to_look_at(numbers: Numbers) -> list[str]:
    """What a board should look at before it decides."""
    told = [*numbers["verdict"].get("problems", ()), *numbers["verdict"].get("notes", ()), *numbers.get("notes", ())]
    lone = {name: n for name, n in (numbers.get("lone_extremes") or {}).items() if n}
    if (
        lone
        and numbers["report"]["done"]["mask"] == "range"
        and not numbers["report"]["done"]["mask_options"].get("code_extremes", False)
    ):
        told.append(
            f"Of {quoted(list(lone))} the lowest or the highest value belongs to one person only, and stands as the "
            "end of a published range. The option code_extremes hides it."
        )
    inexact = [
        attempt["what"]
        for finding in numbers["report"]["attacks"]
        for attempt in finding["attempts"]
        if not attempt["is_exact"]
    ]
    if inexact:
        told.append(
            f"{_counted(len(inexact), 'attack was', 'attacks were')} given up before the end: the success shown is a "
            "lower bound."
        )
    kept = names_of(numbers, "kept")
    if kept:
        told.append(f"Published unchanged, and outside every promise: {quoted(kept)}.")
    return list(dict.fromkeys(told))
