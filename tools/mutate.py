"""Break the code on purpose, a little at a time, and see whether a test notices.

Run as `python -m tools.mutate --sample 300 --seed 1`. Each mutant is one small change (a comparison flipped, a number
off by one, a statement gone) in a copy of src in a temporary folder; the tests that run the changed statement are run
against the copy. A mutant that no test notices survives: a test is missing, or the change means nothing. What is
found is printed, and kept in build/mutation for a next run to start from.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parent.parent
TESTS_OF = {"src/shoal/models": ("tests/models",), "src/shoal/measuring": ("tests/measuring",)}
"""What is changed, and where tests for it are looked for; which of them run a changed statement is found out by running
them once and watching."""
EXAMPLES = 20
"""How many examples Hypothesis draws for each test, always the same ones, so that a run can be repeated."""
ALL_EXAMPLES = 1_000_000
"""What survives a few examples is tried with as many as its tests ask for."""
LEAST_SECONDS = 20
"""What a mutant may always use of CPU time; more where its tests take longer unbroken."""
WAITED = 15
"""How many times its CPU time a mutant may take by the clock, on a busy machine, before it counts as hanging."""

NEIGHBOURS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
OPPOSITES = {"min": "max", "minimum": "maximum", "any": "all", "floor": "ceil", "zeros": "ones"}
OPPOSITES |= {second: first for first, second in OPPOSITES.items()}
TYPES = ("int", "float", "str", "bool", "bytes", "list", "tuple", "dict", "set", "frozenset", "date")
NEUTRAL = {
    "bool": ("True", "False"),
    "int": ("0",),
    "float": ("0.0",),
    "str": ("''",),
    "BoolArray": ("({}) | True", "({}) & False"),
    "IntArray": ("({}) * 0",),
    "FloatArray": ("({}) * 0",),
}
"""What a function with this annotation may return instead; others return None."""


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what it was, and what it became."""

    path: str
    line: int
    column: int
    change: str
    number: int
    """The how manieth change of the file it is."""
    statement: int
    """The line on which the statement begins that the change lies in."""
    function: str | None
    """The function in whose body the change lies; None where it takes effect when the file is imported."""

    @property
    def place(self) -> str:
        """The line and the change, as a listing shows it."""
        return f"{self.path}:{self.line}:{self.column}: {self.change}"


# --- which changes there are ------------------------------------------------------------------------------------------


class Node:
    """A node of a syntax tree with where it hangs, so that it can be exchanged and put back."""

    def __init__(
        self, node: ast.AST, parent: ast.AST, field: str, index: int | None, functions: tuple[Any, ...], statement: int
    ):
        self.node, self.parent, self.field, self.index = node, parent, field, index
        self.functions, self.statement = functions, statement

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Every change of a file, in the order of its lines."""
    mutants = []
    for number, (place, new) in enumerate(_all_changes(ast.parse(source))):
        at: Any = place.node
        change = f"{_short(ast.unparse(at))} -> {_short(ast.unparse(new))}"
        function = place.functions[-1].name if place.functions else None
        mutants.append(Mutant(path, at.lineno, at.col_offset + 1, change, number, place.statement, function))
    return sorted(mutants, key=lambda mutant: (mutant.line, mutant.column, mutant.number))


def mutated(source: str, number: int) -> str:
    """A file with one of its changes made."""
    tree = ast.parse(source)
    place, new = next(itertools.islice(_all_changes(tree), number, None))
    place.put(ast.fix_missing_locations(ast.copy_location(new, place.node)))
    return ast.unparse(tree)


def _all_changes(tree: ast.AST) -> Iterator[tuple[Node, ast.AST]]:
    for place in _nodes(tree, ()):
        for new in _changes(place):
            if ast.dump(new) != ast.dump(place.node):
                yield place, new


def _nodes(node: ast.AST, functions: tuple[Any, ...], statement: int = 1) -> Iterator[Node]:
    """All nodes below one whose change can be noticed: no annotations, no words of messages, no docstrings."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases", "keywords") and not isinstance(node, ast.Call):
            continue
        is_body = isinstance(node, ast.FunctionDef | ast.Lambda) and field == "body"
        inside = (*functions, node) if is_body and isinstance(node, ast.FunctionDef) else functions
        children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        for index, child in children:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                begins = child.lineno if isinstance(child, ast.stmt) else statement
                yield Node(child, node, field, index, inside, begins)
                if not isinstance(child, ast.Raise | ast.JoinedStr):
                    yield from _nodes(child, inside, begins)


def _is_left_alone(node: ast.AST) -> bool:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    is_names = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    is_alias = isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and not _has_call(node.value)
    is_type = is_alias and ast.unparse(node.targets[0])[:1].isupper() and not ast.unparse(node.targets[0]).isupper()
    return is_docstring or is_for_types or is_names or is_type or isinstance(node, ast.Import | ast.ImportFrom)


