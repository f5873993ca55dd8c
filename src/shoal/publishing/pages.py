"""The pages of a release folder: made from the numbers that lie in it, at first and anew."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, PolicyError
from shoal.publishing.folder import finish_interrupted, replacing_folder
from shoal.publishing.manifest import check_manifest, list_anew, read_manifest

if TYPE_CHECKING:
    from shoal.policy import Policy
    from shoal.policy.decision import Decision
    from shoal.table.coding import Coding
REPORT = "steward/report.html"
SUMMARY = "summary.html"
NUMBERS = "steward/report.json"
POLICY = "steward/policy.toml"
PAGES = (REPORT, SUMMARY)


def policy_in(text: str) -> Policy | None:
    """The policy that a text holds; None where it names what no policy can, such as a method of one's own."""
    from shoal.policy import Policy

    try:
        return Policy.from_document(tomllib.loads(text, parse_float=Decimal))
    except (PolicyError, tomllib.TOMLDecodeError):
        return None


def with_codings(policy_text: str, codings: Mapping[str, Coding]) -> str:
    """The policy with what counts of persons were settled to, so that later records are coded and checked alike."""
    policy = policy_in(policy_text) if codings else None
    if policy is None or policy.columns.coded == codings:
        return policy_text
    return replace(policy, columns=policy.columns.model_copy(update={"coded": dict(codings)})).to_toml()


def write_pages(folder: Path) -> None:
    """Write the report and the summary of a filled folder from its numbers, and list them in its manifest."""
    from shoal.publishing.report.html import render_report
    from shoal.publishing.report.summary import render_summary

    numbers, codebook = _read_json(folder, NUMBERS), _read_json(folder, "codebook.json")
    manifest = read_manifest(folder) or {}
    policy_text = (folder / "steward" / "policy.toml").read_text(encoding="utf-8")
    _write_anew(folder / REPORT, render_report(numbers, manifest, policy_text))
    _write_anew(folder / SUMMARY, render_summary(numbers, manifest, codebook))
    list_anew(folder, PAGES)


def write_pages_from(folder: Path, numbers: Mapping[str, Any]) -> None:
    """Write report.json with these numbers, and the pages from it, into a filled folder that has its manifest."""
    _write_anew(folder / NUMBERS, json.dumps(numbers, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    list_anew(folder, [NUMBERS])
    write_pages(folder)


def with_decision(policy_text: str, decision: Decision | None) -> str:
    """A policy's text with what was decided in the place of what it said before; None leaves it as it is."""
    from shoal.policy.write import decision_table, toml_of

    if decision is None:
        return policy_text
    document = tomllib.loads(policy_text, parse_float=Decimal)
    return toml_of({**document, "decision": decision_table(decision)})


def render_report_of(
    folder: Path, numbers: Mapping[str, Any] | None = None, *, decision: Decision | None = None
) -> str:
    """The report of a release folder as it would be written now; `numbers` where the folder has none.

    With `decision` its first page is that of the board, whatever the policy in the folder says.
    """
    from shoal.publishing.report.html import render_report

    policy_text = with_decision((folder / "steward" / "policy.toml").read_text(encoding="utf-8"), decision)
    return render_report(numbers or _read_json(folder, NUMBERS), read_manifest(folder) or {}, policy_text)


def renew_pages(
    folder: str | Path, numbers: Mapping[str, Any] | None = None, *, decision: Decision | None = None
) -> None:
    """Put newly made pages into a release folder, whose other files stay as they are.

    Parameters
    ----------
    numbers
        What report.json shall hold, where the folder has none.
    decision
        What a review board decided since: it is entered in the policy of the folder, and nothing else of that changes.

    Raises
    ------
    InputError
        The folder is no release that shoal wrote, or a file of it has changed: a report would vouch for it.
    OutputError
        The folder cannot be written; it is then as it was.

    Notes
    -----
    The folder is exchanged for one with the same files, by links where the file system has them, so that a kill leaves
    the old pages or the new ones together with the manifest that lists them.
    """
    folder = Path(folder)
    with replacing_folder(folder, overwrite=True) as new:
        for path in sorted(folder.rglob("*")):
            place = new / path.relative_to(folder)
            if path.is_dir():
                place.mkdir(mode=stat.S_IMODE(path.stat().st_mode))
            else:
                _link(path, place)
        if decision is not None:
            _enter_decision(new, decision)
        if numbers is None:
            write_pages(new)
        else:
            write_pages_from(new, numbers)


def _enter_decision(folder: Path, decision: Decision) -> None:
    file = folder / POLICY
    text = with_decision(file.read_text(encoding="utf-8"), decision)
    _write_anew(file, text)
    list_anew(folder, [POLICY], policy_text=text)


def refuse_changed(
    folder: str | Path, why: str = "A report would vouch for files that are not those that were written"
) -> None:
    """Refuse a folder that is no whole release of shoal's; its pages may be absent or changed, they are made anew."""
    folder = Path(folder)
    finish_interrupted(folder)
    if not (folder / "steward").is_dir():
        raise InputError(
            f"'{folder}' is no release folder with a folder 'steward' in it. Name the folder that protect has written."
        )
    changed = [said for said in check_manifest(folder) if not any(repr(name) in said for name in PAGES)]
    if changed:
        more = f" And {len(changed) - 1:,} more." if len(changed) > 1 else ""
        raise InputError(f"{changed[0]}{more} {why}: see 'shoal verify {folder}'. Nothing was written.")


def has_numbers(folder: str | Path) -> bool:
    """Whether a folder holds the numbers of its report; one made without a report, or by an older version, does not."""
    if not (Path(folder) / NUMBERS).is_file():
        return False
    return "report" in _read_json(Path(folder), NUMBERS)


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(f"'{name}' of the release folder cannot be read.")
    return content


def _link(path: Path, place: Path) -> None:
    try:
        os.link(path, place)
    except OSError:
        shutil.copy2(path, place)


def _write_anew(path: Path, text: str) -> None:
    """Write a file in the place of another one, which may be linked elsewhere and is not changed."""
    path.unlink(missing_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
