"""Which role a column probably has, from its name and its contents: why, and how sure that is.

One place for all who ask: `profile`, the starter policy, the web app, and the check before a release that no direct
identifier and no free text leaves unless the steward has confirmed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import polars as pl

from shoal.errors import SchemaError
from shoal.table.column_names import ID_WORDS, PERSON_WORDS, RECORD_WORDS, Known, names_a, topics_of, words_of
from shoal.table.contents import SHAPES, Contents, contents_of
from shoal.table.profile import OF_SAMPLES

if TYPE_CHECKING:
    from shoal.table.schema import Schema
Sure = Literal["sure", "likely", "unsure"]
SURENESS: Final[tuple[Sure, ...]] = ("unsure", "likely", "sure")
"""How sure a suggestion is, what needs the steward's eye first."""


RECORDS_LOOKED_AT = 20_000
"""How many records are looked at before a release for what nobody has confirmed."""


@dataclass(frozen=True)
class Suggestion:
    """A role for a column, what it seems to hold, why, and how sure that is."""

    role: str
    topic: str
    """The topic, such as "birth" or "e-mail"; empty where nothing tells it."""
    reason: str
    sure: Sure
    is_direct: bool = False
    """Whether it names a person by itself, or is free text: dropped unless that is confirmed."""
    by_contents: bool = False
    """Whether the values say so, and not the name alone."""


@dataclass(frozen=True)
class Topic:
    """What a column can hold: its role, how it is called, and which contents speak for and against it."""

    role: str
    told: str
    is_direct: bool = False
    shapes: frozenset[str] = frozenset()
    """Shapes of contents that speak for it."""
    may_be: Callable[[Contents], bool] = lambda contents: True
    """Whether the contents can be such values at all."""


def _topic(role: str, told: str, *shapes: str, may_be: Callable[[Contents], bool] | None = None) -> Topic:
    return Topic(role, told, role == "dropped", frozenset(shapes), may_be or (lambda contents: True))


def _is_dated(contents: Contents) -> bool:
    return contents.is_time or contents.kind == "number"


def _is_short(contents: Contents) -> bool:
    return not contents.is_free_text


def _is_age(contents: Contents) -> bool:
    if contents.kind == "date":
        return False
    return contents.low is None or contents.high is None or (contents.low >= 0 and contents.high <= 150)


def _is_place_on_earth(contents: Contents) -> bool:
    if "coordinates" in contents.shapes:
        return True
    return contents.low is not None and contents.high is not None and contents.low >= -180 and contents.high <= 180


TOPICS: dict[str, Topic] = {
    "birth name": _topic("dropped", "a name"),
    "birth place": _topic("quasi", "a place of birth"),
    "birth": _topic("quasi", "a date of birth", "day", may_be=lambda contents: contents.is_date_or_year),
    "death": _topic("quasi", "a day of death", "day"),
    "age": _topic("quasi", "an age", may_be=_is_age),
    "sex": _topic("quasi", "a sex", may_be=lambda contents: contents.distinct <= 12),
    "postcode": _topic("quasi", "a postcode", "postcode", "plain postcode", may_be=_is_short),
    "coordinates": _topic("quasi", "coordinates", "coordinates", may_be=_is_place_on_earth),
    "e-mail": _topic("dropped", "an e-mail address", "e-mail"),
    "phone": _topic("dropped", "a phone number", "phone"),
    "address": _topic("dropped", "an address"),
    "national number": _topic("dropped", "a number that is one person's own", "social security"),
    "insurance number": _topic("dropped", "an insurance number"),
    "account": _topic("dropped", "an account or a card"),
    "online name": _topic("dropped", "a name or address in the web", "online name"),
    "third person": Topic("dropped", "another person, such as a physician"),
    "industry": _topic("quasi", "an industry", "short number"),
    "place": _topic("quasi", "a place", may_be=_is_short),
    "sampling weight": _topic("weight", "a sampling weight", may_be=lambda contents: contents.kind == "number"),
    "household number": _topic("household", "a number of a household", may_be=lambda contents: contents.distinct > 1),
    "stratum": _topic("strata", "a stratum of a sample", may_be=lambda contents: contents.distinct <= 1_000),
    "trait": _topic("quasi", "what others may know of a person", may_be=_is_short),
    "diagnosis": _topic("sensitive", "a diagnosis", "icd-10", "icd-9", may_be=_is_short),
    "treatment": _topic("sensitive", "a treatment", "atc", "ops", may_be=_is_short),
    "laboratory": _topic("sensitive", "a laboratory value", "laboratory", "loinc", may_be=_is_short),
    "money": _topic("sensitive", "a sum of money", "money"),
    "secret": _topic("sensitive", "what nobody should learn of a person"),
    "free text": _topic("dropped", "free text, which may name persons", may_be=lambda contents: contents.words >= 2),
    "name": _topic("dropped", "a name"),
    "admission": _topic("time?", "a time of admission", "day", may_be=_is_dated),
    "discharge": _topic("time?", "a time of discharge", "day", may_be=_is_dated),
    "time": _topic("time?", "a time", "day", may_be=_is_dated),
}
"""What each topic of `column_names.WORDS` means."""

