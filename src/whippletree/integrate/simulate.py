"""From a State to a Result: march through time, watch every chunk, keep what was computed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from numpy.typing import ArrayLike

from ..dynamics import registry
from ..dynamics.auto.choose import choose, require_algorithm_name
from ..dynamics.auto.rates import Use
from ..dynamics.stepping.stabilization import PROJECTION
from ..errors import ModelError, keeps_warnings
from ..model.check import number
from ..result.result import Result
from ..system.callbacks import joint_forces
from ..system.system import System, require_system
from .contacts.run import Switching
from .march import Ahead, Reached
from .methods import generalized_alpha
from .methods.registry import INTEGRATORS, cannot_resume, require_closing
from .names import require_integrator
from .quasi_static import quasi_static_system
from .run import subchains as subchain_run
from .run import times
from .run.accuracy import Accuracy
from .run.cross_check import CrossCheck
from .run.events import Event, checked_events
from .run.output_samples import settle_start
from .run.passages import depends_on_closure, starts_singular
from .run.task import make_task
from .run.watch import Watch
from .stabilize import make_stabilization, require_stable
from .start import require_consistent_accelerations, start_of

A_RUN = Use(among=registry.stepping())  # what algorithms are chosen for
DEFAULT_STEP = 1e-3  # s
DEFAULT_OUTPUTS = 500
SAVE_EVERY = 5.0  # s of computing


@keeps_warnings
def simulate(
    system: System,
    until: float,
    *,
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | Callable[..., None] | None = None,
    algorithm: str = registry.AUTO,
    integrator: str = "dopri5",
    stabilization: str = "projection",
    alpha: float | None = None,
    beta: float | None = None,
    quasi_static: float | Mapping[str, float] | None = None,
    rtol: float = times.RTOL,
    atol: float = times.ATOL,
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
    rest, and where a motion is prescribed that says how it starts. With loops the start must be closed
    (:func:`assemble` makes it so), and velocities that a dict leaves out follow from those it names. ``tau`` is a
    constant joint force (N m or N), an array or a dict, or a function ``tau(t, q, u, tau)`` that writes it; one
    compiled by ``numba.njit`` stays in the compiled loop. The forces of the model act besides. ``algorithm`` is "auto"
    or a name as :func:`forward_dynamics` takes it, as "divide(threads=2)". ``integrator`` is one of
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
    with a SimulationError. ``attrs`` then hold ``checked``, the number of rows, ``checked_by``, ``check_disagreed``,
    how many of them disagreed, and ``check_worst``, the worst difference over conditioning.

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
    asked = registry.allowing_violation(system)[0] if algorithm == registry.AUTO and how != PROJECTION else algorithm
    name = choose(system, asked, A_RUN)
    require_stable(system, how, name)
    if system.constraints.count or system.model.temporaries:
        require_closing(integrator, system.name)
    user = joint_forces(tau, "the function tau,") if callable(tau) else None
    q_now, u_now, force = start_of(system, q, u, None if user else tau)
    by = registry.ALGORITHMS[name]
    if by.configured and algorithm != registry.AUTO:
        name = algorithm  # with its options
    if algorithm == registry.AUTO and by.by_plan:
        other = registry.projecting().name  # a plan of this pose may leave out what holds behind it, or in open loops
        if starts_singular(system, q_now, u_now) or depends_on_closure(system, name, other, q_now, u_now):
            algorithm = name = other
    times.check_tolerances(rtol, atol, integrator, method.ADAPTIVE)
    h = times.positive(step, "step", until if method.ADAPTIVE else min(DEFAULT_STEP, until / 100))
    least = 0.0 if method.ADAPTIVE else h
    t = times.output_times(system, until, output_step, max(until / DEFAULT_OUTPUTS, least))
    options = {"tau": force, "call": user.address if user else 0, "rtol": float(rtol), "atol": float(atol), "step": h}
    options["stabilization"] = how
    task = make_task(system, name, integrator, t, q_now, u_now, **options)
    settle_start(task, tau)
    require_consistent_accelerations(system, task.y, force)
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
    ahead = Ahead(task, run, tau, progress, users, second, accuracy)
    if output is None:
        if resume:
            raise ModelError("resume needs the file to go on from", hint="name it as output")
        return ahead.to_the_end()
    every = times.positive(save_every, "save_every", SAVE_EVERY)
    if resume and run.state is None:
        raise cannot_resume(integrator)
    return ahead.kept_in(output, every, resume)
