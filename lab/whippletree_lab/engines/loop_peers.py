"""Engines that solve closed loops, built from our Model: ours, Pinocchio and MuJoCo. Exudyn is in exudyn.py.

Each gives calls, and ``joints``: those whose accelerations it has. Peers take the tree that they are fastest with, and
close its loops by points: a ball joint is one, and so is a hinge of a planar mechanism, whose others keep its axis.
"""

from __future__ import annotations

import math
import os
from functools import partial
from typing import Any

import numpy as np

from whippletree.dynamics.functions import forward_dynamics
from whippletree.model import Model

from ..bench.loop_families import AllJoints, Posed, start
from ..bench.measure import Call
from ..bench.result import OURS
from .links import CannotHold, Closing, links_and_closings
from .mujoco import Mujoco
from .pinocchio import Pinocchio

BATCH = 64  # states
PROXIMAL_ACCURACY = 1e-14  # never reached: rounds are counted
# mu and rounds. lcaba: its documentation calls this mu typical; others from 1e-3 to 1e-7 are better for some mechanisms
# and worse for others, and a third round gains less than a digit. constraintDynamics: the error is rounding.
PROXIMAL = {"lcaba": (1e-6, 2), "constraintDynamics": (1e-10, 10)}
STIFFEST = (0.9999, 0.9999, 0.001, 0.5, 2.0)  # solimp of MuJoCo: the least compliance it admits

LARGEST_SPEC = 10_000  # bodies: what MjSpec takes grows with the square


class Ours:
    """``reduction`` for one state and for a batch in lanes; ``multipliers`` and ``nullspace``."""

    def __init__(self, posed: Posed) -> None:
        self.posed, self.system = posed, posed.model.compile()
        self.joints = self.system.joints
        self.all = AllJoints(posed.model)

    def calls(self) -> list[Call]:
        s, rows = self.system, self.all.rows(self.joints)
        q, u = start(s, self.posed.q, self.posed.u)
        velocities = np.linspace(1.0, 0.0, BATCH)  # velocities that keep loops closed do so at any scale
        one = q, u, np.zeros(s.nu)
        many = np.tile(q, (BATCH, 1)), velocities[:, None] * u, np.zeros((BATCH, s.nu))

        def call(name: str, algorithm: str, state: tuple[np.ndarray, ...]) -> Call:
            run = partial(forward_dynamics, s, *state, algorithm=algorithm)

            def value() -> np.ndarray:
                out = np.zeros(self.all.nu)
                out[rows] = np.atleast_2d(run())[0]  # the first of a batch is that of one state
                return out

            return Call(name, run, value)

        others = [call(f"{OURS} {name}", name, one) for name in ("multipliers", "nullspace")]
        return [call(OURS, "reduction", one), call(f"{OURS} lanes", "reduction", many), *others]


def planar(model: Model) -> bool:
    """Whether all joints are hinges about z, and no frame is turned."""
    upright = (1.0, 0.0, 0.0, 0.0)
    return all(
        (j.kind, j.axis, j.at.quaternion, j.child_at.quaternion) == ("revolute", (0.0, 0.0, 1.0), upright, upright)
        for j in model.joints.values()
    )


def points(model: Model, closings: list[Closing]) -> list[Closing]:
    """The closings, if each is a point."""
    flat = planar(model)
    for c in closings:
        if c.kind != "spherical" and not flat:
            raise CannotHold(f"loop closed by the {c.kind} joint '{c.joint}' of a mechanism in space")
    return closings


