"""A release folder is swapped in whole: whatever happens, the old one or the new one is there, never half of one."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shoal.errors import OutputError, ShoalWarning
from shoal.publishing import folder as folder_module
from shoal.publishing.folder import finish_interrupted, replacing_folder
from shoal.publishing.manifest import check_manifest, write_manifest
from tests.tiers import long_but_for

SOURCE = Path(folder_module.__file__).parents[2]
NOW = datetime(2024, 5, 1, tzinfo=UTC)
TOKEN = "0123456789abcdef"


def fill(folder: Path, words: str) -> None:
    """A small release whose every file carries the same words, so that a mixture of two would show."""
    (folder / "steward").mkdir()
    for path in ("release.csv", "codebook.json", "steward/policy.toml", "steward/report.json"):
        (folder / path).write_text(words)
    write_manifest(folder, inputs=[], policy_text=words, seed=1, started=NOW, finished=NOW, extra={"words": words})


def publish(target: Path, words: str, *, overwrite: bool = True) -> None:
    with replacing_folder(target, overwrite=overwrite) as folder:
        fill(folder, words)


def modes_in(folder: Path) -> set[int]:
    """The permissions of a folder and of what is in it."""
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def words_in(target: Path) -> str:
    """The words of a release that is whole."""
    assert check_manifest(target) == []
    words = {path.read_text() for path in target.rglob("*") if path.is_file() and path.name != "manifest.json"}
    assert words == {json.loads((target / "steward" / "manifest.json").read_text())["words"]}
    return words.pop()


def beside(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir() if path != target)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(params=["exchange", "two steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to swap: where the system exchanges two folders, and where it cannot."""
    if request.param == "two steps":
        monkeypatch.setattr(folder_module, "_renameat2", lambda: None)
    return str(request.param)


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


class StopError(Exception):
    """Something that goes wrong in the block."""


# A clean exit


def test_absent_target_is_made(target: Path, way: str) -> None:
    publish(target, "first", overwrite=False)
    assert words_in(target) == "first"
    assert beside(target) == []


def test_empty_target_is_filled(target: Path, way: str) -> None:
    target.mkdir()
    publish(target, "first", overwrite=False)
    assert words_in(target) == "first"
    assert beside(target) == []


def test_earlier_release_is_replaced_whole(target: Path, way: str) -> None:
    publish(target, "first")
    (target / "steward" / "report.html").write_text("a report made later")
    publish(target, "second")
    assert words_in(target) == "second"
    assert beside(target) == []


def test_target_may_be_relative_and_have_an_odd_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.chdir(tmp_path)
    for words in ("first", "second"):
        publish(Path("out [1]*.d"), words)
    assert words_in(tmp_path / "out [1]*.d") == "second"
    assert beside(tmp_path / "out [1]*.d") == []


