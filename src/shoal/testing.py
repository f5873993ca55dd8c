"""The laws that models, methods, masks, attacks and formats keep, to be run on those of your own.

Each check draws small tables by its own fixed seed, runs the part on them as users would, and raises an AssertionError
that says which law is broken. The tests of shoal run the same checks on its own parts.
"""

from __future__ import annotations

import math
import random
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal import pipeline
from shoal.attacking.contract import Attack, AttackResult, DoesNotApply
from shoal.attacking.mining.rules import Item, Rule, Rules
from shoal.attacking.setting import Setting
from shoal.errors import PrivacyNotMetError, ShoalError, ShoalWarning
from shoal.grouping import Method
from shoal.judging.observation import Observation
from shoal.masking import Mask
from shoal.models import GBalance, HAffiliation, KAnonymity, Model, PersonKAnonymity, RecordRisk
from shoal.parts import MaskName, MethodName, Part, options_of
from shoal.publishing.release import Release
from shoal.reading.laws import check_format
from shoal.table.schema import Nominal, Number, Schema
from shoal.table.table import Table

__all__ = [
    "check_attack",
    "check_format",
    "check_mask",
    "check_method",
    "check_model",
    "check_release",
    "small_settings",
    "small_tables",
]

SCHEMA = Schema(person="person", quasi=[Number("age"), Nominal("city")], sensitive=["disease"])
"""The schema of the small tables."""
ONE_EACH = (
    Schema(person="person", quasi=[Number("age")], sensitive=["disease"], dropped=["city"]),
    Schema(person="person", quasi=[Nominal("city")], sensitive=["disease"], dropped=["age"]),
)
"""The same with one quasi-identifier, for masks that take one kind alone."""
USUAL: tuple[Model, ...] = (PersonKAnonymity(k=2), KAnonymity(k=3), RecordRisk(rho="0.7"), HAffiliation(h="0.8"),
                            GBalance(g="0.3"))  # fmt: skip
"""Models that methods and masks are tried with."""
TABLES = 12


def small_tables(n: int = TABLES, *, records_per_person: int = 3) -> Iterator[pl.DataFrame]:
    """Small tables by fixed seeds: persons with one or several records, equal values, every other table with gaps."""
    for seed in range(n):
        draw = random.Random(seed)
        persons = [who for who in range(draw.randint(2, 24)) for _ in range(draw.randint(1, records_per_person))]
        draw.shuffle(persons)
        missing = [None] * (seed % 2)
        rows = [
            {
                "person": who,
                "age": draw.choice([*range(20, 60, draw.choice([1, 10])), *missing]),
                "city": draw.choice(["north", "south", *missing]),
                "disease": draw.choice(["flu", "cold", "asthma", *missing]),
            }
            for who in persons
        ]
        types = {"person": pl.Int64, "age": pl.Int64, "city": pl.String, "disease": pl.String}
        yield pl.DataFrame(rows, schema=types)


def check_model(model: Model) -> None:
    """Check the laws of models on one of them.

    It is a hashable object that says its name, threshold and needs. No groups give no verdicts. Verdicts do not depend
    on the order of records. What holds reaches what is asked. Where it says that it is monotone, groups that hold
    still hold when merged. A release that promises it keeps it, by a recount.
    """
    assert isinstance(model, Model), f"{type(model).__name__} is no subclass of shoal.models.Model."
    assert hash(model) == hash(model), f"{model.name} cannot be hashed: make it a frozen dataclass."
    assert model.needs, f"{model.name} must say what counts it needs."
    assert math.isfinite(model.asked), f"{model.name} must say its threshold as a number (asked)."
    assert model.sentence(), f"{model.name} must say in plain words what it promises."
    for frame in small_tables():
        table = Table.from_frame(frame, SCHEMA)
        halves = np.arange(table.n_persons, dtype=np.int32) % 2
        apart, together = _judged(model, table, halves), _judged(model, table, np.zeros_like(halves))
        shuffled = Table.from_frame(frame.sample(fraction=1, shuffle=True, seed=1), SCHEMA)
        whole = _judged(model, shuffled, np.zeros_like(halves))
        assert whole[0].tolist() == together[0].tolist(), f"{model.name} depends on the order of records."
        if model.monotone and apart[0].all():
            assert together[0].all(), f"{model.name} says that it is monotone, but two groups that hold do not merged."
        for holds, reached in zip(*apart, strict=True):
            enough = reached >= model.asked - 1e-9 if model.higher_is_safer else reached <= model.asked + 1e-9
            assert enough or not holds, f"{model.name} holds in a group that reaches {reached:g} of {model.asked:g}."
        _protected(frame, [model], method="mondrian", mask="range", must=False)


