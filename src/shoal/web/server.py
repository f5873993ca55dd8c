"""Start the web app: one project, five pages, behind the guard, on loopback, until it is ended."""

from __future__ import annotations

import asyncio
import contextlib
import html
import importlib
import logging
import os
import secrets
import shutil
import signal
import socket
import stat
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse

from shoal.errors import InputError, ParameterError, ShoalError
from shoal.publishing.folder import try_lock
from shoal.web.app import App
from shoal.web.jobs import Jobs, place_of, told_without_values
from shoal.web.project import PRIVATE_FILE, STEPS, Project, write_beside
from shoal.web.safety import LOOPBACK, Guard, hosts_of, refusal_page

DEFAULT_MAX_UPLOAD = 2048
"""Megabytes."""
SECONDS_TO_END = 3
PREFIX = "shoal-"
"""How the names of private folders begin that are removed with the server."""
LOCK = Path("cache", "lock")
GOES_WITH_ITS_SERVER = b"removed with the server\n"
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI would hand paths, durations and logs to whatever collector the environment names; nothing of ours leaves."""
Announce = Callable[[str], None]


def run(
    *,
    announce: Announce,
    files: Sequence[str | Path] = (),
    policy: str | Path | None = None,
    folder: str | Path | None = None,
    demo: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    password: str | None = None,
    opens_browser: bool = True,
    max_upload: int = DEFAULT_MAX_UPLOAD,
    say: Callable[[str], None] = lambda words: None,
) -> None:
    """Serve one project until SIGINT or SIGTERM.

    Parameters
    ----------
    announce
        Called with the address, token included, as soon as it answers.
    files, policy
        Files to begin with (copied into the project), and a policy file for them.
    folder
        Where the project is kept. None: a private folder that is removed at the end.
    demo
        Begin with the finished demo project.
    host, port
        Where to listen; port 0 takes a free one.
    password
        Needed where the host is not loopback.
    opens_browser
        Whether to open the address in the browser.
    max_upload
        How many megabytes an uploaded file may have.
    say
        Is told what is being done until it answers, in words.
    """
    is_exposed = host not in LOOPBACK
    if is_exposed and not password:
        raise ParameterError("Listening to other machines needs a password.")
    listening = _bound(host, port)
    is_kept = folder is not None
    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix=PREFIX))
    os.environ["NICEGUI_STORAGE_PATH"] = str(place / "cache" / "nicegui")  # never used; never in the working folder
    project: Project | None = None
    lock = None
    try:
        project = Project.open(place)
        lock = _locked(project, is_kept=is_kept)
        remove_left_by_killed()
        begin(project, files=files, policy=policy, demo=demo, say=say)
        say("Drawing the pages ...")
        app = App(
            project=project,
            jobs=Jobs(project),
            max_upload=max_upload << 20,
            is_kept=is_kept,
            is_exposed=is_exposed,
            is_demo=demo,
            files_here=() if is_exposed else files_in(Path.cwd()),
        )
        _serve(app, listening, host, password, announce, opens_browser)
    finally:
        listening.close()
        if lock is not None:
            os.close(lock)
        if not is_kept:
            Project(place, project.chosen if project else _nothing()).remove()


def _locked(project: Project, *, is_kept: bool) -> int:
    """Keep a second server out of the folder: each would save over what the other has saved.

    The lock of a folder that goes with its server says so, for the next server where this one is killed.
    """
    descriptor = os.open(project.folder / LOCK, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    if not try_lock(descriptor):
        os.close(descriptor)
        raise InputError(
            f"The project '{project.folder.name}' is open in another 'shoal serve'. End that one first, or use its "
            "address."
        )
    os.ftruncate(descriptor, 0)
    os.write(descriptor, b"" if is_kept else GOES_WITH_ITS_SERVER)
    return descriptor


def remove_left_by_killed() -> None:
    """Remove the private folders of servers that were killed: folders of this user whose lock nobody holds any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if _is_private(folder) and (folder / LOCK).read_bytes() == GOES_WITH_ITS_SERVER:
                descriptor = os.open(folder / LOCK, os.O_RDWR)
                try:
                    if try_lock(descriptor):
                        shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(descriptor)


def _is_private(folder: Path) -> bool:
    """Whether a folder is this user's alone, and no link: others may put folders of such a name there too."""
    status = folder.lstat()
    is_ours = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return is_ours and stat.S_ISDIR(status.st_mode) and (os.name != "posix" or not status.st_mode & 0o077)


def _nothing() -> Any:
    from shoal.web.project import Chosen

    return Chosen()


def begin(
    project: Project,
    *,
    files: Sequence[str | Path],
    policy: str | Path | None,
    demo: bool,
    say: Callable[[str], None] = lambda words: None,
) -> None:
    """Put files and policy that were named at the start into the project."""
    if demo and not project.chosen.sources:
        from shoal.web.demo import fill

        fill(project, say=say)
    if files:
        say(f"Copying {len(files)} {'file' if len(files) == 1 else 'files'} into the project ...")
        sources = tuple(project.copy_file(file) for file in files)
        project.update(
            seen=project.chosen.version, sources=sources, columns=(), rename=(), person_file=None, join_on={}
        )
    if policy is not None:
        from shoal.policy import Policy

        project.adopt(Policy.load(policy), Path(policy).parent)


