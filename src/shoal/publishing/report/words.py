"""What a release is and is not, in sentences that need no statistics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.masking import mask_called
from shoal.publishing.report.numbers import count, number, quantity, share, span

Numbers = Mapping[str, Any]
"""What `steward/report.json` holds."""


def not_promised(numbers: Numbers) -> str:
    """What no model of a release is about."""
    asked = {model["name"] for model in numbers["verdict"]["models"]}
    known = "knows more of a person’s own records than was reckoned with" if "history-k" in asked else (
        "already knows sensitive values of a person"
    )  # fmt: skip
    return (
        f"It does not protect from somebody who {known}, from columns that were given the wrong role, or from another "
        "release about the same persons laid beside this one. It is not differential privacy."
    )


CHECKED_FROM = {
    "published table": "the published table alone",
    "published table, by a bound": "the published table, by a bound that is on the safe side",
    "steward": "what the steward keeps",
    "persons by the steward, episodes by the published table": "persons from what the steward keeps, episodes from the "
    "published table",
    "not shown by the published table": "cannot be checked",
    "original table": "the original at hand",
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
    return not mask_called(str(numbers["report"]["done"]["mask"])).shows_groups


def is_groupless(numbers: Numbers) -> bool:
    """Whether persons were changed one by one, and nobody was grouped."""
    return not mask_called(str(numbers["report"]["done"]["mask"])).takes_groups


def verdict_in_words(numbers: Numbers) -> str:
    """Whether the promises are kept, in one sentence."""
    models = numbers["verdict"]["models"]
    if is_groupless(numbers) and numbers["verdict"]["holds"]:
        return "No more persons can be linked to their original values than may be. No model is promised."
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
    if is_groupless(numbers):
        return "Measured with the original at hand, before anything was written: the release alone does not show it."
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
    silent = numbers["report"]["missing_tells_nothing"]
    if silent:
        told.append(
            f"A missing {quoted(silent)} tells nothing here: persons without a value are left out of its shares."
        )
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
    loss = numbers.get("loss")
    if loss is None:
        told.append("The cost is not known, since the table as it was is not at hand.")
    elif shows_identities(numbers):
        told.append(
            "Quasi-identifiers are exact; what is lost is which sensitive values go with them inside a group, and "
            "which values of different attributes belong to one person."
        )
    else:
        of = "quasi-identifiers and histories" if numbers.get("history") else "quasi-identifiers"
        told.append(
            f"{share(loss)} of what the {of} told is lost in what is shown: 0 % is every value as it was, 100 % all "
            "hidden."
        )
        shown = [part for name, column in numbers["columns"].items() if (part := _shown_of(name, column))]
        told += [f"On average: {'; '.join(shown)}."] if shown else []
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


def _shown_of(name: str, column: Numbers) -> str | None:
    """What is shown of a quasi-identifier on average, in its own unit."""
    in_unit = span if column["unit"] == "days" else quantity
    if column["unit"] != "places" and column["error"] is not None:
        width = f" is a range of {in_unit(column['width'])} and" if column["width"] else ""
        return f"‘{name}’{width} can be guessed to within {in_unit(column['error'])}"
    if column["possible"] is not None:
        return f"{number(column['possible'], 1)} values of ‘{name}’ remain possible"
    return None


def about_prediction(numbers: Numbers) -> str:
    """How well a column is predicted from the release, in a sentence or two."""
    useful = numbers["usefulness"]
    target = f"‘{useful['target']}’"
    if useful["why_not"] is not None:
        return f"How well {target} can be predicted was not measured: {useful['why_not']}"
    release, original, blind = useful["release"], useful["original"], useful["blind"]
    if useful["kind"] == "classes":
        told = (
            f"What the release teaches predicts {target} right in {share(release['accuracy'], 1)} of the records of "
            f"persons kept apart; the original {share(original['accuracy'], 1)}, the most frequent value "
            f"{share(blind['accuracy'], 1)} (area under the curve {number(release['auc'], 3)}, "
            f"{number(original['auc'], 3)}, 0.5)."
        )
    else:
        told = (
            f"What the release teaches predicts {target} of persons kept apart with a mean error of "
            f"{quantity(release['mean_absolute_error'])}; the original {quantity(original['mean_absolute_error'])}, "
            f"the mean alone {quantity(blind['mean_absolute_error'])} (R² {number(release['r2'], 3)}, "
            f"{number(original['r2'], 3)}, {number(blind['r2'], 3)})."
        )
    if useful["kept"] is None:
        return f"{told} Even the original hardly tells more than a blind guess."
    return f"{told} It keeps {share(useful['kept'], 0)} of what can be learned."


def _counted(n: int, one: str, many: str) -> str:
    return f"{count(n)} {one if n == 1 else many}"


def _lone_ends(counted: Numbers, rounded: Numbers) -> list[str]:
    """How many ends of published ranges are one person's own value, where they are not rounded."""
    return [
        f"Of {count(each['ends'])} published ends of ranges of ‘{name}’ {count(each['lone'])} are the own value of "
        "exactly one person of the group. Rounding the column hides them."
        for name, each in counted.items()
        if each["lone"] and name not in rounded
    ]


