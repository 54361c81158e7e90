"""The state nearest to a given one that all constraints allow; or which of them cannot be met, and by how much.

Paper    [yamashita2001] On the rate of convergence of the Levenberg-Marquardt method: damping by the residual.
Symbols  g residual, C its matrix, W weights of DOF.
Differs  steps are weighted and on the manifold of q; once closed, steps along the null space of C lead to the
         nearest point. A start from which nothing moves, as bars in one line, is left by small turns, always the same.
         Of large mechanisms C is never formed: the passes of reduction solve for the same steps in O(n + m), without
         damping, and shorter where that does not help.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.constraints.consistency import (
    START,
    motions_left,
    named_violations,
    off_constraints,
    require_closed,
    require_consistent,
    speed_scale,
)
from ..dynamics.constraints.jacobian import rows_of
from ..dynamics.inputs import one_state
from ..dynamics.loads.applied import prescribed_motion, signals
from ..dynamics.reduction.weighted import Displacements
from ..errors import ModelError
from ..joints import QUATERNIONS
from ..model.kinds import annotated
from ..system.system import System, require_system
from .motion import advance
from .project import project

KEPT = 1e3  # weight of the joints that the user names, against 1, where they cannot stay
DONE = 1e-13  # against the size of the mechanism
CLOSED = 1e-9  # the same: what counts as closed
RANK = 1e-9  # directions weaker than this, against the strongest, do not move a loop
STEPS, TRIES = 60, 12
LARGEST = 0.5  # rad or sizes of the mechanism, in one step
LED, MOST_LED = 0.2, 100  # rad or m, in one step in which joints lead a mechanism to where they stay; steps at most
DENSE = 30_000  # numbers of C: the singular values of more take longer than the passes of reduction
CORRECTIONS, LESS, EXACT = 5, 0.1, 1e-6  # of velocities, at most; they go on as long as each leaves less than this
# share of a violation, and more than this share of what is allowed
AS_GOOD = 1e-11  # violation of a large mechanism that rounding of its coordinates leaves: no plan is made to mend it
MOST_RANKED = 300  # DOF: the rank of more takes longer than a run of a second


class State(NamedTuple):
    """A moment of a motion: time ``t`` (s), coordinates ``q`` (nq,) and velocities ``u`` (nu,), in radians and
    metres.
    """

    t: float  # s
    q: np.ndarray  # (nq)
    u: np.ndarray  # (nu)


def assemble(
    system: System,
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
) -> State:
    """The consistent state nearest to ``q`` and ``u``, arrays or dicts from joint names to values.

    Joints that a dict names stay where they are if the loops allow it, else as near as they can; motions given by
    functions of time are at t = 0. A loop that cannot close, and constraints that contradict each other, raise a
    ModelError that names them and how far they stay open.
    """
    require_system(system)
    Q, U, _ = one_state(system, q, u, None, "assemble")
    prescribed_motion(system, 0.0, Q, U)
    if system.constraints.count == 0:
        return State(0.0, Q, U)
    kept = _kept(system, q)
    Q = _closed(system, Q, kept, KEPT)
    return State(0.0, Q, _moving(system, Q, U, _kept(system, u)))


def consistent_velocities(system: System, q: np.ndarray) -> np.ndarray:
    """The least velocities (nu) that the constraints allow at a closed pose and t = 0; a ModelError names those that
    contradict each other."""
    return _moving(system, q, np.zeros(system.nu), np.zeros(system.nu, bool))


def closed_pose(system: System, q: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The pose nearest to q that closes all loops, with the DOF ``kept`` (nu, bool) where they are."""
    if system.constraints.count == 0:
        return q
    closed = _violation(system, q) < CLOSED * min(1.0, system.constraints.size)
    return q if closed else _closed(system, q, kept, np.inf)


def _kept(system: System, given: Any) -> np.ndarray:
    """DOF of the joints that a dict names."""
    kept = np.zeros(system.nu, bool)
    for name in given if isinstance(given, Mapping) else ():
        kept[system.u_index(name)] = True
    return kept


def _modal(system: System) -> np.ndarray:
    """DOF that are modes."""
    found = np.zeros(system.nu, bool)
    for name in system.model.flexibles:
        found[system.u_index(name)] = True
    return found


def _roots(system: System, kept: np.ndarray, weight: float) -> np.ndarray:
    """W^-1/2: 0 holds a DOF still, as a prescribed motion does."""
    roots = np.where(kept, 1.0 / np.sqrt(weight), 1.0)
    roots[list(system.forces.motions)] = 0.0
    return roots


