"""Presets: thresholds that authorities ask for, with what each means for persons, whom it was made for, its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from shoal.errors import ParameterError, did_you_mean
from shoal.models.contract import Model

LOWER_IS_SAFER = frozenset({"record-risk"})
"""Models of presets whose threshold is a highest risk; of the others it is a smallest number."""


@dataclass(frozen=True)
class Preset:
    """A threshold that somebody asks for, as models of shoal."""

    name: str
    title: str
    models: Mapping[str, Decimal | int]
    """What is asked of every group, as the table [models] of a policy says it."""
    means: str
    """What it comes to for persons."""
    made_for: str
    sources: tuple[str, ...]


def _smallest_count(k: int, title: str, who: str, *sources: str) -> Preset:
    means = (
        f"At least {k} persons look alike in every group, however many records each of them has. The rule was made "
        "for counts in tables; here the cell is the group of a release."
    )
    return Preset(f"statistics-{k}", title, {"person-k-anonymity": k}, means, who, sources)


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "ema-health-canada",
            "A risk of at most 0.09",
            {"record-risk": Decimal("0.09")},
            "Nobody owns more than 9 % of the records of any group: whoever takes a record of the group for theirs is "
            "right at most 9 times in 100. With one record per person that is at least 12 persons per group, since "
            "1/11 is more than 0.09.",
            "Clinical reports that are made public after a drug was decided on: policy 0070 of the European Medicines "
            "Agency, and Health Canada's Public Release of Clinical Information. Both reckon with persons; thresholds "
            "for recipients under contract may be higher.",
            (
                "https://rlsciences.com/the-ema-policy-0070-and-health-canada-public-release-of-clinical-information-"
                "prci-anonymization-report",
                "https://doi.org/10.1186/s13063-020-4120-y",
            ),
        ),
        Preset(
            "cms-cell-size",
            "No cell of 1 to 10",
            {"person-k-anonymity": 11},
            "At least 11 persons look alike in every group. The rule is about cells of tables (patients, admissions, "
            "services); here the cell is the group of a release, and persons are counted, which is stricter than "
            "counting records.",
            "Whoever publishes from data of the US Centers for Medicare & Medicaid Services.",
            (
                "https://resdac.org/node/1506",
                "https://www.hhs.gov/guidance/document/cms-cell-suppression-policy",
            ),
        ),
        _smallest_count(
            3,
            "At least three units per cell",
            "Tables of official statistics: some offices ask for at least three respondents in a cell.",
            "https://stats.oecd.org/glossary/detail.asp?ID=7010",
        ),
        _smallest_count(
            5,
            "At least five units per cell",
            "Tables of official statistics of offices that ask for at least five respondents in a cell.",
            "https://stats.oecd.org/glossary/detail.asp?ID=7010",
        ),
        _smallest_count(
            10,
            "The rule of ten",
            "Results that leave the Australian Bureau of Statistics' DataLab; the British Office for National "
            "Statistics uses the same number for its Longitudinal Study.",
            "http://www.ausstats.abs.gov.au/statistics/microdata-tablebuilder/datalab/input-and-output-clearance",
            "http://celsius.lshtm.ac.uk/onscell.html",
        ),
    )
}


def preset_called(name: str) -> Preset:
    """The preset of a name; a ParameterError lists those there are."""
    if name not in PRESETS:
        hint = did_you_mean(name, PRESETS).replace("\n", " ")
        raise ParameterError(f"There is no preset '{name}'. Choose one of: {', '.join(PRESETS)}.{hint}")
    return PRESETS[name]


def missing_models(preset: Preset, models: Sequence[Model]) -> dict[str, Decimal | int]:
    """The models of a preset that are not asked for yet."""
    named = {model.name for model in models}
    return {name: asked for name, asked in preset.models.items() if name not in named}


def is_kept_by(preset: Preset, models: Sequence[Model]) -> bool:
    """Whether models ask for all that a preset asks for."""
    return not missing_models(preset, models) and not weaker_than(preset, models)


def weaker_than(preset: Preset, models: Sequence[Model]) -> list[str]:
    """A sentence for each model that asks for less than a preset does."""
    told = []
    for model in models:
        asked = preset.models.get(model.name)
        if asked is None:
            continue
        is_weaker = model.asked > asked if model.name in LOWER_IS_SAFER else model.asked < asked
        if is_weaker:
            most = "at most" if model.name in LOWER_IS_SAFER else "at least"
            told.append(
                f"models.{model.name}: the preset '{preset.name}' asks for {most} {asked}, not {model.asked:g}."
            )
    return told
