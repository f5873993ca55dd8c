"""The parts list of a release of shoal: CycloneDX 1.6, from the lock and the metadata of what is installed.

Run as `python -m tools.sbom [FILE]`; `make dist` puts it beside the packages and into the wheel. Lists what shoal needs
to run (scope "required") and what its extras need ("optional"), with the hashes of all files that the lock lets in. The
same lock gives the same bytes on every machine: no time, no path, no address.
"""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from tools.lock import Locked, licence_of, parts_of, project, read_lock


def sbom() -> dict[str, Any]:
    """The parts list as CycloneDX has it."""
    lock = read_lock()
    parts = parts_of(lock)
    about = project()
    own = f"pkg:pypi/shoal@{about['version']}"
    running = sorted((each for each in lock if each.name in parts), key=lambda each: each.purl)
    asked_by_shoal = {each.purl for each in running if "shoal" in each.asked_by}
    content = {
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": "shoal",
                "version": about["version"],
                "description": about["description"],
                "licenses": [{"expression": about["license"]}],
                "purl": own,
            }
        },
        "components": [component(each, parts[each.name]) for each in running],
        "dependencies": [
            {"ref": own, "dependsOn": sorted(asked_by_shoal)},
            *({"ref": each.purl, "dependsOn": needed_by(each, running)} for each in running),
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{number}", "version": 1}
    return {**head, **content}


def component(each: Locked, part: str) -> dict[str, Any]:
    """One package with its licence and the hashes of the files that may be installed of it."""
    properties = [{"name": "shoal:part", "value": part}]
    if each.marker:
        properties.append({"name": "shoal:marker", "value": each.marker})
    return {
        "type": "library",
        "bom-ref": each.purl,
        "name": each.name,
        "version": each.version,
        "scope": "required" if part == "shoal" else "optional",
        "licenses": [{"expression": licence_of(each.name)}],
        "purl": each.purl,
        "externalReferences": [
            {
                "type": "distribution",
                "url": each.purl,
                "comment": "The files that the lock lets in, by platform and Python; one of them is installed.",
                "hashes": [{"alg": "SHA-256", "content": content} for content in each.hashes],
            }
        ],
        "properties": properties,
    }


def needed_by(each: Locked, running: list[Locked]) -> list[str]:
    """What a package asks for, as far as it is locked."""
    return sorted(other.purl for other in running if each.name in other.asked_by)


def written() -> str:
    """The parts list as a file holds it."""
    return json.dumps(sbom(), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    unknown = sorted({c["name"] for c in sbom()["components"] if c["licenses"][0]["expression"] == "unknown"})
    if unknown:
        sys.exit(f"No licence is known of {', '.join(unknown)}. Install the whole lock, then try again.")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(written(), encoding="utf-8")
    else:
        sys.stdout.write(written())


if __name__ == "__main__":
    main()
