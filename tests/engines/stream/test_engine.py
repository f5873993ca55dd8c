"""Which engine protects a file: from its size and the memory there is, and what is told where neither has room."""

from __future__ import annotations

from pathlib import Path

import pytest

import shoal
from shoal.engines import memory_needed as room
from shoal.engines.contract import Files
from shoal.engines.memory_needed import (
    Size,
    engine_for,
    memory_there_is,
    needed_in_memory,
    needed_in_portions,
    size_of_files,
)
from shoal.errors import NotEnoughMemoryError
from shoal.reading import CsvOptions
from tests.engines.stream.tables import schema, table


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "table.parquet"
    table(1, 300).write_parquet(path)
    return path


def chosen(file: Path, there_is: int, monkeypatch: pytest.MonkeyPatch, *, why: tuple[str, ...] = ()) -> str:
    monkeypatch.setattr("shoal.engines.memory_needed.memory_there_is", lambda: there_is)
    return engine_for(Files(names=(str(file),)), schema(), lambda: why)


def test_memory_where_the_table_fits_and_portions_where_only_persons_do(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = size_of_files([file], ["parquet"], CsvOptions(), "who")
    assert size is not None
    monkeypatch.setattr("shoal.engines.memory_needed.BASE", 0)
    in_memory, in_portions = needed_in_memory(size, schema()), needed_in_portions(size, schema(), 10)
    monkeypatch.setattr("shoal.engines.memory_needed.needed_in_portions", lambda size, _: in_portions)
    assert in_portions < in_memory
    assert chosen(file, 2 * in_memory, monkeypatch) == "memory"
    assert chosen(file, in_memory, monkeypatch) == "stream"
    with pytest.raises(NotEnoughMemoryError, match="Read in portions it still needs about"):
        chosen(file, in_portions, monkeypatch)


def test_what_does_not_fit_and_cannot_be_read_in_portions_is_refused_with_what_to_do(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotEnoughMemoryError) as told:
        chosen(file, 1000, monkeypatch, why=("The method mdav does not.",))
    for part in ("records needs about", "GB of memory", "mdav", "engine='memory'"):
        assert part in str(told.value)
    assert told.value.exit_code == 2


def test_sizes_are_told_without_reading(tmp_path: Path) -> None:
    frame = table(1, 2000, with_missing=False)
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    paths = [tmp_path / "t.parquet", tmp_path / "t.csv"]
    parquet, csv = (size_of_files([path], [path.suffix[1:]], CsvOptions(), "who") for path in paths)
    assert parquet is not None
    assert csv is not None
    assert parquet.records == len(frame)
    assert 0.9 * 1000 < parquet.persons < 1.1 * 1000  # of the 2,000 some share a name
    assert 0.9 * len(frame) < csv.records < 1.2 * len(frame)
    assert csv.persons >= 0.9 * 1000
    assert size_of_files([tmp_path / "absent.csv"], ["csv"], CsvOptions(), None) is None
    assert size_of_files(paths, ["parquet", "csv"], CsvOptions(), None).records > 1.9 * len(frame)  # type: ignore[union-attr]


def test_more_records_persons_and_columns_need_more() -> None:
    small = Size(10**6, 10**5, 100)
    for larger in (Size(10**7, 10**5, 100), Size(10**6, 10**6, 100), Size(10**6, 10**5, 200)):
        assert needed_in_memory(larger, schema()) > needed_in_memory(small, schema())
    assert needed_in_portions(Size(10**9, 10**5, 100), schema()) < needed_in_memory(Size(10**7, 10**5, 100), schema())


def test_the_smallest_limit_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for machine, group, process, expected in ((5, 3, 4, 3), (5, None, 4, 4), (None, None, None, None)):
        monkeypatch.setattr(room, "_of_machine", lambda machine=machine: machine)
        monkeypatch.setattr(room, "_of_control_group", lambda group=group: group)
        monkeypatch.setattr(room, "_of_process", lambda process=process: process)
        assert memory_there_is() == expected


def test_control_groups_of_both_versions_are_read(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    inner = tmp_path / "fs" / "user" / "job"
    inner.mkdir(parents=True)
    own.write_text("0::/user/job\n")
    (inner / "memory.max").write_text("max\n")
    (inner.parent / "memory.max").write_text("1000\n")
    (inner.parent / "memory.current").write_text("400\n")
    assert room._of_control_group(tmp_path / "fs", own) == 600
    (inner.parent / "memory.stat").write_text("anon 5\ninactive_file 100\n")
    assert room._of_control_group(tmp_path / "fs", own) == 700
    old = tmp_path / "fs" / "memory" / "job"
    old.mkdir(parents=True)
    own.write_text("5:cpu,memory:/job\n")
    (old / "memory.limit_in_bytes").write_text("900\n")
    (old / "memory.usage_in_bytes").write_text("100\n")
    assert room._of_control_group(tmp_path / "fs", own) == 800
    own.write_text("nonsense\n")
    assert room._of_control_group(tmp_path / "fs", own) is None


def test_of_this_machine_something_is_known() -> None:
    if Path("/proc/meminfo").exists():
        there_is = memory_there_is()
        assert there_is is not None
        assert there_is > 10**7


def test_the_library_has_the_same_error() -> None:
    assert issubclass(NotEnoughMemoryError, shoal.errors.ShoalError)
