"""The pages of the reference that are made from the code: commands and flags, Python names, and what can be chosen.

Run as `make reference` after a flag, a parameter or a docstring has changed. A test compares the pages with the code,
so that none goes stale.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

import shoal
from shoal.cli.choices import MASK_FLAGS, METHOD_FLAGS
from shoal.cli.main import cli
from shoal.grouping import METHODS
from shoal.masking import MASKS
from shoal.models import MODELS
from shoal.models.contract import Flag as ModelFlag

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
MADE = "*Made from the code by `make reference`; change the code, not this page.*"

SECTIONS = {
    "shoal.pipeline": "Make and check a release",
    "shoal.table": "Say what columns are",
    "shoal.models": "Models",
    "shoal.attacking.mining": "Background knowledge",
    "shoal.reading": "Read files",
    "shoal.publishing.ledger": "Remember releases",
    "shoal.measuring.tuning": "Tune and compare",
    "shoal.errors": "Errors and warnings",
}
"""Titles of the public names by where they live; names from elsewhere come last."""

ANSWERS = {
    "Release": "shoal.publishing.release",
    "Assessment": "shoal.publishing.release",
    "Verdict": "shoal.judging.verdict",
    "Risk": "shoal.judging.risk",
    "Utility": "shoal.measuring.utility",
}
"""What the functions answer with. Nobody makes these by hand, so they are not public names of the package."""

# --- words ---------------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """A text of the code as Markdown shows it: signs mean themselves, but for code in backticks."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([*\[\]])", r"\\\1", text.replace("<", "&lt;").replace(">", "&gt;"))


def cell(text: str) -> str:
    """The same inside a table."""
    return plain(text).replace("|", "\\|")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table, and nothing where it has no rows."""
    rows = list(rows)
    if rows:
        yield "| " + " | ".join(headings) + " |"
        yield "|" + "---|" * len(headings)
        yield from ("| " + " | ".join(row) + " |" for row in rows)
        yield ""


@dataclasses.dataclass(frozen=True)
class Doc:
    """A docstring in its parts."""

    text: list[str]
    parts: dict[str, list[str]]

    def entries(self, part: str) -> list[tuple[str, str]]:
        """Names and meanings of a part such as Parameters."""
        entries: list[tuple[str, list[str]]] = []
        for line in self.parts.get(part, []):
            if line.startswith("    ") and entries:
                entries[-1][1].append(line)
            elif line.strip():
                entries.append((line.strip(), []))
        return [(name, " ".join(lines)) for name, lines in entries]


def doc_of(thing: Any) -> Doc:
    """The parts of a docstring: the text before the first heading, and what stands under each."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    text: list[str] = []
    parts: dict[str, list[str]] = {}
    current = text
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if below and set(below) == {"-"}:
            current = parts.setdefault(line.strip(), [])
        elif not (line and set(line) == {"-"}):
            current.append(line)
    return Doc(text, parts)


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """Lines of a docstring, joined to paragraphs."""
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines).strip()):
        if paragraph:
            yield plain(paragraph)
            yield ""


def first_sentence(thing: Any) -> str:
    """What a thing is, for somebody who reads no further."""
    return plain(next(iter((inspect.getdoc(thing) or "").split("\n\n"))))


def default_of(value: Any) -> str:
    """A default as one would write it."""
    if value is inspect.Parameter.empty:
        return "needed"
    if value is dataclasses.MISSING or "<factory>" in repr(value):
        return "`{}`"
    return f"`{value.__name__}`" if callable(value) and not isinstance(value, type) else f"`{value!r}`"


# --- commands ------------------------------------------------------------------------------------------------------


SHARED_BY = 2
"""A flag that so many commands take, with the same words, is explained once for all of them."""

Flag = tuple[str, str, str]
"""A flag as it is shown: its names with what it takes, its default, its meaning."""


def commands_page() -> str:
    """Every command with its arguments and flags, from click."""
    lines = [
        "# Every command and flag", "", MADE, "",
        "What `shoal COMMAND --help` shows, on one page. [Command line](../command-line.md) explains the flags by what "
        "they are for, with examples; [From the command line](../how-to/from-the-command-line.md) is the short way in.",
        "",
    ]  # fmt: skip
    group = click.Context(cli, info_name="shoal", help_option_names=["-h", "--help"])
    contexts = {
        name: click.Context(command, info_name=name, parent=group, help_option_names=["-h", "--help"])
        for name in cli.list_commands(group)
        if (command := cli.get_command(group, name)) is not None
    }
    lines += table(
        ("command", "what it does"),
        (
            (f"[`shoal {name}`](#shoal-{name})", cell(context.command.get_short_help_str(200)))
            for name, context in contexts.items()
        ),
    )
    flags = {name: flags_of(context) for name, context in contexts.items()}
    takers = Counter(flag for flags_of_command in flags.values() for flag in flags_of_command)
    shared = {flag for flag, n_commands in takers.items() if n_commands >= SHARED_BY}
    for name, context in contexts.items():
        lines += command_section(name, context, flags[name], shared)
    lines += ["## Shared flags", "", "Flags that more than one command takes, with the same meaning.", ""]
    lines += table(("flag", "default", "meaning"), (flag for flag in takers if flag in shared))
    return "\n".join(lines).rstrip() + "\n"


