"""The documentation is complete and true: what is registered has a page, snippets run, links lead somewhere."""

from __future__ import annotations

import doctest
import importlib
import re
import runpy
import shutil
from pathlib import Path

import pytest
from markdown.extensions.toc import slugify

from tests.databases.servers import programs
from tests.docs.transcripts import PROJECT, Snippet, is_played, run_snippet, shown
from tests.tiers import long_but_for
from tools.reference import KINDS, section_of

DOCS = PROJECT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *PROJECT.glob("*.md")])
MODULES = sorted((PROJECT / "src" / "shoal").rglob("*.py"))


# --- pages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", KINDS)
def test_all_that_is_registered_is_explained_once_and_the_reverse(folder: str) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (DOCS / folder).glob("*.md"))
    explained = re.findall(r"<!-- made from the code: parameters of ([\w-]+) -->", text)
    assert sorted(explained) == sorted(KINDS[folder])
    for name in KINDS[folder]:
        page, heading, _ = section_of(folder, name)
        index = (DOCS / folder / "index.md").read_text(encoding="utf-8")
        anchor = f"#{slugify(heading, '-')}" if heading else ""
        assert f"[{name}]({page.name}{anchor})" in index, f"{name} is missing in docs/{folder}/index.md"


def test_the_pages_for_users_are_few() -> None:
    sections = runpy.run_path(str(DOCS / "nav.py"))["SECTIONS"]
    names = [name for title in ("Start", "How-to", "Explanations", "Reference") for name in sections[title]]
    pages = [page for name in names for page in [DOCS / f"{name}.md", *(DOCS / name).rglob("*.md")] if page.is_file()]
    assert 40 < len(pages) <= 60, "merge kin: who looks for something should not have to look through many pages"


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_a_page_begins_with_its_one_title(page: Path) -> None:
    titles = [line for line in prose_of(page).splitlines() if line.startswith("# ")]
    assert page.read_text(encoding="utf-8").startswith("# ")
    assert len(titles) == 1


def test_every_decision_is_in_the_index_with_question_choice_and_cost() -> None:
    index = (DOCS / "decisions" / "index.md").read_text(encoding="utf-8")
    pages = [page for page in sorted((DOCS / "decisions").glob("*.md")) if page.name != "index.md"]
    assert pages
    for page in pages:
        headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert headings == ["Question", "Choice", "What it costs"], shown(page)
        assert f"({page.name})" in index, f"{page.name} is missing in the index of decisions"


# --- snippets ------------------------------------------------------------------------------------------------------


def snippets_of(page: Path) -> list[Snippet]:
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```python[^\n]*\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [Snippet(fence[1], text.count("\n", 0, fence.start(1)) + 1) for fence in fences]


# Pages whose commands are typed too are run as a whole, in test_transcripts.py.
WITH_SNIPPETS = [page for page in PAGES if snippets_of(page) and not is_played(page)]
ON_SPARK = [page for page in WITH_SNIPPETS if any("pyspark" in snippet.code for snippet in snippets_of(page))]


@pytest.mark.parametrize("page", long_but_for([*{*WITH_SNIPPETS} - {*ON_SPARK}], WITH_SNIPPETS), ids=shown)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    if page in ON_SPARK:
        if shutil.which("java") is None:
            pytest.skip("Java is not installed (Debian: apt install openjdk-17-jre-headless)")
        # 500 persons do not want the 200 partitions that Spark makes by itself
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.shuffle.partitions=2 pyspark-shell")
    for snippet in snippets_of(page):
        run_snippet(snippet, page, names)


def test_examples_in_docstrings_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in MODULES:
        if ">>> " in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(PROJECT / "src").with_suffix("").parts).removesuffix(".__init__")
            module = importlib.import_module(name)
            outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
            assert outcome.attempted > 0, f"{shown(path)} has examples that doctest does not find"
            assert outcome.failed == 0, f"examples of {shown(path)} answer something else"


# --- links ---------------------------------------------------------------------------------------------------------


def prose_of(page: Path) -> str:
    """A page without its code, in which brackets and hashes mean other things."""
    text = re.sub(r"^(```|~~~).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "``", text)


def links_of(page: Path) -> list[str]:
    prose = prose_of(page)
    inline = re.findall(r"\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)", prose)
    referenced = re.findall(r"^\[[^\]]+\]:\s+(\S+)", prose, flags=re.MULTILINE)
    return inline + referenced


def anchors_of(page: Path) -> set[str]:
    """The names under which headings can be linked to, made as the site's generator makes them."""
    from markdown.extensions.toc import unique

    text = re.sub(r"^(```|~~~).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    anchors: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        unique(slugify(re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading), "-"), anchors)
    return anchors


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for link in links_of(page):
        if re.match(r"[a-z]+:", link):  # elsewhere on the network; not ours to keep
            continue
        address, _, anchor = link.partition("#")
        target = (page.parent / address).resolve() if address else page
        is_dead = not target.exists() or PROJECT not in [target, *target.parents]
        if is_dead or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            dead.append(link)
    assert not dead


# --- the site ------------------------------------------------------------------------------------------------------


def test_the_site_has_every_page(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        place = page.relative_to(DOCS).with_suffix("")
        built = site / place.parent / "index.html" if place.name == "index" else site / place / "index.html"
        assert built.is_file(), shown(page)


FETCHES = re.compile(
    r"""<(?:script|img|iframe|source|embed)\b[^>]*\bsrc\s*=\s*["']?(?:https?:)?//"""
    r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*\bhref\s*=\s*["']?(?:https?:)?//"""
    r"""|url\(\s*["']?(?:https?:)?//"""
    r"""|@import\s+["'](?:https?:)?//""",
    flags=re.IGNORECASE,
)


def test_what_only_developers_read_stands_by_itself(site: Path) -> None:
    sections = re.split(r'class="md-tabs__item', (site / "index.html").read_text(encoding="utf-8"))[1:]
    titles = [re.search(r"<a[^>]*>\s*(.+?)\s*</a>", section, flags=re.DOTALL) for section in sections]
    assert [title[1] for title in titles if title][-1] == "Project"
    page = (site / "mutation" / "index.html").read_text(encoding="utf-8")
    active = re.search(r'md-tabs__item--active".*?<a[^>]*>\s*(.+?)\s*</a>', page, flags=re.DOTALL)
    assert active is not None
    assert active[1] == "Project"


def test_the_gallery_shows_what_its_programs_answer(site: Path) -> None:
    page = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    assert "Release: holds" in page
    assert "data:image/svg+xml" in page
    assert page.count("exit code 0") == (2 if programs() is None else 3), "the program for PostgreSQL runs where it is"


def test_formulas_are_shown_as_formulas(site: Path) -> None:
    page = (site / "models" / "identity" / "index.html").read_text(encoding="utf-8")
    assert "<mfrac>" in page
    assert "\\frac" not in page


def test_the_readme_fits_one_sitting() -> None:
    assert len((PROJECT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_the_site_fetches_nothing_from_elsewhere(site: Path) -> None:
    texts = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert texts
    fetching = [path.relative_to(site).as_posix() for path in texts if FETCHES.search(path.read_text(encoding="utf-8"))]
    assert not fetching
