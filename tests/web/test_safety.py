"""Who may talk to the web app: every way in is tried on a real server, from the outside."""

from __future__ import annotations

import asyncio
import io
import re
import stat
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import psutil
import pytest

pytest.importorskip("nicegui", reason="the extra 'web' is not installed")
websockets = pytest.importorskip("websockets.sync.client")

from shoal.web import safety  # noqa: E402
from shoal.web.safety import Guard, hosts_of, seconds_to_wait  # noqa: E402
from tests.web.serving import ADDRESS, Served, serving  # noqa: E402

CSV = "patient,age,disease\np1,31,secretitis\np2,42,secretitis\np2,43,flu\n"
MEGABYTE = 1 << 20
PLACES = [
    "/", "/columns", "/risk", "/protect", "/release", "/assets/style.css", "/policy.toml", "/favicon.ico",
    "/runs/20240101-000000-abcd/release.zip", "/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/nothing-here",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("serving")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with serving(folder, "--project", "kept", "--max-upload", "2") as server:
        yield server


def files_in(folder: Path) -> set[str]:
    return {file.name for file in (folder / "kept" / "sources").iterdir()}


# The address


def test_the_address_stands_alone_on_its_line(served: Served) -> None:
    found = ADDRESS.fullmatch(served.lines[0].rstrip("\n"))
    assert found is not None
    assert found[1] == "127.0.0.1"
    assert len(found[3]) >= 40


def test_it_listens_on_loopback_only(served: Served) -> None:
    process = psutil.Process(served.process.pid)
    listening = [each.laddr for each in process.net_connections("inet") if each.status == psutil.CONN_LISTEN]
    assert [(place.ip, place.port) for place in listening] == [("127.0.0.1", served.port)]


# Token and cookie


@pytest.mark.parametrize("place", PLACES)
def test_without_the_cookie_nothing_is_answered(served: Served, place: str) -> None:
    with served.stranger() as stranger:
        answer = stranger.get(place)
    assert answer.status_code == 403
    assert "needs the address that shoal printed" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("place", PLACES)
def test_a_wrong_token_is_refused_with_a_page_that_says_so(served: Served, place: str) -> None:
    apart = "&" if "?" in place else "?"
    for token in ("", "x", served.token[:-1], served.token + "x", served.token.swapcase(), "\u00e9"):
        with served.stranger() as stranger:
            answer = stranger.get(f"{place}{apart}token={token}")
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        assert served.token not in answer.text
        if token:
            assert "The token of this address is wrong" in answer.text


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(served: Served) -> None:
    with served.stranger() as stranger:
        answer = stranger.get(served.address + "&x=1")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/?x=1"
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"shoal_{served.port}=")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
        assert served.token not in cookie
        assert stranger.get("/").status_code == 200
        again = stranger.get(f"/columns?token={served.token}")
        assert (again.status_code, again.headers["location"]) == (303, "/columns")


def test_a_redirect_never_leaves_the_server(served: Served) -> None:
    with served.stranger() as stranger:
        answer = stranger.get(f"{served.base}//elsewhere.example/?token={served.token}")
        split = stranger.get(f"{served.base}/x%0d%0aset-cookie:y=1?token={served.token}&z=%0d%0ay")
    assert answer.headers["location"] == "/elsewhere.example/"
    assert split.headers["location"] == "/x%0D%0Aset-cookie%3Ay%3D1?z=%0D%0Ay"
    assert "y=1" not in split.headers.get("set-cookie", "")


def test_a_made_up_cookie_is_refused(served: Served) -> None:
    name = f"shoal_{served.port}"
    for value in ("", "x", served.token, "a" * 43, '"', "\\"):
        answer = httpx.get(f"{served.base}/", headers={"cookie": f"{name}={value}; other==;;"}, timeout=60)
        assert answer.status_code == 403


def test_a_cookie_beside_those_of_others_is_found(served: Served) -> None:
    with served.steward() as steward:
        value = steward.cookies[f"shoal_{served.port}"]
    jumble = f'bad[name]=1; x="; shoal_{served.port}={value}; y=2'
    assert httpx.get(f"{served.base}/", headers={"cookie": jumble}, timeout=60).status_code == 200


def test_pages_answer_the_steward(served: Served) -> None:
    with served.steward() as steward:
        for place in ("/", "/columns", "/risk", "/protect", "/release"):
            answer = steward.get(place)
            assert answer.status_code == 200, place
            assert "text/html" in answer.headers["content-type"]


