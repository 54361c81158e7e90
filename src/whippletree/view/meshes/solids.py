"""Triangles of the unit solids that pieces are stretched from: vertices (n, 3) and faces (m, 3)."""

from __future__ import annotations

import numpy as np

Surface = tuple[np.ndarray, np.ndarray]

AROUND = 28  # corners of a circle


def box() -> Surface:
    """Edges of 1, centred; the faces share no vertices, so that edges look sharp."""
    vertices: list[np.ndarray] = []
    faces: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            a, b = np.roll(np.eye(3), -axis, axis=0)[1:]
            out = sign * np.eye(3)[axis]
            ring = [0.5 * (out + x * a + sign * y * b) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            n = len(vertices)
            vertices += ring
            faces += [(n, n + 1, n + 2), (n, n + 2, n + 3)]
    return np.array(vertices, np.float32), np.array(faces, np.uint32)


def cylinder() -> Surface:
    """Radius 1 and height 1 along z, centred; the lids share no vertices with the side."""
    angles = 2.0 * np.pi * np.arange(AROUND) / AROUND
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(AROUND)])
    half = np.array([0.0, 0.0, 0.5])
    low, high = ring - half, ring + half
    vertices = np.concatenate([low, high, low, high])
    k = np.arange(AROUND)
    onward = (k + 1) % AROUND
    side = [np.column_stack([k, onward, onward + AROUND]), np.column_stack([k, onward + AROUND, k + AROUND])]
    fan = np.arange(1, AROUND - 1)
    bottom = np.column_stack([np.zeros_like(fan), fan + 1, fan]) + 2 * AROUND
    top = np.column_stack([np.zeros_like(fan), fan, fan + 1]) + 3 * AROUND
    return vertices.astype(np.float32), np.concatenate([*side, bottom, top]).astype(np.uint32)


def sphere() -> Surface:
    """Radius 1, by longitude and latitude."""
    rows = AROUND // 2
    polar = np.pi * np.arange(1, rows) / rows
    angles = 2.0 * np.pi * np.arange(AROUND) / AROUND
    sine, cosine = np.sin(polar)[:, None], np.cos(polar)[:, None]
    bands = np.stack([sine * np.cos(angles), sine * np.sin(angles), cosine + 0.0 * angles], axis=-1).reshape(-1, 3)
    vertices = np.concatenate([[[0, 0, 1]], bands, [[0, 0, -1]]])
    k = np.arange(AROUND)
    onward = (k + 1) % AROUND
    faces = [np.column_stack([np.zeros_like(k), 1 + k, 1 + onward])]
    for row in range(rows - 2):
        a, b = 1 + row * AROUND, 1 + (row + 1) * AROUND
        faces += [np.column_stack([a + k, b + k, b + onward]), np.column_stack([a + k, b + onward, a + onward])]
    last = 1 + (rows - 2) * AROUND
    faces.append(np.column_stack([last + k, np.full_like(k, len(vertices) - 1), last + onward]))
    return vertices.astype(np.float32), np.concatenate(faces).astype(np.uint32)


UNITS = {"box": box, "cylinder": cylinder, "sphere": sphere}