def test_folder_around_target_may_be_a_link(tmp_path: Path, way: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for words in ("first", "second"):
        publish(tmp_path / "link" / "out", words)
    assert words_in(tmp_path / "real" / "out") == "second"


def test_folder_is_empty_hidden_and_private_while_it_is_filled(target: Path, usual_umask: None) -> None:
    publish(target, "first")
    with replacing_folder(target, overwrite=True) as folder:
        assert folder.parent == target.parent
        assert re.fullmatch(r"\.out\.shoal-new-[0-9a-f]{16}", folder.name)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert list(folder.iterdir()) == []
        assert words_in(target) == "first"
        fill(folder, "second")


def test_new_folder_gets_the_usual_permissions(target: Path, usual_umask: None) -> None:
    publish(target, "first")
    assert stat.S_IMODE(target.stat().st_mode) == 0o750


def test_folder_that_was_closed_to_others_stays_closed(target: Path, usual_umask: None, way: str) -> None:
    target.mkdir(mode=0o700)
    for words in ("first", "second"):
        publish(target, words)
        assert stat.S_IMODE(target.stat().st_mode) == 0o700


def test_all_is_on_disk_before_the_swap(target: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(target, "first")
    synced: set[int] = set()
    unsynced_at_swap: list[str] = []
    real_fsync, real_rename, real_exchange = os.fsync, os.rename, folder_module._exchange

    def fsync(descriptor: int) -> None:
        synced.add(os.fstat(descriptor).st_ino)
        real_fsync(descriptor)

    def look(source: Path) -> None:
        if ".shoal-new-" in source.name:
            everything = [source, *source.rglob("*")]
            unsynced_at_swap.append(",".join(path.name for path in everything if path.stat().st_ino not in synced))

    def rename(source: Path, destination: Path) -> None:
        look(Path(source))
        real_rename(source, destination)

    def exchange(first: Path, second: Path) -> bool:
        look(first)
        return real_exchange(first, second)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "rename", rename)
    monkeypatch.setattr(folder_module, "_exchange", exchange)
    publish(target, "second")
    assert unsynced_at_swap
    assert set(unsynced_at_swap) == {""}
    assert target.parent.stat().st_ino in synced


@pytest.mark.skipif(folder_module._renameat2() is None, reason="this system cannot exchange two folders")
def test_exchange_is_used_where_the_system_has_it(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(target, "first")
    probe = target.with_name("probe")
    probe.mkdir()
    if not folder_module._exchange(probe, target):
        pytest.skip("this file system cannot exchange two folders")
    folder_module._exchange(probe, target)
    monkeypatch.setattr(folder_module, "_swap_in_two_steps", lambda *_: pytest.fail("took two steps"))
    publish(target, "second")
    assert words_in(target) == "second"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP])
def test_file_system_without_exchange_takes_two_steps(
    target: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> int:
        ctypes.set_errno(number)
        return -1

    publish(target, "first")
    monkeypatch.setattr(folder_module, "_renameat2", lambda: refuse)
    publish(target, "second")
    assert words_in(target) == "second"
    assert beside(target) == []


def test_exchange_that_fails_for_another_reason_changes_nothing(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        ctypes.set_errno(errno.EBUSY)
        return -1

    publish(target, "first")
    monkeypatch.setattr(folder_module, "_renameat2", lambda: refuse)
    with pytest.raises(OutputError, match="mount point"):
        publish(target, "second")
    assert words_in(target) == "first"
    assert beside(target) == []


# An error in the block


@pytest.mark.parametrize("error", [StopError, KeyboardInterrupt, SystemExit, OutputError])
@pytest.mark.parametrize("is_there", [False, True])
def test_error_in_the_block_leaves_target_as_it_was(target: Path, error: type[BaseException], is_there: bool) -> None:
    if is_there:
        publish(target, "first")

    def fail() -> None:
        with replacing_folder(target, overwrite=True) as folder:
            fill(folder, "second")
            raise error

    with pytest.raises(error):
        fail()
    assert beside(target) == []
    assert words_in(target) == "first" if is_there else not target.exists()


def test_second_step_that_fails_is_undone(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_rename = os.rename

    def rename(source: Path, destination: Path) -> None:
        if ".shoal-ready-" in Path(source).name and Path(destination) == target:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real_rename(source, destination)

    publish(target, "first")
    monkeypatch.setattr(folder_module, "_renameat2", lambda: None)
    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(OutputError, match=r"input/output error\. Nothing was written"):
        publish(target, "second")
    assert words_in(target) == "first"
    assert beside(target) == []


def test_unconfirmed_swap_is_not_called_nothing_written(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_sync = folder_module._sync_folder

    def sync(path: Path) -> None:
        if path == target.parent:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real_sync(path)

    monkeypatch.setattr(folder_module, "_sync_folder", sync)
    with pytest.raises(OutputError, match=r"is in .* but the system cannot confirm") as caught:
        publish(target, "first")
    assert "Nothing was written" not in str(caught.value)
    assert words_in(target) == "first"


def test_old_folder_that_cannot_be_removed_is_warned_of(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    publish(target, "first")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", refuse)
        with pytest.warns(ShoalWarning, match=r"could not be removed: input/output error.*remove it by hand"):
            publish(target, "second")
    assert words_in(target) == "second"
    assert len(beside(target)) == 1
    finish_interrupted(target)
    assert beside(target) == []


# A full disk


def polars_says(number: int) -> Exception:
    """How polars reports what the system refused: without a number, and for Parquet not as an OSError."""
    from polars.exceptions import ComputeError

    return ComputeError(f"parquet: underlying IO error: {os.strerror(number)} (os error {number})")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "no space left on device"),
        (OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)), "disk quota exceeded"),
        (OSError(f"{os.strerror(errno.ENOSPC)} (os error {errno.ENOSPC})"), "no space left on device"),
        (polars_says(errno.ENOSPC), "no space left on device"),
        (polars_says(errno.EFBIG), "file too large"),
        (OSError("the text of a cell"), "the system reported an error"),
    ],
    ids=["full", "quota", "polars CSV", "polars Parquet", "too large", "no number"],
)
def test_what_the_system_refuses_is_an_output_error(target: Path, error: Exception, words: str) -> None:
    def fail() -> None:
        with replacing_folder(target, overwrite=True) as folder:
            fill(folder, "second")
            raise error

    publish(target, "first")
    with pytest.raises(OutputError, match=rf"out': {words}\. Nothing was written\."):
        fail()
    assert words_in(target) == "first"
    assert beside(target) == []


