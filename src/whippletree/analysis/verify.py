"""A system under cross-examination: every algorithm that can solve it, and laws that hold for each of them.

Algorithms are compared in the largest acceleration of a state. Two may differ by the sum of the bounds that their
certificates give (dynamics/accuracy/certificate.py), and by no more; laws are held to a rounding for each unit of
conditioning of [M C'; C 0], which is reported beside. Half of the states are the hardest of twice as many: those
nearest to a singular pose; and a third of them are fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..dynamics import functions as dynamics
from ..dynamics.accuracy.conditioning import DENSE, conditioning, singular
from ..dynamics.accuracy.trust import fine_for, promised
from ..dynamics.constraints.forces import multipliers_of
from ..dynamics.constraints.jacobian import rows_of
from ..dynamics.constraints.nullspace import scaled_rows
from ..dynamics.inputs import body_of
from ..dynamics.kinematics import energy
from ..dynamics.loads.applied import loads
from ..dynamics.registry import able_to_solve
from ..errors import ModelError, SimulationError
from ..integrate.simulate import A_RUN, simulate
from ..joints import FLOAT
from ..model import GROUND
from ..model.check import number
from ..result.result import Result
from ..system.system import System, require_system
from .point import free_rows
from .random_states import random_states

LAW = 1e-9  # of the largest term of a law, for each unit of conditioning
RUN = 1e-6  # of the way that a motion goes, after it: differences grow along it
BALANCE = 1e-7  # of the energy that is activated and released
CLOSED = 1e-9  # m or rad, against the size of the mechanism
RTOL, ATOL = 1e-10, 1e-12
LASTS = 0.2  # s
FAST = 30.0  # times the velocities of other states
SLIGHT = 1e-3  # of the weight: forces (N, N m) where those of the state balance, and all that is left is rounding


class Check(NamedTuple):
    """One thing that was looked at, at its worst."""

    what: str
    worst: float  # difference, of what it is measured against
    allowed: float
    where: str  # the state and the joint, or the time
    conditioning: float | None  # there, of [M C'; C 0]; None where it plays no part

    @property
    def holds(self) -> bool:
        return bool(self.worst <= self.allowed)


class Verification(NamedTuple):
    """What :func:`verify` found; ``holds`` if nothing differs by more than rounding explains."""

    system: System
    algorithms: tuple[str, ...]
    checks: tuple[Check, ...]
    notes: tuple[str, ...]  # what was not looked at, and why

    @property
    def holds(self) -> bool:
        return all(c.holds for c in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as ``whippletree verify --json`` prints them."""
        checks = [c._asdict() | {"holds": c.holds} for c in self.checks]
        for check in checks:
            check["worst"] = check["worst"] if np.isfinite(check["worst"]) else None  # JSON has no word for it
        names = {"system": self.system.name, "algorithms": list(self.algorithms)}
        return names | {"holds": self.holds, "checks": checks, "notes": list(self.notes)}

    def __str__(self) -> str:
        from .tables import columns

        rows = [("", "worst", "allowed", "conditioning", "where")]
        for c in self.checks:
            reported = "" if c.conditioning is None else f"{c.conditioning:.1e}"
            rows.append((c.what, f"{c.worst:.1e}", f"{c.allowed:.1e}", reported, c.where))
        wrong = [c.what for c in self.checks if not c.holds]
        end = "all agree" if not wrong else "NOT in agreement: " + "; ".join(wrong)
        return "\n".join([columns(rows), *(f"note: {note}" for note in self.notes), end])


