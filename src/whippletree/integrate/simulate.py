"""From a State to a Result: march through time, watch every chunk, keep what was computed."""

from __future__ import annotations

import json
import os
import time as clock
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.accuracy.certificate import Unreliable
from ..dynamics.auto.choose import choose, require_algorithm_name
from ..dynamics.auto.rates import Use
from ..dynamics.dispatch import BENT
from ..dynamics.functions import forward_dynamics
from ..dynamics.inputs import body_of, one_state
from ..dynamics.loads.applied import given_motion
from ..dynamics.registry import ALGORITHMS, AUTO, allowing_violation, projecting, stepping
from ..dynamics.stepping.stabilization import PROJECTION
from ..errors import ModelError, ModelWarning, SimulationError, WhippletreeError
from ..files.whole_file import only_writer
from ..model.check import number
from ..result.netcdf import RESULT, result_path
from ..result.result import Occurrence, Result
from ..system.callbacks import Callback, joint_forces, raised_in
from ..system.system import System, require_system
from .assemble import consistent_start, locked
from .contacts.friction import free_to_slip
from .contacts.run import Switching
from .methods import cvode, dop853, dopri5, euler, generalized_alpha, rk4, scipy_methods
from .names import require_integrator
from .quasi_static import quasi_static_system
from .run import subchains as subchain_run
from .run.accuracy import Accuracy
from .run.checkpoint import Checkpoint, settings_of
from .run.cross_check import CrossCheck
from .run.events import Event, checked_events
from .run.output_samples import accelerations_of, rows_of, samples_of, settle_rows, settle_start
from .run.passages import starts_singular
from .run.strain import StrainWatch
from .run.task import Failure, Task, make_task
from .run.times import ATOL, RTOL, check_tolerances, output_times, positive
from .run.watch import Watch
from .stabilize import make_stabilization, require_stable

INTEGRATORS: dict[str, ModuleType] = {
    "dopri5": dopri5,
    "dop853": dop853,
    "rk4": rk4,
    "euler": euler,
    "generalized_alpha": generalized_alpha,
    "cvode": cvode,
    **dict.fromkeys(scipy_methods.NAMES, scipy_methods),
}
A_RUN = Use(among=stepping())  # what algorithms are chosen for
DEFAULT_STEP = 1e-3  # s
DEFAULT_OUTPUTS = 500
FIRST_STEPS = 16
MOST_STEPS = 10**9  # between two looks at the state
CHUNK_SECONDS = 0.2  # of computing, between two looks at the state and at Ctrl-C
SAVE_EVERY = 5.0  # s of computing


