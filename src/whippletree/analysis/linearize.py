"""Small deviations from a state, as matrices: x' = A x + B w, y = C x + D w.

The state is x = (dq, du). dq (nu) is the deviation on the tangent space of the configurations, du that of the
velocities:

    q(t) = advance(q_ref(t), dq(t)),   u(t) = u_ref(t) + du(t),

where q_ref, u_ref is the motion that starts in the given state under the given joint forces. For coordinates with
q' = u this is dq = q - q_ref and dq' = du. Spherical and free joints have velocities in the axes of the child, q' = q u
as elements of a group. From q = q_ref exp(dq), to first order,

    dq' = du - u_ref x dq:   spherical  dr' = dw - w x dr
                             free       also  dx' = dv - w x dx - v x dr

(x is the bracket of the group). The reference need not be at rest: A is then that of the moment t = 0, and constant
along steady motions, as a body that spins about a principal axis.

With loops and constraints the state is that of independent DOF, x = (z, w), as many as the rank of the constraints
leaves: dq = T z, du = V w + (dV z) u, see chart.py; V = T but where wheels roll or blades glide, which leave fewer
velocities than poses. Names say which they are; ``motion`` gives (dq, du) of all joints.

All is exact (derivatives/functions.py), but for outputs of bodies, loads and energies, which are differences.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..derivatives.evaluate import states_of, tangents_of
from ..derivatives.functions import forward_dynamics_derivatives
from ..dynamics.constraints.jacobian import rows_of
from ..dynamics.functions import forward_dynamics, inverse_dynamics
from ..dynamics.loads.applied import prescribed_accelerations
from ..errors import ModelError, path_of
from ..files.whole_file import whole_file
from ..integrate.assemble import consistent_start
from ..joints import KINDS, QUATERNIONS
from ..modes.cross import cross
from ..result.result import Result
from ..system.system import System, require_system
from .chart import Chart
from .differences import STEP, offsets, slopes, speed_steps
from .point import dof_names, free_rows, joint_rows, operating_point

FORMATS = (".npz", ".json")


class Names(NamedTuple):
    """Names of the rows and columns of a Linear."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Linear:
    """A linear model about a state, made by :func:`linearize`: x' = A x + B w, y = C x + D w.

    Attributes
    ----------
    A, B, C, D : (2 f, 2 f), (2 f, m), (k, 2 f), (k, m), SI units and radians; f = nu, or what loops leave of it. With
        constraints on velocities, the second half of the state is shorter.
    names : of states (dq, then du, of independent DOF), inputs (joint forces) and outputs.
    q, u, tau, udot : the state, the joint forces and the accelerations there: zero in an equilibrium.
    motion : (2 nu, 2 f) deviations (dq, du) of all DOF that belong to each state; the identity for trees.
    """

    system: System
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    names: Names
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    udot: np.ndarray
    motion: np.ndarray

    @property
    def poles(self) -> np.ndarray:
        """(2 f) Eigenvalues of A (1/s), the fastest growing first; above the real axis before below."""
        poles = np.linalg.eigvals(self.A)
        return poles[np.lexsort((-poles.imag, np.abs(poles.imag), -poles.real.round(12)))]

    def response(self, t: ArrayLike, input: ArrayLike | None = None, x0: ArrayLike | None = None) -> np.ndarray:
        """Outputs (T, k) at evenly spaced times ``t`` (T), as deviations from the reference.

        ``input`` is what is added to the joint forces: (T, m), linear between times, or constant (m), or none.
        ``x0`` (2 f) is the deviation at the first time.
        """
        from scipy.signal import lsim

        times = np.asarray(t, float)
        if times.ndim != 1 or times.size < 2 or not np.allclose(np.diff(times), times[1] - times[0], 1e-6, 0):
            raise ModelError("t is not a row of evenly spaced times", expected="(T,) with T >= 2", got=str(times.shape))
        if not np.isfinite(times).all() or times[1] <= times[0]:
            raise ModelError("t does not go forward", expected="finite, rising times", got=f"{times[0]}, {times[1]}")
        n, m = self.B.shape
        w = np.broadcast_to(_shaped(input, (m,), (times.size, m), "input"), (times.size, m))
        start = _shaped(x0, (n,), (n,), "x0")
        # a column that does nothing lets lsim take models without inputs
        B, D = (np.hstack([matrix, np.zeros((matrix.shape[0], 1))]) for matrix in (self.B, self.D))
        w = np.hstack([w, np.zeros((times.size, 1))])
        _, y, _ = lsim((self.A, B, self.C, D), w, times - times[0], X0=start)
        return np.asarray(y).reshape(times.size, -1)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as ``whippletree linearize --json`` prints them."""
        stored = ("A", "B", "C", "D", "q", "u", "tau", "udot", "motion")
        arrays = {name: getattr(self, name).tolist() for name in stored}
        poles = {"poles": [[p.real, p.imag] for p in self.poles.tolist()]}
        return {"system": self.system.name, **{k: list(v) for k, v in self.names._asdict().items()}, **arrays, **poles}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the matrices and names to .npz or .json, whole or not at all; no pickle is needed to read them."""
        target = linear_path(path)
        with whole_file(target, "the linear model") as part:
            if target.suffix == ".json":
                part.write_text(json.dumps(self.as_dict()) + "\n", "utf-8")
                return
            arrays = {name: np.array(x) for name, x in self.as_dict().items()}
            with open(part, "wb") as file:
                np.savez(file, **(arrays | {"poles": self.poles}))  # type: ignore[arg-type]


