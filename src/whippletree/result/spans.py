"""The parts of a run in which the same constraints hold, and what is computed part by part.

Algorithms of dynamics are loaded by what asks for forces: a window shows a motion without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import SimulationError
from ..model import Constraint, Motion
from ..model.pose import Vector
from ..system.system import System
from .records import Change

if TYPE_CHECKING:
    from ..dynamics.accuracy.certificate import Problem
    from ..dynamics.constraints.forces import Held
    from .result import Result


class Span(NamedTuple):
    """Rows of a run, and the system that moved in them."""

    rows: slice
    system: System


def spans_of(run: Result) -> list[Span]:
    """The parts of a run; one if nothing came or went."""
    return [Span(rows, system) for rows, system in parts(run.system, run.t, run.changes) if rows.stop > rows.start]


def parts(system: System, t: np.ndarray, changes: Sequence[Change]) -> list[tuple[slice, System]]:
    """Rows and systems between changes; a row at the time of a change is of the part before."""
    held, sliding, first, changed = dict(system.held), dict(system.sliding), 0, False
    found: list[tuple[slice, System]] = []
    for change in changes:
        if change.what in ("bounced", "refused"):
            continue
        row = int(np.searchsorted(t, change.t, side="right"))
        if row > first:
            found.append((slice(first, row), _now(system, held, sliding) if changed else system))
            first = row
        _apply(change, system, held, sliding)
        changed = True
    return [*found, (slice(first, t.size), _now(system, held, sliding) if changed else system)]


def system_after(system: System, changes: Sequence[Change]) -> System:
    """The system that moves once all of these have happened."""
    held, sliding = dict(system.held), dict(system.sliding)
    for change in changes:
        _apply(change, system, held, sliding)
    return _now(system, held, sliding)


def _apply(change: Change, system: System, held: dict[str, Constraint], sliding: dict[str, Vector]) -> None:
    """What holds and what slides, after a change."""
    if change.what in ("bounced", "refused"):
        return
    sliding.pop(change.name, None)
    if change.toward is not None:
        sliding[change.name] = change.toward
    if change.what == "released":
        held.pop(change.name, None)
    elif change.what == "activated":
        held[change.name] = change.here or system.model.constraints[change.name]


def _now(system: System, held: dict[str, Constraint], sliding: dict[str, Vector]) -> System:
    return system.holding({name: held[name] for name in system.model.constraints if name in held}, sliding)


def along(run: Result, function: Callable[[System, slice], np.ndarray]) -> np.ndarray:
    """An array over all times, part by part."""
    return np.concatenate([function(span.system, span.rows) for span in run.spans])


def closure(run: Result) -> np.ndarray:
    """The largest violation of the constraint equations that hold, at all times: of those of velocities alone, in
    velocity."""
    from ..dynamics.constraints.jacobian import rows_of

    def violation(system: System, rows: slice) -> np.ndarray:
        found, c = rows_of(system, run.q[rows], run.u[rows], run.t[rows], matrix=False), system.constraints
        violation = np.where(c.of_poses, found.g, np.where(c.follows < 0, found.rate, 0.0))
        return np.abs(violation).max(axis=1, initial=0.0)

    return along(run, violation)


def certificates_along(run: Result) -> np.ndarray:
    """Bounds of the relative error of the accelerations that the run's algorithm finds, at all times and at the
    evaluation that lost most digits since the time before.

    inf where it loses them to rounding; of an algorithm that is corrected there, the error before the correction.
    """
    from ..dynamics.functions import accuracy_of, errors_of

    name = run.algorithm
    given = run.given_udot
    found = along(
        run, lambda s, n: accuracy_of(s, run.q[n], run.u[n], run.t[n], name, None if given is None else given[n])
    )
    for row, p, udot in sampled(run.system, run.samples, run.changes, "step" in run.attrs):
        try:
            worst = errors_of(p, udot, name).max(initial=0.0)
        except SimulationError:
            worst = np.inf
        found[row] = max(found[row], worst)
    return found


class Samples(NamedTuple):
    """Evaluations of a run, one for each row: integrate/run/evaluations.py."""

    rows: np.ndarray  # (T, 2 + nq + 2 nu)  loss of digits, or zero; t, q, u, u'
    tau: np.ndarray  # (nu) or (T, nu)  joint forces given beside those of the model


def samples_beyond(rows: np.ndarray, loss: float) -> np.ndarray:
    """Which rows have a sample with a larger loss."""
    return np.flatnonzero((rows[:, 0] > loss) & np.isfinite(rows[:, 1]))


def sampled(
    system: System, samples: Samples | None, changes: Sequence[Change], begins: bool, least: float = 0.0
) -> Iterator[tuple[int, Problem, np.ndarray]]:
    """Row, problem and accelerations found of each sample with a larger loss; ``begins``: they are of the begin of
    a step, not of its end, so that at the time of a change the constraints behind it hold."""
    from ..dynamics.functions import problems

    rows = samples_beyond(samples.rows, least) if samples is not None else np.zeros(0, int)
    if samples is None or not rows.size:
        return
    columns = np.split(samples.rows[rows], np.cumsum([1, 1, system.nq, system.nu]), axis=1)
    _, t, q, u, udot = map(np.ascontiguousarray, columns)
    t, tau = t[:, 0], np.broadcast_to(samples.tau, (len(samples.rows), system.nu))[rows]
    for span, now in parts(system, np.nextafter(t, np.inf) if begins else t, changes):
        if span.stop == span.start:
            continue
        for n, p in enumerate(problems(now, q[span], u[span], t[span]), start=span.start):
            yield int(rows[n]), p._replace(forces=p.forces + tau[n]), udot[n]


def held_along(run: Result) -> list[Held]:
    """Forces that hold the constraints, of each part."""
    from .held import held_of

    return [held_of(run, span.system, span.rows) for span in run.spans]


def motion_along(run: Result, force: Motion, power: bool) -> np.ndarray:
    """What a prescribed motion takes: its force, or its power."""
    from ..dynamics.constraints.forces import motion_force

    pairs = zip(run.spans, run.held, strict=True)
    return np.concatenate([motion_force(s.system, held, run.u[s.rows], force)[power] for s, held in pairs])


def reactions_along(run: Result) -> dict[str, np.ndarray]:
    """(T, 6) of every joint, coupling and constraint; zero where a constraint is not there."""
    from ..dynamics.loads.joints import joint_reactions

    found: dict[str, np.ndarray] = {}
    for span, held in zip(run.spans, run.held, strict=True):
        q, u, udot, t = (x[span.rows] for x in (run.q, run.u, run.udot, run.t))
        for name, load in joint_reactions(span.system, q, u, udot, held, t=t).items():
            found.setdefault(name, np.zeros((len(run), 6)))[span.rows] = load.wrench
    return found
