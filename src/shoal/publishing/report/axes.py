"""Where things lie in a drawing: round ticks, how wide a text is, and which texts have room beside each other."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterator, Sequence

LETTERS = 11.0
"""How tall the letters of a chart are; its style says the same."""
NARROW, WIDE = frozenset("fijlrtI.,:;'‘’|!()[] \N{NO-BREAK SPACE}"), frozenset("mwMWOQG%@…→≤≥")
APART = 8.0
"""Room between two texts on a line."""


def width_of(text: str) -> float:
    """About how wide a text is, rather too wide than too narrow: fonts differ from machine to machine."""
    return LETTERS * sum(_width_of_letter(letter) for letter in text)


def _width_of_letter(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    if letter in NARROW:
        return 0.42
    if letter in WIDE:
        return 0.95
    if letter.isascii():
        return 0.75 if letter.isupper() else 0.64
    return 0.55 if letter == "–" else 1.05 if unicodedata.east_asian_width(letter) in "WF" else 0.75


def cut(text: str, room: float) -> str:
    """As much of a text as there is room for."""
    if width_of(text) <= room:
        return text
    while text and width_of(text + "…") > room:
        text = text[:-1]
    return text.rstrip() + "…"


def even_ticks(low: float, high: float, at_most: int = 6) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers, in as many steps as are allowed."""
    power = math.floor(math.log10((high - low) / at_most))
    digit, power = next(
        (digit, power + more)
        for more in (0, 1)
        for digit in (1, 2, 5)
        if (high - low) / float(f"{digit}e{power + more}") <= at_most * (1 + 1e-9)
    )
    step = float(f"{digit}e{power}")
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * digit}e{power}") for number in range(first, last + 1)]


def ticks_up_to(largest: float) -> list[float]:
    """Even ticks from 0 on, the last of which is at least the largest value."""
    largest = largest if largest > 1e-9 else 0.01
    ticks = even_ticks(0.0, largest, 5)
    return ticks if ticks[-1] >= largest else [*ticks, round(ticks[-1] + ticks[1], 12)]


def ticks_by_factors(low: float, high: float) -> Iterator[list[float]]:
    """Ticks for a scale of factors, many first: 1, 2, 5, 10, then powers of ten, then fewer of these."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = _inside([float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)], low, high)
    if len(found) < 3:
        yield even_ticks(low, high)
    yield found
    for every in range(1, len(powers) + 1):
        yield _inside([float(f"1e{power}") for power in powers[::every]], low, high)


def _inside(ticks: Sequence[float], low: float, high: float) -> list[float]:
    return [tick for tick in ticks if low <= tick <= high]


def that_fit(
    choices: Iterator[list[float]], place: Callable[[float], float], told: Callable[[float], str], width: float
) -> list[float]:
    """The first choice of ticks whose texts, each in the middle of its place, have room; else one tick that has."""
    alone: list[float] = []
    for ticks in choices:
        half = [width_of(told(tick)) / 2 for tick in ticks]
        places = [place(tick) for tick in ticks]
        inside = [at - wide >= 0 and at + wide <= width for at, wide in zip(places, half, strict=True)]
        if all(inside) and all(
            places[at] + half[at] + APART <= places[at + 1] - half[at + 1] for at in range(len(ticks) - 1)
        ):
            return ticks
        alone = alone or [tick for tick, fits in zip(ticks, inside, strict=True) if fits][:1]
    return alone
