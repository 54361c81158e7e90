"""How a run stays on its constraints, as kernels take it; integrate/stabilize.py reads what a user passes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...layout.constraints import STABILIZED


class Stabilization(NamedTuple):
    name: str
    alpha: float  # 1/s
    beta: float  # 1/s


PROJECTION = Stabilization("projection", 0.0, 0.0)


def stabilized(constraints: np.ndarray, how: Stabilization) -> np.ndarray:
    """Packed constraints, as kernels take them for such a run."""
    packed = constraints.copy()
    packed[STABILIZED] = how.alpha, how.beta, float(how.name == "projection")
    return packed
