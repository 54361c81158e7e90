"""Where bodies are, how they move, their energy and momentum: what takes no algorithm of dynamics, and loads at once.

One state, ``q (nq,)``, ``u (nu,)``, or a batch ``(B, nq)``, ``(B, nu)``, as in functions.py. A call is one compiled
entry; results are unpacked when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..kernels.body_kinematics import SUMS, jacobians, motion_rows, motion_workspace, motions, sums
from ..system.system import System, require_system
from .dispatch import evaluate, of_copies
from .inputs import fits_out, none_of, require_out, states
from .loads.applied import loads, quick_loads
from .tree.centroid import centroid_workspace, centroids
from .tree.coriolis import coriolis_matrices, coriolis_workspace
from .tree.newton_euler import body_accelerations
from .tree.newton_euler import motion_workspace as acceleration_workspace

_empty, _motions = np.empty, motions
ORIGIN = (0.0, 0.0, 0.0)
Place = str | int  # a body or frame by its name, or by its number in system.bodies


class Kinematics:
    """Where bodies and frames are and how they move, in world axes; made by :func:`kinematics`.

    Bodies and frames are named, or given by their number in ``system.bodies``.
    """

    __slots__ = ("_a", "_flat", "system")

    _a: np.ndarray  # (nb, 6) accelerations less gravity, where they are known

    def __init__(self, system: System, flat: np.ndarray) -> None:
        self.system, self._flat = system, flat

    def _emptied(self) -> Kinematics:
        """Itself, without the accelerations of another state."""
        if hasattr(self, "_a"):
            del self._a
        return self

    def _part(self, n: int, *shape: int) -> np.ndarray:
        """The n-th array of the motion, of all states."""
        s = self.system
        ends = (0, 9 * s.nb, 12 * s.nb, 18 * s.nb, 18 * s.nb + 6 * s.nu, 18 * s.nb + 6 * s.nu + 3 * s.nc)
        part = self._flat[..., ends[n] : ends[n + 1] if n < 5 else None]
        return part.reshape(*self._flat.shape[:-1], *shape) if shape else part

    @property
    def _R(self) -> np.ndarray:
        return self._part(0, self.system.nb, 3, 3)

    @property
    def _near(self) -> np.ndarray:
        """Origins from the points of their components."""
        return self._part(1, self.system.nb, 3)

    @property
    def _o(self) -> np.ndarray:
        """Origins in the world."""
        o = self._near.copy()
        o[..., 1:, :] += self._point[..., self.system.arrays["component"][1:], :]
        return o

    @property
    def _v(self) -> np.ndarray:
        return self._part(2, self.system.nb, 6)

    @property
    def _S(self) -> np.ndarray:
        return self._part(3, self.system.nu, 6)

    @property
    def _point(self) -> np.ndarray:
        return self._part(4, self.system.nc, 3)

    @property
    def _modal(self) -> np.ndarray:
        return self._part(5)

    def _moving(self, body: int) -> Any:
        """The point of a body's component in the world; zero of ground."""
        s = self.system
        first = 18 * s.nb + 6 * s.nu + 3 * s.arrays["component"][body]
        return self._flat[..., first : first + 3] if body else 0.0

    def _rotation(self, body: int) -> np.ndarray:
        """Of a system body."""
        R = self._flat[..., 9 * body : 9 * body + 9]
        return R.reshape(*R.shape[:-1], 3, 3)

    def _place(self, name: Place) -> tuple[int, np.ndarray, np.ndarray]:
        """As System.place, found once."""
        try:
            return self.system.workspaces.found["place", name]
        except (KeyError, TypeError):
            place = self.system.workspaces.found["place", name] = self.system.place(name)
            return place

    def position(self, name: Place) -> np.ndarray:
        """Origin of a body or frame, (3,) or (B, 3), m."""
        body, _, p = self._place(name)
        nb, flat = self.system.nb, self._flat
        o = flat[..., 9 * nb + 3 * body : 9 * nb + 3 * body + 3] + self._moving(body)
        return o + self._rotation(body) @ p if p.any() else o

    def rotation(self, name: Place) -> np.ndarray:
        """Rotation of a body or frame, (3, 3) or (B, 3, 3); its columns are the body's axes."""
        body, R, _ = self._place(name)
        return self._rotation(body) @ R

    def velocity(self, name: Place) -> np.ndarray:
        """[angular; linear] of a body or frame at its own origin, (6,) or (B, 6), rad/s and m/s."""
        first = 12 * self.system.nb + 6 * self._place(name)[0]
        v = self._flat[..., first : first + 6].copy()
        v[..., 3:] += cross(v[..., :3], self.lever(name))
        return v

    def acceleration(self, name: Place) -> np.ndarray:
        """[angular; linear] acceleration of a body or frame at its own origin, (6,) or (B, 6), rad/s^2 and m/s^2.

        The linear part is the second derivative of the position. Needs ``udot`` in :func:`kinematics`.
        """
        if not hasattr(self, "_a"):
            raise ModelError(
                "these kinematics have no accelerations", hint="pass udot: wt.kinematics(system, q, u, udot)"
            )
        body, lever = self._place(name)[0], self.lever(name)
        a, v = self._a[..., body, :].copy(), self.velocity(name)
        a[..., 3:] += self.system.gravity + cross(a[..., :3], lever) + cross(v[..., :3], v[..., 3:])
        return a

    def lever(self, name: Place, point: ArrayLike = ORIGIN) -> np.ndarray:
        """A point of a body (in body coordinates) from the moving point of its component, (3,) or (B, 3), m."""
        body, R, p = self._place(name)
        there = p if point is ORIGIN else R @ np.asarray(point, float) + p
        first = 9 * self.system.nb + 3 * body
        return self._flat[..., first : first + 3] + self._rotation(body) @ there

    def jacobian(self, name: Place, point: ArrayLike = ORIGIN) -> np.ndarray:
        """6 x nu: [angular; linear] velocity of a point of a body (in body coordinates) for each velocity."""
        columns, lever = list(self.columns(self.system.place(name)[0])), self.lever(name, point)
        S = np.zeros((*self._S.shape[:-2], self.system.nu, 6))
        for j, column in columns:
            S[..., j, :] = column
        S[..., 3:] += cross(S[..., :3], lever[..., None, :])
        return np.ascontiguousarray(np.swapaxes(S, -1, -2))

    def columns(self, body: int) -> Iterator[tuple[int, np.ndarray]]:
        """Degrees of freedom that move a system body, and its motion for a unit of each velocity, (6,) or (B, 6)."""
        arrays, edges, columns, modal = self.system.arrays, self.system.topology.edges, self._S, self._modal
        while body:
            kind, first = edges[body - 1].joint.kind, int(arrays["dof"][body])
            if kind == "node":
                assert self.system.flexible is not None
                modes = self.system.flexible.bodies[edges[body - 1].flexible]
                at, first, body = self.system.flexible.column[body], int(arrays["dof"][modes.body]), modes.body
                for a in range(modes.modes.count):
                    yield first + a, modal[..., at + 6 * a : at + 6 * a + 6]
            elif kind != "modes":
                for j in range(first, int(arrays["dof"][body + 1])):
                    yield j, columns[..., j, :]
            body = int(arrays["parent"][body])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b of vectors along the last axis; for few of them faster than NumPy's."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    out = _empty(shape)
    for n in range(3):
        i, j = (n + 1) % 3, (n + 2) % 3
        out[..., n] = a[..., i] * b[..., j] - a[..., j] * b[..., i]
    return out


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