def test_error_that_is_not_of_the_system_stays_itself(target: Path) -> None:
    def fail() -> None:
        with replacing_folder(target, overwrite=False):
            raise ValueError("a fault in the program")

    with pytest.raises(ValueError, match="a fault in the program"):
        fail()


def test_file_larger_than_the_system_allows(target: Path) -> None:
    publish(target, "first")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(OutputError, match=r"file too large\. Nothing was written"):
            publish(target, "second" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert words_in(target) == "first"
    assert beside(target) == []


FULL_DISK = """
import sys
from pathlib import Path
import polars as pl
from shoal.errors import OutputError
from shoal.publishing.folder import replacing_folder
target = Path(sys.argv[1], "out")
numbers = pl.DataFrame({"number": range(1_000_000)})
writers = {
    "plain": lambda folder: (folder / "release.csv").write_bytes(bytes(10_000_000)),
    "csv": lambda folder: numbers.write_csv(folder / "release.csv"),
    "parquet": lambda folder: numbers.write_parquet(folder / "release.parquet", compression="uncompressed"),
}
for name, write in writers.items():
    try:
        with replacing_folder(target, overwrite=True) as folder:
            write(folder)
    except OutputError as error:
        print(name, "no space left on device. Nothing was written." in str(error), len(list(target.parent.iterdir())))
"""


def test_disk_that_is_really_full(tmp_path: Path) -> None:
    mount = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            ["unshare", "--mount", "sh", "-c", mount, str(tmp_path), "true"], capture_output=True, check=False
        ).returncode
    ):
        pytest.skip("a small disk can be mounted only by an administrator on Linux")
    ran = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, str(tmp_path), sys.executable, "-c", FULL_DISK, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == ["plain True 0", "csv True 0", "parquet True 0"]


# What is never replaced


def refused(target: Path, match: str, *, overwrite: bool = True, inputs: list[Path] | None = None) -> None:
    """The place is refused before anything is made."""

    def run() -> None:
        with replacing_folder(target, overwrite=overwrite, inputs=inputs or []):
            pytest.fail("the place was accepted")

    with pytest.raises(OutputError, match=match) as caught:
        run()
    assert "Nothing was written" in str(caught.value)
    parent = Path(target).parent
    assert not [path for path in parent.iterdir() if ".shoal-" in path.name] if parent.is_dir() else True


def test_release_is_replaced_only_when_asked(target: Path) -> None:
    publish(target, "first")
    refused(target, r"not empty \(5 files\).*overwrite=True", overwrite=False)
    assert words_in(target) == "first"


@pytest.mark.parametrize("manifest", [None, b"{}", b'{"made_by": "another", "files": []}', b"\xff"])
def test_folder_that_is_no_release_is_not_overwritten(target: Path, manifest: bytes | None) -> None:
    target.mkdir()
    (target / "release.csv").write_text("mine")
    if manifest is not None:
        (target / "steward").mkdir()
        (target / "steward" / "manifest.json").write_bytes(manifest)
    refused(target, "no release of shoal")
    assert (target / "release.csv").read_text() == "mine"