def _has_call(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Call) for inner in ast.walk(node))


def _changes(place: Node) -> Iterator[ast.AST]:
    """What a node may become."""
    node = place.node
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            for other in NEIGHBOURS[type(op)]:
                yield ast.Compare(node.left, [*node.ops[:at], other(), *node.ops[at + 1 :]], node.comparators)
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node.value)
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node) and not _is_union(node):
        yield ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        yield node.operand
    elif isinstance(node, ast.Name) and node.id in OPPOSITES:
        yield ast.Name(OPPOSITES[node.id], node.ctx)
    elif isinstance(node, ast.Attribute) and node.attr in OPPOSITES:
        yield ast.Attribute(node.value, OPPOSITES[node.attr], node.ctx)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield from _other_returns(node, place.functions)
    elif isinstance(node, ast.stmt) and _is_removable(node):
        yield ast.Pass()


def _other_constants(value: object) -> Iterator[ast.AST]:
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)


def _is_text(node: ast.BinOp) -> bool:
    return any(isinstance(side, ast.JoinedStr) or _is_string(side) for side in (node.left, node.right))


def _is_union(node: ast.BinOp) -> bool:
    """Whether it says which types something may have."""
    leaves = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id != "np"]
    return isinstance(node.op, ast.BitOr) and not any(
        leaf.id.isupper() or (leaf.id[0].islower() and leaf.id not in TYPES) for leaf in leaves
    )


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _other_returns(node: ast.Return, functions: tuple[Any, ...]) -> Iterator[ast.AST]:
    annotation = functions[-1].returns if functions else None
    forms = NEUTRAL.get(ast.unparse(annotation) if annotation else "", ("None",))
    assert node.value is not None
    for form in forms:
        yield ast.Return(ast.parse(form.format(ast.unparse(node.value)), mode="eval").body)


def _is_removable(node: ast.stmt) -> bool:
    """Whether a statement can go without a name being missing afterwards, which any test would notice."""
    if isinstance(node, ast.If):
        return not node.orelse
    if isinstance(node, ast.Assign):
        return not isinstance(node.targets[0], ast.Name | ast.Tuple)
    return isinstance(node, ast.Expr | ast.AugAssign | ast.Raise | ast.Continue | ast.Break)


def _short(code: str) -> str:
    line = " ".join(code.split())
    return line if len(line) <= 70 else f"{line[:67]}..."


# --- which tests run which line ---------------------------------------------------------------------------------------


def noting(path: str, source: str) -> str:
    """A file that notes each statement that runs, by calling what a watching process has put among the builtins."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(node, field, None)
            if isinstance(statements, list) and isinstance(node, ast.stmt | ast.excepthandler):
                inside = isinstance(node, ast.ClassDef)
                setattr(node, field, statements if inside else _noted(path, statements))
    return ast.unparse(ast.fix_missing_locations(tree))


def _noted(path: str, statements: list[ast.stmt]) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for statement in statements:
        place = f"{path}:{statement.lineno}"
        found += [ast.parse(f"__import__('builtins').__dict__.get('ran', len)({place!r})").body[0], statement]
    return found


class Watch:
    """A plugin of pytest that notes which statements of the targets each test runs, and what CPU time it takes."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}
        self.seen: set[str] = set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        import builtins

        self.seen = set()
        builtins.ran = self.seen.add  # type: ignore[attr-defined]
        self.started = time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.found[nodeid] = {"seconds": time.process_time() - self.started, "lines": sorted(self.seen)}

    def finish(self, folder: Path) -> None:
        (folder / "watched.json").write_text(json.dumps(self.found), encoding="utf-8")


class Same:
    """A plugin of pytest that lets Hypothesis draw a few examples, always the same, and not look for smaller ones."""

    def __init__(self, most: int):
        self.most = most

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        from hypothesis import HealthCheck, Phase, settings

        for item in items:
            function = getattr(item, "obj", None)
            function = getattr(function, "__func__", function)
            own = getattr(function, "_hypothesis_internal_use_settings", None)
            if own is not None:
                function._hypothesis_internal_use_settings = settings(
                    own,
                    max_examples=min(self.most, own.max_examples),
                    derandomize=True,
                    database=None,
                    phases=(Phase.explicit, Phase.generate),
                    suppress_health_check=list(HealthCheck),
                    deadline=None,
                )


