"""The reference says all that the code has: no flag, parameter, key or measure is left out, and none has gone."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli.main import cli
from shoal.demo.clinics import clinics
from shoal.judging.risk import Risk
from shoal.measuring.utility import Utility
from shoal.policy.load import _File
from tools.reference import FOLDER, KINDS, PAGES, filled, pages_with_places, section_of

DOCS = FOLDER.parent

HEADINGS = {
    "models": ["Definition", "Example", "When to use it", "What it does not protect from", "Parameters"],
    "methods": ["How it works", "Options", "When to use it", "What it does not protect from"],
    "masks": ["When to use it", "What it does not protect from"],
}
"""What a reader finds about every part of a kind; methods and masks show an example too."""


def code_on(page: str) -> set[str]:
    """Words in code on a page."""
    return code_in((DOCS / page).read_text(encoding="utf-8"))


def code_in(text: str) -> set[str]:
    """Words in code, each by itself: of `a`, `b.c=1` and a block a, b and c."""
    code = " ".join(re.findall(r"`([^`\n]+)`", text) + re.findall(r"^```[^\n]*\n(.*?)^```$", text, flags=re.M | re.S))
    return set(re.findall(r"[A-Za-z_][\w-]*", code)) | set(re.findall(r"--?[a-z][a-z-]*", code))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_made_from_the_code_is_up_to_date(name: str) -> None:
    made = PAGES[name]()
    assert (FOLDER / name).read_text(encoding="utf-8") == made, f"docs/reference/{name} is stale: run `make reference`"


@pytest.mark.parametrize("page", pages_with_places(), ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_what_a_page_takes_from_the_code_is_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == filled(page), f"{page.relative_to(DOCS)} is stale: run `make reference`"


def test_the_pages_made_from_the_code_have_every_name() -> None:
    python = (FOLDER / "python.md").read_text(encoding="utf-8")
    assert [name for name in shoal.__all__ if f"`{name}`" not in python and f"### {name}\n" not in python] == []
    assert re.findall(r"0x[0-9a-f]{6,}|<function|<class|<factory>", python) == []  # else it never settles


# --- models, methods, masks ----------------------------------------------------------------------------------------


def choices() -> Iterator[Any]:
    for folder, registry in KINDS.items():
        for name, thing in registry.items():
            yield pytest.param(folder, name, thing, id=f"{folder}/{name}")


@pytest.mark.parametrize(("folder", "name", "thing"), list(choices()))
def test_of_a_part_is_told_what_a_reader_looks_for(folder: str, name: str, thing: type) -> None:
    _, _, text = section_of(folder, name)
    headings = re.findall(r"^###? (.+)$", text, flags=re.MULTILINE)
    assert [heading for heading in HEADINGS[folder] if heading not in headings] == []
    assert "```python" in text, "it shows no example that runs"


@pytest.mark.parametrize(("folder", "name", "thing"), list(choices()))
def test_every_parameter_is_named(folder: str, name: str, thing: type) -> None:
    assert set(inspect.signature(thing).parameters) - code_in(section_of(folder, name)[2]) == set()


# --- command line --------------------------------------------------------------------------------------------------


def flags_of_every_command() -> dict[str, set[str]]:
    context = click.Context(cli, info_name="shoal", help_option_names=["-h", "--help"])
    found: dict[str, set[str]] = {}
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        params = command.get_params(click.Context(command, info_name=name, help_option_names=["-h", "--help"]))
        options = [option for option in params if isinstance(option, click.Option) and not option.hidden]
        found[name] = {flag for option in options for flag in [*option.opts, *option.secondary_opts]}
    return found


@pytest.mark.parametrize(("name", "flags"), list(flags_of_every_command().items()), ids=list(flags_of_every_command()))
def test_every_command_is_explained_with_its_flags_and_no_other(name: str, flags: set[str]) -> None:
    told = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", sections_of_commands()[f"shoal {name}"]))
    off = {flag for flag in flags if flag.startswith("--no-")}  # told beside their opposites, where flags are shared
    assert {flag for flag in flags if flag.startswith("--")} - told - off == set()
    assert told - {"--help"} <= known_flags()


def test_the_page_of_commands_has_all_of_them_and_what_they_share() -> None:
    sections = sections_of_commands()
    assert set(sections) == {*(f"shoal {name}" for name in flags_of_every_command()), "Shared flags"}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", sections["Shared flags"])) - known_flags() <= {"--help"}


def sections_of_commands() -> dict[str, str]:
    parts = re.split(r"^## (.+)\n", (DOCS / "commands.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def known_flags() -> set[str]:
    return set().union(*flags_of_every_command().values())


# --- keys ----------------------------------------------------------------------------------------------------------


def test_the_page_of_the_policy_has_every_key() -> None:
    def keys(model: Any) -> Iterator[str]:
        for name, field in model.model_fields.items():
            yield field.alias or name
            for inner in re.findall(r"\w+Choices", str(field.annotation)):
                if hasattr(policy, inner):
                    yield from keys(getattr(policy, inner))

    from shoal.policy import policy

    text = (DOCS / "policy.md").read_text(encoding="utf-8")
    in_headings = re.findall(r"[\w-]+", " ".join(re.findall(r"^## (.+)$", text, flags=re.MULTILINE)))
    told = {word.replace("-", "_") for word in {*code_on("policy.md"), *in_headings}}
    wanted = {key.replace("-", "_") for key in keys(_File)}
    assert {"person", "max_suppressed", "delimiter", "strike"} <= wanted  # keys inside of keys were found
    assert wanted - told == set()


def test_the_page_of_measures_has_every_risk_and_loss() -> None:
    fields = {field.name for kind in (Risk, Utility) for field in dataclasses.fields(kind)}
    assert fields - code_on("measures.md") == set()


ROLES = ["--person", "name", "--quasi", "age,gender,zip", "--sensitive", "disease", "--drop", "admission"]
ASKED = ["--g-balance", "0.5", "--h-affiliation", "0.5"]


@pytest.mark.parametrize(
    "command",
    [
        ["profile", "clinics.csv"],
        ["assess", "clinics.csv", *ROLES],
        ["mine", "clinics.csv", *ROLES],
        ["verify", "out"],
        ["attack", "out"],
    ],
    ids=lambda command: command[0],
)
def test_the_page_of_json_has_every_key(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(clinics()).write_csv("clinics.csv")
    runner = CliRunner()
    made = runner.invoke(cli, ["protect", "clinics.csv", *ROLES, *ASKED, "--queries", "5", "-o", "out", "--json"])
    answer = runner.invoke(cli, [*command, "--json"])
    assert (made.exit_code, answer.exit_code) == (0, 0), made.output + answer.output
    keys = {*json.loads(made.stdout), *json.loads(answer.stdout)}
    assert keys - code_on("json.md") == set()
