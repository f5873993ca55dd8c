"""What Spark says when it fails, in words that show no values of the table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from shoal import errors
from shoal.errors import InputError, ShoalError

TOLD_BY_EXECUTOR = re.compile(
    r"ExecutorError: (?:(?P<kind>[A-Z]\w+Error): )?(?P<message>.+?)(?:\n\s*\n|\n\s+at |\Z)", re.S
)


class ExecutorError(Exception):
    """What an executor could not do; the message is one of shoal's own, or names the kind of error only."""

    @classmethod
    @contextmanager
    def instead(cls) -> Iterator[None]:
        """Raise it in place of other errors, whose messages may show values of the table."""
        try:
            yield
        except ShoalError as error:
            raise cls(f"{type(error).__name__}: {error}") from None
        except Exception as error:
            raise cls(f"unexpected {type(error).__name__}") from None


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
    told = TOLD_BY_EXECUTOR.search(str(error))
    if told is None:
        return InputError(
            f"Spark could not finish the work ({type(error).__name__}). Its own log says why; look there for executors "
            "that were lost or ran out of memory. Fewer persons per cell (cell_persons) take less memory."
        )
    kind = getattr(errors, told["kind"] or "", InputError)
    message = told["message"].strip()
    return kind(message if told["kind"] else f"An executor could not go on: {message}.")
