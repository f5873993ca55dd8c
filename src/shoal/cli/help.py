"""Help of commands with many flags: one screen, every flag, or one model, method or mask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import CommandWithParts, FlagsOfParts, PartFlag, ShownFlag, default_in_words, part_flags
from shoal.errors import did_you_mean

if TYPE_CHECKING:
    from shoal.models import Model
    from shoal.parts import Part

SECTIONS = ("Source", "Columns", "Models", "Method", "Mask")
"""In the order of the help; sections of a command's own come behind them."""
FLAG_WIDTH = 30


def help_for(command: CommandWithParts, ctx: click.Context, asked: Sequence[str]) -> str:
    """What somebody asks for: `--help`, `--help-all`, or `--help` and the name of a part."""
    name = asked[1] if len(asked) > 1 and asked[0] != "--help-all" and not asked[1].startswith("-") else None
    if name is not None and not {".", "/", "\\", ":"} & set(name):  # else it is a file
        return about(name, ctx)
    return screen(command, ctx, every=asked[0] == "--help-all")


def screen(command: CommandWithParts, ctx: click.Context, *, every: bool = False) -> str:
    """The flags of a command by section: those that are common, or every one."""
    formatter = ctx.make_formatter()
    params = command.get_params(ctx) if every else list(_asked_for_models(command))
    pieces = [piece for param in params for piece in param.get_usage_pieces(ctx)]
    formatter.write_usage(ctx.command_path, " ".join([command.options_metavar or "", *pieces]))
    formatter.write_paragraph()
    with formatter.indentation():
        told = (command.help or "").split("\n\n")
        formatter.write_text("\n\n".join(told if every else told[:1]))
    shown: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
    for param in params:
        record = param.get_help_record(ctx)
        section, is_common = (param.section, param.is_common) if isinstance(param, ShownFlag) else ("", False)
        if record is not None and (every or is_common):
            row = record if every else (record[0], _first_sentence(param))
            shown.setdefault(section or command.own_section, []).append(row)
    for section, rows in shown.items():
        if rows:
            with formatter.section(section):
                formatter.write_dl(rows, col_max=FLAG_WIDTH)
    if every:
        command.format_epilog(ctx, formatter)
    else:
        _write_what_else_there_is(command, ctx, formatter)
    return formatter.getvalue().rstrip("\n")


def _asked_for_models(command: CommandWithParts) -> Iterator[click.Parameter]:
    """The parameters of a command, with the flags of its models but not of methods and masks, which take a while."""
    for param in command.params:
        if isinstance(param, FlagsOfParts) and param.what == "model":
            yield from param.flags()
        else:
            yield param


def _first_sentence(param: click.Parameter) -> str:
    """The first sentence of what a flag means."""
    text = param.help or "" if isinstance(param, click.Option) else ""
    return re.split(r"(?<=\.) ", text)[0]


def _write_what_else_there_is(command: CommandWithParts, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    from shoal.models import MODELS

    if any(isinstance(param, FlagsOfParts) and param.what == "model" for param in command.params):
        others = ", ".join(name for name, model in MODELS.items() if not model.is_common)
        formatter.write_paragraph()
        formatter.write_text(f"More: {others}.")
    formatter.write_text(
        f"'{ctx.command_path} --help-all' shows every flag, '{ctx.command_path} --help NAME' a model, method or mask."
    )
    examples = (command.epilog or "").replace("\b", "").strip("\n").splitlines()
    if examples:
        formatter.write_paragraph()
        formatter.write("\n".join(_first_example(examples)) + "\n")


def _first_example(lines: Sequence[str]) -> Iterator[str]:
    """The heading and the first example, with the lines that go on."""
    yield lines[0]
    n_shown = 0
    for line in lines[1:]:
        n_shown += line.startswith("  shoal")
        if not line.strip() or n_shown > 1:
            return
        yield line


def about(name: str, ctx: click.Context) -> str:
    """A model, method or mask: what it does, its options and flags, and the engines that offer it."""
    from shoal.grouping import METHODS
    from shoal.masking import MASKS
    from shoal.models import MODELS

    formatter = ctx.make_formatter()
    for what, parts in (("method", METHODS), ("mask", MASKS)):
        if name in parts:
            _write_part(formatter, what, parts[name])
    if name in MODELS:
        _write_model(formatter, MODELS[name])
    if not formatter.buffer:
        known = [*MODELS, *METHODS, *MASKS]
        raise click.UsageError(
            f"There is no model, method or mask '{name}' to explain.{did_you_mean(name, known) or ' '}".rstrip(), ctx
        )
    return formatter.getvalue().rstrip("\n")


def _write_part(formatter: click.HelpFormatter, what: Any, part: type[Part]) -> None:
    formatter.write_text(f"{part.name}, a {what}. {part.sentence}")
    flags = [flag for flag in part_flags(what) if part.name in dict(flag.by)]
    if flags:
        with formatter.section(f"Options, as flags and as keys of [{what}] in a policy"):
            formatter.write_dl([_row(flag, part.name) for flag in flags], col_max=FLAG_WIDTH)
    formatter.write_paragraph()
    formatter.write_text(f"Engines that offer it: {', '.join(sorted(part.engines))}.")
    formatter.write_text(f'Asked for by --{what} {part.name}, or in a policy by name = "{part.name}" under [{what}].')


def _row(flag: PartFlag, name: str) -> tuple[str, str]:
    """A flag as one part means it."""
    ((_, own),) = by = [(part, each) for part, each in flag.by if part == name]
    made = PartFlag(flag.name, flag.dest, flag.option, by).made("")
    names = ", ".join([*made.opts, *made.secondary_opts])
    return names if made.is_flag else f"{names} {made.metavar}", f"{own.help}{default_in_words(own.default)}"


def _write_model(formatter: click.HelpFormatter, model: type[Model]) -> None:
    told = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    formatter.write_text(f"{model.name}, a model. {told}")
    with formatter.section("Parameters as flags"):
        formatter.write_dl([(f"--{flag.name} {flag.metavar}", flag.help) for flag in model.flags()], col_max=FLAG_WIDTH)
    formatter.write_paragraph()
    formatter.write_text(
        f"In a policy it stands under [models], by its name and its threshold {model.threshold()}, or as a table of "
        "its parameters. " + ("Merging groups keeps it." if model.monotone else "Merging groups may break it.")
    )
