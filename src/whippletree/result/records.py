"""What happened in a run, beside its motion."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..model import Constraint, Model, Pose, check, constraint_kind, renamed
from ..model.pose import Vector

UNKNOWN = np.zeros(0)
HAPPENS = ("activated", "bounced", "released", "refused", "slips", "sticks")


class Occurrence(NamedTuple):
    """An event that happened."""

    name: str
    t: float  # s
    q: np.ndarray  # (nq)  before a function changed it
    u: np.ndarray  # (nu)


class Switch(NamedTuple):
    """Reduction has chosen other joints of a loop to depend on the rest."""

    t: float  # s
    loop: str  # the joint that closes it
    was: tuple[str, ...]
    now: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> list[Switch]:
        """From the attribute of a file."""
        rows = json.loads(text)
        return [cls(_time(t), str(loop), (*map(str, was),), (*map(str, now),)) for t, loop, was, now in rows]


class Change(NamedTuple):
    """A temporary constraint has been activated or released, or friction in it has changed."""

    name: str
    what: str  # one of HAPPENS; by friction it "slips", also another way, or "sticks"
    t: float  # s
    impulse: np.ndarray  # (6)  [N m s; N s] on its body at its point, in world axes; zero where it is released
    lost: float  # energy, J
    here: Constraint | None  # the constraint as it holds what it found
    toward: Vector | None = None  # where it slips to from now on, in axes of the surface; a clutch: the sign
    why: str = ""  # it has been refused
    besides: Mapping[str, np.ndarray] = MappingProxyType({})  # (6) each: impulses of what held then, as ``impulse``
    q_before: np.ndarray = UNKNOWN  # (nq)  just before; empty in files of older versions, as the others
    u_before: np.ndarray = UNKNOWN  # (nu)
    q_after: np.ndarray = UNKNOWN  # (nq)  just after; of changes at one moment each begins where the last one ended
    u_after: np.ndarray = UNKNOWN  # (nu)

    @classmethod
    def text(cls, changes: Iterable[Change]) -> str:
        """As an attribute of a file."""
        rows = []
        for c in changes:
            besides = {name: impulse.tolist() for name, impulse in c.besides.items()}
            states = [x.tolist() for x in (c.q_before, c.u_before, c.q_after, c.u_after)]
            how = c.impulse.tolist(), c.lost, _found(c.here), c.toward, c.why, besides
            rows.append([c.name, c.what, c.t, *how, states])
        return json.dumps(rows)

    @classmethod
    def parse(cls, text: str, model: Model) -> list[Change]:
        """From the attribute of a file; older ones do not tell what others took, nor the states."""
        found = []
        for name, what, t, impulse, lost, here, toward, why, *more in json.loads(text):
            what = renamed.word(what, renamed.HAPPENED, f"change of '{name}' in the file")
            if what not in HAPPENS:
                raise ValueError(what)
            placed = _placed(model.constraints[name], here)
            to = None if toward is None else (float(toward[0]), float(toward[1]), float(toward[2]))
            besides = {other: np.array(taken, float).reshape(6) for other, taken in (more[0] if more else {}).items()}
            load = np.array(impulse, float).reshape(6)
            states = [np.array(x, float).reshape(-1) for x in (more[1] if len(more) > 1 else ())]
            given = name, what, _time(t), load, float(lost), placed, to, str(why), besides, *states
            found.append(cls(*given))
        return found


def _time(t: Any) -> float:
    if not np.isfinite(float(t)):
        raise ValueError(t)
    return float(t)


def _found(here: Constraint | None) -> Any:
    found = getattr(here, constraint_kind(here).here, None) if here else None
    return [list(found.position), list(found.quaternion)] if isinstance(found, Pose) else found


def _placed(c: Any, found: Any) -> Constraint | None:
    key, value = constraint_kind(c).here, found
    if not key or found is None:
        return None
    if isinstance(getattr(c, key), Pose):
        position, quaternion = found
        check.pose({"position": position, "quaternion": quaternion}, f"latch '{c.name}': to_at")
        value = Pose(tuple(position), tuple(quaternion))  # to the bit, so not the normalized one
    return replace(c, **{key: value if isinstance(value, Pose) else float(value)})
