"""Flexible bodies as kernels see them: integers for every body, then the constants of modes and nodes as numbers.

Of a flexible body f (kind "modes"), with n modes eta: at ``data[f]`` its constants, in the axes of its structure and
about the origin of it. Behind it come its nodes f + 1, f + 2, ... (kind "node"), each with its own: place (3), phi and
psi (n, 3), T (r, 6) of interface modes, and, to second order, Q and psi2 (n, n, 3).

Of a body whose modal mass varies follow: of its G generalized points, if it has any, ``one`` (G), r (3, G), phi (3, n,
G), where the coefficients Q_ab of component c begin and end (3 n + 1), by c and then a, and of each of E coefficients b
and its values (G); of each lump mass, place of its centre of mass from the node (3) and moments of inertia about it
(6), and the node as above, without T; and the node that carries the frame, if it moves. Its room in what Kinematics
keeps: columns (n + r, 6), bias forces (n), the wrench (6); modal mass (n, n), moments h and J (9), and columns of the
carrier (n, 6) if it has one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# flags: constants do not depend on the deformation; places of nodes do so to second order; of a node: it has inertia;
# the modal mass depends on the deformation; the frame is fixed to a node that moves in the modes
RUTHLESS, SECOND, LOADED, VARIES, CARRIED = 1, 2, 4, 8, 16
PER_BODY = ("column", "work", "data", "flags", "nodes", "rank", "mass", "points", "entries", "lumps")


class Modal(NamedTuple):
    """Integers of bodies, zero for those of other kinds, and the constants of all."""

    column: Any  # (nb)   where its columns start in what Kinematics keeps of flexible bodies
    work: Any  # (nb)     where its room starts in what Work keeps of them
    data: Any  # (nb)     where its constants start
    flags: Any  # (nb)    RUTHLESS, or any of SECOND, VARIES, CARRIED; of a node LOADED
    nodes: Any  # (nb)    number of nodes
    rank: Any  # (nb)     number of interface modes of (B3); 0 where modes are eliminated one by one
    mass: Any  # (nb)     where its modal mass starts in what Kinematics keeps, if it VARIES
    points: Any  # (nb)   number of generalized points, a multiple of MANY (several.py)
    entries: Any  # (nb)  number of their second-order coefficients
    lumps: Any  # (nb)    number of rigid bodies at nodes
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
    J2: Any  # (n, n, 6)   second derivative of the moments of inertia; not of a ruthless body
    G1: Any  # (n, n, 3)   [a, b]: derivative of Cr_a by eta_b; nor this
    G2: Any  # (n, n, 3)   [a, b]: the same, less that of Cr_b by eta_a; nor this
    F: Any  #              what makes the modal mass vary; nor this
    L: Any  # (n, n)       Lambda of (B3) outside of the interface modes; of a ruthless body only
    Y: Any  # (n, r)       eta of interface modes; likewise
    Z: Any  # (r, 6)       their [Cr; Ct]; likewise


def scratch(n: int, points: int, lumps: int, carried: bool) -> int:
    """Numbers that a body needs at the end of what Kinematics keeps, while its mass is computed."""
    return max(3 * n * points + 6 * points, 6 * n if lumps or carried else 0)


def pack_modal(integers: dict[str, np.ndarray], numbers: list[np.ndarray]) -> np.ndarray:
    """The way back; ``integers`` by the names of PER_BODY."""
    parts = [np.ascontiguousarray(integers[name], np.int64).view(float) for name in PER_BODY]
    return np.concatenate([*parts, *(np.asarray(part, float).ravel() for part in numbers)])
