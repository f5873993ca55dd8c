"""Hierarchies are trees, find the lowest common ancestor, and refuse what is no tree without telling values."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError, SchemaError
from shoal.table.hierarchy import Hierarchy
from tests.naive import hierarchy as naive

DISEASES = [
    ("asthma", "lung", "organs", "*"),
    ("bronchitis", "lung", "organs", "*"),
    ("ulcer", "stomach", "organs", "*"),
    ("flu", "infection", "infection", "*"),
]

PROJECT = Path(__file__).resolve().parents[2]
ARX_FOLDER = PROJECT / os.environ.get("SHOAL_DATA", "../shared/data") / "adult" / "hierarchies_arx"


@st.composite
def trees(draw):
    """Paths that make a tree: each level maps the nodes of the level below to fewer nodes."""
    n_nodes = draw(st.integers(1, 12))
    paths = [[f"v{leaf}"] for leaf in range(n_nodes)]
    node_of_leaf = list(range(n_nodes))
    for level in range(draw(st.integers(0, 4))):
        parent_of_node = draw(st.lists(st.integers(0, 3), min_size=n_nodes, max_size=n_nodes))
        node_of_leaf = [parent_of_node[node] for node in node_of_leaf]
        for path, node in zip(paths, node_of_leaf, strict=True):
            path.append(f"n{node}" if level % 2 else f"v{node}")  # labels repeat over levels, as ARX allows
        n_nodes = 4
    return [(*path, "*") for path in draw(st.permutations(paths))]


@st.composite
def any_paths(draw):
    """Small lines, most of which make no tree."""
    label = st.sampled_from("abc")
    length = draw(st.integers(1, 4))
    return draw(st.lists(st.lists(label, min_size=length, max_size=length).map(tuple), max_size=5))


@settings(deadline=None)
@given(any_paths())
def test_exactly_trees_are_accepted(paths):
    if naive.is_tree(paths):
        assert Hierarchy.from_rows(paths).values == tuple(path[0] for path in paths)
    else:
        with pytest.raises(SchemaError):
            Hierarchy.from_rows(paths)


@settings(deadline=None)
@given(trees(), st.data())
def test_lowest_common_ancestor_equals_its_definition(paths, data):
    hierarchy = Hierarchy.from_rows(paths)
    values = data.draw(st.lists(st.sampled_from(hierarchy.values), min_size=1))
    assert hierarchy.lowest_common_ancestor(values) == naive.lowest_common_ancestor(paths, values)


@settings(deadline=None)
@given(trees(), st.data())
def test_codes_name_every_node_of_every_category(paths, data):
    hierarchy = Hierarchy.from_rows(paths)
    categories = data.draw(st.permutations(hierarchy.values))
    node_of_category, labels_of_level = hierarchy.codes(categories)
    for category, value in enumerate(categories):
        labels = [labels_of_level[level][node_of_category[category, level]] for level in range(hierarchy.n_levels)]
        assert labels == [hierarchy.label(value, level) for level in range(hierarchy.n_levels)]


@settings(deadline=None)
@given(trees(), st.data())
def test_common_ancestor_of_groups_equals_its_definition(paths, data):
    hierarchy = Hierarchy.from_rows(paths)
    categories = [*data.draw(st.permutations(hierarchy.values)), None]
    n_groups = data.draw(st.integers(1, 4))
    records = data.draw(
        st.lists(st.tuples(st.integers(0, n_groups - 1), st.integers(0, len(categories) - 1)), max_size=12)
    )
    group_of_record = np.array([group for group, _ in records], dtype=np.int64)
    code_of_record = np.array([code for _, code in records], dtype=np.int64)
    assert hierarchy.common_ancestor_of_groups(
        categories, group_of_record, code_of_record, n_groups
    ) == naive.common_ancestor_of_groups(paths, categories, group_of_record, code_of_record, n_groups)


def test_a_missing_value_is_never_hidden_under_a_narrower_label():
    hierarchy = Hierarchy.from_rows(DISEASES)
    categories = ["asthma", None, "bronchitis", "ulcer"]
    groups = np.array([0, 0, 1, 1, 2, 2, 3])
    codes = np.array([0, 2, 0, 1, 1, 1, 3])
    assert hierarchy.common_ancestor_of_groups(categories, groups, codes, 4) == ["lung", "*", None, "ulcer"]


def test_the_same_label_at_two_levels_is_two_nodes():
    hierarchy = Hierarchy.from_rows(DISEASES)
    assert hierarchy.label("flu", 1) == hierarchy.label("flu", 2) == "infection"
    assert hierarchy.lowest_common_ancestor(["asthma", "ulcer"]) == "organs"
    assert hierarchy.lowest_common_ancestor(["asthma"]) == "asthma"
    assert hierarchy.lowest_common_ancestor(["asthma", "flu"]) == "*"
    assert hierarchy.n_levels == 4


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "is empty"),
        ([("secret", "a", "*"), ("other", "*")], r"1 of 2 lines .* \(first: line 2\)"),
        ([("secret", "a", "*"), ("other", "a", "*"), ("secret", "a", "*")], r"lists 1 values again .*line 3"),
        ([("secret", "a", "b", "*"), ("other", "a", "secret", "*")], r"1 labels of level 1 have two .*line 2"),
        ([("secret", "a", "*"), ("other", "b", "secret")], r"has 2 different labels .*line 2"),
    ],
    ids=["empty", "ragged", "leaf twice", "two parents", "two roots"],
)
def test_what_is_no_tree_is_refused_with_counts_and_lines_only(rows, message):
    with pytest.raises(SchemaError, match=message) as caught:
        Hierarchy.from_rows(rows, source="hierarchy of test")
    assert "hierarchy of test" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_values_that_the_hierarchy_misses_are_counted_not_shown():
    hierarchy = Hierarchy.from_rows(DISEASES, source="hierarchy file 'd.csv'")
    assert hierarchy.missing_from(["flu", "gout", "mumps", "gout"]) == ["gout", "mumps"]
    for use in (
        lambda: hierarchy.check_covers(["flu", "gout", "mumps"], column="disease"),
        lambda: hierarchy.codes(["flu", None, "gout", "mumps"]),
        lambda: hierarchy.lowest_common_ancestor(["flu", "gout", "mumps"]),
    ):
        with pytest.raises(SchemaError, match=r"'d.csv' misses 2 of 3 different values") as caught:
            use()
        assert "gout" not in str(caught.value)
    with pytest.raises(SchemaError, match=r"misses the value") as caught:
        hierarchy.label("gout", 1)
    assert "gout" not in str(caught.value)
    with pytest.raises(ParameterError, match="level must lie in 0 to 3"):
        hierarchy.label("flu", 4)


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "h.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_arx_files_are_read_with_either_delimiter_quotes_and_blank_lines(tmp_path):
    expected = (("a;b", "x, y", "*"), ("c", "x, y", "*"))
    assert Hierarchy.read_arx_csv(write(tmp_path, '"a;b";x, y;*\r\nc;x, y;*\r\n\r\n')).paths == expected
    assert Hierarchy.read_arx_csv(write(tmp_path, 'a;b,"x, y",*\nc,"x, y",*'), delimiter=",").paths == expected
    assert Hierarchy.read_arx_csv(write(tmp_path, "a,*\nb,*\n")).values == ("a", "b")
    assert Hierarchy.read_arx_csv(write(tmp_path, "\ufeffa;*\nb;*\n")).values == ("a", "b")
    assert Hierarchy.read_arx_csv(write(tmp_path, "ä;*\n", "latin-1"), encoding="latin-1").values == ("ä",)
    assert Hierarchy.read_arx_csv(write(tmp_path, "a\u2028b;*\n")).values == ("a\u2028b",)


@pytest.mark.parametrize("text", ["", "\n\n", ";;\n"])
def test_an_empty_arx_file_is_refused(tmp_path, text):
    with pytest.raises(SchemaError, match=r"'h.csv' is empty"):
        Hierarchy.read_arx_csv(write(tmp_path, text))


def test_faults_of_a_file_give_its_own_line_numbers(tmp_path):
    with pytest.raises(SchemaError, match=r"'h.csv' lists 1 values again .*line 4"):
        Hierarchy.read_arx_csv(write(tmp_path, "\na;*\n\na;*\n"))
    with pytest.raises(SchemaError, match="line 2"):
        Hierarchy.read_arx_csv(write(tmp_path, 'a;*\n"b;*\n'))


def test_unreadable_files_are_input_errors(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        Hierarchy.read_arx_csv(tmp_path / "absent.csv")
    with pytest.raises(InputError, match="not utf-8 text"):
        Hierarchy.read_arx_csv(write(tmp_path, "ä;*\n", "latin-1"))
    with pytest.raises(InputError, match="no encoding"):
        Hierarchy.read_arx_csv(write(tmp_path, "a;*\n"), encoding="utf-99")


def arx_files() -> list[Path]:
    return sorted(ARX_FOLDER.glob("*.csv"))


@pytest.mark.data
@pytest.mark.skipif(not arx_files(), reason="the ARX hierarchies of Adult are not in the folder that SHOAL_DATA names")
def test_real_arx_files_load_and_lead_every_value_to_the_root():
    assert len(arx_files()) == 9
    for path in arx_files():
        hierarchy = Hierarchy.read_arx_csv(path)
        n_lines = sum(1 for line in path.read_text(encoding="utf-8").splitlines() if line)
        assert len(hierarchy.values) == n_lines, path.name
        assert hierarchy.root == "*"
        assert naive.is_tree(hierarchy.paths), path.name
    ages = Hierarchy.read_arx_csv(ARX_FOLDER / "adult_hierarchy_age.csv")
    assert ages.lowest_common_ancestor(["71", "80"]) == "70-79"
    assert ages.lowest_common_ancestor(["81", "93"]) == "80-99"


def test_intervals_of_whole_numbers_name_both_ends():
    ages = Hierarchy.of_intervals(low=0, width=5, high=99)
    assert [ages.label("23", level) for level in range(ages.n_levels)] == [
        "23", "20-24", "20-29", "20-39", "0-39", "0-79", "*",
    ]  # fmt: skip
    assert ages.lowest_common_ancestor(["20", "24"]) == "20-24"
    assert ages.lowest_common_ancestor(["24", "25.0"]) == "20-29"
    assert ages.missing_from(["0", "99", "100", "-1", "3.5", "nan", "inf", "old", ""]) == [
        "100", "-1", "3.5", "nan", "inf", "old", "",
    ]  # fmt: skip
    assert Hierarchy.of_intervals(low=-5, width=5, high=9).label("-3", 1) == "-5 to -1"
    assert Hierarchy.of_intervals(low=1, width=1, high=4).label("2", 1) == "2"


def test_intervals_of_decimals_are_exact():
    doses = Hierarchy.of_intervals(low=0, width=0.1, high=0.7)
    assert doses.label("0.3", 1) == "[0.3, 0.4)"
    assert doses.label("0.2999", 1) == "[0.2, 0.3)"
    assert doses.label("0.7", 1) == "[0.7, 0.8)"
    assert Hierarchy.of_intervals(low=1.5, width=0.5, high=4).label("1.5", 1) == "[1.5, 2.0)"


@settings(deadline=None)
@given(st.integers(-50, 50), st.integers(1, 7), st.integers(0, 60), st.integers(2, 4), st.data())
def test_intervals_equal_their_definition(low, width, span, factor, data):
    value = data.draw(st.integers(low, low + span))
    hierarchy = Hierarchy.of_intervals(low=low, width=width, high=low + span, factor=factor)
    between = " to " if low < 0 else "-"
    expected = [
        str(start) if end - start == 1 else f"{start}{between}{end - 1}"
        for start, end in naive.intervals_of(value, low, width, low + span, factor)
    ]
    assert list(hierarchy.path(str(value))) == [str(value), *expected, "*"]


@settings(deadline=None)
@given(st.integers(0, 20), st.integers(1, 5), st.integers(0, 40), st.integers(2, 3))
def test_intervals_make_a_tree(low, width, span, factor):
    hierarchy = Hierarchy.of_intervals(low=low, width=width, high=low + span, factor=factor)
    assert naive.is_tree([hierarchy.path(str(value)) for value in range(low, low + span + 1)])


@pytest.mark.parametrize(
    "faulty",
    [{"width": 0}, {"width": -1}, {"high": -1}, {"factor": 1}, {"low": float("nan")}, {"high": float("inf")}],
)
def test_faulty_intervals_are_refused(faulty):
    with pytest.raises(ParameterError):
        Hierarchy.of_intervals(**{"low": 0, "width": 5, "high": 99} | faulty)


def test_prefixes_of_zip_codes():
    zips = Hierarchy.of_prefixes(["20375", "20371", "20048", "20375"])
    assert zips.path("20375") == ("20375", "2037*", "203**", "20***", "2****", "*")
    assert zips.values == ("20375", "20371", "20048")
    assert zips.lowest_common_ancestor(["20375", "20371"]) == "2037*"
    assert zips.lowest_common_ancestor(["20375", "20048"]) == "20***"
    assert Hierarchy.of_prefixes(["20375"], lengths=[2, 3]).path("20375") == ("20375", "203**", "20***", "*")
    assert Hierarchy.of_prefixes(["20375"], lengths=[3], fill="x").label("20375", 1) == "203xx"


@settings(deadline=None)
@given(st.lists(st.text("ab*", max_size=4), min_size=1, max_size=8))
def test_prefixes_make_a_tree_for_any_codes(codes):
    hierarchy = Hierarchy.of_prefixes(codes)
    assert naive.is_tree(hierarchy.paths)
    assert hierarchy.missing_from(codes) == []


@pytest.mark.parametrize("faulty", [{"lengths": [0]}, {"lengths": [2, 2]}, {"fill": ""}, {"fill": "xx"}])
def test_faulty_prefixes_are_refused(faulty):
    with pytest.raises(ParameterError):
        Hierarchy.of_prefixes(["20375"], **faulty)


def test_icd_codes_of_both_revisions():
    codes = ["E11.9", "E11.0", "E10", "I109", "250.00", "e11.2", "E812.0", "V70"]
    icd = Hierarchy.of_icd(codes)
    assert icd.path("E11.9") == ("E11.9", "E11", "E**", "*")
    assert icd.path("I109") == ("I109", "I10", "I**", "*")
    assert icd.path("250.00") == ("250.00", "250", "2**", "*")
    assert icd.path("e11.2") == ("e11.2", "E11", "E**", "*")
    assert icd.path("E812.0") == ("E812.0", "E812", "E**", "*")
    assert icd.lowest_common_ancestor(["E11.9", "E10"]) == "E**"


def test_many_records_are_fast_and_equal_values_stay_themselves():
    zips = [f"{code:05d}" for code in range(20000, 21000)]
    hierarchy = Hierarchy.of_prefixes(zips)
    code_of_record = np.repeat(np.arange(1000), 200)
    group_of_record = code_of_record // 10
    labels = hierarchy.common_ancestor_of_groups(zips, group_of_record, code_of_record, 100)
    assert labels == [f"{20000 + 10 * group:05d}"[:4] + "*" for group in range(100)]
    assert hierarchy.common_ancestor_of_groups(zips, code_of_record, code_of_record, 1000) == zips
