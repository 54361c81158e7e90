"""The same models in Pinocchio, MuJoCo and Exudyn: how far apart answers are, and how long they take.

Rows of engines that are not installed are kept from a file that an earlier run left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from whippletree.dynamics.kinematics import energy
from whippletree.errors import ModelError
from whippletree.files.whole_file import whole_file
from whippletree.integrate.simulate import simulate
from whippletree.model import Model

from ..bench.flexible_motion import FINEST, Motion
from ..bench.loop_families import AllJoints, Posed, ladder, start, stewart
from ..bench.measure import difference, race
from ..engines import peers
from ..engines.links import CannotHold
from ..engines.loop_peers import MujocoLoops, Ours, PinocchioLoops
from ..report.tables import QUESTIONS
from .problems import chain3d, chain3d_state, floating_tree, flying_tree, heavy_top, puma560, table

ROUNDS = 10
UNTIL = 2.0  # s, of trees
LADDER, LADDER_UNTIL = 2, 10.0  # four-bars and seconds of P04
MUJOCO_STEP, EXUDYN_STEPS = 1e-3, (1e-3, 5e-4)  # s
STRIPS, STRIP_MODES = 2, 4
ENGINES = ("pinocchio", "mujoco", "exudyn")


@dataclass(slots=True)
class Compared:
    """One question about one model, answered by ours and by another engine.

    ``difference`` is relative to the largest number of the answer, or in the unit that ``what`` names; times (s).
    """

    engine: str
    model: str
    what: str
    difference: float | None
    ours: float | None
    theirs: float | None
    error: float | None = None  # of ours, where another number says what is right
    their_error: float | None = None


def trees() -> dict[str, tuple[Model, np.ndarray, np.ndarray, np.ndarray]]:
    """Validation models without loops, with q, u and tau of each."""
    top, top_q, top_u = heavy_top()
    flyer, flyer_q, flyer_u = flying_tree(0.0)
    rng = np.random.default_rng(0)
    found = {
        "P05 heavy top": (top.model, top_q, top_u, rng.normal(size=3)),
        "P06 Puma 560": (puma560(), rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)),
        "P08 floating tree": (floating_tree(), flyer_q, flyer_u, rng.normal(size=flyer.nu)),
    }
    return found | {f"P07 chain of {n}": (chain3d(n), *chain3d_state(n)) for n in (16, 128)}


def _evaluations(engine: str, some: tuple[str, ...] = (), rounds: int = ROUNDS) -> Iterator[Compared]:
    """Forward and inverse dynamics and the mass matrix at one state, of some models or all."""
    for name, (model, q, u, tau) in trees().items():
        if some and name not in some:
            continue
        system = model.compile()
        try:
            ours, theirs = peers.Whippletree(model, system), peers.PEERS[engine](model, system)
        except CannotHold as refusal:
            yield Compared(engine, name, f"refused: {refusal}", None, None, None)
            continue
        for question, args in (("forward", (q, u, tau)), ("inverse", (q, u, tau)), ("mass", (q,))):
            mine, other = getattr(ours, question)(*args)[0], getattr(theirs, question)(*args)
            times = race([mine, *other], rounds)
            best = min(other, key=lambda c: times[c.engine])
            apart = difference(best.value(), mine.value())
            yield Compared(engine, name, QUESTIONS[question], apart, times[mine.engine], times[best.engine])


def _took(run: Callable[[], Any]) -> tuple[Any, float]:
    """What a second call gives, and how long it takes: the first loads what it needs."""
    run()
    begun = perf_counter()
    found = run()
    return found, perf_counter() - begun


def _pinocchio_motion() -> Iterator[Compared]:
    """SciPy's DOP853 around ``aba``, beside our dop853."""
    from scipy.integrate import solve_ivp

    n = 6
    model, (q, u, _) = chain3d(n), chain3d_state(n)
    system = model.compile()
    engine = peers.PEERS["pinocchio"](model, system)
    tight: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}
    first = np.concatenate((engine.to.q(q), engine.to.turn(q, u)))
    theirs, took = _took(partial(solve_ivp, engine.rates(), (0.0, UNTIL), first, method="DOP853", **tight))
    mine, own = _took(partial(simulate, system, UNTIL, q=q, u=u, integrator="dop853", output_step=UNTIL, **tight))
    end = np.concatenate((mine.q[-1], mine.u[-1]))
    there = np.concatenate([engine.to.back(q, x) for x in theirs.y[:, -1].reshape(2, -1)])
    yield Compared("pinocchio", f"P07 chain of {n}", f"state after {UNTIL:g} s, DOP853 at 1e-10",
                   difference(there, end), own, took)  # fmt: skip


