"""What every page of the web app is given: the project, its jobs, and how the server was started."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.web.jobs import Jobs
from shoal.web.project import Project


@dataclass(frozen=True)
class App:
    """One project, open in one server."""

    project: Project
    jobs: Jobs
    max_upload: int = 2 << 30
    """How many bytes an uploaded file may have."""
    is_kept: bool = False
    """Whether the folder stays when the server ends."""
    is_exposed: bool = False
    """Whether other machines can reach the server; files of this machine are then not offered."""
    is_demo: bool = False
    files_here: tuple[Path, ...] = field(default=())
    """Files of this machine that may be picked without uploading them."""
    cache: dict[str, Any] = field(default_factory=dict)
    """What pages keep between two looks, by name; lost with the server."""
