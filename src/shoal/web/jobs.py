"""Long work in another process: the page stays live, shows how far it is, and may end it.

How pages use it (`jobs` is one object for the whole server):

    job = jobs.start("tune", "shoal.web.work:tune", {"targets": [...]}, depends_on="columns", keep_as="frontier")
    job.state           # "running", "done", "failed" or "cancelled"
    job.stage, job.done # words and a share from 0 to 1
    job.seconds, job.seconds_left   # so far; None while nobody can tell
    job.partials        # what the work has handed over so far (for example points of the frontier), as plain dicts
    job.notes           # sentences of warnings
    job.result          # the dict that the work returned, when done
    job.error           # a sentence for the steward, when failed; never a traceback, never a value of the table
    job.cancel()        # ends the process; partials are kept
    jobs.latest("tune") # the running or last job of a kind in this server's life, or None

There is one job of a kind at a time: while one runs, `start` hands back that one, so that two tabs show the same; with
`replace=True` the running one is cancelled first. Pages ask a job's attributes with a `ui.timer`; all of them may be
read from any thread.

What runs in the other process (web/work.py) is a function

    def tune(project: Project, tell: Tell, **arguments: Any) -> dict[str, Any]: ...

`project` has the choices as they were when the job was started, whatever another tab does since; it is not to be saved
there, but runs may be written into `project.new_run()`. `arguments` and what is returned are plain values (dicts,
lists, texts, numbers).

    tell(stage, done)       # a shoal.progress.Progress, so it can be handed to the library as `progress=`
    tell.partial({...})     # hand over something found so far

With `keep_as`, what is returned is saved as the project's result of that name (with the fingerprint of these choices),
also when no page is open any more. A job that is cancelled with partials saves, where `keep_as` is
given, `{"partials": [...], "is_cancelled": True}`, unless a fresh result of that name is there already.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError, ShoalWarning
from shoal.web.project import Chosen, Project

SECONDS_TO_END = 2.0


class Tell:
    """What the work says while it runs: how far it is, and what it has found."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def __call__(self, stage: str, done: float) -> None:
        """How much of a stage is done, from 0 to 1."""
        self._send("progress", (stage, float(done)))

    def partial(self, found: Mapping[str, Any]) -> None:
        """Hand over something found so far."""
        self._send("partial", dict(found))

    def _send(self, what: str, value: Any) -> None:
        with suppress(BrokenPipeError, OSError):  # nobody listens any more: the process is about to be ended
            self._pipe.send((what, value))


