import hashlib
import io
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from studies import download
from studies.download import NotFetchedError, Wanted, fetch


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the address on loopback at which it is served."""
    folder = tmp_path / "site"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def archive_of(**members: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, inside in members.items():
            archive.writestr(name, inside)
    return content.getvalue()


def test_files_and_members_of_archives_are_fetched_once(
    site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = site
    (folder / "plain.csv").write_bytes(b"a,b\n")
    (folder / "packed.zip").write_bytes(archive_of(inside=b"1,2\n"))
    wanted = [
        Wanted("some/plain.csv", f"{address}/plain.csv", sha256(b"a,b\n")),
        Wanted("some/packed.csv", f"{address}/packed.zip", sha256(b"1,2\n"), "inside"),
    ]
    monkeypatch.setitem(download.SOURCES, "some", wanted)
    data = tmp_path / "data"
    assert [became for _, became in fetch("some", data)] == ["fetched", "fetched"]
    assert (data / "some/plain.csv").read_bytes() == b"a,b\n"
    assert (data / "some/packed.csv").read_bytes() == b"1,2\n"
    (data / "some/plain.csv").write_bytes(b"mine")
    assert [became for _, became in fetch("some", data)] == ["there already, another", "there already"]
    assert (data / "some/plain.csv").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("served", "member", "told"),
    [
        (b"other", None, "another file"),
        (b"no archive", "inside", "no archive"),
        (archive_of(elsewhere=b"x"), "inside", "no archive"),
        (None, None, "does not answer"),
    ],
)
def test_what_is_not_as_studied_is_not_kept(
    site: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bytes | None, member: str | None,
    told: str,
) -> None:  # fmt: skip
    folder, address = site
    if served is not None:
        (folder / "file").write_bytes(served)
    monkeypatch.setitem(download.SOURCES, "some", [Wanted("some/file", f"{address}/file", sha256(b"right"), member)])
    with pytest.raises(NotFetchedError, match=told):
        list(fetch("some", tmp_path / "data"))
    assert not list((tmp_path / "data").rglob("*.*"))
    assert not (tmp_path / "data" / "some" / "file").exists()


@pytest.mark.data
@pytest.mark.parametrize("name", download.SOURCES)
def test_the_sums_are_those_of_the_tables_that_were_studied(name: str) -> None:
    from studies.data import data_folder

    files = [data_folder() / wanted.path for wanted in download.SOURCES[name]]
    if not all(file.exists() for file in files):
        pytest.skip(f"{name} is not in the folder that SHOAL_DATA names")
    assert {became for _, became in fetch(name, data_folder())} == {"there already"}
