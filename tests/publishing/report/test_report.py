"""The report says what the release reached, number by number, for every mask; and nothing else gets on the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal import Nominal, Schema
from shoal.policy.explain import explain_model
from shoal.publishing.manifest import check_manifest
from shoal.publishing.report.numbers import share
from tests.publishing.report.conftest import Reported
from tests.publishing.report.pages import KINDS, Element, Page, looked_up

Made = Callable[[str], Reported]
every_kind = pytest.mark.parametrize("kind", KINDS)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def section(page: Page, number: int) -> Element:
    (found,) = [each for each in page.all("section") if each.attributes["aria-labelledby"] == f"s{number}"]
    return found


@every_kind
def test_every_number_on_the_page_is_the_one_in_report_json(reported: Made, kind: str) -> None:
    made = reported(kind)
    shown = {key: value for key, value in made.report.numbers().items() if key != "seed"}
    assert len(shown) > 20
    for key, value in shown.items():
        kept = None if key.startswith("before.") and made.numbers["before"] is None else looked_up(made.numbers, key)
        assert value == ("" if kept is None else repr(kept) if not isinstance(kept, bool) else str(kept)), key


@every_kind
def test_the_numbers_are_those_of_the_release(reported: Made, kind: str) -> None:
    made = reported(kind)
    risk = made.release.risk
    assert made.numbers["persons"] == risk.persons
    assert made.numbers["verdict"]["holds"] is True
    spread = made.numbers["report"]["risk"]
    if spread["record_risk"]["after"] is not None:
        assert sum(spread["record_risk"]["after"]) == risk.persons
        assert spread["riskiest_groups"][0]["record_risk"] == risk.max_gidr
    else:
        assert made.numbers["max_gidr"] is None
    assert spread["value_risk"].keys() == risk.max_gsar.keys()
    assert sum(size["groups"] for size in spread["group_sizes"]["after"]) == risk.groups
    for name, column in made.numbers["report"]["cost"]["columns"].items():
        assert column["ane"] == made.release.utility.ane_of_column[name]
    promises = made.numbers["report"]["asked"]["promises"]
    assert promises == [explain_model(model) for model in made.release.models]


@every_kind
def test_the_first_page_says_the_verdict_and_the_figures(reported: Made, kind: str) -> None:
    made = reported(kind)
    front = flat(made.report.text.split("What was asked")[0])
    numbers = made.numbers
    assert "kept in" in front
    assert f"{numbers['records']:,} records of {numbers['persons']:,} persons" in front
    assert "not differential privacy" in front
    if numbers["h_affiliation"] is not None:
        assert flat(share(numbers["h_affiliation"])) in front
    else:
        assert "names no sensitive attribute" in front
    if kind == "perturb":
        assert flat(share(numbers["linkage"]["rate"])) in front
    elif kind in ("anatomize", "permute", "rules"):
        assert "published as they are" in front
        assert "expected to be found (to whoever knows the exact quasi-identifiers)" in made.report.text
        assert "is one person’s (to whoever knows the group only)" in made.report.text
    else:
        assert flat(share(numbers["max_gidr"])) in front or numbers["max_gidr"] is None
    if kind == "budget":
        assert f"{numbers['suppressed_persons']:,} persons were left out" in front
        assert numbers["suppressed_persons"] > 0
    for name in made.release.schema.quasi_names:
        assert f"‘{name}’" in front or kind in ("perturb",)


@every_kind
def test_it_needs_nothing_from_elsewhere(reported: Made, kind: str) -> None:
    made = reported(kind)
    for name in ("steward/report.html", "summary.html"):
        text = (made.folder / name).read_text(encoding="utf-8")
        assert "http:" not in text.lower()
        assert "https:" not in text.lower()
        assert "//" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)
        assert "@import" not in text
        assert "url(" not in text
        page = Page(text)
        assert not page.comments
        for element in page.elements():
            assert element.tag not in {"script", "link", "img", "iframe", "object", "embed", "base", "form", "audio"}
            assert not {"src", "srcset", "action", "data", "style"} & element.attributes.keys()
            assert not [name for name in element.attributes if name.startswith("on")]
            assert element.attributes.get("href", "#").startswith("#")
        policy = [each.attributes["content"] for each in page.all("meta") if "http-equiv" in each.attributes]
        assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


@every_kind
def test_charts_can_be_read_without_seeing_them(reported: Made, kind: str) -> None:
    page = reported(kind).report
    charts = [each for each in page.all("svg") if each.attributes.get("class") == "chart"]
    assert charts
    for chart in charts:
        assert chart.attributes["role"] == "img"
        (title,), (description,) = chart.all("title"), chart.all("desc")
        assert title.text
        assert description.text
        assert chart.attributes["aria-label"] == f"{title.text}. {description.text}"
    for figure in page.all("figure"):
        assert len(figure.all("svg")) == 1
        assert figure.all("figcaption")
    with_numbers = [figure for figure in page.all("figure") if figure.all("details")]
    assert len(with_numbers) >= len(charts) - 1  # the attacks have their table above
    for figure in with_numbers:
        assert figure.all("details")[0].all("table")
    for svg in page.all("svg"):
        assert svg.attributes.get("role") == "img" or svg.attributes.get("aria-hidden") == "true"
    for table in page.all("table"):
        assert all(each.attributes.get("scope") in ("col", "row") for each in table.all("th"))


@every_kind
def test_sections_can_be_gone_to(reported: Made, kind: str) -> None:
    page = reported(kind).report
    anchors = {each.attributes["href"][1:] for each in page.all("a")}
    names = [each.attributes["id"] for each in page.elements() if "id" in each.attributes]
    assert anchors == set(names)
    assert len(names) == len(set(names)) == (9 if "usefulness" in kind or kind in ("full-domain", "safepub") else 8)
    assert page.all("html")[0].attributes["lang"] == "en"


def test_the_chart_is_drawn_from_the_numbers(reported: Made) -> None:
    made = reported("range")
    (figure,) = [each for each in made.report.all("figure") if "Record risk over persons" in each.text]
    spread = made.numbers["report"]["risk"]["record_risk"]
    bars = figure.all("svg")[0].all("rect")
    for when in ("before", "after"):
        heights = [float(each.attributes["height"]) for each in bars if each.attributes["class"] == when]
        counts = [n for n in spread[when] if n]
        assert len(heights) == len(counts)
        tallest, most = max(heights), max(counts)
        for height, n in zip(heights, counts, strict=True):
            assert height == pytest.approx(max(tallest * n / most, 1), abs=0.6)
    for at, n in enumerate(spread["after"]):
        assert made.report.numbers()[f"report.risk.record_risk.after.{at}"] == str(n)


def test_what_was_asked_is_marked_where_it_stands(reported: Made) -> None:
    made = reported("budget")
    assert made.numbers["report"]["risk"]["record_risk"]["asked"] == 0.02
    (figure,) = [each for each in made.report.all("figure") if "Record risk over persons" in each.text]
    (mark,) = [each for each in figure.all("line") if each.attributes["class"] == "mark"]
    labels = {
        each.text: float(each.attributes["x"]) for each in figure.all("text") if "middle" in each.attributes["class"]
    }
    assert labels["1–2"] < float(mark.attributes["x1"]) < labels["2–5"]
    assert "asked: at most 2.0" in figure.text


def test_how_to_repeat_it(reported: Made, tmp_path: Path) -> None:
    made = reported("range")
    manifest = json.loads((made.folder / "steward/manifest.json").read_text())
    told = section(made.report, 7).text
    assert manifest["seed"] == "5"
    assert "seed=5" in told
    for entry in manifest["files"]:
        if entry["path"] not in ("steward/report.html", "summary.html"):
            assert entry["sha256"] in told
            assert entry["path"] in told
    assert manifest["packages"]["polars"] in told
    assert manifest["policy_sha256"] in told
    assert "person-k-anonymity = 5" in told
    source = tmp_path / "my visits.csv"
    source.write_text("x")
    other = tmp_path / "zips.csv"
    other.write_text("y")
    made.release.write(tmp_path / "out", inputs=[source], policy_text='[columns]\nquasi = ["age"]\n')
    told = section(Page((tmp_path / "out/steward/report.html").read_text()), 7).text
    assert "shoal protect 'my visits.csv' --policy DIR/steward/policy.toml --seed 5 -o AGAIN" in told


def test_a_policy_that_no_file_can_hold_is_told_by_its_models(tmp_path: Path) -> None:
    class Own:
        """A mask of one's own."""

        def mask(self, column: Any, records: Any, table: Any) -> pl.Series:
            return pl.Series(["x"] * records.n_groups)

    frame = pl.DataFrame({"p": range(40), "q": range(40)})
    release = shoal.protect(frame, Schema(person="p", quasi=["q"]), [shoal.PersonKAnonymity(k=4)], mask=Own(), seed=1)
    folder = release.write(tmp_path / "out", policy_text="no policy at all [")
    numbers = json.loads((folder / "steward/report.json").read_text())
    assert numbers["report"]["asked"]["policy"] == numbers["report"]["asked"]["promises"]
    assert numbers["report"]["cost"]["columns"]["q"] == {"ane": release.utility.ane_of_column["q"]}
    assert "at least 4 persons" in (folder / "steward/report.html").read_text()


