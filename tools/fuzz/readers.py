"""python -m tools.fuzz.readers NAME: bytes led by coverage, into the readers of CSV files, hierarchies and policies.

    python -m tools.fuzz.readers csv --runs 20000
    python -m tools.fuzz.readers policy --seconds 600 --seed 7

A reader may refuse in shoal's own words. What it accepts must come back the same when it is written and read again.
An input that fails is kept in the folder that --keep names, and is run again with --file. Needs atheris (Linux x86_64,
Python before 3.14).
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

LARGEST = 4096

# What the first inputs look like: small files of the kinds that stewards have.
SEEDS: dict[str, list[bytes]] = {
    "csv": [
        b"patient,age,disease\np1,30,flu\np2,,cold\n",
        b'a;b\r\n"x;1";"say ""yes"""\r\n',
        b"a\tb\rc\td\r",
        b"\xef\xbb\xbfname\n\xc3\xa9\n\n\n",
        b'a,b\n"two\nlines",1\n',
        "größe|µ\n1|2\n".encode("utf-16"),
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03KL\xe2J\xe2\x02\x00\xa3\xe6\xbc\x4e\x04\x00\x00\x00",
        b"a,a\n1,2\n",
        b"a,*\n1,2\n",
        b"^a.*$,ab\n1,2\n",
    ],
    "hierarchy": [
        b"a;ab;*\nb;ab;*\nc;cd;*\n",
        b"30,30-39,*\n31,30-39,*\n40,40-49,*\n",
        b"\xef\xbb\xbfx;*\r\n",
        b'"a;b";"*"\n"c""d";"*"\n',
        b"a;b\na;c\n",
        b"a;x;y\nb;x;z\n",
    ],
    "policy": [
        b"""seed = 7
safe_cells = true
[columns]
person = "p"
quasi = ["age:number", "zip"]
sensitive = ["d"]
[models]
g-balance = 0.8
l-diversity = { l = 2, kind = "recursive", c = 3 }
[method]
name = "mdav"
m = 3
""",
        b"""[columns]
quasi = [{name = "a", hierarchy = {intervals = {low = 0, width = 5, high = 99}}}]
[models]
k-anonymity = 5
""",
        b"""[columns]
quasi = ["a"]
[knowledge]
facts = [{when = {a = "x"}, never = {d = "y"}}]
[mask]
max-linkage = 0.05
""",
        b'[columns]\nquasi = ["a"]\n[source]\nmissing = ["", "NA"]\ndelimiter = ";"\n[budget]\nmax_suppressed = 3\n',
        b"[columns]\nquasi = [1, 2, {}]\n[models]\nnone = 1e999\n",
    ],
}
WORDS: dict[str, list[str]] = {
    "csv": [",", ";", "\\x22", "\\x0d\\x0a", "\\x00", "\\xef\\xbb\\xbf", "\\x1f\\x8b", "\\xff\\xfe"],
    "hierarchy": [";", ",", "*", "\\x22", "\\x0d\\x0a", "\\xef\\xbb\\xbf"],
    "policy": ["[columns]", "quasi", "sensitive", "person", "[models]", "g-balance", "l-diversity", "joint-diversity",
               "[source]", "[method]", "[mask]", "[budget]", "[knowledge]", "[tables]", "hierarchy", "prefixes", "inf",
               "intervals", "width", "order", "kind", "nominal", "caps", "{", "}", "[[", "]]", "\\x22\\x22\\x22", "nan",
               "1e400", "= true"],
}  # fmt: skip


def read_csv(data: bytes, file: Path) -> None:
    """Read bytes as a CSV file; what was read is the same when it is written and read again."""
    import polars as pl

    from shoal.errors import ShoalError
    from shoal.reading import CsvOptions
    from shoal.reading import read_csv as read

    file.write_bytes(data)
    try:
        reading = read(file)
    except ShoalError:
        return
    assert reading.lines is not None
    assert reading.frame.height == len(reading.lines)
    assert all(dtype == pl.String for dtype in reading.frame.dtypes)
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(reading.frame.columns)
    writer.writerows(reading.frame.fill_null("").rows())
    file.write_bytes(text.getvalue().encode())
    assert read(file, CsvOptions(delimiter=",")).frame.equals(reading.frame), (
        "written and read again it is another table"
    )


def read_hierarchy(data: bytes, file: Path) -> None:
    """Read bytes as a hierarchy; its rows make the same one again, and it has a label for every set of its values."""
    import numpy as np

    from shoal.errors import ShoalError
    from shoal.table.hierarchy import Hierarchy

    file.write_bytes(data)
    try:
        hierarchy = Hierarchy.read_arx_csv(file)
    except ShoalError:
        return
    values = [path[0] for path in hierarchy.paths]
    assert Hierarchy.from_rows(hierarchy.paths).paths == hierarchy.paths
    labels = hierarchy.common_ancestor_of_groups(
        [*values, None], np.zeros(len(values) + 1, dtype=np.int32), np.arange(len(values) + 1, dtype=np.int32), 1
    )
    assert labels == [hierarchy.root]


def read_policy(data: bytes, file: Path) -> None:
    """Read bytes as a policy; what was read is the same when it is written and read again, and is said in words."""
    from shoal.errors import ShoalError
    from shoal.policy import Policy
    from shoal.policy.explain import explain

    file.write_bytes(data)
    try:
        policy = Policy.load(file)
    except ShoalError:
        return
    explain(policy)
    file.write_text(policy.to_toml(), encoding="utf-8")
    assert Policy.load(file) == policy, "written and read again it is another policy"


READERS: dict[str, Callable[[bytes, Path], None]] = {
    "csv": read_csv,
    "hierarchy": read_hierarchy,
    "policy": read_policy,
}


def main() -> int:
    """Fuzz a reader until so many inputs or seconds have passed; atheris ends the process."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz.readers")
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--seconds", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default=".", help="where an input that fails is kept")
    parser.add_argument("--file", help="run this input alone, without atheris")
    asked = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="shoal-fuzz-"))
    file = home / "input"
    reader = READERS[asked.reader]
    if asked.file is not None:
        reader(Path(asked.file).read_bytes(), file)
        return 0

    import atheris

    with atheris.instrument_imports(include=["shoal", "tomllib", "csv"]):
        import shoal.policy.explain
        import shoal.reading.csv
        import shoal.table.hierarchy  # noqa: F401
    corpus = home / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS[asked.reader]):
        (corpus / str(number)).write_bytes(seed)
    words = home / "words"
    words.write_text("".join(f'"{word}"\n' for word in WORDS[asked.reader]))
    atheris.Setup(
        [sys.argv[0], f"-runs={asked.runs}", f"-max_total_time={asked.seconds}", f"-seed={asked.seed}",
         f"-max_len={LARGEST}", f"-artifact_prefix={Path(asked.keep).absolute()}/", f"-dict={words}", "-timeout=30",
         "-rss_limit_mb=4096", str(corpus)],
        lambda data: reader(data, file),
    )  # fmt: skip
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