def simulate(
    system: System,
    until: float,
    *,
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | Callable[..., None] | None = None,
    algorithm: str = AUTO,
    integrator: str = "dopri5",
    stabilization: str = "projection",
    alpha: float | None = None,
    beta: float | None = None,
    quasi_static: float | Mapping[str, float] | None = None,
    rtol: float = RTOL,
    atol: float = ATOL,
    step: float | None = None,
    output_step: float | None = None,
    events: Iterable[Event] = (),
    progress: Callable[[Reached], None] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    save_every: float = SAVE_EVERY,
    check: int = 0,
    check_action: str = "warn",
    on: Any = None,
) -> Result:
    """Motion from t = 0 to ``until`` (s).

    ``q`` and ``u`` are arrays, or dicts from joint names to values; what is missing is neutral and at
    rest, and where a motion is given that says how it starts. With loops the start must be closed
    (:func:`assemble` makes it so), and speeds that a dict leaves out follow from those it names. ``tau`` is a constant
    joint force (N m or N), an array or a dict, or a function ``tau(t, q, u, tau)`` that writes it; one compiled by
    ``numba.njit`` stays in the compiled loop. The forces of the model act besides. ``algorithm`` is "auto" or a name as
    :func:`forward_dynamics` takes it, as "divide(threads=2)". ``integrator`` is one of
    ``INTEGRATORS``: ``dopri5``, ``dop853``, ``cvode`` and those of SciPy choose their steps so that the error of each,
    in every component x of q and u, is about ``atol + rtol |x|``; ``step`` is then the largest they may take. ``rk4``,
    ``euler`` and, for stiff systems, ``generalized_alpha`` take steps of ``step`` (default 1 ms, or a hundredth of the
    run). ``stabilization`` says how loops are kept closed: by "projection" after every step; by "baumgarte", whose
    ``alpha`` and ``beta`` (1/s, 20 each if not given) let gaps die out as g'' + 2 alpha g' + beta^2 g = 0; or "none".
    Modes of flexible bodies that are faster than ``quasi_static`` (rad/s; a number, or a dict from bodies to numbers)
    have no inertia of their own and follow their loads at once, so that steps need not be as short as they swing.
    ``output_step`` (s) is the time between two rows of the result, at 0, output_step, 2 output_step, ...; the last row
    is at ``until``, after a shorter interval if need be (default: 500 rows). ``events`` are watched: see
    :class:`Event`; what happened is in ``events`` of the Result. ``progress`` is called with the time reached, a number
    that also has ``steps``, those taken so far, and ``until``.

    ``output`` (.nc) names a file that holds the run so far, whole and readable, anew about every
    ``save_every`` seconds of computing, but never for more than a tenth of the time. ``resume`` goes on from
    such a file if it is of the same model, start and settings, and then ends with the same bits as a run that was
    never stopped; where there is no file yet the run starts, and a complete one is returned as it is.

    A run that cannot go on ends with a SimulationError whose ``partial`` is the Result so far, and so does
    a KeyboardInterrupt and what a user's function raises; the file holds it too. ``attrs`` of the Result hold the
    method, with the algorithm that "auto" took, whether the run is ``complete``, and, where steps are chosen, the
    number of steps accepted and rejected and of evaluations.

    ``check`` = k solves every k-th row of the result once more, by another algorithm that can; where accelerations
    differ by more than rounding and conditioning explain, the run warns, once, or with ``check_action="stop"`` ends
    with a SimulationError. ``attrs`` then hold ``checked``, the number of rows, ``checked_by``, ``check_amiss``, how
    many were amiss, and ``check_worst``, the worst difference over conditioning.

    ``on`` are processes that share the run, which :func:`simulate_on_ranks` gives.
    """
    require_system(system)
    until = number(until, "until")
    if until <= 0:
        raise ModelError("until must lie after the start", expected="a time > 0 (s)", got=until)
    method = INTEGRATORS[require_integrator(integrator, INTEGRATORS)]
    require_algorithm_name(algorithm)
    system = quasi_static_system(system, quasi_static)
    if quasi_static is not None and method is generalized_alpha:
        raise ModelError(
            "integrator 'generalized_alpha' takes all modes with their inertia",
            hint="leave out quasi_static: its steps may be longer than fast modes swing, and damp them",
        )
    how = make_stabilization(system, stabilization, alpha, beta)
    asked = allowing_violation(system)[0] if algorithm == AUTO and how != PROJECTION else algorithm
    name = choose(system, asked, A_RUN)
    require_stable(system, how, name)
    user = joint_forces(tau, "the function tau,") if callable(tau) else None
    q_now, u_now, force = one_state(system, q, u, None if user else tau, "simulate")
    given_motion(system, 0.0, q_now, u_now)
    _check_loops(system, integrator)
    by = ALGORITHMS[name]
    if by.configured and algorithm != AUTO:
        name = algorithm  # with its options
    partial = u is None or isinstance(u, Mapping)
    consistent_start(free_to_slip(system), q_now, u_now, partial, u if isinstance(u, Mapping) else {})
    if algorithm == AUTO and by.by_plan and starts_singular(system, q_now, u_now):
        algorithm = name = projecting().name  # a plan of that pose would leave out what holds behind it
    if note := locked(free_to_slip(system), q_now):
        warnings.warn(note, ModelWarning, stacklevel=2)
    check_tolerances(rtol, atol, integrator, method.ADAPTIVE)
    h = positive(step, "step", until if method.ADAPTIVE else min(DEFAULT_STEP, until / 100))
    least = 0.0 if method.ADAPTIVE else h
    t = output_times(system, until, output_step, max(until / DEFAULT_OUTPUTS, least))
    options = {"tau": force, "call": user.address if user else 0, "rtol": float(rtol), "atol": float(atol), "step": h}
    options["stabilization"] = how
    task = make_task(system, name, integrator, t, q_now, u_now, **options)
    settle_start(task, tau)
    _require_consistent_accelerations(system, task.y, force)
    watched = checked_events(system, events)
    run: Any
    if system.model.temporaries:
        if on or by.cuts:
            raise ModelError(f"algorithm '{by.name}' runs no temporary constraints", hint="take another algorithm")
        run = Switching(task, method.begin, tau, watched, algorithm, A_RUN)
    else:
        run = on.begin(task, tau) if on else subchain_run.begin(task) if by.cuts else method.begin(task)
        run = Watch(run, watched) if watched else run
    if on and check:
        raise ModelError("check is for a run on one process", hint="leave out check")
    second, accuracy = CrossCheck(task, tau, check, check_action), Accuracy(task, tau)
    users = [*system.forces.callbacks.values(), *([user] if user else [])]
    if output is None:
        if resume:
            raise ModelError("resume needs the file to go on from", hint="name it as output")
        return _to_the_end(task, run, tau, progress, users, second, accuracy, None)
    path, every = result_path(output), positive(save_every, "save_every", SAVE_EVERY)
    if resume and run.state is None:
        raise _cannot_resume(integrator)
    with only_writer(path, RESULT):
        checkpoint = Checkpoint(path, task, run, lambda: _so_far(task, run, tau, accuracy), every)
        done = checkpoint.resume() if resume and path.exists() else None
        return done or _to_the_end(task, run, tau, progress, users, second, accuracy, checkpoint)