def _mujoco_motions() -> Iterator[Compared]:
    """Rollouts of RK4 with the same step, and the energy that each loses."""
    steps = round(UNTIL / MUJOCO_STEP)
    for name, (model, q, u) in {
        "P07 chain of 6": (chain3d(6), *chain3d_state(6)[:2]),
        "P08 floating tree, no springs": (floating_tree(), *flying_tree(0.0)[1:]),
    }.items():
        system = model.compile()
        (theirs,) = peers.PEERS["mujoco"](model, system).rollout(q[None], u[None], MUJOCO_STEP, steps, 1)
        (mine,) = peers.Whippletree(model, system).rollout(q[None], u[None], MUJOCO_STEP, steps, 1)
        times = race([mine, theirs], 3)
        ends = [call.value() for call in (mine, theirs)]
        before = energy(system, q, u).total
        lost = [abs(float(energy(system, e[0, : system.nq], e[0, system.nq :]).total - before)) for e in ends]
        yield Compared("mujoco", name, f"state after {UNTIL:g} s, RK4 of 1 ms; errors: change of energy (J)",
                       difference(ends[1], ends[0]), times[mine.engine], times[theirs.engine], *lost)  # fmt: skip


def upright(n: int) -> Posed:
    """P04's ladder at its start, bars with some thickness: engines do not take rods without it."""
    return ladder(n, angle=0.0)


@cache
def _our_ladder() -> tuple[np.ndarray, float]:
    """Where our tip is, and the time it took."""
    posed = upright(LADDER)
    system = posed.model.compile()
    q, u = start(system, posed.q, posed.u)
    run, took = _took(partial(simulate, system, LADDER_UNTIL, q=q, u=u, output_step=LADDER_UNTIL))
    angle = run["foot0.q"][-1]
    return np.array([-np.sin(angle), np.cos(angle)]), took


def _tips(engine: str, how: str, there: np.ndarray, took: float) -> Compared:
    """The tip of P04 by an engine beside ours, and errors of both (m)."""
    rows, (tip, own) = table("p04_nfourbar"), _our_ladder()
    row = rows[(rows["N"] == LADDER) & (rows["t"] == LADDER_UNTIL)][0]
    known = np.array([row["B0x"], row["B0y"]])
    apart, *errors = (float(np.abs(a - b).max()) for a, b in ((there, tip), (tip, known), (there, known)))
    what = f"tip after {LADDER_UNTIL:g} s, {how} (m)"
    return Compared(engine, f"P04 ladder of {LADDER}", what, apart, own, took, *errors)


def _loop_evaluations(engine: str, kind: Any, how: str = "") -> Iterator[Compared]:
    """Accelerations of a ladder, and of a platform on six legs."""
    for name, posed in (("ladder of 10 loops", ladder(10)), ("Stewart platform", stewart(1))):
        ours, theirs = Ours(posed), kind(posed)
        mine, others = ours.calls()[0], theirs.calls()
        rows = AllJoints(posed.model).rows(j for j in ours.joints if j in theirs.joints)
        times = race([mine, *others], ROUNDS)
        for call in others:
            apart = difference(call.value()[rows], mine.value()[rows])
            what = f"accelerations, {how or call.engine.removeprefix(engine).strip()}"
            yield Compared(engine, name, what, apart, times[mine.engine], times[call.engine])


