"""For each column what was done, in words, before and after: equal to a plain recount, for every mask and method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.engines.stream import protect_file
from shoal.grouping import METHODS
from shoal.masking import MASKS


def table(n: int = 40) -> pl.DataFrame:
    person = range(n)
    return pl.DataFrame(
        {
            "who": [f"p{p}" for p in person],
            "age": [20 + p % 20 for p in person],
            "sex": ["f" if p % 2 else "m" for p in person],
            "town": [f"t{p % 4}" for p in person],
            "disease": [f"d{p % 7}" for p in person],
            "note": ["x"] * n,
        }
    )


SCHEMA = shoal.Schema(
    person="who", quasi=[shoal.Number("age", round=5), shoal.Nominal("sex")], sensitive=["disease"], kept=["town"],
    dropped=["note"], coded={"age": {"top": 35}},
)  # fmt: skip
WITHOUT_MODELS = {name for name, cls in MASKS.items() if not cls.takes_groups}


def protected(n: int = 40, **how: Any) -> Any:
    return shoal.protect(table(n), SCHEMA, [shoal.PersonKAnonymity(k=2)], seed=1, allow_alone=True, **how)


@pytest.mark.parametrize("mask", MASKS)
def test_every_mask_says_what_it_did(mask: str) -> None:
    how = {"method": "cell-suppression", "missing_matches": "all"} if mask == "wildcards" else {"mask": mask}
    if mask not in WITHOUT_MODELS:
        check(protected(**how))
        return
    of_sex = {"pram": {}, "record-swap": {"region": "sex"}}
    how |= {"by": "noise:columns=age"} if mask == "columns" else of_sex.get(mask, {})
    quasi = "sex" if mask in of_sex else "age"
    schema = shoal.Schema(
        quasi=[quasi], sensitive=["disease"], dropped=[n for n in table().columns if n not in (quasi, "disease")]
    )
    release = shoal.protect(table(), schema, [], seed=1, max_linkage=1.0, **how)
    assert release.to_dict()["changes"][quasi]["done"]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_says_what_it_did(method: str) -> None:
    options: dict[str, Any] = {"m": 2} if method in ("buckets", "anatomy") else {}
    if method == "safepub":  # at least 51 persons share all that is published of them
        options = {"epsilon": 4.0, "delta": 0.4, "degree": "high", "n": 2800}
    check(protected(method=method, **options))


def check(release: Any) -> None:
    changes = release.to_dict()["changes"]
    assert list(changes) == [name for name, _ in SCHEMA.roles()]
    assert changes["note"] == {"role": "dropped", "done": "not published", "values_before": 1}
    assert "35 stands for 35 and more" in changes["age"]["done"]
    original, shown, places = release.table.frame, release.published.frame, release.published.record_of_published
    for name, told in changes.items():
        assert told["done"]
        if name not in shown.columns:
            assert "changed" not in told
            continue
        cells = [None if cell is None else str(cell) for cell in shown[name].to_list()]
        was = [None if cell is None else str(cell) for cell in (original[name][int(at)] for at in places)]
        differ = [before != after for before, after in zip(was, cells, strict=True)]
        if not release.mask.has_tables:
            assert told["changed"] == pytest.approx(sum(differ) / len(differ))
        assert told["hidden"] == pytest.approx(cells.count("*") / len(cells))
        assert told["values_after"] == len(set(cells) - {None})
    if "changed" in changes["town"]:
        assert changes["town"]["changed"] == 0.0
    assert changes["age"]["values_before"] == 20


def test_the_report_shows_it(tmp_path: Path) -> None:
    protected().write(tmp_path / "out", format="csv")
    page = (tmp_path / "out" / "steward" / "report.html").read_text(encoding="utf-8")
    assert "What was done to each column" in page
    assert "35 stands for 35 and more" in page
    assert "ends rounded to 5" in page


def test_engines_without_the_original_say_it_in_words(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "table.csv")
    made = protect_file(
        tmp_path / "table.csv", SCHEMA, [shoal.PersonKAnonymity(k=2)], tmp_path / "out", allow_alone=True
    )
    changes = made.to_dict()["changes"]
    assert changes["age"]["done"].startswith("8 values of 8 persons were coded")
    assert "changed" not in changes["age"]
