"""Where tests write their files: in memory where it has room, since releases wait until a disk has kept every file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

IN_MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Bytes that must be free; a run of all tests leaves about a fifth of it, and half as much again while it works."""


def write_in_memory() -> None:
    """Have temporary folders of this process, and of those it starts, lie in memory; a TMPDIR that is set stays."""
    if "TMPDIR" not in os.environ and has_room(IN_MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)


def has_room(folder: Path) -> bool:
    """Whether everybody can write to a folder, programs in it can be run, and disk and memory have enough room."""
    try:
        told = os.statvfs(folder)
        left = Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0]
    except (AttributeError, OSError, IndexError):
        return False
    is_open = os.access(folder, os.W_OK | os.X_OK) and not told.f_flag & os.ST_NOEXEC
    return is_open and told.f_bavail * told.f_frsize >= ROOM and int(left) * 1024 >= 2 * ROOM
