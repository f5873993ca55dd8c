"""What dates and codes are part of, written to be read. Never optimise this file; never import the package here."""

from __future__ import annotations

ICD_10 = {
    "A00-B99": ("A00", "B99"), "C00-D49": ("C00", "D49"), "D50-D89": ("D50", "D89"), "E00-E90": ("E00", "E90"),
    "F00-F99": ("F00", "F99"), "G00-G99": ("G00", "G99"), "H00-H59": ("H00", "H59"), "H60-H95": ("H60", "H95"),
    "I00-I99": ("I00", "I99"), "J00-J99": ("J00", "J99"), "K00-K95": ("K00", "K95"), "L00-L99": ("L00", "L99"),
    "M00-M99": ("M00", "M99"), "N00-N99": ("N00", "N99"), "O00-O99": ("O00", "O99"), "P00-P96": ("P00", "P96"),
    "Q00-Q99": ("Q00", "Q99"), "R00-R99": ("R00", "R99"), "S00-T98": ("S00", "T98"), "U00-U99": ("U00", "U99"),
    "V00-Y99": ("V00", "Y99"), "Z00-Z99": ("Z00", "Z99"),
}  # fmt: skip
ICD_9 = {
    "001-139": (1, 139), "140-239": (140, 239), "240-279": (240, 279), "280-289": (280, 289), "290-319": (290, 319),
    "320-389": (320, 389), "390-459": (390, 459), "460-519": (460, 519), "520-579": (520, 579), "580-629": (580, 629),
    "630-679": (630, 679), "680-709": (680, 709), "710-739": (710, 739), "740-759": (740, 759), "760-779": (760, 779),
    "780-799": (780, 799), "800-999": (800, 999),
}  # fmt: skip


def icd_10_chapter(category: str) -> str | None:
    for chapter, (first, last) in ICD_10.items():
        if first <= category <= last:
            return chapter
    return None


def icd_9_chapter(category: int) -> str | None:
    for chapter, (first, last) in ICD_9.items():
        if first <= category <= last:
            return chapter
    return None


def quarter(month: int) -> int:
    return {1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 6: 2, 7: 3, 8: 3, 9: 3, 10: 4, 11: 4, 12: 4}[month]


def persons_alone(persons: list[int], nodes: list[str | None]) -> int:
    """Persons who have some node that nobody else has."""
    alone = set()
    for person, node in zip(persons, nodes, strict=True):
        others = [other for other, its in zip(persons, nodes, strict=True) if its == node and other != person]
        if not others:
            alone.add(person)
    return len(alone)
