"""The layout tells the story, and imports point one way: doors, pipeline, stages, things, kernels."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tools.lock import LOCKS

PROJECT = Path(__file__).resolve().parent.parent
SOURCE = PROJECT / "src"

# From the doors down. A part imports only parts that stand below it; those on one line may import each other, but
# not in a circle. A later stage may take what an earlier one made. A folder inside a package stands on a line of its
# own where it is built on more than the package is, or is built on by more.
LAYOUT = [
    {"cli", "web", "__main__"},
    {"demo", "testing"},
    {"shoal", "methods", "masks"},  # the public names
    {"measuring.tuning", "publishing.later", "publishing.related"},
    {"pipeline"},
    {"engines"},
    {"publishing.ledger"},
    {"publishing"},
    {"publishing.report"},
    {"attacking"},
    {"measuring"},
    {"judging"},
    {"policy.explain"},
    {"masking"},
    {"grouping"},
    {"reading"},
    {"judging.observation"},
    {"table", "models", "policy", "attacking.mining"},
    {"kernels"},
    {"threads"},
    {"errors", "options", "parts", "progress", "registry", "short"},
]
LEVEL_OF_PART = {part: level for level, parts in enumerate(LAYOUT) for part in parts}
DOORS = {"cli", "web", "__main__"}
EXTRAS = ("shoal.web", "shoal.engines.spark")

OPTIONAL = {
    "adbc_driver_manager",
    "adbc_driver_postgresql",
    "adbc_driver_sqlite",
    "altair",
    "duckdb",
    "fastapi",
    "fastexcel",
    "nicegui",
    "opendp",
    "pandas",
    "pyarrow",
    "pyreadstat",
    "pyspark",
    "uvicorn",
    "vl_convert",
    "xlsxwriter",
}


class Import(NamedTuple):
    """One import statement: who imports what, where, and whether it runs as soon as the file is imported."""

    importer: str
    target: str
    place: str
    is_eager: bool


def source_files() -> list[Path]:
    return sorted((SOURCE / "shoal").rglob("*.py"))


def part_of(module: str) -> str:
    """The part that a dotted name belongs to, the closest that has a line; the package itself is 'shoal'."""
    names = module.split(".")[1:]
    inside = (".".join(names[:length]) for length in range(len(names), 0, -1))
    return next((part for part in inside if part in LEVEL_OF_PART), names[0] if names else "shoal")


def module_of(path: Path) -> str:
    names = list(path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def is_module(dotted: str) -> bool:
    path = SOURCE.joinpath(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def targets_of(node: ast.Import | ast.ImportFrom, path: Path) -> list[str]:
    """The dotted names of the modules that a statement imports; `from shoal import errors` is shoal.errors."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        package = path.relative_to(SOURCE).parts[: -node.level]
        base = ".".join([*package, *([node.module] if node.module else [])])
    return [full if is_module(full := f"{base}.{alias.name}") else base for alias in node.names]


