"""Arithmetic on tuples, compiled by Numba: one source for one state and for a batch in SIMD lanes."""