def test_files_that_shoal_did_not_write_are_never_deleted(target: Path) -> None:
    publish(target, "first")
    (target / "release.csv.bak").write_text("mine")
    (target / "notes" / "2024").mkdir(parents=True)
    (target / "notes" / "2024" / "notes.txt").write_text("mine")
    refused(target, r"delete 2 files that shoal did not write \('notes/2024/notes.txt', 'release.csv.bak'\)")
    assert (target / "notes" / "2024" / "notes.txt").read_text() == "mine"


def test_link_in_a_release_is_not_by_shoal(target: Path) -> None:
    publish(target, "first")
    (target / "release.csv").unlink()
    (target / "release.csv").symlink_to(target.parent)
    refused(target, r"1 files that shoal did not write \('release.csv'\)")


@pytest.mark.parametrize("overwrite", [False, True])
def test_file_put_in_target_while_the_release_was_made_is_kept(target: Path, overwrite: bool) -> None:
    def run() -> None:
        with replacing_folder(target, overwrite=overwrite) as folder:
            fill(folder, "second")
            (target / "notes.txt").write_text("mine")

    if overwrite:
        publish(target, "first")
    else:
        target.mkdir()
    with pytest.raises(OutputError, match=r"did not write \('notes.txt'\)" if overwrite else "not empty"):
        run()
    assert (target / "notes.txt").read_text() == "mine"
    assert beside(target) == []