def test_a_token_of_an_earlier_start_does_not_work(served: Served, tmp_path: Path) -> None:
    with serving(tmp_path) as other:
        assert other.token != served.token
        with other.stranger() as stranger:
            assert stranger.get(f"/?token={served.token}").status_code == 403


def test_the_cookie_is_shown_once_more_after_a_link_from_another_site(served: Served) -> None:
    with served.stranger() as stranger:
        linked = stranger.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"})
        plain = stranger.get("/")
    assert linked.status_code == plain.status_code == 403
    assert 'http-equiv="refresh"' in linked.text
    assert 'http-equiv="refresh"' not in plain.text


# Host and origin


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
)
def test_another_host_is_refused_even_with_the_cookie(served: Served, host: str) -> None:
    with served.steward() as steward:
        answer = steward.get("/", headers={"host": host.format(port=served.port)})
        with_token = steward.get(served.address, headers={"host": host.format(port=served.port)})
    assert answer.status_code == with_token.status_code == 403
    assert "does not belong to shoal" in answer.text


def test_localhost_is_the_same_machine(served: Served) -> None:
    with served.steward() as steward:
        name = f"localhost:{served.port}"
        answer = steward.get("/", headers={"host": name, "origin": f"http://{name}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", ""])
@pytest.mark.parametrize("method", ["GET", "PUT", "POST"])
def test_another_origin_is_refused_even_with_the_cookie(served: Served, method: str, origin: str) -> None:
    with served.steward() as steward:
        answer = steward.request(method, "/files/records/x.csv", headers={"origin": origin}, content=b"a,b\n1,2\n")
    assert answer.status_code == 403
    assert "Another page asked" in answer.text


def test_what_changes_something_must_say_where_it_comes_from(served: Served, folder: Path) -> None:
    with served.steward() as steward:
        del steward.headers["origin"]
        answer = steward.put("/files/records/unsaid.csv", content=CSV.encode())
    assert answer.status_code == 403
    assert "unsaid.csv" not in files_in(folder)


# The socket


def socket_address(served: Served) -> str:
    return f"ws://127.0.0.1:{served.port}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


def opened(served: Served, **options: Any) -> str:
    with websockets.connect(socket_address(served), open_timeout=60, proxy=None, **options) as socket:
        return str(socket.recv(timeout=60))


def cookie_of(served: Served) -> dict[str, str]:
    name = f"shoal_{served.port}"
    with served.steward() as steward:
        return {"cookie": f"{name}={steward.cookies[name]}"}


def test_the_socket_opens_for_the_steward(served: Served) -> None:
    assert opened(served, additional_headers=cookie_of(served), origin=served.base).startswith("0{")


@pytest.mark.parametrize(
    ("has_cookie", "origin"),
    [(False, "own"), (True, "http://evil.example"), (True, None), (True, "null"), (False, None)],
)
def test_the_socket_is_refused_to_all_others(served: Served, has_cookie: bool, origin: str | None) -> None:
    from websockets.exceptions import WebSocketException

    headers = cookie_of(served) if has_cookie else {}
    with pytest.raises(WebSocketException, match="403"):
        opened(served, additional_headers=headers, origin=served.base if origin == "own" else origin)


def test_the_socket_is_refused_under_another_host(served: Served) -> None:
    from websockets.exceptions import WebSocketException

    address = socket_address(served).replace("127.0.0.1", "[::ffff:127.0.0.1]")
    with pytest.raises((WebSocketException, OSError)):
        websockets.connect(address, additional_headers=cookie_of(served), origin=served.base, proxy=None)


# Uploads


def test_a_file_is_streamed_into_the_private_folder(served: Served, folder: Path) -> None:
    with served.steward() as steward:
        answer = steward.put("/files/records/visits%202024.csv", content=CSV.encode())
    assert answer.status_code == 200
    file = folder / "kept" / "sources" / "visits 2024.csv"
    assert file.read_text() == CSV
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for private in (folder / "kept", folder / "kept" / "sources"):
        assert stat.S_IMODE(private.stat().st_mode) == 0o700


def test_a_file_that_is_too_large_is_refused_and_leaves_nothing(served: Served, folder: Path) -> None:
    before = files_in(folder)
    too_large = b"a,b\n" + b"1,2\n" * MEGABYTE
    with served.steward() as steward:
        told = steward.put("/files/records/large.csv", content=too_large)
        streamed = steward.put("/files/records/large.csv", content=(too_large[:4096] for _ in range(1024)))
    for answer in (told, streamed):
        assert answer.status_code == 413
        assert "This file is too large" in answer.text
        assert "2 MB" in answer.text
    assert files_in(folder) == before