def _judged(model: Model, table: Table, group_of_person: Any) -> tuple[Any, Any]:
    """Whether a model holds in each group, and what each reaches."""
    n_groups = int(group_of_person.max()) + 1
    counts = Observation.of_groups(table, group_of_person, n_groups).counts(model.needs)
    holds, reached = model.holds(counts), model.reached(counts)
    assert len(holds) == len(reached) == n_groups, f"{model.name} must answer with one entry per group."
    return holds, reached


def check_method(method: Method, models: Sequence[Model] = USUAL) -> None:
    """Check the laws of methods on one of them.

    Each person is in exactly one group; the same table and seed give the same groups; a release keeps every promise,
    by a recount. Where a method says that it keeps models, it makes a release of every table that meets them as one
    group.
    """
    _check_part(method, Method)
    n_releases = 0
    for frame in small_tables():
        for model in models:
            must = method.keeps_models and _meets(frame, model)
            release = _protected(frame, [model], method=method, mask="range", must=must)
            if release is not None:
                n_releases += 1
                again = _protected(frame, [model], method=method, mask="range", must=must)
                assert again is not None, f"{method.name} makes a release once, and not the second time."
                assert again.risk == release.risk, f"{method.name} gives other groups for the same table and seed."
    assert n_releases, f"{method.name} made no release of any table."


def check_mask(mask: Mask, models: Sequence[Model] = USUAL) -> None:
    """Check the laws of masks on one of them, with the groups of a balance tree.

    A group shows one thing; a release keeps every promise, by a recount, and shows every person with the sensitive
    values that they have. A mask that takes no groups refuses models, and leaves sensitive values with their persons.
    """
    _check_part(mask, Mask)
    releases = [
        release
        for frame in small_tables(records_per_person=3 if mask.links_values else 1)
        for release in (
            [_protected(frame, [model], method="balance-tree", mask=mask, must=False) for model in models]
            if mask.takes_groups
            else [_changed(frame, schema, mask, models) for schema in ONE_EACH]
        )
    ]
    assert any(release is not None for release in releases), f"No release by {mask.name} keeps its promises."


def check_attack(attack: Attack, settings: Iterable[Setting] | None = None) -> None:
    """Check the laws of attacks on one of them.

    It says what it asks and what the attacker knows. The same release and seed give the same results, each under a name
    of its own, with a success inside its interval and beside blind guessing; nothing that it looks at is changed. Where
    it cannot be tried, by the original or without it, it says why, without a value of the table. It can be tried
    somewhere.

    Parameters
    ----------
    settings
        The releases that it is tried on; `small_settings()` unless told, which an attack may not apply to that is made
        for others.
    """
    _check_declared(attack, Attack)
    assert attack.question.endswith("?"), f"{attack.name} must say what it asks as a question."
    assert attack.knows.endswith("."), f"{attack.name} must say in a sentence what the attacker knows."
    n_results = 0
    for setting in small_settings() if settings is None else settings:
        alone = replace(setting, original=None, origin=None, other=None, rules=None, method=None, models=())
        n_results += len(_attacked(attack, setting)) + len(_attacked(attack, alone))
    assert n_results, f"{attack.name} could be tried on no release."