class Centroid(NamedTuple):
    """The centre of mass of all moving bodies, in world axes; of a batch each with a leading axis B."""

    mass: Any  # kg
    position: np.ndarray  # (3) m
    velocity: np.ndarray  # (3) m/s
    jacobian: np.ndarray  # (3, nu): velocity = jacobian @ u
    momentum_matrix: np.ndarray  # (6, nu): [angular about the centre of mass; linear] momentum = momentum_matrix @ u


def kinematics(
    system: System,
    q: ArrayLike,
    u: ArrayLike | None = None,
    udot: ArrayLike | None = None,
    *,
    threads: int | None = None,
    out: Kinematics | None = None,
) -> Kinematics:
    """Positions, rotations and velocities of all bodies and frames, in world axes, of one state or a batch.

    Parameters
    ----------
    system : the compiled model.
    q, u : coordinates ``(nq,)`` or ``(B, nq)``, and generalized velocities ``(nu,)`` or ``(B, nu)``; zero by default.
    udot : accelerations ``(nu,)`` or ``(B, nu)``; with them, :meth:`Kinematics.acceleration` answers too.
    threads : number of cores for a batch (0: all).
    out : an earlier result for the same system and number of states, which is overwritten and returned.

    Returns
    -------
    :class:`Kinematics`.
    """
    if udot is None and (out is None or (out.__class__ is Kinematics and out.system is system)):
        try:  # quick(), written out
            waiting = system.workspaces.ready[_motions]
            memory = waiting.pop()
            if u is None:
                u = none_of(system.nu)
        except (LookupError, AttributeError):  # the latter of what is no System
            pass
        else:
            found = Kinematics(system, _empty(system.workspaces.found[_motions])) if out is None else out._emptied()
            try:
                total = _motions(memory, q, u, found._flat, 0, 1)
            except (TypeError, ValueError):
                total = of_copies(_motions, memory, (q, u), found._flat)
            waiting.append(memory)
            if total == 0.0:
                return found
    require_system(system)
    Q, U, A = states(system, ("q", q, system.nq), ("u", u, system.nu), ("udot", udot, system.nu))
    columns = system.workspaces.found.setdefault(_motions, motion_rows(system))
    made = Kinematics(system, _empty((*Q.shape[:-1], columns))) if out is None else out
    if not (isinstance(made, Kinematics) and made.system is system and made._flat.shape == (*Q.shape[:-1], columns)):
        states_of = "one state" if Q.ndim == 1 else f"{len(Q)} states"
        raise ModelError("out does not fit kinematics", expected=f"a Kinematics of '{system.name}', of {states_of}")
    evaluate(motions, motion_workspace, system, [Q, U], columns, threads, out=made._emptied()._flat)
    if udot is not None:
        names = "q", "u", "udot"
        rates = evaluate(body_accelerations, acceleration_workspace, system, [Q, U, A], 6 * system.nb, threads, names)
        made._a = rates.reshape(*Q.shape[:-1], system.nb, 6)
    return made


