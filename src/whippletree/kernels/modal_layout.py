"""Flexible bodies as kernels see them: integers for every body, then the constants of modes and nodes as numbers.

Of a flexible body f (kind "modes"), with n modes eta: at ``data[f]`` its constants, in the axes of its structure and
about the origin of it. Behind it come its nodes f + 1, f + 2, ... (kind "node"), each with its own: place (3), phi and
psi (n, 3), T (r, 6) of interface modes, and, to second order, Q and psi2 (n, n, 3).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

# flags: constants do not depend on the deformation; places and moments do so to second order; of a node: it has inertia
RUTHLESS, SECOND, LOADED = 1, 2, 4
PER_BODY = ("column", "work", "data", "flags", "nodes", "rank")


class Modal(NamedTuple):
    """Integers of bodies, zero for those of other kinds, and the constants of all."""

    column: Any  # (nb)   where its columns start in what Kinematics keeps of flexible bodies
    work: Any  # (nb)     where its room starts in what Work keeps of them
    data: Any  # (nb)     where its constants start
    flags: Any  # (nb)    RUTHLESS or SECOND; of a node LOADED
    nodes: Any  # (nb)    number of nodes
    rank: Any  # (nb)     number of interface modes of (B3); 0 where modes are eliminated one by one
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
    Ct1: Any  # (n, n, 3)  [a, b]: derivative of Ct_a by eta_b; nor this
    L: Any  # (n, n)       Lambda of (B3) outside of the interface modes; of a ruthless body only
    Y: Any  # (n, r)       eta of interface modes; likewise
    Z: Any  # (r, 6)       their [Cr; Ct]; likewise


def pack_modal(integers: dict[str, np.ndarray], numbers: list[np.ndarray]) -> np.ndarray:
    """The way back; ``integers`` by the names of PER_BODY."""
    parts = [np.ascontiguousarray(integers[name], np.int64).view(float) for name in PER_BODY]
    return np.concatenate([*parts, *(np.asarray(part, float).ravel() for part in numbers)])
