"""The web app hands nothing to a collector of telemetry, also where the environment has one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nicegui", reason="the extra 'web' is not installed")

PROJECT = Path(__file__).resolve().parents[2]

IN_A_PROCESS_WITH_A_COLLECTOR = """
import json, sys
from pathlib import Path
from opentelemetry import trace

class Collector(trace.TracerProvider):
    def get_tracer(self, *names, **options):
        return trace.NoOpTracer()

trace.set_tracer_provider(Collector())

from fastapi import FastAPI
from nicegui import app as nicegui_app
from shoal.web.app import App
from shoal.web.jobs import Jobs
from shoal.web.project import Project
from shoal.web.server import build
project = Project.open(Path(sys.argv[1]))
untold = nicegui_app._native_telemetry.enabled()
api = build(App(project=project, jobs=Jobs(project), max_upload=1, is_kept=False, is_exposed=False, is_demo=False,
                files_here=()))
told = [each._native_telemetry.enabled() or each._telemetry["auto_configure"] for each in (api, nicegui_app)]
print(json.dumps([FastAPI()._native_telemetry.enabled(), untold, *told]))
"""


@pytest.mark.long
def test_telemetry_is_off_for_both_apps(tmp_path: Path) -> None:
    home = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "FASTAPI_OTEL_AUTO_CONFIGURE": "true"}
    run = [sys.executable, "-c", IN_A_PROCESS_WITH_A_COLLECTOR, str(tmp_path / "project")]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False, env=home)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == [True, True, False, False]
