"""The worked example of Kartal and Li (2020): the records of two clinics, apart and put together.

Names are the paper's own; the second clinic calls its columns differently, as two sources do.
"""

from __future__ import annotations

import polars as pl

_FRANKLIN_CENTER = [
    (1001, "Ashley", 86, "Female", 20375, "Asthma", "Dr. Cox"),
    (1002, "Charlie", 69, "Male", 20048, "Pneumonia", "Dr. Khan"),
    (1003, "Harry", 74, "Male", 20400, "Asthma", "Dr. Cox"),
    (1004, "Harry", 75, "Male", 20400, "Bronchitis", "Dr. Cox"),
    (1005, "Charlie", 70, "Male", 20048, "Pneumonia", "Dr. Khan"),
    (1006, "Charlie", 71, "Male", 20048, "Pneumonia", "Dr. Khan"),
    (1007, "Edward", 84, "Male", 20090, "Pneumonia", "Dr. Smith"),
    (1008, "Fred", 78, "Male", 20400, "Pneumonia", "Dr. Smith"),
    (1009, "Harry", 76, "Male", 20400, "Asthma", "Dr. Patel"),
]

_LEXINGTON_CLINIC = [
    (2001, "Ashley", 86, "Female", 20375, "Reflux", "Dr. Jones"),
    (2002, "Bob", 85, "Male", 20375, "Reflux", "Dr. Jones"),
    (2003, "Charlie", 71, "Male", 20048, "Gastritis", "Dr. Moore"),
    (2004, "Diana", 84, "Female", 20090, "Ulcer", "Dr. Taylor"),
    (2005, "Charlie", 71, "Male", 20048, "Gastritis", "Dr. Moore"),
    (2006, "Diana", 84, "Female", 20090, "Gastritis", "Dr. Moore"),
    (2007, "Edward", 84, "Male", 20090, "Gastritis", "Dr. Moore"),
    (2008, "Greg", 78, "Male", 20420, "Ulcer", "Dr. Taylor"),
    (2009, "Harry", 74, "Male", 20400, "Ulcer", "Dr. Brown"),
    (2010, "Harry", 76, "Male", 20400, "Ulcer", "Dr. Brown"),
]

_FRANKLIN_COLUMNS = ["admission", "name", "age", "gender", "zip", "disease", "physician"]
_LEXINGTON_COLUMNS = ["visit_no", "patient", "age_years", "sex", "zip_code", "diagnosis", "doctor"]


def franklin_center() -> pl.DataFrame:
    """The nine records of the Franklin Center for Lung Diseases (the paper's Table 1)."""
    return pl.DataFrame(_FRANKLIN_CENTER, schema=_FRANKLIN_COLUMNS, orient="row")


def lexington_clinic() -> pl.DataFrame:
    """The ten records of the Lexington Gastroenterology Clinic (the paper's Table 2), under its own column names."""
    return pl.DataFrame(_LEXINGTON_CLINIC, schema=_LEXINGTON_COLUMNS, orient="row")


def clinics() -> pl.DataFrame:
    """The 19 records of both clinics in the order of the paper's Table 3a: by person, then by admission number."""
    lexington = lexington_clinic().rename(dict(zip(_LEXINGTON_COLUMNS, _FRANKLIN_COLUMNS, strict=True)))
    both = pl.concat([franklin_center(), lexington])
    return both.sort("name", "admission").select("admission", "name", "age", "gender", "zip", "disease")


def ten_records() -> pl.DataFrame:
    """The problem on ten records: two groups of five that look equally safe where only records are counted.

    In each group all five records have the same age and ZIP. One group is five different persons; the other is five
    visits of one person of 93, whom everyone who knows the age will find.
    """
    return pl.DataFrame(
        {
            "person": ["P1", "P2", "P3", "P4", "P5", *["P6"] * 5],
            "age": [47] * 5 + [93] * 5,
            "zip": [20375] * 5 + [20048] * 5,
            "disease": 2 * ["Asthma", "Reflux", "Ulcer", "Gastritis", "Pneumonia"],
        }
    )
