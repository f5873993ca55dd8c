"""The tool that breaks code on purpose makes the changes it says, and tells who noticed."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutate import TESTS_OF, Bench, choose_tests, mutants_of, mutated, noting, report, try_mutants

PROJECT = Path(__file__).resolve().parents[2]


def changes(source: str) -> set[str]:
    return {mutant.change for mutant in mutants_of("a.py", source)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"a < b -> a <= b", "a < b -> a >= b"}),
        ("x = a is not b", {"a is not b -> a is b"}),
        ("x = a + 5", {"a + 5 -> a - 5", "5 -> 6", "5 -> 4"}),
        ("x = a and b", {"a and b -> a or b"}),
        ("x = not a", {"not a -> a"}),
        ("x = ~a & b", {"~a -> a", "~a & b -> ~a | b"}),
        ("x = min(a)", {"min -> max"}),
        ("x = np.maximum(a, b)", {"np.maximum -> np.minimum"}),
        ("x = True", {"True -> False"}),
        ("def f() -> bool:\n    return a", {"return a -> return True", "return a -> return False"}),
        ("def f() -> BoolArray:\n    return a", {"return a -> return a | True", "return a -> return a & False"}),
        ("def f() -> float:\n    return a", {"return a -> return 0.0"}),
        ("def f():\n    return a", {"return a -> return None"}),
        ("def f():\n    a.append(b)", {"a.append(b) -> pass"}),
        ("if a:\n    raise E", {"if a: raise E -> pass", "raise E -> pass"}),
        ("a[0] = b", {"a[0] = b -> pass", "0 -> 1", "0 -> -1"}),
        ("a += b", {"a += b -> pass"}),
        ("x = a if b else c", {"a if b else c -> a if not b else c"}),
    ],
)
def test_each_kind_of_change_is_made(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring with 1 < 2."""',
        "def f(a: Literal[1] | None) -> Literal[2]: ...",
        "x: ClassVar[int | None]",
        "if TYPE_CHECKING:\n    x = 1 + 2",
        "__all__ = ['a'] + b",
        "Number = int | float",
        "import a",
    ],
)
def test_what_nobody_can_notice_is_left_alone(source: str) -> None:
    assert not [change for change in changes(source) if change != "... -> pass"]


def test_words_of_messages_are_left_alone() -> None:
    assert changes("raise E(f'{a + 1} of {2}')") == {"raise E(f'{a + 1} of {2}') -> pass"}


def test_every_mutant_differs_from_the_file_and_can_be_parsed() -> None:
    source = (PROJECT / "src/shoal/models/exact.py").read_text(encoding="utf-8")
    mutants = mutants_of("exact.py", source)
    before = ast.unparse(ast.parse(source))
    made = [mutated(source, mutant.number) for mutant in mutants]
    assert len(made) > 50
    assert before not in made
    assert all(ast.parse(text) for text in made)


def test_what_is_changed_and_its_tests_are_there() -> None:
    for target, tests in TESTS_OF.items():
        assert (PROJECT / target).is_dir()
        assert all((PROJECT / test).is_dir() for test in tests)


CODE = """
LEAST = 3

def enough(n):
    return n >= LEAST

def never():
    return 1

def weak(n):
    return n + 1

def count(n):
    found = 0
    while n > 0:
        n -= 1
        found += 1
    return found
"""
TESTS = """
from small.code import count, enough, weak

def test_enough():
    assert enough(3) and not enough(2)

def test_weak():
    weak(1)

def test_count():
    assert count(4) == 4
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project with a good test, a bad one, and code that no test runs."""
    project = tmp_path / "project"
    (project / "src/small").mkdir(parents=True)
    (project / "tests").mkdir()
    (project / "src/small/__init__.py").write_text("")
    (project / "src/small/code.py").write_text(CODE)
    (project / "tests/test_code.py").write_text(TESTS)
    (project / "pytest.ini").write_text("[pytest]\nmarkers =\n    data\n    slow\n")
    return project


