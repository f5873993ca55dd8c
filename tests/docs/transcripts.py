"""Pages read as a newcomer reads them: blocks in their order, commands typed, files written where a block names one."""

from __future__ import annotations

import re
import shlex
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from shoal.cli.main import cli
from shoal.demo.patients import made_up_patients

PROJECT = Path(__file__).resolve().parents[2]
RUN_AS_A_WHOLE = {
    "docs/background-knowledge.md",
    "docs/how-to/hierarchies.md",
    "docs/how-to/read-files.md",
    "docs/policy.md",
    "docs/report.md",
}
"""Pages whose commands can be typed one after the other, though not all of their answers are shown."""

NOT_TYPED = re.compile(r"shoal (serve|tune|compare)|postgresql:|\.\.\.$")
"""Commands that do not end or take long, that need a server, or that leave out what is not their point."""

FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"""\s*\|\|\s*echo "exit code \$\?"$""")


class Block(NamedTuple):
    """A fenced block: its language, its text, the line of the page on which the text begins, and whether the block
    before it is right above."""

    language: str
    text: str
    line: int
    is_right_below: bool


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    blocks: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        is_right_below = bool(blocks) and not text[end : fence.start()].strip()
        blocks.append(Block(fence[1], fence[2], text.count("\n", 0, fence.start(2)) + 1, is_right_below))
        end = fence.end()
    return blocks


def is_transcript(page: Path) -> bool:
    """Whether a page shows what a command answers."""
    blocks = blocks_of(page)
    return any(
        above.language == "console" and below.language == "text" and below.is_right_below
        for above, below in pairwise(blocks)
    )


def is_played(page: Path) -> bool:
    """Whether a page is run from its first block to its last, as a newcomer would."""
    return is_transcript(page) or page.relative_to(PROJECT).as_posix() in RUN_AS_A_WHOLE


def commands_of(text: str) -> list[str]:
    """The commands of a block, one per line once lines that go on are joined; notes behind a hash are left out."""
    joined = re.sub(r"\\\n\s*", "", text)
    return [command for line in joined.splitlines() if (command := re.sub(r"\s+# .*$", "", line).strip())]


def prepare(runner: CliRunner) -> None:
    """What a reader of a how-to page has: a file of visits and the policy that `shoal profile` wrote for it."""
    made_up_patients(300, seed=1).write_csv("visits.csv")
    assert runner.invoke(cli, ["profile", "visits.csv"]).exit_code == 0


def type_in(command: str, folder: Path, runner: CliRunner) -> tuple[str, int]:
    """Type a command in a folder: what is shown, and the exit code."""
    shown, n_told = EXIT_CODE.subn("", command)
    if shown.split()[0] == "shoal":
        result = runner.invoke(cli, shlex.split(shown)[1:], prog_name="shoal")
        output, code = result.output, result.exit_code
    else:
        done = subprocess.run(shown, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
        output, code = done.stdout + done.stderr, done.returncode
    return (f"{output}exit code {code}\n", 0) if n_told and code else (output, code)


def agrees(shown: str, answered: str) -> bool:
    """Whether a page shows what was answered, but for the width of the screen; a line of three dots is any lines."""
    parts = [re.escape(_words(part)) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    return re.fullmatch(".*".join(parts), _words(answered)) is not None


def _words(text: str) -> str:
    return " ".join(re.sub(r"─+", "─", text).split())
