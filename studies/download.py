"""Fetch the public tables of the studies, each file checked by its SHA-256, into the folder that SHOAL_DATA names.

Run with `python -m studies.download --list`, or `python -m studies.download pima nmes1988` (all of them if none is
named). A file that is there already is left alone. A file that is not what was studied is not kept.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import os
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from studies.data import data_folder

SECONDS_TO_WAIT = 60
LARGEST = 1 << 28
"""Bytes that an address may give; the largest of those below has five million."""

RDATASETS = "https://vincentarelbundock.github.io/Rdatasets/csv"
JBROWNLEE = "https://raw.githubusercontent.com/jbrownlee/Datasets/master"
ARX = "https://raw.githubusercontent.com/arx-deidentifier/arx/master/data"
BANK = "https://raw.githubusercontent.com/mmarossi/Banco/master"


class NotFetchedError(Exception):
    """A file could not be fetched, or is another than the one that was studied."""


@dataclass(frozen=True)
class Wanted:
    """A file of the data folder: where it is, inside which member of an archive, and what it must be."""

    path: str
    address: str
    sha256: str
    member: str | None = None


ADULT_ZIP = "https://archive.ics.uci.edu/static/public/2/adult.zip"
MOVIELENS_ZIP = "https://files.grouplens.org/datasets/movielens/ml-100k.zip"
HIERARCHIES = {
    "age": "463f35372e8b1ad31fc624eb73c5da9297878a044ae5d61038eaf7b431ac55ca",
    "education": "f22e5ee519c28b05538d4e5ddea0fbee5f0017fefb3abab3fa02272325bf9ce5",
    "marital-status": "3e7ba2c4a5cd4fec059b4e3a2c57fce6e7c34a20daee1e624990ddd7beba85e5",
    "native-country": "696d3b53973311c096b33f98bb56e526016910b1a1cd5a1e904cb799d1077023",
    "occupation": "16dc420d5d7f8ab4d1e6144eb1d19ab8314ef42523fe8c4ee202372db1c98126",
    "race": "df11abf41fa0669455adc9c9f9fa88663afa0cee8327684ecca861cd32dc4209",
    "salary-class": "404895b3fcfb615813efab7ae0d2c50c8b127cec651f9b37d44a648646f86345",
    "sex": "537d23f7b6969b916b5a5490eb1b32c273fefdc62ca050a7a813e23bbf3b78b2",
    "workclass": "106f420349bf0071dbb25371795a78799edf24a64c3424619d563c3990ee8d02",
}
BANK_TABLES = {
    "account": "58d7f50abd72e9b1a5568346f74bb54cd71224ee1db9f09a27d7cac563f38cc6",
    "client": "e435c6b92d246f4f0dfd5e2827469d745c06238714c32b3ffb415eebe794e1a7",
    "disp": "ebd801f77b6d322e8ebc08e52f188e7c8fca539325f85f57f8c73434da9d32d8",
    "district": "7f03cf3b9b82f0fdcc3abdf6cc716f145db8e9875c68e2d2e2f7151e9ecf4df3",
    "order": "035930fa6acd2ca42a935e654b21e1bb260248f49b6dc6e7de6351b7c4d56d02",
}
SOURCES: dict[str, list[Wanted]] = {
    "adult": [
        Wanted(
            "adult/adult.data", ADULT_ZIP,
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d", "adult.data",
        ),
        Wanted(
            "adult/adult.test", ADULT_ZIP,
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05", "adult.test",
        ),
        Wanted(
            "adult/adult_arx.csv", f"{ARX}/adult.csv",
            "c700df9304fbf3c4d4db5938bffc510561bd4a2dfad285a3feef9a20619391c5",
        ),
        *(
            Wanted(f"adult/hierarchies_arx/adult_hierarchy_{name}.csv", f"{ARX}/adult_hierarchy_{name}.csv", sha256)
            for name, sha256 in HIERARCHIES.items()
        ),
    ],
    "movielens100k": [
        Wanted(
            "movielens100k/u.data", MOVIELENS_ZIP,
            "06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490", "ml-100k/u.data",
        ),
        Wanted(
            "movielens100k/u.user", MOVIELENS_ZIP,
            "f120e114da2e8cf314fd28f99417c94ae9ddf1cb6db8ce0e4b5995d40e90e62c", "ml-100k/u.user",
        ),
    ],
    "nmes1988": [
        Wanted(
            "nmes1988/NMES1988.csv", f"{RDATASETS}/AER/NMES1988.csv",
            "cbaf6eb0ae09f36ef6ff64efe6e31c1e2e18e2c0b95d5813a9ebb63ded19fd3f",
        )
    ],
    "pima": [
        Wanted(
            "pima/pima-indians-diabetes.csv", f"{JBROWNLEE}/pima-indians-diabetes.csv",
            "6bfe5d0f379d17a0e0819b996407e3c09bf80febd4287f2ed212190dfff154af",
        )
    ],
    "rwm5yr": [
        Wanted(
            "rwm5yr/rwm5yr.csv", f"{RDATASETS}/COUNT/rwm5yr.csv",
            "d9f8b54a760b88c26296de82447db15698efe6672ccaeb8416cd5c36941254e2",
        )
    ],
    "berka": [
        Wanted(f"berka/{name}.asc", f"{BANK}/{name}.asc", sha256) for name, sha256 in BANK_TABLES.items()
    ],
}  # fmt: skip


def fetch(name: str, folder: Path) -> Iterator[tuple[Wanted, str]]:
    """Fetch the files of a source that are missing; tells of each file what became of it.

    Raises
    ------
    NotFetchedError
        Where an address does not answer, or gives another file.
    """
    answers: dict[str, bytes] = {}
    for wanted in SOURCES[name]:
        path = folder / wanted.path
        if path.exists():
            yield wanted, "there already" if _sha256(path.read_bytes()) == wanted.sha256 else "there already, another"
            continue
        if wanted.address not in answers:
            answers[wanted.address] = _read(wanted.address)
        content = _member(answers[wanted.address], wanted)
        if _sha256(content) != wanted.sha256:
            raise NotFetchedError(f"{wanted.address} gives another file than the one that was studied ({wanted.path}).")
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(path.name + ".part")
        beside.write_bytes(content)
        os.replace(beside, path)
        yield wanted, "fetched"


def _read(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS_TO_WAIT) as answer:
            content: bytes = answer.read(LARGEST + 1)
    except (urllib.error.URLError, OSError) as error:
        raise NotFetchedError(f"{address} does not answer: {getattr(error, 'reason', error)}.") from None
    if len(content) > LARGEST:
        raise NotFetchedError(f"{address} gives more than {LARGEST:,} bytes.")
    return content


def _member(content: bytes, wanted: Wanted) -> bytes:
    if wanted.member is None:
        return content
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if archive.getinfo(wanted.member).file_size > LARGEST:
                raise NotFetchedError(f"{wanted.member} of {wanted.address} has more than {LARGEST:,} bytes.")
            return archive.read(wanted.member)
    except (zipfile.BadZipFile, KeyError):
        raise NotFetchedError(f"{wanted.address} is no archive with {wanted.member}.") from None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(SOURCES)}; all if none is named")
    parser.add_argument("--list", action="store_true", help="tell the files and their addresses, and fetch nothing")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SOURCES]
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(SOURCES)}")
    failed = 0
    for name in given.names or SOURCES:
        if given.list:
            print("\n".join(f"{wanted.path}  {wanted.address}" for wanted in SOURCES[name]))
            continue
        try:
            for wanted, became in fetch(name, data_folder()):
                print(f"{wanted.path}: {became}")
        except NotFetchedError as error:
            failed += 1
            print(f"{name}: {error}")
    if failed:
        raise SystemExit(f"{failed} of {len(given.names or SOURCES)} sources were not fetched.")


if __name__ == "__main__":
    main()