OF_SHAPE = {
    "e-mail": "e-mail", "online name": "online name", "social security": "national number", "phone": "phone",
    "coordinates": "coordinates", "atc": "treatment", "icd-10": "diagnosis", "icd-9": "diagnosis", "ops": "treatment",
    "loinc": "laboratory", "postcode": "postcode", "money": "money", "laboratory": "laboratory",
}  # fmt: skip
"""What a column holds whose values have a shape, where its name says nothing; the most telling first."""
OF_ONE_PERSON = frozenset({"name", "national number", "insurance number"})
"""Topics that tell persons apart where a word for the person stands beside them: patient_name."""
OWN_SHAPE = frozenset({"e-mail", "online name", "social security", "atc", "ops", "loinc"})
"""Shapes that hardly anything else has."""


def suggest(name: str, contents: Contents, n_records: int) -> Suggestion:
    """The role of a column.

    Roles that depend on other columns end in '?': "person?" and "time?" are candidates, "unknown" is left open.
    """
    words = words_of(name)
    names_person = names_a(words, PERSON_WORDS) and not names_a(words, RECORD_WORDS)
    if contents.numbers and not names_person:
        return _by_check_digits(name, contents)
    if contents.is_free_text:
        return _by_free_text(name)
    known = [each for each in topics_of(name) if not each.needs_contents or _speaks_for(contents, each.topic)]
    if names_person and all(each.topic in OF_ONE_PERSON for each in known):
        return _by_person(known, contents)
    if _numbers_records(words, known, contents, n_records):
        return Suggestion("dropped", "record", "by its name a number of the record", "likely")
    if known:
        return _by_name(known, contents)
    by_shape = next((shape for shape in OF_SHAPE if shape in contents.shapes), None)
    if by_shape is not None:
        topic = OF_SHAPE[by_shape]
        sure: Sure = "likely" if by_shape in OWN_SHAPE else "unsure"
        reason = f"nearly all values look like {SHAPES[by_shape][0]}"
        return Suggestion(TOPICS[topic].role, topic, reason, sure, TOPICS[topic].is_direct, by_contents=True)
    if contents.is_time:
        return Suggestion("time?", "time", "it holds times", "likely")
    return _by_id_word(words, contents, n_records)


def _by_check_digits(name: str, contents: Contents) -> Suggestion:
    told = " or ".join(contents.numbers)
    topic = "account" if "account" in told or "card" in told else "national number"
    reason = f"nearly all values have the check digit of {told}"
    return Suggestion("dropped", topic, reason, "sure", is_direct=True, by_contents=True)


def _by_free_text(name: str) -> Suggestion:
    is_named = any(known.topic == "free text" for known in topics_of(name))
    reason = "values are sentences that hardly ever repeat: free text, which may name persons"
    return Suggestion(
        "dropped", "free text", reason, "sure" if is_named else "likely", is_direct=True, by_contents=True
    )


def _by_person(known: Sequence[Known], contents: Contents) -> Suggestion:
    if contents.numbers:
        reason = (
            f"by its name it tells persons apart, and nearly all values have the check digit of {contents.numbers[0]}"
        )
        return Suggestion("person?", "person", reason, "sure")
    return Suggestion("person?", "person", "by its name it tells persons apart", "unsure" if known else "likely")


def _numbers_records(words: Sequence[str], known: Sequence[Known], contents: Contents, n_records: int) -> bool:
    if contents.kind == "date" or any(TOPICS[each.topic].role in ("time?", *OF_SAMPLES) for each in known):
        return False
    is_numbered = contents.distinct == n_records or names_a(words, ID_WORDS)
    return is_numbered and names_a(words, RECORD_WORDS)