def jacobian(
    system: System,
    q: ArrayLike,
    body: Place,
    point: ArrayLike = ORIGIN,
    *,
    threads: int | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """6 x nu (or (B, 6, nu)): [angular; linear] velocity of a point for each generalized velocity, in world axes.

    Parameters
    ----------
    system : the compiled model.
    q : coordinates ``(nq,)`` or ``(B, nq)``.
    body : a body or frame, by its name or by its number in ``system.bodies``.
    point : the point in coordinates of the body or frame (m).
    threads : number of cores for a batch (0: all).
    out : contiguous doubles of the shape of the result, which are overwritten and returned.
    """
    if point is ORIGIN:
        try:
            at, waiting = system.workspaces.found[jacobians, body], system.workspaces.ready[jacobians]
            nu, memory = system.nu, waiting.pop()
        except (LookupError, AttributeError, TypeError):
            pass
        else:
            flat = _empty(6 * nu) if out is None or not fits_out(out, (6, nu)) else out.reshape(-1)
            try:
                total = jacobians(memory, q, at, flat, 0, 1)
            except (TypeError, ValueError):
                total = of_copies(jacobians, memory, (q, at), flat)
            waiting.append(memory)
            if total == 0.0:
                J = flat.reshape(6, nu)
                return J if out is None else _written(out, J)
    require_system(system)
    where = np.asarray(point, float)
    if where.shape != (3,) or not np.isfinite(where).all():
        raise ModelError("point is not a point of the body", expected="3 finite numbers (m)", got=repr(point))
    Q = states(system, ("q", q, system.nq))[0]
    shape = (*Q.shape[:-1], 6, system.nu)
    there = None if out is None else require_out(out, shape, "jacobian").reshape(*Q.shape[:-1], -1)
    if system.flexible:
        J = kinematics(system, Q, threads=threads).jacobian(body, where)
        if out is None:
            return J
        out[...] = J
        return out
    number, R, p = system.place(body)
    at = np.array([number, *(R @ where + p)])
    if point is ORIGIN:
        system.workspaces.found[jacobians, body] = at
    at = at if Q.ndim == 1 else np.tile(at, (len(Q), 1))
    found = evaluate(jacobians, motion_workspace, system, [Q, at], 6 * system.nu, threads, out=there)
    return found.reshape(shape) if out is None else out


def _written(out: Any, J: np.ndarray) -> np.ndarray:
    """A Jacobian where the caller wants it: there it is already, unless the array does not fit."""
    if not np.may_share_memory(out, J):
        require_out(out, J.shape, "jacobian")
    return out


def _sums(system: System, q: ArrayLike, u: ArrayLike, threads: int | None) -> np.ndarray:
    try:  # quick(), written out
        waiting = system.workspaces.ready[sums]
        memory = waiting.pop()
    except (LookupError, AttributeError):  # the latter of what is no System
        pass
    else:
        found = _empty(SUMS)
        try:
            total = sums(memory, q, u, found, 0, 1)
        except (TypeError, ValueError):
            total = of_copies(sums, memory, (q, u), found)
        waiting.append(memory)
        if total == 0.0:
            return found
    require_system(system)
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    return evaluate(sums, motion_workspace, system, [Q, U], SUMS, threads)


def energy(system: System, q: ArrayLike, u: ArrayLike, *, threads: int | None = None) -> Energy:
    """Kinetic, potential (gravity) and elastic energy, J; elastic is what springs, bushings, joint limits and
    flexible bodies store."""
    found = _sums(system, q, u, threads)
    one = found.ndim == 1
    kinetic, potential, modal = found[6:9].tolist() if one else (found[:, 6], found[:, 7], found[:, 8])
    if system.forces.any:
        acting = quick_loads(system, q, u, 0.0) if one else None
        if acting is not None:
            return Energy(kinetic, potential, modal + float(acting[system.nu]))
        Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
        modal = modal + loads(system, Q, U, 0.0, threads).energy
    return Energy(kinetic, potential, float(modal) if one else modal)


def momentum(system: System, q: ArrayLike, u: ArrayLike, *, threads: int | None = None) -> np.ndarray:
    """[angular about the world origin (N m s); linear (N s)], (6,) or (B, 6), world axes."""
    return _sums(system, q, u, threads)[..., :6]


def centroid(system: System, q: ArrayLike, u: ArrayLike | None = None, *, threads: int | None = None) -> Centroid:
    """Centre of mass of all moving bodies, its velocity and Jacobian, and the centroidal momentum matrix.

    Parameters
    ----------
    system : the compiled model, of rigid bodies.
    q, u : coordinates ``(nq,)`` or ``(B, nq)``, and generalized velocities ``(nu,)`` or ``(B, nu)``; zero by default.
    threads : number of cores for a batch (0: all).

    Returns
    -------
    :class:`Centroid`. What is welded to ground does not count.

    Raises
    ------
    ModelError
        if the model has flexible bodies, or no mass moves.
    """
    _require_rigid(system, "the centroid")
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    if not system.arrays["mass"][1:].sum() > 0.0:
        raise ModelError(f"no mass moves in '{system.name}'", expected="a moving body with mass")
    nu, lead = system.nu, Q.shape[:-1]
    found = evaluate(centroids, centroid_workspace, system, [Q, U], 7 + 6 * nu, threads)
    A = found[..., 7:].reshape(*lead, 6, nu)
    mass = found[..., 6] if lead else float(found[6])
    J = A[..., 3:, :] / system.arrays["mass"][1:].sum()
    return Centroid(mass, found[..., :3], found[..., 3:6], J, A)


def coriolis_matrix(system: System, q: ArrayLike, u: ArrayLike, *, threads: int | None = None) -> np.ndarray:
    """C (nu, nu) or (B, nu, nu): ``C u`` are the Coriolis and centrifugal terms, and ``dM/dt - 2 C`` is skew-symmetric.

    Parameters
    ----------
    system : the compiled model, of rigid bodies. With loops, C is that of the spanning tree, as the mass matrix is.
    q, u : coordinates ``(nq,)`` or ``(B, nq)``, and generalized velocities ``(nu,)`` or ``(B, nu)``.
    threads : number of cores for a batch (0: all).

    Raises
    ------
    ModelError
        if the model has flexible bodies.
    """
    _require_rigid(system, "the Coriolis matrix")
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    found = evaluate(coriolis_matrices, coriolis_workspace, system, [Q, U], system.nu**2, threads)
    return found.reshape(*Q.shape[:-1], system.nu, system.nu)


def _require_rigid(system: System, what: str) -> None:
    require_system(system)
    if system.flexible:
        raise ModelError(
            f"{what} of '{system.name}' is not known",
            expected="rigid bodies only",
            got=f"flexible body '{next(iter(system.model.flexibles))}'",
        )
