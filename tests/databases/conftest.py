"""A PostgreSQL server of the tests' own, on loopback, for as long as the tests run."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases.servers import DATABASE, PASSWORD, USER, Server


def programs() -> Path | None:
    """The folder of PostgreSQL's programs: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    if found:
        return Path(os.path.realpath(found)).parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A server with an empty database. PostgreSQL does not run as root, so then it runs as another user."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="shoal-postgresql-"))
    user = getpass.getuser()
    if os.getuid() == 0:
        user = next(name for name in ("postgres", "nobody") if name in {entry.pw_name for entry in pwd.getpwall()})
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    (folder / "password").write_text(PASSWORD, encoding="utf-8")
    os.chmod(folder / "password", 0o644)
    plain = {"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}

    def run(*command: str) -> None:
        as_user = user if os.getuid() == 0 else None
        subprocess.run(command, check=True, cwd=folder, env=plain, user=as_user, stdout=subprocess.DEVNULL)

    data = str(folder / "data")
    run(str(bin_folder / "initdb"), "-D", data, "-U", USER, "--pwfile", str(folder / "password"), "-A", "scram-sha-256",
        "-E", "UTF8", "--no-sync")  # fmt: skip
    port = free_port()
    settings = ("listen_addresses=127.0.0.1", f"port={port}", f"unix_socket_directories={folder}", "fsync=off",
                "log_statement=all", "max_connections=20", "shared_buffers=16MB")  # fmt: skip
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [str(bin_folder / "postgres"), "-D", data, *(part for each in settings for part in ("-c", each))],
        cwd=folder, env=plain, user=user if os.getuid() == 0 else None, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        made = Server(port, folder)
        _wait_for(made, process)
        yield made
    finally:
        process.terminate()
        process.wait(timeout=60)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    import adbc_driver_postgresql.dbapi as dbapi

    for _ in range(300):
        assert process.poll() is None, (server.folder / "log").read_text()
        try:
            with dbapi.connect(server.url.replace(f"/{DATABASE}", "/postgres"), autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {DATABASE}").close()
            return
        except dbapi.Error:
            time.sleep(0.2)
    raise AssertionError("PostgreSQL does not answer")