def _require_consistent_accelerations(system: System, y: np.ndarray, tau: np.ndarray) -> None:
    """Refuse to begin where constraints beside loops contradict each other in the accelerations that they ask for."""
    if system.features & {"constraints", "couplings"} and not system.model.temporaries:
        with suppress(Unreliable):
            forward_dynamics(system, y[: system.nq], y[system.nq : -1], tau, certificate=True)


def _check_loops(system: System, integrator: str) -> None:
    """Refuse what does not close loops."""
    held = system.constraints.count or system.model.temporaries
    if held and not getattr(INTEGRATORS[integrator], "LOOPS", True):
        able = [name for name, method in INTEGRATORS.items() if getattr(method, "LOOPS", True)]
        raise ModelError(
            f"integrator '{integrator}' cannot keep the loops and constraints of '{system.name}'",
            hint="take one that can: " + ", ".join(able),
        )


def _cannot_resume(integrator: str) -> ModelError:
    able = [name for name, method in INTEGRATORS.items() if getattr(method, "RESUMES", True)]
    return ModelError(
        f"integrator '{integrator}' cannot go on from a file: its library keeps the state to itself",
        hint=f"leave out resume, or take one that can: {', '.join(able)}",
    )


def _to_the_end(
    task: Task,
    run: Any,
    tau: Any,
    progress: Callable[[Reached], None] | None,
    users: list[Callback],
    second: CrossCheck,
    accuracy: Accuracy,
    checkpoint: Checkpoint | None,
) -> Result:
    """March on and give the Result; whatever ends this early, what was computed is kept."""
    result = None
    try:
        _march(task, run, progress, users, second, accuracy, checkpoint)
        rows = rows_of(task, run)
        settle_rows(task, tau, *rows[:3])
        udot = accelerations_of(task, tau, *rows[:3], getattr(run, "changes", ()))
        attrs = _attrs(task, run, tau, True) | second.attrs() | accuracy.attrs()
        samples = samples_of(task, tau, slice(rows[0].size))
        result = Result(task.system, *rows, udot=udot, attrs=attrs, events=_occurrences(run), samples=samples)
        if checkpoint:
            checkpoint.finish(result)
        return result
    except BaseException as error:
        error.partial = result or _so_far(task, run, tau, accuracy)  # type: ignore[attr-defined]
        if checkpoint:
            _keep(checkpoint, error)
        raise


