"""States on their constraints, or off them: who is open and by how much, and how much DOF is left there."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError, OffConstraints
from ...model.forces import Motion
from ...system.system import System
from .jacobian import ConstraintRows, rows_of
from .nullspace import rank_tolerance, scaled_rows, split_space

START = 1e-6  # how far off a state may be: against the size of the mechanism, or its velocities


def require_consistent(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    t: float | np.ndarray = 0.0,
    who: str = "the state",
    *,
    matrix: bool = False,
) -> ConstraintRows:
    """The rows of states (n) or (B, n), with C if ``matrix``; refuses the first that is open, or opens, by more than
    START."""
    rows = rows_of(system, q, u, t, matrix=matrix)
    require_closed(system, rows, who)
    allowed = START * speed_scale(u, rows.prescribed)
    state = _first_off(rows.rate, allowed)
    if state is not None:
        rate, least = np.atleast_2d(rows.rate)[state], float(np.atleast_1d(allowed)[state])
        where = of_the_batch(rows.g, state)
        raise off_constraints(system, who, f"opens{where}", named_violations(system, rate, least, "/s"))
    return rows


def require_closed(system: System, rows: ConstraintRows, who: str = "the state") -> None:
    """Refuse the first state whose loops are open by more than START."""
    allowed = START * min(1.0, system.constraints.size)
    state = _first_off(rows.g, np.full(rows.g.shape[:-1], allowed))
    if state is not None:
        violations = named_violations(system, np.atleast_2d(rows.g)[state], allowed)
        raise off_constraints(system, who, "is not closed" + of_the_batch(rows.g, state), violations)


def require_acceleration(system: System, rows: ConstraintRows, udot: np.ndarray) -> None:
    """Refuse accelerations that the constraints do not allow at these velocities: C u' = gamma."""
    off = (rows.C @ udot[..., None])[..., 0] - rows.gamma
    allowed = START * (1.0 + np.abs(udot).max(axis=-1, initial=0.0) + np.abs(rows.gamma).max(axis=-1, initial=0.0))
    state = _first_off(off, allowed)
    if state is not None:
        least = float(np.atleast_1d(allowed)[state])
        raise ModelError(
            f"udot of '{system.name}' opens loops or constraints{of_the_batch(rows.g, state)}",
            expected="C udot = gamma: accelerations that keep them closed",
            got="off are " + named_violations(system, np.atleast_2d(off)[state], least, "/s^2"),
            hint="forward_dynamics gives accelerations that are consistent",
        )


def _first_off(off: np.ndarray, allowed: np.ndarray) -> int | None:
    bad = np.flatnonzero(np.atleast_1d(np.abs(off).max(axis=-1, initial=0.0) > allowed))
    return int(bad[0]) if bad.size else None


def of_the_batch(values: np.ndarray, state: int) -> str:
    """Which state is meant, where there are several."""
    return f" in state {state} of the batch" if values.ndim > 1 else ""


def speed_scale(u: np.ndarray, prescribed: np.ndarray) -> np.ndarray:
    """What velocities are judged against, of one state or of each."""
    return 1.0 + np.abs(u).max(axis=-1, initial=0.0) + np.abs(prescribed).max(axis=-1, initial=0.0)


def named_violations(system: System, g: np.ndarray, least: float, per: str = "") -> str:
    """Who is off by how much, the worst first."""
    c = system.constraints
    open_: dict[str, dict[str, float]] = {}
    for owner, what, x in zip(c.owner, c.what, g, strict=True):
        unit = "rad" if what.startswith(("rotation", "angle", "turning")) else "m"
        if "against" in what:
            unit = "rad or m"
        if abs(x) > least:
            parts = open_.setdefault(owner, {})
            parts[unit] = float(np.hypot(parts.get(unit, 0.0), x))
    ordered = sorted(open_.items(), key=lambda item: -max(item[1].values()))
    reported = [
        f"'{owner}' by " + " and ".join(f"{x:.3g} {unit}{per}" for unit, x in p.items()) for owner, p in ordered
    ]
    return ", ".join(reported[:6]) + (", ..." if len(reported) > 6 else "")


def pulled_motions(system: System, C: np.ndarray, violation: np.ndarray, share: float) -> list[str]:
    """Names of prescribed motions that would reduce violations (nr) of constraint equations C (nr, nu) if they could,
    by more than a share of the largest."""
    pull, least = C.T @ violation, share * float(np.abs(violation).max() * np.abs(C).max())
    motions = [f for f in system.forces.elements.values() if isinstance(f, Motion) and f.joint not in system.cut_joints]
    return [f.name for f in motions if abs(pull[system.u_index(f.joint).start + f.dof]) > least]


def off_constraints(system: System, who: str, what: str, got: str) -> OffConstraints:
    """The complaint about a state; the command line knows it, and says what to type."""
    return OffConstraints(
        f"{who} of '{system.name}' {what}",
        expected=f"loops and constraints met to {START:g}",
        got=got,
        hint="wt.assemble(system, q, u) finds the nearest state that is consistent, and so does 'whippletree assemble'",
    )


def motions_left(system: System, rows: ConstraintRows, free: np.ndarray | None = None) -> np.ndarray:
    """(nu, f) Directions, orthonormal, in which a closed state can move; with ``free``, only those DOF may."""
    some = np.arange(system.nu) if free is None else free
    C = rows.C / scaled_rows(rows.C)[:, None]
    Z, _ = split_space(C[:, some], rank_tolerance(system, rows), "svd")
    motions = np.zeros((system.nu, Z.shape[1]))
    motions[some] = Z
    return motions
