"""Arithmetic on tuples, compiled by Numba: one source for one state and for a batch in SIMD lanes."""

from . import damaged  # noqa: F401, before the first kernel is looked for on disk