def test_other_bodies_are_small(served: Served) -> None:
    with served.steward() as steward:
        answer = steward.post("/_nicegui_ws/socket.io/?EIO=4&transport=polling", content=b"x" * (MEGABYTE + 1))
    assert answer.status_code == 413


NAMES = [
    "..%2F..%2Fescaped.csv", "%2e%2e%2fescaped.csv", "..%5Cescaped.csv", "sub%2Fescaped.csv", "%2Fescaped.csv",
    ".escaped.csv", "escaped%00.csv", "escaped%0A.csv", "%20escaped.csv", "escaped.csv%20", "C:escaped.csv", "", "..",
    "a" * 300 + ".csv",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("purpose", ["records", "hierarchy"])
def test_a_name_with_a_path_in_it_is_refused(served: Served, folder: Path, name: str, purpose: str) -> None:
    with served.steward() as steward:
        answer = steward.put(f"/files/{purpose}/{name}", content=CSV.encode())
    assert answer.status_code in (400, 404, 405)
    assert not [file for file in folder.rglob("*") if "escaped" in file.name or file.name.startswith("aaa")]


def test_files_are_taken_for_known_purposes_only(served: Served) -> None:
    with served.steward() as steward:
        assert steward.put("/files/policy/x.csv", content=CSV.encode()).status_code == 400


def workbook() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return packed.getvalue()


def parquet() -> bytes:
    packed = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_parquet(packed)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("liar.parquet", CSV.encode(), "is not a Parquet file"),
        ("liar.csv", parquet(), "is a Parquet file"),
        ("book.xlsx", CSV.encode(), "is not a workbook"),
        ("book.csv", workbook(), "an Excel workbook, not a CSV file"),
        ("rubbish.csv", b"\x00\x01\xfe\x00" * 50, "is not a text file"),
        ("paper.csv", b"%PDF-1.7\n" + b"x" * 99, "a PDF document"),
        ("empty.csv", b"", "is empty"),
        ("program.exe", b"MZ" + b"\x00" * 50, "does not end like a table"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(
    served: Served, folder: Path, name: str, content: bytes, words: str
) -> None:
    with served.steward() as steward:
        answer = steward.put(f"/files/records/{name}", content=content)
    assert answer.status_code == 400
    assert words in answer.json()["message"]
    assert name in answer.json()["message"]
    assert name not in files_in(folder)
    assert not [file for file in files_in(folder) if file.endswith(".part")]


# Downloads


@pytest.mark.parametrize(
    "place",
    [
        "/runs/../project.json", "/runs/..%2Fproject.json", "/runs/%2e%2e/project.json",
        "/runs/x/..%2F..%2Fproject.json",
        "/runs/20240101-000000-abcd/..%2F..%2Fproject.json", "/assets/..%2Fserver.py", "/assets/%2e%2e%2fserver.py",
        "/assets/server.py", "/../../../../etc/passwd", "/_nicegui/..%2f..%2fetc%2fpasswd",
    ],
)  # fmt: skip
def test_a_path_outside_is_not_handed_out(served: Served, place: str) -> None:
    with served.steward() as steward:
        answer = steward.get(httpx.URL(served.base + "/").copy_with(raw_path=place.encode()))
    assert answer.status_code in (400, 404, 409, 405), answer.text[:200]
    assert "chosen" not in answer.text
    assert "root:" not in answer.text
    assert "import" not in answer.text.partition("<body")[0] or "importmap" in answer.text


def test_a_page_that_does_not_exist_is_told(served: Served) -> None:
    with served.steward() as steward:
        answer = steward.get("/nothing-here")
    assert answer.status_code == 404
    assert "There is no such page" in answer.text


# What answers carry


def test_every_answer_forbids_whatever_is_loaded_from_elsewhere(served: Served) -> None:
    with served.steward() as steward, served.stranger() as stranger:
        answers = [steward.get("/"), steward.get("/assets/style.css"), steward.get("/nothing"), stranger.get("/"),
                   steward.put("/files/records/x.xlsx", content=b"PK"), stranger.get(served.address)]  # fmt: skip
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert not re.search(r"https?:|wss?:|\*", policy)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


def test_pages_name_no_other_server(served: Served) -> None:
    with served.steward() as steward:
        for place in ("/", "/columns", "/assets/style.css", "/assets/page.js"):
            named = set(re.findall(r"(?:https?:)?//([\w.-]+\.\w+)", steward.get(place).text))
            assert named <= {"www.w3.org", "127.0.0.1"}, place


# Logs


def test_neither_values_nor_the_token_are_logged(folder: Path, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with server.steward() as steward:
            assert steward.put("/files/records/visits.csv", content=CSV.encode()).status_code == 200
            steward.put("/files/records/ragged.csv", content=b"a,b\nsecretitis\n")
            assert steward.get("/").status_code == 200
            steward.get("/nothing?value=secretitis")
            steward.post("/_nicegui_ws/socket.io/?EIO=4&transport=polling&sid=secretitis", content=b"secretitis")
        server.end()
        assert "secretitis" not in server.stderr
        assert server.token not in server.stderr
        assert "Traceback" not in server.stderr


# Open to other machines

PASSWORD = "a long and quiet word"


@pytest.fixture(scope="module")
def exposed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("exposed")
    (folder / "password").write_text(PASSWORD + "\nnot this\n")
    arguments = ["--host", "0.0.0.0", "--i-know-this-exposes-data", "--password-file", "password"]
    with serving(folder, *arguments) as server:
        server.address = server.address.replace("0.0.0.0", "127.0.0.1")
        yield server


def test_other_machines_need_the_token_and_the_password(exposed: Served) -> None:
    with exposed.stranger() as stranger:
        assert stranger.get("/").status_code == 403
        assert (
            stranger.post("/password", data={"password": PASSWORD}, headers={"origin": exposed.base}).status_code == 403
        )
        asked = stranger.get(exposed.address)
        assert asked.status_code == 200
        assert 'type="password"' in asked.text
        still = stranger.get("/")
        assert 'type="password"' in still.text
        assert (
            stranger.put("/files/records/x.csv", content=CSV.encode(), headers={"origin": exposed.base}).text
            == still.text
        )
        wrong = stranger.post("/password", data={"password": PASSWORD + "x"}, headers={"origin": exposed.base})
        assert wrong.status_code == 403
        assert "That is not the password" in wrong.text
        assert 'type="password"' in stranger.get("/").text
        elsewhere = stranger.post("/password", data={"password": PASSWORD}, headers={"origin": "http://evil.example"})
        assert elsewhere.status_code == 403
        right = stranger.post("/password", data={"password": PASSWORD}, headers={"origin": exposed.base})
        assert right.status_code == 303
        assert "HttpOnly" in right.headers["set-cookie"]
        assert "The first step" not in still.text
        assert stranger.get("/").status_code == 200
    assert PASSWORD not in exposed.stderr
    assert "not encrypted" in exposed.stderr


def test_an_exposed_server_offers_no_files_of_this_machine(exposed: Served) -> None:
    with exposed.stranger() as stranger:
        stranger.get(exposed.address)
        stranger.post("/password", data={"password": PASSWORD}, headers={"origin": exposed.base})
        assert "in the folder in which shoal was started" not in stranger.get("/").text


def test_wrong_passwords_are_slowed_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(safety.asyncio, "sleep", sleep)
    answers: list[int] = []

    async def attempt(guard: Guard, password: str) -> None:
        body = f"password={password}".encode()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answers.append(message["status"])

        await guard._try_password(receive, send)

    async def attempts() -> None:
        guard = Guard(None, token="t", hosts=(), max_upload=1, password="right")  # type: ignore[arg-type]
        await asyncio.gather(*(attempt(guard, "wrong") for _ in range(4)))
        await attempt(guard, "right")
        await attempt(guard, "wrong")

    with ThreadPoolExecutor(1) as thread:  # a browser test in this process may have left a loop in the main one
        thread.submit(asyncio.run, attempts()).result()
    assert waited == [0.0, 0.5, 1.0, 2.0, 4.0, 0.0]
    assert answers == [403, 403, 403, 403, 303, 403]


def test_waiting_has_an_end() -> None:
    assert seconds_to_wait(1000) == 30.0


def test_which_hosts_name_a_server() -> None:
    assert hosts_of("127.0.0.1", 8080) == {"127.0.0.1:8080", "localhost:8080", "[::1]:8080"}
    assert "192.168.1.7:8080" in hosts_of("192.168.1.7", 8080)
    assert "0.0.0.0:8080" not in hosts_of("0.0.0.0", 8080)
