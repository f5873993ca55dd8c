"""The manifest of a release folder: what is in it, from which input it was made, by which versions, with which seed.

The manifest is `steward/manifest.json`. It names every other file of the folder with its SHA-256, so that a file that
was lost, changed or added later is noticed, and it is the mark by which shoal knows a folder as its own.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import stat
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from shoal.errors import InputError, ParameterError

MANIFEST_PATH = "steward/manifest.json"
MADE_BY = "shoal"
EARLIER_INPUTS = "earlier_inputs"
"""The entry with the hashes of what the releases before this one were made of, where later records were applied."""
PACKAGES = ("narwhals", "numba", "numpy", "pandas", "polars", "pyarrow", "scipy")
BLOCK_BYTES = 1 << 20


def sha256_of_file(path: Path) -> str:
    """The SHA-256 of a file as 64 hexadecimal digits, read in blocks of 1 MiB."""
    return _bytes_and_sha256(path)[1]


def write_manifest(
    folder: Path,
    *,
    inputs: Sequence[Path],
    policy_text: str,
    seed: int,
    started: datetime,
    finished: datetime,
    extra: Mapping[str, object],
) -> dict[str, object]:
    """Write and return the manifest of a filled folder: files, inputs and their hashes, versions, times and the seed.

    Call it last: a file written afterwards is not listed.

    Parameters
    ----------
    folder
        The folder as it will be published; the manifest itself is left out of the list.
    inputs
        The files read. Only their names are kept, not where they lay; one that can be read only once (a pipe)
        is listed without size and hash.
    policy_text
        The policy as written to the folder.
    seed
        Kept as text, since many JSON readers cannot hold a whole number of 128 bits.
    started, finished
        Times with a time zone; kept in UTC.
    extra
        Further entries; none may have the name of an entry made here.

    Raises
    ------
    InputError
        An input can no longer be read.
    ParameterError
        A time has no time zone, or `extra` repeats a name.

    Notes
    -----
    Names no host, no user and no path outside the folder. Time grows with the bytes of inputs and files together;
    memory does not.
    """
    manifest: dict[str, object] = {
        "made_by": MADE_BY,
        "shoal_version": _version_of("shoal") or "not installed",
        "python": platform.python_version(),
        "packages": {name: version for name in PACKAGES if (version := _version_of(name)) is not None},
        "platform": f"{platform.system()} {platform.machine()}",
        "started": _utc_text(started, "started"),
        "finished": _utc_text(finished, "finished"),
        "seed": str(seed),
        "inputs": [_describe_input(path) for path in inputs],
        "files": [describe_file(folder, path) for path in sorted(files_in(folder)) if path != MANIFEST_PATH],
        "policy_sha256": hashlib.sha256(policy_text.encode("utf-8")).hexdigest(),
    }
    if repeated := sorted(manifest.keys() & extra.keys()):
        raise ParameterError(f"The manifest has entries of its own named {', '.join(repeated)}: rename the extra ones.")
    manifest |= extra
    path = Path(folder) / MANIFEST_PATH
    path.parent.mkdir(exist_ok=True)
    _write(path, manifest)
    return manifest


def list_anew(folder: Path, paths: Sequence[str], *, policy_text: str | None = None) -> None:
    """List files of a folder in its manifest as they are now; all else in it stays as it was.

    For pages that are made from what the manifest says, and so after it. `policy_text` is the policy where it is among
    the files.
    """
    path = Path(folder) / MANIFEST_PATH
    manifest = read_manifest(folder)
    if manifest is None:
        raise InputError(f"The folder has no {MANIFEST_PATH} that shoal could have written.")
    others = [entry for entry in _files_listed(manifest) if entry.get("path") not in paths]
    listed = [*others, *(describe_file(folder, path) for path in paths)]
    manifest["files"] = sorted(listed, key=lambda entry: str(entry.get("path")))
    if policy_text is not None:
        manifest["policy_sha256"] = hashlib.sha256(policy_text.encode("utf-8")).hexdigest()
    path.unlink()  # it may be linked elsewhere
    _write(path, manifest)


def _write(path: Path, manifest: Mapping[str, object]) -> None:
    path.write_text(json.dumps(manifest, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict[str, object] | None:
    """The manifest of a release folder, or None when the folder has none that shoal could have written."""
    folder = Path(folder)
    if not files_in(folder).get(MANIFEST_PATH, False):
        return None
    try:
        manifest = json.loads((folder / MANIFEST_PATH).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    is_ours = isinstance(manifest, dict) and manifest.get("made_by") == MADE_BY
    return manifest if is_ours and isinstance(manifest.get("files"), list) else None


def inputs_of(manifest: Mapping[str, object]) -> tuple[str, ...]:
    """The SHA-256 of every file that a release was made of, those of the releases before it included."""
    inputs, earlier = manifest.get("inputs"), manifest.get(EARLIER_INPUTS)
    own = [entry.get("sha256") for entry in inputs if isinstance(entry, dict)] if isinstance(inputs, list) else []
    known = [*(earlier if isinstance(earlier, list) else []), *own]
    return tuple(dict.fromkeys(sha256 for sha256 in known if isinstance(sha256, str)))


def check_manifest(folder: Path) -> list[str]:
    """Compare a release folder with its manifest; one plain sentence for each difference, none when it is whole.

    Notes
    -----
    Never raises for a folder that was tampered with, and never reads a file outside it: a link in the place of a
    file, or a listed path that leads elsewhere, is reported and not followed. The manifest is not signed: somebody
    who rewrites a file and the manifest together is not noticed.
    """
    folder = Path(folder)
    if not os.path.isdir(folder):
        return [f"The release folder {str(folder)!r} does not exist."]
    present = files_in(folder)
    manifest = read_manifest(folder)
    if manifest is None:
        state = "cannot be read as one written by shoal" if MANIFEST_PATH in present else "is absent"
        return [f"The manifest {MANIFEST_PATH!r} {state}, so the files of the folder cannot be checked."]
    differences = differences_of(folder, manifest)
    not_listed = sorted(present.keys() - listed_paths(manifest) - {MANIFEST_PATH})
    return differences + [f"The file {path!r} is not listed in the manifest." for path in not_listed]


def differences_of(folder: Path, listing: Mapping[str, object], *, named: str = "manifest") -> list[str]:
    """A sentence for each file that is not as a listing of it (a manifest, a codebook) says under `files`."""
    present = files_in(folder, only={path.split("/")[0] for path in listed_paths(listing)})
    entries = _files_listed(listing)
    return [sentence for entry in entries if (sentence := _difference(Path(folder), present, entry, named))]


def listed_paths(listing: Mapping[str, object]) -> set[str]:
    """The paths, relative to the folder, of the files that a manifest or a codebook lists."""
    return {path for entry in _files_listed(listing) if isinstance(path := entry.get("path"), str)}


def files_in(folder: Path, *, only: Collection[str] | None = None) -> dict[str, bool]:
    """Every file below a folder by its relative path, with whether it is a regular file that shoal could have written.

    With `only`, of what lies in the folder itself just what has these names. Links are not followed and count as not
    regular; so does a folder that cannot be listed, since nobody knows what is in it. A folder that does not exist has
    no files.
    """
    is_regular_of_path: dict[str, bool] = {}
    unlisted_folders = [""]
    while unlisted_folders:
        inside = unlisted_folders.pop()
        try:
            with os.scandir(Path(folder) / inside) as entries:
                for entry in entries:
                    if only is not None and not inside and entry.name not in only:
                        continue
                    path = f"{inside}/{entry.name}" if inside else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        unlisted_folders.append(path)
                    else:
                        is_regular_of_path[path] = entry.is_file(follow_symlinks=False)
        except FileNotFoundError:
            continue
        except OSError:
            is_regular_of_path[inside or "."] = False
    return is_regular_of_path


def _files_listed(listing: Mapping[str, object]) -> list[dict[str, object]]:
    """The entries under `files`; one that is not even a JSON object counts as one without content."""
    entries = listing.get("files")
    return [entry if isinstance(entry, dict) else {} for entry in entries] if isinstance(entries, list) else []


def _difference(folder: Path, present: Mapping[str, bool], entry: Mapping[str, object], named: str) -> str | None:
    """How a file differs from its entry in a listing, or None when it does not."""
    path = entry.get("path")
    if not isinstance(path, str):
        return f"The {named} has an entry that names no file."
    if path not in present:
        return f"The file {path!r} is listed in the {named} but absent from the folder."
    if not present[path]:
        return f"The file {path!r} is no longer a regular file."
    try:
        n_bytes, sha256 = _bytes_and_sha256(folder / path)
    except OSError as error:
        return f"The file {path!r} cannot be read: {error.strerror}."
    if n_bytes != entry.get("bytes"):
        return f"The file {path!r} has changed: its size, {n_bytes:,} bytes, is not the one in the {named}."
    if sha256 != entry.get("sha256"):
        return f"The file {path!r} has changed: its SHA-256 is not the one in the {named}."
    return None


def describe_file(folder: Path, path: str) -> dict[str, object]:
    """The entry of a file in a list: its path in the folder, its size and its hash."""
    n_bytes, sha256 = _bytes_and_sha256(Path(folder) / path)
    return {"path": path, "bytes": n_bytes, "sha256": sha256}


def _describe_input(path: Path) -> dict[str, object]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return {"name": Path(path).name, "bytes": None, "sha256": None}
        n_bytes, sha256 = _bytes_and_sha256(path)
    except OSError as error:
        raise InputError(
            f"The input file {Path(path).name!r} was read, but can no longer be: {error.strerror}. "
            "Its hash belongs in the manifest. Put it back and run again."
        ) from error
    return {"name": Path(path).name, "bytes": n_bytes, "sha256": sha256}


def _bytes_and_sha256(path: Path) -> tuple[int, str]:
    """Size and hash of a file from one reading, so that they are of the same content."""
    digest = hashlib.sha256()
    n_bytes = 0
    block = memoryview(bytearray(BLOCK_BYTES))
    with open(path, "rb", buffering=0) as file:
        while n_read := file.readinto(block):
            digest.update(block[:n_read])
            n_bytes += n_read
    return n_bytes, digest.hexdigest()


def _version_of(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _utc_text(moment: datetime, name: str) -> str:
    if moment.utcoffset() is None:
        raise ParameterError(f"The time '{name}' of a manifest needs a time zone: use datetime.now(UTC).")
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
