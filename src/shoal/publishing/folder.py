"""Putting a whole release folder in the place of another, in one step.

A release is filled in a hidden folder beside its target and takes the target's place when every byte is on disk. A
kill at any moment leaves the old folder or the new one, never half of one. Beside a target `out` there may be:

    .out.shoal-lock       held by the run that is writing; the system lets go of it when the run dies
    .out.shoal-new-…      being filled, or the old folder after an exchange: removed by whoever finds it
    .out.shoal-ready-…    whole and on disk, about to become the target
    .out.shoal-old-…      the old folder, moved aside while the new one takes its place
    .out.shoal-gone-…     being removed

Only `ready` and `old` are ever put (back) in the target's place, and both are whole as long as they have that name.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import re
import secrets
import shutil
import stat
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shoal.errors import OutputError, ShoalError, ShoalWarning
from shoal.publishing.manifest import MANIFEST_PATH, files_in, listed_paths, read_manifest

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Files that shoal may write to a folder after its manifest was made, or that the manifest cannot list.
KNOWN_FILES = frozenset(
    {
        "codebook.html",
        "codebook.json",
        "datapackage.json",
        MANIFEST_PATH,
        "steward/excluded.parquet",
        "steward/groups.parquet",
        "steward/linked.parquet",
        "steward/persons.parquet",
        "steward/policy.toml",
        "steward/report.html",
        "steward/report.json",
        "steward/rules.json",
        "steward/sample.parquet",
        "steward/scheme.parquet",
        "summary.html",
    }
)

STEWARD = Path(MANIFEST_PATH).parent
"""What stays with the steward: only its owner may read it, whichever engine wrote it."""

_NO_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM}
_RENAME_EXCHANGE = 2
_AT_FDCWD = -100


@contextmanager
def replacing_folder(target: str | Path, *, overwrite: bool, inputs: Sequence[Path] = ()) -> Iterator[Path]:
    """Yield an empty private folder that takes the place of `target` in one step when the block ends without error.

    Parameters
    ----------
    target
        Where the release goes: an absent folder in an existing one, an empty folder, or with `overwrite` an earlier
        release.
    overwrite
        Whether an earlier release may be replaced. A folder with files that shoal did not write is never replaced.
    inputs
        The files that the release is made from; none may lie in `target`.

    Raises
    ------
    OutputError
        `target` may not be replaced, another run is writing there, or the system refuses (disk full, no permission).
        The private folder is gone and `target` is as it was; so it is after any other error in the block.

    Notes
    -----
    A new folder gets the usual permissions, one that takes another's place gets those of the other; while it is
    filled only its owner can look in. What lies in its folder `steward` only the owner may read (0700, files 0600).
    Where the system can exchange two folders (Linux, most file systems) `target` is there at every moment. Elsewhere it
    is absent for a moment; what a kill in that moment leaves is mended by the next run or by `finish_interrupted`.
    """
    place = _Place.of(target)
    with _system_errors_explained(place):
        _check_place(place, inputs)
        with _only_run(place) as is_only_run:
            if not is_only_run:
                raise OutputError(
                    f"Another run is writing to {place.shown!r}. Nothing was written. "
                    "Wait until it has finished, or choose another folder."
                )
            _settle(place)
            _check_content(place, overwrite)
            try:
                staging, usual_mode = _make_staging(place)
                yield staging
                _keep_from_others(staging / STEWARD)
                _sync_tree(staging)
                _check_place(place, inputs)
                _check_content(place, overwrite)
                os.chmod(staging, stat.S_IMODE(place.path.stat().st_mode) if place.is_taken() else usual_mode)
                _sync_folder(staging)
                _swap_in(place, staging)
            finally:
                _settle(place)


def finish_interrupted(target: str | Path) -> None:
    """Finish what a killed run left beside `target`: put the new or the old folder in its place, remove the rest.

    To be called before a release folder is read. Does nothing when nothing was left, or while a run is writing there.

    Raises
    ------
    OutputError
        `target` is absent, and the system does not let us put the folder in its place.
    """
    place = _Place.of(target)
    try:
        if place.leftovers():
            with _only_run(place) as is_only_run:
                if is_only_run:
                    _settle(place)
    except OSError as error:
        if not place.is_taken() and place.leftovers():
            raise OutputError(
                f"An earlier run was interrupted while it replaced {place.shown!r}, and the folder cannot be put in "
                f"its place: {_reason(error)}. Run again as a user who may write to the folder around it."
            ) from error


def ready_folders(target: str | Path) -> list[Path]:
    """Whole folders beside `target` that a killed run was about to put in its place."""
    return [path for kind, path in _Place.of(target).leftovers() if kind == "ready"]


@dataclass(frozen=True)
class _Place:
    """Where a release goes: `path` with all links around it resolved, `shown` as the user wrote it."""

    path: Path
    shown: str

    @classmethod
    def of(cls, target: str | Path) -> _Place:
        path = Path(target)
        if path.name in ("", ".."):
            path = _resolved(path)
        return cls(_resolved(path.parent) / path.name, str(target))

    def is_taken(self) -> bool:
        return os.path.lexists(self.path)

    def beside(self, kind: str) -> Path:
        """A new name beside the target that shoal will know again."""
        return self.path.with_name(f".{self.path.name}.shoal-{kind}-{secrets.token_hex(8)}")

    @property
    def lock(self) -> Path:
        return self.path.with_name(f".{self.path.name}.shoal-lock")

    def leftovers(self) -> list[tuple[str, Path]]:
        """The hidden folders beside the target, each with its kind, the last written first."""
        ours = re.compile(rf"\.{re.escape(self.path.name)}\.shoal-(new|ready|old|gone)-[0-9a-f]{{16}}")
        found = []
        try:
            with os.scandir(self.path.parent) as entries:
                for entry in entries:
                    name = ours.fullmatch(entry.name)
                    if name and entry.is_dir(follow_symlinks=False):
                        found.append((entry.stat(follow_symlinks=False).st_mtime_ns, name[1], Path(entry.path)))
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [(kind, path) for _, kind, path in sorted(found, reverse=True)]


def _check_place(place: _Place, inputs: Sequence[Path]) -> None:
    """Refuse a place where no folder can be put, and one whose replacement would pull the ground from under the run."""
    parent = place.path.parent
    if not parent.is_dir():
        raise _refusal(place, f"{str(parent)!r} is not an existing folder. Create it first")
    if place.path.is_symlink():
        raise _refusal(place, "it is a link. Name the folder it leads to")
    if place.is_taken() and not place.path.is_dir():
        raise _refusal(place, "it is a file. Name a folder")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise _refusal(place, f"you may not write to {str(parent)!r}. Choose another folder")
    if place.is_taken() and _lies_in(Path.cwd(), place.path):
        raise _refusal(place, "it is the folder you are in. Go elsewhere or name another folder")
    inside = [Path(path).name for path in inputs if place.is_taken() and _lies_in(Path(path), place.path)]
    if inside:
        raise _refusal(place, f"the input {', '.join(map(repr, inside))} lies in it. Choose another folder")


def _check_content(place: _Place, overwrite: bool) -> None:
    """Refuse to replace a folder with files, unless it was asked for and shoal wrote every one of them."""
    if not place.is_taken() or not any(place.path.iterdir()):
        return
    files = files_in(place.path)
    if not overwrite:
        raise _refusal(
            place,
            f"the folder is not empty ({len(files):,} files). To replace an earlier release use "
            "overwrite=True, or choose another folder",
        )
    manifest = read_manifest(place.path)
    if manifest is None:
        raise _refusal(
            place,
            f"the folder is not empty and is no release of shoal (no {MANIFEST_PATH} of ours), so it is not "
            "overwritten. Choose another folder",
        )
    written_by_shoal = KNOWN_FILES | listed_paths(manifest)
    foreign = sorted(path for path, is_regular in files.items() if path not in written_by_shoal or not is_regular)
    if foreign:
        named = ", ".join(map(repr, foreign[:5])) + (", …" if len(foreign) > 5 else "")
        raise _refusal(
            place,
            f"overwriting it would delete {len(foreign):,} files that shoal did not write ({named}). "
            "Move them away or choose another folder",
        )


def _refusal(place: _Place, why_and_what_to_do: str) -> OutputError:
    return OutputError(f"The release cannot go to {place.shown!r}: {why_and_what_to_do}. Nothing was written.")


def _lies_in(path: Path, folder: Path) -> bool:
    """Whether a path is a folder or lies below it, by where it stands and by where its links lead."""
    folder_status = folder.stat()
    for candidate in {_resolved(path), _resolved(path.parent) / path.name}:
        for around in (candidate, *candidate.parents):
            with contextlib.suppress(OSError):
                if os.path.samestat(around.stat(), folder_status):
                    return True
    return False


def _resolved(path: Path) -> Path:
    """The path without links; one that leads in a circle stays as it is, where `Path.resolve` would raise."""
    return Path(os.path.realpath(path))


@contextmanager
def _only_run(place: _Place) -> Iterator[bool]:
    """Hold the lock of a target; yields whether it could be had, that is, whether no other run is writing there."""
    descriptor = _lock(place.lock)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        with contextlib.suppress(OSError):
            place.lock.unlink()
        os.close(descriptor)


def _lock(path: Path) -> int | None:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            if not try_lock(descriptor):
                os.close(descriptor)
                return None
            with contextlib.suppress(FileNotFoundError):
                # The run before us removes its lock file: a lock on a removed file keeps nobody out.
                if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this run alone, without waiting; the system unlocks it when the run ends or dies."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _make_staging(place: _Place) -> tuple[Path, int]:
    """Make the private folder to fill; also gives the permissions that a folder made here usually has."""
    staging = place.beside("new")
    os.mkdir(staging)
    usual_mode = stat.S_IMODE(staging.stat().st_mode)
    os.chmod(staging, stat.S_IRWXU | (usual_mode & stat.S_ISGID))
    return staging, usual_mode


def _swap_in(place: _Place, staging: Path) -> None:
    """Put the filled folder in the target's place; the old one is left beside it for `_settle` to remove."""
    if not place.is_taken():
        os.rename(staging, place.path)
    elif not _exchange(staging, place.path):
        _swap_in_two_steps(place, staging)
    try:
        _sync_folder(place.path.parent)
    except OSError as error:
        raise OutputError(
            f"The release is in {place.shown!r}, but the system cannot confirm that it is safely on disk: "
            f"{_reason(error)}. Check the disk and run again."
        ) from error


