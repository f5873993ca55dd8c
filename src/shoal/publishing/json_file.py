"""JSON files as shoal writes them: indented, in UTF-8, with null in place of what JSON cannot write."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file, with null in place of numbers that JSON cannot write."""
    path.write_text(json.dumps(finite(content), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def finite(content: Any) -> Any:
    """The same with null in place of numbers that JSON cannot write."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    return [finite(value) for value in content] if isinstance(content, list | tuple) else content