def linear_path(path: str | os.PathLike[str]) -> Path:
    """The path, if its ending is one of those that a linear model is written to."""
    target = path_of(path, "the linear model")
    if target.suffix not in FORMATS:
        raise ModelError(f"'{target}' is not the name of a linear model", expected=" or ".join(FORMATS))
    return target


def linearize(
    system: System,
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | Mapping[str, Any] | None = None,
    *,
    outputs: Iterable[str] = (),
    inputs: Iterable[str] | None = None,
    hold: bool = False,
) -> Linear:
    """The linear model of small deviations from the motion through ``q``, ``u`` under joint forces ``tau``.

    Each is an array, (nq,) or (nu,), or a dict from joint names to values; by default neutral, at rest, no force.
    ``inputs`` are joint names (default: all joints), ``outputs`` names as a Result has them, ``"tip.position"``,
    ``"hinge.udot"``, ``"energy.kinetic"`` (default: the state). The module says what the state is. ``hold`` takes for
    ``tau`` the joint forces, with loops the smallest, that keep the velocities as they are. With loops the state must
    be closed, see :func:`assemble`; velocities that a dict leaves out follow from those it names.
    """
    require_system(system)
    if hold and tau is not None:
        raise ModelError("hold and tau exclude each other", hint="hold finds the joint forces itself")
    partial, named = u is None or isinstance(u, Mapping), u if isinstance(u, Mapping) else {}
    q, u, tau = operating_point(system, q, u, tau)
    consistent_start(system, q, u, partial, named)
    chart = Chart(system, q, free_rows(system, ()) if system.constraints.count else np.arange(system.nu))
    if not chart.rows.size:
        raise ModelError(
            f"'{system.name}' has no degree of freedom left: loops, constraints and prescribed motions determine it"
        )
    if hold:
        tau = _holding(chart, u)
    driven = np.arange(system.nu) if inputs is None else joint_rows(system, inputs, "inputs")
    small = Small(chart, u, tau)
    turned = small.motion[system.nu :] - _brackets(system, u) @ small.motion[: system.nu]
    A = np.vstack([turned[chart.rows], small.answers[chart.moving]])
    answer = small.slopes.dtau[:, driven]
    B = np.vstack([np.zeros((chart.rows.size, driven.size)), answer[chart.moving]])
    labels = [dof_names(system, letter) for letter in "qu"]
    states = tuple(label[j] for label, rows in zip(labels, (chart.rows, chart.moving), strict=True) for j in rows)
    forces = dof_names(system, "tau")
    if isinstance(outputs, str):
        raise ModelError("outputs is not a list of names", expected=f"['{outputs}'], with brackets", got=repr(outputs))
    asked = tuple(outputs)
    if asked:
        rows = [small.output(name, answer) for name in asked]
        seen = tuple(label for labels, _, _ in rows for label in labels)
        C, D = np.vstack([c for _, c, _ in rows]), np.vstack([d for _, _, d in rows])
    else:
        seen, C, D = states, np.eye(len(states)), np.zeros((len(states), driven.size))
    names = Names(states, tuple(forces[j] for j in driven), seen)
    return Linear(system, A, B, C, D, names, q, u, tau, small.slopes.udot, small.motion)


def _holding(chart: Chart, u: np.ndarray) -> np.ndarray:
    """Joint forces under which independent velocities stay as they are."""
    system = chart.system
    prescribed = prescribed_accelerations(system, 0.0, u)
    udot = np.zeros(system.nu) if prescribed is None else prescribed
    if system.constraints.count:
        rows = rows_of(system, chart.q, u)
        udot = chart.follow_velocities(rows.C, rows.gamma, udot)
    return inverse_dynamics(system, chart.q, u, udot)


