"""Requests that no page of ours would send, to every address of the web app: an answer in words, never a fault."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tiers import NIGHTLY
from tests.weather.sizes import REQUESTS
from tests.web.serving import Served, environment, serving

PAGES = ("/", "/columns", "/risk", "/protect", "/release")

# The app publishes no schema of itself; here FastAPI makes one from the routes that it really has.
ROUTES = """
import json, sys
from pathlib import Path
from fastapi.openapi.utils import get_openapi
from shoal.web.app import App
from shoal.web.jobs import Jobs
from shoal.web.layout import PLACE_OF_STEP
from shoal.web.project import Project
from shoal.web.server import build
project = Project.open(Path(sys.argv[1]))
api = build(App(project=project, jobs=Jobs(project)))
schema = get_openapi(title="shoal", version="1", routes=api.routes)
for place in (*PLACE_OF_STEP.values(), "/password", "/_nicegui/{version}/{file}", "/_nicegui_ws/socket.io/"):
    schema["paths"].setdefault(place, {})["get"] = {
        "parameters": [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                       for name in ("version", "file") if f"{{{name}}}" in place]
        + [{"name": name, "in": "query", "schema": {"type": "string"}} for name in ("token", "EIO", "sid")],
        "responses": {"200": {"description": "a page"}},
    }
print(json.dumps(schema))
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "visits.csv").write_text("who,age,disease\na,30,flu\nb,31,cold\nc,32,flu\n")
    with serving(folder, *(["--demo"] if NIGHTLY else ["visits.csv"])) as server:  # the demo has a release too
        yield server


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Every operation of the app, with names that lead somewhere beside names that lead nowhere."""
    folder = tmp_path_factory.mktemp("routes") / "project"
    folder.mkdir(mode=0o700)
    ran = subprocess.run(
        [sys.executable, "-c", ROUTES, str(folder)], env=environment(), capture_output=True, text=True, check=True
    )
    raw = json.loads(ran.stdout)
    upload = raw["paths"]["/files/{purpose}/{name}"]["put"]
    upload["requestBody"] = {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    }
    known = {
        "purpose": ["records", "persons", "hierarchy", "..", "%2e%2e", ""],
        "name": [
            "a.csv",
            "b.parquet",
            "../a.csv",
            "..",
            "style.css",
            "c.gz",
            "\u202e.csv",
            "a\u0000.csv",
            "x" * 300 + ".csv",
            "A.CSV",
        ],
        "page": ["report.html", "summary.html", "manifest.json", "..", "steward/policy.toml"],
    }
    for operation in (operation for methods in raw["paths"].values() for operation in methods.values()):
        for parameter in operation.get("parameters", []):
            if parameter["name"] in known:
                parameter["schema"] = {"anyOf": [{"enum": known[parameter["name"]]}, {"type": "string"}]}
    schema = schemathesis.openapi.from_dict(raw)
    return [each.ok() for each in schema.get_all_operations()]


@pytest.mark.grows
def test_every_address_answers_whatever_is_asked(served: Served, operations: list[Any]) -> None:
    tried = 0
    with served.steward() as steward:
        for operation in operations:

            @settings(
                max_examples=REQUESTS // 5 if operation.path in PAGES else REQUESTS, database=None, derandomize=True,
                suppress_health_check=list(HealthCheck),
            )  # fmt: skip
            @given(case=operation.as_strategy(), body=bodies)
            def ask(case: Any, body: bytes) -> None:
                nonlocal tried
                tried += 1
                asked = case.as_transport_kwargs(base_url=served.base)
                content = body if case.method == "PUT" else None
                answer = steward.request(
                    case.method, asked["url"], params=asked["params"], content=content, follow_redirects=False
                )
                assert answer.status_code < 500, (case.method, asked["url"], answer.status_code)
                if answer.status_code >= 400 and case.method == "PUT":
                    assert json.loads(answer.text).keys() <= {"message", "detail"} or "<html" in answer.text

            ask()
        for place in PAGES:
            assert steward.get(place).status_code == 200, "a file that was taken broke a page"
    assert len(operations) >= 10
    assert tried >= len(operations) * REQUESTS // 10
    assert "Traceback" not in served.stderr
    assert "unexpected" not in served.stderr, served.stderr[-2000:]


bodies = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [b"a,b\n1,2\n", b"a;b\n1;2\n", b"PAR1", b"PAR1PAR1", b"\x1f\x8b", b"\xff\xfea\x00", b"", b"a,a\n1,1\n", b"\x00"]
    ),
)


@pytest.mark.grows
def test_strangers_get_nothing_whatever_they_ask(served: Served, operations: list[Any]) -> None:
    with served.stranger() as stranger:
        for operation in operations:

            @settings(max_examples=max(REQUESTS // 4, 10), database=None, derandomize=True,
                      suppress_health_check=list(HealthCheck))  # fmt: skip
            @given(
                case=operation.as_strategy(),
                method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "TRACE"]),
            )
            def ask(case: Any, method: str) -> None:
                asked = case.as_transport_kwargs(base_url=served.base)
                answer = stranger.request(method, asked["url"], params=asked["params"], follow_redirects=False)
                assert answer.status_code in (400, 403), (method, asked["url"], answer.status_code)

            ask()
