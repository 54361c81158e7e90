"""A batch of states stepped side by side in compiled loops, in lanes and on threads."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..compiler.lanes import LANES
from ..dynamics.auto.choose import choose
from ..dynamics.dispatch import spread
from ..dynamics.inputs import body_of, require_finite, states
from ..dynamics.loads.applied import signals
from ..dynamics.registry import in_lanes, projecting
from ..dynamics.stepping.calls import code_of, code_of_lanes
from ..errors import ModelError, SimulationError
from ..joints import QUATERNIONS
from ..model.check import known, number
from ..system.callbacks import compiled_joint_forces
from ..system.system import System, require_system
from . import rollout_kernel as compiled
from .bends import warn_of_bends
from .names import require_integrator
from .run.contradiction import contradiction_at
from .variants import Variants, count_of, variants

LARGEST_RESULT = 4e9  # bytes
LONGEST_CALL = 100_000  # steps of states in one compiled call; between two of them Ctrl-C is heard
BACK = 2  # rows that a state goes back where it changes its plan, so that its bends are seen there
WORTH = 50  # steps that a block has to be served by a plan of its own: a plan takes about as long as so many
UNIT = 1e-6  # how far the length of a quaternion may be from 1
ROWS_OF_TAU = ("states", "steps")


def rollout(
    system: System,
    q: ArrayLike | None,
    u: ArrayLike | None,
    tau: Any,
    step: float,
    steps: int,
    integrator: str = "rk4",
    threads: int | None = None,
    *,
    every: int = 1,
    tau_rows: str | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
    check: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Motions of many states: ``steps`` steps of ``step`` (s) from each, with a fixed step, in compiled loops.

    Parameters
    ----------
    q, u : starts, (nq,), (nu,) of one state or (B, nq), (B, nu) of a batch; None is neutral and at rest.
    tau : joint forces (N m, N), held constant over each step:

        - None; (nu,), the same for all states and steps; (B, steps, nu), a sequence for each state;
        - (B, nu), constant, for each state its own; or (steps, nu), a sequence that all states share.
          Where B and steps are equal, ``tau_rows`` must say which: "states" or "steps";
        - a function ``policy(t, q, u, tau)`` compiled by ``numba.njit``: called at the start of each step,
          for each state on its own, with the time (s), q (nq,) and u (nu,); it writes tau (nu,), which holds zeros.
          One state has no axis B.
    integrator : "rk4" (order 4) or "euler" (semi-implicit, order 1), both on the manifold of configurations.
    threads : number of cores; 0 for all, None for one. The result is the same to the last bit.
    every : keep every so many-th state; ``steps`` must be a multiple.
    parameters : numbers of the model by their paths, as :func:`sweep` names them ("bodies.crank.mass",
        "joints.hinge.stiffness", "gravity"): one, or (B,) of each state its own. States that share all of them share
        lanes; others take as long as a block each, and a model is compiled for each set (some milliseconds, kept for
        the next call with the same numbers).
    check : raise a SimulationError at the first state that ceases to be finite, or whose constraints cannot be met;
        False lets it through. A motion that bends where loops lose rank may have changed its branch: a warning says so.

    With loops and constraints the starts must be closed (:func:`assemble`); every state goes back onto the constraints
    after each step. Lanes share a plan of elimination, made at the first start; states that come to poses that it does
    not serve go on by plans of their own from there, in smaller blocks or alone.

    Examples
    --------
    >>> import numpy as np
    >>> import whippletree as wt
    >>> system = wt.load("models/pendulum.toml").compile()
    >>> masses = np.linspace(0.5, 2.0, 16)
    >>> Q, U = wt.rollout(
    ...     system, None, None, None, 1e-3, 100, parameters={"bodies.rod.mass": masses}
    ... )  # doctest: +SKIP

    Returns
    -------
    Q (B, steps / every + 1, nq), U (B, steps / every + 1, nu) : the states kept, the start first; without the
        axis B for one state, which takes as long as a block of ``wt.LANES``.
    """
    require_system(system)
    require_integrator(integrator, compiled.METHODS, " to rollout")
    if system.model.temporaries:
        raise ModelError(
            "rollout does not take temporary constraints",
            expected="constraints that hold always",
            got=", ".join(system.model.temporaries),
            hint="step each state by simulate(..., integrator, step=...)",
        )
    h, steps, every = _grid(step, steps, every)
    Q0, U0 = states(system, ("q", system.q0 if q is None else q, system.nq), ("u", u, system.nu))
    require_finite(system, (Q0, U0), ("q", "u"))
    _require_unit(system, Q0)
    batch = count_of(parameters, None if Q0.ndim == 1 else len(Q0))
    count = 1 if batch is None else batch
    policy = compiled_joint_forces(tau) if callable(tau) else None
    forces = _forces(system, None if policy else tau, batch, steps, tau_rows)
    Q, U = _room(system, count, steps // every + 1)
    Q[:, 0], U[:, 0] = Q0, U0
    moving = variants(system, parameters, count)
    if system.constraints.count:
        Q[:, 0], U[:, 0] = moving.closed(Q[:, 0].copy(), U[:, 0].copy())
    order = (forces, h, every, compiled.METHODS[integrator], policy.address if policy else 0, bool(check))
    trouble, bends = _march_all(moving, order, Q, U, steps, threads)
    if trouble.any():
        _explain(moving, trouble, h, every, tau, Q, U, batch is None)
    if check:
        warn_of_bends(moving, h, steps, Q[:, 0], bends, partial(_pose, moving, order, Q, U))
    return (Q[0], U[0]) if batch is None else (Q, U)


def _march_all(
    moving: Variants, order: tuple[Any, ...], Q: np.ndarray, U: np.ndarray, steps: int, threads: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`_march` of the states of each System."""
    if len(moving.systems) == 1:
        return _march(moving.systems[0], order, Q, U, steps, threads)
    trouble, bends = np.zeros((len(Q), 3), np.int64), np.zeros((len(Q), 3))
    groups, (tau, *rest) = moving.members(), order

    def run(start: int, stop: int) -> None:
        for k in range(start, stop):
            own = groups[k]
            q, u = Q[own], U[own]
            given = (tau[own] if len(tau) > 1 else tau, *rest)
            trouble[own], bends[own] = _march(moving.systems[k], given, q, u, steps, None)
            Q[own], U[own] = q, u

    spread(len(groups), threads, run)
    return trouble, bends


def _march(
    system: System, order: tuple[Any, ...], Q: np.ndarray, U: np.ndarray, steps: int, threads: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Fill Q and U from their first rows on; gives ``notes`` of :func:`~.rollout_kernel.march_states`."""
    trouble, _ = notes = np.zeros((len(Q), 3), np.int64), np.zeros((len(Q), 3))
    if not system.nu:  # nothing moves
        Q[:] = Q[:, :1]
        return notes
    by = in_lanes(system) if LANES > 1 or not system.constraints.count else None
    some, since = np.arange(len(Q)), np.zeros(len(Q), np.int64)
    lone = [some[: 0 if by else None]]  # states that are stepped one by one
    while by and len(some):
        failed = _march_by(by, LANES, system, order, Q, U, notes, some, since, steps, threads)
        leaving = failed[:, 1] == compiled.ALONE
        steps_done, every = failed[:, 0] - 1, order[2]
        served = (steps_done - since * every >= WORTH) & (steps_done // every - BACK > since)
        lone.append(some[leaving & ~served])
        some = some[leaving & served]
        some = some[np.argsort(trouble[some, 0], kind="stable")]  # those of a block begin together
        first = some[np.arange(len(some)) // LANES * LANES]
        since = np.maximum((trouble[first, 0] - 1) // every - BACK, 0)
    alone = np.concatenate(lone)
    if len(alone):
        since = np.maximum((trouble[alone, 0] - 1) // order[2] - BACK, 0)
        _march_by(projecting(), 1, system, order, Q, U, notes, alone, since, steps, threads)
    return notes


def _march_by(
    by: Any,
    lanes: int,
    system: System,
    order: tuple[Any, ...],
    Q: np.ndarray,
    U: np.ndarray,
    notes: tuple[np.ndarray, np.ndarray],
    some: np.ndarray,
    since: np.ndarray,
    steps: int,
    threads: int | None,
) -> np.ndarray:
    """The same of some states by one algorithm, from rows ``since`` on: by one plan, later by one a block.

    Gives ``trouble``.
    """
    stepper = by.stepper(system, choose(system, by.name))
    # a memory for each method: an algorithm counts on rows of its own that stay zero
    pool = system.workspaces.pool.setdefault((compiled.march_states, order[3], lanes), [])
    code = code_of(stepper) if lanes == 1 else code_of_lanes(stepper)
    block = np.zeros((0,) if lanes == 1 else (0, 0))
    trouble, bends = np.zeros((len(some), 3), np.int64), np.zeros((len(some), 3))
    q, u, (tau, h, every, *rest) = Q, U, order
    each = bool(since.any()) and lanes > 1
    whole = len(some) == len(Q) and not since.any()  # and so in order
    if not whole:
        q, u, tau = Q[some], U[some], tau[some] if len(tau) > 1 else tau

    def plan_at(state: int) -> Any:
        t = since[state] * every * h
        return stepper.plan_at(system, q[state, since[state]], signals(system, t)) if stepper.plan_at else None

    shared = None if each else plan_at(0)

    def run(start: int, stop: int) -> None:
        size = lanes if each else stop - start
        for first in range(start, stop, size):
            plan = plan_at(first) if each else shared
            try:
                made_for, memory = pool.pop()
            except IndexError:
                made_for, memory = None, None
            if memory is None or made_for is not plan:
                memory = compiled.workspace(system, stepper, lanes, plan)
            given = tau, h, every, *rest, code, block, q, u, since, (trouble, bends)
            compiled.march_states(memory, *given, first, min(first + size, stop))
            pool.append((plan, memory))

    spread(len(some), threads, run, most=max(1, LONGEST_CALL // (steps * LANES)) * LANES)
    if not whole:
        Q[some], U[some] = q, u
    notes[0][some] = trouble
    further = bends[:, 0] > notes[1][some, 0]
    notes[1][some[further], :2] = bends[further, :2]
    notes[1][some, 2] += bends[:, 2]
    return trouble


def _pose(moving: Variants, order: tuple[Any, ...], Q: np.ndarray, U: np.ndarray, state: int, step: int) -> np.ndarray:
    """q (nq) of a state after a step, from its start anew."""
    own, (tau, h, _, *rest) = slice(state, state + 1), order
    q, u = (np.repeat(x[own, :1], 2, axis=1) for x in (Q, U))
    _march(moving.system(state), (tau[own] if len(tau) > 1 else tau, h, step, *rest), q, u, step, None)
    return np.asarray(q[0, 1])


def _grid(step: Any, steps: Any, every: Any) -> tuple[float, int, int]:
    h = number(step, "step")
    if h <= 0:
        raise ModelError("step must be positive", expected="a time > 0 (s)", got=h)
    counts = []
    for name, value in (("steps", steps), ("every", every)):
        try:
            counts.append(operator.index(value))
        except TypeError:
            counts.append(0)
        if counts[-1] < 1 or isinstance(value, bool):
            raise ModelError(f"{name} is not a count", expected="a whole number >= 1", got=repr(value)[:80])
    if counts[0] % counts[1]:
        raise ModelError(
            "the last step would not be kept", expected="steps that are a multiple of every", got=f"{steps} and {every}"
        )
    return h, counts[0], counts[1]


def _room(system: System, count: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Q and U, if they fit in memory."""
    size = count * rows * (system.nq + system.nu) * 8
    if size > LARGEST_RESULT:
        raise ModelError(
            "the result would not fit in memory",
            expected=f"at most {LARGEST_RESULT / 1e9:g} GB",
            got=f"{count} states, {rows} rows of {system.nq + system.nu} numbers each, {size / 1e9:.1f} GB",
            hint="a larger every, or fewer states at a time",
        )
    return np.empty((count, rows, system.nq)), np.empty((count, rows, system.nu))


def _require_unit(system: System, Q: np.ndarray) -> None:
    """Quaternions have length 1, in all states."""
    for edge in system.topology.edges:
        if edge.joint.kind in QUATERNIONS:
            last = system.q_index(edge.joint.name).stop
            turns = np.atleast_2d(Q)[:, last - 4 : last]
            off = np.abs(np.linalg.norm(turns, axis=1) - 1.0) > UNIT
            if off.any():
                state = int(np.argmax(off))
                which = f" in state {state} of the batch" if Q.ndim > 1 else ""
                raise ModelError(
                    f"joint '{edge.joint.name}': the quaternion in q is not unit{which}",
                    expected="[w, x, y, z] of length 1",
                    got=f"{turns[state].tolist()} of length {np.linalg.norm(turns[state]):.9g}",
                )


def _forces(system: System, tau: Any, count: int | None, steps: int, rows: str | None) -> np.ndarray:
    """tau as (1 or B, 1 or steps, nu), contiguous; ``count`` is None for one state."""
    if rows is not None:
        known(rows, ROWS_OF_TAU, "tau_rows")
    if tau is None:
        return np.zeros((1, 1, system.nu))
    nu, B = system.nu, count
    per_step = (f"({nu},)", f"(steps, nu) = ({steps}, {nu})")
    per_state = () if B is None else (f"(B, nu) = ({B}, {nu})", f"(B, steps, nu) = ({B}, {steps}, {nu})")
    expected = ", ".join((*per_step, *per_state)) + ", or a policy compiled by numba.njit"
    try:
        array = np.require(tau, float, ["C", "W"])
    except (TypeError, ValueError):
        raise ModelError("tau is not an array of numbers", expected=expected, got=repr(tau)[:80]) from None
    meanings = {"steps": (1, steps, nu)} | ({} if B is None else {"states": (B, 1, nu)})
    fits = [name for name, shape in meanings.items() if array.shape == (shape[0] * shape[1], nu)]
    if array.shape == (nu,):
        shape = (1, 1, nu)
    elif B is not None and array.shape == (B, steps, nu):
        shape = array.shape
    elif rows is None and len(fits) == 2 and steps > 1:
        raise ModelError(
            "tau can be read in two ways",
            expected='tau_rows="states" (constant, for each state its own) or "steps" (a sequence for all)',
            got=f"{array.shape}, and there are {B} states and {steps} steps",
        )
    elif fits and (rows is None or rows in fits):
        shape = meanings[rows or fits[0]]
    else:
        given = f", tau_rows={rows!r}" if rows else ""
        raise ModelError(f"tau has the wrong shape for '{system.name}'", expected=expected, got=f"{array.shape}{given}")
    require_finite(system, (array,), ("tau",))
    return array.reshape(shape)


def _explain(
    moving: Variants, trouble: np.ndarray, h: float, every: int, tau: Any, Q: np.ndarray, U: np.ndarray, one: bool
) -> None:
    """The first step that failed, and of its states the first: which joint, and why."""
    first = np.where(trouble[:, 0] > 0, trouble[:, 0], np.iinfo(np.int64).max)
    state = int(np.argmin(first))
    system = moving.system(state)
    step, cause, row = (int(x) for x in trouble[state])
    which = "" if one else f"in state {state} of the batch, "
    when = f"{which}at step {step} (t = {(step - 1) * h:.6g} to {step * h:.6g} s)"
    if cause == compiled.RAISED:
        error = SimulationError(f"the policy '{tau.py_func.__name__}' raised an error {when}")
        kept = -(-step // every)
        try:
            tau((step - 1) * h, Q[state, kept].copy(), U[state, kept].copy(), np.zeros(system.nu))
        except Exception as reason:
            raise error from reason
        raise error
    if cause == compiled.VIOLATED:
        kept = -(-step // every)
        named = contradiction_at(system, step * h, np.concatenate([Q[state, kept], U[state, kept]]), surely=True)
        if named is None:
            raise SimulationError(f"the motion of '{system.name}' leaves its constraints {when}", hint="a smaller step")
        raise SimulationError(f"{which}{named.what}", got=named.got, where=named.where, hint=named.hint)
    part = system.mechanical(body_of(system, "q" if cause == compiled.COORDINATE else "u", row))
    if cause == compiled.FORCE:
        raise SimulationError(
            f"the policy '{tau.py_func.__name__}' gave a joint force that is not finite {when}", where=part
        )
    raise SimulationError(
        f"the motion of '{system.name}' ceased to be finite {when}",
        where=part,
        hint="a smaller step, or mass and inertia for the outermost bodies; check=False lets it through as NaN",
    )
