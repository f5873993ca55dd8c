"""Files to the web app, streamed into the private folder and checked; and the style of its pages."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse

from shoal.errors import InputError, ShoalError
from shoal.models.contract import listed
from shoal.publishing import report
from shoal.reading.formats import format_of_bytes, format_of_ending, formats_in_app
from shoal.web.app import App
from shoal.web.project import PRIVATE_FILE, Project, SourceFile, safe_name

HERE = Path(__file__).parent
ASSETS = {
    "style.css": (HERE, "text/css"),
    "pages.css": (HERE, "text/css"),
    "chart.css": (Path(report.__file__).with_name("templates"), "text/css"),
    "page.js": (HERE, "text/javascript"),
    "fish.svg": (HERE, "image/svg+xml"),
}
"""The files of the app's pages, and where they are; charts look as in the report."""
ZIP, OLD_OFFICE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
PACKED = {".gz": b"\x1f\x8b", ".zip": ZIP, ".zst": b"\x28\xb5\x2f\xfd"}
PURPOSES = ("records", "persons", "hierarchy", "later", "population")
SIGNS = {
    ZIP: "a zip archive or an Excel workbook",
    OLD_OFFICE: "an old Excel or Word document",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3": "an SQLite database",
    b"$FL2": "an SPSS file",
    b"\x7fELF": "a program",
    b"MZ": "a program",
}
"""The first bytes of files that are taken for tables by mistake."""


def routes(app: App, api: FastAPI) -> None:
    """The addresses under which files come in, and the style."""

    @api.get("/assets/{name}")
    def asset(name: str) -> Response:
        if name not in ASSETS:
            return Response(status_code=404)
        folder, media_type = ASSETS[name]
        return FileResponse(folder / name, media_type=media_type)

    @api.put("/files/{purpose}/{name:path}")
    async def upload(purpose: str, name: str, request: Request) -> JSONResponse:
        try:
            return JSONResponse(await take(app, purpose, name, request))
        except ShoalError as error:
            return JSONResponse({"message": str(error)}, status_code=400)
        except OSError as error:
            return JSONResponse({"message": f"The file cannot be kept: {error.strerror}."}, status_code=507)


async def take(app: App, purpose: str, name: str, request: Request) -> dict[str, Any]:
    """Stream a file into the project under a name of its own, check it, and only then give it its name."""
    if purpose not in PURPOSES:
        raise InputError("Files are taken as records, persons, population or hierarchy.")
    name = safe_name(name)
    if purpose != "hierarchy":
        refuse_ending(name)
    part = app.project.folder / "sources" / f".{secrets.token_hex(8)}.part"
    try:
        await _stream(request, part)
        refuse_other_content(part, name, is_hierarchy=purpose == "hierarchy")
        if purpose == "hierarchy":
            return {"name": name, "file": app.project.keep_hierarchy(part.read_bytes(), name)}
        source = app.project.add_file(part, name, folder=purpose if purpose in ("later", "population") else "sources")
        put_into(app.project, source, purpose)
        return {"name": source.name, "size": source.size}
    finally:
        part.unlink(missing_ok=True)


async def _stream(request: Request, part: Path) -> None:
    part.touch(mode=PRIVATE_FILE, exist_ok=False)
    with part.open("wb") as file:
        async for block in request.stream():
            file.write(block)


def endings_taken() -> list[str]:
    """The endings of files that are taken as tables."""
    return sorted(ending for format in formats_in_app() for ending in format.endings)


def formats_taken() -> str:
    """The formats of files that are taken, as words."""
    return listed([format.title for format in formats_in_app()])


def refuse_ending(name: str) -> None:
    """Refuse a name whose ending says that it is no table that can be read."""
    format = format_of_ending(name)
    if format is None:
        raise InputError(f"'{name}' does not end like a table. Take a file of {formats_taken()}.")
    if not format.in_app:
        raise InputError(f"'{name}' is {format.words}. Save the table as CSV (UTF-8) and choose that file.")


def refuse_other_content(path: Path, name: str, *, is_hierarchy: bool = False) -> None:
    """Refuse a file that is not what its name says: by its first bytes, before anything reads it."""
    with path.open("rb") as file:
        start = file.read(4096)
    if not start:
        raise InputError(f"'{name}' is empty.")
    said, found = None if is_hierarchy else format_of_ending(name), format_of_bytes(start)
    if said is not None and said.first_bytes:
        if found is not said:
            raise InputError(
                f"'{name}' is not {said.words}, though its name ends like one. If it is a CSV file, let its name end "
                "with .csv."
            )
        return
    if said is not None and said.beginnings:
        if not start.startswith(said.beginnings):
            raise InputError(f"'{name}' is not {said.words}, though its name ends like one.")
        return
    packed = PACKED.get(Path(name).suffix.lower()) if said is not None else None
    if packed is not None:
        if not start.startswith(packed):
            raise InputError(f"'{name}' is not packed, though its name ends with {Path(name).suffix}.")
        return
    if found is not None:
        raise InputError(f"'{name}' is {found.words}. Let its name end with {found.endings[0]}.")
    for sign, what in SIGNS.items():
        if start.startswith(sign):
            raise InputError(
                f"'{name}' is {what}, not a CSV file. Let its name end as such files do, or save the table as CSV."
            )
    is_packed = start.startswith(b"\x1f\x8b")
    is_wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))  # UTF-16, which has zero bytes of its own
    if not is_packed and not is_wide and b"\0" in start:
        raise InputError(f"'{name}' is not a text file. Save the table as CSV (UTF-8), or as Parquet.")


def put_into(project: Project, source: SourceFile, purpose: str) -> None:
    """Take a file into the choices: as one more file of records, in the place of one of its name, or of persons."""
    chosen = project.chosen
    if purpose == "later":  # for a release that is there; the choices are not about it
        return
    if purpose == "population":
        project.update(seen=chosen.version, population={"file": f"population/{source.name}"})
        return
    if purpose == "persons":
        sources = tuple(each for each in chosen.sources if each.name != source.name)
        rename = chosen.rename_for(sources)
        project.update(seen=chosen.version, person_file=source, sources=sources, join_on={}, rename=rename, tables={})
        return
    names = [each.name for each in chosen.sources]
    if source.name in names:
        sources = tuple(source if each.name == source.name else each for each in chosen.sources)
    else:
        sources = (*chosen.sources, source)
    persons = chosen.person_file if chosen.person_file is None or chosen.person_file.name != source.name else None
    join_on = chosen.join_on if persons is not None else {}
    rename = chosen.rename_for(sources)
    tables = chosen.tables if source.name in names else {}
    project.update(
        seen=chosen.version, sources=sources, person_file=persons, join_on=join_on, rename=rename, tables=tables
    )