def nodes_run_on_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Everything outside functions and outside `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from nodes_run_on_import(child)


def imports_in(path: Path) -> list[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    eager = {id(node) for node in nodes_run_on_import(tree)}
    return [
        Import(module_of(path), target, f"{path.relative_to(PROJECT)}:{node.lineno}", id(node) in eager)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets_of(node, path)
    ]


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [found for path in source_files() for found in imports_in(path)]


def is_ours(found: Import) -> bool:
    return found.target.split(".")[0] == "shoal"


def said(statements: list[Import]) -> str:
    return "\n".join(f"{found.place}: {found.importer} imports {found.target}" for found in statements)


def test_the_map_for_contributors_shows_every_folder() -> None:
    names = [path.relative_to(PROJECT).as_posix() for path in project_files()]
    shoals = {name.removeprefix("src/shoal/").rpartition("/")[0] for name in names if name.startswith("src/shoal/")}
    tops = {name.partition("/")[0] for name in names if "/" in name} - {"src"}
    assert {"models", "engines/stream"} <= shoals
    assert {"docs", "tests"} <= tops
    text = (PROJECT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    missing = sorted(name for name in {*shoals, *tops} - {""} if f"| `{name}` |" not in text)
    assert not missing, f"CONTRIBUTING.md's map does not show: {missing}"


def test_every_part_has_a_place_in_the_layout() -> None:
    parts = {part_of(module_of(path)) for path in source_files()}
    assert parts, "no source was found: the other tests of this file would hold for nothing"
    assert parts <= LEVEL_OF_PART.keys(), f"give them a place in LAYOUT: {sorted(parts - LEVEL_OF_PART.keys())}"


def test_imports_point_one_way(imports: list[Import]) -> None:
    upward = [
        found
        for found in imports
        if is_ours(found)
        and part_of(found.target) in LEVEL_OF_PART
        and LEVEL_OF_PART[part_of(found.target)] < LEVEL_OF_PART[part_of(found.importer)]
    ]
    assert not upward, said(upward)


def test_no_two_parts_import_each_other(imports: list[Import]) -> None:
    below = {part: set() for part in LEVEL_OF_PART}
    for found in imports:
        if is_ours(found) and part_of(found.target) != part_of(found.importer):
            below[part_of(found.importer)].add(part_of(found.target))
    while leaves := [part for part, parts in below.items() if not parts & below.keys()]:
        for part in leaves:
            del below[part]
    assert not below, f"these parts import each other in a circle: {sorted(below)}"


def test_kernels_import_only_numpy_and_numba(imports: list[Import]) -> None:
    allowed = {"numpy", "numba", "shoal", *sys.stdlib_module_names}
    strangers = [
        found
        for found in imports
        if part_of(found.importer) == "kernels"
        and (found.target.split(".")[0] not in allowed or (is_ours(found) and part_of(found.target) != "kernels"))
    ]
    assert not strangers, said(strangers)


def test_numba_is_imported_only_in_kernels(imports: list[Import]) -> None:
    strangers = [
        found for found in imports if found.target.split(".")[0] == "numba" and part_of(found.importer) != "kernels"
    ]
    assert not strangers, said(strangers)


def test_optional_packages_are_imported_only_when_used(imports: list[Import]) -> None:
    eager = [
        found
        for found in imports
        if found.is_eager
        and not found.importer.startswith(EXTRAS)
        and (found.target.split(".")[0] in OPTIONAL or found.target.startswith(EXTRAS))
    ]
    assert not eager, said(eager)


def test_errors_are_importable_from_everywhere() -> None:
    heard_of = [found for found in imports_in(SOURCE / "shoal" / "errors.py") if is_ours(found)]
    assert not heard_of, said(heard_of)


def test_the_command_line_starts_without_what_it_may_not_need() -> None:
    heavy = [
        "altair",
        "narwhals",
        "nicegui",
        "numba",
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "pydantic",
        "rich",
        "scipy",
    ]
    program = f"import sys, shoal.cli.main; print(*(name for name in {heavy} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


def test_only_the_command_line_prints() -> None:
    prints = [
        f"{path.relative_to(PROJECT)}:{node.lineno}"
        for path in source_files()
        if part_of(module_of(path)) != "cli"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not prints, f"the library raises or returns, it does not print: {prints}"


# What tells where the project was made. Written such that the patterns do not match themselves.
TELLTALES = re.compile(
    r"(?<![\w.~])/(?:wor[k]|tm[p]|roo[t]|hom[e]|User[s]|op[t])/"
    r"|py[p]i\.org|python[h]osted|anacond[a]\.org|npmj[s]\.|artifactor[y]|/simpl[e]/"
    r"|--(?:extra-)?inde[x]-url|--find-link[s]\b",
)


def project_files() -> list[Path]:
    """The files that are or would be committed; where git does not say, all that no build or tool has made."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        return [path for name in listed.stdout.decode().split("\0") if name and (path := PROJECT / name).is_file()]
    made = {"__pycache__", "build", "dist", "site", "demo-out"}
    return [
        path
        for path in PROJECT.rglob("*")
        if path.is_file()
        and not any(
            name in made or name.endswith(".egg-info") or (name.startswith(".") and name not in {".ci", ".gitignore"})
            for name in path.relative_to(PROJECT).parts
        )
    ]


def lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:  # not a text
        return []


def test_no_file_tells_where_it_was_made() -> None:
    files = project_files()
    assert PROJECT / "pyproject.toml" in files
    telling = [
        f"{path.relative_to(PROJECT)}:{number}"
        for path in files
        for number, line in enumerate(lines_of(path), start=1)
        if TELLTALES.search(line)
    ]
    assert not telling, f"a machine's path or a package registry is named in: {telling}"


@pytest.mark.parametrize("name", [*LOCKS, "pyproject.toml", "Makefile", ".ci/run"])
def test_installing_names_no_address(name: str) -> None:
    addressed = [number for number, line in enumerate(lines_of(PROJECT / name), start=1) if "://" in line]
    assert not addressed, f"{name} names an address on lines {addressed}"


def test_every_locked_package_has_a_hash() -> None:
    lines = [line for name in LOCKS for line in lines_of(PROJECT / name)]
    locked = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    entries = re.split(r"\n(?=\w)", locked.strip())
    unhashed = [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry]
    assert len(entries) > 10
    assert not unhashed
