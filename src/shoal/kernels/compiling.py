"""Compiled kernels: where they are kept between runs, and a word to whoever waits while they are made.

A kernel is compiled when it is first called and then kept, beside the source or in the user's cache folder. Where
neither can be written to (a service without a home, say) numba would refuse to work at all.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numba.core.typing.arraydecl  # noqa: F401  what an index of an array means is known first, and so looked up first
from numba import njit
from numba.core import config, event
from numba.misc.appdirs import AppDirs

SETTING = "NUMBA_CACHE_DIR"
PATIENCE = 2.0
"""Seconds of compiling before anything is said of it."""

kernel = njit(cache=True, nogil=True, no_cfunc_wrapper=True)
"""Compiles a kernel when it is first called. It lets go of Python's lock, and has no way in for C."""

inner_kernel = njit(cache=True, nogil=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)
"""The same for what only kernels call: it has no way in from Python either."""

plain_kernel = njit(cache=True, nogil=True, no_cfunc_wrapper=True, _nrt=False)
"""The same for kernels that make no arrays and call no others than these: nobody counts who holds the arrays, which
takes a third of the time of small kernels that call each other in loops."""

_tell: Callable[[], None] | None = None


@contextmanager
def telling_of_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` once if compiling takes longer than a moment meanwhile."""
    global _tell
    before, _tell = _tell, tell
    try:
        yield
    finally:
        _tell = before


def prepare(kernels: Path) -> None:
    """Have a place for the compiled code of the kernels in a folder, and listen to when they are compiled."""
    if not config.CACHE_DIR and not config.DISABLE_JIT:
        of_user = Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)
        if not any(_can_write(place) for place in (kernels / "__pycache__", of_user)):
            config.CACHE_DIR = os.environ[SETTING] = _place_for_this_run()  # for processes that this one starts too
    event.register("numba:compile", _Compiling())


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True


def _place_for_this_run() -> str:
    """A folder that nobody else can write to, since what lies in it is run; gone when the process ends."""
    folder = tempfile.mkdtemp(prefix="shoal-compiled-")
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    warnings.warn(
        "Compiled code can be kept neither beside shoal nor in a cache folder of this user, so that every run compiles "
        f"for a minute or two. Set {SETTING} to a folder that only this user can write to.",
        RuntimeWarning,
        stacklevel=2,
    )
    return folder


class _Compiling(event.Listener):
    """Adds up the time that compiling takes; a kernel that compiles others counts once."""

    def __init__(self):
        self.depth, self.started, self.seconds = 0, 0.0, 0.0

    def on_start(self, event):
        global _tell
        self.started = self.started if self.depth else time.monotonic()
        self.depth += 1
        if _tell is not None and self.seconds + time.monotonic() - self.started > PATIENCE:
            tell, _tell = _tell, None
            tell()

    def on_end(self, event):
        self.depth -= 1
        if not self.depth:
            self.seconds += time.monotonic() - self.started
