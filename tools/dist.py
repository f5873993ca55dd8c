"""What is handed out of shoal itself: wheel, source archive and parts list, in dist/.

Run as `make dist`. Nothing is fetched: the build backend is in the lock. The parts list stands beside the packages and
inside the wheel, under .dist-info/sboms, where PEP 770 has it.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.lock import LOCKS, PROJECT, project
from tools.sbom import written

SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "SECURITY.md", *LOCKS)
WHEN = (1980, 1, 1, 0, 0, 0)
"""The time that files in the wheel have, so that the same sources give the same wheel."""
NOT_PACKED = shutil.ignore_patterns("*.egg-info", "__pycache__")


def build(target: Path) -> list[Path]:
    """Build everything into a folder; gives the files."""
    target.mkdir(parents=True, exist_ok=True)
    list_of_parts = target / f"shoal-{project()['version']}.cdx.json"
    list_of_parts.write_text(written(), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="shoal-dist-") as folder:
        copy = Path(folder) / "shoal"
        copy_sources(copy)
        wheel, sdist = run_backend(copy, target)
    put_into_wheel(wheel, list_of_parts)
    return [wheel, sdist, list_of_parts]


def copy_sources(copy: Path) -> None:
    """The sources in a folder of their own, which the backend may litter."""
    copy.mkdir()
    for name in SOURCES:
        source = PROJECT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=NOT_PACKED)
        else:
            shutil.copy2(source, copy / name)
    (copy / "MANIFEST.in").write_text(f"include CHANGELOG.md SECURITY.md {' '.join(LOCKS)}\n", encoding="utf-8")


BUILD = """
import sys
from setuptools import build_meta
target = sys.argv[1]  # setuptools writes over the arguments
print(build_meta.build_wheel(target), build_meta.build_sdist(target), file=sys.stderr)
"""
"""Run in a process of its own: setuptools refuses one that has loaded Python's own distutils, as some libraries do."""


def run_backend(copy: Path, target: Path) -> tuple[Path, Path]:
    """Wheel and source archive as setuptools makes them."""
    done = subprocess.run([sys.executable, "-c", BUILD, target.resolve()], cwd=copy, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"setuptools could not build shoal:\n{done.stderr}")
    wheel, sdist = done.stderr.split()[-2:]
    return target / wheel, target / sdist


def put_into_wheel(wheel: Path, list_of_parts: Path) -> None:
    """Add the parts list to a wheel and to its record; files stand in one order, with one time."""
    with zipfile.ZipFile(wheel) as old:
        content = {name: old.read(name) for name in old.namelist() if not name.endswith("/")}
    record = next(name for name in content if name.endswith(".dist-info/RECORD"))
    place = f"{record.rsplit('/', 1)[0]}/sboms/{list_of_parts.name}"
    content[place] = list_of_parts.read_bytes()
    lines = content.pop(record).decode().splitlines()
    content[record] = "".join(
        f"{line}\n" for line in [*lines[:-1], line_of_record(place, content[place]), lines[-1]]
    ).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as new:
        for name in [*sorted(name for name in content if name != record), record]:
            entry = zipfile.ZipInfo(name, WHEN)
            entry.external_attr = 0o644 << 16
            new.writestr(entry, content[name], zipfile.ZIP_DEFLATED)


def line_of_record(place: str, content: bytes) -> str:
    """How RECORD notes a file."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{place},sha256={digest},{len(content)}"


def main() -> None:
    for path in build(Path(sys.argv[1]) if len(sys.argv) > 1 else PROJECT / "dist"):
        print(f"{path.name}  {path.stat().st_size:,} bytes  sha256 {hashlib.sha256(path.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
