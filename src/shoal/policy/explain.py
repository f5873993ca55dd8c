"""A policy in plain words, for a steward who has to answer for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from shoal.attacking.mining.knowledge import Knowledge
from shoal.masking import Mask, mask_called
from shoal.models.contract import Model, as_number, as_share, listed
from shoal.parts import options_of
from shoal.policy.history import Episode
from shoal.policy.policy import BudgetChoices, ColumnChoices, Policy, QuasiChoices


def explain(policy: Policy) -> str:
    """What a policy asks for and what is published under it, one sentence per line.

    Examples
    --------
    >>> policy = Policy.from_document({"columns": {"quasi": ["age"]}, "models": {"record-risk": 0.2}})
    >>> "Nobody may own more than 20 % of the records of any group" in explain(policy)
    True
    """
    sentences = [
        *_about_columns(policy),
        *(explain_model(model) for model in policy.models),
        *_about_method(policy),
        *_about_budget(policy.budget),
        *_about_numbers(policy),
        *_about_knowledge(policy.knowledge),
        *_about_ledger(policy),
        *_about_usefulness(policy),
        *_about_counts(policy),
        *_about_population(policy),
    ]
    if policy.safe_cells:
        sentences.append(
            "CSV and Excel files have an apostrophe before cells that a spreadsheet would run as formulas."
        )
    if policy.column_labels:
        sentences.append("The labels of columns leave with the release, as they stand in the files that were read.")
    if policy.seed is not None:
        sentences.append(f"The seed {policy.seed} governs ties and noise; never pseudonyms and record order.")
    return "\n".join(sentences)


# Models


def explain_model(model: Model) -> str:
    """What a model promises, with its threshold, in one sentence."""
    return f"{model.sentence()} ({model.name} {_parameters(model)})."


def _parameters(model: Model) -> str:
    shown = model.parameters().items()
    return ", ".join(f"{name} = {as_number(value) if isinstance(value, Fraction) else value}" for name, value in shown)


# Everything else


_KIND_IN_WORDS = {
    "auto": "",
    "number": " (a number)",
    "nominal": " (categories)",
    "ordered": " (ordered categories)",
    "date": " (a date)",
}


SHARED_DATES = {
    "tell": "Dates that unlikely many persons share, by which moves could be told, are counted in a note.",
    "hide": "Dates that unlikely many persons share, by which moves could be told, are published as missing.",
    "refuse": "A table with dates that unlikely many persons share, by which moves could be told, is refused.",
}


def _about_columns(policy: Policy) -> list[str]:
    columns = policy.columns
    shown = "these are masked"
    if _mask(policy).shows_identities:
        shown = "these are published as they are, so that identities are visible"
    told = [_about_persons(policy), f"An adversary may know {listed(list(map(_quasi, columns.quasi)))}: {shown}."]
    if columns.sensitive:
        told.append(f"Nobody may learn a person's {_named(columns.sensitive)}. {_about_missing(columns)}")
    if columns.time is not None:
        form = "each person's own first, second, third time"
        if columns.time_as == "shift":
            form = "dates moved by a random number of days, the same for all records of a person"
            form += "" if columns.time_of_day == "cut" else ", with the time of day, which is not moved"
            gap = policy.schema_of_release().gap_days
            form += "" if gap is None else f"; the days since the first one are rounded to {gap:,}"
        if policy.history.episode is not None:
            form = form.replace("person", "episode")
        told.append(f"'{columns.time}' is published as {form}.")
        if columns.time_as == "shift":
            told.append(SHARED_DATES[columns.shared_dates])
    if columns.zone is not None:
        told.append(f"Days are counted in the time zone {columns.zone}.")
    if columns.kept:
        told.append(f"Published unchanged: {_named(columns.kept)}.")
    if columns.dropped:
        told.append(f"Not published: {_named(columns.dropped)}.")
    told += [f"Of '{name}' {each.asked()}, before anything else." for name, each in columns.coded.items()]
    told += _about_sample(columns)
    missing = {
        "value": "A missing quasi-identifier is a value of its own.",
        "refuse": "A table in which a quasi-identifier is missing is refused.",
        "drop": "Records in which a quasi-identifier is missing are left out and counted.",
    }
    return [*told, missing[columns.missing], *(_SPELLING[form].format(name) for name, form in columns.spelling.items())]


def _about_sample(columns: ColumnChoices) -> list[str]:
    """How the table was drawn from a population, in sentences."""
    told = []
    if columns.weight is not None:
        shown = "published unchanged" if columns.weight in columns.kept else "not published"
        told.append(f"The table is a sample: '{columns.weight}' says how many persons each one stands for ({shown}).")
    if columns.household is not None:
        told.append(f"Who lives together is told by '{columns.household}', which is not published.")
    if columns.strata:
        told.append(f"The sample was drawn by {_named(columns.strata)}.")
    return told


def _about_missing(columns: ColumnChoices) -> str:
    """What a missing sensitive value is, in a sentence."""
    silent = [name for name in columns.sensitive if name in columns.missing_tells_nothing]
    if not silent:
        return "A missing one is a value to protect too."
    others = [name for name in columns.sensitive if name not in silent]
    also = f", while a missing {_named(others)} is a value to protect" if others else ""
    return f"A missing {_named(silent)} tells nothing: models, risks and guesses leave out who has no value{also}."


_SPELLING = {
    "exact": "Texts in '{}' that differ in any way are different.",
    "plain": "Texts in '{}' that differ by Unicode form, invisible characters or white space are one.",
    "folded": "Texts in '{}' that differ by case, Unicode form, invisible characters or white space are one.",
}


def _about_persons(policy: Policy) -> str:
    person = policy.columns.person
    if person is None:
        return "Each record is taken as a person of its own."
    form = "published as a random pseudonym"
    if mask_called(policy.mask).has_tables:
        form = "not published"
    elif policy.columns.person_ids == "none":
        form = "not published: nobody sees which records belong to one person"
    elif policy.history.episode is not None:
        cut = Episode.of(policy.history.episode).sentence()
        form = f"published as a random pseudonym per episode ({cut}): what is known of one does not lead to another"
    return f"Persons are told apart by '{person}', which is {form}."


def _quasi(column: QuasiChoices) -> str:
    return f"'{column.name}'{_KIND_IN_WORDS[column.kind]}"


def _mask(policy: Policy) -> Mask:
    """The mask of a policy, with those of its options that it has."""
    mask = mask_called(policy.mask)
    known = {each.name for each in options_of(mask)}
    return mask(**{name: value for name, value in policy.mask_options.items() if name in known})


def _about_method(policy: Policy) -> list[str]:
    mask = mask_called(policy.mask)
    told = [f"{mask.sentence.removesuffix('.')} (mask {policy.mask}{_options(policy.mask_options)})."]
    if mask.takes_groups:
        told = [f"Groups are formed by the method {policy.method}{_options(policy.method_options)}.", *told]
    return [*told, *promised_by_linkage(policy)]


def promised_by_linkage(policy: Policy) -> list[str]:
    """The limit on who may be linked, in a sentence, where there is one."""
    if policy.max_linkage is None:
        return []
    values = "numbers" if mask_called(policy.mask).takes_groups else "values"
    return [
        f"Nothing is released where more than {as_number(100 * policy.max_linkage)} % of the persons can be linked to "
        f"their original {values} (max_linkage = {policy.max_linkage:g})."
    ]


def _options(options: Mapping[str, Any]) -> str:
    return f", {', '.join(f'{name} = {value}' for name, value in options.items())}" if options else ""


def _about_budget(budget: BudgetChoices) -> list[str]:
    told = []
    if budget.sample is not None:
        n = f"{budget.sample:,}" if isinstance(budget.sample, int) else f"{budget.sample} of the"
        told.append(f"A random sample of {n} persons is published; nobody sees from the release who was drawn.")
    if budget.max_suppressed:
        most = budget.max_suppressed
        told.append(
            f"At most {f'{most:,}' if isinstance(most, int) else f'{most} of the'} persons may be left out so that the "
            "models can be met."
        )
    if budget.max_records is not None:
        told.append(f"At most {budget.max_records:,} records of a person are published.")
    if budget.max_alone is not None:
        told.append(
            f"Nothing is released where more than {budget.max_alone:,} persons are alone in their group by what leaves "
            "beside the quasi-identifiers (max_alone)."
        )
    if budget.allow_alone:
        told.append(
            "More than 5 % of the persons may be alone in their group by the columns published unchanged (allow_alone)."
        )
    return told


def _about_numbers(policy: Policy) -> list[str]:
    steps = policy.history.record_steps
    if steps is None:
        return []
    whose = "an episode" if policy.history.episode is not None else "a person"
    numbers = listed([f"{step:,}" for step in steps])
    return [f"The records of {whose} are {numbers}: of more, those that show least are left out (record_steps)."]


def _about_knowledge(knowledge: Knowledge | None) -> list[str]:
    if knowledge is None:
        return []
    told = ["No rules are mined: an adversary is taken to know only what is stated."]
    if knowledge.max_len:
        columns = "single quasi-identifiers" if knowledge.max_len == 1 else f"up to {knowledge.max_len} of them at once"
        told = [
            "An adversary is taken to know which sensitive values the quasi-identifiers exclude in this table "
            f"({columns}), where chance alone would have broken the rule with at least "
            f"{as_share(knowledge.min_expectation)} (min-expectation)."
        ]
    if any(knowledge.margin.values()):
        widths = [f"{as_number(width)} around '{column}'" for column, width in knowledge.margin.items() if width]
        told.append(f"Numbers near an interval count in part: {listed(widths)} ({knowledge.conjunction}).")
    if knowledge.strike:
        told.append(f"Struck out of these rules, since nobody is taken to know them: {len(knowledge.strike):,}.")
    for fact in knowledge.facts:
        known = listed([f"'{item.column}' is {item.node}" for item in fact.when])
        value = f"'{fact.never.column}' is {{}}{fact.never.node}"
        if fact.is_never:
            told.append(f"It is known that, where {known}, {value.format('never ')}.")
        elif fact.chance is not None:
            told.append(f"It is believed that, where {known}, {value.format('')} with a chance of {fact.chance:g}.")
        else:
            told.append(f"It is believed that, where {known}, {value.format('')} {fact.lift:g} times as often.")
    if knowledge.chances:
        told.append("Rules with exceptions are mined too: who has a value more or less often than others.")
    return told


def _about_ledger(policy: Policy) -> list[str]:
    if policy.ledger is None:
        return []
    told = {
        "warn": "it is said where a model is broken together with earlier releases",
        "refuse": "nothing is released where a model is broken together with earlier releases",
    }
    return [f"What is released about whom is remembered in a ledger by keyed hashes; {told[policy.ledger.mode]}."]


def _about_usefulness(policy: Policy) -> list[str]:
    asked = policy.usefulness
    if asked is None:
        return []
    return [f"It is measured how well '{asked.target}' can still be predicted from the release (usefulness)."]


def _about_counts(policy: Policy) -> list[str]:
    asked = policy.counts
    if asked is None:
        return []
    return [
        f"Noisy counts of persons by {listed(asked.of)} leave beside the release, with differential privacy for "
        f"persons (epsilon {asked.epsilon:g})."
    ]


def _about_population(policy: Policy) -> list[str]:
    if policy.population is None:
        return []
    return ["Persons of the population who fit a group are counted in a population table, which never leaves."]


def _named(names: Iterable[str]) -> str:
    return listed([f"'{name}'" for name in names])