def _memory() -> float:
    """Bytes of the machine, or infinity where they cannot be read."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")


class PinocchioLoops(Pinocchio):
    """``lcaba`` and ``constraintDynamics`` with CONTACT_3D, on the shallow tree."""

    deep = False
    largest_data = min(8e9, 0.4 * _memory())  # bytes: a ladder of 256 loops takes 6.5e9
    algorithms: tuple[str, ...] = ("constraintDynamics", "lcaba")  # initConstraintDynamics undoes the order of lcaba

    def __init__(self, posed: Posed) -> None:
        tree, closings = links_and_closings(posed.model, self.deep)
        self.closings = points(posed.model, closings)
        self.posed, self.all = posed, AllJoints(posed.model)
        super().__init__(posed.model, self.all, tree)
        self.joints = tuple(x.joint for x in tree)
        if not hasattr(self.pin, "lcaba"):
            raise CannotHold("this version has no lcaba")

    def calls(self) -> list[Call]:
        pin, to, model, data = self.pin, self.to, self.model, self.data
        q, u = self.all.vector(self.posed.q, "q"), self.all.vector(self.posed.u)
        state = (model, data, to.q(q), to.turn(q, u), np.zeros(model.nv))
        constraints, ids = pin.StdVec_RigidConstraintModel(), [*self.ids, 0]  # ids[-1] is ground
        for c in self.closings:
            ends = sorted(c.sides, key=lambda end: -end[0])  # ground last: lcaba crashes where it is first
            sides = [x for k, place in ends for x in (ids[k], pin.SE3(place.R, place.p))]
            kind, frame = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
            constraints.append(pin.RigidConstraintModel(kind, model, *sides, frame))

        def value(run: Any) -> np.ndarray:
            return to.back_udot(q, u, run().copy())

        found = []
        for name in self.algorithms:
            own = pin.StdVec_RigidConstraintData()  # may not be shared, as Data may
            own.extend([c.createData() for c in constraints])
            if name == "lcaba":
                pin.computeJointMinimalOrdering(model, data, constraints)
            else:
                pin.initConstraintDynamics(model, data, constraints, own)
            settings = pin.ProximalSettings(PROXIMAL_ACCURACY, *PROXIMAL[name])
            run = partial(getattr(pin, name), *state, constraints, own, settings)
            found.append(Call(f"pinocchio {name}" + ", deep tree" * self.deep, run, partial(value, run)))
        return found


class PinocchioDeep(PinocchioLoops):
    """``lcaba`` on our tree, where it is twice as fast."""

    deep = True
    algorithms = ("lcaba",)


class MujocoLoops(Mujoco):
    """``mj_forward`` with connect constraints between sites: sparse Jacobian, Newton's method, no warm start."""

    on = Mujoco.on | {"mjDSBL_EQUALITY", "mjDSBL_CONSTRAINT"}

    def __init__(self, posed: Posed) -> None:
        if len(posed.model.bodies) > LARGEST_SPEC:
            raise CannotHold(f"building its model takes minutes above {LARGEST_SPEC} bodies")
        tree, closings = links_and_closings(posed.model)
        points(posed.model, closings)
        self.posed, self.all = posed, AllJoints(posed.model)

        def close(spec: Any, bodies: list[Any]) -> None:
            mj = self.mj
            for c in closings:
                names = f"{c.joint}/0", f"{c.joint}/1"
                for name, (link, place) in zip(names, c.sides, strict=True):
                    (bodies[link] if link >= 0 else spec.worldbody).add_site(name=name, pos=place.p)
                loop = spec.add_equality(type=mj.mjtEq.mjEQ_CONNECT, objtype=mj.mjtObj.mjOBJ_SITE)
                loop.name1, loop.name2, loop.solimp = *names, STIFFEST

        super().__init__(posed.model, self.all, tree, close)
        self.model.opt.jacobian = self.mj.mjtJacobian.mjJAC_SPARSE
        self.model.opt.solver = self.mj.mjtSolver.mjSOL_NEWTON
        self.joints = tuple(x.joint for x in tree)

    def calls(self) -> list[Call]:
        q, u = self.all.vector(self.posed.q, "q"), self.all.vector(self.posed.u)
        return self.forward(q, u, np.zeros(self.all.nu))

    def rollout(self, q: np.ndarray, u: np.ndarray, h: float, steps: int, threads: int) -> list[Call]:
        """With what is faster for it in steps: its own choice of the Jacobian, and warm starts."""
        self.model.opt.jacobian = self.mj.mjtJacobian.mjJAC_AUTO
        self.model.opt.disableflags &= ~int(self.mj.mjtDisableBit.mjDSBL_WARMSTART)
        return super().rollout(q, u, h, steps, threads)