def command_section(name: str, context: click.Context, flags: list[Flag], shared: set[Flag]) -> Iterator[str]:
    """A command: how it is called, what it does, its own flags, and the names of those that it shares."""
    usage = " ".join(" ".join(context.command.collect_usage_pieces(context)).split())
    yield from (f"## shoal {name}", "", "```text", f"shoal {name} {usage}", "```", "")
    yield from paragraphs((context.command.help or "").replace("\b", "").replace("\f", "").splitlines())
    yield from table(("flag", "default", "meaning"), (flag for flag in flags if flag not in shared))
    besides = [re.findall(r"`--[^`]*`", names)[0] for names, *rest in flags if (names, *rest) in shared]
    yield from (f"[Shared flags](#shared-flags): {', '.join(besides)}.", "")


def flags_of(context: click.Context) -> list[Flag]:
    """The flags of a command as they are shown."""
    return [
        (flag_names(option, context), flag_default(option, context), cell(option.help or ""))
        for option in context.command.get_params(context)
        if isinstance(option, click.Option) and not option.hidden
    ]


def flag_names(option: click.Option, context: click.Context) -> str:
    """The names of a flag with the value that it takes."""
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return names
    return f"{names} `{option.make_metavar(context)}`".replace("|", "\\|")


def flag_default(option: click.Option, context: click.Context) -> str:
    """What holds where a flag is not given."""
    value = option.get_default(context, call=False)
    if option.is_flag and not option.secondary_opts:
        return "on" if value is True else "off"
    if option.required:
        return "needed"
    return "" if value is None or value == () or "UNSET" in repr(value).upper() else f"`{value}`".replace("|", "\\|")


# --- Python --------------------------------------------------------------------------------------------------------


def python_page() -> str:
    """Every public name with its signature and its docstring."""
    lines = [
        "# Python: every public name", "", MADE, "",
        "All of these are names of the package: `import shoal`, then `shoal.protect`. "
        "[From Python](../how-to/from-python.md) shows them at work.", "",
    ]  # fmt: skip
    by_section: dict[str, list[str]] = {}
    for name in sorted(shoal.__all__, key=str.lower):
        home = shoal._HOME[name]
        title = next((title for start, title in SECTIONS.items() if f"{home}.".startswith(f"{start}.")), "More")
        by_section.setdefault(title, []).append(name)
    ordered = [title for title in [*SECTIONS.values(), "More"] if title in by_section]
    lines += table(
        ("for", "names"),
        (
            (title, ", ".join(f"[`{name}`](#{anchor_of(name, title)})" for name in by_section[title]))
            for title in ordered
        ),
    )
    for title in ordered:
        lines += [f"## {title}", ""]
        if title == SECTIONS["shoal.errors"]:
            lines += errors_section(by_section[title])
            continue
        for name in by_section[title]:
            lines += name_section(name, getattr(shoal, name))
    lines += ["## What they answer with", ""]
    for name, home in ANSWERS.items():
        lines += answer_section(name, getattr(importlib.import_module(home), name))
    return "\n".join(lines).rstrip() + "\n"


def anchor_of(name: str, title: str) -> str:
    """Where a name is explained: errors share one table."""
    return "errors-and-warnings" if title == SECTIONS["shoal.errors"] else name.lower()


def name_section(name: str, thing: Any) -> Iterator[str]:
    """A public name: signature, text, parameters, notes, and what can be called on it."""
    doc = doc_of(thing)
    yield from (f"### {name}", "", "```py", signature_of(name, thing), "```", "")
    yield from paragraphs(doc.text)
    yield from table(
        ("parameter", "meaning"), ((in_code(entry), cell(meaning)) for entry, meaning in doc.entries("Parameters"))
    )
    yield from table(("raises", "when"), ((in_code(entry), cell(meaning)) for entry, meaning in doc.entries("Raises")))
    yield from paragraphs(doc.parts.get("Notes", []))
    yield from members_of(thing)


def in_code(names: str) -> str:
    return ", ".join(f"`{name.strip()}`" for name in names.split(","))


def signature_of(name: str, thing: Callable[..., Any]) -> str:
    """How a name is called, one parameter a line where it is long."""
    parts: list[str] = []
    is_keyword_only = False
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword_only:
            parts.append("*")
            is_keyword_only = True
        start = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        default = default_of(parameter.default).strip("`")
        end = "" if default == "needed" or start else f" = {default}"
        parts.append(f"{start}{parameter.name}: {parameter.annotation}{end}")
    answer = inspect.signature(thing).return_annotation
    end = f" -> {answer}" if isinstance(answer, str) and answer != "None" else ""
    short = f"shoal.{name}({', '.join(parts)}){end}"
    return short if len(short) <= 100 else f"shoal.{name}(\n    " + ",\n    ".join(parts) + f",\n){end}"


