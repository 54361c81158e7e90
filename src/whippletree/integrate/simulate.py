"""From a State to a Result: march through time, watch every chunk, keep what was computed."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.choose import choose
from ..dynamics.functions import forward_dynamics
from ..dynamics.inputs import body_of, one_state
from ..dynamics.loads import given_motion
from ..errors import ModelError, SimulationError, nearest
from ..model.check import number
from ..result.result import Result
from ..system.callbacks import Callback, joint_forces
from ..system.system import System
from . import dop853, dopri5, euler, rk4, scipy_methods
from .task import Failure, Task, make_task

INTEGRATORS: dict[str, ModuleType] = {
    "dopri5": dopri5,
    "dop853": dop853,
    "rk4": rk4,
    "euler": euler,
    **dict.fromkeys(scipy_methods.NAMES, scipy_methods),
}
RTOL, ATOL = 1e-8, 1e-10
LEAST_RTOL = 1e-14  # some 50 roundings: below, no step can show that it is good enough
DEFAULT_STEP = 1e-3  # s
DEFAULT_OUTPUTS = 500
FIRST_STEPS = 16
CHUNK_SECONDS = 0.2  # of computing, between two looks at the state and at Ctrl-C
LARGEST_RESULT = 4e9  # bytes


def simulate(
    system: System,
    until: float,
    *,
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | Callable[..., None] | None = None,
    algorithm: str = "auto",
    integrator: str = "dopri5",
    rtol: float = RTOL,
    atol: float = ATOL,
    step: float | None = None,
    output_step: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Motion from t = 0 to ``until`` (s).

    ``q`` and ``u`` are arrays, or dicts from joint names to values; what is missing is neutral and at
    rest, and where a motion is given that says how it starts. ``tau`` is a constant joint force (N m or N), an
    array or a dict, or a function ``tau(t, q, u, tau)`` that writes it; one compiled by ``numba.njit`` stays in the
    compiled loop. The forces of the model act besides. ``integrator`` is one of ``INTEGRATORS``: ``dopri5``
    and those of SciPy choose their steps so that the error of each, in every component x of q and u, is
    about ``atol + rtol |x|``; ``step`` is then the largest they may take. ``rk4`` and ``euler`` take steps
    of ``step`` (default 1 ms, or a hundredth of the run). ``output_step`` is the time between two rows of
    the result (default: 500 rows). ``progress`` is called with the time reached.

    A run that cannot go on ends with a SimulationError whose ``partial`` is the Result so far, and so does
    a KeyboardInterrupt. ``attrs`` of the Result hold the method and, where steps are chosen, the number of
    steps accepted and rejected and of evaluations.
    """
    until = number(until, "until")
    if until <= 0:
        raise ModelError("until must lie after the start", expected="a time > 0 (s)", got=until)
    if integrator not in INTEGRATORS:
        raise ModelError(f"integrator '{integrator}' is not known", hint=nearest(integrator, INTEGRATORS))
    method = INTEGRATORS[integrator]
    name = choose(system, algorithm)
    user = joint_forces(tau, "the function tau,") if callable(tau) else None
    q_now, u_now, force = one_state(system, q, u, None if user else tau, "simulate")
    given_motion(system, 0.0, q_now, u_now)
    _check_tolerances(rtol, atol, integrator)
    h = _positive(step, "step", until if method.ADAPTIVE else min(DEFAULT_STEP, until / 100))
    least = 0.0 if method.ADAPTIVE else h
    rows = _rows(system, until, _positive(output_step, "output_step", max(until / DEFAULT_OUTPUTS, least)))
    t = np.linspace(0.0, until, rows + 1)
    options = {"tau": force, "call": user.address if user else 0, "rtol": float(rtol), "atol": float(atol), "step": h}
    task = make_task(system, name, integrator, t, q_now, u_now, **options)
    run = method.begin(task)
    try:
        _march(task, run, progress, [*system.forces.callbacks.values(), *([user] if user else [])])
    except KeyboardInterrupt as stop:
        stop.partial = _so_far(task, run)  # type: ignore[attr-defined]
        raise
    return Result(system, t, task.Q, task.U, task.W, udot=_accelerations(task, tau), attrs=_attrs(task, run))


