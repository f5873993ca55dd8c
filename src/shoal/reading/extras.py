"""Packages that only some sources and sinks need: imported when they are used, and named where they are missing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shoal.errors import InputError, ShoalError


def imported(module: str, *, extra: str, what: str, error: type[ShoalError] = InputError) -> Any:
    """A module of an optional package, or an error that says how to install it.

    Parameters
    ----------
    extra
        The extra of shoal that brings the package.
    what
        What cannot be done without it, as the beginning of a sentence: "Reading Excel files".
    error
        InputError where something is read, OutputError where something is written.
    """
    try:
        return import_module(module)
    except ImportError:
        raise error(
            f"{what} needs the package {module.split('.')[0]}, which is not installed. Install it with: "
            f"pip install 'shoal[{extra}]'"
        ) from None
