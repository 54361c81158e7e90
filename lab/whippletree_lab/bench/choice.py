"""What ``auto`` takes, beside the best that could be taken: every algorithm that solves a case, timed in turn.

Cases are mechanisms of all kinds of joints, chains, trees, loops and flexible bodies, and most of them once more with
dampers in all joints, a motor and a spring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np

from whippletree.compiler.lanes import LANES
from whippletree.dynamics.auto import calibrate
from whippletree.dynamics.auto import cost_model as predict
from whippletree.dynamics.auto.choose import decide
from whippletree.dynamics.auto.loop_operations import of_reduction
from whippletree.dynamics.auto.rates import Use
from whippletree.dynamics.auto.timing import best
from whippletree.dynamics.auto.tree_operations import of_kinematics
from whippletree.dynamics.functions import forward_dynamics
from whippletree.dynamics.loads.applied import signals
from whippletree.dynamics.reduction import passes as reduction
from whippletree.dynamics.registry import able_to_solve
from whippletree.model import JOINT_KINDS, Model, Pose, Sine

from . import families, flexible_families, loop_families
from .measure import difference
from .result import BenchResult, Row

AUTO = "auto"
WITHIN = 1.15  # of the best: what a choice may cost
WITHIN_FORCED = 1.2  # the same with forces
FORCED = ", with forces"
FORCED_UP_TO = 1024  # bodies
TURN = 2e-3  # seconds of calls in a turn, of which the fastest counts
HOPELESS = 8.0  # times as long as the best, predicted: is not timed
KINDS = tuple(kind for kind in JOINT_KINDS if kind != "fixed")
CELLS = 2, 4, 8  # along a side of a lattice
MODES = 4, 10  # of flexible bodies
DEFORMED_UP_TO = 256  # flexible bodies
BATCHED = 30, 1024  # bodies of chains whose states come in batches
BATCHES = 2, LANES, 16 * LANES
# how joints of a row stand, where not about or along z
AXES: dict[str, dict[str, Any]] = {
    "curve": {"points": [(0.0, 0.0, 0.0), (0.5, 0.1, 0.0), (1.0, 0.0, 0.2)]},
    "spherical": {}, "free": {}, "universal": {"axis": "x", "axis2": "y"}, "screw": {"axis": "z", "pitch": 0.1},
}  # fmt: skip


class Case(NamedTuple):
    """A System with a state that its loops allow."""

    family: str
    label: str
    system: Any
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray


def measure(result: BenchResult, sizes: tuple[int, ...], progress: Callable[[str], None]) -> None:
    """Every case, by every algorithm that may be the best, and by auto."""
    result.note("seconds are of the best single public call on one thread")
    result.note(f"an algorithm that is predicted to take {HOPELESS:g} times as long as the best is not timed")
    for case in cases(sizes):
        progress(f"{case.family} {case.label}")
        result.rows.append(timed(case, result.rounds))
    for note in summary(result):
        result.note(note)


def timed(case: Case, rounds: int) -> Row:
    """One case."""
    system, one = case.system, case.q.ndim == 1
    use = Use() if one else Use(min(len(case.q), LANES))
    row = Row(case.family, case.label, system.model.size, system.nu, states=1 if one else len(case.q))
    row.loops, row.taken = len(system.cut_joints), decide(system, use).algorithm
    predicted = _predicted(case, use)
    shortest = min(predicted.values())
    names = [n for n in able_to_solve(system) if predicted.get(n, shortest) <= HOPELESS * shortest or n == row.taken]
    forward = partial(forward_dynamics, system, case.q, case.u, case.tau)
    runs = {name: partial(forward, algorithm=name) for name in (*names, AUTO)}
    reference = runs[names[0]]()
    row.differences = {name: difference(run(), reference) for name, run in runs.items()}
    for _ in range(rounds):  # in turn, so that what else runs here hits all alike
        for name, run in runs.items():
            row.seconds[name] = min(row.seconds.get(name, inf), best(run, TURN))
    row.seconds = {name: took / row.states for name, took in row.seconds.items()}
    row.predicted = {name: took / min(row.states, LANES) for name, took in predicted.items()}
    return row


def _predicted(case: Case, use: Use) -> dict[str, float]:
    system, counted = case.system, {}
    if system.constraints.count:
        plan = reduction.plan_at(system, np.atleast_2d(case.q)[0], signals(system, 0.0))
        counted["reduction"] = float(of_reduction(plan) + of_kinematics(system))
    rates = calibrate.measured(able_to_solve(system))
    found = {n: predict.seconds(system, n, use, rates, counted) for n in able_to_solve(system)}
    return {name: took for name, took in found.items() if took is not None}


def ratio(row: Row) -> float:
    """Time of auto over that of the best. By name it is the same call, so the better of both readings counts."""
    return min(row.seconds[AUTO], row.seconds[row.taken]) / min(row.seconds.values())


def summary(result: BenchResult) -> list[str]:
    """In how many cases auto comes near the best, without forces and with."""
    forced = [r for r in result.rows if r.label.endswith(FORCED)]
    plain = [r for r in result.rows if r not in forced]
    found = []
    for rows, within, what in ((plain, WITHIN, ""), (forced, WITHIN_FORCED, FORCED)):
        if rows:
            near, worst = sum(ratio(r) <= within for r in rows), max(rows, key=ratio)
            found.append(
                f"auto{what} is within {within - 1:.0%} of the best in {near} of {len(rows)} cases "
                f"({near / len(rows):.0%}); at worst {ratio(worst):.2f} times, for {worst.question} {worst.label}"
            )
    return found


def acted_on(model: Model) -> Model:
    """With a damper in every joint, a motor that follows a sine in one, and a spring to ground."""
    for joint in model.joints.values():
        joint.damping = 0.1
    model.passive = True
    turning = [name for name, joint in model.joints.items() if joint.kind == "revolute"]
    if turning:
        model.force("motor", "motor", joint=turning[0], position=Sine(0.3, 1.0), kp=10.0, kd=1.0)
    model.force("spring", "spring", body=list(model.bodies)[-1], to_at=(0.0, 0.0, 2.0), stiffness=50.0, length=1.0)
    return model


def cases_with_forces(sizes: tuple[int, ...]) -> Iterator[Case]:
    """Chains, trees and loops once more, acted on."""
    few = [n for n in sizes if n <= FORCED_UP_TO]
    trees: dict[str, Callable[[int], Model]] = {
        "chain": families.chain,
        "tree": families.tree,
        "floating tree": lambda n: families.tree(n, floating=True),
    }
    for name, build in trees.items():
        for n in few:
            yield _tree(name, f"{n}{FORCED}", acted_on(build(n)))
    for name, bodies in {"ladder": 2, "tower": 3, "stewart": 19}.items():
        for n in dict.fromkeys(max(1, size // bodies) for size in few):
            posed = loop_families.LOOPS[name](n)
            acted_on(posed.model)
            yield looped(name, f"{n} {'platforms' if name == 'stewart' else 'loops'}{FORCED}", posed)


def cases(sizes: tuple[int, ...]) -> Iterator[Case]:
    """Of every family, those sizes that it goes by."""
    yield from cases_with_forces(sizes)
    for kind in KINDS:
        yield _tree("row of one kind", kind, row([kind] * 3))
    yield _tree("row of all kinds", "", row(list(KINDS)))
    many: dict[str, Callable[[int], Model]] = {
        "chain": families.chain,
        "chain of balls": lambda n: row(["spherical"] * n),
        "tree": families.tree,
        "floating tree": lambda n: families.tree(n, floating=True),
        "hanging tree": families.hanging,
    }
    for name, build in many.items():
        for n in sizes:
            yield _tree(name, str(n), build(n))
    for name, (bodies, most) in {"ladder": (2, 10_000), "tower": (3, 1024), "stewart": (19, 1024)}.items():
        for n in dict.fromkeys(max(1, size // bodies) for size in sizes if size <= most):
            yield looped(name, f"{n} loops" if name != "stewart" else f"{n} platforms", loop_families.LOOPS[name](n))
    for n in CELLS:
        yield looped("lattice", f"{n} x {n}", loop_families.lattice(n))
    for n in (size for size in sizes if size <= DEFORMED_UP_TO):
        for modes in MODES:
            system = flexible_families.chain(n, flexible_families.strip(modes, "ruthless")).compile()
            yield Case("flexible chain", f"{n} x {modes}", system, *flexible_families.state(system))
    for n in BATCHED:
        model = families.chain(n)
        system = model.compile()
        for states in BATCHES:
            q, u, tau, _ = families.states(model, system, states)
            yield Case("batch", f"{states} of a chain of {n}", system, q, u, tau)


def row(kinds: list[str], seed: int = 3) -> Model:
    """Solid bodies one after the other, on joints of these kinds."""
    rng = np.random.default_rng(seed)
    model = Model(f"row of {len(kinds)}")
    for k, kind in enumerate(kinds):
        model.body(f"b{k}", mass=1.0, com=tuple(rng.normal(size=3) * 0.1), inertia=(4e-2, 5e-2, 3e-2))
        turn = rng.normal(size=4)
        at = Pose(tuple(rng.normal(size=3) * 0.2), tuple(turn / np.linalg.norm(turn)))
        model.joint(f"j{k}", kind, f"b{k - 1}" if k else "ground", f"b{k}", at=at, **AXES.get(kind, {"axis": "z"}))
    return model


def _tree(family: str, label: str, model: Model) -> Case:
    return Case(family, label, *families.one_state(model))


def looped(family: str, label: str, posed: loop_families.Posed) -> Case:
    """A mechanism with loops, closed."""
    system = posed.model.compile()
    return Case(family, label, system, *loop_families.start(system, posed.q, posed.u), np.zeros(system.nu))
