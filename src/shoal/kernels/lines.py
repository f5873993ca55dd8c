"""Where the records of a CSV file end. Arrays in, numbers out; no text, no checks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.compiling import kernel

AT_FIELD, IN_FIELD, IN_QUOTES, BEHIND_QUOTE = 0, 1, 2, 3
"""Where a byte stands: before a field, in one without quotes, in one with quotes, behind a quote in such a one."""


@kernel
def last_record_end(
    content: NDArray[np.uint8], delimiter: int, quote: int, line_end: int, state: int
) -> tuple[int, int]:
    """Behind the last line end outside quotes (0 where there is none), and the state behind the last byte.

    A quote opens a field only at its beginning; elsewhere it is a part of the text, as Python's csv module has it.
    """
    end = 0
    for place in range(len(content)):
        byte = content[place]
        if state == IN_QUOTES:
            if byte == quote:
                state = BEHIND_QUOTE
        elif byte == quote and state != IN_FIELD:
            state = IN_QUOTES
        elif byte == line_end:
            state = AT_FIELD
            end = place + 1
        elif byte == delimiter:
            state = AT_FIELD
        else:
            state = IN_FIELD
    return end, state