def _accelerations(task: Task, tau: Any) -> np.ndarray | None:
    """u' of all rows under the joint forces given; None if there are none, and the Result can tell itself."""
    if tau is None:
        return None
    force = np.tile(task.tau, (task.t.size, 1))
    if callable(tau):
        for t, q, u, row in zip(task.t, task.Q, task.U, force, strict=True):
            tau(float(t), q.copy(), u.copy(), row)
    return forward_dynamics(task.system, task.Q, task.U, force, t=task.t, algorithm=task.algorithm)


def _march(task: Task, run: Any, progress: Callable[[float], None] | None, users: list[Callback]) -> None:
    """To the last row, in chunks of about CHUNK_SECONDS."""
    steps = FIRST_STEPS
    while run.row < task.t.size:
        begun = clock.perf_counter()
        failure = run.proceed(steps)
        for user in users:
            if user.error is not None:
                raise _raised(task, run, user)
        if failure:
            raise _failed(task, failure, _so_far(task, run))
        if progress:
            progress(run.time)
        spent = max(clock.perf_counter() - begun, 1e-6)
        steps = max(1, int(min(4.0, CHUNK_SECONDS / spent) * steps))


def _attrs(task: Task, run: Any) -> dict[str, Any]:
    return {"algorithm": task.algorithm, "integrator": task.integrator} | run.attrs()


def _so_far(task: Task, run: Any) -> Result:
    n = run.row
    rows = task.Q[:n].copy(), task.U[:n].copy(), task.W[:n].copy()
    return Result(task.system, task.t[:n], *rows, attrs=_attrs(task, run))


def _raised(task: Task, run: Any, user: Callback) -> BaseException:
    """What a user's function raised, named; an interrupt stays one."""
    error, user.error = user.error, None
    assert error is not None
    if not isinstance(error, Exception):
        return error
    said = SimulationError(
        f"{user.name} raised an error near t = {run.time:.6g} s", got=f"{type(error).__name__}: {error}"
    )
    said.partial = _so_far(task, run)  # type: ignore[attr-defined]
    said.__cause__ = error
    return said


def _failed(task: Task, failure: Failure, partial: Result) -> SimulationError:
    """The error that names time and joint, with what was computed before."""
    system, j = task.system, failure.component
    j = min(j, system.nq + system.nu - 1)
    body = body_of(system, "q", j) if j < system.nq else body_of(system, "u", j - system.nq)
    where, hint = system.mechanical(body), failure.hint
    try:
        forward_dynamics(system, partial.q[-1], partial.u[-1], task.tau, t=partial.t[-1], algorithm=task.algorithm)
    except SimulationError as e:
        if e.where:  # a freedom without mass: the dynamics know which
            where, hint = e.where, e.hint or hint
    error = SimulationError(
        f"the motion of '{system.name}' {failure.what} at t = {failure.time:.6g} s", where=where, hint=hint
    )
    error.partial = partial  # type: ignore[attr-defined]
    return error


def _check_tolerances(rtol: float, atol: float, integrator: str) -> None:
    """Both positive numbers, and only where they are used."""
    for value, what, low, high in ((rtol, "rtol", LEAST_RTOL, 1.0), (atol, "atol", 0.0, np.inf)):
        x = number(value, what)
        if not (x > 0 and low <= x < high):
            expected = f"at least {low:g} and less than 1" if low else "a number > 0"
            raise ModelError(f"{what} is not a tolerance to integrate with", expected=expected, got=x)
    if not INTEGRATORS[integrator].ADAPTIVE and (rtol, atol) != (RTOL, ATOL):
        raise ModelError(
            f"integrator '{integrator}' has a fixed step and no tolerances",
            got=f"rtol {rtol:g}, atol {atol:g}",
            hint="give step instead, or take integrator='dopri5'",
        )


def _positive(value: float | None, what: str, default: float) -> float:
    if value is None:
        return default
    x = number(value, what)
    if x <= 0:
        raise ModelError(f"{what} must be positive", expected="a time > 0 (s)", got=x)
    return x


def _rows(system: System, until: float, output_step: float) -> int:
    """Number of outputs after the start, so that the last one is at ``until``."""
    rows = max(1, math.ceil(until / output_step * (1 - 1e-9)))
    size = rows * (system.nq + system.nu + 1) * 8
    if size > LARGEST_RESULT:
        raise ModelError(
            "the result would not fit in memory",
            expected=f"at most {LARGEST_RESULT / 1e9:g} GB",
            got=f"{rows} rows of {system.nq + system.nu} numbers, {size / 1e9:.1f} GB",
            hint="a larger output_step",
        )
    return rows
