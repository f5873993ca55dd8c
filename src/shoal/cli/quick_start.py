"""What a command does before it imports anything large, so that it answers soon. Only here: a library changes nothing.

Numba asks whether scipy has BLAS and imports all of `scipy.linalg` for it, which no kernel uses; OpenBLAS starts a
thread per processor when numpy is imported, for matrices larger than any of ours. Python looks for objects that only
name each other after every 700 new ones, which importing makes by the hundred thousand, and once more for all of them
when it ends.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader
else:
    Loader = object  # to import it imports much else

READ_WHEN_USED = frozenset({"scipy.linalg", "yaml"})
"""Numba asks for the second to read a file of settings that hardly anybody has."""

OBJECTS_BEFORE_A_LOOK = 500_000


def start_quickly() -> None:
    """Import what may not be needed when it is used; one thread for matrices unless the environment says more."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(OBJECTS_BEFORE_A_LOOK, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)  # the first that is registered runs last
    if not any(isinstance(finder, _FindsUnread) for finder in sys.meta_path):
        sys.meta_path.insert(0, _FindsUnread())


class _FindsUnread:
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name in READ_WHEN_USED else None
        if spec is not None and spec.loader is not None:
            spec.loader = _ReadsLater(spec.loader)
        return spec


class _ReadsLater(Loader):
    """Gives a package without running it. Its modules can be imported; any other name in it runs it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.lock = threading.RLock()
        self.is_read = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__class__ = _Unread

    def read(self, module: ModuleType) -> None:
        """Run the package now, once; other threads wait for it."""
        with self.lock:
            if not self.is_read:
                self.is_read = True
                self.loader.exec_module(module)
                assert module.__spec__ is not None
                module.__loader__ = module.__spec__.loader = self.loader
                module.__class__ = ModuleType


class _Unread(ModuleType):
    def __getattr__(self, name: str) -> Any:
        assert self.__spec__ is not None
        loader = self.__spec__.loader
        if isinstance(loader, _ReadsLater):
            loader.read(self)
        return ModuleType.__getattribute__(self, name)
