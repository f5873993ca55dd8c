"""The library speaks Python, doors speak their own language."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

import shoal
from shoal.cli.output import in_flags
from shoal.cli.protect import protect
from shoal.errors import CannotSatisfyError

SOURCE = Path(shoal.__file__).parent
DOORS = {"cli", "web"}
COMMANDS = {"policy/starter.py", "publishing/report/sections/repeat.py"}
"""What writes down a command that can be run, which is more than a word about a flag."""
FLAG = re.compile(r"(?<![\w-])--[a-z]")


def texts_of(tree: ast.AST) -> list[ast.Constant]:
    """The texts of a module that are no docstrings."""
    notes = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in notes
    ]


def test_no_message_of_the_library_names_a_flag() -> None:
    named = [
        f"{path.relative_to(SOURCE)}:{text.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in DOORS and path.relative_to(SOURCE).as_posix() not in COMMANDS
        for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))
        if FLAG.search(str(text.value))
    ]
    assert named == []


def test_an_error_says_what_could_be_changed() -> None:
    error = CannotSatisfyError("Leave them out with max_suppressed=3, or use encoding='utf-16' (CsvOptions(quote='')).")
    assert error.changes == ("max_suppressed", "encoding")
    assert shoal.errors.ShoalError("There is no mask 'x'.").changes == ()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Leave out max_suppressed=3.", "Leave out --max-suppressed 3."),
        ("Set it with delimiter=.", "Set it with --delimiter."),
        ("Use encoding='utf-16'.", "Use --encoding utf-16."),
        ("Replace it with overwrite=True, or", "Replace it with --overwrite, or"),
        ("kept= or dropped=", "--keep or --drop"),
        ("?table=visits, [GBalance(g=0.8)], nothing=1", "?table=visits, [GBalance(g=0.8)], nothing=1"),
    ],
)
def test_the_command_line_speaks_of_flags(said: str, told: str) -> None:
    assert in_flags(said, protect) == told
    assert in_flags(said, click.Command("other")) == told  # flags of protect are told by every command
