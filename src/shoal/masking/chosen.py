"""A method and a mask by their names and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from shoal.errors import ParameterError, did_you_mean
from shoal.grouping import METHODS, Method
from shoal.grouping.grouping import as_method
from shoal.masking import MASKS
from shoal.masking.publish import Mask, as_mask
from shoal.policy.policy import DEFAULT_MASK


def choose(method: str | Method, mask: str | Mask, options: Mapping[str, Any]) -> tuple[Method, Mask]:
    """The method and the mask, each made with its own options; an option that neither has is refused."""
    method_class = METHODS[method] if isinstance(method, str) else None
    mask_class = MASKS[mask] if isinstance(mask, str) else None
    known = {*_options_of(method_class), *_options_of(mask_class)}
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ParameterError(
            f"Neither the method nor the mask has an option '{unknown[0]}'. "
            f"Options here are: {', '.join(sorted(known)) or 'none'}.{did_you_mean(unknown[0], known)}"
        )
    made = as_method(_made(method, method_class, options))
    own = made.own_mask
    if own is not None and mask == DEFAULT_MASK:  # nobody asked for another
        mask, mask_class = own, MASKS[own]
    shown = as_mask(_made(mask, mask_class, options))
    if own is not None and shown.name != own:
        raise ParameterError(f"The method {made.name} goes with the mask {own} here, not with {shown.name}.")
    return made, shown


def _options_of(cls: type | None) -> list[str]:
    return [field.name for field in fields(cls)] if cls is not None else []


def _made(choice: Any, cls: type | None, options: Mapping[str, Any]) -> Any:
    if cls is None:
        return choice
    return cls(**{name: value for name, value in options.items() if name in _options_of(cls)})