def strongest_of(numbers: Numbers) -> Numbers | None:
    """The attack with the original at hand that is furthest above blind guessing; None where none was tried."""
    tried = (numbers["report"].get("suite") or {}).get("attacks") or ()
    return max(tried, key=lambda each: each["success"] - each["blind"], default=None)


def about_strongest(numbers: Numbers) -> list[str]:
    """What the strongest attacker must know, whom they find, and what would lower it, as far as that was tried."""
    strongest = strongest_of(numbers)
    if strongest is None:
        return []
    certain = strongest["details"].get("certain")
    sure = f", for {count(certain)} of them without doubt" if certain else ""
    told = [
        f"Must know: {typeset(strongest['knows'])}",
        f"Finds: {typeset(strongest['aim'])}, for {share(strongest['success'])} of {persons(strongest['targets'])} "
        f"attacked{sure}. Blind guessing is right for {share(strongest['blind'])}.",
    ]
    tried = (numbers["report"]["suite"].get("strongest") or {}).get("tried") or ()
    if not tried:
        return [*told, "Nothing was tried against it: larger groups would lower it, which take another run with "
                       "stricter models, or publishing less."]  # fmt: skip
    best = min(tried, key=lambda each: -1.0 if each["success"] is None else each["success"])
    if best["success"] is not None and best["success"] >= strongest["success"]:
        return [*told, f"It was tried to {typeset(best['says'])} ({best['line']}): that does not lower it."]
    then = "cannot be tried any more" if best["success"] is None else f"is right for {share(best['success'])}"
    return [*told, f"To lower it, {typeset(best['says'])}: {best['line']} under [columns] of the policy. That was "
                   f"tried on this release; the attack then {then}."]  # fmt: skip


def about_outside(numbers: Numbers) -> list[str]:
    """What no promise is about, by name, as far as it leaves with this release."""
    kept, sensitive = names_of(numbers, "kept"), names_of(numbers, "sensitive")
    shows_persons = any(
        column["role"] == "person" and column["shown_as"] != "not published" for column in numbers["report"]["columns"]
    )
    asked = {model["name"] for model in numbers["verdict"]["models"]}
    told = [f"the kept columns {quoted(kept)}: whoever knows them may find a person by them"] if kept else []
    if shows_persons and "count-k" not in asked:
        told.append("how many records a person has: whoever knows the number may find a person by it")
    if sensitive and not asked & {"history-k", "history-confidence"}:
        told.append(
            f"values of {quoted(sensitive)} that somebody knows already: they may lead to a person and to what else is "
            "published of them"
        )
    return told


def to_look_at(numbers: Numbers) -> list[str]:
    """What a board should look at before it decides."""
    told = [*numbers["verdict"].get("problems", ()), *numbers["verdict"].get("notes", ()), *numbers.get("notes", ())]
    rounded = numbers.get("rounded") or {}
    lone = {name: n for name, n in (numbers.get("lone_extremes") or {}).items() if n and name not in rounded}
    if (
        lone
        and numbers["report"]["done"]["mask"] == "range"
        and not numbers["report"]["done"]["mask_options"].get("code_extremes", False)
    ):
        told.append(
            f"Of {quoted(list(lone))} the lowest or the highest value belongs to one person only, and stands as the "
            "end of a published range; code_extremes=True hides it."
        )
    told += _lone_ends(numbers.get("lone_ends") or {}, rounded)
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
