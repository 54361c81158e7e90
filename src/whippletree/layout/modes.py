"""Flexible bodies as kernels see them: integers for every body, then the constants of modes and nodes as numbers.

Of a flexible body f (kind "modes"), with n modes eta: at ``data[f]`` its constants, in the axes of its structure and
about the origin of it. Behind it come its nodes f + 1, f + 2, ... (kind "node"), each with its own: place (3), [psi;
phi] (n, 6), T (r, 6) of interface modes, and, to second order, [psi2; Q] (n, n, 6).

Of a body whose modal mass varies follow: of its G generalized points, if it has any, ``one`` (G), r (3, G), phi (n, 3,
G); as integers, for each MANY of them where the coefficients Q_ab of component c begin and end (3 n + 1), by c and then
a, and b of each of the E coefficients; and its values (E, MANY). Of each lump mass, place of its centre of mass from
the node (3) and moments of inertia about it (6), and the node as above, without T; and the node that carries the frame,
if it moves. Its room in what Kinematics
keeps: columns (n + r, 6), bias forces (n), the wrench (6); modal mass (n, n), moments h and J (9), and columns of the
carrier (n, 6) if it has one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# flags: constants do not depend on the deformation; places of nodes do so to second order; of a node: it has inertia;
# the modal mass depends on the deformation; the frame is fixed to a node that moves in the modes
RUTHLESS, SECOND, LOADED, VARIES, CARRIED = 1, 2, 4, 8, 16
PER_BODY = ("column", "work", "data", "flags", "nodes", "rank", "mass", "points", "entries", "lumps", "scratch")
MANY = 8  # numbers of one kind that kernels may take at once (algebra/several.py)


class Modal(NamedTuple):
    """Integers of bodies, zero for those of other kinds, and the constants of all."""

    column: Any  # (nb)   where its columns start in what Kinematics keeps of flexible bodies
    work: Any  # (nb)     where its room starts in what Work keeps of them
    data: Any  # (nb)     where its constants start
    flags: Any  # (nb)    RUTHLESS, or any of SECOND, VARIES, CARRIED; of a node LOADED
    nodes: Any  # (nb)    number of nodes
    rank: Any  # (nb)     number of interface modes of (B3); 0 where modes are eliminated one by one
    mass: Any  # (nb)     where its modal mass starts in what Kinematics keeps, if it VARIES
    points: Any  # (nb)   number of generalized points, a multiple of MANY
    entries: Any  # (nb)  number of their second-order coefficients, those of MANY points at once
    lumps: Any  # (nb)    number of rigid bodies at nodes
    scratch: Any  # (nb)  where the scratch that all bodies share starts in what Kinematics keeps
    numbers: Any  # constants


class Constants(NamedTuple):
    """Where the constants of a flexible body of n modes and r interface modes start, from ``data`` on."""

    K: Any  # (n, n)       stiffness
    D: Any  # (n, n)       damping
    M: Any  # (n, n)       mass
    Ct: Any  # (n, 3)      force of a unit eta'', undeformed
    Cr: Any  # (n, 3)      its torque about the origin
    J1: Any  # (n, 6)      derivative of the moments of inertia
    h: Any  # (3)          first moment, undeformed
    J: Any  # (6)          moments of inertia, undeformed
    G: Any  # (n, n, 9)    [b, a]: derivatives by eta_b of J1_a and of Cr_a; not of a ruthless body
    H: Any  # (n, n, 6)    [b, a]: derivative of Cr_a by eta_b, and the same less that of Cr_b by eta_a; nor this
    F: Any  #              what makes the modal mass vary; nor this
    L: Any  # (n, n)       Lambda of (B3) outside of the interface modes; of a ruthless body only
    Y: Any  # (n, r)       eta of interface modes; likewise
    Z: Any  # (r, 6)       their [Cr; Ct]; likewise


def scratch(n: int, points: int = 0) -> int:
    """Numbers that a body needs at the end of what Kinematics keeps, while it is placed; it begins on a cache
    line, and each part may be exceeded by MANY."""
    return 3 * n * points + 6 * points + 15 * n + 3 * MANY


def pack_modal(integers: dict[str, np.ndarray], numbers: list[np.ndarray]) -> np.ndarray:
    """The way back; ``integers`` by the names of PER_BODY."""
    parts = [np.ascontiguousarray(integers[name], np.int64).view(float) for name in PER_BODY]
    return np.concatenate([*parts, *(np.asarray(part, float).ravel() for part in numbers), np.zeros(MANY)])
