"""Plain calls, as a controller makes them: one state from arrays that the caller holds, and a batch of many.

Pinocchio answers by its fastest function for each, into its own Data; a batch is a loop over it. Its model has no
forces: where ours has a motor, a damper and a spring, it gets what they do as tau, free of charge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import whippletree as wt
from whippletree.model import Model

from ..engines.links import CannotHold
from ..engines.pinocchio import Pinocchio
from . import families
from .measure import Call
from .result import OURS, BenchResult, Row
from .rows import BATCH, Progress, _measure

Run = Callable[..., Any]
FORCED = "with a motor, a damper and a spring"


def acted_on(model: Model) -> Model:
    """The same with a motor that follows a sine, a damper and a spring."""
    joints, bodies = list(model.joints), list(model.bodies)
    model.joints[joints[:3][-1]].damping, model.passive = 0.5, True
    model.force("motor", "motor", joint=joints[:2][-1], position=wt.Sine(0.3, 1.0), kp=10.0, kd=1.0)
    model.force("spring", "spring", body=bodies[:4][-1], to_at=(0.0, 0.0, 2.0), stiffness=50.0, damping=1.0, length=1.0)
    return model


def measure(result: BenchResult, sizes: Iterable[int], against: list[str], progress: Progress) -> None:
    """Every call for one state and for a batch, for chains with and without forces."""
    for size in sizes:
        for forced in (False, True):
            model = acted_on(families.chain(size)) if forced else families.chain(size)
            system = model.compile()
            questions = _questions(system, size, _peer(result, against, size, system), forced)
            for name, (ours, theirs) in questions.items():
                for count in (1, BATCH):
                    progress(f"{model.name}: {name}, {count} states")
                    states = families.states(model, system, count)
                    calls = [_call(OURS, ours, states, count, whole=True)]
                    if theirs is not None:
                        calls.append(_call("pinocchio", theirs, states, count, whole=False))
                    label = f"{size}, {FORCED}" if forced else str(size)
                    _measure(result, calls, Row(name, label, size, system.nu, count))


def _peer(result: BenchResult, against: list[str], size: int, system: Any) -> Pinocchio | None:
    if "pinocchio" not in against:
        return None
    try:
        return Pinocchio(families.chain(size), system)
    except (CannotHold, ImportError) as reason:
        result.note(f"pinocchio: not at {size}: {reason}")
        return None


def _call(engine: str, ask: tuple[Run, Run], states: Any, count: int, whole: bool) -> Call:
    """Of a pair (what is timed, its answer), each of q, u, tau and udot: on a batch as a whole, or in a loop."""
    timed, answer = ask
    rows = [tuple(np.ascontiguousarray(x[n]) for x in states) for n in range(count)]
    if count == 1:
        return Call(engine, partial(timed, *rows[0]), partial(answer, *rows[0]))
    if whole:
        return Call(engine, partial(timed, *states), partial(answer, *states))

    def loop() -> None:
        for row in rows:
            timed(*row)

    return Call(engine, loop, lambda: np.array([answer(*row) for row in rows]))


def _questions(system: Any, n: int, peer: Pinocchio | None, forced: bool) -> dict[str, tuple[Any, Any]]:
    """Names to what is timed and the answer that is compared, ours and theirs; all joints are revolute."""
    tip = f"b{n - 1}"

    def energies(q: Any, u: Any, *_: Any) -> Any:
        e = wt.energy(system, q, u)
        return np.stack([e.kinetic, e.potential], axis=-1)

    def same(run: Run) -> tuple[Run, Run]:
        return run, run

    ours = {
        "forward": same(lambda q, u, tau, a: wt.forward_dynamics(system, q, u, tau)),
        "inverse": same(lambda q, u, tau, a: wt.inverse_dynamics(system, q, u, a)),
        "bias force": same(lambda q, u, tau, a: wt.bias_force(system, q, u)),
    }
    if not forced:
        ours |= {
            "forward without tau": same(lambda q, u, tau, a: wt.forward_dynamics(system, q, u)),
            "mass matrix": same(lambda q, u, tau, a: wt.mass_matrix(system, q)),
            "inverse of it": same(lambda q, u, tau, a: wt.mass_matrix_inverse(system, q)),
            "kinematics": (
                lambda q, u, tau, a: wt.kinematics(system, q, u),
                lambda q, u, tau, a: wt.kinematics(system, q, u).velocity(tip)[..., :3],
            ),
            "jacobian": (
                lambda q, u, tau, a: wt.jacobian(system, q, tip),
                lambda q, u, tau, a: wt.jacobian(system, q, tip)[..., :3, :],
            ),
            "energy": (lambda q, u, tau, a: wt.energy(system, q, u), energies),
            "momentum": (
                lambda q, u, tau, a: wt.momentum(system, q, u),
                lambda q, u, tau, a: wt.momentum(system, q, u)[..., 3:],
            ),
        }
    theirs = _theirs(system, n, peer, forced) if peer is not None else {}
    return {name: (run, theirs.get(name)) for name, run in ours.items()}


def _theirs(system: Any, n: int, peer: Pinocchio, forced: bool) -> dict[str, tuple[Run, Run]]:
    """Pinocchio's. Joints are revolute about z, so that q and u are ours."""
    pin, m, d = peer.pin, peer.model, peer.data
    aligned = pin.LOCAL_WORLD_ALIGNED

    def acting(q: Any, u: Any) -> Any:
        return wt.applied_force(system, q, u) if forced else 0.0

    def symmetric(M: Any) -> Any:
        upper = np.triu(M)
        return upper + np.triu(upper, 1).T

    def tip_rate(q: Any, u: Any, *_: Any) -> Any:
        pin.forwardKinematics(m, d, q, u)
        return d.oMi[n].rotation @ d.v[n].angular

    def jacobian(q: Any, *_: Any) -> Any:
        pin.computeJointJacobians(m, d, q)
        return pin.getJointJacobian(m, d, n, aligned)

    def energy(q: Any, u: Any, *_: Any) -> Any:
        return pin.computeKineticEnergy(m, d, q, u), pin.computePotentialEnergy(m, d, q)

    return {
        "forward": (
            lambda q, u, tau, a: pin.aba(m, d, q, u, tau),
            lambda q, u, tau, a: pin.aba(m, d, q, u, tau + acting(q, u)).copy(),
        ),
        "forward without tau": (
            partial(lambda none, q, u, tau, a: pin.aba(m, d, q, u, none), np.zeros(n)),
            lambda q, u, tau, a: pin.aba(m, d, q, u, np.zeros(n)).copy(),
        ),
        "inverse": (
            lambda q, u, tau, a: pin.rnea(m, d, q, u, a),
            lambda q, u, tau, a: pin.rnea(m, d, q, u, a) - acting(q, u),
        ),
        "bias force": (
            lambda q, u, tau, a: pin.nonLinearEffects(m, d, q, u),
            lambda q, u, tau, a: pin.nonLinearEffects(m, d, q, u) - acting(q, u),
        ),
        "mass matrix": (lambda q, *_: pin.crba(m, d, q), lambda q, *_: symmetric(pin.crba(m, d, q))),
        "inverse of it": (
            lambda q, *_: pin.computeMinverse(m, d, q),
            lambda q, *_: symmetric(pin.computeMinverse(m, d, q)),
        ),
        "kinematics": (lambda q, u, *_: pin.forwardKinematics(m, d, q, u), tip_rate),
        "jacobian": (jacobian, lambda q, *_: jacobian(q)[3:].copy()),
        "energy": (energy, lambda q, u, *_: np.array(energy(q, u))),
        "momentum": (
            lambda q, u, *_: pin.computeCentroidalMomentum(m, d, q, u),
            lambda q, u, *_: pin.computeCentroidalMomentum(m, d, q, u).linear.copy(),
        ),
    }
