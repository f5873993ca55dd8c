"""What Spark says when it fails, in words that show no values of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from shoal import errors
from shoal.errors import InputError, ShoalError

TOLD_BY_CELL = re.compile(
    r"CellFailedError: (?:(?P<kind>[A-Z]\w+Error): )?(?P<message>.+?)(?:\n\s*\n|\n\s+at |\Z)", re.S
)


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of Spark into ours: what a cell said where one did, else only the kind of error."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except ShoalError:
        raise
    except (Py4JError, PySparkException) as error:
        raise _ours(error) from None


def _ours(error: Exception) -> ShoalError:
    told = TOLD_BY_CELL.search(str(error))
    if told is None:
        return InputError(
            f"Spark could not finish the work ({type(error).__name__}). Its own log says why; look there for executors "
            "that were lost or ran out of memory. Fewer persons a cell (cell_persons) take less memory."
        )
    kind = getattr(errors, told["kind"] or "", InputError)
    message = told["message"].strip()
    return kind(message if told["kind"] else f"A cell could not be protected: {message}.")
