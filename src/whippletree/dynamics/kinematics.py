"""Where bodies are, how they move, their energy and momentum: what takes no algorithm of dynamics, and loads at once.

One state, ``q (nq,)``, ``u (nu,)``, or a batch ``(B, nq)``, ``(B, nu)``, as in functions.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..kernels.body_kinematics import survey, survey_rows, survey_workspace
from ..system.system import System, require_system
from .dispatch import evaluate
from .inputs import states
from .loads.applied import loads


class Kinematics:
    """Where bodies and frames are and how they move, in world axes; made by :func:`kinematics`."""

    def __init__(self, system: System, survey: np.ndarray) -> None:
        nb, nu, nc, lead = system.nb, system.nu, system.nc, survey.shape[:-1]
        cuts = np.cumsum([9 * nb, 3 * nb, 6 * nb, 6 * nu, 3 * nc, 6, 3])
        R, o, v, S, point, momentum, energies, self._modal = np.split(survey, cuts, axis=-1)
        self.system = system
        self._R, self._near, self._v = R.reshape(*lead, nb, 3, 3), o.reshape(*lead, nb, 3), v.reshape(*lead, nb, 6)
        self._S, self._point = S.reshape(*lead, nu, 6), point.reshape(*lead, nc, 3)
        self._o = self._near.copy()  # in the world
        self._o[..., 1:, :] += self._point[..., system.arrays["component"][1:nb], :]
        self._momentum, self._energies = momentum, energies

    def position(self, name: str) -> np.ndarray:
        """Origin of a body or frame, (3,) or (B, 3), m."""
        body, _, p = self.system.place(name)
        return self._o[..., body, :] + self._R[..., body, :, :] @ p

    def rotation(self, name: str) -> np.ndarray:
        """Rotation of a body or frame, (3, 3) or (B, 3, 3); its columns are the body's axes."""
        body, R, _ = self.system.place(name)
        return self._R[..., body, :, :] @ R

    def velocity(self, name: str) -> np.ndarray:
        """[angular; linear] of a body or frame at its own origin, (6,) or (B, 6), rad/s and m/s."""
        body = self.system.place(name)[0]
        v = self._v[..., body, :].copy()
        v[..., 3:] += np.cross(v[..., :3], self.lever(name))
        return v

    def lever(self, name: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
        """A point of a body (in body coordinates) from the moving point of its component, (3,) or (B, 3), m."""
        body, R, p = self.system.place(name)
        return self._near[..., body, :] + self._R[..., body, :, :] @ (R @ np.asarray(point, float) + p)

    def jacobian(self, name: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
        """6 x nu: [angular; linear] velocity of a point of a body (in body coordinates) for each speed."""
        body, lever = self.system.place(name)[0], self.lever(name, point)
        J = np.zeros((*self._S.shape[:-2], 6, self.system.nu))
        for j, S in self.columns(body):
            J[..., :3, j] = S[..., :3]
            J[..., 3:, j] = S[..., 3:] + np.cross(S[..., :3], lever)
        return J

    def columns(self, body: int) -> Iterator[tuple[int, np.ndarray]]:
        """Freedoms that move a system body, and the motion of it for a unit of each speed, (6,) or (B, 6)."""
        arrays, edges = self.system.arrays, self.system.topology.edges
        while body:
            kind, first = edges[body - 1].joint.kind, int(arrays["dof"][body])
            if kind == "node":
                assert self.system.flexible is not None
                modes = self.system.flexible.bodies[edges[body - 1].flexible]
                at, first, body = self.system.flexible.column[body], int(arrays["dof"][modes.body]), modes.body
                for a in range(modes.modes.count):
                    yield first + a, self._modal[..., at + 6 * a : at + 6 * a + 6]
            elif kind != "modes":
                for j in range(first, int(arrays["dof"][body + 1])):
                    yield j, self._S[..., j, :]
            body = int(arrays["parent"][body])


class Energy(NamedTuple):
    """Energies in joules; numbers, or (B,) arrays for a batch.

    Potential is that of moving bodies in gravity, zero at the world origin; what is welded to ground has none.
    """

    kinetic: Any
    potential: Any
    elastic: Any

    @property
    def total(self) -> Any:
        """The sum of all."""
        return self.kinetic + self.potential + self.elastic


def kinematics(system: System, q: ArrayLike, u: ArrayLike | None = None, *, threads: int | None = None) -> Kinematics:
    """Positions, rotations and velocities of all bodies and frames, in world axes, of one state or a batch."""
    require_system(system)
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    return Kinematics(system, evaluate(survey, survey_workspace, system, [Q, U], survey_rows(system), threads))


def jacobian(system: System, q: ArrayLike, body: str, point: ArrayLike = (0.0, 0.0, 0.0)) -> np.ndarray:
    """6 x nu (or (B, 6, nu)), world axes, about the point, which is given in body coordinates (m)."""
    at = np.asarray(point, float)
    if at.shape != (3,) or not np.isfinite(at).all():
        raise ModelError("point is not a point of the body", expected="3 finite numbers (m)", got=repr(point))
    return kinematics(system, q).jacobian(body, at)


def energy(system: System, q: ArrayLike, u: ArrayLike, *, threads: int | None = None) -> Energy:
    """Kinetic, potential (gravity) and elastic energy, J; elastic is what springs, bushings, stops and
    flexible bodies store."""
    all_three = kinematics(system, q, u, threads=threads)._energies
    kinetic, potential, modal = (all_three[..., n] if all_three.ndim > 1 else float(all_three[n]) for n in range(3))
    if not system.forces.any:
        return Energy(kinetic, potential, modal)
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    elastic = loads(system, Q, U, 0.0, threads).energy + modal
    return Energy(kinetic, potential, elastic if Q.ndim > 1 else float(elastic))


def momentum(system: System, q: ArrayLike, u: ArrayLike, *, threads: int | None = None) -> np.ndarray:
    """[angular about the world origin (N m s); linear (N s)], (6,) or (B, 6), world axes."""
    return kinematics(system, q, u, threads=threads)._momentum
