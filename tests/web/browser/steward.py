"""What a steward does and reads on the pages, in words; and the tables that they have."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from shoal.demo.drawing import generator, whole_numbers
from shoal.demo.patients import made_up_patients

POLICY = """\
seed = 7

[columns]
person = "patient"
quasi = ["age:number", "gender:nominal", "zip:number", "education:number"]
sensitive = ["disease", "treatment"]
time = "visit_date"
"""


def patients(folder: Path, persons: int = 300) -> Path:
    """A clean table of made-up patients."""
    file = folder / "visits.csv"
    made_up_patients(persons).write_csv(file)
    return file


def patients_with_policy(folder: Path, persons: int = 300, policy_text: str = POLICY) -> tuple[str, str]:
    """The same with a policy that gives roles, for tests of later steps."""
    policy = folder / "visits.policy.toml"
    policy.write_text(policy_text, encoding="utf-8")
    return str(patients(folder, persons)), str(policy)


def messy(folder: Path, records: int = 400) -> Path:
    """A table as offices have them: semicolons, decimal commas, words for missing, odd headings, quotes."""
    rng = generator(5)
    whom = whole_numbers(rng, 0, records // 3, records)
    year, height = whole_numbers(rng, 1930, 2005, records), whole_numbers(rng, 1450, 1990, records)
    place, what, gone = (whole_numbers(rng, 0, n, records) for n in (4, 5, 12))
    towns = ["Köln", "Bad Ems; West", 'Neu "Ulm"', "Łódź"]
    codes = ["A01.0", "E11.9", "I10", "J45", "M54.5"]
    lines = ["Patient-Nr.;Geb. Jahr;Größe (cm);Wohn ort;Diagnose;Bemerkung"]
    for at in range(records):
        town = '"' + towns[place[at]].replace('"', '""') + '"'
        height_text = ["NA", "-"][at % 2] if gone[at] == 0 else f"{height[at] // 10},{height[at] % 10}"
        lines.append(f"P{whom[at]:04d};{year[at]};{height_text};{town};{codes[what[at]]};")
    file = folder / "Besuche (Q3).csv"
    file.write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode("utf-8"))
    return file


def open_with_policy(
    serve: Callable[..., Any],
    open_page: Callable[..., Any],
    folder: Path,
    place: str,
    *,
    persons: int = 300,
    policy_text: str = POLICY,
) -> tuple[Any, Any]:
    """A server that was started with a file and a policy, and a page of it, when the file has been looked at."""
    file, policy = patients_with_policy(folder, persons, policy_text)
    served = serve(file, "--policy", policy)
    page = open_page(served)
    page.get_by_role("heading", name="The first records").wait_for()
    page.goto(served.base + place)
    page.wait_for_function("() => document.querySelector('#content') !== null && window.did_handshake === true")
    return served, page


# --- doing ---------------------------------------------------------------------------------------------------------


def upload(page: Any, *files: Path) -> None:
    """Choose files of records."""
    page.locator("#content input[type=file]").first.set_input_files([str(file) for file in files])


def step(page: Any, name: str) -> None:
    """Go to a step by the bar at the top."""
    page.get_by_role("navigation", name="Steps").get_by_role("link", name=re.compile(f"^{name}")).click()
    page.get_by_role("heading", level=1, name=name).wait_for()


def give_role(page: Any, column: str, role: str) -> None:
    """Say what a column is, and wait until that is saved."""
    chosen = page.get_by_label(f"What {column} is", exact=True)
    if chosen.input_value() != role:
        chosen.select_option(role)
        page.wait_for_function(
            "([label, role]) => [...document.querySelectorAll('select')].some("
            "(each) => each.value === role && each.labels[0]?.textContent.trim() === label)",
            arg=[f"What {column} is", role],
        )


def set_percent(page: Any, name: str, percent: float) -> None:
    """Type a limit."""
    field = page.get_by_label(f"{name}, at most percent")
    field.fill(f"{percent:g}")
    field.press("Tab")


# --- reading -------------------------------------------------------------------------------------------------------


def fact(page: Any, label: str) -> str:
    """The number above a label."""
    found = page.locator(".sh-fact", has=page.locator("dt", has_text=label)).first
    return " ".join(found.locator(".sh-fact-value").inner_text().split())


def cells(page: Any, caption: str) -> list[list[str]]:
    """The cells of a table, by its caption."""
    region = page.get_by_role("region", name=caption)
    region.first.wait_for()
    rows = region.first.locator("tbody tr")
    return [
        [" ".join(text.split()) for text in rows.nth(at).locator("th, td").all_inner_texts()]
        for at in range(rows.count())
    ]


def plain(text: str) -> str:
    """A number as the library writes it, with ordinary spaces."""
    return " ".join(text.split())
