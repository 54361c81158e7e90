"""Cross products and moments over leading axes."""

from __future__ import annotations

import numpy as np

LEVI = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI[_i, _j, _k], LEVI[_i, _k, _j] = 1.0, -1.0


def cross(x: np.ndarray) -> np.ndarray:
    """x~ over leading axes: x~ y = x × y."""
    return np.einsum("ijk,...k->...ji", LEVI, x)


def moment(P: np.ndarray) -> np.ndarray:
    """Moments of inertia from second moments: tr(P) 1 - P, over leading axes."""
    return np.trace(P, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - P