class Small:
    """Small motions: what deviations of the state move, and how accelerations answer them."""

    def __init__(self, chart: Chart, u: np.ndarray, tau: np.ndarray) -> None:
        system, f, k = chart.system, chart.rows.size, chart.moving.size
        self.chart, self.system, self.u, self.tau, nu = chart, system, u, tau, system.nu
        self.slopes = forward_dynamics_derivatives(system, chart.q, u, tau)
        T, V, bend = np.eye(nu)[:, chart.rows], np.eye(nu)[:, chart.moving], np.zeros((nu, f))
        if system.constraints.count:
            chart.displaced(offsets(STEP * chart.units[chart.rows]))  # a pose where motions branch is refused
            T, still = chart.motions(chart.q), np.zeros(nu)
            C = rows_of(system, chart.q, u).C
            at = states_of(system, chart.q, u, still)
            opening = tangents_of(system, at).rate[0, :, 1 : 1 + nu] @ T
            V = chart.follow_velocities(C, np.zeros(len(C)), V.T.copy()).T
            bend = chart.follow_velocities(C, -opening.T, np.zeros((f, nu))).T
        self.motion = np.block([[T, np.zeros((nu, k))], [bend, V]])
        self.answers = np.hstack([self.slopes.dq, self.slopes.du]) @ self.motion

    @cached_property
    def run(self) -> Result:
        """All displaced states, and the reference behind them."""
        chart, f = self.chart, self.chart.rows.size
        d = np.vstack([offsets(self.steps), np.zeros(self.steps.size)])
        Q, U = chart.displaced(d[:, :f]), np.tile(self.u, (len(d), 1))
        U[:, chart.moving] += d[:, f:]
        U = chart.velocities(Q, U)
        udot = forward_dynamics(self.system, Q, U, self.tau)
        return Result(self.system, np.zeros(len(d)), Q, U, udot=udot)

    @cached_property
    def reference(self) -> Result:
        state = (x[None] for x in (self.chart.q, self.u))
        return Result(self.system, np.zeros(1), *state, udot=self.slopes.udot[None])

    @cached_property
    def steps(self) -> np.ndarray:
        chart = self.chart
        return np.concatenate([STEP * chart.units[chart.rows], speed_steps(self.u[chart.moving])])

    def derivative(self, values: np.ndarray) -> np.ndarray:
        """(k, f + k) of values (states, k), by differences."""
        return slopes(values[:-1], self.steps)

    def output(self, name: str, answer: np.ndarray) -> tuple[list[str], np.ndarray, np.ndarray]:
        """Labels of an output, its rows of C and its rows of D."""
        quantity, nu, m = self.reference.quantity(name), self.system.nu, answer.shape[1]
        if name == "time":
            raise ModelError("time is no output of a linear model", hint="outputs depend on q and u")
        labels = quantity.labels or tuple(a + b for a in "xyz" for b in "xyz")
        shown = [f"{name}.{label}" if label else name for label in labels]
        joint, _, what = name.rpartition(".")
        if joint in self.system.joints and what in ("q", "u", "udot"):
            rows = self.system.u_index(joint)
            if what == "udot":
                return shown, self.answers[rows], answer[rows]
            if len(labels) == rows.stop - rows.start:  # not a quaternion
                known = self.motion[:nu][rows] if what == "q" else self.motion[nu:][rows]
                return shown, known, np.zeros((len(shown), m))
        values = self.run[name].reshape(len(self.run), -1)
        return shown, self.derivative(values), np.zeros((len(shown), m))


def _brackets(system: System, u: np.ndarray) -> np.ndarray:
    """(nu, nu) u x: what the turning axes of spherical and free joints do to a deviation."""
    X = np.zeros((system.nu, system.nu))
    for joint in system.joints:
        if system.joint_kind(joint) in QUATERNIONS:
            j = system.u_index(joint).start
            X[j : j + 3, j : j + 3] = cross(u[j : j + 3])
            if KINDS[system.joint_kind(joint)].nu == 6:
                X[j + 3 : j + 6, j + 3 : j + 6] = X[j : j + 3, j : j + 3]
                X[j + 3 : j + 6, j : j + 3] = cross(u[j + 3 : j + 6])
    return X


def _shaped(value: Any, one: tuple[int, ...], many: tuple[int, ...], what: str) -> np.ndarray:
    array = np.zeros(one) if value is None else np.asarray(value, float)
    if array.shape not in (one, many) or not np.isfinite(array).all():
        expected = " or ".join(dict.fromkeys(f"{shape}" for shape in (one, many)))
        raise ModelError(f"{what} has the wrong shape or is not finite", expected=expected, got=str(array.shape))
    return array
