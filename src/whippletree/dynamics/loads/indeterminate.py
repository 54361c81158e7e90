"""What redundant constraints leave open in the loads of joints, in one state.

Rows that nothing moves are the most of it. Each loads the joints of its loop with its wrench, as much as one likes, and
no others. What all of them do in a joint fits into 6 wrenches, of the same size in every direction: R of Q R = the
stack of all. It is carried from the tips to ground along with the set of loops that pass; where a loop ends, R is
taken anew of those that are left.
"""

from __future__ import annotations

import numpy as np

from ...system.system import System
from ..constraints.forces import Held
from ..kinematics import kinematics
from .joints import Bodies, shift, split


def open_reactions(system: System, q: np.ndarray, u: np.ndarray, held: Held) -> dict[str, np.ndarray]:
    """(k, 6) for each joint and constraint: its load may change by any sum of them, together with those of others."""
    bodies = Bodies(system, kinematics(system, q, u), held.null.shape[-1])
    wrench, links = bodies.transmitted(held.rows.wrenches, held.null, {})
    wrench = np.concatenate([wrench, _idle(bodies, held)], axis=-2)
    split(bodies.table, bodies.ends, wrench)
    return {name: wrench[n] for name, n in bodies.table.joint.items()} | {n: link.wrench for n, link in links.items()}


def _idle(bodies: Bodies, held: Held) -> np.ndarray:
    """(joints, 6, 6) What rows that nothing moves can do in each joint, at its point."""
    table, out = bodies.table, np.zeros((len(bodies.table.count), 6, 6))
    if not held.idle.size:
        return out
    loops = Loops(bodies, held)
    lever = np.zeros((len(out), 3))
    for e, own in loops.wrenches.items():
        n = table.cuts[e]
        out[n, : len(own)] = own[:, 1]
        lever[n] = bodies.point[table.child[n]]
    for n, inner, outer in zip(table.carriers[::-1], table.inner[::-1], table.outer[::-1], strict=True):
        passing, R = loops.at.get(outer, (set(), np.zeros((0, 6))))
        if n >= 0:
            out[n, : len(R)] = R
            lever[n] = bodies.point[outer]
        if inner and passing:
            moved = R if bodies.group[inner] else shift(R, bodies.point[outer])
            loops.join(inner, passing, moved)
    return shift(out, (lever - bodies.ends.point)[:, None, :])


class Loops:
    """Loops that pass over bodies, and what their idle rows can do there, about the point of the body's component."""

    def __init__(self, bodies: Bodies, held: Held) -> None:
        c, table, self.group = bodies.system.constraints, bodies.table, bodies.group
        element = np.searchsorted(c.row, held.idle, side="right") - 1
        cuts = np.split(held.idle, np.flatnonzero(np.diff(element)) + 1)
        self.wrenches = {int(e): held.rows.wrenches[r] for e, r in zip(np.unique(element), cuts, strict=True)}
        self.second = table.child[table.cuts]
        self.at: dict[int, tuple[set[int], np.ndarray]] = {}
        for e, own in self.wrenches.items():
            for side, body in enumerate((table.parent[table.cuts[e]], self.second[e])):
                if body:  # no joint carries ground
                    self.join(int(body), {e}, own[:, side])

    def join(self, body: int, passing: set[int], R: np.ndarray) -> None:
        """Loops that come to a body from one more side; those that are there already end here."""
        here, own = self.at.get(body, (set(), np.zeros((0, 6))))
        few, many = sorted((here, passing), key=len)
        if few.isdisjoint(many):
            many |= few
            self.at[body] = many, _smaller(np.concatenate([own, R]))
        else:
            left = few ^ many
            self.at[body] = left, _smaller(np.concatenate([np.zeros((0, 6)), *(self._wrench(e, body) for e in left)]))

    def _wrench(self, e: int, body: int) -> np.ndarray:
        """Of the rows of a loop, about the point of a body that it passes: ground has another one."""
        same = (self.group[self.second[e]] == 0) == (self.group[body] == 0)
        return self.wrenches[e][:, 1 if same else 0]


def _smaller(stack: np.ndarray) -> np.ndarray:
    """At most 6 wrenches of the same size in every direction."""
    return stack if len(stack) <= 6 else np.asarray(np.linalg.qr(stack, mode="r"))