def members_of(thing: Any) -> Iterator[str]:
    """The public methods and properties of a class, each in a line."""
    if not isinstance(thing, type):
        return
    rows = []
    for name, member in vars(thing).items():
        kind = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        is_read = isinstance(kind, property | functools.cached_property)
        if name.startswith("_") or not (inspect.isfunction(kind) or is_read):
            continue
        shown = name if is_read else f"{name}{call_of(kind)}"
        rows.append((f"`{shown}`".replace("|", "\\|"), first_sentence(kind).replace("|", "\\|")))
    yield from table(("member", "meaning"), rows)


def call_of(function: Callable[..., Any]) -> str:
    """The parameters of a method by name, without their types."""
    names = [parameter.name for parameter in inspect.signature(function).parameters.values()]
    return f"({', '.join(name for name in names if name not in ('self', 'cls'))})"


def errors_section(names: Sequence[str]) -> Iterator[str]:
    """Errors with the exit code that the command line gives them."""
    things = {name: getattr(shoal, name) for name in names}
    yield from table(
        ("name", "exit code", "when"),
        (
            (f"`{name}`", str(getattr(thing, "exit_code", "")), first_sentence(thing).replace("|", "\\|"))
            for name, thing in things.items()
        ),
    )


def answer_section(name: str, thing: Any) -> Iterator[str]:
    """A result: its text, its fields with the lines written below them, and what can be called on it."""
    yield from (f"### {name}", "")
    yield from paragraphs(doc_of(thing).text)
    fields = [field for field in dataclasses.fields(thing) if not field.name.startswith("_")]
    yield from table(
        ("field", "type"), ((f"`{field.name}`", f"`{field.type}`".replace("|", "\\|")) for field in fields)
    )
    yield from members_of(thing)


# --- choices -------------------------------------------------------------------------------------------------------


def choices_page() -> str:
    """Every model, method and mask with its parameters."""
    lines = [
        "# Every parameter of models, methods and masks", "", MADE, "",
        "A parameter has the same name in Python and in a [policy file](../policy.md); the flag says the same on the "
        "command line. Each name leads to its page, with definition, example, when to use it, and what it does not "
        "protect from.", "",
    ]  # fmt: skip
    for title, registry, folder in (
        ("Models", MODELS, "models"),
        ("Methods", METHODS, "methods"),
        ("Masks", MASKS, "masks"),
    ):
        lines += [f"## {title}", ""]
        for name, thing in registry.items():
            lines += choice_section(name, thing, folder)
    return "\n".join(lines).rstrip() + "\n"


def choice_section(name: str, thing: Any, folder: str) -> Iterator[str]:
    """A model, method or mask: in one sentence, and its parameters with defaults and flags."""
    doc = doc_of(thing)
    yield from (f"### {name}", "", f"{first_sentence(thing)} [Its page](../{folder}/{name}.md).", "")
    meanings = {each.strip(): meaning for entry, meaning in doc.entries("Parameters") for each in entry.split(",")}
    rows = [
        (f"`{parameter}`", default_of(value), flag_of(name, parameter, folder), cell(meanings.get(parameter, "")))
        for parameter, value in parameters_of(thing).items()
    ]
    yield from table(("parameter", "default", "flag", "meaning"), rows)
    if not rows:
        yield from ("No parameters.", "")
    if folder == "models":
        direction = "higher" if thing.higher_is_safer else "lower"
        merging = "keeps" if thing.monotone else "may break"
        yield from (f"A {direction} value is safer. Merging groups {merging} it.", "")


def parameters_of(thing: Any) -> dict[str, Any]:
    """The parameters that a model, method or mask is made with, and their defaults."""
    return {name: parameter.default for name, parameter in inspect.signature(thing).parameters.items()}


def _written(flag: ModelFlag) -> str:
    """A flag, with what it takes where that is more than one value."""
    return f"--{flag.name} {flag.metavar}" if "," in flag.metavar else f"--{flag.name}"


def flag_of(name: str, parameter: str, folder: str) -> str:
    """The flag that sets a parameter; empty where only Python and a policy can."""
    if folder == "models":
        flags = [_written(flag) for flag in MODELS[name].flags() if parameter in flag.parameters]
    else:
        known = METHOD_FLAGS if folder == "methods" else MASK_FLAGS
        flags = [f"--{parameter.replace('_', '-')}"] if parameter in known else []
    return ", ".join(f"`{flag}`" for flag in flags)


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "python.md": python_page,
    "parameters.md": choices_page,
}
"""The pages by the name of their file."""


def main() -> None:
    """Write every page anew."""
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
        sys.stdout.write(f"docs/reference/{name}\n")


if __name__ == "__main__":
    main()
