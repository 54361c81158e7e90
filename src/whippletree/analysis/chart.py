"""Independent coordinates on the poses that loops and constraints allow, near one of them; of a tree all that are free.

With C the matrix of the constraints, split by columns into dependent and independent DOF, a small motion is

    dq_dep = -C_dep^+ C_ind z,   dq_ind = z:   dq = T z.

Constraints on velocities alone (wheels, blades) leave poses free: they are left out of T, and the motions of all rows
are du = V w, with the independent velocities w.

Independents are chosen so that the null space of C hangs on them as firmly as it can, by pivoting. As many are left
for the dependent ones as C has rank, so that redundant rows need no care: C_dep has full column rank.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from ..dynamics.constraints.consistency import motions_left
from ..dynamics.constraints.jacobian import ConstraintRows, rows_of
from ..errors import ModelError, SimulationError
from ..integrate.motion import advance
from ..system.system import System
from .differences import units
from .point import joints_of

NEAR, CLOSED = 1e-9, 1e-11  # against the size of the mechanism: one step before the end, and the end
STEPS = 15
LONGEST = 0.5  # rad, or lengths of the mechanism, in one step of closing


def refuse_rolling(system: System) -> None:
    """Complain about velocity-level constraints, for studies that have no use for them."""
    c = system.constraints
    if c.of_poses.all():
        return
    names = dict.fromkeys(owner for owner, pose in zip(c.owner, c.of_poses, strict=True) if not pose)
    raise ModelError(
        f"'{system.name}' has constraints on velocities, which leave its poses free",
        expected="constraints on poses",
        got=", ".join(f"'{name}'" for name in list(names)[:6]),
        hint="runs, mobility, reactions and linearize take them; studies of small motions about a pose at rest do not",
    )


class Poses(NamedTuple):
    """Poses that were displaced from the chart's own, (B)."""

    q: np.ndarray  # (B, nq)
    moved: np.ndarray  # (B, nu)  the way there, summed up
    closed: np.ndarray  # (B)     whether loops could be closed


class Chart:
    """Coordinates z about a closed pose q; ``rows`` (f) of u are the independent DOF among those that are free.

    ``moving`` (k) are rows of independent velocities: the same but where constraints on velocities leave fewer.
    """

    def __init__(self, system: System, q: np.ndarray, free: np.ndarray) -> None:
        self.system, self.q, self.free, self.units = system, q, free, units(system)
        self.rows, self.dependent = free, free[:0]
        self.of_poses = system.constraints.of_poses
        self.moving = free
        if system.constraints.count:
            rows = rows_of(system, q, np.zeros(system.nu))
            self.moving = self.rows = self._independent(rows)
            if not self.of_poses.all():
                held = ConstraintRows(*(x[self.of_poses] for x in rows))
                self.rows = self._independent(held)
            self.dependent = np.setdiff1d(free, self.rows)

    def _independent(self, rows: ConstraintRows) -> np.ndarray:
        Z = motions_left(self.system, rows, self.free)
        if not Z.size:
            return self.free[:0]
        pivots = qr((Z / self.units[:, None])[self.free].T, mode="r", pivoting=True)[1]
        return np.sort(self.free[pivots[: Z.shape[1]]])

    def follow(self, C: np.ndarray, target: np.ndarray, x: np.ndarray) -> np.ndarray:
        """x (..., nu), its dependent entries added to so that C x = target (..., nr)."""
        if self.dependent.size:
            lacks = target - (C @ x[..., None])[..., 0]
            x[..., self.dependent] += (np.linalg.pinv(C[..., self.dependent]) @ lacks[..., None])[..., 0]
        return x

    def motions(self, q: np.ndarray) -> np.ndarray:
        """T (..., nu, f) at closed poses: the motion of all DOF that belongs to each independent one."""
        nu, f = self.system.nu, self.rows.size
        T = np.zeros((*q.shape[:-1], f, nu))
        T[..., np.arange(f), self.rows] = 1.0
        if self.dependent.size:
            C = rows_of(self.system, q, np.zeros((*q.shape[:-1], nu))).C[..., None, self.of_poses, :]
            self.follow(C, np.zeros(C.shape[-2]), T)
        return np.swapaxes(T, -1, -2)

    def poses(self, z: np.ndarray) -> Poses:
        """Displaced along the independent DOF by z (B, f), in rad and m, and closed again by the others."""
        moved = np.zeros((len(z), self.system.nu))
        moved[:, self.rows] = z
        q = advance(self.system, self.q, moved)
        if not self.dependent.size:
            return Poses(q, moved, np.ones(len(z), bool))
        still, size = np.zeros_like(moved), min(1.0, self.system.constraints.size)
        for _ in range(STEPS):
            rows = rows_of(self.system, q, still)
            rows = rows._replace(g=rows.g[:, self.of_poses], C=rows.C[:, self.of_poses])
            step = self.follow(rows.C, -rows.g, np.zeros_like(moved))
            step /= np.maximum(1.0, (np.abs(step) / self.units).max(axis=1, keepdims=True) / LONGEST)
            q, moved = advance(self.system, q, step), moved + step
            if np.abs(rows.g).max() < NEAR * size:  # the step has squared that
                break
        return Poses(q, moved, self._open(q, still) < CLOSED * size)

    def _open(self, q: np.ndarray, still: np.ndarray) -> np.ndarray:
        return np.abs(rows_of(self.system, q, still).g[:, self.of_poses]).max(axis=1, initial=0.0)

    def displaced(self, z: np.ndarray) -> np.ndarray:
        """The same for differences: (B, nq), all of them closed, or a complaint."""
        poses = self.poses(z)
        if not poses.closed.all():
            k = int(np.argmin(poses.closed))
            row = self.rows[int(np.abs(z[k]).argmax())]
            raise SimulationError(
                f"the loops of '{self.system.name}' lose rank at this pose: its motions branch there",
                expected="a pose from which every motion that the constraints allow can be made",
                got=f"loops that stay open when {joints_of(self.system, [row])} moves",
                hint="take a pose beside it",
            )
        return poses.q

    def velocities(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """u (..., nu) with the dependent ones as the constraints at q want them."""
        if not self.system.constraints.count:
            return u
        rows = rows_of(self.system, q, u)
        return self.follow_velocities(rows.C, rows.prescribed, u)

    def follow_velocities(self, C: np.ndarray, target: np.ndarray, x: np.ndarray) -> np.ndarray:
        """As ``follow``, of all rows: what is not in ``moving`` depends."""
        depend = np.setdiff1d(self.free, self.moving)
        if depend.size:
            lacks = target - (C @ x[..., None])[..., 0]
            x[..., depend] += (np.linalg.pinv(C[..., depend]) @ lacks[..., None])[..., 0]
        return x
