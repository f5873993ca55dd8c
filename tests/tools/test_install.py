"""What `make dist` builds is installed and used where there is nothing but Python and what shoal asks for."""

from __future__ import annotations

import json
import os
import subprocess
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from shoal.demo.clinics import ten_records
from tools import dist
from tools.lock import built_with, parts_of, read_lock

pytestmark = pytest.mark.long

RUNS = {name for name, part in parts_of(read_lock()).items() if part == "shoal"} | built_with()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return dist.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the packages that shoal needs to run, linked from those at hand, and no others."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder, with_pip=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    for old in [*site.glob("setuptools*"), *site.glob("pkg_resources")]:
        old.rename(folder / old.name)
    for name in RUNS:
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another platform
        for top in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(package.locate_file(top))))
    return folder


def run(clean: Path, *command: object, cwd: Path) -> str:
    """Run a command of the environment in a folder; nothing else is on the path."""
    program, *arguments = map(str, command)
    told = {"PATH": str(clean / "bin"), "HOME": str(clean), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    done = subprocess.run(
        [clean / "bin" / program, *arguments], cwd=cwd, env=told, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_ten_records_are_protected_and_verified_by_the_wheel(built: list[Path], clean: Path, tmp_path: Path) -> None:
    run(clean, "python", "-m", "pip", "install", "--no-compile", built[0], cwd=tmp_path)
    ten_records().write_csv(tmp_path / "ten.csv")
    roles = ["--person", "person", "--quasi", "age,zip", "--sensitive", "disease"]
    made = json.loads(
        run(clean, "shoal", "protect", "ten.csv", *roles, "--person-k", "2", "-o", "out", "--json", cwd=tmp_path)
    )
    assert (made["records"], made["persons"], made["groups"]) == (10, 6, 1)
    seen = json.loads(run(clean, "shoal", "verify", "out", "--json", cwd=tmp_path))
    assert seen["verdict"]["holds"]
    where = run(clean, "python", "-c", "import shoal; print(shoal.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(clean)


def test_the_source_archive_installs_the_files_of_the_wheel(built: list[Path], clean: Path, tmp_path: Path) -> None:
    wheel, sdist, _ = built
    options = ["--no-compile", "--no-deps", "--no-build-isolation", "--target", tmp_path / "there"]
    run(clean, "python", "-m", "pip", "install", *options, sdist, cwd=tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        expected = {name for name in archive.namelist() if name.startswith("shoal/")}
    there = {path.relative_to(tmp_path / "there").as_posix() for path in (tmp_path / "there/shoal").rglob("*.*")}
    assert there == expected
