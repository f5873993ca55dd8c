"""`shoal serve` as one starts and ends it: what it refuses, what it leaves behind, what it costs to others."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoal.cli.main import cli
from shoal.web.project import Project
from tests.tiers import long_but_for
from tests.web.serving import command, environment, serving

nicegui = pytest.importorskip("nicegui", reason="the extra 'web' is not installed")

CSV = "patient,age,disease\np1,31,flu\np2,42,cold\np2,43,flu\n"


def refused(*arguments: str, folder: Path) -> str:
    run = subprocess.run(
        command("--no-browser", *arguments), capture_output=True, text=True, cwd=folder, env=environment(), check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert run.returncode == 2, (run.returncode, run.stderr)
    assert run.stdout == ""
    return run.stderr


def test_help_tells_how_it_is_started() -> None:
    run = CliRunner().invoke(cli, ["serve", "--help"])
    assert run.exit_code == 0
    for flag in ("--policy", "--project", "--demo", "--port", "--no-browser", "--max-upload", "--host",
                 "--i-know-this-exposes-data", "--password-file"):  # fmt: skip
        assert flag in run.output
    assert "--password " not in run.output


def test_without_nicegui_it_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['nicegui'] = None; from shoal.cli.main import main; sys.argv = ['shoal', 'serve']"
    )
    run = subprocess.run([sys.executable, "-c", f"{program}; main()"], capture_output=True, text=True, check=False,
                         env=environment())  # fmt: skip
    assert run.returncode == 2
    assert "pip install 'shoal[web]'" in run.stderr


def test_the_library_and_the_command_line_do_not_import_it() -> None:
    program = (
        "import sys, shoal, shoal.cli.main, shoal.cli.serve, shoal.web\n"
        "print(*(name for name in ('nicegui', 'fastapi', 'uvicorn', 'starlette') if name in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment())
    assert run.stdout.split() == []


# Listening


HOSTS = ["0.0.0.0", "192.168.1.7", "example.org", "::", "127.0.0.2"]


@pytest.mark.parametrize("host", long_but_for(["0.0.0.0", "::"], HOSTS))
def test_another_host_needs_to_be_meant(tmp_path: Path, host: str) -> None:
    told = refused("--host", host, folder=tmp_path)
    assert "--i-know-this-exposes-data" in told
    assert "would let other machines reach the data" in told


def test_another_host_needs_a_password_of_some_length(tmp_path: Path) -> None:
    (tmp_path / "short").write_text("short\n" + "x" * 50)
    exposed = ["--host", "0.0.0.0", "--i-know-this-exposes-data"]
    assert "at least 12 characters" in refused(*exposed, "--password-file", "short", folder=tmp_path)
    assert "cannot be read" in refused(*exposed, "--password-file", "absent", folder=tmp_path)
    assert "goes with --host" in refused("--password-file", "short", folder=tmp_path)


def test_without_a_file_the_password_is_asked_for_twice_and_not_shown() -> None:
    arguments = ["serve", "--no-browser", "--host", "0.0.0.0", "--i-know-this-exposes-data"]
    run = CliRunner().invoke(cli, arguments, input="short\nshort\n")
    assert run.exit_code == 2
    assert "at least 12 characters" in run.output
    nothing = CliRunner().invoke(cli, arguments, input="")
    assert nothing.exit_code == 1
    assert "short" not in run.stdout


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        told = refused("--port", str(taken.getsockname()[1]), folder=tmp_path)
    assert "Choose another port with --port" in told


@pytest.mark.long
def test_the_port_asked_for_is_the_one_in_the_address(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serving(tmp_path, "--port", str(port)) as served:
        assert served.port == port


# What is left behind


@pytest.mark.parametrize("with_signal", long_but_for([signal.SIGTERM], [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]))
def test_it_ends_cleanly_and_removes_its_folder(tmp_path: Path, with_signal: signal.Signals) -> None:
    (tmp_path / "visits.csv").write_text(CSV)
    with serving(tmp_path, "visits.csv") as served:
        (private,) = tmp_path.glob("shoal-*")
        assert stat.S_IMODE(private.stat().st_mode) == 0o700
        assert (private / "sources" / "visits.csv").read_text() == CSV
        with served.steward() as steward:
            assert steward.get("/").status_code == 200  # starts to read the files in another process
        assert served.end(with_signal) == 0
        assert not private.exists()
        assert {path.name for path in tmp_path.iterdir()} <= {"visits.csv", "numba_cache"}
    assert "Traceback" not in served.stderr
    assert "removed at the end" in served.stderr


@pytest.mark.long
def test_the_next_server_removes_what_a_killed_one_left_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(CSV)
    Project.open(tmp_path / "shoal-mine")
    (tmp_path / "shoal-mine" / "cache" / "lock").touch()
    with serving(tmp_path, "visits.csv") as killed, serving(tmp_path, "visits.csv") as alive:
        private = {path for path in tmp_path.glob("shoal-*") if path.name != "shoal-mine"}
        with killed.steward() as steward:
            assert steward.get("/").status_code == 200  # starts to read the files in another process
        assert killed.end(signal.SIGKILL) == -signal.SIGKILL
        assert {path for path in private if (path / "sources" / "visits.csv").exists()} == private
        with serving(tmp_path) as served:
            left = {path for path in private if path.exists()}
            assert len(left) == 1, "that of the killed server is gone, and that of the other is there"
            assert served.end() == 0
        with alive.steward() as steward:
            assert "visits.csv" in steward.get("/").text
        assert alive.end() == 0
    assert [path.name for path in tmp_path.glob("shoal-*")] == ["shoal-mine"]


@pytest.mark.long
def test_a_project_is_kept_and_opened_again(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(CSV)
    with serving(tmp_path, "visits.csv", "--project", "kept") as served:
        assert served.end() == 0
        assert "removed" not in served.stderr
    before = (tmp_path / "kept" / "project.json").read_text()
    with serving(tmp_path, "--project", "kept") as served, served.steward() as steward:
        assert "visits.csv" in steward.get("/").text
    assert (tmp_path / "kept" / "project.json").read_text() == before
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700


def test_a_project_is_open_in_one_server_at_a_time(tmp_path: Path) -> None:
    with serving(tmp_path, "--project", "kept"):
        assert "is open in another 'shoal serve'" in refused("--project", "kept", folder=tmp_path)
    with serving(tmp_path, "--project", "kept"):
        pass


def test_the_browser_is_led_in_by_a_private_file_not_by_its_command_line(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    browser = tmp_path / "bin" / "seen"
    told = tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$@" > {told}.part\nmv {told}.part {told}\n')
    browser.chmod(0o755)
    process = subprocess.Popen(
        command("--project", "kept"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path,
        env={**environment(), "BROWSER": str(browser)},
    )  # fmt: skip
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        while not told.exists():
            assert process.poll() is None
            time.sleep(0.02)
        opened = told.read_text().strip()
        assert "token" not in opened
        file = Path(opened.removeprefix("file://"))
        assert file == tmp_path / "kept" / "cache" / "open.html"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f"url={address}" in file.read_text()
    finally:
        process.terminate()
        assert process.wait(60) == 0
        process.stdout.close()
    assert not file.exists()


def test_a_start_that_fails_leaves_nothing(tmp_path: Path) -> None:
    refused("absent.csv", folder=tmp_path)
    (tmp_path / "bad.toml").write_text("[columns]\nquasi = 3\n")
    (tmp_path / "visits.csv").write_text(CSV)
    assert "must be a list" in refused("visits.csv", "--policy", "bad.toml", folder=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"bad.toml", "visits.csv"}


def test_files_and_policy_begin_the_project(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(CSV)
    (tmp_path / "given.toml").write_text(
        '[columns]\nperson = "patient"\nquasi = ["age:number"]\nsensitive = ["disease"]\n[models]\nrecord-risk = 0.7\n'
    )
    arguments = ["visits.csv", "--policy", "given.toml", "--project", "kept"]
    with serving(tmp_path, *arguments) as served, served.steward() as steward:
        text = steward.get("/policy.toml").text
    assert "record-risk = 0.7" in text
    assert 'person = "patient"' in text


def test_a_folder_with_other_things_is_refused_as_project(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("x")
    assert "is not empty and holds no project" in refused("--project", "mine", folder=tmp_path)
    assert (tmp_path / "mine" / "letter.txt").read_text() == "x"


@pytest.mark.long
def test_the_address_as_json_is_one_object_and_nothing_else(tmp_path: Path) -> None:
    with subprocess.Popen(
        command("--no-browser", "--json"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path,
        env={**environment(), "TMPDIR": str(tmp_path)},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert rest == ""
    assert told["url"].startswith(f"http://127.0.0.1:{told['port']}/?token=")
