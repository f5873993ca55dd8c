"""How the house is built: packages, lines, imports between packages, probes of parts, long functions, protect's way.

`python -m tools.house` prints a table; `--json` one object, to be kept beside an earlier one.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "shoal"
PARTS = re.compile(r"mask|method|model|attack")
CONTRACTS = frozenset({"Model", "Method", "Mask", "Attack", "Format"})
FOLDERS_OF_PARTS = ("models", "grouping", "masking", "attacking")
LONGEST = 80


def main() -> None:
    """Print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on one line")
    counted = count_house(SOURCE)
    if parser.parse_args().json:
        print(json.dumps(counted))
        return
    for name, value in counted.items():
        print(f"{name:44} {len(value) if isinstance(value, list) else value:>8}")
        if isinstance(value, list):
            print("".join(f"    {entry}\n" for entry in value), end="")


def count_house(source: Path) -> dict[str, int | list[str]]:
    """Everything that can be counted of the code in a folder."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py"))}
    packages = sorted(path.name for path in source.iterdir() if (path / "__init__.py").is_file())
    crossing = [pair for path, tree in trees.items() for pair in _imports_between(path, tree, source)]
    concrete = _concrete_parts(trees, source)
    return {
        "packages": len(packages),
        "files": len(trees),
        "lines": sum(len(path.read_text(encoding="utf-8").splitlines()) for path in trees),
        "imports between packages": len(crossing),
        "pairs of packages that import": len(set(crossing)),
        "probes of parts by getattr or hasattr": _places(trees, source, _is_probe),
        "isinstance of concrete parts elsewhere": [
            place for path, tree in trees.items() for place in _isinstance_of(path, tree, source, concrete)
        ],
        f"functions over {LONGEST} lines": list(_long_functions(trees, source)),
        "files passed on the way of protect": files_passed_by_protect(),
    }


def files_passed_by_protect() -> int:
    """How many files of the library run a function while 19 records are protected, without a report."""
    import shoal
    from shoal.demo.clinics import clinics

    frame = clinics()
    schema = shoal.Schema(person="name", quasi=["age", "gender", "zip"], sensitive=["disease"], dropped=["admission"])
    models = [shoal.GBalance(g=0.5), shoal.HAffiliation(h=0.5)]
    shoal.protect(frame, schema, models, seed=7)  # so that what is imported on the way does not count
    seen: set[str] = set()

    def note(frame: object, event: str, argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)  # type: ignore[attr-defined]

    sys.setprofile(note)
    try:
        shoal.protect(frame, schema, models, seed=7)
    finally:
        sys.setprofile(None)
    return len({name for name in seen if name.startswith(str(SOURCE)) and "/kernels/" not in name})


def _package_of(path: Path, source: Path) -> str:
    inside = path.relative_to(source).parts
    return inside[0] if len(inside) > 1 else path.stem


def _imports_between(path: Path, tree: ast.Module, source: Path) -> Iterator[tuple[str, str]]:
    own = _package_of(path, source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("shoal."):
            other = node.module.split(".")[1]
            if other != own:
                yield own, other


def _is_probe(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and bool(node.args)
        and PARTS.search(ast.unparse(node.args[0])) is not None
    )


def _places(trees: dict[Path, ast.Module], source: Path, is_one: object) -> list[str]:
    return [
        f"{path.relative_to(source)}:{node.lineno}"  # type: ignore[attr-defined]
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if is_one(node)  # type: ignore[operator]
    ]


def _concrete_parts(trees: dict[Path, ast.Module], source: Path) -> dict[str, str]:
    """The classes of models, methods, masks and attacks (those with a name for users), and their folders."""
    found = {}
    for path, tree in trees.items():
        package = _package_of(path, source)
        for node in tree.body:
            if package in FOLDERS_OF_PARTS and isinstance(node, ast.ClassDef) and node.name not in CONTRACTS:
                said = [each for each in node.body if isinstance(each, ast.AnnAssign) and each.value is not None]
                if any(ast.unparse(each.target) == "name" for each in said):
                    found[node.name] = package
    return found


def _isinstance_of(path: Path, tree: ast.Module, source: Path, concrete: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            named = set(re.findall(r"\w+", ast.unparse(node.args[1]))) & concrete.keys()
            if any(concrete[name] != _package_of(path, source) for name in named):
                yield f"{path.relative_to(source)}:{node.lineno}"


def _long_functions(trees: dict[Path, ast.Module], source: Path) -> Iterator[str]:
    for path, tree in trees.items():
        if _package_of(path, source) == "kernels":
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            n_lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if n_lines > LONGEST and not any("click.command" in ast.unparse(each) for each in node.decorator_list):
                yield f"{path.relative_to(source)}:{node.name} ({n_lines})"


if __name__ == "__main__":
    main()