def _by_name(known: Sequence[Known], contents: Contents) -> Suggestion:
    """The first topic of the name that the contents speak for; else the first that they can be; else the first."""
    first = next((each for each in known if _speaks_for(contents, each.topic)), None)
    first = first or next((each for each in known if TOPICS[each.topic].may_be(contents)), known[0])
    topic = TOPICS[first.topic]
    found = Suggestion(topic.role, first.topic, f"by its name{first.told} {topic.told}", "likely", topic.is_direct)
    if first.topic in ("age", "sex") and _speaks_for(contents, first.topic):
        return replace(found, reason=f"{found.reason}, and its values fit", sure="sure")
    shape = next((shape for shape in SHAPES if shape in topic.shapes & contents.shapes), None)
    if shape is not None and shape != "short number":
        reason = f"{found.reason}, and it holds {SHAPES[shape][0]}"
        return replace(found, reason=reason, sure="sure", by_contents=True)
    if not topic.may_be(contents):
        return replace(found, reason=f"{found.reason}, but its values do not look like it", sure="unsure")
    other = next((OF_SHAPE[shape] for shape in OF_SHAPE if shape in contents.shapes & OWN_SHAPE), None)
    if other is not None and TOPICS[other].role != topic.role:
        found = replace(found, reason=f"{found.reason}, but it looks like {TOPICS[other].told}", sure="unsure")
        if TOPICS[other].is_direct:
            return replace(found, role="dropped", topic=other, is_direct=True, by_contents=True)
    return found


def _speaks_for(contents: Contents, topic: str) -> bool:
    """Whether contents have a shape of the topic; of topics without shapes, whether they can be it."""
    known = TOPICS[topic]
    if topic in ("birth", "time", "admission", "discharge", "death") and contents.kind == "date":
        return True
    return bool(known.shapes & contents.shapes) if known.shapes else topic in ("age", "sex") and known.may_be(contents)


def _by_id_word(words: Sequence[str], contents: Contents, n_records: int) -> Suggestion:
    if names_a(words, ID_WORDS):
        if contents.distinct + contents.missing < n_records:
            return Suggestion("person?", "number", "by its name a number, and it repeats", "unsure")
        return Suggestion("dropped", "number", "by its name a number, and every record has another one", "likely")
    return Suggestion("unknown", "", "nothing tells its role: dropped until you decide", "unsure")


# What leaves only when it was confirmed


UNMISTAKABLE = frozenset({"e-mail", "online name", "national number", "insurance number", "account"})
"""What values show beyond doubt, so that a release is refused; names, phones and free text are told by `profile`."""


def unconfirmed(frame: pl.DataFrame, columns: Iterable[str], confirmed: Iterable[str]) -> dict[str, str]:
    """Of columns that are to be published those that nobody has confirmed and that name persons or are free text.

    Parameters
    ----------
    frame
        Records of the table; some thousand are enough.
    columns
        Those that are published, not counting the person column, of which pseudonyms are.
    confirmed
        Those that the steward has confirmed.

    Returns
    -------
    dict
        By column the reason, in words, without any value.
    """
    asked = [name for name in columns if name not in set(confirmed) and name in frame.columns]
    told = {}
    for name in asked:
        contents = contents_of(frame[name])
        found = suggest(name, contents, frame.height)
        if found.is_direct and found.by_contents and found.topic in UNMISTAKABLE:
            told[name] = found.reason
    return told


def refuse_unconfirmed(frame: pl.DataFrame, schema: Schema) -> None:
    """Refuse to publish what is a direct identifier and was not confirmed.

    Looks at the first records, RECORDS_LOOKED_AT at the most, so that every engine sees the same ones.
    """
    shown = [name for name, role in schema.roles() if role in ("quasi", "sensitive", "kept")]
    found = unconfirmed(frame.head(RECORDS_LOOKED_AT), shown, schema.confirmed)
    if not found:
        return
    told = "".join(f"\n  '{name}' ({dict(schema.roles())[name]}): {reason}" for name, reason in found.items())
    names = ", ".join(f"'{name}'" for name in found)
    raise SchemaError(
        f"{len(found)} published columns look like direct identifiers:{told}\nNothing was written. Drop "
        f"them (dropped=), or where they must leave name them a second time: confirmed= with {names}."
    )
