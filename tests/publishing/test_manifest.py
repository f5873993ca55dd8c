"""The manifest names what is in a release folder, and notices what is no longer so."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError
from shoal.publishing.manifest import (
    MANIFEST_PATH,
    check_manifest,
    read_manifest,
    sha256_of_file,
    write_manifest,
)

NOON = datetime(2024, 5, 1, 12, 0, tzinfo=timezone(timedelta(hours=2)))
SEED = (1 << 127) + 1


def fill(folder: Path) -> Path:
    (folder / "steward").mkdir(parents=True)
    (folder / "release.csv").write_bytes(b"age,disease\n84-86,flu\n")
    (folder / "codebook.json").write_bytes(b"{}")
    (folder / "steward" / "policy.toml").write_bytes(b"seed = 7\n")
    return folder


def describe(folder: Path, **changed: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "inputs": [],
        "policy_text": "seed = 7\n",
        "seed": SEED,
        "started": NOON,
        "finished": NOON + timedelta(seconds=90),
        "extra": {},
    }
    return write_manifest(folder, **{**options, **changed})


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = fill(tmp_path / "out")
    write_manifest(
        folder, inputs=[], policy_text="", seed=SEED, started=NOON, finished=NOON, extra={"verdict": {"holds": True}}
    )
    return folder


@given(n_bytes=st.sampled_from([0, 1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 << 20]))
@settings(deadline=None, max_examples=6)
def test_hash_of_a_file_is_the_hash_of_its_bytes(tmp_path_factory: pytest.TempPathFactory, n_bytes: int) -> None:
    path = tmp_path_factory.mktemp("hash") / "file"
    path.write_bytes(bytes(range(251)) * (n_bytes // 251) + b"x" * (n_bytes % 251))
    assert sha256_of_file(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_manifest_lists_files_inputs_versions_times_and_seed(tmp_path: Path) -> None:
    visits = tmp_path / "secret-project" / "visits.csv"
    visits.parent.mkdir()
    visits.write_bytes(b"id,age\n1,84\n")
    manifest = describe(fill(tmp_path / "out"), inputs=[visits], extra={"verdict": {"holds": True}})
    assert manifest["made_by"] == "shoal"
    assert manifest["seed"] == str(SEED)
    assert manifest["started"] == "2024-05-01T10:00:00.000+00:00"
    assert manifest["finished"] == "2024-05-01T10:01:30.000+00:00"
    assert manifest["python"] == platform.python_version()
    assert {"polars", "numpy", "numba"} <= manifest["packages"].keys()
    assert manifest["inputs"] == [
        {"name": "visits.csv", "bytes": 12, "sha256": hashlib.sha256(b"id,age\n1,84\n").hexdigest()}
    ]
    assert [entry["path"] for entry in manifest["files"]] == ["codebook.json", "release.csv", "steward/policy.toml"]
    assert manifest["files"][0] == {"path": "codebook.json", "bytes": 2, "sha256": hashlib.sha256(b"{}").hexdigest()}
    assert manifest["policy_sha256"] == hashlib.sha256(b"seed = 7\n").hexdigest()
    assert manifest["verdict"] == {"holds": True}


def test_manifest_names_no_host_no_user_and_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "steward-of-the-house")
    monkeypatch.setattr(platform, "node", lambda: "host-of-the-house")
    visits = tmp_path / "secret-project" / "visits.csv"
    visits.parent.mkdir()
    visits.write_bytes(b"")
    text = json.dumps(describe(fill(tmp_path / "out"), inputs=[visits]))
    assert getpass.getuser() == "steward-of-the-house"
    for private in ("steward-of-the-house", "host-of-the-house", os.uname().nodename, "secret-project", str(tmp_path)):
        assert private not in text


def test_input_that_vanished_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'visits\.csv' was read, but can no longer be"):
        describe(fill(tmp_path / "out"), inputs=[tmp_path / "visits.csv"])


def test_pipe_as_input_is_listed_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    manifest = describe(fill(tmp_path / "out"), inputs=[tmp_path / "pipe"])
    assert manifest["inputs"] == [{"name": "pipe", "bytes": None, "sha256": None}]


def test_time_without_zone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'finished'"):
        describe(fill(tmp_path / "out"), finished=datetime(2024, 5, 1))


def test_extra_entry_cannot_replace_one_of_ours(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="files, seed"):
        describe(fill(tmp_path / "out"), extra={"seed": 1, "files": [], "verdict": {}})


def test_written_manifest_reads_back_and_the_folder_is_whole(release: Path) -> None:
    manifest = read_manifest(release)
    assert manifest is not None
    assert manifest["seed"] == str(SEED)
    assert check_manifest(release) == []


def test_times_are_those_of_the_run_not_of_the_hashing(release: Path) -> None:
    manifest = read_manifest(release)
    assert manifest is not None
    assert datetime.fromisoformat(str(manifest["started"])) == NOON.astimezone(UTC)


def test_changed_file_of_the_same_size_is_noticed(release: Path) -> None:
    (release / "release.csv").write_bytes(b"age,disease\n84-87,flu\n")
    assert check_manifest(release) == [
        "The file 'release.csv' has changed: its SHA-256 is not the one in the manifest."
    ]


def test_changed_size_absent_and_added_files_are_each_named(release: Path) -> None:
    (release / "release.csv").write_bytes(b"")
    (release / "codebook.json").unlink()
    (release / "steward" / "notes.txt").write_text("mine")
    assert check_manifest(release) == [
        "The file 'codebook.json' is listed in the manifest but absent from the folder.",
        "The file 'release.csv' has changed: its size, 0 bytes, is not the one in the manifest.",
        "The file 'steward/notes.txt' is not listed in the manifest.",
    ]


def test_link_or_pipe_in_the_place_of_a_file_is_noticed_and_not_opened(release: Path) -> None:
    (release / "release.csv").rename(release.parent / "elsewhere.csv")
    (release / "release.csv").symlink_to(release.parent / "elsewhere.csv")
    (release / "codebook.json").unlink()
    os.mkfifo(release / "codebook.json")
    assert check_manifest(release) == [
        "The file 'codebook.json' is no longer a regular file.",
        "The file 'release.csv' is no longer a regular file.",
    ]


def test_linked_steward_folder_is_no_manifest(release: Path) -> None:
    (release / "steward").rename(release.parent / "steward")
    (release / "steward").symlink_to(release.parent / "steward")
    assert read_manifest(release) is None
    assert check_manifest(release) == [
        "The manifest 'steward/manifest.json' is absent, so the files of the folder cannot be checked."
    ]


def test_absent_folder_is_a_sentence(tmp_path: Path) -> None:
    assert check_manifest(tmp_path / "out") == [f"The release folder {str(tmp_path / 'out')!r} does not exist."]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"made_by": "shoal"}',
        b'{"made_by": "another", "files": []}',
        b'{"made_by": "shoal", "files": {}}',
        b"[" * 100_000,
        b'{"made_by": "shoal", "files": [], "seed": ' + b"9" * 5000 + b"}",
    ],
    ids=["empty", "no text", "list", "bare", "no files", "of another", "files no list", "deep", "long number"],
)
def test_manifest_that_is_not_ours_is_a_sentence(release: Path, content: bytes) -> None:
    (release / MANIFEST_PATH).write_bytes(content)
    assert check_manifest(release) == [
        "The manifest 'steward/manifest.json' cannot be read as one written by shoal, so the files of the folder "
        "cannot be checked."
    ]


@pytest.mark.parametrize("path", ["/etc/passwd", "../elsewhere.csv", "a\0b", "\ud800", "steward", "x" * 5000, ""])
def test_listed_path_that_leads_nowhere_is_absent(release: Path, path: str) -> None:
    (release.parent / "elsewhere.csv").write_bytes(b"")
    manifest = json.loads((release / MANIFEST_PATH).read_text())
    manifest["files"].append({"path": path, "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()})
    (release / MANIFEST_PATH).write_text(json.dumps(manifest))
    assert check_manifest(release) == [f"The file {path!r} is listed in the manifest but absent from the folder."]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["release.csv", "../x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "bytes", "sha256"]), inner),
)


@given(files=st.lists(json_values, max_size=5))
@settings(deadline=None)
def test_no_manifest_makes_the_check_raise_or_call_the_folder_whole(
    tmp_path_factory: pytest.TempPathFactory, files: list[object]
) -> None:
    folder = fill(tmp_path_factory.mktemp("release") / "out")
    (folder / MANIFEST_PATH).write_text(json.dumps({"made_by": "shoal", "files": files}))
    sentences = check_manifest(folder)
    assert len(sentences) >= 3
    assert all(sentence.endswith(".") for sentence in sentences)


def test_file_name_that_is_no_text_is_listed_and_checked(tmp_path: Path) -> None:
    folder = fill(tmp_path / "out")
    name = os.path.join(os.fsencode(folder), b"r\xe9sum\xe9.csv")
    try:
        with open(name, "wb") as file:
            file.write(b"1")
    except OSError:
        pytest.skip("this file system takes only names that are text")
    write_manifest(folder, inputs=[], policy_text="", seed=1, started=NOON, finished=NOON, extra={})
    assert check_manifest(folder) == []
    os.unlink(name)
    (sentence,) = check_manifest(folder)
    assert (
        sentence.encode("utf-8") == rb"The file 'r\udce9sum\udce9.csv' is listed in the manifest but absent from "
        rb"the folder."
    )
