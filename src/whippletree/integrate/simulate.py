"""From a State to a Result: march through time, watch every chunk, keep what was computed."""

from __future__ import annotations

import math
import time as clock
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.choose import choose
from ..dynamics.evaluate import body_of, require_finite, require_unit, states
from ..dynamics.functions import forward_dynamics
from ..errors import ModelError, SimulationError, nearest
from ..model.check import number
from ..result.result import Result
from ..system.system import System
from . import rk4

INTEGRATORS = {"rk4": rk4}
DEFAULT_STEP = 1e-3  # s
DEFAULT_OUTPUTS = 500
CHUNK_SECONDS = 0.2  # of computing, between two looks at the state and at Ctrl-C
LARGEST_RESULT = 4e9  # bytes


def simulate(
    system: System,
    until: float,
    *,
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | None = None,
    algorithm: str = "auto",
    integrator: str = "rk4",
    step: float | None = None,
    output_step: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:
    """Motion from t = 0 to ``until`` (s).

    ``q`` and ``u`` are arrays, or dicts from joint names to values; what is missing is neutral and at
    rest. ``tau`` is a constant joint force. ``step`` is the integrator's step (default 1 ms, or a
    hundredth of the run), ``output_step`` the time between two rows of the result (default: 500 rows).
    ``progress`` is called with the time reached. A state that ceases to be finite ends the run with a
    SimulationError whose ``partial`` is the Result so far.
    """
    until = number(until, "until")
    if until <= 0:
        raise ModelError("until must lie after the start", expected="a time > 0 (s)", got=until)
    if integrator not in INTEGRATORS:
        raise ModelError(f"integrator '{integrator}' is not known", hint=nearest(integrator, INTEGRATORS))
    name = choose(system, algorithm)
    q_now, u_now, force = _start(system, q, u, tau)
    h = _positive(step, "step", min(DEFAULT_STEP, until / 100))
    every, h, rows = _grid(system, until, h, _positive(output_step, "output_step", max(until / DEFAULT_OUTPUTS, h)))
    t = np.linspace(0.0, rows * every * h, rows + 1)
    Q, U = np.empty((rows + 1, system.nq)), np.empty((rows + 1, system.nu))
    Q[0], U[0] = q_now, u_now
    done = 0
    memory = rk4.workspace(system, name)
    attrs = {"algorithm": name, "integrator": integrator, "step": h}
    chunk = 1
    try:
        while done < rows:
            n = min(chunk, rows - done)
            begun = clock.perf_counter()
            part = slice(done + 1, done + 1 + n)
            rk4.march(memory, q_now, u_now, force, h, every, rk4.CODES[name], Q[part], U[part])
            _watch(
                system,
                t[part],
                Q[part],
                U[part],
                Result(system, t[: done + 1], Q[: done + 1], U[: done + 1], attrs=attrs),
            )
            done += n
            if progress:
                progress(float(t[done]))
            spent = max(clock.perf_counter() - begun, 1e-6)
            chunk = max(1, int(min(4.0, CHUNK_SECONDS / spent) * n)) if done > 1 else 2
    except KeyboardInterrupt as stop:
        stop.partial = Result(system, t[: done + 1], Q[: done + 1], U[: done + 1], attrs=attrs)  # type: ignore[attr-defined]
        raise
    udot = None if tau is None else forward_dynamics(system, Q, U, force, algorithm=name)
    return Result(system, t, Q, U, udot, attrs)


def _positive(value: float | None, what: str, default: float) -> float:
    if value is None:
        return default
    x = number(value, what)
    if x <= 0:
        raise ModelError(f"{what} must be positive", expected="a time > 0 (s)", got=x)
    return x


def _grid(system: System, until: float, step: float, output_step: float) -> tuple[int, float, int]:
    """Steps per output, step and number of outputs, so that the last output is at ``until``."""
    rows = max(1, math.ceil(until / output_step * (1 - 1e-9)))
    size = rows * (system.nq + system.nu + 1) * 8
    if size > LARGEST_RESULT:
        raise ModelError(
            "the result would not fit in memory",
            expected=f"at most {LARGEST_RESULT / 1e9:g} GB",
            got=f"{rows} rows of {system.nq + system.nu} numbers, {size / 1e9:.1f} GB",
            hint="a larger output_step",
        )
    every, h = rk4.steps_between(step, until / rows)
    return every, h, rows


def _start(system: System, q: Any, u: Any, tau: Any) -> tuple[np.ndarray, ...]:
    q = system.q0 if q is None else _by_joint(system, q, system.q0, system.q_index) if isinstance(q, Mapping) else q
    u = _by_joint(system, u, np.zeros(system.nu), system.u_index) if isinstance(u, Mapping) else u
    Q, U, T = states(system, ("q", q, system.nq), ("u", u, system.nu), ("tau", tau, system.nu))
    require_finite(system, (Q, U, T), ("q", "u", "tau"))
    if Q.ndim > 1:
        raise ModelError("simulate takes one state", expected=f"q of shape ({system.nq},)", got=f"a batch {Q.shape}")
    require_unit(system, Q, 1e-6)
    Q, U = Q.copy(), U.copy()
    return Q, U, T


def _by_joint(
    system: System, given: Mapping[str, Any], neutral: np.ndarray, index: Callable[[str], slice]
) -> np.ndarray:
    values = np.array(neutral)
    for joint, value in given.items():
        rows = index(joint)
        part = np.atleast_1d(np.asarray(value, float))
        if part.shape != (rows.stop - rows.start,):
            raise ModelError(f"joint '{joint}': wrong number of values", expected=rows.stop - rows.start, got=part.size)
        values[rows] = part
    return values


def _watch(system: System, t: np.ndarray, Q: np.ndarray, U: np.ndarray, partial: Result) -> None:
    """Stops at the first state that is not finite, and names the joint."""
    bad = ~np.isfinite(U)
    if not bad.any() and np.isfinite(Q).all():
        return
    row = int(np.argmax(bad.any(axis=1)))
    before = partial.t[-1] if row == 0 else t[row - 1]
    j = int(np.argmax(bad[row]))
    error = SimulationError(
        f"the motion of '{system.name}' ceased to be finite between t = {before:.6g} and {t[row]:.6g} s",
        where=system.mechanical(body_of(system, "u", j)),
        hint="a smaller step, or mass and inertia for the outermost bodies",
    )
    error.partial = partial  # type: ignore[attr-defined]
    raise error
