"""The engine: arrays in, arrays out. Imports numpy and numba only."""

from pathlib import Path

from shoal.kernels import compiling

compiling.prepare(Path(__file__).parent)
