"""Integrators by name: a new one is a file in this folder, and a line here."""

from __future__ import annotations

from types import ModuleType

from ...errors import ModelError
from . import cvode, dop853, dopri5, euler, generalized_alpha, rk4, scipy_methods

INTEGRATORS: dict[str, ModuleType] = {
    "dopri5": dopri5,
    "dop853": dop853,
    "rk4": rk4,
    "euler": euler,
    "generalized_alpha": generalized_alpha,
    "cvode": cvode,
    **dict.fromkeys(scipy_methods.NAMES, scipy_methods),
}


def require_closing(name: str, what: str) -> None:
    """Refuse an integrator that does not keep constraints closed."""
    if not getattr(INTEGRATORS[name], "LOOPS", True):
        able = [name for name, method in INTEGRATORS.items() if getattr(method, "LOOPS", True)]
        raise ModelError(
            f"integrator '{name}' cannot keep the loops and constraints of '{what}'",
            hint="take one that can: " + ", ".join(able),
        )


def cannot_resume(name: str) -> ModelError:
    """Of a library that keeps the state of a run to itself."""
    able = [name for name, method in INTEGRATORS.items() if getattr(method, "RESUMES", True)]
    return ModelError(
        f"integrator '{name}' cannot go on from a file: its library keeps the state to itself",
        hint=f"leave out resume, or take one that can: {', '.join(able)}",
    )
