"""Programs that read a release in Python, R and Stata, with ranges as two numbers: made from its codebook."""

from __future__ import annotations

import codecs
import json
import re
import unicodedata
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
import delimited using {file}, delimiters({delimiter}) encoding({encoding}) varnames(nonames) rowrange(2:) ///
    stringcols(_all) clear
rename ({places}) ({names})
{labels}"""
STATA_RANGES = """\
local value "-?[0-9]+(?:[.][0-9]+)?(?:e[+-]?[0-9]+)?|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
local dates " {dates} "
foreach column of varlist {ranges} {{
    tempvar text low high
    generate `text' = subinstr(`column', " or missing", "", 1)
    generate `low' = ""
    generate `high' = ""
    replace `low' = ustrregexs(1) if ustrregexm(`text', "^(`value')(?:(?: to |-)(`value'))?$")
    replace `high' = ustrregexs(2) if ustrregexm(`text', "^(`value')(?:(?: to |-)(`value'))?$")
    replace `high' = `low' if `high' == ""
    replace `low' = ustrregexs(1) if ustrregexm(`text', "^at least (`value')$")
    replace `high' = ustrregexs(1) if ustrregexm(`text', "^(`value') or less$")
    if strpos("`dates'", " `column' ") {{
        generate `column'_lower = daily(`low', "YMD")
        generate `column'_upper = daily(`high', "YMD")
        format `column'_lower `column'_upper %td
    }}
    else {{
        generate double `column'_lower = real(`low')
        generate double `column'_upper = real(`high')
    }}
    drop `text' `low' `high'
}}
"""
LONGEST_IN_STATA = 26
"""Names in Stata have 32 characters at the most, and _lower takes six of them."""
RESERVED_IN_STATA = ("byte", "double", "float", "if", "in", "int", "long", "strl", "using", "with")
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
    told["R"] = R.format(**given | {"encoding": _quoted(_encoding(book["encoding"], mark="UTF-8-BOM"))}, **in_r)
    told["Stata"] = _in_stata(book, given, ranges, dates)
    return told


def _in_stata(book: Mapping[str, Any], given: Mapping[str, str], ranges: list[str], dates: list[str]) -> str:
    """Columns get names that Stata takes, by their places in the file; their own are labels where these differ."""
    columns = [entry["name"] for entry in book["columns"]]
    names = _names_in_stata(columns)
    encoding = _quoted(_encoding(book["encoding"], mark="UTF-8"))
    places = [f"v{place}" for place in range(1, len(columns) + 1)]
    labels = [f"label variable {names[own]} {_in_stata_quotes(own)}\n" for own in columns if names[own] != own]
    text = STATA.format(
        file=given["file"], delimiter=given["delimiter"], encoding=encoding, places=" ".join(places),
        names=" ".join(names.values()), labels="".join(labels),
    )  # fmt: skip
    if not ranges:
        return text
    of_dates = " ".join(names[own] for own in dates)
    return text + STATA_RANGES.format(ranges=" ".join(names[own] for own in ranges), dates=of_dates)


def _names_in_stata(columns: list[str]) -> dict[str, str]:
    """For each column a name of letters, digits and underscores, not too long, no word of Stata's, and used once."""
    names: dict[str, str] = {}
    for own in columns:
        plain = unicodedata.normalize("NFKD", own.replace("ß", "ss")).encode("ascii", "ignore").decode()
        plain = re.sub(r"\W+", "_", plain)[:LONGEST_IN_STATA].strip("_") or "column"
        if not plain[0].isalpha() or plain.lower() in RESERVED_IN_STATA or re.fullmatch(r"str\d+", plain.lower()):
            plain = f"c_{plain}"[:LONGEST_IN_STATA]
        name, number = plain, 1
        while name in names.values():
            number += 1
            name = f"{plain[: LONGEST_IN_STATA - 4]}_{number}"
        names[own] = name
    return names


def _in_stata_quotes(text: str) -> str:
    """A text between compound quotes, which may hold plain ones; signs of macros are left out."""
    return f'`"{re.sub("[`$]", "", text)}"\''


def _encoding(name: str, mark: str) -> str:
    """An encoding by the name that iconv and ICU know; `mark` is that of UTF-8 with a byte order mark."""
    known = codecs.lookup(name).name
    if known == "utf-8-sig":
        return mark
    windows = re.fullmatch(r"cp(125\d)", known)
    latin = re.fullmatch(r"iso8859-(\d+)", known)
    return f"windows-{windows[1]}" if windows else f"ISO-8859-{latin[1]}" if latin else known.upper()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
