"""The table of run-time packages and their licences in docs/supply.md, made from the lock and from metadata.

Run as `python -m tools.licences` after the lock has changed; a test says when that was forgotten.
"""

from __future__ import annotations

from tools.lock import PROJECT, licence_of, parts_of, read_lock

PAGE = PROJECT / "docs" / "supply.md"
BEGIN, END = "<!-- made by tools.licences -->\n", "<!-- until here -->\n"


def table() -> str:
    """The table in Markdown, those that shoal always needs first."""
    lock = read_lock()
    parts = parts_of(lock)
    lines = ["| package | version | for | licence |", "|---|---|---|---|"]
    running = [each for each in lock if each.name in parts]
    for each in sorted(running, key=lambda each: (parts[each.name] != "shoal", each.name, each.version)):
        part = parts[each.name] if parts[each.name] == "shoal" else f"extra `{parts[each.name]}`"
        lines.append(f"| {each.name} | {each.version} | {part} | {licence_of(each.name)} |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """A page with the table of now in place of the one of before."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
