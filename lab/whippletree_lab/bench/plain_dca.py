"""The divide-and-conquer algorithm as its paper writes it, without pivoting, to see how it rounds. Slow.

Critchley, Anderson and Binani 2007, eqs (12)-(42), for chains of revolute joints without joint forces: handle 1 of a
body is its centre of mass, handle 2 the point of it that is at the child's. It shares the kinematics of :mod:`.exact`,
rounded to doubles, and nothing with the dynamics of whippletree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..engines.exact import body_motions, side_of, skew
from .loop_families import Posed


class Handles(NamedTuple):
    """A1 = P11 f1 + P12 f2 + b1, A2 = P21 f1 + P22 f2 + b2 of bodies first to last."""

    P11: np.ndarray
    P12: np.ndarray
    P21: np.ndarray
    P22: np.ndarray
    b1: np.ndarray
    b2: np.ndarray


class Body(NamedTuple):
    """A link: its inertia, its joint's partial velocity P, the shift S to the child's centre, and F."""

    inertia: np.ndarray
    P: np.ndarray
    S: np.ndarray
    F: np.ndarray


def accelerations(posed: Posed) -> np.ndarray:
    """udot of the joints, in the order of the model."""
    bodies = _bodies(posed)
    whole, tree = _assemble(bodies, 0, len(bodies))
    udot = np.zeros(len(bodies))
    P = bodies[0].P
    inverse = np.linalg.inv(whole.P11)  # ground: A1 = P udot, P' f1 = 0
    udot[0] = (P @ inverse @ whole.b1) / (P @ inverse @ P)
    f1 = inverse @ (P * udot[0] - whole.b1)
    _hand_back(tree, f1, np.zeros(6), udot)
    return udot


def _bodies(posed: Posed) -> list[Body]:
    model, motions = posed.model, body_motions(posed)
    joints, links = list(model.joints.values()), list(model.bodies.values())
    gravity, found = np.array(model.gravity), []
    turning, moving = np.zeros(3), np.zeros(3)  # accelerations at udot = 0
    for k, (joint, link) in enumerate(zip(joints, links, strict=True)):
        here, before = motions[link.name], motions[joint.parent]
        R, p, w = (np.asarray(x, float) for x in (here.R, here.p, here.w))
        w0, p0 = np.asarray(before.w, float), np.asarray(before.p, float)
        side = side_of(joint, joint.parent, model, motions)
        axis, at = np.asarray(side.R[:, 2], float), np.asarray(side.p, float)
        inner, outer = at - p0, p - at
        moving = moving + np.cross(turning, inner) + np.cross(w0, np.cross(w0, inner))
        turning = turning + np.cross(w0, axis * float(posed.u[joint.name]))
        moving = moving + np.cross(turning, outer) + np.cross(w, np.cross(w, outer))
        central = R @ np.array(link.inertia, float) @ R.T
        inertia = np.zeros((6, 6))
        inertia[:3, :3], inertia[3:, 3:] = central, link.mass * np.eye(3)
        free = np.concatenate([-np.cross(w, central @ w), link.mass * gravity])
        F = free - inertia @ np.concatenate([turning, moving])
        child = np.asarray(motions[links[k + 1].name].p, float) if k + 1 < len(links) else p
        S = np.eye(6)  # a force at the child's centre, here
        S[:3, 3:] = skew(child - p)
        found.append(Body(inertia, np.concatenate([axis, np.cross(axis, outer)]), S, F))
    return found


def _assemble(bodies: list[Body], first: int, last: int) -> tuple[Handles, tuple[Any, ...]]:
    """Bodies first to last as one, and how it was made."""
    if last - first == 1:
        body = bodies[first]
        inverse = np.linalg.inv(body.inertia)  # eqs (12)-(16)
        at2, free = body.S.T @ inverse, inverse @ body.F
        return Handles(inverse, inverse @ body.S, at2, at2 @ body.S, free, body.S.T @ free), ()
    k = (first + last) // 2
    (A, left), (B, right) = _assemble(bodies, first, k), _assemble(bodies, k, last)
    P = bodies[k].P
    inverse = np.linalg.inv(B.P11 + A.P22)  # eq. (24)
    along = inverse @ P
    W = np.outer(along, along) / (P @ along) - inverse  # eq. (27)
    d = W @ (B.b1 - A.b2)  # eq. (28)
    whole = Handles(
        A.P11 + A.P12 @ W @ A.P21, -A.P12 @ W @ B.P12, -B.P21 @ W @ A.P21, B.P22 + B.P21 @ W @ B.P12,
        A.b1 - A.P12 @ d, B.b2 + B.P21 @ d,
    )  # eqs (37)-(42)  # fmt: skip
    return whole, (k, A, B, W, d, along / (P @ along), left, right)


def _hand_back(tree: tuple[Any, ...], f1: np.ndarray, f2: np.ndarray, udot: np.ndarray) -> None:
    if not tree:
        return
    k, A, B, W, d, along, left, right = tree
    reach = B.P12 @ f2 - A.P21 @ f1
    force = W @ reach + d  # eq. (26)
    udot[k] = along @ (reach + B.b1 - A.b2)  # eq. (23)
    _hand_back(left, f1, -force, udot)
    _hand_back(right, force, f2, udot)
