"""The demo project: made-up patients, taken through all five steps, so that every page has something to show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shoal.web.project import ColumnChoice, Project

ROLES: dict[str, tuple[str, str]] = {
    "patient": ("person", "auto"),
    "visit_date": ("dropped", "auto"),
    "age": ("quasi", "number"),
    "gender": ("quasi", "nominal"),
    "zip": ("quasi", "number"),
    "education": ("quasi", "number"),
    "disease": ("sensitive", "auto"),
    "treatment": ("sensitive", "auto"),
}
"""The roles and kinds of the made-up patients' columns."""
ROUND = {"age": 5, "education": 2}
"""To what the ends of ranges are rounded where the usual step would show values that one person has."""

GOAL: dict[str, Any] = {
    "way": "goal",
    "record": {"on": True, "limit": "0.1"},
    "values": {"disease": {"on": True, "limit": "0.5"}, "treatment": {"on": True, "limit": "0.5"}},
    "history": {"on": True, "limit": "0.2"},
    "persons": {"on": False, "k": 5},
}
"""Also whoever knows one of a person's diseases, or how many visits they had, is left with five persons."""
PROTECTION: dict[str, Any] = {"seed": 7, "history": {"hierarchies": {"disease": {"icd": True}}}}
N_SETTINGS = 8
"""How many settings are tried: fewer than on the page, so that the demo is there soon."""


class Silent:
    """Takes reports of how far work is, and shows them nowhere."""

    def __call__(self, stage: str, done: float) -> None:
        """How much of a stage is done."""

    def partial(self, found: Mapping[str, Any]) -> None:
        """Something found so far."""


def fill(project: Project, *, persons: int = 20_000, say: Callable[[str], None] = lambda words: None) -> None:
    """Put the made-up patients into an empty project, and take them from the file to a release.

    `say` is told what is being done, in words.
    """
    from shoal.demo.patients import made_up_patients

    say(f"Making up {persons:,} patients ...")
    file = project.folder / "cache" / "patients.csv"
    made_up_patients(persons).write_csv(file)
    source = project.copy_file(file)
    file.unlink()
    project.update(
        seen=project.chosen.version,
        title="Made-up patients",
        sources=(source,),
        columns=tuple(
            ColumnChoice(name, role, kind, round=ROUND.get(name), is_confirmed=True)
            for name, (role, kind) in ROLES.items()
        ),
        person_ids="none",
        protection=PROTECTION,
        goal=GOAL,
    )
    finish(project, say=say)


def finish(project: Project, *, say: Callable[[str], None] = lambda words: None) -> None:
    """Do what a steward would have done on the pages: look, count, find a setting, make the release."""
    from shoal.web import looking, work
    from shoal.web.goal import beside_of, protection_with, targets_of

    tell: Any = Silent()
    project.put_result("look", looking.look(project, tell), depends_on="data")
    looking.take_suggestions(project)
    say("Counting their risk ...")
    project.put_result("assess", work.assess(project, tell), depends_on="columns")
    goal = project.chosen.goal
    say("Trying settings, and choosing the one that loses least ...")
    found = work.tune(
        project, tell, targets=targets_of(goal), beside=beside_of(goal, project.chosen.protection), points=N_SETTINGS
    )
    project.put_result("frontier", found, depends_on="columns")
    point = found["points"][found["chosen"]]
    protection = protection_with(goal, point["policy_models"], project.chosen.protection)
    project.update(
        seen=project.chosen.version, protection=protection, goal={**goal, "point": point["number"]}
    )  # fmt: skip
    say("Making the release and its report ...")
    made = work.protect(project, tell)
    project.put_result("release", made, depends_on="protect")
    project.put_result("handed-out", {"run": made["run"]}, depends_on="protect")
    project.forget_steps()  # the steward did not make these choices
