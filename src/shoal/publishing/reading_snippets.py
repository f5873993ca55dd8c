"""Programs that read a release in Python, R and Stata, with ranges as two numbers: made from its codebook."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

PYTHON = """\
import re
import pandas as pd

release = pd.read_csv({file}, sep={delimiter}, encoding={encoding}, dtype=str, keep_default_na=False)
VALUE = r"-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?|\\d{{4}}-\\d\\d-\\d\\d"

def ends(cell):
    \"\"\"Lower and upper end of a range; None where an end is hidden or nothing is known.\"\"\"
    cell = cell.removesuffix(" or missing")
    one = re.fullmatch(rf"({{VALUE}})(?:(?: to |-)({{VALUE}}))?", cell)
    if one:
        return one[1], one[2] or one[1]
    open_end = re.fullmatch(rf"at least ({{VALUE}})|({{VALUE}}) or less", cell)
    return (open_end[1], open_end[2]) if open_end else (None, None)

for column in {ranges}:
    lower, upper = zip(*release[column].map(ends))
    as_value = {as_value}
    release[column + "_lower"] = as_value(pd.Series(lower))
    release[column + "_upper"] = as_value(pd.Series(upper))
"""
AS_VALUE = "pd.to_datetime if column in {dates} else pd.to_numeric"
R = """\
release <- read.csv({file}, sep = {delimiter}, fileEncoding = {encoding}, colClasses = "character",
                    na.strings = character(0), check.names = FALSE)
value <- "-?[0-9]+(\\\\.[0-9]+)?(e[+-]?[0-9]+)?|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
ends <- function(cells) {{
  cells <- sub(" or missing$", "", cells)
  both <- paste0("^(", value, ")(( to |-)(", value, "))?$")
  lower <- ifelse(grepl(both, cells), sub(both, "\\\\1", cells), NA)
  upper <- ifelse(grepl(both, cells), sub(both, "\\\\6", cells), NA)
  upper <- ifelse(!is.na(upper) & upper == "", lower, upper)
  least <- paste0("^at least (", value, ")$"); most <- paste0("^(", value, ") or less$")
  lower <- ifelse(grepl(least, cells), sub(least, "\\\\1", cells), lower)
  upper <- ifelse(grepl(most, cells), sub(most, "\\\\1", cells), upper)
  list(lower = lower, upper = upper)
}}
for (column in c({ranges})) {{
  found <- ends(release[[column]])
  as_value <- if (column %in% c({dates})) as.Date else as.numeric
  release[[paste0(column, "_lower")]] <- as_value(found$lower)
  release[[paste0(column, "_upper")]] <- as_value(found$upper)
}}
"""
STATA = """\
import delimited using {file}, delimiters({delimiter}) encoding({encoding}) varnames(1) stringcols(_all) clear
foreach column of varlist {ranges} {{
    generate text = subinstr(`column', " or missing", "", 1)
    replace text = subinstr(text, " to ", "|", 1)
    replace text = regexr(text, "^(-?[0-9.]+)-([0-9.]+)$", regexs(1) + "|" + regexs(2)) ///
        if regexm(text, "^(-?[0-9.]+)-([0-9.]+)$")
    generate `column'_lower = real(substr(text, 1, cond(strpos(text, "|"), strpos(text, "|") - 1, .)))
    generate `column'_upper = real(substr(text, strpos(text, "|") + 1, .))
    replace `column'_lower = real(regexs(1)) if regexm(text, "^at least (.+)$")
    replace `column'_upper = . if regexm(text, "^at least (.+)$")
    replace `column'_upper = real(regexs(1)) if regexm(text, "^(.+) or less$")
    replace `column'_lower = . if regexm(text, "^(.+) or less$")
    drop text
}}
"""
BY_SHOAL = """\
import shoal

received = shoal.read_release("FOLDER")      # types by the codebook; ranges as two columns
received.data
"""


def snippets_for(book: Mapping[str, Any]) -> dict[str, str]:
    """By language the program that reads the release; other formats than CSV are left to `shoal.read_release`."""
    told = {"Python, with shoal": BY_SHOAL}
    if "delimiter" not in book or "star" in book:
        return told
    entries = [entry for entry in book["columns"] if entry["form"] == "range"]
    ranges = [entry["name"] for entry in entries if entry.get("kind") in ("number", "date")]
    dates = [entry["name"] for entry in entries if entry.get("kind") == "date"]
    file = next((file["path"] for file in book.get("files", ()) if file["path"].startswith("release.")), "release.csv")
    given = {"file": _quoted(file), "delimiter": _quoted(book["delimiter"]), "encoding": _quoted(book["encoding"])}
    as_value = AS_VALUE.format(dates=json.dumps(dates, ensure_ascii=False)) if dates else "pd.to_numeric"
    told["Python, with pandas"] = PYTHON.format(
        **given, ranges=json.dumps(ranges, ensure_ascii=False), as_value=as_value
    )
    in_r = {"ranges": ", ".join(map(_quoted, ranges)), "dates": ", ".join(map(_quoted, dates))}
    told["R"] = R.format(**given, **in_r)
    told["Stata"] = STATA.format(**given, ranges=" ".join(name for name in ranges if name not in dates))
    return told


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
