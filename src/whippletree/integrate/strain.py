"""Deformations of flexible bodies past what their modes are good for: said once for a run."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import ModelWarning
from ..system.system import System

SMALL = 0.01  # strain up to which stiffness and shapes are linear enough: metals yield before


def warn_of_strain(system: System, t: np.ndarray, q: np.ndarray) -> None:
    """Name the first body whose strain passes the limit, when it does, and the largest strain of it."""
    for name, flexible in system.model.flexibles.items():
        strain = flexible.modes.largest_strain(q[:, system.q_index(name)])
        past = np.flatnonzero(strain > SMALL)
        if len(past):
            warnings.warn(
                f"flexible body '{name}' is strained by more than {SMALL:g} from t = {t[past[0]]:.6g} s on, at most by "
                f"{strain.max():.3g}: its modes are linear, and hold for small strain",
                ModelWarning,
                stacklevel=2,
            )
            return
