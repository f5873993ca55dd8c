"""Pages read as a newcomer reads them: blocks in their order, commands typed, files written where a block names one.

python -m tests.docs.transcripts PAGE    # in the folder where one is, each command in a process of its own
"""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
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

NOT_TYPED = re.compile(r"shoal (serve|tune|compare)|(postgresql|sqlite):|\.\.\.$")
"""Commands that do not end or take long, that need a server, or that leave out what is not their point."""

FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"""\s*\|\|\s*echo "exit code \$\?"$""")


class Snippet(NamedTuple):
    """The code of one fenced block, and the line of the page on which it begins."""

    code: str
    line: int


class Block(NamedTuple):
    """A fenced block: its language, its text, the line of the page on which the text begins, and whether the block
    before it is right above."""

    language: str
    text: str
    line: int
    is_right_below: bool


def shown(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def run_snippet(snippet: Snippet, page: Path, names: dict[str, object]) -> None:
    """Run a block as a reader would; one with prompts must also answer what the page says it answers."""
    if ">>> " not in snippet.code:
        padding = "\n" * (snippet.line - 1)  # so that a traceback names the line of the page
        exec(compile(padding + snippet.code, shown(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(snippet.code, names, shown(page), shown(page), snippet.line - 1)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    failures: list[str] = []
    runner.run(test, out=failures.append, clear_globs=False)
    names.update(test.globs)
    assert not failures, "".join(failures)


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


def type_in(command: str, runner: CliRunner | None) -> tuple[str, int]:
    """Type a command: what is shown, and the exit code. Without a runner each command is a process of its own."""
    typed, n_told = EXIT_CODE.subn("", command)
    if runner is not None and typed.split()[0] == "shoal":
        result = runner.invoke(cli, shlex.split(typed)[1:], prog_name="shoal")
        output, code = result.output, result.exit_code
    else:
        done = subprocess.run(
            typed, shell=True, stdout=-1, stderr=subprocess.STDOUT, text=True, check=False, timeout=600
        )
        output, code = done.stdout, done.returncode
    return (f"{output}exit code {code}\n", 0) if n_told and code else (output, code)


def play(page: Path, type_in: Callable[[str], tuple[str, int]]) -> None:
    """Run a page from its first block to its last in the folder where one is; what commands answer is what it shows."""
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = blocks_of(page)
    for block, below in zip(blocks, [*blocks[1:], None], strict=True):
        named = re.match(r"# (\S+\.(?:toml|csv))\n", block.text)
        if block.language == "python":
            run_snippet(Snippet(block.text, block.line), page, names)
        elif block.language in {"toml", "csv"} and named:
            Path(named[1]).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            typed = [command for command in commands_of(block.text) if not NOT_TYPED.search(command)]
            answers = [type_in(command) for command in typed]
            answered = "".join(output for output, _ in answers)
            assert [code for _, code in answers] == [0] * len(answers), f"{shown(page)}, line {block.line}: {answered}"
            if below is not None and below.language == "text" and below.is_right_below:
                told = f"{shown(page)}, line {below.line}: the command answers\n{answered}"
                assert agrees(below.text, answered), told


def agrees(shown: str, answered: str) -> bool:
    """Whether a page shows what was answered, but for the width of the screen; a line of three dots is any lines."""
    parts = [re.escape(_words(part)) for part in re.split(r"^\.\.\.$", shown, flags=re.MULTILINE)]
    return re.fullmatch(".*".join(parts), _words(answered)) is not None


def _words(text: str) -> str:
    return " ".join(re.sub(r"─+", "─", text).split())


if __name__ == "__main__":
    play(Path(sys.argv[1]), lambda command: type_in(command, None))
