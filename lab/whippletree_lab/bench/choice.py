"""What ``auto`` takes, beside the best that could be taken: every algorithm that solves a case, timed in turn.

Cases are mechanisms of all kinds of joints, chains, trees, loops and flexible bodies.
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
from whippletree.model import JOINT_KINDS, Model, Pose

from . import families, flexible_families, loop_families
from .measure import difference
from .result import BenchResult, Row

AUTO = "auto"
WITHIN = 1.15  # of the best: what a choice may cost
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
    result.note("seconds are of the best single public call, without forces of the model, on one thread")
    result.note(f"an algorithm that is predicted to take {HOPELESS:g} times as long as the best is not timed")
    for case in cases(sizes):
        progress(f"{case.family} {case.label}")
        result.rows.append(timed(case, result.rounds))
    result.note(summary(result))


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


def summary(result: BenchResult) -> str:
    """In how many cases auto comes near the best."""
    rows = result.rows
    near = sum(ratio(r) <= WITHIN for r in rows)
    worst = max(rows, key=ratio)
    return (
        f"auto is within {WITHIN - 1:.0%} of the best in {near} of {len(rows)} cases ({near / len(rows):.0%}); "
        f"at worst {ratio(worst):.2f} times, for {worst.question} {worst.label}"
    )


def cases(sizes: tuple[int, ...]) -> Iterator[Case]:
    """Of every family, those sizes that it goes by."""
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