def files_in(folder: Path) -> tuple[Path, ...]:
    """The tables that lie in the folder in which the server was started."""
    from shoal.web.files import endings_taken

    endings = endings_taken()
    with contextlib.suppress(OSError):
        found = [file for file in sorted(folder.iterdir()) if file.suffix.lower() in endings and file.is_file()]
        return tuple(file for file in found if not file.name.startswith("."))[:50]
    return ()


# The server


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ParameterError(
            f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another port with --port, or leave it out."
        ) from None
    return listening


def _serve(
    app: App, listening: socket.socket, host: str, password: str | None, announce: Announce, opens_browser: bool
) -> None:
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(32)
    shown = f"[{host}]" if ":" in host else "127.0.0.1" if host == "localhost" else host
    address = f"http://{shown}:{port}/?token={token}"
    guard = Guard(
        build(app),
        token=token,
        hosts=() if host in ("0.0.0.0", "::") else hosts_of(host, port),
        max_upload=app.max_upload,
        password=password if app.is_exposed else None,
        cookie=f"shoal_{port}",
    )
    log_without_values()
    config = uvicorn.Config(
        guard,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws_max_size=1 << 20,
        timeout_graceful_shutdown=SECONDS_TO_END,
        lifespan="on",
    )

    door = app.project.folder / "cache" / "open.html"

    def on_ready() -> None:
        announce(address)
        if opens_browser:
            write_beside(door, opening_page(address).encode())
            threading.Thread(target=webbrowser.open, args=(door.absolute().as_uri(),), daemon=True).start()

    try:
        asyncio.run(_Server(config, on_ready).serve(sockets=[listening]))
    finally:
        door.unlink(missing_ok=True)
        app.jobs.end()


def opening_page(address: str) -> str:
    """A page in the private folder that leads to the address: a browser's command line is seen by all on a machine."""
    place = html.escape(address, quote=True)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={place}"><title>shoal</title>'
        f'<a href="{place}">Open shoal</a></html>'
    )


class _Server(uvicorn.Server):
    """A server that says when it answers, and ends without raising the signal that ended it again."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then say so."""
        await super().startup(sockets)
        if not self.should_exit:
            self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End cleanly on the signals by which a terminal or a system ends a program."""
        names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {name: signal.signal(getattr(signal, name), self.handle_exit) for name in names}
        try:
            yield
        finally:
            for name, handler in before.items():
                signal.signal(getattr(signal, name), handler)


def build(app: App) -> FastAPI:
    """The app without the guard: pages, files to and from it, style."""
    from nicegui import app as nicegui_app
    from nicegui import ui

    from shoal.web import files, layout

    api = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, telemetry=NO_TELEMETRY)
    getattr(nicegui_app, "_telemetry", {}).update(NO_TELEMETRY)  # NiceGUI makes an app of its own, and asks nobody
    files.routes(app, api)
    for step in STEPS:
        module = importlib.import_module(f"shoal.web.pages.{step}")
        if hasattr(module, "routes"):
            module.routes(app, api)
        ui.page(layout.PLACE_OF_STEP[step], title="shoal")(_shown(app, step, module.build))

    @nicegui_app.exception_handler(404)
    async def no_such_page(request: Request, error: Exception) -> HTMLResponse:
        words = "The address is mistyped, or the page is no longer there. The five steps begin at the first page."
        return HTMLResponse(refusal_page("There is no such page", words), status_code=404)

    nicegui_app.on_page_exception(lambda error: layout.show_problem(told_without_values(error)))
    ui.run_with(
        api,
        title="shoal",
        dark=None,
        language="en-US",
        favicon=Path(__file__).with_name("fish.svg"),
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=10.0,
    )
    nicegui_app.config.quasar_config["loadingBar"]["skipHijack"] = True  # pages say themselves how far work is
    return api


def _shown(app: App, step: str, build_page: Callable[[App], Any]) -> Callable[[], None]:
    """A page whose faults are told in words instead of a traceback."""

    def show() -> None:
        from shoal.web import layout

        try:
            build_page(app)
        except ShoalError as error:
            layout.show_problem(str(error))

    show.__name__ = f"show_{step}"
    return show


# Logs


class _WithoutValues(logging.Handler):
    """Says on stderr that something happened and where; never the words of an error, which may hold values."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        error = error or (record.msg if isinstance(record.msg, BaseException) else None)
        if error is not None:
            told = f"an unexpected {type(error).__name__}{place_of(error)}"
        else:
            told = f"{record.levelname.lower()} of {record.name} at {record.funcName}, line {record.lineno}"
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"shoal serve: {told}\n")


def log_without_values() -> None:
    """Send all logs through a handler that shows no message of others: addresses hold the token, errors hold values."""
    for name in ("", *logging.root.manager.loggerDict):  # libraries bring handlers of their own
        logger = logging.getLogger(name)
        logger.handlers = [_WithoutValues()] if not name else []
        logger.propagate = True
        logger.setLevel(logging.ERROR)
