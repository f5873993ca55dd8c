"""What shoal is built from is locked, listed, allowed, and in the parts list that goes along with it."""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
import tarfile
import warnings
import zipfile
from base64 import urlsafe_b64encode
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tools import dist, licences, sbom
from tools.lock import (
    ALLOWED,
    LOCKS,
    PROJECT,
    asked_for,
    blocks_of,
    built_with,
    licence_of,
    licences_in,
    parts_of,
    read_lock,
    split,
)

LOCK = read_lock()
PARTS = parts_of(LOCK)


# --- the lock ---------------------------------------------------------------------------------------------------------


def test_every_line_of_the_lock_is_read() -> None:
    text = "".join((PROJECT / name).read_text(encoding="utf-8") for name in LOCKS)
    assert len(LOCK) == len(re.findall(r"^[a-z0-9][^\s]*==", text, flags=re.MULTILINE))
    assert sum(len(each.hashes) for each in LOCK) == text.count("--hash=")
    assert "://" not in text


def test_everything_locked_has_hashes_and_somebody_who_asks_for_it() -> None:
    assert not [each.purl for each in LOCK if not each.hashes or not each.asked_by]


def test_each_part_of_the_lock_has_what_it_says_and_no_more() -> None:
    runs, extras, dev = ({each.name for each in read_lock(PROJECT / name)} for name in LOCKS)
    assert runs == {name for name, part in PARTS.items() if part == "shoal"} | built_with()
    assert extras == {name for name, part in PARTS.items() if part != "shoal"}
    assert {"pytest", "mypy", "ruff", "playwright", "mkdocs"} <= dev
    assert len(runs | extras | dev) == len(runs) + len(extras) + len(dev)


def test_a_whole_lock_is_cut_into_its_parts_and_loses_nothing(tmp_path: Path) -> None:
    names = list(LOCKS)
    heads, packages = zip(*((text[0], text[1:]) for text in (blocks_of(PROJECT / name) for name in names)), strict=True)
    above = heads[0].rsplit("# Here:", 1)[0]
    whole = tmp_path / "whole.lock"
    blocks = sorted(itertools.chain(*packages), key=lambda block: block.split("==")[0])
    whole.write_text(above + "".join(blocks), encoding="utf-8")
    split(whole, tmp_path)
    assert [(tmp_path / name).read_text("utf-8") for name in names] == [(PROJECT / n).read_text("utf-8") for n in names]


def test_what_pyproject_asks_for_is_locked() -> None:
    locked = {each.name for each in LOCK}
    for part in ("", "web", "sql", "stats", "spark", "dev"):
        assert asked_for(part) <= locked


