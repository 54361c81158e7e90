"""Pinocchio, built from our Model."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from whippletree.model import JOINT_KINDS, Model

from ..bench.measure import Call
from .links import CannotHold, Coordinates, Held, Link, links


class Pinocchio:
    """``aba``, ``rnea`` and ``crba`` in both of Pinocchio's conventions, and its parallel forms for batches."""

    name, package = "pinocchio", "pin"
    largest_data = 4e9  # bytes

    def __init__(self, model: Model, system: Any, tree: list[Link] | None = None) -> None:
        import pinocchio as pin

        tree = links(model) if tree is None else tree
        nu = sum(JOINT_KINDS[x.kind][1] for x in tree)
        if 48.0 * nu**3 > self.largest_data:  # six third-order tensors of doubles
            raise CannotHold(f"its Data would take {48e-9 * nu**3:.0f} GB")
        kinds = {"revolute": "RZ", "prismatic": "PZ", "spherical": "Spherical", "free": "FreeFlyer"}
        self.pin, self.model = pin, pin.Model()
        self.model.gravity.linear = np.array(model.gravity)
        ids: list[int] = []
        for x in tree:
            joint = getattr(pin, f"JointModel{kinds[x.kind]}")()
            parent = ids[x.parent] if x.parent >= 0 else 0
            ids.append(self.model.addJoint(parent, joint, pin.SE3(x.at.R, x.at.p), x.joint))
            self.model.appendBodyToJoint(ids[-1], pin.Inertia(x.mass, x.com, x.inertia), pin.SE3.Identity())
        self.ids = ids
        starts = [(self.model.joints[i].idx_q, self.model.joints[i].idx_v) for i in ids]
        armature = np.zeros(nu)
        for x, (_, start) in zip(tree, starts, strict=True):
            armature[start : start + JOINT_KINDS[x.kind][1]] = x.armature
        self.model.armature = armature
        self.data = self.model.createData()
        self.to = Coordinates(tree, system, starts, self._hold)

    @staticmethod
    def _hold(link: Link, q: np.ndarray) -> Held:
        """Quaternions are [x, y, z, w]; a free joint's velocities are [linear; angular] in the body's axes."""
        if link.kind == "spherical":
            return Held(np.roll(q, -1), np.eye(3))
        return Held(np.concatenate((q[:3], np.roll(q[3:], -1))), np.roll(np.eye(6), 3, axis=0))

    def forward(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> list[Call]:
        to = self.to
        aba = partial(self.pin.aba, self.model, self.data, to.q(q), to.turn(q, u), to.turn(q, tau))
        return self._in_both(aba, lambda run: to.back_udot(q, u, run().copy()))

    def _in_both(self, solve: Any, value: Callable[[Any], np.ndarray]) -> list[Call]:
        """By both conventions."""
        runs = {c: partial(solve, getattr(self.pin.Convention, c)) for c in ("LOCAL", "WORLD")}
        return [Call(f"pinocchio {c.lower()}", run, partial(value, run)) for c, run in runs.items()]

    def rates(self) -> Callable[[float, np.ndarray], np.ndarray]:
        """y' = (u, udot) of y = (q, u) without joint forces, for joints of one DOF, as solve_ivp calls it."""
        aba, concatenate, model, data = self.pin.aba, np.concatenate, self.model, self.data
        n, tau = model.nv, np.zeros(model.nv)

        def rates(t: float, y: np.ndarray) -> np.ndarray:
            return concatenate((y[n:], aba(model, data, y[:n], y[n:], tau)))

        return rates

    def inverse(self, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> list[Call]:
        to = self.to
        run = partial(self.pin.rnea, self.model, self.data, to.q(q), to.turn(q, u), to.turn_udot(q, u, udot))
        return [Call("pinocchio local", run, lambda: to.back(q, run().copy()))]

    def mass(self, q: np.ndarray) -> list[Call]:
        def value(run: Callable[[], np.ndarray]) -> np.ndarray:
            self.data.M[:] = 0.0
            upper = np.triu(run())
            return self.to.back_mass(q, upper + np.triu(upper, 1).T)

        return self._in_both(partial(self.pin.crba, self.model, self.data, self.to.q(q)), value)

    def batch(self, question: str, q: np.ndarray, u: np.ndarray, x: np.ndarray, threads: int) -> list[Call]:
        """A Python loop over the states (one thread; results not kept) and Pinocchio's own parallel function.

        ``x`` is tau for the question "forward", udot for "inverse", not read for "mass".
        """
        pin, to, model, data = self.pin, self.to, self.model, self.data
        turn = to.turn_udot if question == "inverse" else lambda q, u, x: to.turn(q, x)
        back = to.back_udot if question == "forward" else lambda q, u, x: to.back(q, x)
        Q = np.array([to.q(a) for a in q])
        U, X = (np.array([f(*s) for s in zip(q, u, x, strict=True)]) for f in (lambda q, u, x: to.turn(q, u), turn))
        args = ((a,) for a in Q) if question == "mass" else zip(Q, U, X, strict=True)
        one, each = {"forward": pin.aba, "inverse": pin.rnea, "mass": pin.crba}[question], list(args)

        def loop() -> None:
            for a in each:
                one(model, data, *a)

        def ours(found: Any) -> np.ndarray:
            return np.array([back(*s) for s in zip(q, u, found, strict=True)])

        def kept() -> np.ndarray:
            if question == "mass":
                return np.array([self.mass(s)[0].value() for s in q])
            return ours([one(model, data, *a).copy() for a in each])

        calls = [Call("pinocchio loop", loop, kept)] if threads == 1 else []
        if question != "mass":
            pool, out = pin.ModelPool(model, threads), np.zeros(U.T.shape, order="F")
            many = pin.abaInParallel if question == "forward" else pin.rneaInParallel
            run = partial(many, threads, pool, *(np.asfortranarray(a.T) for a in (Q, U, X)), out)

            def parallel() -> np.ndarray:
                run()
                return ours(out.T)

            calls.append(Call("pinocchio parallel", run, parallel))
        return calls
