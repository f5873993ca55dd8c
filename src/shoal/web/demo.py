"""The demo project: made-up patients, so that every page has something to show."""

from __future__ import annotations

from shoal.web.project import Project


def fill(project: Project) -> None:
    """Put the made-up patients into an empty project."""
    from shoal.demo.patients import made_up_patients

    file = project.folder / "cache" / "patients.csv"
    made_up_patients().write_csv(file)
    source = project.copy_file(file)
    file.unlink()
    project.update(seen=project.chosen.version, title="Made-up patients", sources=(source,))
