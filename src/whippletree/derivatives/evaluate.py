"""Values and derivatives of the equations of motion and constraints at checked states, as NumPy arrays.

Which forces of a model have no derivative of their own, and which systems have none at all, is listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ..compiler.function_pointers import ANSWERED
from ..dynamics.dispatch import explain_failure, spread
from ..dynamics.inputs import with_wrenches
from ..dynamics.loads.applied import tiled_signals
from ..errors import ModelError, SimulationError
from ..model.kinds import annotated
from ..system.callbacks import raised_in
from ..system.system import System
from .tangents import WRENCH_NUMBERS, differentiate, workspace

UNITS = np.zeros((1, 0, 0))  # the 2 nu unit directions of q and u


class Tangents(NamedTuple):
    """Of B states; each (B, rows, 1 + n): values first, then derivatives along n directions.

    needed : M u' + b less the forces of the model, external wrenches and C' lam (nu).
    opens : C u' - gamma (nr).
    rate : C u - given (nr).
    g : how far constraints are from closed (nr).
    """

    needed: np.ndarray
    opens: np.ndarray
    rate: np.ndarray
    g: np.ndarray


class States(NamedTuple):
    """B states, all that acts on them, and the constraint multipliers; every field (B, ...)."""

    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray
    lam: np.ndarray
    signals: np.ndarray
    wrenches: np.ndarray  # (B, 10 nw)


def states_of(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    udot: np.ndarray,
    lam: np.ndarray | None = None,
    t: Any = 0.0,
    wrenches: Mapping[str, Any] | None = None,
) -> States:
    """Checked states (n) or (B, n), with B = 1 in the first case."""
    Q = np.atleast_2d(q)
    signals = np.atleast_2d(tiled_signals(system, t, Q))
    none = np.zeros((len(Q), system.constraints.count))
    multipliers = none if lam is None else np.atleast_2d(lam)
    with_wrenches(system, Q, wrenches, Q)  # complains
    given = packed_wrenches(system, wrenches, len(Q))
    arrays = (Q, np.atleast_2d(u), np.atleast_2d(udot), multipliers, signals, given)
    return States(*(np.require(x, float, ["C", "W"]) for x in arrays))


def packed_wrenches(system: System, wrenches: Mapping[str, Any] | None, count: int) -> np.ndarray:
    """(B, 10 nw) Body, place, torque and force of each; those on ground are left out."""
    rows = []
    for name, wrench in (wrenches or {}).items():
        body, _, place = system.place(name)
        if body > 0:
            head = np.broadcast_to(np.concatenate([[body], place]), (count, WRENCH_NUMBERS - ANSWERED))
            rows.append(np.hstack([head, np.broadcast_to(np.asarray(wrench, float), (count, ANSWERED))]))
    return np.hstack(rows) if rows else np.zeros((count, 0))


def tangents_of(system: System, states: States, directions: np.ndarray = UNITS, threads: int | None = None) -> Tangents:
    """Along directions (B, n, 3 nu) or (1, n, 3 nu) of (q, u, u'), by default the 2 nu unit directions of q and u."""
    require_smooth(system)
    count = directions.shape[1] or 2 * system.nu
    nu, nr, B = system.nu, system.constraints.count, len(states.q)
    out = np.empty((B, nu + 3 * nr, 1 + count))
    each = np.ascontiguousarray(directions)
    entry = _compiled(differentiate, States._fields)

    def run(start: int, stop: int) -> None:
        waiting = system.workspaces.ready.setdefault(differentiate, [])
        memory, buffer = waiting.pop() if waiting else workspace(system)
        part = States(*(x[start:stop] for x in states))
        own = each[start:stop] if len(each) == B > 1 else each
        entry(memory, buffer, *part, own, out[start:stop])
        waiting.append((memory, buffer))

    spread(B, threads, run)
    if not np.isfinite(out).all():
        _explain(system, states, out)
    return Tangents(*np.split(out, [nu, nu + nr, nu + 2 * nr], axis=1))


@cache
def _compiled(entry: Any, fields: tuple[str, ...]) -> Any:
    """Compiled for what it takes and for nothing else."""
    numbers, rows, duals = (types.Array(types.float64, n, "C") for n in (1, 2, 4))
    blocks = types.Array(types.float64, 3, "C")
    entry.compile((numbers, duals, *[rows] * len(fields), blocks, blocks))
    return entry


def _explain(system: System, states: States, out: np.ndarray) -> None:
    """A derivative is not finite: says why."""
    for callback in system.forces.callbacks.values():
        if callback.error is not None:
            found = raised_in(callback, "while it was differentiated")
            raise found from found.__cause__
    inputs, names = (states.q, states.u, states.udot), ("q", "u", "udot")
    if not np.isfinite(out[..., 0]).all():
        explain_failure(system, inputs, names, out[..., 0])
    raise SimulationError(
        f"derivatives of '{system.name}' are not finite",
        expected="a state where forces and constraints have a slope",
        hint="springs without length, points that meet and folded joints have none: take a state beside it",
    )


def require_smooth(system: System) -> None:
    """Refuse what has no derivatives."""
    if "friction" in system.features:
        raise ModelError(
            f"'{system.name}' has constraints that slide: there are no derivatives of their friction",
            expected="constraints that hold",
            hint="differentiate before or after they slide",
        )


def differenced(system: System) -> tuple[str, ...]:
    """Names of the forces that are differentiated by differences: the user's functions."""
    return tuple(name for name, force in system.forces.elements.items() if annotated(force, "PythonFunction"))