def _swap_in_two_steps(place: _Place, staging: Path) -> None:
    """Move the old folder aside, then the new one in; a kill in between is finished by `_settle`, an error undone."""
    ready, old = place.beside("ready"), place.beside("old")
    os.rename(staging, ready)
    _sync_folder(place.path.parent)
    try:
        os.rename(place.path, old)
        os.rename(ready, place.path)
    except BaseException:
        if old.exists() and not place.is_taken():
            os.rename(old, place.path)
        raise


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two folders in one step; False where the system or the file system cannot."""
    renameat2 = _renameat2()
    if renameat2 is None:
        return False
    if renameat2(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(second))


@functools.cache
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    """The C library's renameat2, or None where there is none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int
    return function


def _settle(place: _Place) -> None:
    """Bring a target and what is beside it to rest: fill an empty place with a whole folder, remove all the others.

    Run at the start, after every success and after every failure, so that what mends a killed run is in daily use.
    Only for the holder of the lock.
    """
    leftovers = place.leftovers()
    if not place.is_taken():
        whole = [path for wanted in ("ready", "old") for kind, path in leftovers if kind == wanted]
        if whole:
            os.rename(whole[0], place.path)
            _sync_folder(place.path.parent)
    for kind, path in place.leftovers():
        _remove(place, kind, path)