def small_settings(n: int = TABLES) -> Iterator[Setting]:
    """Releases of small tables under attack: in turn with ranges, means, shifted dates, and values in tables apart.

    The attacker has the original, another release, and a rule; the judge has the person of each record. Beside what
    `small_tables` have there are costs, which are sensitive, and wards, which are kept.
    """
    rules = Rules((Rule(when=(Item("city", "north"),), never=Item("disease", "asthma")),))
    models = [PersonKAnonymity(k=2), HAffiliation(h="0.9")]
    for seed, one_each in enumerate((False, False, False, True) * (n // 4)):
        mask: MaskName = ("range", "mean", "range", "anatomize")[seed % 4]
        *_, frame = small_tables(seed + 1, records_per_person=1 if one_each else 3)
        place = pl.int_range(len(frame))
        frame = frame.with_columns(cost=place * place % 50, ward=pl.format("ward {}", place % 4))
        more: dict[str, Any] = {} if one_each else {"kept": ["ward"]}
        if seed % 4 == 2:
            frame = frame.with_columns(day=pl.date(2024, 1, 1) + pl.duration(days=place * 7 % 30))
            more |= {"time": "day", "time_as": "shift"}
        schema = replace(SCHEMA, sensitive=["disease", "cost"], dropped=["ward"] if one_each else [], **more)
        made = _made(frame, schema, models, method="mondrian", mask=mask, allow_alone=True)
        other = _made(frame, schema, models[:1], method="balance-tree", mask=mask, allow_alone=True)
        if isinstance(made, Release) and isinstance(other, Release):
            yield replace(made.setting(), other=other.setting(), rules=rules, are_own_rules=False)


def _attacked(attack: Attack, setting: Setting) -> tuple[AttackResult, ...]:
    """The results of an attack, checked; none where it does not apply, with a reason that tells no value."""
    before = [setting.frame.clone(), *([] if setting.original is None else [setting.original.frame.clone()])]
    why_not = attack.why_not(setting)
    try:
        results = attack.try_on(setting)
    except (DoesNotApply, ShoalError) as why:
        _check_refusal(attack, setting, why, why_not)
        return ()
    assert why_not is None, f"{attack.name} says that it cannot be tried, and gives results."
    assert attack.try_on(setting) == results, f"{attack.name} gives other results for the same release and seed."
    after = [setting.frame, *([] if setting.original is None else [setting.original.frame])]
    assert all(map(pl.DataFrame.equals, before, after)), f"{attack.name} changes the table that it is tried on."
    names = [result.name for result in results]
    assert len(set(names)) == len(names), f"{attack.name} gives two results of one name."
    for result in results:
        _check_result(attack, result)
    return results


def _check_refusal(attack: Attack, setting: Setting, why: Exception, said_before: str | None) -> None:
    ends = isinstance(why, ShoalError) and attack.in_suite
    assert not ends, f"{attack.name} is tried with others, and ends them with an error: raise DoesNotApply."
    said = str(why)
    assert said, f"{attack.name} must say why it cannot be tried."
    assert said_before in (None, said), f"{attack.name} says one reason beforehand and another when it is tried."
    told = [value for value in _texts(setting) if value in said]
    assert not told, f"{attack.name} tells values of the table where it says why it cannot be tried."


def _check_result(attack: Attack, result: AttackResult) -> None:
    name = result.name
    assert result.attack == attack.name, f"The result '{name}' of {attack.name} is said to be of {result.attack}."
    assert result.knows.endswith("."), f"The result '{name}' must say in a sentence what the attacker knows."
    assert result.aim, f"The result '{name}' must say what counts as a success."
    assert result.targets >= 1, f"The result '{name}' is about nobody."
    assert 0 <= result.low <= result.success <= result.high <= 1, f"The success of '{name}' lies outside its interval."
    assert 0 <= result.blind <= 1, f"The blind guess beside '{name}' is no share."
    assert all(attack.row(result).values()), f"The row of '{name}' has empty cells."


def _texts(setting: Setting) -> set[str]:
    """The values of categories that a message must not name."""
    frames = [setting.frame] if setting.original is None else [setting.frame, setting.original.frame]
    named = [*setting.schema.quasi_names, *setting.schema.sensitive, *setting.schema.kept]
    columns = [frame[name] for frame in frames for name in named if name in frame.columns]
    return {text for column in columns if column.dtype == pl.String for text in column.drop_nulls() if len(text) > 1}


def _check_part(part: Part, contract: type[Part]) -> None:
    """Check what methods and masks say of themselves."""
    _check_declared(part, contract)
    assert part.sentence.endswith("."), f"{part.name} must say in one sentence what it does."


def _check_declared(part: Part, contract: type[Part]) -> None:
    """Check what every part says of itself, and that its options are taken and given back."""
    assert isinstance(part, contract), f"{type(part).__name__} is no subclass of {contract.__name__}."
    assert part.name != contract.name, f"{type(part).__name__} must have a name of its own."
    assert part.engines, f"{part.name} must be offered by an engine."
    for each in options_of(type(part)):
        assert each.is_needed or each.fault(each.default) is None, f"The default of {each.name} is not one it takes."
    again = type(part)(**part.options)
    assert again.options == part.options, f"{part.name} cannot be made again from its options."


def _meets(frame: pl.DataFrame, model: Model) -> bool:
    """Whether the table as one group meets a model."""
    table = Table.from_frame(frame, SCHEMA)
    holds, _ = _judged(model, table, np.zeros(table.n_persons, np.int32))
    return bool(holds.all())


def _protected(
    frame: pl.DataFrame, models: Sequence[Model], *, method: MethodName | Method, mask: MaskName | Mask, must: bool
) -> Release | None:
    """A release, checked; None where it is refused: with groups that break a model only where that may be."""
    made = _made(frame, SCHEMA, models, method=method, mask=mask)
    broken = must and isinstance(made, PrivacyNotMetError)
    assert not broken, f"A table that meets {models[0].name} as one group is parted into groups that do not: {made}"
    if isinstance(made, ShoalError):
        return None
    check_release(made, frame, SCHEMA, models)
    return made


def _changed(frame: pl.DataFrame, schema: Schema, mask: Mask, models: Sequence[Model]) -> Release | None:
    """A release by a mask without groups, checked; None where it is refused."""
    promised = _made(frame, schema, models, method="balance-tree", mask=mask, max_linkage=1.0)
    assert isinstance(promised, ShoalError), f"{mask.name} takes no groups, and promises {models[0].name}."
    made = _made(frame, schema, [], method="balance-tree", mask=mask, max_linkage=1.0)
    if isinstance(made, ShoalError):
        return None
    assert made.verdict.holds, "A release whose verdict does not hold was handed out."
    assert _values_of_persons(made.data, schema) == _values_of_persons(frame, schema), "Sensitive values have changed."
    return made


def _made(
    frame: pl.DataFrame,
    schema: Schema,
    models: Sequence[Model],
    *,
    method: MethodName | Method,
    mask: MaskName | Mask,
    allow_alone: bool = False,
    max_linkage: float | None = None,
) -> Release | ShoalError:
    """A release, or why there is none."""
    given: dict[str, Any] = {"allow_alone": allow_alone, "max_linkage": max_linkage}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShoalWarning)
            return pipeline.protect(frame, schema, models, method=method, mask=mask, seed=1, **given)
    except ShoalError as error:
        return error


def check_release(release: Release, frame: pl.DataFrame, schema: Schema, models: Sequence[Model]) -> None:
    """Check that a release keeps what it promises, and shows the persons of a table with what they have.

    For masks that show groups and which values belong to whom it is recounted from the published table alone.
    """
    mask = release.mask
    assert release.verdict.holds, "A release whose verdict does not hold was handed out."
    if not (mask.links_values and mask.shows_groups):
        return
    shown = release.data
    asked = [*models, *(model for model in release.method.own_models if model not in models)]
    again = pipeline.verify(shown, schema, asked, mask=mask.name if mask.matches_anything else None)
    assert again.verdict.holds, f"A recount of what the mask {mask.name} shows does not hold."
    assert again.verdict.models == release.verdict.models, "A recount of the published table says otherwise."
    assert again.risk == release.risk, "A recount of the published table finds another risk."
    by_group = shown.select(schema.quasi_names).with_columns(release.groups["group"].alias(" group"))
    assert by_group.unique().height == release.groups["group"].n_unique(), "A group shows more than one thing."
    person = schema.person
    if person is not None:
        seen = shown.select(person, *schema.quasi_names).unique()
        assert seen[person].n_unique() == seen.height, "Somebody is in several groups."
    if release.history is None and not release.suppressed_persons:  # else parts of histories or persons are absent
        assert _values_of_persons(shown, schema) == _values_of_persons(frame, schema), "Sensitive values have changed."


def _values_of_persons(frame: pl.DataFrame, schema: Schema) -> Counter[tuple[str, ...]]:
    """The sensitive values of each person, whatever the person is called."""
    who = frame[schema.person].to_list() if schema.person else range(len(frame))
    values: dict[Any, list[str]] = {}
    for person, row in zip(who, frame.select(schema.sensitive).rows(), strict=True):
        values.setdefault(person, []).append(str(row))
    return Counter(tuple(sorted(each)) for each in values.values())
