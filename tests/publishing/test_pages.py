"""Pages made anew: the same as at first, together with a manifest that lists them, or nothing is changed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

import shoal
from shoal.errors import InputError, OutputError
from shoal.publishing import pages
from shoal.publishing.codebook import CODEBOOKS
from shoal.publishing.manifest import check_manifest, read_manifest
from tests.pipeline.tables import MODELS, SCHEMA, visits


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shoal.protect(visits(), SCHEMA, MODELS, seed=11).write(tmp_path / "out", keep_person_map=True)


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_pages_made_anew_are_those_that_were_written(folder: Path) -> None:
    first = content(folder)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / "steward")}
    pages.renew_pages(folder)
    assert content(folder) == first
    assert check_manifest(folder) == []
    assert {path: stat.S_IMODE(path.stat().st_mode) for path in modes} == modes
    assert [path.name for path in folder.parent.iterdir()] == ["out"]  # nothing is left beside it


def test_lost_and_changed_pages_are_mended(folder: Path) -> None:
    first = content(folder)
    (folder / "steward/report.html").write_text("changed")
    (folder / "summary.html").unlink()
    assert len(check_manifest(folder)) == 2
    pages.refuse_changed(folder)
    pages.renew_pages(folder)
    assert content(folder) == first


@pytest.mark.parametrize("name", ["release.csv", "codebook.json", "steward/report.json", "steward/policy.toml"])
def test_no_report_vouches_for_a_file_that_changed(folder: Path, name: str) -> None:
    path = folder / name
    path.write_text(path.read_text(encoding="utf-8") + " ")
    with pytest.raises(InputError, match="would vouch"):
        pages.refuse_changed(folder)
    (folder / "more.txt").write_text("mine")
    with pytest.raises(InputError, match="1 more"):
        pages.refuse_changed(folder)


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    (tmp_path / "steward").mkdir()
    for place in (tmp_path, tmp_path / "absent", tmp_path / "steward"):
        with pytest.raises(InputError):
            pages.refuse_changed(place)
    (tmp_path / "mine.txt").write_text("years of work")
    with pytest.raises(OutputError):
        pages.renew_pages(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "years of work"


def test_what_cannot_be_made_leaves_the_folder_as_it_was(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = content(folder)
    monkeypatch.setattr("shoal.publishing.report.summary.render_summary", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        pages.renew_pages(folder)
    assert content(folder) == first
    assert check_manifest(folder) == []


@pytest.mark.parametrize("name", ["steward/report.html", "summary.html", "steward/manifest.json"])
def test_files_that_are_linked_elsewhere_are_not_changed(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / "steward/report.html").write_text("changed")
    (folder / "summary.html").write_text("changed")
    elsewhere = tmp_path / "archive"
    os.link(folder / name, elsewhere)
    before = elsewhere.read_bytes()
    pages.renew_pages(folder)
    assert elsewhere.read_bytes() == before
    assert not (folder / name).samefile(elsewhere)


def test_where_links_are_not_to_be_had_files_are_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = content(folder)

    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    pages.renew_pages(folder)
    assert content(folder) == first


def test_the_manifest_keeps_all_else(folder: Path) -> None:
    first = read_manifest(folder)
    (folder / "steward/report.html").write_text("changed")
    pages.renew_pages(folder)
    assert read_manifest(folder) == first


def test_without_a_report_there_are_no_pages_and_no_numbers(tmp_path: Path) -> None:
    folder = shoal.protect(visits(), SCHEMA, MODELS, seed=11).write(tmp_path / "out", report=False)
    assert {path.name for path in folder.iterdir()} == {"release.csv", *CODEBOOKS, "steward"}
    assert not pages.has_numbers(folder)
    (folder / "steward/report.json").write_text(json.dumps({"max_gidr": 0.1}))  # as an older version wrote it
    assert not pages.has_numbers(folder)
