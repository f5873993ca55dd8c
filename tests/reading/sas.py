"""A SAS data set for tests: the C library inside pyreadstat can write one, though pyreadstat does not offer it."""

from __future__ import annotations

import ctypes
import glob
from collections.abc import Mapping, Sequence
from pathlib import Path

TEXT, NUMBER = 0, 5


def write_sas7bdat(path: Path, columns: Mapping[str, Sequence[str | float | None]], formats: Mapping[str, str]) -> None:
    """Write texts and numbers to a .sas7bdat file."""
    import pyreadstat

    (found,) = glob.glob(str(Path(pyreadstat.__file__).parent / "_readstat_writer*.so"))
    c = ctypes.CDLL(found)
    parts: list[bytes] = []

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    def keep(content: int, length: int, _: object) -> int:
        parts.append(ctypes.string_at(content, length))
        return length

    for name in ("readstat_writer_init", "readstat_add_variable"):
        getattr(c, name).restype = ctypes.c_void_p
    writer = ctypes.c_void_p(c.readstat_writer_init())
    c.readstat_set_data_writer(writer, keep)
    variables = {}
    for name, values in columns.items():
        is_text = any(isinstance(value, str) for value in values)
        width = max([len(value.encode()) for value in values if isinstance(value, str)], default=0) or 1
        kind, size = (TEXT, ctypes.c_size_t(width)) if is_text else (NUMBER, ctypes.c_size_t(0))
        variables[name] = ctypes.c_void_p(c.readstat_add_variable(writer, name.encode(), kind, size))
        c.readstat_variable_set_label(variables[name], f"{name} of the person".encode())
        if name in formats:
            c.readstat_variable_set_format(variables[name], formats[name].encode())
    n_records = len(next(iter(columns.values())))
    assert c.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(n_records)) == 0
    for record in range(n_records):
        c.readstat_begin_row(writer)
        for name, values in columns.items():
            value = values[record]
            if value is None:
                c.readstat_insert_missing_value(writer, variables[name])
            elif isinstance(value, str):
                c.readstat_insert_string_value(writer, variables[name], value.encode())
            else:
                c.readstat_insert_double_value(writer, variables[name], ctypes.c_double(value))
        c.readstat_end_row(writer)
    assert c.readstat_end_writing(writer) == 0
    c.readstat_writer_free(writer)
    path.write_bytes(b"".join(parts))