class Bench:
    """A copy of a project in a temporary folder, of which files are exchanged; tests run in children of it."""

    def __init__(self, project: Path, tests_of: dict[str, tuple[str, ...]], folder: Path):
        self.project, self.folder = project, folder
        self.targets = tuple(tests_of)
        self.tests = tuple(dict.fromkeys(test for tests in tests_of.values() for test in tests))
        shutil.copytree(project / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info"))
        os.environ.update(PYTHONPATH=str(folder / "src"), SHOAL_THREADS="1", HYPOTHESIS_PROFILE="shoal")
        for threads in ("OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
            os.environ[threads] = "1"

    def files(self) -> list[str]:
        """The files that are to be changed."""
        found = [path for target in self.targets for path in (self.project / target).rglob("*.py")]
        return sorted(path.relative_to(self.project).as_posix() for path in found)

    def test_files(self) -> list[str]:
        found = [path for place in self.tests for path in _test_files(self.project / place)]
        return sorted(path.relative_to(self.project).as_posix() for path in found)

    def run(
        self,
        tests: Sequence[str],
        *,
        seconds: float,
        plugins: Sequence[Any] = (),
        writes: bool = False,
        examples: int = EXAMPLES,
    ) -> int | None:
        """The exit code of pytest for some tests on the copy, or None where they took too long."""
        child = os.fork()
        if child == 0:
            self._be_tested(tests, seconds, plugins, writes, examples)
        started = time.monotonic()
        done = status = 0
        try:
            while not done and time.monotonic() - started < seconds * WAITED:
                time.sleep(0.02)
                done, status = os.waitpid(child, os.WNOHANG)
        finally:
            if not done:  # it hangs, or this process is told to end
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
        was_ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
        return None if was_ended else os.waitstatus_to_exitcode(status)

    def _be_tested(
        self, tests: Sequence[str], seconds: float, plugins: Sequence[Any], writes: bool, examples: int
    ) -> None:
        """What the child does; it never returns."""
        code = 70
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 5))
            sys.dont_write_bytecode = not writes
            sys.path.insert(0, str(self.folder / "src"))
            os.chdir(self.project)
            log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            import pytest

            options = [
                "-x",
                "-q",
                "--no-header",
                "-p",
                "no:cacheprovider",
                "-p",
                "no:xdist",
                "-m",
                "not data and not slow and not long",
            ]
            code = int(pytest.main([*options, *tests], plugins=[Same(examples), *plugins]))
            for plugin in plugins:
                plugin.finish(self.folder)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)

    def put(self, path: str, source: str) -> None:
        """Exchange a file of the copy; what Python compiled of it before is thrown away."""
        target = self.folder / path
        target.write_text(source, encoding="utf-8")
        for stale in (target.parent / "__pycache__").glob(f"{target.stem}.*.pyc"):
            stale.unlink()

    def watched(self, cache: Path) -> dict[str, dict[str, Any]]:
        """For every test the lines that it runs and the CPU time that it takes, from before where nothing changed."""
        known = json.loads(cache.read_text(encoding="utf-8")) if cache.exists() else {}
        own = [(self.project / path).read_bytes() for path in self.files()]
        shared = [path.read_bytes() for folder in self.tests for path in sorted((self.project / folder).glob("*.py"))
                  if not path.name.startswith("test_")]  # fmt: skip
        found: dict[str, Any] = {}
        for path in self.files():
            self.put(path, noting(path, (self.project / path).read_text(encoding="utf-8")))
        for test in self.test_files():
            text = (self.project / test).read_bytes()
            key = hashlib.sha256(b"\0".join([text, *own, *shared])).hexdigest()
            if known.get(test, {}).get("key") != key:
                print(f"watching {test}", flush=True)
                known[test] = {"key": key, "tests": self._watch(test)}
                spent = sum(entry["seconds"] for entry in known[test]["tests"].values())
                print(f"  {len(known[test]['tests'])} tests, {spent:.1f} s of CPU", flush=True)
                cache.parent.mkdir(parents=True, exist_ok=True)
                cache.write_text(json.dumps(known), encoding="utf-8")
            found |= known[test]["tests"]
        for path in self.files():
            self.put(path, (self.project / path).read_text(encoding="utf-8"))
        return found

    def _watch(self, test: str) -> dict[str, Any]:
        (self.folder / "watched.json").unlink(missing_ok=True)
        code = self.run([test], seconds=900, plugins=[Watch()], writes=True)
        if code not in (0, 5):
            raise SystemExit(f"{test} fails without any change:\n{(self.folder / 'log').read_text()[-2000:]}")
        return dict(json.loads((self.folder / "watched.json").read_text()))


def _test_files(place: Path) -> list[Path]:
    return list(place.rglob("test_*.py")) if place.is_dir() else [place]


