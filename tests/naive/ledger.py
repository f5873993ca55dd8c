"""Releases laid over one another, written to be read. Never optimise this file; never import the package here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Groups = Mapping[str, int]
"""The group of each person of a release."""


def candidates(person: str, releases: Sequence[Groups]) -> set[str]:
    """Who, of the first release, shares all groups of a person, in all releases that the person is in."""
    left = set(releases[0])
    for groups in releases:
        if person in groups:
            left &= {other for other, group in groups.items() if group == groups[person]}
    return left


def alike_by_absence(person: str, releases: Sequence[Groups]) -> set[str]:
    """Who shares all groups of a person, and is absent where the person is."""
    return {other for other in releases[0] if all(groups.get(other) == groups.get(person) for groups in releases)}


def possible_values(person: str, releases: Sequence[Groups], values: Sequence[Mapping[str, set[str]]]) -> set[str]:
    """The values that every group of a person has, in all releases that the person is in."""
    left = None
    for groups, value_of in zip(releases, values, strict=True):
        if person in groups:
            here = set()
            for other, group in groups.items():
                if group == groups[person]:
                    here |= value_of[other]
            left = here if left is None else left & here
    assert left is not None
    return left


def largest_share(person: str, releases: Sequence[Groups], values: Sequence[Mapping[str, set[str]]]) -> float:
    """Of the persons of the first release's group who have a possible value: the share with the commonest of them."""
    possible = possible_values(person, releases, values)
    group = [other for other, place in releases[0].items() if place == releases[0][person]]
    having = [other for other in group if values[0][other] & possible]
    if not having:
        return 0.0
    return max(sum(value in values[0][other] for other in having) for value in possible) / len(having)