@pytest.mark.parametrize("spelling", ["out/release.csv", "link/release.csv", "link.csv", "out", "other/../out/x/y.csv"])
def test_input_in_target_is_refused(target: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    publish(target, "first")
    monkeypatch.chdir(target.parent)
    Path("other").mkdir()
    Path("link").symlink_to(target)
    Path("link.csv").symlink_to(target / "release.csv")
    refused(target, f"the input '{Path(spelling).name}' lies in it", inputs=[Path("elsewhere.csv"), Path(spelling)])
    assert words_in(target) == "first"


def test_input_beside_target_is_no_obstacle(target: Path) -> None:
    publish(target, "first")
    visits = target.with_name("out.csv")
    visits.write_text("")
    with replacing_folder(target, overwrite=True, inputs=[visits]) as folder:
        fill(folder, "second")
    assert words_in(target) == "second"


def test_file_in_the_place_of_target_is_refused(target: Path) -> None:
    target.write_text("mine")
    refused(target, "it is a file")
    assert target.read_text() == "mine"


@pytest.mark.parametrize("leads_to", ["real", "nowhere"])
def test_link_in_the_place_of_target_is_refused(target: Path, leads_to: str) -> None:
    target.with_name("real").mkdir()
    target.symlink_to(leads_to)
    refused(target, "it is a link")
    assert target.is_symlink()


@pytest.mark.parametrize("parent", ["absent", "file", "circle"])
def test_folder_around_target_must_exist(tmp_path: Path, parent: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "circle").symlink_to("circle")
    refused(tmp_path / parent / "out", "is not an existing folder")


@pytest.mark.parametrize("spelling", [".", "", "steward/..", "../out", "steward/../../out"])
def test_folder_one_is_in_is_not_replaced(target: Path, monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    publish(target, "first")
    monkeypatch.chdir(target)
    with pytest.raises(OutputError, match="folder you are in"), replacing_folder(spelling, overwrite=True):
        pytest.fail("the place was accepted")
    assert words_in(target) == "first"


def test_name_too_long_for_the_system(tmp_path: Path) -> None:
    refused(tmp_path / ("x" * 250), "file name too long")


NO_PERMISSION = """
import os, sys
from shoal.errors import OutputError
from shoal.publishing.folder import finish_interrupted, replacing_folder
if os.getuid() == 0:
    os.setuid(65534)
try:
    with replacing_folder(sys.argv[1] + "/out", overwrite=False):
        print("accepted")
except OutputError as error:
    print(error)
try:
    finish_interrupted(sys.argv[1] + "/interrupted")
except OutputError as error:
    print(error)
finish_interrupted(sys.argv[1] + "/there")
"""


def test_folder_around_target_must_be_writable() -> None:
    with tempfile.TemporaryDirectory() as parent:
        Path(parent, f".interrupted.shoal-old-{TOKEN}").mkdir()
        Path(parent, f".there.shoal-new-{TOKEN}").mkdir()
        Path(parent, "there").mkdir()
        os.chmod(parent, 0o555)
        ran = subprocess.run(
            [sys.executable, "-c", NO_PERMISSION, parent],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            check=True,
        )
        os.chmod(parent, 0o755)
        refusal, interruption = ran.stdout.splitlines()
        assert f"you may not write to {os.path.realpath(parent)!r}" in refusal
        assert "interrupted" in interruption
        assert "permission denied" in interruption
        assert len(os.listdir(parent)) == 3


# What a killed run leaves


@pytest.fixture
def leave(target: Path) -> Callable[..., Path]:
    """Puts a hidden folder beside the target, as a killed run would."""

    def put(kind: str, words: str) -> Path:
        path = target.with_name(f".out.shoal-{kind}-{TOKEN}")
        path.mkdir()
        fill(path, words)
        return path

    return put


def test_nothing_left_is_nothing_done(target: Path) -> None:
    finish_interrupted(target)
    finish_interrupted(target / "absent" / "out")
    assert list(target.parent.iterdir()) == []


def test_ready_folder_takes_the_empty_place(target: Path, leave: Callable[..., Path]) -> None:
    leave("old", "first")
    leave("ready", "second")
    leave("new", "third")
    finish_interrupted(target)
    assert words_in(target) == "second"
    assert beside(target) == []


def test_old_folder_is_put_back_when_there_is_no_other(target: Path, leave: Callable[..., Path]) -> None:
    leave("old", "first")
    leave("new", "second")
    finish_interrupted(target)
    assert words_in(target) == "first"
    assert beside(target) == []


@pytest.mark.parametrize("kind", ["new", "gone"])
def test_unfinished_folder_is_never_put_in_place(target: Path, leave: Callable[..., Path], kind: str) -> None:
    leave(kind, "second")
    finish_interrupted(target)
    assert list(target.parent.iterdir()) == []


def test_target_that_is_there_stays(target: Path, leave: Callable[..., Path]) -> None:
    publish(target, "first")
    for kind in ("new", "ready", "old", "gone"):
        leave(kind, "second")
    finish_interrupted(target)
    assert words_in(target) == "first"
    assert beside(target) == []


def test_half_removed_old_folder_is_not_put_back_later(
    target: Path, leave: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(target, "second")
    leave("old", "first")

    def stop_halfway(path: Path) -> None:
        (path / "release.csv").unlink()
        raise StopError

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stop_halfway)
        with pytest.raises(StopError):
            finish_interrupted(target)
    shutil.rmtree(target)
    finish_interrupted(target)
    assert list(target.parent.iterdir()) == []


@pytest.mark.filterwarnings("error")
def test_names_that_only_look_like_ours_are_left_alone(tmp_path: Path) -> None:
    others = [f".out.shoal-new-{TOKEN}x", ".out.shoal-new-", f".outer.shoal-new-{TOKEN}", f"out.shoal-old-{TOKEN}"]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / f".out.shoal-new-{TOKEN}").symlink_to(tmp_path / others[0])
    finish_interrupted(tmp_path / "out")
    publish(tmp_path / "out", "first")
    assert len(list(tmp_path.iterdir())) == len(others) + 2


CLOSED_TO_ITS_OWNER = """
import os, sys, warnings
from pathlib import Path
from shoal.publishing.folder import finish_interrupted
warnings.simplefilter("error")
if os.getuid() == 0:
    os.setuid(65534)
closed = Path(sys.argv[1])
(closed / "steward" / "deeper").mkdir(parents=True)
(closed / "steward" / "deeper" / "file").touch()
for path in (closed / "steward" / "deeper", closed / "steward", closed):
    path.chmod(0)
finish_interrupted(closed.with_name("out"))
"""


def test_folder_closed_to_its_owner_is_removed_too() -> None:
    with tempfile.TemporaryDirectory() as parent:
        os.chmod(parent, 0o777)
        subprocess.run(
            [sys.executable, "-c", CLOSED_TO_ITS_OWNER, str(Path(parent, f".out.shoal-new-{TOKEN}"))],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            check=True,
        )
        assert os.listdir(parent) == []


# A run is killed before every line of folder.py that it passes and before every file or folder that it removes. Each
# run is a process of its own, forked from one that has imported everything. Only a power cut would show whether fsync
# was called, so it is left out to be quick, as are the versions of packages.
KILL_EVERYWHERE = """
import json, os, shutil, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from shoal.publishing import folder as folder_module, manifest as manifest_module
from shoal.publishing.folder import finish_interrupted, replacing_folder
from shoal.publishing.manifest import check_manifest, write_manifest
home, way, start, stride = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
os.fsync = lambda descriptor: None
manifest_module._version_of = lambda package: None
if way == "two steps":
    folder_module._renameat2 = lambda: None
NOW = datetime(2024, 5, 1, tzinfo=UTC)
WATCHED = {folder_module.__file__, __file__}

def fill(folder, words):
    (folder / "steward").mkdir()
    for path in ("release.csv", "codebook.json", "steward/policy.toml"):
        (folder / path).write_text(words)
    write_manifest(folder, inputs=[], policy_text="", seed=1, started=NOW, finished=NOW, extra={})

def publish(target, words):
    with replacing_folder(target, overwrite=True) as folder:
        fill(folder, words)

def kill_at_step(last):
    n_steps = 0
    def step():
        nonlocal n_steps
        n_steps += 1
        if n_steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
    def counted(function):
        def call(*arguments, **options):
            step()
            return function(*arguments, **options)
        return call
    def trace(frame, event, argument):
        if frame.f_code.co_filename not in WATCHED or frame.f_code.co_name in ("step", "counted", "call"):
            return None
        if event == "line":
            step()
        return trace
    os.unlink, os.rmdir = counted(os.unlink), counted(os.rmdir)
    sys.settrace(trace)

def state(target):
    if not target.exists():
        return "absent"
    assert check_manifest(target) == [], (target, check_manifest(target))
    words = {(target / path).read_text() for path in ("release.csv", "codebook.json", "steward/policy.toml")}
    assert len(words) == 1, words
    return words.pop()

seen = []
number = 1
while True:
    parent = home / str(number)
    parent.mkdir()
    target = parent / "out"
    if start == "release":
        publish(target, "first")
    elif start == "empty":
        target.mkdir()
    process = os.fork()
    if process == 0:
        kill_at_step(number)
        publish(target, "second")
        sys.settrace(None)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    survived = os.WIFEXITED(status)
    assert survived or os.WTERMSIG(status) == signal.SIGKILL, status
    empty = target.exists() and not any(target.iterdir())
    killed = "empty" if empty else state(target)
    finish_interrupted(target)
    empty = target.exists() and not any(target.iterdir())
    settled = "empty" if empty else state(target)
    left = sorted(path.name for path in parent.iterdir() if path.name not in ("out", ".out.shoal-lock"))
    publish(target, "third")
    assert state(target) == "third"
    assert [path.name for path in parent.iterdir()] == ["out"], list(parent.iterdir())
    seen.append([number, killed, settled, left])
    shutil.rmtree(parent)
    if survived:
        break
    number += stride
print(json.dumps(seen))
"""


def kill_everywhere(home: Path, way: str, start: str, stride: int) -> list[tuple[int, str, str, list[str]]]:
    script = home / "kill_everywhere.py"
    script.write_text(KILL_EVERYWHERE)
    ran = subprocess.run(
        [sys.executable, str(script), str(home), way, start, str(stride)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return [tuple(point) for point in json.loads(ran.stdout)]


@pytest.mark.parametrize("start", long_but_for(["release"], ["release", "empty", "absent"]))
@pytest.mark.parametrize("swap", ["exchange", "two steps"])
def test_kill_at_any_step_leaves_the_old_folder_or_the_new_one(tmp_path: Path, swap: str, start: str) -> None:
    points = kill_everywhere(tmp_path, swap, start, 1 if start == "release" else 3)
    before = {"release": "first"}.get(start, start)
    assert len(points) > 50
    assert {settled for _, _, settled, _ in points} == {before, "second"}
    assert all(left == [] for *_, left in points)
    whole_without_help = {before, "second"} if swap == "exchange" else {before, "second", "absent"}
    assert {killed for _, killed, _, _ in points} <= whole_without_help
    if swap == "two steps" and start == "release":
        assert "absent" in {killed for _, killed, _, _ in points}, "the moment between the two steps was not met"


# Two runs at once

HOLD = """
import sys
from shoal.publishing.folder import replacing_folder
with replacing_folder(sys.argv[1], overwrite=True) as folder:
    (folder / "half").write_text("half")
    print(folder.name, flush=True)
    sys.stdin.readline()
    (folder / "half").unlink()
    raise SystemExit(0)
"""


@pytest.fixture
def other_run(target: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that is filling its folder for the target, and waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(target)],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def test_second_run_on_a_target_is_refused_and_harms_nothing(target: Path, other_run: subprocess.Popen[str]) -> None:
    assert other_run.stdout is not None
    staging = target.with_name(other_run.stdout.readline().strip())
    with pytest.raises(OutputError, match="Another run is writing to"):
        publish(target, "second")
    finish_interrupted(target)
    assert (staging / "half").read_text() == "half"
    publish(target.with_name("other"), "a target of its own")
    other_run.communicate("\n")
    assert other_run.returncode == 0
    publish(target, "second")
    assert words_in(target) == "second"
    assert beside(target) == ["other"]


def test_run_that_was_killed_holds_nobody_up(target: Path, other_run: subprocess.Popen[str]) -> None:
    assert other_run.stdout is not None
    staging = target.with_name(other_run.stdout.readline().strip())
    other_run.send_signal(signal.SIGKILL)
    other_run.wait()
    assert (staging / "half").exists()
    publish(target, "second")
    assert words_in(target) == "second"
    assert beside(target) == []


def test_lock_on_a_file_that_was_just_removed_is_no_lock(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run before removes its lock file between our opening of it and our locking of it."""
    real_try_lock = folder_module.try_lock
    lock = target.with_name(".out.shoal-lock")
    attempts = []

    def try_lock(descriptor: int) -> bool:
        attempts.append(descriptor)
        if len(attempts) == 1:
            lock.unlink()
        return real_try_lock(descriptor)

    monkeypatch.setattr(folder_module, "try_lock", try_lock)
    with replacing_folder(target, overwrite=False) as folder:
        with pytest.raises(OutputError, match="Another run is writing to"):
            publish(target, "second")
        fill(folder, "first")
    assert words_in(target) == "first"


def test_many_runs_at_once_write_one_after_the_other(target: Path, way: str) -> None:
    publish(target, "0")
    n_inside = 0
    published: list[str] = []
    faults: list[BaseException] = []

    def run(words: str) -> None:
        nonlocal n_inside
        for _ in range(20):
            try:
                with replacing_folder(target, overwrite=True) as folder:
                    n_inside += 1
                    assert n_inside == 1
                    fill(folder, words)
                    n_inside -= 1
                published.append(words)
            except OutputError as error:
                if "Another run" not in str(error):
                    faults.append(error)
            except BaseException as error:
                faults.append(error)

    threads = [threading.Thread(target=run, args=(str(number),)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert published
    assert words_in(target) in published
    assert beside(target) == []


def test_only_the_owner_may_read_what_stays_with_the_steward(tmp_path: Path) -> None:
    with replacing_folder(tmp_path / "out", overwrite=False) as folder:
        fill(folder, "new")
        (folder / "steward" / "groups.parquet").mkdir()
        (folder / "steward" / "groups.parquet" / "part-00000.parquet").write_text("a part that an executor wrote")
    assert modes_in(tmp_path / "out" / "steward") == {0o700, 0o600}
    assert stat.S_IMODE((tmp_path / "out" / "release.csv").stat().st_mode) & 0o600 == 0o600