def _mujoco_ladder() -> Iterator[Compared]:
    """P04 with its soft constraints, RK4."""
    yield from _loop_evaluations("mujoco", MujocoLoops, "soft constraints")
    engine = MujocoLoops(upright(LADDER))
    mj, model, every = engine.mj, engine.model, engine.all
    model.opt.timestep, model.opt.integrator = MUJOCO_STEP, mj.mjtIntegrator.mjINT_RK4
    q, u = every.vector(engine.posed.q, "q"), every.vector(engine.posed.u)

    def run() -> Any:
        data = mj.MjData(model)
        data.qpos[:], data.qvel[:] = engine.to.q(q), engine.to.turn(q, u)
        mj.mj_step(model, data, round(LADDER_UNTIL / MUJOCO_STEP))
        return data

    data, took = _took(run)
    angle = float(data.joint("foot0").qpos[0])
    there = np.array([-np.sin(angle), np.cos(angle)])
    yield _tips("mujoco", "RK4 of 1 ms", there, took)


def _exudyn() -> Iterator[Compared]:
    """P04 by its implicit integrator, and flexible strips."""
    from ..engines.exudyn import Exudyn

    for step in EXUDYN_STEPS:

        def run(step: float = step) -> Any:
            made = Exudyn(upright(LADDER))
            settings = made.settings(step, LADDER_UNTIL)
            settings.timeIntegration.newton.useModifiedNewton = True
            if not made.system.SolveDynamic(settings):
                raise ModelError("Exudyn does not get to the end")
            return made

        made, took = _took(run)
        kind = made.exudyn.OutputVariableType.Position
        there = 2.0 * np.array(made.system.GetObjectOutputBody(made.bodies["crank0"], kind, [0, 0, 0]))[:2]
        yield _tips("exudyn", f"step {step * 1e3:g} ms", there, took)
    yield from _loop_evaluations("exudyn", Exudyn, "implicit solver at its start")
    motion = Motion(STRIPS, STRIP_MODES)
    yield Compared("exudyn", f"{STRIPS} flexible strips", f"modal accelerations, {STRIP_MODES} modes",
                   motion.apart_at_start(), None, None)  # fmt: skip
    (end, own), (there, took) = _took(motion.ours("finest", FINEST).value), _took(motion.peer(1e-4).value)
    yield Compared("exudyn", f"{STRIPS} flexible strips", "tips after 0.5 s (m), step 0.1 ms beside dop853 at 1e-12",
                   float(np.abs(there - end).max()), own, took)  # fmt: skip


PARTS: dict[str, list[Callable[[], Iterator[Compared]]]] = {
    "pinocchio": [
        partial(_evaluations, "pinocchio"),
        _pinocchio_motion,
        partial(_loop_evaluations, "pinocchio", PinocchioLoops),
    ],
    "mujoco": [partial(_evaluations, "mujoco"), _mujoco_motions, _mujoco_ladder],
    "exudyn": [_exudyn],
}


def compare(engine: str) -> list[Compared]:
    """All rows of one engine."""
    return [row for part in PARTS[engine] for row in part()]


class Kept:
    """Rows by engine with the engine's version, and the file they are kept in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, list[Compared]] = {}
        self.versions: dict[str, str] = {}
        self.machines: dict[str, str] = {}
        if path.exists():
            try:
                read = json.loads(path.read_text("utf-8"))
                self.rows = {e: [Compared(**row) for row in rows] for e, rows in read["rows"].items()}
                self.versions, self.machines = read["versions"], read["machines"]
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ModelError(f"'{path}' holds no comparison", hint="remove it, and it is made again") from None

    def save(self) -> None:
        """Whole or not at all."""
        rows = {e: [asdict(row) for row in rows] for e, rows in self.rows.items()}
        content = {"versions": self.versions, "machines": self.machines, "rows": rows}
        with whole_file(self.path, "the comparison") as part:
            part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