def test_a_policy_that_lists_values_is_named_only(tmp_path: Path) -> None:
    zips = [f"{20000 + at}" for at in range(40)]
    frame = pl.DataFrame({"p": range(40), "zip": zips})
    schema = Schema(person="p", quasi=[Nominal("zip", shoal.Hierarchy.of_prefixes(zips))])
    folder = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=4)], seed=1).write(tmp_path / "out")
    assert "20039" in (folder / "steward/policy.toml").read_text()
    assert "20039" not in (folder / "steward/report.html").read_text()
    assert "policy.toml" in section(Page((folder / "steward/report.html").read_text()), 7).text


def test_files_that_the_policy_names_are_not_named_twice(reported: Made, tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("visits.csv", "zips.csv", "persons.csv")}
    for path in files.values():
        path.write_text("x")
    policy = """
[columns]
quasi = [{ name = "zip", hierarchy = "../zips.csv" }]
[source.join]
person_file = "../persons.csv"
on = "p"
"""
    made = reported("range").release.write(tmp_path / "out", inputs=list(files.values()), policy_text=policy)
    told = section(Page((made / "steward/report.html").read_text()), 7).text
    assert "shoal protect visits.csv --policy" in told
    assert all(told.count(name) >= 1 for name in files)


# --- what must not get on the page -----------------------------------------------------------------------------------


