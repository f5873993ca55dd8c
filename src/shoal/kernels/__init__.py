"""The engine: arrays in, arrays out. Imports numpy and numba only."""
