"""Activation of a temporary constraint: what is open closes, velocities jump, and who cannot follow
yields.

Constraints made at one moment share one impulse. What holds besides takes its share of it. A contact that would have to
pull lets go of it, one that would take more than friction holds slips, a clutch slips at once. Contacts and ropes that
are struck at one moment and move each other share a complementarity problem, collision.py; for others see impact.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from ...dynamics.constraints.consistency import pulled_motions
from ...dynamics.constraints.jacobian import rows_of
from ...dynamics.kinematics import kinematics
from ...dynamics.loads.joints import wrenches_of
from ...errors import warn
from ...model import Constraint, Pose, constraint_kind
from ...model.pose import Vector, quaternion_from_matrix
from ...result.records import Change
from ...system.system import System
from ..project import project
from ..run.contradiction import TAKES_PART, opposed_by
from .collision import Struck, collision, inelastic
from .friction import STILL
from .impact import impact
from .impulse import Impulse, contradicts, impulse
from .momentum_transfer import transferred

if TYPE_CHECKING:
    from .constraint_state import ConstraintState

REST = 1e-4  # m/s: impacts that would leave less do not bounce
CLOSED = 1e-9  # m or rad: what may be left open by what has been made
MOVES = 1e-9  # of what an impulse does: less is rounding
PULLS = 1e-9  # N or N s, against the largest of its kind: rounding of a force that is none


class Jump(NamedTuple):
    """What an impulse does."""

    u: np.ndarray  # (nu)  after
    system: System  # whose rows take the impulse
    lam: np.ndarray  # (nr)  of each
    wrenches: np.ndarray  # (nr, 2, 6)
    own: np.ndarray  # (6)  on the body of what is activated
    besides: dict[str, np.ndarray]  # (6)  the same of what holds besides


def activate_together(b: ConstraintState, names: Sequence[str], t: float, y: np.ndarray) -> None:
    """Close what several constraints that hold both ways leave open, and put velocities onto all of them by one
    impulse.

    Where they contradict each other, or cannot all close, they are activated one after the other, in the order given.
    """
    names = [name for name in names if name not in b.system.held]
    if len(names) < 2:
        for name in names:
            make(b, name, t, y)
        return
    q, u = b.split(y)
    b.forget()
    placed = {name: _placed(b, name, q, u) for name in names}
    slides = {name: _slides(b, name, t, q, u) for name in names}
    new = _with_all(b, placed, slides)
    q2, u2 = q.copy(), u.copy()
    closes = project(new, q2, u2, t) <= CLOSED * max(1.0, new.constraints.size)
    before = u.copy()
    if closes and (q2 != q).any():
        for name in names:
            moved = transferred(new, q, u, q2, t, b.rows_in(new, name).start)
            before = np.where(moved != u, moved, before)
    found = impulse(new, q2, before, t)
    if not closes or contradicts(found, before).any():
        for name in names:
            make(b, name, t, y)
        return
    while _yields(b, names, t, q2, before, Jump(found.u, new, found.lam, found.rows.wrenches, np.zeros(6), {})):
        new = _with_all(b, placed, slides)  # without what has yielded
        found = impulse(new, q2, before, t)
    taken = wrenches_of(new, q2, before, found.rows.wrenches, found.lam)
    then = rows_of(new, q2, found.u, t, matrix=False).rate
    q_before, u_before = q.copy(), u.copy()
    lost = b.take(y, q2, found.u)
    rows = [b.rows_in(new, name) for name in names]
    shares = [-0.5 * float(found.lam[own] @ (found.rows.rate[own] + then[own])) for own in rows]
    toward = {name: _slides(b, name, t, q, u) for name in names}
    b.move_as(_with_all(b, placed, toward))
    shares[0] += lost - sum(shares)  # of poses that were closed, and of what held
    besides = {other: load for other, load in taken.items() if other not in names and load.any()}
    for n, name in enumerate(names):
        here = placed[name] if b.temporaries[name].here else None
        change = Change(name, "activated", t, taken[name], shares[n], here, toward[name], "", besides if n == 0 else {})
        b.note(change, q_before, u_before)


def make(b: ConstraintState, name: str, t: float, y: np.ndarray) -> None:
    """Close what is open and put velocities onto it; y changes in place. What contradicts the others is refused."""
    if name in b.system.held:
        return
    (q, u), x = b.split(y), b.temporaries[name]
    q_before, u_before = q.copy(), u.copy()
    b.forget()
    placed, slides = _placed(b, name, q, u), _slides(b, name, t, q, u)
    new = _with(b, name, placed, slides)
    q2, u2 = q.copy(), u.copy()
    gap = 0.0 if x.unilateral else project(new, q2, u2, t)
    closes = gap <= CLOSED * max(1.0, new.constraints.size)
    before = transferred(new, q, u, q2, t, b.rows_in(new, name).start) if closes and (q2 != q).any() else u.copy()
    rate = float(b.approach(name, t, q, u)[1]) if x.unilateral else 0.0
    bounces = -x.restitution * rate > REST and b.hops(name, t, q, u, -x.restitution * rate)
    left = np.zeros(new.constraints.count)
    left[b.rows_in(new, name).start] = -b.sign(name) * x.restitution * rate if bounces else 0.0
    found = impulse(new, q2, before, t, left)
    if not closes or contradicts(found, before).any():
        refuse(b, name, t, _why(name, new, found) if closes else opposed_by(new, name, t, q, u))
        return
    while True:
        if bounces or (x.friction is not None and rate < -STILL):
            jump = _strike(b, name, _with(b, name, placed, None), q2, before, t, x.restitution if bounces else 0.0)
        else:
            jump = _meet(name, new, q2, before, found)
        if not _yields(b, [name], t, q2, before, jump):
            break
        new = _with(b, name, placed, slides)  # without what has yielded
        found = impulse(new, q2, before, t)
    lost = b.take(y, q2, jump.u)
    toward = None if bounces else _slides(b, name, t, q, u)
    if not bounces:
        b.move_as(new if toward == slides else _with(b, name, placed, toward))
    here = placed if x.here else None
    besides = {other: taken for other, taken in jump.besides.items() if taken.any()}
    change = Change(name, "bounced" if bounces else "activated", t, jump.own, lost, here, toward, "", besides)
    b.note(change, q_before, u_before)


def strike(b: ConstraintState, names: Sequence[str], t: float, y: np.ndarray) -> None:
    """Of contacts and ropes reached at one moment: some that are struck and move each other or what holds, or else the
    first that is struck, or else all that are at rest.

    If a common impulse is not found, the fastest contact is struck alone.
    """
    q, u = b.split(y)
    rates = {name: float(b.approach(name, t, q, u)[1]) for name in names}
    struck = [name for name in names if rates[name] < -STILL]
    if not struck:
        for name in names:
            make(b, name, t, y)
        return
    group, rest = _coupled(b, struck, t, q, u)
    if len(group) + len(rest) < 2:
        make(b, struck[0], t, y)
    elif not _collide(b, group, rest, t, y):
        if len(group) > 1:
            _warn_of_sequence(b, group, t)
        make(b, min(group, key=rates.__getitem__), t, y)


def _warn_of_sequence(b: ConstraintState, names: Sequence[str], t: float) -> None:
    """Once in a run."""
    if not b.in_sequence:
        b.in_sequence = True
        some = ", ".join(f"'{name}'" for name in names)
        warn(
            f"contacts {some} are struck one after the other at t = {t:.6g} s, the fastest first: no impulse was found "
            "that they share; velocities afterwards may depend on the order in which they are declared"
        )


def _coupled(
    b: ConstraintState, struck: Sequence[str], t: float, q: np.ndarray, u: np.ndarray
) -> tuple[list[str], list[str]]:
    """The first of these with all that its impulse reaches: others that are struck, and contacts and ropes that hold.

    Those that cannot be moved are struck alone, or hold as they are.
    """
    rest = [name for name in b.system.held if _takes_part(b, name)]
    names, base = [*struck, *rest], _without(b, rest)
    rows, still = rows_of(b.everything, q, u, t), rows_of(base, q, u, t, matrix=False).rate
    own = [range(*b.rows_in(b.everything, name).indices(b.everything.constraints.count)) for name in names]
    of = np.repeat(np.arange(len(names)), [len(r) for r in own])
    C = rows.C[np.concatenate(own)]
    G = C @ np.array([impulse(base, q, u, t, still, c).u - u for c in C]).T
    size = np.sqrt(np.maximum(G.diagonal(), 0.0))
    first = np.searchsorted(of, np.arange(len(names)))
    moves = size[first] > MOVES * np.linalg.norm(C[first], axis=1)
    couples = np.abs(G) > MOVES * np.outer(size, size)
    linked = np.array([[couples[np.ix_(of == i, of == j)].any() for j in range(len(names))] for i in range(len(names))])
    labels = connected_components(linked & np.outer(moves, moves), directed=False)[1]
    groups = [[n for n in range(len(names)) if labels[n] == labels[k]] for k in range(len(struck))]
    found = next((group for group in groups if len(group) > 1), [0])
    return [names[n] for n in found if n < len(struck)], [names[n] for n in found if n >= len(struck)]


def _takes_part(b: ConstraintState, name: str) -> bool:
    """Whether something that holds shares a complementarity problem: what rolls in any case cannot slip."""
    x = b.temporaries.get(name)
    if x is None or not x.unilateral:
        return False
    own = b.rows_in(b.everything, name)
    return x.friction is not None or own.stop - own.start == 1


def _without(b: ConstraintState, names: Sequence[str]) -> System:
    """The system that holds some less."""
    held = {n: c for n, c in b.system.held.items() if n not in names}
    return b.whole.holding(held, {n: way for n, way in b.system.sliding.items() if n not in names})


def _collide(b: ConstraintState, names: Sequence[str], rest: Sequence[str], t: float, y: np.ndarray) -> bool:
    """One impact of several contacts and ropes, and of those at ``rest`` that hold; returns if it is solved.

    Those that are struck and do not part then are activated, those at rest that part are released. At rest a contact
    gives back as the least of those struck does, so that with one restitution it does not come nearer.
    """
    q, u = b.split(y)
    q_before, u_before = q.copy(), u.copy()
    b.forget()
    rates = {name: float(b.approach(name, t, q, u)[1]) for name in names}
    back = {name: -b.temporaries[name].restitution * rate for name, rate in rates.items()}
    bounces = {name: speed > REST and b.hops(name, t, q, u, speed) for name, speed in back.items()}
    gives = {name: b.temporaries[name].restitution if bounces[name] else 0.0 for name in names}
    gives |= dict.fromkeys(rest, min(gives.values()))
    placed = {name: b.whole.model.constraints[name] for name in gives}
    while True:
        base = _without(b, rest)
        new = _with_all(b, placed, {}, base)
        rows = rows_of(new, q, u, t)
        contacts, order, guided, signs = _numbered(b, new, gives, {n for n in names if not bounces[n]})
        some = order + guided
        C, v, k = signs[some, None] * rows.C[some], (signs * rows.rate)[some], len(order)
        still = rows_of(base, q, u, t, matrix=False).rate
        G = C @ np.array([impulse(base, q, u, t, still, c).u - u for c in C]).T
        held = np.linalg.lstsq(G[k:, k:], np.column_stack([v[k:], G[k:, :k]]), rcond=None)[0]
        G_free, v_free = G[:k, :k] - G[:k, k:] @ held[:, 1:], v[:k] - G[:k, k:] @ held[:, 0]
        p = collision(G_free, v_free, contacts)
        if p is not None and rest:
            p = _held_back(G_free, v_free, contacts, p)
        if p is None:
            return False
        p = np.concatenate([p, -held[:, 0] - held[:, 1:] @ p])
        found = impulse(base, q, u, t, 0.0, p @ C)
        jump = Jump(found.u, base, found.lam, found.rows.wrenches, np.zeros(6), {})
        if not _yields(b, list(gives), t, q, u, jump):
            break
    lam = np.zeros(new.constraints.count)
    lam[some] = signs[some] * p
    wrenches = wrenches_of(new, q, u, rows.wrenches, lam)
    besides = wrenches_of(base, q, u, found.rows.wrenches, found.lam) | {name: wrenches[name] for name in rest}
    part = dict(zip(gives, ((v + C @ (found.u - u))[c.rows.start] for c in contacts), strict=True))
    hit = [name for name, c in zip(gives, contacts, strict=True) if p[c.rows.start] > 0.0 and name not in rest]
    stay = [name for name in hit if abs(part[name]) <= STILL and not bounces[name]]
    then = rows_of(new, q, found.u, t, matrix=False).rate
    shares = [-0.5 * float(lam[own] @ (rows.rate[own] + then[own])) for own in (b.rows_in(new, n) for n in hit)]
    for name in rest:
        if part[name] > STILL:
            b.let_go(name, t)
        elif name in b.friction.names:
            b.friction.go_on(name, t, _slides(b, name, t, q, found.u))
    lost = b.take(y, q_before.copy(), found.u)
    shares[0] += lost - sum(shares)  # of what held
    toward = {name: _slides(b, name, t, q, u) if name in stay else None for name in hit}
    b.move_as(_with_all(b, {name: placed[name] for name in stay}, toward))
    for n, name in enumerate(hit):
        what = "activated" if name in stay else "bounced"
        reactions = {other: load for other, load in besides.items() if load.any()} if n == 0 else {}
        b.note(Change(name, what, t, wrenches[name], shares[n], None, toward[name], "", reactions), q_before, u_before)
    return True


def _numbered(
    b: ConstraintState, new: System, gives: Mapping[str, float], firm: set[str]
) -> tuple[list[Struck], list[int], list[int], np.ndarray]:
    """Contacts with their places among rows of the system, those rows, rows that hold both ways, as along a line, and
    the sign (nr) of each; ``firm`` are those that do not slip if they have no coefficient of friction.
    """
    c, contacts = new.constraints, []
    order: list[int] = []
    guided: list[int] = []
    signs = np.ones(c.count)
    for name, e in gives.items():
        x, own = b.temporaries[name], range(*b.rows_in(new, name).indices(c.count))
        signs[own[0]] = b.sign(name)
        along = [r for r in own if c.what[r] == "displacement along y"]
        mu = x.friction if x.friction is not None else np.inf if name in firm else 0.0
        mine = [r for r in own if r not in along and (r == own[0] or mu > 0.0)]
        contacts.append(Struck(slice(len(order), len(order) + len(mine)), mu, e))
        order, guided = order + mine, guided + along
    return contacts, order, guided, signs


def _held_back(G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck], p: np.ndarray) -> np.ndarray | None:
    """Impulses p, and those of an inelastic impact after them, where something would come nearer by what others give
    back.
    """
    after = v + G @ p
    if min(after[c.rows.start] for c in contacts) >= -STILL:
        return p
    more = inelastic(G, after, contacts)
    return None if more is None else np.asarray(p + more)


def refuse(b: ConstraintState, name: str, t: float, why: str) -> None:
    """Say so; the motion goes on without it."""
    b.refused.add(name)
    warn(f"temporary '{name}' is not activated at t = {t:.6g} s: {why}")
    b.note(Change(name, "refused", t, np.zeros(6), 0.0, None, None, why))


def _why(name: str, new: System, found: Impulse) -> str:
    rows = np.abs(found.left) > 0.1 * np.abs(found.left).max()
    names = dict.fromkeys(o for o, w in zip(new.constraints.owner, rows, strict=True) if w and o != name)
    motions = pulled_motions(new, found.rows.C, found.left, TAKES_PART)
    some = [f"'{n}'" for n in names] + [f"prescribed motion '{m}'" for m in motions]
    return "it contradicts " + (", ".join(some) or "the prescribed motions")


def _with(b: ConstraintState, name: str, placed: Constraint, toward: Vector | None) -> System:
    """The system that holds one more."""
    return _with_all(b, {name: placed}, {name: toward})


def _with_all(
    b: ConstraintState,
    placed: Mapping[str, Constraint],
    toward: Mapping[str, Vector | None],
    base: System | None = None,
) -> System:
    """The system that holds some more than it does, or than ``base``, those with a direction slipping."""
    now = base or b.system
    held = now.held
    order = [n for n in b.whole.model.constraints if n in held or n in placed]
    sliding = now.sliding | {n: way for n, way in toward.items() if way is not None}
    return b.whole.holding({n: placed[n] if n in placed else held[n] for n in order}, sliding)


def _slides(b: ConstraintState, name: str, t: float, q: np.ndarray, u: np.ndarray) -> Vector | None:
    """Where something that knows friction slips to, if it does."""
    if name not in b.friction.names:
        return None
    b.forget()
    slip = b.friction.slip(name, t, q, u)
    size = np.linalg.norm(slip)
    return None if size <= STILL else tuple((slip / size).tolist())


def _meet(name: str, new: System, q: np.ndarray, u: np.ndarray, found: Impulse) -> Jump:
    """Onto all rows, of what is activated and of what holds."""
    besides = wrenches_of(new, q, u, found.rows.wrenches, found.lam)
    return Jump(found.u, new, found.lam, found.rows.wrenches, besides.pop(name), besides)


def _strike(
    b: ConstraintState, name: str, new: System, q: np.ndarray, u: np.ndarray, t: float, restitution: float
) -> Jump:
    """The impact of a contact or rope against all that hold; ``new`` has the rows that sticking takes.

    Without friction the normal alone acts, also of what rolls as soon as it stays.
    """
    rows, own = rows_of(new, q, u, t), b.rows_in(new, name)
    C, still, v = rows.C[own], rows_of(b.system, q, u, t, matrix=False).rate, rows.rate[own]
    moved = np.array([impulse(b.system, q, u, t, still, c).u - u for c in C]).T
    G, p, lam = C @ moved, np.zeros(len(C)), np.zeros(new.constraints.count)
    guided = np.array([what == "displacement along y" for what in new.constraints.what[own]])  # of a line, both ways
    a, g = np.flatnonzero(~guided), np.flatnonzero(guided)
    back = np.linalg.solve(G[np.ix_(g, g)], np.column_stack([v[g], G[np.ix_(g, a)]]))
    left = G[np.ix_(a, a)] - G[np.ix_(a, g)] @ back[:, 1:]
    p[a] = impact(left, v[a] - G[np.ix_(a, g)] @ back[:, 0], b.temporaries[name].friction or 0.0, restitution)
    p[g] = -back[:, 0] - back[:, 1:] @ p[a]
    found = impulse(b.system, q, u, t, 0.0, p @ C)
    lam[own] = p
    wrench = wrenches_of(new, q, u, rows.wrenches, lam)[name]
    besides = wrenches_of(b.system, q, u, found.rows.wrenches, found.lam)
    return Jump(found.u, b.system, found.lam, found.rows.wrenches, wrench, besides)


def _yields(b: ConstraintState, names: Sequence[str], t: float, q: np.ndarray, u: np.ndarray, jump: Jump) -> bool:
    """Let one that cannot take its share go, or slip; the impulse is then another."""
    least = PULLS * max(np.abs(jump.lam).max(initial=0.0), 1e-300)
    now = {c.name for c in takewhile(lambda c: c.t == t, reversed(b.changes)) if c.what == "activated"}
    for other in b.system.held:
        x = b.temporaries.get(other)
        if x is None or other in names:
            continue
        push = b.sign(other) * jump.lam[b.rows_in(jump.system, other).start]
        if x.unilateral and other not in now and push < -least:
            b.let_go(other, t)
            return True
        if other in b.friction.names and other not in b.system.sliding:
            across, limit = b.friction.across(jump.system, other, q, u, jump.wrenches, jump.lam)
            size = np.linalg.norm(across)
            if size > (limit if x.friction is not None else 0.0) + least:
                b.friction.slide(other, t, tuple((-across / size).tolist()))
                return True
    return False


def _placed(b: ConstraintState, name: str, q: np.ndarray, u: np.ndarray) -> Constraint:
    """The constraint, holding what it finds where it is meant to."""
    c: Any = b.whole.model.constraints[name]
    if not b.temporaries[name].here:
        return c
    key = constraint_kind(c).here
    if not hasattr(c, "body"):
        return replace(c, **{key: float(q[b.whole.q_index(c.joint).start + getattr(c, "dof", 0)])})
    k = kinematics(b.whole, q, u)
    R, p = k.rotation(c.to).T, k.position(c.to)
    turn = R @ k.rotation(c.body) @ c.at.rotation()
    place = R @ (k.position(c.body) + k.rotation(c.body) @ np.array(c.at.position) - p)
    return replace(c, **{key: Pose(tuple(place.tolist()), quaternion_from_matrix(turn))})
