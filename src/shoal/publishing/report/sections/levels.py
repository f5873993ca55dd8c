"""At which level every quasi-identifier is shown for all, and what other levels would have lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.publishing.report.markup import Content, el
from shoal.publishing.report.numbers import count, share
from shoal.publishing.report.page import cell, table

Numbers = Mapping[str, Any]

MOST_SHOWN = 12
"""So many combinations of levels stand in the report; report.json has more."""

RISKS = {
    "max_gidr": "Record risk, highest",
    "prosecutor_risk": "Prosecutor risk, highest",
    "marketer_risk": "Marketer risk, mean",
}
"""What is told of the risk at each combination of levels."""


def levels(numbers: Numbers) -> Content:
    """The levels, and the lattice as far as it was looked at."""
    rows: list[list[Content]] = [
        [name, cell(f"levels.{name}", level, str(level)), share(numbers["loss_of_column"][name], 1)]
        for name, level in numbers["levels"].items()
    ]
    return [
        el("p", "Every column is shown at one level of its hierarchy, the same for all: 0 is the value as it was."),
        table(["Column", "Level", "Lost of it"], rows, numeric=(1, 2), caption="The level of each column"),
        _lattice(numbers["lattice"]) if "lattice" in numbers else None,
    ]


def _lattice(lattice: Numbers) -> Content:
    best = lattice["explored"][:MOST_SHOWN]
    rows: list[list[Content]] = [
        [
            ", ".join(f"{name} {level}" for name, level in zip(lattice["columns"], line["levels"], strict=True)),
            cell(f"lattice.explored.{at}.left_out", line["left_out"], count(line["left_out"])),
            cell(f"lattice.explored.{at}.granularity", line["granularity"], f"{line['granularity']:.3f}"),
            cell(f"lattice.explored.{at}.loss", line["loss"], f"{line['loss']:.4f}"),
            *(cell(f"lattice.explored.{at}.{key}", line.get(key), share(line.get(key))) for key in RISKS),
        ]
        for at, line in enumerate(best)
    ]
    sure = (
        "No other combination loses less."
        if lattice["is_optimal"]
        else f"Time ran out: none loses less than {lattice['at_least']:.4f}."
    )
    return [
        el("p", f"Of {count(lattice['nodes'])} combinations of levels {count(lattice['looked_at'])} were looked at and "
                f"{count(lattice['ruled_out'])} ruled out by others. {sure} The best that can be published:"),
        table(["Levels", "Persons left out", "Granularity", "Loss", *RISKS.values()], rows, numeric=tuple(range(1, 7)),
              caption="Combinations of levels that can be published, the best first"),
    ]  # fmt: skip
