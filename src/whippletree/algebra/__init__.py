"""Arithmetic of vectors, rotations, inertias and small matrices, for one state and in SIMD lanes."""