def test_a_lock_is_read_with_markers_and_askers(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    one, two = "a" * 64, "b" * 64
    path.write_text(
        f"# made\nOne_Two==1.0 ; python_version < '3.12' \\\n    --hash=sha256:{two} \\\n    --hash=sha256:{one}\n"
        f"    # via\n    #   shoal (pyproject.toml)\n    #   three\nthree==2 \\\n"
        f"    --hash=sha256:{one}\n    # via one-two\n"
    )
    first, second = read_lock(path)
    assert (first.name, first.version, first.marker) == ("one-two", "1.0", "python_version < '3.12'")
    assert first.hashes == (one, two)
    assert first.asked_by == ("shoal", "three")
    assert (second.name, second.marker, second.asked_by) == ("three", "", ("one-two",))


# --- licences ---------------------------------------------------------------------------------------------------------


def test_licences_of_what_runs_are_allowed() -> None:
    assert not [name for name in sorted(PARTS) if not licences_in(licence_of(name)) <= ALLOWED]


@pytest.mark.parametrize("name", ["AGPL-3.0-only", "MIT AND GPL-3.0-or-later", "unknown", "MIT OR Proprietary"])
def test_other_licences_are_not(name: str) -> None:
    assert not licences_in(name) <= ALLOWED


def test_the_page_is_up_to_date_with_the_lock() -> None:
    page = licences.PAGE.read_text(encoding="utf-8")
    assert page == licences.with_table(page), "run python -m tools.licences"


def test_every_run_time_package_is_on_the_page_in_the_review_by_hand() -> None:
    page = licences.PAGE.read_text(encoding="utf-8").split("## Audit")[1]
    short = {"adbc-driver-postgresql": "-postgresql", "adbc-driver-sqlite": "-sqlite"}
    assert not [name for name in sorted(PARTS) if not re.search(rf"(?<!\w){short.get(name, name)}(?!\w)", page)]


# --- the parts list ---------------------------------------------------------------------------------------------------


def test_the_parts_list_is_the_lock() -> None:
    parts = sbom.sbom()
    assert (parts["bomFormat"], parts["specVersion"], parts["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", parts["serialNumber"])
    listed = {(c["name"], c["version"]) for c in parts["components"]}
    assert listed == {(each.name, each.version) for each in LOCK if each.name in PARTS}
    by_name = {c["name"]: c for c in parts["components"]}
    assert (by_name["polars"]["scope"], by_name["nicegui"]["scope"]) == ("required", "optional")
    assert "pytest" not in by_name
    for component in parts["components"]:
        (reference,) = component["externalReferences"]
        assert reference["hashes"]
        assert all(re.fullmatch("[0-9a-f]{64}", entry["content"]) for entry in reference["hashes"])
        assert component["licenses"][0]["expression"] != "unknown"


def test_the_parts_list_fits_the_schema_of_cyclonedx() -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    parts = sbom.sbom()
    assert validator.validate_str(json.dumps(parts)) is None
    parts["components"][0]["scope"] = "perhaps"
    assert validator.validate_str(json.dumps(parts)) is not None


def test_the_parts_list_says_who_needs_whom() -> None:
    parts = sbom.sbom()
    needs = {
        entry["ref"].split("@")[0].removeprefix("pkg:pypi/"): entry["dependsOn"] for entry in parts["dependencies"]
    }
    refs = {c["bom-ref"] for c in parts["components"]}
    assert all(set(asked) <= refs for asked in needs.values())
    assert any(ref.startswith("pkg:pypi/llvmlite@") for ref in needs["numba"])
    assert {ref.split("@")[0].removeprefix("pkg:pypi/") for ref in needs["shoal"]} >= asked_for()
    assert len({entry["ref"] for entry in parts["dependencies"]}) == len(parts["dependencies"]) == len(refs) + 1


def test_the_parts_list_is_the_same_again_and_names_no_place() -> None:
    text = sbom.written()
    run = [sys.executable, "-c", "from tools import sbom; print(sbom.written(), end='')"]
    again = subprocess.run(run, cwd=PROJECT, capture_output=True, check=True, env={"PYTHONHASHSEED": "7"})
    assert again.stdout.decode() == text
    assert not [place for place in ("://", str(Path.home()), str(PROJECT)) if place in text]
    assert "timestamp" not in json.loads(text)["metadata"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Built in a process that has Python's own distutils loaded, as a library of another test may leave it."""
    with suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import_module("distutils.core")
    return dist.build(tmp_path_factory.mktemp("dist"))


def test_what_is_handed_out_holds_code_and_parts_list(built: list[Path]) -> None:
    wheel, sdist, parts = built
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        inside = next(name for name in names if name.endswith(".cdx.json"))
        assert re.fullmatch(r"shoal-[^/]+\.dist-info/sboms/shoal-[^/]+\.cdx\.json", inside)
        assert archive.read(inside) == parts.read_bytes() == sbom.written().encode()
        record = archive.read(next(name for name in names if name.endswith("/RECORD"))).decode().splitlines()
        noted = {line.split(",")[0]: line.split(",")[1] for line in record}
        assert set(noted) == set(names)
        for name in names:
            digest = urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
            assert noted[name] in (f"sha256={digest}", "")
        assert {"shoal/pipeline.py", "shoal/py.typed", "shoal/web/style.css"} <= set(names)
        assert not [name for name in names if name.startswith(("tests/", "tools/"))]
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"SECURITY.md", "LICENSE", "requirements.lock", "src/shoal/pipeline.py"} <= inside


@pytest.mark.long
def test_a_wheel_built_twice_is_the_same_file(built: list[Path], tmp_path: Path) -> None:
    assert dist.build(tmp_path)[0].read_bytes() == built[0].read_bytes()


# --- connections ------------------------------------------------------------------------------------------------------

CLIENTS = {"requests", "httpx", "aiohttp", "urllib3", "ftplib", "smtplib", "telnetlib", "poplib", "imaplib", "xmlrpc",
           "urllib.request", "http.client", "paramiko", "boto3", "opentelemetry", "sentry_sdk"}  # fmt: skip
MAY_LISTEN = {"web/server.py"}


def test_the_package_imports_no_client_of_the_network() -> None:
    found = []
    for path in sorted((PROJECT / "src" / "shoal").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            clients = {*CLIENTS, "socket"} - ({"socket"} if path.as_posix().endswith(tuple(MAY_LISTEN)) else set())
            found += [(path.name, name) for name in names if name in clients or name.split(".")[0] in clients]
    assert not found


GUARDED = """
import json, sys
tried = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "socket.sendmsg"):
        where = arguments[1] if event.startswith(("socket.connect", "socket.send")) else arguments[0]
        host = where[0] if isinstance(where, tuple) else where
        if host not in ("127.0.0.1", "::1", "localhost", None) and not str(host).startswith("/"):
            tried.append(event)
            raise PermissionError(event)
sys.addaudithook(watch)
{work}
print(json.dumps(tried))
"""


def in_a_process_that_may_not_connect(work: str, folder: Path) -> list[str]:
    run = [sys.executable, "-c", GUARDED.replace("{work}", work)]
    home = {**os.environ, "PYTHONPATH": str(PROJECT / "src")}
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False, env=home)
    assert done.returncode == 0, done.stderr[-2000:]
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_the_guard_notices_an_attempt(tmp_path: Path) -> None:
    work = """
import socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=1)
except OSError:
    pass
"""
    assert in_a_process_that_may_not_connect(work, tmp_path)


def test_no_command_connects_to_anything(tmp_path: Path) -> None:
    work = """
from pathlib import Path
from shoal.cli.main import cli
from shoal.demo.clinics import clinics
clinics().write_csv("clinics.csv")
roles = ["--person", "name", "--quasi", "age,gender:nominal,zip", "--sensitive", "disease", "--drop", "admission"]
models = ["--g-balance", "0.5", "--h-affiliation", "0.5"]
for command in (
    ["assess", "clinics.csv", *roles, *models],
    ["protect", "clinics.csv", *roles, *models, "-o", "out"],
    ["verify", "out"],
    ["attack", "out"],
):
    try:
        cli(command)
    except SystemExit as end:
        assert end.code in (0, None), (command, end.code)
assert Path("out/steward/report.html").exists()
"""
    assert in_a_process_that_may_not_connect(work, tmp_path) == []


def test_duckdb_fetches_no_extensions(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="the extra 'sql' is not installed")
    from shoal.reading.sql import read_database

    path = tmp_path / "some.duckdb"
    duckdb.connect(str(path)).close()
    query = "SELECT value AS fetches FROM duckdb_settings() WHERE name = 'autoinstall_known_extensions'"
    assert read_database(f"duckdb:///{path}", query=query).frame["fetches"].to_list() == ["false"]
