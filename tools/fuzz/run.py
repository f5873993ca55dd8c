"""Running a case: a release that verifies, or a refusal in shoal's own words. Anything else is a failure."""

from __future__ import annotations

import json
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import shoal
from shoal.errors import ShoalError
from shoal.judging.verdict import LINKAGE
from shoal.masking import MASKS
from shoal.table.profile import profile
from tools.fuzz.tables import Case, case_of

SECONDS_A_CASE = 120
"""Of CPU, after which a case counts as hanging; the first ones also wait for kernels to compile."""
PATIENCE = 10
"""A case that waits for something, and so needs no CPU, counts as hanging after so many times as long by the clock."""


class HangError(Exception):
    """A case took longer than any should."""


class UnmetError(Exception):
    """A release was published that breaks what it promises."""


@dataclass
class Tally:
    """How cases ended."""

    released: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    """Numbers of failed cases, each with what happened and where."""
    verified_files: int = 0

    @property
    def cases(self) -> int:
        """How many cases were run."""
        return self.released + self.refused.total() + len(self.failures)

    def told(self) -> str:
        """The tally in words."""
        refused = ", ".join(f"{count:,} {name}" for name, count in self.refused.most_common())
        return (
            f"{self.cases:,} cases: {self.released:,} released and verified ({self.verified_files:,} of them from "
            f"files too), {self.refused.total():,} refused in words ({refused or 'none'}), "
            f"{len(self.failures):,} failed"
        )


def run_case(case: Case) -> str:
    """Run a case; gives "released", "released to files" or the name of shoal's error. Raises what is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = _as_kind(case.frame, case.frame_kind)
        if case.number % 5 == 0:
            _look(case, given)
        try:
            release = shoal.protect(
                given, case.schema, case.models, method=case.method, mask=case.mask,
                seed=case.number, max_suppressed=case.max_suppressed, max_records=case.max_records, **case.options,
            )  # fmt: skip
        except ShoalError as error:
            return type(error).__name__
        _verify_frame(release, case)
        if case.format is None:
            return "released"
        return "released to files" if _verify_files(release, case) else "released"


def _look(case: Case, given: Any) -> None:
    """What is done with a table before it is protected: it may be refused, in words."""
    with suppress(ShoalError):
        profile(case.frame)
    with suppress(ShoalError):
        shoal.assess(given, case.schema, case.models)


def _verify_frame(release: Any, case: Case) -> None:
    published = release.published
    again = shoal.verify(
        release.data, case.schema, release.models, mask=case.mask, tables=published.tables, linked=published.linked,
        excluded=published.excluded,
    )  # fmt: skip
    if not MASKS[case.mask].takes_groups:
        _look_at_linkage(release, again.verdict, case)
        return
    if not again.verdict.holds:
        raise UnmetError(f"verify says otherwise than protect: {shoal.judging.verdict.why_not(again.verdict)}")
    if again.verdict.models != release.verdict.models:
        raise UnmetError("verify counts otherwise than protect")
    if MASKS[case.mask].shows_groups and MASKS[case.mask].links_values:
        _count_plainly(published.frame, case)


def _look_at_linkage(release: Any, again: Any, case: Case) -> None:
    """Of a mask without groups: linkage is as limited, and is not said to be from a table that does not show it."""
    if not release.verdict.holds or not release.linkage.rate <= case.options["max_linkage"]:
        raise UnmetError("more persons are linked than may be")
    if again.problems or _broken(again.to_dict()) != [LINKAGE]:
        raise UnmetError("verify says of linkage what the published table does not show")


def _broken(verdict: dict[str, Any]) -> list[str]:
    """The models of a verdict that do not hold."""
    return [model["name"] for model in verdict.get("models", []) if not model["holds"]]


def _count_plainly(frame: pl.DataFrame, case: Case) -> None:
    """What k, person-k, record risk and g ask for, counted in plain Python on what is published."""
    groups: dict[tuple[str, ...], Counter[Any]] = {}
    persons = frame[case.schema.person].to_list() if case.schema.person else range(frame.height)
    quasi = zip(*(frame[name].to_list() for name in case.schema.quasi_names), strict=True)
    for key, person in zip(quasi, persons, strict=True):
        groups.setdefault(tuple(map(repr, key)), Counter())[person] += 1
    for model in case.models:
        if not all(_is_met(model, list(counts.values())) for counts in groups.values()):
            raise UnmetError(f"{model.name} is broken by a plain count")


def _is_met(model: Any, records_of_person: list[int]) -> bool:
    records = sum(records_of_person)
    match model.name:
        case "k-anonymity":
            return records >= model.k
        case "person-k-anonymity":
            return len(records_of_person) >= model.k
        case "record-risk":
            return max(records_of_person) <= model.rho * records
        case "g-balance":
            return records**2 - sum(own**2 for own in records_of_person) >= model.g * records**2
    return True  # verify alone judges the others


def _verify_files(release: Any, case: Case) -> bool:
    """Write the release and let the command verify it; False where the format cannot hold it and says so."""
    from click.testing import CliRunner

    from shoal.cli.main import cli

    with tempfile.TemporaryDirectory() as home:
        try:
            release.write(
                Path(home) / "out", format=case.format, report=case.number % 4 == 0, safe_cells=case.safe_cells
            )
        except ShoalError:
            if list(Path(home).iterdir()):
                raise UnmetError("a refused release left something behind") from None
            return False
        ran = CliRunner().invoke(cli, ["verify", str(Path(home) / "out"), "--json"], prog_name="shoal")
    told = json.loads(ran.stdout) if ran.stdout else {}
    problems = [*told.get("problems", []), *_broken(told.get("verdict", {}))]
    expected = [] if MASKS[case.mask].takes_groups else [LINKAGE]  # which files do not show
    if problems != expected or bool(ran.exit_code) != bool(expected):
        raise UnmetError(f"the files do not verify: exit {ran.exit_code}; {ran.stderr.strip()[-300:]} {problems}")
    return True


def _as_kind(frame: pl.DataFrame, kind: str) -> Any:
    if kind == "pandas":
        return frame.to_pandas()
    return frame.to_arrow() if kind == "pyarrow" else frame


@contextmanager
def no_longer_than(seconds: int) -> Iterator[None]:
    """Raise HangError in a block that takes too much CPU, or ten times as long by the clock, where there are alarms."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def ring(*_: object) -> None:
        raise HangError(f"no end after {seconds} s")

    before = {number: signal.signal(number, ring) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def run_cases(numbers: Iterator[int] | range, *, seconds_a_case: int = SECONDS_A_CASE) -> Tally:
    """Run the cases of these numbers."""
    tally = Tally()
    for number in numbers:
        try:
            with no_longer_than(seconds_a_case):
                ended = run_case(case_of(number))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also a panic of polars, which is no Exception
            tally.failures.append((number, place_and_words(error)))
            continue
        if ended.startswith("released"):
            tally.released += 1
            tally.verified_files += ended == "released to files"
        else:
            tally.refused[ended] += 1
    return tally


def place_and_words(error: BaseException) -> str:
    """Where an error came up, and its words: cases hold made-up values only."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "shoal" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}: {str(error)[:200]}"