class WebJob:
    """One piece of work in another process; see the module's docstring."""

    def __init__(self, kind: str, project: Project, *, depends_on: str, keep_as: str | None) -> None:
        self.kind = kind
        self.project = project
        self.chosen = project.chosen
        """The choices that the work is done for."""
        self.depends_on = depends_on
        self.keep_as = keep_as
        self.state = "running"
        self.stage = "Starting"
        self.done = 0.0
        self.partials: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.result: dict[str, Any] | None = None
        self.error: str | None = None
        self.made_from = Project(project.folder, self.chosen).fingerprint(depends_on)
        """Their fingerprint."""
        self._started = time.monotonic()
        self._ended: float | None = None
        self._lock = threading.Lock()
        self._process: Any = None
        self._finished = threading.Event()

    @property
    def is_running(self) -> bool:
        """Whether the work goes on."""
        return self.state == "running"

    @property
    def seconds(self) -> float:
        """How long the work has taken so far."""
        return (self._ended or time.monotonic()) - self._started

    @property
    def seconds_left(self) -> float | None:
        """How long it will probably take, from the share that is done; None while that would be a guess."""
        if not self.is_running or self.done < 0.05:
            return None
        return self.seconds * (1 - self.done) / self.done

    def cancel(self) -> None:
        """End the work; what was found so far is kept."""
        with self._lock:
            if self.state != "running":
                return
            self.state = "cancelled"
        self._end_process()
        self._finished.wait(SECONDS_TO_END)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the end, for tests and scripts; whether it came."""
        return self._finished.wait(seconds)

    def _start(self, work: str, arguments: Mapping[str, Any]) -> None:
        context = multiprocessing.get_context("spawn")
        listening, telling = context.Pipe(duplex=False)
        process = context.Process(
            target=_work_there, args=(telling, self.project.folder, self.chosen, work, dict(arguments)),
            daemon=True, name=f"shoal {self.kind}",
        )  # fmt: skip
        self._process = process
        process.start()
        telling.close()
        threading.Thread(target=self._listen, args=(listening,), daemon=True, name=f"shoal {self.kind}").start()

    def _listen(self, pipe: Connection) -> None:
        while True:
            try:
                what, value = pipe.recv()
            except (EOFError, OSError):
                break
            self._hear(what, value)
        pipe.close()
        self._process.join()
        with self._lock:
            if self.state == "running":
                self._fail(_died(self._process.exitcode))
        self._keep()
        self._finished.set()

    def _hear(self, what: str, value: Any) -> None:
        with self._lock:
            if what == "partial":
                self.partials = [*self.partials, value]
            elif what == "note":
                self.notes = [*self.notes, value]
            elif self.state != "running":
                return
            elif what == "progress":
                self.stage, self.done = value[0], min(max(value[1], 0.0), 1.0)
            elif what == "result":
                self.result, self.done = value, 1.0
                self._keep_result()
                self.state = "done"
                self._ended = time.monotonic()
            elif what == "error":
                self._fail(value)

    def _fail(self, error: str) -> None:
        self.error, self.state = error, "failed"
        self._ended = time.monotonic()

    def _keep_result(self) -> None:
        if self.keep_as is not None and self.result is not None:
            self.project.put_result(self.keep_as, self.result, depends_on=self.depends_on, made_from=self.made_from)

    def _keep(self) -> None:
        self._ended = self._ended or time.monotonic()
        if self.state != "cancelled" or self.keep_as is None or not self.partials:
            return
        before = self.project.result(self.keep_as)
        if before is None or before.is_stale:
            found = {"partials": self.partials, "is_cancelled": True}
            self.project.put_result(self.keep_as, found, depends_on=self.depends_on, made_from=self.made_from)

    def _end_process(self) -> None:
        process = self._process
        process.terminate()
        process.join(SECONDS_TO_END)
        if process.is_alive():
            process.kill()


class Jobs:
    """The jobs of a project: one of a kind at a time."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._latest: dict[str, WebJob] = {}
        self._lock = threading.Lock()

    def start(
        self,
        kind: str,
        work: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        depends_on: str = "columns",
        keep_as: str | None = None,
        replace: bool = False,
    ) -> WebJob:
        """Start work in another process, or hand back the running job of this kind.

        Parameters
        ----------
        kind
            What there is one of at a time.
        work
            The function, as "module:name".
        arguments
            Plain values for it.
        depends_on
            The step whose choices the result depends on.
        keep_as
            The name under which the project keeps the result.
        replace
            End a running job of this kind first.
        """
        with self._lock:
            running = self._latest.get(kind)
            if running is not None and running.is_running:
                if not replace:
                    return running
                running.cancel()
            job = WebJob(kind, self.project, depends_on=depends_on, keep_as=keep_as)
            self._latest[kind] = job
            job._start(work, arguments or {})
            return job

    def latest(self, kind: str) -> WebJob | None:
        """The running or last job of a kind."""
        return self._latest.get(kind)

    def running(self) -> list[WebJob]:
        """All jobs that are under way."""
        return [job for job in self._latest.values() if job.is_running]

    def end(self) -> None:
        """End all work, when the server ends."""
        for job in self.running():
            job.cancel()


# In the other process


def _work_there(pipe: Connection, folder: Path, chosen: Chosen, work: str, arguments: dict[str, Any]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends us
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_the_server, daemon=True).start()
    silence = os.open(os.devnull, os.O_WRONLY)  # what libraries say when they break may hold values
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", ShoalWarning)
            module, _, name = work.partition(":")
            result = getattr(importlib.import_module(module), name)(Project(folder, chosen), Tell(pipe), **arguments)
        for warning in warned:
            pipe.send(("note", str(warning.message)))
        pipe.send(("result", result))
    except ShoalError as error:
        pipe.send(("error", str(error)))
    except (BrokenPipeError, ConnectionError):
        pass
    except BaseException as error:  # its own words may hold values of the table
        with suppress(OSError):
            pipe.send(("error", told_without_values(error)))
    finally:
        pipe.close()


def _end_with_the_server() -> None:
    """End at once when the server is gone: it may have been killed, and then nobody may write to its folder again."""
    server = multiprocessing.parent_process()
    assert server is not None
    server.join()
    os._exit(1)


def told_without_values(error: BaseException) -> str:
    """An unexpected error in words that hold no value of the table: its type, and where in shoal it came up."""
    if isinstance(error, MemoryError):
        return "There is not enough memory for this. Close other programs, or take fewer columns."
    return f"An unexpected {type(error).__name__}{place_of(error)}. Nothing was written. This is a fault in shoal."


def place_of(error: BaseException) -> str:
    """Where in shoal an error came up: " at NAME in FILE", or nothing."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "shoal" in frame.filename.replace("\\", "/").split("/")]
    return f" at {ours[-1].name} in {ours[-1].filename.replace(chr(92), '/').split('/')[-1]}" if ours else ""


def _died(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return (
            f"The work was ended from outside (signal {-exit_code}); often that means that memory ran out. Nothing was "
            "written. Close other programs, or take fewer columns."
        )
    return "The work ended without an answer. Nothing was written. This is a fault in shoal."