RUN = """
import json, math, sys
from pathlib import Path
import tools.mutate as tool
tool.LEAST_SECONDS = 2
project, folder = Path(sys.argv[1]), Path(sys.argv[2])
bench = tool.Bench(project, {"src/small": ("tests",)}, folder)
watched = bench.watched(folder / "lines.json")
found = [m for path in bench.files() for m in tool.mutants_of(path, (project / path).read_text())]
wanted = json.loads(sys.argv[3])
found = [m for m in found if m.place.partition("code.py:")[2] in wanted]
results = [(m.place.partition("code.py:")[2], how) for m, how in tool.try_mutants(bench, found, watched, math.inf)]
print(json.dumps(results))
"""


@pytest.mark.long
def test_good_tests_kill_and_bad_ones_do_not(small: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    before = (small / "src/small/code.py").read_text()
    expected = {
        "2:9: 3 -> 4": "killed",
        "5:12: n >= LEAST -> n > LEAST": "killed",
        "8:5: return 1 -> return None": "not reached",
        "11:12: n + 1 -> n - 1": "survived",
        "16:9: n -= 1 -> pass": "timed out",
    }
    run = [sys.executable, "-c", RUN, str(small), str(tmp_path / "copy"), json.dumps(list(expected))]
    done = subprocess.run(run, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert dict(json.loads(done.stdout.splitlines()[-1])) == expected
    assert (small / "src/small/code.py").read_text() == before


def test_a_file_that_notes_does_what_it_did() -> None:
    source = (
        "def f(n):\n    if n:\n        return 1\n    try:\n        g()\n    except E:\n        pass\n    return 2\n"
    )
    text = noting("a.py", source)
    seen: list[str] = []
    names: dict[str, object] = {"E": ZeroDivisionError, "g": lambda: 1 / 0}
    exec(text, names)
    import builtins

    builtins.ran = seen.append  # type: ignore[attr-defined]
    try:
        assert (names["f"](1), names["f"](0)) == (1, 2)  # type: ignore[operator]
    finally:
        del builtins.ran  # type: ignore[attr-defined]
    assert seen == ["a.py:2", "a.py:3", "a.py:2", "a.py:4", "a.py:5", "a.py:7", "a.py:8"]


def test_only_tests_that_run_the_statement_are_taken_quick_ones_first() -> None:
    found = mutants_of("a.py", "LEAST = 3\ndef f(n):\n    return (n +\n        1)\n")
    outside, inside = found[0], found[-1]
    assert (outside.line, inside.line, inside.statement) == (1, 4, 3)
    watched = {
        "slow": {"seconds": 2.0, "lines": ["a.py:3"]},
        "quick": {"seconds": 1.0, "lines": ["a.py:3", "b.py:9"]},
        "other": {"seconds": 0.1, "lines": ["b.py:3"]},
        "near": {"seconds": 0.1, "lines": ["a.py:7"]},
        "looks": {"seconds": 0.2, "lines": []},
    }
    assert choose_tests(inside, watched) == ["quick", "slow"]
    assert choose_tests(outside, watched) == ["near", "looks", "quick", "slow"]


def test_the_score_counts_hanging_as_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    results = [{"place": "a", "outcome": how} for how in ("killed", "killed", "timed out", "survived")]
    assert report(results, 5, 0.75) == 0
    assert "4 of 5 run: 2 killed, 1 survived, 1 timed out, 0 not reached" in capsys.readouterr().out
    assert report(results, 5, 0.76) == 1
    assert report([], 5, 0.0) == 1


def test_the_bench_is_a_copy(small: Path, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    bench = Bench(small, {"src/small": ("tests",)}, tmp_path / "copy")
    bench.put("src/small/code.py", "x = 1\n")
    assert (small / "src/small/code.py").read_text() == CODE
    assert list(try_mutants(bench, [], {}, 0.0)) == []
