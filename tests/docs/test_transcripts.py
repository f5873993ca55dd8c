"""What pages show of commands is true: commands are typed as the page says, and answer what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from shoal.cli.main import cli
from tests.docs.test_docs import DOCS, PAGES
from tests.docs.transcripts import (
    agrees,
    blocks_of,
    commands_of,
    is_played,
    is_transcript,
    play,
    prepare,
    shown,
    type_in,
)

TRANSCRIPTS = [page for page in PAGES if is_transcript(page)]
PLAYED = [page for page in PAGES if is_played(page)]
WITH_COMMANDS = [page for page in PAGES if any(block.language == "console" for block in blocks_of(page))]


def test_the_tutorial_and_the_pages_of_the_doors_show_real_answers() -> None:
    expected = ["tutorial.md", "how-to/from-the-command-line.md", "how-to/show-a-review-board.md"]
    assert {DOCS / name for name in expected} <= set(TRANSCRIPTS)


def test_an_answer_that_differs_is_noticed() -> None:
    assert agrees("a  ──── b\n...\nd\n", "a ── b\nc c\nd")
    assert agrees("...\nb\n", "b")
    assert not agrees("a b\n", "a b c")
    assert not agrees("groups 59\n...\n", "groups 58\nmore")


@pytest.mark.parametrize("page", PLAYED, ids=shown)
def test_commands_answer_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("LC_ALL", "C")
    runner = CliRunner()
    if not is_transcript(page):
        prepare(runner)
    play(page, lambda command: type_in(command, runner))


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=shown)
def test_commands_have_the_flags_that_pages_give_them(page: Path) -> None:
    context = click.Context(cli, info_name="shoal")
    for block in blocks_of(page):
        for typed in commands_of(block.text) if block.language == "console" else []:
            words = shlex.split(re.split(r" [|>&]", typed)[0])
            if words[0] != "shoal" or words[1:2] in ([], ["--help"], ["--version"]):
                continue
            command = cli.get_command(context, words[1])
            assert command is not None, f"{shown(page)}, line {block.line}: there is no command {words[1]}"
            known = {name for option in command.get_params(context) for name in [*option.opts, *option.secondary_opts]}
            flags = {word.partition("=")[0] for word in words[2:] if re.match(r"--?[a-z]", word)}
            assert flags <= known | {"-h", "--help"}, f"{shown(page)}, line {block.line}: {sorted(flags - known)}"