def _remove(place: _Place, kind: str, path: Path) -> None:
    """Remove a hidden folder; a whole one loses its name first, so that half of it is never put back."""
    try:
        if kind in ("ready", "old"):
            gone = place.beside("gone")
            os.rename(path, gone)
            path = gone
        try:
            shutil.rmtree(path)
        except PermissionError:
            _let_owner_in(path)
            shutil.rmtree(path)
    except OSError as error:
        warnings.warn(
            f"The hidden folder {path.name!r} beside {place.shown!r} could not be removed: {_reason(error)}. "
            "It may hold an earlier or unfinished release: remove it by hand.",
            ShoalWarning,
            stacklevel=2,
        )


def _let_owner_in(folder: Path) -> None:
    os.chmod(folder, stat.S_IRWXU)
    for around, names, _ in os.walk(folder):
        for name in names:
            if not os.path.islink(os.path.join(around, name)):
                os.chmod(os.path.join(around, name), stat.S_IRWXU)


def _keep_from_others(folder: Path) -> None:
    """Let only the owner into a folder and its files; files that executors wrote as another user are theirs."""
    for around, _, names in os.walk(folder):
        modes = {around: stat.S_IRWXU, **{os.path.join(around, name): stat.S_IRUSR | stat.S_IWUSR for name in names}}
        for path, mode in modes.items():
            if sys.platform == "win32" or os.lstat(path).st_uid == os.geteuid():
                os.chmod(path, mode)


def _sync_tree(folder: Path) -> None:
    """Wait until every file and every folder below a folder is on disk."""
    for around, _, names in os.walk(folder, topdown=False):
        for name in names:
            _sync_file(Path(around, name))
        _sync_folder(Path(around))


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on disk, where the file system can tell."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _system_errors_explained(place: _Place) -> Iterator[None]:
    """Turn what the system refuses (disk full, no permission) into an error that says where and why."""
    try:
        yield
    except ShoalError:
        raise
    except Exception as error:
        if not isinstance(error, OSError) and _error_number(error) is None:
            raise
        advice = {
            errno.EBUSY: " It may be a mount point: choose a folder inside it.",
            errno.EDQUOT: " Free some space or choose another disk.",
            errno.ENOSPC: " Free some space or choose another disk.",
        }.get(_error_number(error) or 0, "")
        raise OutputError(
            f"The release could not be written to {place.shown!r}: {_reason(error)}. Nothing was written.{advice}"
        ) from error


def _error_number(error: Exception) -> int | None:
    """The system's error number; polars gives it only in its message, and not always in an OSError."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    number = re.search(r"\(os error (\d+)\)", str(error))
    return int(number[1]) if number else None


def _reason(error: Exception) -> str:
    number = _error_number(error)
    if number is None:
        return "the system reported an error"
    if number == errno.ENOSPC:
        return "no space left on device"
    words = os.strerror(number)
    return words[:1].lower() + words[1:]
