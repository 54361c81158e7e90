"""Joint forces that give a motion of a system with loops: the smallest ones, or those at chosen joints.

Paper    [kelly1987] eqs (9)-(15): forces of constraints do nothing along the null space Z of C, so that a motion
         takes tau with Z' (tau - needed) = 0.
Symbols  needed = M u' + bias: what the motion would take of joint forces, were the loops cut.
Differs  of all tau the one of least norm, N m and N alike, is given: Z Z' needed, or by least squares at chosen joints.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...errors import ModelError
from ...system.system import System
from ..accuracy.equations import Equations
from ..accuracy.limits import DENSE
from ..loads.applied import tiled_signals
from .consistency import motions_left, of_the_batch, require_acceleration, require_consistent
from .jacobian import ConstraintRows

RANK = 1e-9  # of the strongest: a direction of motion that actuators move less than this they do not move
LEFT = 1e-9  # of the forces needed: less is rounding
SHARP = 1e-4  # of the terms of a row: with less left of them, directions of motion lose four digits


def actuated_rows(system: System, joints: Iterable[str]) -> np.ndarray:
    """Rows of tau of the joints named."""
    if isinstance(joints, str):
        raise ModelError("actuated is not a list of joints", expected=f"['{joints}'], with brackets", got=repr(joints))
    rows: list[int] = []
    for joint in joints:
        index = system.u_index(joint)
        rows += range(index.start, index.stop)
    return np.unique(np.array(rows, int))


def joint_forces(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    udot: np.ndarray,
    needed: np.ndarray,
    t: float | np.ndarray,
    actuated: Iterable[str] | None,
) -> np.ndarray:
    """tau of states (n) or (B, n) from what a motion of the spanning tree needs."""
    rows = require_consistent(system, q, u, t, matrix=True)
    require_acceleration(system, rows, udot)
    drive = np.arange(system.nu) if actuated is None else actuated_rows(system, actuated)
    times = tiled_signals(system, t, q)
    if needed.ndim == 1:
        return _forces(system, _sharp(system, rows, q, u, times), needed, drive, "")
    out = np.empty_like(needed)
    for s in range(needed.shape[0]):
        one = _sharp(system, ConstraintRows(*(x[s] for x in rows)), q[s], u[s], times[s])
        out[s] = _forces(system, one, needed[s], drive, of_the_batch(needed, s))
    return out


def _sharp(system: System, rows: ConstraintRows, q: np.ndarray, u: np.ndarray, signals: np.ndarray) -> ConstraintRows:
    """The same, with C from twice the digits where a row is what its terms leave: near poses where loops lose rank."""
    own, terms = np.linalg.norm(rows.C, axis=1), np.linalg.norm(rows.wrenches, axis=2).sum(axis=1)
    if system.flexible or system.constraints.count + system.nu > DENSE or not (own < SHARP * terms).any():
        return rows
    return rows._replace(C=Equations(system, q, u, np.zeros(system.nu), signals).matrices()[1])


def _forces(system: System, rows: ConstraintRows, needed: np.ndarray, drive: np.ndarray, which: str) -> np.ndarray:
    Z, tau = motions_left(system, rows), np.zeros(system.nu)
    if drive.size == system.nu:
        return Z @ (Z.T @ needed)
    push = Z[drive].T
    answer, _, rank, _ = np.linalg.lstsq(push, Z.T @ needed, rcond=RANK)
    tau[drive] = answer
    left = Z @ (Z.T @ (needed - tau))
    if np.abs(left).max(initial=0.0) > LEFT * np.abs(needed).max():
        raise _cannot_drive(system, drive, left, (int(rank), Z.shape[1]), which)
    return tau


def _cannot_drive(system: System, drive: np.ndarray, left: np.ndarray, rank: tuple[int, int], which: str) -> ModelError:
    """Where the force that is missing would be least."""
    names = [joint for joint in system.joints if np.isin(np.arange(system.nu)[system.u_index(joint)], drive).any()]
    worst = sorted(system.joints, key=lambda joint: -np.abs(left[system.u_index(joint)]).max(initial=0.0))
    missing = [(joint, float(np.abs(left[system.u_index(joint)]).max(initial=0.0))) for joint in worst]
    reported = ", ".join(f"{x:.3g} at '{joint}'" for joint, x in missing[:4] if x > LEFT * missing[0][1])
    listed = ", ".join(f"'{name}'" for name in names) or "none"
    return ModelError(
        f"the joints that are actuated cannot drive the motion of '{system.name}'{which}",
        expected=f"joints that reach all {rank[1]} directions of motion",
        got=f"{listed}, which reach {rank[0]}; not actuated is a motion that takes {reported} (N m or N)",
        hint="name more joints in actuated, or give a motion that the others can make",
    )
