"""One text file, written beside and renamed: a kill leaves the old file or the new one, never half."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from shoal.errors import OutputError


def write_text(path: str | Path, text: str) -> None:
    """Write a text file into a folder that exists.

    Raises
    ------
    OutputError
        Where it cannot be written; what stood there before stays.
    """
    path = Path(path)
    try:
        descriptor, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
            os.replace(beside, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(beside)
            raise
    except OSError as error:
        raise OutputError(f"The file '{path}' cannot be written: {error.strerror}. Nothing was changed.") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