def verify(
    system: System,
    *,
    states: int = 20,
    until: float = LASTS,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Verification:
    """Solve ``states`` random states by every algorithm that can, and a run of ``until`` seconds from one of them.

    The algorithms are compared with the first of them, and held against laws: forces balance, constraints are kept,
    the mass matrix is symmetric, positive and that of the kinetic energy, its inverse is its inverse; along the run
    energy is accounted for, loops stay closed, momentum is conserved where nothing pushes from outside. Two algorithms
    may differ by the sum of their certificates' bounds, and by what a certificate corrects, up to 1e-9; an algorithm
    that loses a state to rounding does not hold. The run begins in the state that is farthest from a singular pose,
    near which differences grow without bound.
    ``until=0`` leaves out the run.
    ``progress`` is called with the share that is done.
    """
    require_system(system)
    if not isinstance(states, int) or states < 1:
        raise ModelError("states is not a count", expected="a whole number from 1 on", got=states)
    until, rng = number(until, "until", low=0.0), np.random.default_rng(seed)
    tell, able = progress or (lambda share: None), able_to_solve(system)
    if system.nu == 0:
        raise ModelError(f"nothing of '{system.name}' can move", hint="there is no motion to verify")
    dense = system.nu + system.constraints.count <= DENSE
    Q, U = hard_states(system, states, rng, dense, _within(tell, 0.0, 0.3))
    notes = (
        []
        if dense
        else [f"more than {DENSE} degrees of freedom and rows: no dense matrices, conditioning is taken as 1"]
    )
    condition = [conditioning(system, q, u) if dense else 1.0 for q, u in zip(Q, U, strict=True)]
    checks = _solved(system, Q, U, rng, able, condition, _within(tell, 0.3, 0.6))
    if dense:
        try:
            checks += _mass(system, Q, U)
        except np.linalg.LinAlgError:
            notes.append(
                "the mass matrix is singular: some body has no mass of its own, and its laws were not looked at"
            )
    if until > 0.0:
        far = [singular(system, q, u) if dense else 1.0 for q, u in zip(Q, U, strict=True)]
        n = min(range(1, states), key=far.__getitem__, default=0)  # the first is at rest
        able_to_run = [name for name in able if name in A_RUN.among]
        checks += _moved(system, Q[n], U[n], until, able_to_run, notes, _within(tell, 0.6, 1.0))
    tell(1.0)
    return Verification(system, tuple(able), tuple(checks), tuple(dict.fromkeys(notes)))


def hard_states(
    system: System, states: int, rng: np.random.Generator, dense: bool, tell: Callable[[float], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Random states, the first at rest: half of them the nearest to singular poses of twice as many, a third fast."""
    loops = dense and system.constraints.count > 0
    Q, U = random_states(system, states * (2 if loops else 1), rng, tell)
    if loops:
        order = np.argsort([-singular(system, q, u) for q, u in zip(Q[1:], U[1:], strict=True)]) + 1
        hardest = order[: states // 2]
        chosen = np.concatenate([[0], hardest, np.setdiff1d(np.arange(1, len(Q)), hardest)])[:states]
        Q, U = Q[chosen], U[chosen]
    U = U.copy()
    if (
        not system.forces.motions and not rows_of(system, Q, U, matrix=False).prescribed.any()
    ):  # C u = 0: any multiple will do
        U[2::3] *= FAST
    return Q, U


def _within(tell: Callable[[float], None], begin: float, end: float) -> Callable[[float], None]:
    """Tells a share of a part as one of the whole."""
    return lambda share: tell(begin + (end - begin) * share)


class Worst:
    """The worst of something, against what is allowed there."""

    def __init__(self, what: str, allowed: float) -> None:
        self.check, self.rule, self.share = Check(what, 0.0, allowed, "", None), allowed, -1.0

    def look(self, worst: float, where: str, conditioning: float | None = None, bound: float | None = None) -> None:
        allowed = float(self.rule * (conditioning or 1.0) if bound is None else bound)
        share = worst / max(allowed, 1e-300) if np.isfinite(worst) else np.inf
        if share > self.share:
            self.share, self.check = share, Check(self.check.what, float(worst), allowed, where, conditioning)


def _solved(
    system: System,
    Q: np.ndarray,
    U: np.ndarray,
    rng: np.random.Generator,
    able: list[str],
    conditions: list[float],
    tell: Callable[[float], None],
) -> list[Check]:
    """Accelerations of all algorithms, and what they do to the constraints."""
    found = {name: Worst(f"{name} against {able[0]}", 0.0) for name in able[1:]}
    balance, kept = Worst("forces balance", LAW), Worst("constraints are kept", LAW)
    least = SLIGHT * float(system.arrays["mass"].sum()) * max(float(np.linalg.norm(system.gravity)), 1.0)
    for n, (q, u, condition) in enumerate(zip(Q, U, conditions, strict=True)):
        inner = np.abs(dynamics.bias_force(system, q, u)).max()
        tau = rng.normal(size=system.nu) * (max(inner, least) or 1.0)
        first, proof = dynamics.forward_dynamics(system, q, u, tau, algorithm=able[0], certificate=True)
        scale = max(np.abs(first).max(), 1e-12)
        for name, worst in found.items():
            off, bound = _apart(system, q, u, tau, name, first, scale)
            j = int(np.argmax(off))
            where = f"state {n}, {system.mechanical(body_of(system, 'u', j))}"
            worst.look(off[j], where, condition, bound + float(proof.error.max()) / scale)
        held = multipliers_of(system, q, u, first, tau)
        size = inner + np.abs(tau).max() + np.abs(loads(system, q, u, 0.0).tau).max()
        free = free_rows(system, ())
        left = np.abs(held.left[free])
        if left.size:
            j = int(free[np.argmax(left)])
            balance.look(left.max() / size, f"state {n}, {system.mechanical(body_of(system, 'u', j))}", condition)
        if system.constraints.count:
            rows = rows_of(system, q, u)
            lacks = np.abs(rows.C @ first - rows.gamma) / scaled_rows(rows.C) / scale
            r = int(np.argmax(lacks))
            kept.look(lacks[r], f"state {n}, '{system.constraints.owner[r]}'", condition)
        tell((n + 1) / len(Q))
    extra = [kept.check] if system.constraints.count else []
    return [*(w.check for w in found.values()), balance.check, *extra]


def _apart(
    system: System, q: np.ndarray, u: np.ndarray, tau: np.ndarray, name: str, first: np.ndarray, scale: float
) -> tuple[np.ndarray, float]:
    """How far the plain answer of an algorithm is from the first, and how far it may be; inf if it is lost."""
    try:
        plain = dynamics.forward_dynamics(system, q, u, tau, algorithm=name)
        right, proof = dynamics.forward_dynamics(system, q, u, tau, algorithm=name, certificate=True)
    except SimulationError:
        return np.full(system.nu, np.inf), 0.0
    corrected = min(float(np.abs(plain - right).max()) / scale, max(promised(system), fine_for(system)))
    return np.abs(plain - first) / scale, corrected + float(proof.error.max()) / scale


def _mass(system: System, Q: np.ndarray, U: np.ndarray) -> Iterator[Check]:
    """The mass matrix: symmetric, positive, that of the kinetic energy; and its inverse."""
    names = "mass matrix is symmetric", "mass matrix is positive", "kinetic energy", "inverse of the mass matrix"
    symmetric, positive, kinetic, inverse = (Worst(name, LAW) for name in names)
    for n, (q, u) in enumerate(zip(Q, U, strict=True)):
        M, where = dynamics.mass_matrix(system, q), f"state {n}"
        root = 1.0 / np.sqrt(np.abs(np.diag(M)))
        scaled = M * root * root[:, None]
        condition = float(np.linalg.cond(scaled))
        symmetric.look(np.abs(scaled - scaled.T).max(), where)
        positive.look(max(0.0, -float(np.linalg.eigvalsh(scaled)[0])), where)
        E = float(energy(system, q, u).kinetic)
        kinetic.look(abs(0.5 * u @ M @ u - E) / max(E, 1e-300) if E else 0.0, where)
        unit = (dynamics.mass_matrix_inverse(system, q) @ M) * root / root[:, None]
        inverse.look(np.abs(unit - np.eye(system.nu)).max(), where, condition)
    yield from (w.check for w in (symmetric, positive, kinetic, inverse))


def _moved(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    until: float,
    able: list[str],
    notes: list[str],
    tell: Callable[[float], None],
) -> list[Check]:
    """A run by each algorithm that runs it; one that breaks off does not hold."""
    short = partial(simulate, system, until, q=q, u=u, rtol=RTOL, atol=ATOL, output_step=until / 20)
    runs, found = {}, []
    for n, name in enumerate(able):
        reported = _within(tell, n / len(able), (n + 1.0 / until) / len(able))  # for t, not for a share
        try:
            runs[name] = short(algorithm=name, progress=reported)
        except ModelError as refusal:  # of what a run cannot do, or not by this algorithm
            notes.append(f"no run: {refusal.what}")
        except SimulationError as failure:
            found.append(Check(f"run by {name}", np.inf, RUN, failure.what, None))
    for n, (name, run) in enumerate(runs.items()):
        if n == 0:
            first, way = run, max(np.abs(run.u).max() * until, 1.0)
        else:
            off = np.abs(run.q - first.q).max(axis=1) / way
            found.append(_along(f"run by {name} against {first.attrs['algorithm']}", run, off, RUN))
    for n, (name, run) in enumerate(runs.items()):
        found += _laws(name, run, [] if n else notes)
    return found


def _laws(name: str, run: Result, notes: list[str]) -> Iterator[Check]:
    """Energy, closure and momentum along a run."""
    system = run.system
    turned = np.ptp(run["energy.kinetic"]) + np.abs(run["energy.kinetic"]).max() + np.ptp(run["energy.potential"])
    yield _along(f"energy by {name}", run, np.abs(run["energy.balance"]) / max(turned, 1e-300), BALANCE)
    if system.constraints.count:
        yield _along(f"closure by {name}", run, run["closure"] / max(1.0, system.constraints.size), CLOSED)
    if _alone(system):
        p = run["momentum"].reshape(len(run), 2, 3)  # angular, linear
        off = np.abs(p - p[0]).max(axis=2) / np.maximum(np.abs(p).max(axis=(0, 2)), 1e-300)
        yield _along(f"momentum by {name}", run, off.max(axis=1), BALANCE)
    else:
        notes.append("momentum: gravity, ground or a force acts from outside")


def _along(what: str, run: Result, off: np.ndarray, allowed: float) -> Check:
    n = int(np.argmax(off))
    return Check(what, float(off[n]), allowed, f"t = {run.t[n]:.3g} s", None)


def _alone(system: System) -> bool:
    """Whether nothing acts from outside: no gravity, no force, and all that is held to ground is free."""
    model = system.model
    kinds = {joint.kind for joint in model.joints.values() if GROUND in (joint.parent, joint.child)}
    held = any(GROUND in (getattr(c, "body", GROUND), getattr(c, "to", GROUND)) for c in model.constraints.values())
    return not (system.gravity.any() or model.forces or held) and kinds <= {FLOAT}