def _residual(system: System, q: np.ndarray, t: float = 0.0) -> np.ndarray:
    """g of the rows that bound poses, 0 of the others."""
    rows = rows_of(system, q, np.zeros(system.nu), t, matrix=False)
    return np.where(system.constraints.of_poses, rows.g, 0.0)


def _violation(system: System, q: np.ndarray) -> float:
    return float(np.abs(_residual(system, q)).max(initial=0.0))


class _ByMatrix:
    """Displacements with weights W = root^-2 that change the rows, all or those that bound poses, by the matrix C."""

    def __init__(self, system: System, root: np.ndarray, all_rows: bool = False) -> None:
        self.system, self.root = system, root
        self.some = np.ones(system.constraints.count, bool) if all_rows else system.constraints.of_poses

    def _split(self, q: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        C = rows_of(self.system, q, np.zeros(self.system.nu), t).C[self.some]
        return _split(C * self.root)

    def towards(self, q: np.ndarray, rows: np.ndarray, damping: float = 0.0, t: float = 0.0) -> np.ndarray:
        """The least that changes the rows by so much, or as far as damping lets it."""
        U, s, Vt = self._split(q, t)
        return np.asarray(self.root * (Vt.T @ (s / (s * s + damping) * (U.T @ rows[self.some]))))

    def along(self, q: np.ndarray, away: np.ndarray) -> np.ndarray:
        """The part of a displacement that changes no row."""
        _, _, Vt = self._split(q, 0.0)
        scaled = _scaled(away, self.root)
        return np.asarray(self.root * (scaled - Vt.T @ (Vt @ scaled)))


class _ByReduction:
    """The same in O(n + m); damping makes steps shorter."""

    def __init__(self, system: System, root: np.ndarray) -> None:
        self.system, self.root = system, root
        self.weights = np.divide(1.0, root * root, out=np.full(system.nu, np.inf), where=root > 0)
        self.steps = Displacements(system, self.weights)

    def towards(self, q: np.ndarray, rows: np.ndarray, damping: float = 0.0, t: float = 0.0) -> np.ndarray:
        none = np.zeros(self.system.nu)
        return self.steps.least(q, signals(self.system, t), none, rows) / (1.0 + damping)

    def along(self, q: np.ndarray, away: np.ndarray) -> np.ndarray:
        pull = np.where(self.root > 0, self.weights, 0.0) * away
        return self.steps.least(q, signals(self.system, 0.0), pull, np.zeros(self.system.constraints.count))


def _solver(system: System, root: np.ndarray, all_rows: bool = False) -> _ByMatrix | _ByReduction:
    """By the matrix where that is small, and with modes, whose mass the passes know no weights for."""
    c = system.constraints
    if c.count * system.nu <= DENSE or system.flexible or not (all_rows or c.of_poses.all()):
        return _ByMatrix(system, root, all_rows)
    return _ByReduction(system, root)


def _split(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Singular value decomposition, and only what is not rounding of it."""
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    keep = s > RANK * max(s.max(initial=0.0), 1e-300)
    return U[:, keep], s[keep], Vt[keep]


def _closed(system: System, start: np.ndarray, kept: np.ndarray, weight: float) -> np.ndarray:
    """q on the constraints: with what is kept held still; if that fails, as near to it as a weight brings it.

    Flexible bodies are deformed only if nothing else will do. An infinite weight allows no second best.
    """
    limit, best, free = CLOSED * min(1.0, system.constraints.size), (np.inf, start), np.zeros(system.nu, bool)
    stiff, stages = _modal(system), [(kept, np.inf)] if kept.any() else [(free, 1.0)]
    if weight < np.inf and kept.any():
        stages.append((free, weight))
    if stiff.any():
        stages = [(held | stiff, each) for held, each in stages] + stages
    for held, each in stages:
        rng, root = np.random.default_rng(0), _roots(system, held, np.inf)
        for n in range(TRIES):
            turn = rng.normal(size=system.nu) * root * min(0.02 * 2.0**n, 1.5) if n else np.zeros(system.nu)
            q = _march(system, advance(system, start, turn), root)
            violation = _violation(system, q)
            if violation < limit:
                return _nearest(system, start, q, root, np.where(root == 0.0, 0.0, _roots(system, kept, each)))
            best = min(best, (violation, q), key=lambda pair: pair[0])
            if n == 0 and kept.any() and each == np.inf:
                q = _led(system, start, kept, root)
                if _violation(system, q) < limit:
                    return q
    raise _cannot_close(system, best[1])


def _led(system: System, start: np.ndarray, kept: np.ndarray, root: np.ndarray) -> np.ndarray:
    """A pose with what is kept where it starts, reached from a closed one in small steps, so that a long mechanism
    follows on its branch; the last closed pose where that fails."""
    d = difference(system, system.q0, start)
    q = _march(system, advance(system, start, np.where(kept, -d, 0.0)), _roots(system, np.zeros(system.nu, bool), 1.0))
    way, limit = np.where(kept, difference(system, q, start), 0.0), CLOSED * min(1.0, system.constraints.size)
    count = int(np.ceil(np.abs(way).max() / LED))
    if _violation(system, q) > limit or count > MOST_LED:
        return start
    for _ in range(count):
        q = _march(system, advance(system, q, way / count), root)
        if _violation(system, q) > limit:
            break
    return q


def least_violation(system: System, q: np.ndarray, t: float) -> np.ndarray:
    """The pose near q at which constraint equations of poses are violated least at time t, all together."""
    return _march(system, q, _roots(system, np.zeros(system.nu, bool), 1.0), t)


def _march(system: System, q: np.ndarray, root: np.ndarray, t: float = 0.0) -> np.ndarray:
    """Levenberg-Marquardt: damping grows with the residual, and as long as steps do not help."""
    solver, g, damping = _solver(system, root), _residual(system, q, t), 1e-3
    for _ in range(STEPS):
        size = float(np.linalg.norm(g))
        if size < DONE * min(1.0, system.constraints.size):
            break
        step = solver.towards(q, -g, damping * min(size, 1.0) ** 2, t)
        largest = float(np.abs(step).max())
        if largest == 0.0:
            break
        moved = advance(system, q, step * min(1.0, LARGEST / largest))
        g_new = _residual(system, moved, t)
        if np.linalg.norm(g_new) < size:
            q, g, damping = moved, g_new, damping / 10
        elif size < CLOSED * min(1.0, system.constraints.size):
            break  # rounding
        else:
            damping = min(damping * 10, 1e12)
    return q


def _nearest(system: System, start: np.ndarray, q: np.ndarray, closing: np.ndarray, root: np.ndarray) -> np.ndarray:
    """Along the constraints towards the start, as long as that comes nearer; ``root`` says what near means."""
    limit, solver, away = (
        CLOSED * min(1.0, system.constraints.size),
        _solver(system, root),
        difference(system, q, start),
    )
    for _ in range(STEPS):
        step = solver.along(q, away)
        step *= min(1.0, LARGEST / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-10:
            break
        for _ in range(4):
            moved = _march(system, advance(system, q, step), closing)
            ahead = difference(system, moved, start)
            nearer = np.linalg.norm(_scaled(ahead, root)) < np.linalg.norm(_scaled(away, root))
            if nearer and _violation(system, moved) < limit:
                break
            step = 0.3 * step
        else:
            break
        q, away = moved, ahead
    return q


def _scaled(step: np.ndarray, root: np.ndarray) -> np.ndarray:
    """W^1/2 step; DOF that are held do not count."""
    return np.divide(step, root, out=np.zeros_like(step), where=root > 0)


def difference(system: System, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The displacement (nu) that takes q = a to b; a rotation by its rotation vector."""
    out = np.zeros(system.nu)
    for edge in system.topology.edges:
        rows, velocities = system.q_index(edge.joint.name), system.u_index(edge.joint.name)
        x, y, kind = a[rows], b[rows], edge.joint.kind
        if kind not in QUATERNIONS:
            out[velocities] = y - x
            continue
        (w1, e1), (w2, e2) = (x[-4], x[-3:]), (y[-4], y[-3:])
        w, e = w1 * w2 + e1 @ e2, w1 * e2 - w2 * e1 - np.cross(e1, e2)  # of conj(a) b
        length = np.linalg.norm(e)
        turn = 2.0 * np.arctan2(length, abs(w)) * np.sign(w or 1.0) / length * e if length > 0 else e
        out[velocities] = turn if x.size == 4 else np.concatenate([turn, _turned_back(x[-4:], y[:3] - x[:3])])
    return out


def _turned_back(quaternion: np.ndarray, v: np.ndarray) -> np.ndarray:
    w, e = quaternion[0], -quaternion[1:]
    return v + 2.0 * np.cross(e, np.cross(e, v) + w * v)


def _moving(system: System, q: np.ndarray, u: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """The velocities nearest to u that the constraints allow at q."""
    rows = rows_of(system, q, u, matrix=False)
    least = START * float(speed_scale(u, rows.prescribed))
    stiff = _modal(system)
    for held, weight in ((kept | stiff, np.inf), (kept, np.inf), (kept, KEPT)):
        solver, out, left = _solver(system, _roots(system, held, weight), all_rows=True), u, rows.rate
        for _ in range(CORRECTIONS):
            before, out = np.abs(left).max(), out - solver.towards(q, left)
            left = rows_of(system, q, out, matrix=False).rate
            if not EXACT * least < np.abs(left).max() < LESS * before:
                break
        if np.abs(left).max() < least:
            return out
    raise ModelError(
        f"the constraints of '{system.name}' contradict each other in speed",
        got=f"at best, opening are {named_violations(system, left, least, '/s')}",
        hint="functions of time, or motions given to joints, ask for what the loops do not allow",
    )


def _cannot_close(system: System, q: np.ndarray) -> ModelError:
    g = rows_of(system, q, np.zeros(system.nu), matrix=False).g
    least = 1e-3 * float(np.abs(g).max())
    owners = {o for o, x in zip(system.constraints.owner, g, strict=True) if abs(x) > least}
    if len(owners) > 1:
        return ModelError(
            f"the constraints of '{system.name}' contradict each other",
            expected="a pose that meets them all",
            got=f"at best, open are {named_violations(system, g, least)}",
            where=file_places(system, *(o for o in system.constraints.owner if o in owners)),
            hint="look at the places of these joints, and at lengths between them; or start from a pose that is nearer",
        )
    (owner,) = owners
    what = f"the loop that joint '{owner}' closes" if owner in system.cut_joints else f"constraint '{owner}'"
    return ModelError(
        f"{what} cannot be closed" if owner in system.cut_joints else f"{what} cannot be met",
        expected="a pose in which its two sides meet",
        got=f"at best, open is {named_violations(system, g, least)}",
        where=file_places(system, owner),
        hint="look at its place on both bodies, and at the lengths and axes around the loop",
    )


def file_places(system: System, *owners: str) -> str | None:
    """Where the constraints and cut joints of these names stand in a file."""
    model = system.model
    parts = [model.constraints.get(o) or model.joints.get(o) or model.couplings.get(o) for o in dict.fromkeys(owners)]
    return ", ".join(part.where for part in parts if part is not None and part.where) or None


def consistent_start(system: System, q: np.ndarray, u: np.ndarray, completes: bool, named: Mapping[str, Any]) -> None:
    """Refuse a start off the constraints; q and u, in place, become exact. ``completes``: velocities not named
    follow.
    """
    if system.constraints.count == 0:
        return
    rows = rows_of(system, q, u, matrix=False)
    require_closed(system, rows, "the start")
    scale = speed_scale(u, rows.prescribed)
    if completes and np.abs(rows.rate).max() > START * scale:
        u[:] = _moving(system, q, u, _kept(system, named))
        for name in named:
            got, asked = u[system.u_index(name)], np.atleast_1d(np.asarray(named[name], float))
            if np.abs(got - asked).max() > 1e-4 * scale:
                reported = f"'{name}' would have to move at {got}, asked is {asked}"
                raise off_constraints(system, "the start", "cannot be so", reported)
    rows = require_consistent(system, q, u, who="the start")
    violation = max(np.abs(rows.g).max() / min(1.0, system.constraints.size), np.abs(rows.rate).max() / scale)
    if violation > AS_GOOD or system.constraints.count * system.nu <= DENSE:
        project(system, q, u)


def _timed(system: System) -> bool:
    """Whether a constraint is a function of time."""
    return any(annotated(x, "Function") for x in system.held.values())


def locked(system: System, q: np.ndarray) -> str | None:
    """A note if loops and constraints leave no DOF at a closed pose; None if something can move, or is moved."""
    c = system.constraints
    moved = system.forces.motions or c.driven or _timed(system)
    if not 0 < system.nu <= min(c.count, MOST_RANKED) or moved:
        return None
    if motions_left(system, rows_of(system, q, np.zeros(system.nu))).size:
        return None
    owners = ", ".join(f"'{owner}'" for owner in list(dict.fromkeys(c.owner))[:6])
    held = f"its loops and constraints ({owners})"
    return f"'{system.name}' is locked: {held} leave no degree of freedom, and nothing will move"
