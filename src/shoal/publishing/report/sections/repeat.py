"""How to repeat the run, with which files and versions; and the words of the report."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from shoal.publishing.report.markup import Content, el, joined
from shoal.publishing.report.numbers import count
from shoal.publishing.report.page import table

Numbers = Mapping[str, Any]
LONGEST_POLICY = 150
"""Lines of a policy that are shown; a longer one is named only."""
PAGES = ("steward/report.html", "summary.html")
"""Where the pages lie in a release folder."""
TERMS = (
    ("person, record", "A person is one human, and may have many records. All records of a person are in one group."),
    ("quasi-identifier", "What an adversary may know of a person and find in the table: age, sex, place."),
    ("sensitive attribute", "What nobody may learn of a person."),
    ("group", "The persons whom the release shows alike."),
    ("record risk", "The share of a group’s records that is one person’s: how likely a record of the group is theirs."),
    ("value risk", "The share of a group’s persons who have a value: how likely a person of the group has it."),
    ("model", "A promise about every group, with a threshold. It is decided in exact fractions, without tolerance."),
    ("mask", "What is shown of a group instead of a person’s own values."),
    ("ANE", "Average normalized error: how far what is shown is from a person’s values, as a share of the column’s "
            "extent; of categories how often it differs."),
    ("total variation", "Half the sum of the differences of two distributions: the share of records that seem to be in "
                        "another class."),
    ("blind guessing", "What somebody gets who has not seen the release, but knows how common values are."),
)  # fmt: skip


def repeat(manifest: Numbers, policy_text: str) -> Content:
    """The command, the policy, the seed, versions and hashes."""
    files_listed = [entry for entry in manifest.get("files") or () if entry.get("path") not in PAGES]
    rows = [[entry["path"], el("td", count(entry["bytes"]), class_="n"), el("td", entry["sha256"], class_="mono hash")]
            for entry in files_listed]  # fmt: skip
    inputs = [[str(entry["name"]), el("td", count(entry["bytes"]), class_="n"),
               el("td", entry["sha256"] or "", class_="mono hash")]
              for entry in manifest.get("inputs") or ()]  # fmt: skip
    made_with = {"shoal": manifest.get("shoal_version"), "Python": manifest.get("python"),
                 **(manifest.get("packages") or {})}  # fmt: skip
    versions = ", ".join(f"{name} {version}" for name, version in made_with.items())
    return [
        el("p", "The same input, policy and seed give the same groups and the same masked values. Pseudonyms and the "
                "order of records are new each time."),
        el("pre", "\n".join(_command(manifest, policy_text))),
        el("p", "Whether the files are still those that were written, and keep their promises:"),
        el("pre", "shoal verify DIR"),
        table(["", ""], [["Seed", el("td", str(manifest.get("seed", "")), class_="mono", data_key="seed")],
                         ["Started", str(manifest.get("started", ""))],
                         ["Finished", str(manifest.get("finished", ""))],
                         ["SHA-256 of the policy", el("td", str(manifest.get("policy_sha256", "")),
                                                      class_="mono hash")]], caption="The run"),
        table(["Input", "Bytes", "SHA-256"], inputs, numeric=(1,), caption="What was read") if inputs else None,
        table(["File", "Bytes", "SHA-256"], rows, numeric=(1,), caption="What was written"),
        el("p", f"Made with {versions}, on {manifest.get('platform', '')}.", class_="small"),
        el("h3", "The policy"),
        _policy(policy_text),
    ]  # fmt: skip


def _policy(text: str) -> Content:
    """The policy as it was written; only named where it is long, or lists values of a column for a hierarchy."""
    lines = text.strip().splitlines()
    if len(lines) <= LONGEST_POLICY and not any("rows" in hierarchy for hierarchy in _hierarchies(_document(text))):
        return el("pre", "\n".join(lines))
    return el("p", f"It has {len(lines):,} lines and lies beside this report: policy.toml.")


def _hierarchies(policy: Numbers) -> Iterator[Numbers]:
    """The value hierarchies of a policy: where each comes from."""
    for column in policy.get("columns", {}).get("quasi", ()):
        hierarchy = column.get("hierarchy") if isinstance(column, Mapping) else None
        if hierarchy is not None:
            yield hierarchy if isinstance(hierarchy, Mapping) else {"file": hierarchy}


def _command(manifest: Numbers, policy_text: str) -> Iterator[str]:
    """How to make the release again, on the command line or, where it came from a table in memory, in Python."""
    policy = _document(policy_text)
    seed = manifest.get("seed")
    others = set(_other_files(policy))
    inputs = [str(entry["name"]) for entry in manifest.get("inputs") or () if entry["name"] not in others]
    on_spark = manifest.get("engine") == "spark"
    inputs += [name for name in manifest.get("sources") or () if on_spark and name not in others]
    if inputs:
        with_seed = "" if "seed" in policy else f" --seed {seed}"
        names = " ".join(shlex.quote(name) for name in inputs)
        engine = " --engine spark" if on_spark else ""
        yield f"shoal protect {names}{engine} --policy DIR/steward/policy.toml{with_seed} -o AGAIN"
        return
    yield "policy = shoal.Policy.load('DIR/steward/policy.toml')"
    yield f"shoal.{'engines.spark.' if on_spark else ''}protect(frame, policy, seed={seed})"


def _document(policy_text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(policy_text)
    except tomllib.TOMLDecodeError:
        return {}


def _other_files(policy: Numbers) -> Iterator[str]:
    """The names of files that the policy names itself: hierarchies, and the person table."""
    for hierarchy in _hierarchies(policy):
        if "file" in hierarchy:
            yield PurePath(str(hierarchy["file"])).name
    join = policy.get("source", {}).get("join")
    if join:
        yield PurePath(join["person_file"]).name


def terms() -> Content:
    """The words of the report and what they mean."""
    return el("dl", [joined([el("dt", term), el("dd", meaning)]) for term, meaning in TERMS], class_="terms")
