"""The pages of the reference that are made from the code: commands and flags, Python names, and what can be chosen.

Run as `make reference` after a flag, a parameter or a docstring has changed. A test compares the pages with the code,
so that none goes stale.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from markdown.extensions.toc import slugify

import shoal
from shoal import errors
from shoal.attacking.suite import ATTACKS
from shoal.cli import options
from shoal.cli.main import cli
from shoal.cli.options import CommandWithParts, part_flags
from shoal.grouping import METHODS
from shoal.masking import MASKS
from shoal.models import MODELS
from shoal.models.contract import Flag as ModelFlag
from shoal.parts import Option, options_of
from shoal.reading import FORMATS, Format

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
MADE = "*Made from the code by `make reference`; change the code, not this page.*"

SECTIONS = {
    "shoal.pipeline": "Make and check a release",
    "shoal.table": "Say what columns are",
    "shoal.models": "Models",
    "shoal.attacking.mining": "Background knowledge",
    "shoal.attacking": "Attack a release",
    "shoal.reading": "Read files",
    "shoal.publishing.ledger": "Remember releases",
    "shoal.measuring.tuning": "Tune and compare",
    "shoal.errors": "Errors and warnings",
}
"""Titles of the public names by where they live; names from elsewhere come last."""

BESIDE = {
    "shoal.attacking": ("attack_background", "attack_by_exclusion", "Attack", "OtherRelease"),
    "shoal.attacking.mining": ("Item", "Knowledge", "Rule", "Rules"),
    "shoal.measuring.tuning": ("Target",),
    "shoal.reading": ("CsvOptions", "Join"),
    "shoal.errors": ("ShoalError", "InputError", "SchemaError", "ParameterError", "PolicyError", "OutputError",
                     "NotEnoughMemoryError", "CannotSatisfyError", "PrivacyNotMetError", "ShoalWarning"),
}  # fmt: skip
"""What is imported from modules of the package."""

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


Flag = tuple[str, str, str]
"""A flag as it is shown: its names with what it takes, its default, its meaning."""

FLAG_TABLE = ("flag", "default", "meaning")

SHARED = {
    "common": "every command", "policy": "policy", "columns": "columns", "models": "models",
    "making": "method and mask", "source": "source",
}  # fmt: skip
"""Flags that several commands take, by their name in `shoal.cli.options`, and the heading of their explanation."""


@functools.cache
def contexts() -> dict[str, click.Context]:
    """Every command, ready to be asked for its flags."""
    group = click.Context(cli, info_name="shoal", help_option_names=["-h", "--help"])
    return {
        name: click.Context(command, info_name=name, parent=group, help_option_names=["-h", "--help"])
        for name in cli.list_commands(group)
        if (command := cli.get_command(group, name)) is not None
    }


@functools.cache
def shared_flags() -> dict[str, list[Flag]]:
    """The flags of each group that commands share; of making also those about persons who are alone."""
    found = {}
    for group in SHARED:

        def taker() -> None:
            """What takes the flags of the group, and nothing else."""

        for decorate in [options.alone, options.making] if group == "making" else [getattr(options, group)]:
            decorate(taker)
        command = CommandWithParts("taker", params=taker.__dict__["__click_params__"][::-1])
        flags = flags_of(click.Context(command, help_option_names=[]))
        found[group] = [flag for flag in flags if group == "common" or "`--help-all`" not in flag[0]]
    found["common"] += [flag for flag in flags_of(contexts()["demo"]) if "`--help`" in flag[0]]
    return found


def commands_table() -> Iterator[str]:
    """Every command with what it does."""
    yield from table(
        ("command", "what it does"),
        (
            (f"[`shoal {name}`](#shoal-{name})", cell(context.command.get_short_help_str(200)))
            for name, context in contexts().items()
        ),
    )


def flags_of_command(name: str) -> Iterator[str]:
    """How a command is called, its own flags, and which it shares with others."""
    context = contexts()[name]
    usage = " ".join(" ".join(context.command.collect_usage_pieces(context)).split())
    yield from ("```text", f"shoal {name} {usage}", "```", "")
    flags = flags_of(context)
    group_of = {flag: group for group, shared in shared_flags().items() for flag in shared}
    yield from table(FLAG_TABLE, (flag for flag in flags if flag not in group_of))
    taken: dict[str, list[str]] = {}
    for flag in flags:
        if flag in group_of:
            taken.setdefault(group_of[flag], []).append(re.findall(r"`--[^`]*`", flag[0])[0])
    yield from ("[Shared flags](#shared-flags):", "")
    for group, heading in SHARED.items():
        if group in taken:
            anchor = heading.replace(" ", "-")
            yield f"- [{heading}](#{anchor}): {', '.join(taken[group])}"
    yield ""


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
        "Names stand in the package (`import shoal`, then `shoal.protect`) or in a module of it, as each is written "
        "here. [Methods](../methods/index.md) and [masks](../masks/index.md) with their options are the classes of "
        "`shoal.methods` and `shoal.masks`. [From Python](../how-to/from-python.md) shows them at work.", "",
    ]  # fmt: skip
    by_section: dict[str, list[str]] = {}
    homes = {**shoal._HOME, **{name: module for module, names in BESIDE.items() for name in names}}
    for name in sorted(homes, key=str.lower):
        home = homes[name]
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
            lines += name_section(name, "shoal" if name in shoal.__all__ else homes[name])
    lines += ["## What they answer with", ""]
    for name, home in ANSWERS.items():
        lines += answer_section(name, getattr(importlib.import_module(home), name))
    return "\n".join(lines).rstrip() + "\n"


def anchor_of(name: str, title: str) -> str:
    """Where a name is explained: errors share one table."""
    return "errors-and-warnings" if title == SECTIONS["shoal.errors"] else name.lower()


def name_section(name: str, module: str) -> Iterator[str]:
    """A public name of a module: signature, text, parameters, notes, and what can be called on it."""
    thing = getattr(importlib.import_module(module), name)
    doc = doc_of(thing)
    yield from (f"### {name}", "", "```py", signature_of(f"{module}.{name}", thing), "```", "")
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
    short = f"{name}({', '.join(parts)}){end}"
    return short if len(short) <= 100 else f"{name}(\n    " + ",\n    ".join(parts) + f",\n){end}"


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
    things = {name: getattr(errors, name) for name in names}
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


KINDS: dict[str, Mapping[str, Any]] = {"models": MODELS, "methods": METHODS, "masks": MASKS}
"""The parts that have options, by the folder of their pages."""


def section_of(folder: str, name: str) -> tuple[Path, str, str]:
    """Where a model, method or mask is explained: the page, the heading there, and the text below it.

    Kin share a page. The heading is empty where the page is about nothing else.
    """
    place = f"<!-- made from the code: parameters of {name} -->"
    for page in sorted((FOLDER.parent / folder).glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if place not in text:
            continue
        if text.count("<!-- made from the code: parameters of ") == 1:
            return page, "", text
        sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
        for heading, below in zip(sections[1::2], sections[2::2], strict=True):
            if place in below:
                return page, heading, below
    raise LookupError(f"No page in docs/{folder} has a place for the parameters of {name}: {place}")


def place_of(folder: str, name: str) -> str:
    """The address of the same, from the folder of the docs."""
    page, heading, _ = section_of(folder, name)
    anchor = slugify(heading, "-")
    return f"{folder}/{page.name}" + (f"#{anchor}" if anchor else "")


def parameters_table(folder: str, name: str) -> Iterator[str]:
    """The parameters of a model, method or mask, with defaults, flags and what they mean."""
    thing = KINDS[folder][name]
    doc = doc_of(thing)
    meanings = {each.name: each.help for each in options_of(thing)}
    meanings |= {each.strip(): meaning for entry, meaning in doc.entries("Parameters") for each in entry.split(",")}
    rows = [
        (f"`{parameter}`", default_of(value), flag_of(name, parameter, folder), cell(meanings.get(parameter, "")))
        for parameter, value in parameters_of(thing).items()
    ]
    yield from table(("parameter", "default", "flag", "meaning"), rows) if rows else ("None.", "")
    if folder == "models":
        direction = "higher" if thing.higher_is_safer else "lower"
        merging = "keeps" if thing.monotone else "may break"
        yield from (f"A {direction} value is safer. Merging groups {merging} it.", "")


def keys_of_models() -> Iterator[str]:
    """The models as a policy names them: threshold, and what else can be said."""
    rows = []
    for name, model in MODELS.items():
        kept_apart = {field.name for field in dataclasses.fields(model) if field.metadata.get("is_kept_apart")}
        threshold, *others = [option for option in options_of(model) if option.name not in kept_apart]
        told = ", ".join(f"`{other.name}` ({_default_in_policy(other)})" for other in others)
        rows.append((f"[`{name}`]({place_of('models', name)})", f"`{threshold.name}`", told))
    yield from table(("name", "threshold", "other parameters and their defaults"), rows)


def keys_of(folder: str) -> Iterator[str]:
    """The keys of a method or a mask in a policy: who takes it, its default, what it means."""
    found: dict[tuple[str, str], dict[str, Option]] = {}
    for name, part in KINDS[folder].items():
        for option in options_of(part):
            found.setdefault((option.name, option.help), {})[name] = option
    names = ", ".join(f"[`{name}`]({place_of(folder, name)})" for name in KINDS[folder])
    rows = [("`name`", "", f'`"{DEFAULTS[folder]}"`', names)]
    for (key, meaning), by_part in found.items():
        defaults: dict[str, list[str]] = {}
        for name, option in by_part.items():
            others = [f'`"{choice}"`' for choice in option.choices if choice != option.default]
            defaults.setdefault("; or ".join([_default_in_policy(option), *others]), []).append(name)
        told = list(defaults) if len(defaults) == 1 else [f"{told} ({', '.join(of)})" for told, of in defaults.items()]
        rows.append((f"`{key}`", ", ".join(by_part), "; ".join(told), cell(meaning)))
    yield from table(("key", "of", "default; or", "meaning"), rows)


DEFAULTS = {"methods": "balance-tree", "masks": "range"}


def _default_in_policy(option: Option) -> str:
    if option.is_needed:
        return "needed"
    if option.default is None:
        return "none" if option.name != "column" else "all"
    return f"`{json.dumps(option.default)}`"


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
        known = part_flags("method" if folder == "methods" else "mask")
        flags = [f"--{flag.name}" for flag in known if flag.option == parameter and name in dict(flag.by)]
    return ", ".join(f"`{flag}`" for flag in flags)


def formats_table() -> Iterator[str]:
    """Every format of files, by what it says of itself."""
    rows = [
        (f"`{name}`", format.words, ", ".join(f"`{ending}`" for ending in format.endings),
         f"`release.{name if format.is_written else format.release_as}`", ", ".join(sorted(format.engines)),
         ", ".join(sorted(format.keeps_labels)) or "none", _limits(format),
         f"`shoal[{format.extra}]`" if format.extra else "nothing")
        for name, format in FORMATS.items()
    ]  # fmt: skip
    headings = ("name", "a file is", "endings", "its release", "engines", "labels kept", "limits", "needs")
    yield from table(headings, rows)


def _limits(format: type[Format]) -> str:
    counts = ((format.most_records, "records"), (format.most_columns, "columns"),
              (format.longest_text, "characters of a text"))  # fmt: skip
    told = [f"{most:,} {what}" for most, what in counts if most is not None]
    return "; ".join([*told, *([f"names of {format.names.words}"] if format.names else [])]) or "none"


def attacks_table() -> Iterator[str]:
    """Every attack, by what it says of itself."""
    rows = [
        (f"`{name}`", cell(attack.question), cell(attack.knows), "yes" if attack.in_suite else "by name",
         ", ".join(f"`{need.give}`" for need in attack.needs if need.give) or "the release alone",
         ", ".join(f"`{option.name}`" for option in options_of(attack)) or "none")
        for name, attack in ATTACKS.items()
    ]  # fmt: skip
    headings = ("name", "it asks", "the attacker knows", "suite", "takes", "options")
    yield from table(headings, rows)


PAGES: dict[str, Callable[[], str]] = {
    "python.md": python_page,
}
"""The pages that are made as a whole, by the name of their file."""

# --- parts of pages that are written by hand ----------------------------------------------------------------------

PLACE = re.compile(r"(<!-- made from the code: ([^>]+) -->\n).*?(<!-- end -->)", flags=re.DOTALL)
"""Where something made from the code stands on a page."""


def filled(page: Path) -> str:
    """A page with all that is made from the code made anew."""
    return PLACE.sub(lambda place: place[1] + "\n".join(made_of(place[2], page)) + place[3], page.read_text("utf-8"))


def made_of(what: str, page: Path) -> list[str]:
    """The lines that stand at a place of a page."""
    if what == "commands":
        return ["", *commands_table(), ""]
    if what == "keys of models":
        return ["", *keys_of_models(), ""]
    if what.startswith("keys of "):
        return ["", *keys_of(what.removeprefix("keys of ")), ""]
    if what == "formats":
        return ["", *formats_table(), ""]
    if what == "attacks":
        return ["", *attacks_table(), ""]
    if what.startswith("parameters of "):
        return ["", *parameters_table(page.parent.name, what.removeprefix("parameters of ")), ""]
    if what.startswith("shared flags of "):
        return ["", *table(FLAG_TABLE, shared_flags()[what.removeprefix("shared flags of ")]), ""]
    return ["", *flags_of_command(what.removeprefix("flags of ")), ""]


def pages_with_places() -> list[Path]:
    """The pages on which something is made from the code."""
    return [page for page in sorted(FOLDER.parent.rglob("*.md")) if PLACE.search(page.read_text("utf-8"))]


def main() -> None:
    """Write every page anew."""
    FOLDER.mkdir(exist_ok=True)
    made = {FOLDER / name: page() for name, page in PAGES.items()}
    made |= {page: filled(page) for page in pages_with_places()}
    for path, text in made.items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(FOLDER.parents[1])}\n")


if __name__ == "__main__":
    main()