def choose_tests(mutant: Mutant, watched: dict[str, Any]) -> list[str]:
    """The tests that run the changed line, quick ones first; more where importing the file is changed."""
    own = f"{mutant.path}:{mutant.statement}"

    def may_notice(lines: list[str]) -> bool:
        if mutant.function:
            return own in lines
        # A test that runs no statement of ours may still look at what importing gives, such as an attribute of a class.
        return not lines or any(line.startswith(f"{mutant.path}:") for line in lines)

    chosen = [name for name, entry in watched.items() if may_notice(entry["lines"])]
    return sorted(chosen, key=lambda name: watched[name]["seconds"])


# --- the run ----------------------------------------------------------------------------------------------------------


def try_mutants(
    bench: Bench, mutants: Sequence[Mutant], watched: dict[str, Any], until: float
) -> Iterator[tuple[Mutant, str]]:
    """Each mutant with what became of it: killed, survived, timed out, or not reached by any test."""
    for mutant in mutants:
        if time.monotonic() > until:
            return
        tests = choose_tests(mutant, watched)
        if not tests:
            yield mutant, "not reached"
            continue
        whole = (bench.project / mutant.path).read_text(encoding="utf-8")
        usual = sum(watched[test]["seconds"] for test in tests)
        bench.put(mutant.path, mutated(whole, mutant.number))
        code = bench.run(tests, seconds=LEAST_SECONDS + 5 * usual)
        if code == 0:  # perhaps for want of examples
            code = bench.run(tests, seconds=5 * LEAST_SECONDS + 50 * usual, examples=ALL_EXAMPLES)
        bench.put(mutant.path, whole)
        yield mutant, "timed out" if code is None else "survived" if code == 0 else "killed"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.mutate", description=__doc__.split("\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="how many mutants to draw; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10_000, help="when to stop; what was drawn first is run first")
    parser.add_argument("--only", default="", help="only mutants whose place begins with this, such as FILE:LINE")
    parser.add_argument("--tests", default="", help="files and folders of tests, with commas, in place of all")
    parser.add_argument("--again", type=Path, help="only those that were not killed according to this file of results")
    parser.add_argument("--out", type=Path, default=PROJECT / "build" / "mutation" / "results.json")
    parser.add_argument("--least", type=float, default=0.0, help="exit with 1 where a smaller share is killed")
    chosen = parser.parse_args(arguments)
    until = time.monotonic() + 60 * chosen.minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    import hypothesis  # noqa: F401  loaded before the children part, which then need not
    import numba  # noqa: F401
    import numpy as np  # noqa: F401
    import polars  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401

    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        asked = tuple(chosen.tests.split(",")) if chosen.tests else ()
        tests_of = {target: asked or tests for target, tests in TESTS_OF.items() if _meet(target, chosen.only)}
        bench = Bench(PROJECT, tests_of, Path(folder))
        everything = [
            mutant for path in bench.files()
            for mutant in mutants_of(path, (PROJECT / path).read_text(encoding="utf-8"))
        ]  # fmt: skip
        drawn = [mutant for mutant in everything if mutant.place.startswith(chosen.only)]
        if chosen.again:
            alive = {entry["place"] for entry in json.loads(chosen.again.read_text()) if entry["outcome"] != "killed"}
            drawn = [mutant for mutant in everything if mutant.place in alive]
        random.Random(chosen.seed).shuffle(drawn)
        drawn = drawn[: chosen.sample or None]
        print(
            f"{len(everything)} mutants in {len(bench.files())} files; {len(drawn)} drawn with seed {chosen.seed}",
            flush=True,
        )
        watched = bench.watched(chosen.out.parent / "lines.json")
        results = []
        for mutant, outcome in try_mutants(bench, drawn, watched, until):
            results.append({"place": mutant.place, "outcome": outcome})
            chosen.out.parent.mkdir(parents=True, exist_ok=True)
            chosen.out.write_text(json.dumps(results, indent=1), encoding="utf-8")
            if outcome != "killed":
                print(f"{outcome}: {mutant.place}", flush=True)
    return report(results, len(drawn), chosen.least)


def _meet(target: str, only: str) -> bool:
    """Whether mutants in a folder can have places that begin with a text."""
    return only.startswith(target) or target.startswith(only)


def report(results: Sequence[dict[str, str]], n_drawn: int, least: float) -> int:
    """Print the score; 1 where it is below what was asked."""
    outcomes = [result["outcome"] for result in results]
    noticed = outcomes.count("killed") + outcomes.count("timed out")
    parts = [f"{outcomes.count(name)} {name}" for name in ("killed", "survived", "timed out", "not reached")]
    print(f"{len(results)} of {n_drawn} run: {', '.join(parts)}")
    if not results:
        return 1
    print(f"noticed: {noticed / len(results):.1%}")
    return int(noticed / len(results) < least)


if __name__ == "__main__":
    sys.exit(main())
