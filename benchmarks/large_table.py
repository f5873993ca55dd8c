"""A table that is larger than one wants to hold: made block by block, its persons spread over the whole file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from shoal.demo.benchmark_table import benchmark_table

IDS_A_BLOCK = 10**10
PIECES = 10


def write_large_table(path: Path, persons: int, *, persons_a_block: int = 500_000) -> int:
    """Write the benchmark's table with so many persons as Parquet, and give its number of records.

    Each block of persons comes from a seed of its own. Its records are spread over the file in pieces, so that a
    person's records lie far apart.
    """
    blocks = path.with_suffix(".blocks")
    blocks.mkdir()
    sizes = []
    for number in range(max(persons // persons_a_block, 1)):
        block = benchmark_table(min(persons, persons_a_block), seed=number)
        block = block.with_columns(pl.col("person") + number * IDS_A_BLOCK)
        block.write_parquet(blocks / f"{number}.parquet")
        sizes.append(len(block))
        schema = block.schema
    del block

    def pieces(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        for piece in range(PIECES):
            for number, size in enumerate(sizes):
                first, last = size * piece // PIECES, size * (piece + 1) // PIECES
                scan = pl.scan_parquet(blocks / f"{number}.parquet").slice(first, last - first)
                yield scan.collect(engine="streaming").select(with_columns or pl.all())

    register_io_source(pieces, schema=schema).sink_parquet(path)
    shutil.rmtree(blocks)
    return sum(sizes)


if __name__ == "__main__":
    write_large_table(Path(sys.argv[1]), int(sys.argv[2]))
