"""Constraints that cannot be met any more along a run: which ones, and by how much they are violated.

A run goes back onto its constraints after each step; where that leaves more than LOST open, it ends. What stays open
then depends on the order of the equations. Here all of them are met as well as possible together, by least squares:
those that contradict each other are the ones that stay violated, and a prescribed motion takes part if they would pull
at it.
"""

from __future__ import annotations

import numpy as np

from ...dynamics.constraints.consistency import named_violations, pulled_motions, speed_scale
from ...dynamics.constraints.jacobian import rows_of
from ...dynamics.loads.applied import prescribed_motion
from ...dynamics.stepping.closing import LOST
from ...errors import SimulationError
from ...system.system import System
from ..assemble import file_places, least_violation
from ..motion import advance
from ..project import project
from .task import Task

CLEARLY = 0.3  # of LOST: what is spread over several equations stays open by less in each
TAKES_PART = 1e-3  # of the largest violation
WEAK = 1e-2  # of the largest singular value: directions that hardly move the constraints
LOOKS = (1e-9, 1e-6, 1e-4, 1e-2)  # of the run, behind the moment at which steps become too small


def contradiction_beyond(task: Task, t: float, y: np.ndarray, surely: bool) -> SimulationError | None:
    """The error that names the constraints which cannot be met soon after a state y = (q, u, ...) at t; None if all
    can, unless some are violated ``surely``."""
    system = task.system
    if not system.constraints.count:
        return None
    length = float(task.t[-1] - task.t[0])
    for share in LOOKS:
        q, u = y[: system.nq].copy(), y[system.nq : system.nq + system.nu].copy()
        q = advance(system, q, share * length * u)
        found = contradiction_at(system, t + share * length, np.concatenate([q, u]), False, shown_at=t)
        if found is not None:
            return found
    return contradiction_at(system, t, y, surely)


def contradiction_at(
    system: System, t: float, y: np.ndarray, surely: bool, shown_at: float | None = None
) -> SimulationError | None:
    """The error that names the constraints which cannot be met at t near a state y = (q, u, ...); None if all can,
    unless some are violated ``surely``."""
    when = f"at t = {t if shown_at is None else shown_at:.9g} s"
    q, u = y[: system.nq].copy(), y[system.nq : system.nq + system.nu].copy()
    if not np.isfinite(y[: system.nq + system.nu]).all():
        return None
    prescribed_motion(system, t, q, u)
    best = least_violation(system, q, t)
    rows, c = rows_of(system, best, u, t), system.constraints
    g = np.where(c.of_poses, rows.g, 0.0)
    if np.abs(g).max(initial=0.0) > CLEARLY * LOST * min(1.0, c.size):
        return _named(system, g, rows.C, when, "")
    project(system, q, u, t)
    rows = rows_of(system, q, u, t)
    held = c.follows < 0
    free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
    u[free] -= np.linalg.lstsq(rows.C[np.ix_(held, free)], rows.rate[held], rcond=1e-9)[0]
    rate = np.where(held, rows_of(system, q, u, t).rate, 0.0)
    if np.abs(rate).max(initial=0.0) > CLEARLY * LOST * float(speed_scale(u, rows.prescribed)):
        return _named(system, rate, rows.C, when, "/s")
    if not surely:
        return None
    least = 0.5 * float(max(np.abs(rows.g).max(initial=0.0), 1e-300))
    return SimulationError(
        f"the motion of '{system.name}' leaves its constraints {when}",
        expected=f"all of them met to {LOST:g} after each step",
        got=f"violated are {named_violations(system, rows.g, least)}",
        hint="smaller steps: step, or rtol and atol; the pose may be singular, see wt.mobility",
    )


def opposed_by(system: System, name: str, t: float, q: np.ndarray, u: np.ndarray) -> str:
    """By how much a constraint of the system stays violated at best near a pose q, and what opposes it, in words."""
    best = least_violation(system, q, t)
    rows, c = rows_of(system, best, u, t), system.constraints
    g = np.where(c.of_poses, rows.g, 0.0)
    owners, motions = _taking_part(system, g, rows.C)
    own = np.where([owner == name for owner in c.owner], g, 0.0)
    some = [f"'{other}'" for other in owners if other != name] + [f"prescribed motion '{m}'" for m in motions]
    size = named_violations(system, own, 0.0).removeprefix(f"'{name}' ") or "by rounding"
    why = f"it contradicts {', '.join(some)}" if some else "the joints do not reach it from here"
    return f"it stays violated {size} at best: {why}"


def _taking_part(system: System, violation: np.ndarray, C: np.ndarray) -> tuple[list[str], list[str]]:
    """Names of constraints that stay violated (nr) at best, and of prescribed motions that they pull at."""
    least = TAKES_PART * float(np.abs(violation).max())
    owners = list(dict.fromkeys(o for o, x in zip(system.constraints.owner, violation, strict=True) if abs(x) > least))
    return owners, pulled_motions(system, C, violation, TAKES_PART)


def _named(system: System, violation: np.ndarray, C: np.ndarray, when: str, per: str) -> SimulationError:
    """The error that names constraints by what stays violated at best (nr), and motions that they pull at."""
    free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
    move = np.linalg.lstsq(C[:, free], violation, rcond=WEAK)[0]
    rest = violation - C[:, free] @ move  # near a limit of reach the last steps there are long
    violation = rest if np.abs(rest).max() > 0.1 * np.abs(violation).max() else violation
    least = TAKES_PART * float(np.abs(violation).max())
    owners, motions = _taking_part(system, violation, C)
    what = "contradict each other" if len(owners) + len(motions) > 1 else "cannot be met"
    against = " against prescribed motion " + ", ".join(f"'{m}'" for m in motions) if motions else ""
    return SimulationError(
        f"constraints of '{system.name}' {what} {when}",
        expected="poses, and velocities, that meet all constraints",
        got=f"at best, violated are {named_violations(system, violation, least, per)}{against}",
        where=file_places(system, *owners),
        hint="remove one of them, or prescribe motions that agree and that the loops can follow",
    )