NASTY = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>&lt;\u202e\x07"


def test_names_are_never_markup(tmp_path: Path) -> None:
    n = 60
    quasi, sensitive, person, dropped, kept = (f"{NASTY}{at}" for at in range(5))
    frame = pl.DataFrame({
        person: [at // 2 for at in range(n)], quasi: [NASTY, "</style><script>"] * (n // 2),
        "age": range(n), sensitive: [NASTY, "<b>", "</td>"] * (n // 3), dropped: range(n), kept: ["<i>"] * n,
    })  # fmt: skip
    schema = Schema(person=person, quasi=[Nominal(quasi), "age"], sensitive=[sensitive], dropped=[dropped], kept=[kept])
    for mask, options in (("range", {}), ("perturb", {"method": "mdav"})):
        release = shoal.protect(
            frame, schema, [shoal.PersonKAnonymity(k=3), shoal.HAffiliation(h=0.9, column=sensitive)], mask=mask,
            seed=1, **options,
        )  # type: ignore[arg-type]  # fmt: skip
        source = tmp_path / "<svg onload=alert(1)>.csv"
        source.write_text("x")
        folder = release.write(tmp_path / mask, inputs=[source])
        for name in ("steward/report.html", "summary.html"):
            text = (folder / name).read_text(encoding="utf-8")
            assert "<script" not in text
            assert "<img" not in text
            assert "<svg onload" not in text
            assert "\u202e" not in text  # would turn the letters that follow around
            assert "\x07" not in text
            page = Page(text)
            assert not page.all("script")
            assert not page.all("img")
            assert "alert('x')" in page.text or "alert(’x’)" in page.text  # it is there, as text
        assert check_manifest(folder) == []


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of persons whose values are all their own, or of a handful of persons."""
    n = 300
    frame = pl.DataFrame({
        "patient": [f"personcanary{at:04d}" for at in range(n)],
        "town": [f"towncanary{at:04d}" for at in range(n)],
        "rare": ["rarecanary" if at < 9 else "common" for at in range(n)],
        "salary": [70_000_000 + 7919 * at for at in range(n)],
        "disease": [f"diseasecanary{at % 30}" for at in range(n)],
        "note": [f"droppedcanary{at}" for at in range(n)],
    })  # fmt: skip
    schema = Schema(person="patient", quasi=[Nominal("town"), Nominal("rare"), "salary"], sensitive=["disease"],
                    dropped=["note"])  # fmt: skip
    release = shoal.protect(frame, schema, [shoal.PersonKAnonymity(k=5), shoal.HAffiliation(h=0.5)], seed=1)
    return release.write(tmp_path_factory.mktemp("canaries") / "out")


@pytest.mark.parametrize("name", ["steward/report.html", "steward/report.json", "summary.html"])
def test_no_value_of_a_single_person_is_told(canaries: Path, name: str) -> None:
    text = (canaries / name).read_text(encoding="utf-8").replace(",", "")
    assert "canary" not in text
    told = {70_000_000 + 7919 * at for at in range(300)} & {int(digits) for digits in re.findall(r"\d{8}", text)}
    assert told <= {70_000_000 + 7919 * at for at in range(300) if (70_000_000 + 7919 * at) % 1000 == 0}


def test_the_part_on_risk_tells_no_value_at_all(reported: Made) -> None:
    for kind in ("range", "anatomize", "perturb"):
        made = reported(kind)
        told = section(made.report, 4).text + json.dumps(made.numbers["report"]["risk"])
        table = made.release.table
        for name in ("disease", "treatment", "gender"):
            values = set(table.frame[name].drop_nulls().cast(pl.String))
            assert not [value for value in values if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", told)], name


class TestSummary:
    @every_kind
    def test_it_says_what_was_promised_and_measured(self, reported: Made, kind: str) -> None:
        made = reported(kind)
        text = flat(made.summary.text)
        for model in made.release.models:
            assert flat(explain_model(model).split("'")[0]) in text
        assert [each.text for each in made.summary.all("td")].count("met") == len(made.release.models)
        assert flat(share(made.release.utility.loss, 1)) in text
        if kind == "perturb":
            assert flat(share(made.numbers["linkage"]["rate"], 1)) in text
        else:
            assert all(flat(share(risk, 1)) in text for risk in made.release.risk.max_gsar.values())

    @every_kind
    def test_it_says_nothing_of_what_stays(self, reported: Made, kind: str) -> None:
        made = reported(kind)
        text = (made.folder / "summary.html").read_text(encoding="utf-8")
        manifest = json.loads((made.folder / "steward/manifest.json").read_text())
        for name in made.release.schema.dropped:
            assert name not in text
        assert manifest["policy_sha256"] not in text
        assert all(entry["sha256"] not in text for entry in manifest["files"])
        assert manifest["packages"]["polars"] not in text
        assert "before" not in flat(made.summary.text).replace("before the release was written", "")
        assert not [each for each in made.summary.elements() if "data-key" in each.attributes]
        for words in ("riskiest", "seed", "alone", "extreme"):
            assert words not in made.summary.text

    def test_a_perturbed_release_tells_nothing_of_its_groups(self, reported: Made) -> None:
        text = flat(reported("perturb").summary.text)
        assert "Groups" not in text
        assert "Record risk" not in text
        assert "Value risk" not in text

    def test_few_persons_left_out_are_not_counted_out(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"p": [0] * 50 + list(range(1, 41)), "q": range(90)})
        schema = Schema(person="p", quasi=["q"])
        release = shoal.protect(frame, schema, [shoal.RecordRisk(rho=0.1)], max_suppressed=3, seed=1)
        assert release.table.suppressed_persons == 1
        folder = release.write(tmp_path / "out")
        text = flat(Page((folder / "summary.html").read_text()).text)
        assert "fewer than 10 persons were left out" in text
        assert "1 person was left out" in flat(Page((folder / "steward/report.html").read_text()).text)

    def test_it_names_the_tables_of_an_anatomized_release(self, reported: Made) -> None:
        made = reported("anatomize")
        files = [path.name for path in made.folder.glob("release-*")]
        assert len(files) == 2
        assert all(name in made.summary.text for name in files)
