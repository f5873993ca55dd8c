"""The server that the tests and the gallery start, and who may come in: a password that must turn up nowhere."""

from __future__ import annotations

import getpass
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = f"CanaryPassword{secrets.token_hex(8)}"
USER = "canaryuser"
DATABASE = "clinic"


@dataclass(frozen=True)
class Server:
    """Where the server listens, and who may come in."""

    port: int
    folder: Path
    password: str = PASSWORD
    user: str = USER
    database: str = DATABASE

    @property
    def url(self) -> str:
        """With user and password, as nobody should write it."""
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def bare_url(self) -> str:
        """Without user and password, which come from elsewhere."""
        return f"postgresql://127.0.0.1:{self.port}/{DATABASE}"

    def run(self, *statements: str) -> None:
        """Run statements that give nothing back."""
        import adbc_driver_postgresql.dbapi as dbapi

        with dbapi.connect(self.url) as connection:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.executescript(statement)
            connection.commit()

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """What a query gives."""
        import adbc_driver_postgresql.dbapi as dbapi

        with dbapi.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.execute(query)
            return cursor.fetchall()


@contextmanager
def started() -> Iterator[Server | None]:
    """A server with an empty database, or None where PostgreSQL is not installed.

    PostgreSQL does not run as root, so then it runs as another user.
    """
    bin_folder = programs()
    if bin_folder is None:
        yield None
        return
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
