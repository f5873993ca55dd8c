"""Types that help: mypy refuses a name or an option that does not exist, and knows the frame that comes out."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import shoal
from shoal.grouping import METHODS
from shoal.masking import MASKS
from shoal.options import Options
from shoal.parts import MaskName, MethodName

START = """import polars as pl
import shoal

frame = pl.DataFrame()
schema = shoal.Schema(quasi=["age"])
models = [shoal.GBalance(g=0.5)]
"""

RIGHT = """
release = shoal.protect(frame, schema, models, method="balance-tree", effort="high", mask="range", code_extremes=True)
rows: int = release.data.height
shoal.protect(frame, schema, models, method=shoal.methods.BalanceTree(cut="median"), mask=shoal.masks.Range())
shoal.protect(frame, shoal.Policy.of(schema, models, method=shoal.methods.Mdav(m=5)))
shoal.tune(frame, schema, models, targets={"max_gidr": 0.1}, effort="low")
shoal.compare(frame, schema, models, methods=["mdav", shoal.methods.Mondrian()])
name: str = "of-somebody-else"
shoal.protect(frame, schema, models, method=shoal.methods.METHODS.made(name, n=3), mask=shoal.masks.MASKS.made(name))
holds: bool = shoal.verify(release.data, schema, models, mask="range").holds
try:
    shoal.assess(frame, schema)
except shoal.errors.ShoalError as error:
    hint: str | None = error.hint
"""

WRONG = [
    'shoal.protect(frame, schema, models, effor="high")',
    'shoal.protect(frame, schema, models, effort="hihg")',
    'shoal.protect(frame, schema, models, method="balance-three")',
    'shoal.protect(frame, schema, models, mask="ranges")',
    "shoal.protect(frame, schema, models, mask=name)",
    "shoal.protect(frame, schema, models, max_suppressed=[5])",
    "shoal.protect(frame, schema, models).data.no_such_method()",
    'shoal.Schema(quasi="age")',
    'shoal.Schema(quasi=["age"], sensitive="disease")',
    'shoal.methods.BalanceTree(cut="middle")',
    'shoal.methods.Mdav(cut="median")',
    'shoal.masks.Perturb(noise="loud")',
    'shoal.tune(frame, schema, models, targets={}, effor="low")',
    "shoal.GBalance(k=2)",
    "shoal.ShoalError",
]


@pytest.mark.long
def test_mypy_takes_what_is_right_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    lines = [*START.splitlines(), *RIGHT.splitlines()]
    first = len(lines) + 1
    (tmp_path / "snippets.py").write_text("\n".join([*lines, *WRONG]) + "\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", "--follow-imports=silent",
         "--config-file", str(Path(__file__).parents[2] / "pyproject.toml"), str(tmp_path / "snippets.py")],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    refused = {int(line.split(":")[1]) for line in ran.stdout.splitlines() if "error:" in line}
    assert refused == set(range(first, first + len(WRONG))), ran.stdout + ran.stderr


def test_the_options_are_those_of_the_methods_and_masks() -> None:
    of_parts: dict[str, set[object]] = {}
    for part in (*METHODS.values(), *MASKS.values()):
        types = get_type_hints(part)
        for field in fields(part):  # type: ignore[arg-type]
            of_parts.setdefault(field.name, set()).add(types[field.name])
    assert {name: {kind} for name, kind in get_type_hints(Options).items()} == of_parts


def test_the_names_are_those_of_the_registries() -> None:
    assert (set(get_args(MethodName)), set(get_args(MaskName))) == (set(METHODS), set(MASKS))


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(shoal.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("function", [shoal.protect, shoal.tune])
def test_help_names_every_parameter(function: object) -> None:
    import inspect

    words = inspect.getdoc(function) or ""
    named = [name for name in inspect.signature(function).parameters if name != "options"]  # type: ignore[arg-type]
    assert [name for name in (*named, *Options.__annotations__) if name not in words] == []