def _keep(checkpoint: Checkpoint, error: BaseException) -> None:
    """Save once more, unless it is saving that failed, and say what is in the file."""
    if not checkpoint.failed:
        try:
            checkpoint.save()
        except WhippletreeError as e:
            error.add_note(e.what)
    note = checkpoint.note()
    if note:
        error.add_note(note)


def _occurrences(run: Any) -> list[Occurrence]:
    return getattr(run, "occurrences", [])


def _march(
    task: Task,
    run: Any,
    progress: Callable[[Reached], None] | None,
    users: list[Callback],
    second: CrossCheck,
    accuracy: Accuracy,
    checkpoint: Checkpoint | None,
) -> None:
    """To the last row, in chunks of about CHUNK_SECONDS."""
    steps, strain = FIRST_STEPS, StrainWatch(task)
    chunk = min(CHUNK_SECONDS, checkpoint.every) if checkpoint else CHUNK_SECONDS
    while run.row < task.t.size:
        begun = clock.perf_counter()
        failure = run.proceed(steps)
        for user in users:
            if user.error is not None:
                raise raised_in(user, f"near t = {run.time:.6g} s")
        strain.look(run.row)
        second.look(run.row, getattr(run, "changes", ()))
        accuracy.look(run)
        if failure:
            raise _failed(task, failure, run.row - 1)
        spent = max(clock.perf_counter() - begun, 1e-6)
        steps = min(MOST_STEPS, max(1, int(min(4.0, chunk / spent) * steps)))
        if progress:
            progress(Reached(run, float(task.t[-1])))
        if checkpoint:
            checkpoint.mark()
            if run.row < task.t.size:
                checkpoint.save_if_due()


class Elsewhere(Exception):
    """The run is shared, and another process has its Result."""


class Reached(float):
    """The simulated time that a run has come to (s), with the ``steps`` taken and the end, ``until`` (s)."""

    steps: int
    until: float

    def __new__(cls, run: Any, until: float) -> Reached:
        self = super().__new__(cls, run.time)
        attrs = run.attrs()
        self.steps = attrs["accepted"] if "accepted" in attrs else round(run.time / attrs["step"])
        self.until = until
        return self


def _attrs(task: Task, run: Any, tau: Any, complete: bool) -> dict[str, Any]:
    method = {"algorithm": task.algorithm, "integrator": task.integrator} | run.attrs()
    if task.system.constraints.count:
        method["stabilization"] = task.stabilization.name
    settings = json.dumps(settings_of(task, tau, getattr(run, "events", ())), allow_nan=False)
    return method | {"until": float(task.t[-1]), "complete": int(complete), "settings": settings}


def _so_far(task: Task, run: Any, tau: Any, accuracy: Accuracy) -> Result:
    """The rows up to now. A function that fails must not cost the rest: then there are no accelerations."""
    t, Q, U, W = (x[: accuracy.lost_at] for x in rows_of(task, run))
    udot = samples = None
    with suppress(Exception):
        settle_rows(task, tau, t, Q, U)
        udot = accelerations_of(task, tau, t, Q, U, getattr(run, "changes", ()))
        samples = samples_of(task, tau, slice(t.size))
    attrs = _attrs(task, run, tau, False) | accuracy.attrs()
    return Result(task.system, t, Q, U, W, udot=udot, attrs=attrs, events=_occurrences(run), samples=samples)


def _failed(task: Task, failure: Failure, row: int) -> SimulationError:
    """The error that names time and joint; ``row`` is the last that is filled."""
    if failure.error:
        return failure.error
    system, j = task.system, failure.component
    j = min(j, system.nq + system.nu - 1)
    body = body_of(system, "q", j) if j < system.nq else body_of(system, "u", j - system.nq)
    where, hint = system.mechanical(body), failure.hint + f"; {BENT}" * bool(system.flexible)
    try:
        forward_dynamics(system, task.Q[row], task.U[row], task.tau, t=task.t[row], algorithm=task.algorithm)
    except SimulationError as e:
        if e.where:  # a freedom without mass: the dynamics know which
            where, hint = e.where, e.hint or hint
    what = f"the motion of '{system.name}' {failure.what} at t = {failure.time:.6g} s"
    return SimulationError(what, where=where, hint=hint)
