"""UCI Adult as Li and Li (2008) use it: six quasi-identifiers with hierarchies, and the occupation as sensitive.

The hierarchies have the heights of the paper's Table III (values and root counted: 5, 3, 4, 3, 3, 2), which prints no
more of them.
"""

from __future__ import annotations

import shoal
from shoal.table.hierarchy import Hierarchy

QUASI = ["age", "workclass", "education", "marital-status", "race", "sex"]
SENSITIVE = "occupation"

GROUPS = {
    "workclass": {
        "government": "Federal-gov Local-gov State-gov",
        "business": "Private Self-emp-inc Self-emp-not-inc",
        "unpaid": "Without-pay Never-worked",
    },
    "marital-status": {
        "spouse present": "Married-civ-spouse Married-AF-spouse",
        "no spouse present": "Divorced Never-married Separated Widowed Married-spouse-absent",
    },
    "race": {"white": "White", "not white": "Asian-Pac-Islander Amer-Indian-Eskimo Other Black"},
}
SCHOOLS = {
    "school": {
        "before school": "Preschool",
        "elementary": "1st-4th 5th-6th 7th-8th",
        "secondary": "9th 10th 11th 12th HS-grad",
    },
    "beyond school": {
        "some college": "Some-college",
        "associate": "Assoc-voc Assoc-acdm",
        "bachelor": "Bachelors",
        "graduate": "Masters Prof-school Doctorate",
    },
}


def hierarchies() -> dict[str, Hierarchy]:
    ages = [
        [str(age), *(f"{age // width * width}-{age // width * width + width - 1}" for width in (5, 10, 20)), "*"]
        for age in range(17, 91)
    ]
    education = [
        [value, group, part, "*"]
        for part, groups in SCHOOLS.items()
        for group, values in groups.items()
        for value in values.split()
    ]
    found = {"age": ages, "education": education, "sex": [["Male", "*"], ["Female", "*"]]}
    for column, groups in GROUPS.items():
        found[column] = [[value, group, "*"] for group, values in groups.items() for value in values.split()]
    return {column: Hierarchy.from_rows(rows) for column, rows in found.items()}


def schema() -> shoal.Schema:
    found = hierarchies()
    quasi = [shoal.Number("age", found["age"]), *(shoal.Nominal(name, found[name]) for name in QUASI[1:])]
    return shoal.Schema(quasi=quasi, sensitive=[SENSITIVE])
