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


def messy(folder: Path, persons: int = 150) -> Path:
    """A table as offices have them: Latin-1, semicolons, decimal commas, days before months, m/M/w/W, k.A.

    Nothing tells the order of day and month in the column 'Sterbedatum'.
    """
    rng = generator(5)
    records = 3 * persons
    whom = whole_numbers(rng, 0, persons, records)
    day, month, year = (whole_numbers(rng, *ends, persons) for ends in ((1, 29), (1, 13), (1935, 2006)))
    sex, job, post = (whole_numbers(rng, 0, n, persons) for n in (2, 4, 40))
    seen, seen_in, check, weight = (whole_numbers(rng, *ends, records)
                                    for ends in ((1, 29), (1, 13), (1, 13), (480, 1200)))  # fmt: skip
    what, odd = (whole_numbers(rng, 0, n, records) for n in (5, 12))
    codes, jobs = ["C50.4", "C50.9", "I10.0", "J45.1", "M54.5"], ["Bäcker", "Ärztin", 'Koch; "Küche"', "Lehrer"]
    lines = ["Patienten-Nr;Geburtsdatum;Geschlecht;PLZ;Beruf;Gewicht;Aufnahmedatum;Sterbedatum;Diagnose;E-Mail"]
    for at, who in enumerate(whom):
        letter = ("MW" if odd[at] < 2 else "mw")[sex[who]]
        kilos = "k.A." if odd[at] == 5 else f"{weight[at] // 10},{weight[at] % 10}"
        quoted = '"' + jobs[job[who]].replace('"', '""') + '"'
        lines.append(
            f"P{who:04d};{day[who]:02d}.{month[who]:02d}.{year[who]};{letter};{50100 + post[who]};{quoted};{kilos};"
            f"{seen[at]:02d}.{seen_in[at]:02d}.2023;{check[at]:02d}/{seen_in[at]:02d}/2023;{codes[what[at]]};"
            f"p{who}@example.org"
        )
    file = folder / "Aufnahmen (Q3).csv"
    file.write_bytes(("\r\n".join(lines) + "\r\n").encode("latin-1"))
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


def confirm_roles(page: Any) -> None:
    """Say that the roles are right, where that was not said column by column."""
    button = page.get_by_role("button", name="These roles are right")
    button.or_(page.get_by_text("All roles are confirmed.")).first.wait_for()
    if button.count():
        button.click()
    page.get_by_text("All roles are confirmed.").wait_for()


def set_percent(page: Any, name: str, percent: float) -> None:
    """Type a limit."""
    field = page.get_by_label(f"{name}, at most percent")
    field.fill(f"{percent:g}")
    field.press("Tab")


CUT_WORDS = """() => [...document.querySelectorAll("select")].filter((each) => each.checkVisibility())
    .flatMap((each) => {
    const style = getComputedStyle(each), ink = document.createElement("canvas").getContext("2d");
    ink.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const room = each.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return [...each.options].map((option) => option.text).filter((text) => ink.measureText(text).width > room + 1);
})"""


def cut_words(page: Any) -> list[str]:
    """What can be chosen on a page and has more words than its field has room for."""
    found: list[str] = page.evaluate(CUT_WORDS)
    return found


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
