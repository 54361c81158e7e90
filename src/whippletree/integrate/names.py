"""Names of integrators: whether one is known, and what is meant by the names that other programs have for them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..errors import ModelError, nearest
from ..model.check import shown

# the same method by another name, or the nearest one of its kind
ELSEWHERE = {
    "rk45": ("dopri5", "scipy-RK45"),
    "ode45": ("dopri5",),
    "ode": ("dopri5",),
    "dormand-prince": ("dopri5",),
    "rk": ("rk4",),
    "runge-kutta": ("rk4",),
    "bdf": ("cvode",),
    "ode15s": ("cvode",),
    "newmark": ("generalized_alpha",),
    "hht": ("generalized_alpha",),
}


def require_integrator(name: Any, known: Collection[str], who: str = "") -> str:
    """The name, if it is one of those known; ``who`` ends the message, as " to rollout"."""
    if isinstance(name, str) and name in known:
        return name
    given = name[:80] if isinstance(name, str) else shown(name)
    meant = [f"'{other}'" for other in ELSEWHERE.get(given.casefold().replace(" ", "-"), ()) if other in known]
    hint = f"did you mean {' or '.join(meant)}?" if meant else nearest(given, known)
    raise ModelError(f"integrator '{given}' is not known{who}", hint=hint)
