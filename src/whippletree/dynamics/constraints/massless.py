"""Joints that move no mass by themselves, in multipliers: lent armature, and its force returned exactly.

The mass matrix M of the spanning tree is singular where a loop holds a last link without mass, though the equations
with constraints are regular as long as M is positive on the motions that these allow. With armature r lent to such
joints e, M + R is regular, and M u' = f + C' lam is the same as

    (M + R) u' = f + R u' + C' lam,    u' = u'_0 + G R u',

where u'_0 is the solution without the force R u' and G the response to forces within the constraints. So
(1 - R^1/2 G_ee R^1/2) b = R^1/2 u'_0 of the lent joints, and R^1/2 b is the force to return. R is small against M: the
matrix is near 1, and singular only if a motion that the constraints allow has no inertia.

Symbols  as in multipliers.py: with Z = D^-1/2 L^-1 R^1/2 and its part F beside the directions Q, the matrix is 1 - F'F.

A division lends inertia to bodies instead, which its passes carry along. In single states a certificate corrects for
it; in runs the force of it is applied, found anew from u' until it stays.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...algebra import spatial as sp
from ...algebra.dense import factorize, solve_factors
from ...compiler.lanes import get, inline, kernel, put, take, view
from ...kernels.kinematics import shift_inertia
from ...layout.system import COUNTS, lengths
from ...system.system import System
from ..dispatch import evaluate, prepare
from ..tree.composite import mass_matrices
from ..tree.composite import workspace as mass_workspace
from ..tree.innovations import pivots
from ..tree.innovations import workspace as pivot_workspace
from .live_rows import MOST_WEIGHED, LiveRows, live_rows, loop_geometry, some_pose
from .sliding import dot_rows, take_off

SHARE = 1e-4  # lent, of a typical inertia: half the digits of 1e-8, below which M + R would look singular
VANISHED = 1e-14  # of M_jj: a pivot that is left over from cancellation
SINGULAR = 1e-10  # of a pivot of 1 - F'F, which is at most 1: rounding
BODY_SHARE = 1e-6  # of the largest mass and moment: what a division lends to bodies without mass that loops hold
RETURNED = 1e-9  # of the forces of that: 1e-15 of others


class Lent(NamedTuple):
    """Work of one state with n lent joint coordinates; empty without any."""

    Z: Any  # (n, nu)
    F: Any  # (n, nu)
    A: Any  # (n, n)  factors of 1 - F'F
    pivot: Any  # (n)
    b: Any  # (n)
    tau: Any  # (nu)  forces, with those returned


def lent_rows(system: System) -> int:
    """Numbers that the Work of one state takes."""
    n, nu = len(lent_armature(system)), system.nu
    return n * (2 * nu + n + 2) + (nu if n else 0)


@inline
def is_lent(m, j):
    return m.resist[j] != m.armature[j] and m.resist[j] < math.inf


@inline
def take_lent(m, buffer, n):
    count = 0
    for j in range(m.nu):
        count += 1 if is_lent(m, j) else 0
    Z, n = take(buffer, n, count * m.nu)
    F, n = take(buffer, n, count * m.nu)
    A, n = take(buffer, n, count * count)
    pivot, n = take(buffer, n, count)
    b, n = take(buffer, n, count)
    tau, n = take(buffer, n, m.nu if count > 0 else 0)
    return Lent(Z, F, A, pivot, b, tau), n


@kernel
def half_solve_unit(m, k, tree, body, e, root, Z, n):
    """Row n of Z: D^-1/2 L^-1 of a force at coordinate e of a body, from there to ground"""
    for l in range(m.nu):
        put(Z, n * m.nu + l, 0.0)
    z, a = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), body
    while a > 0:
        for l in range(m.dof[a + 1] - 1, m.dof[a] - 1, -1):
            d, epsilon = get(tree.d, l), (root if l == e else 0.0) - sp.dot(sp.load6(k.S, l), z)
            put(Z, n * m.nu + l, math.sqrt(d) * epsilon)
            z = sp.axpy(d * epsilon, sp.load6(tree.U, l), z)
        a = m.parent[a]


@kernel
def owe(m, k, w, rank):
    """1 - F'F, factored, behind the factors of all constraint equations; returns the loss by its least pivot"""
    nu, n, lent = m.nu, 0, w.lent
    count = lent.b.shape[0]
    for i in range(1, m.nb):
        for e in range(m.dof[i], m.dof[i + 1]):
            if is_lent(m, e):
                half_solve_unit(m, k, w.tree, i, e, math.sqrt(m.resist[e] - m.armature[e]), lent.Z, n)
                n += 1
    for l in range(count * nu):
        put(lent.F, l, get(lent.Z, l))
    for n in range(count):
        for _ in range(2):  # once more, so that F stays orthogonal
            for s in range(rank):
                r = int(get(w.order, s))
                take_off(w.Y, nu, dot_rows(w.Y, nu, r, lent.F, n), r, lent.F, n)
        for s in range(n + 1):
            product = dot_rows(lent.F, nu, n, lent.F, s)
            put(lent.A, n * count + s, (1.0 if n == s else 0.0) - product)
            put(lent.A, s * count + n, get(lent.A, n * count + s))
    factorize(count, lent.A, lent.pivot)
    least = 1.0
    for n in range(count):
        least = min(least, abs(get(lent.A, n * count + n)))
    if not least > SINGULAR:
        put(lent.A, 0, math.nan)
    return 1.0 / least


@kernel
def give_back(m, lent, tau, udot):
    """lent.tau = tau and the forces R u', from u'_0"""
    n, count = 0, lent.b.shape[0]
    for j in range(m.nu):
        put(lent.tau, j, get(tau, j))
        if is_lent(m, j):
            put(lent.b, n, math.sqrt(m.resist[j] - m.armature[j]) * get(udot, j))
            n += 1
    solve_factors(count, lent.A, lent.pivot, lent.b)
    n = 0
    for j in range(m.nu):
        if is_lent(m, j):
            put(lent.tau, j, get(lent.tau, j) + math.sqrt(m.resist[j] - m.armature[j]) * get(lent.b, n))
            n += 1


@kernel
def give_back_row(nu, lent, Y, f):
    """A force whose half solution is row f of Y, with what it returns"""
    count = lent.b.shape[0]
    for n in range(count):
        put(lent.b, n, dot_rows(lent.F, nu, n, Y, f))
    solve_factors(count, lent.A, lent.pivot, lent.b)
    for n in range(count):
        take_off(lent.Z, nu, -get(lent.b, n), n, Y, f)


# ---------------------------------------------------------------- in a division: inertia of bodies


@kernel
def is_lent_body(m, i):
    """Whether a body has no mass and carries none: as divide/memory.py has it"""
    if m.mass[i] != 0.0:
        return False
    for n in range(i + 1, m.nb):  # noqa: SIM110  kernels know no generators
        if m.parent[n] == i:
            return False
    return True


@kernel
def lends_bodies(m):
    for i in range(1, m.nb):  # noqa: SIM110
        if is_lent_body(m, i):
            return True
    return False


@kernel
def return_inertia(m, k, udot, mine, total):
    """Generalized forces that the inertia lent to bodies takes at u', in ``total`` in place of ``mine``, which become
    they; returns by how much they change, relative to the largest"""
    mass, moment, before = 0.0, 0.0, view(mine, m.nu, m.nu)
    for j in range(m.nu):
        put(before, j, get(mine, j))
        put(mine, j, 0.0)
    for i in range(1, m.nb):
        mass = max(mass, BODY_SHARE * m.mass[i])
        for n in range(6):
            moment = max(moment, BODY_SHARE * m.inertia[6 * i + n])
    for i in range(1, m.nb):
        if is_lent_body(m, i):
            acceleration, a = sp.load6(k.b, i), i
            while a > 0:
                for l in range(m.dof[a], m.dof[a + 1]):
                    acceleration = sp.axpy(get(udot, l), sp.load6(k.S, l), acceleration)
                a = m.parent[a]
            com = sp.add3(sp.load3(k.o, i), sp.mul33(sp.load9(k.R, i), sp.load3(m.com, i)))
            h = sp.scale3(mass, com)
            J = shift_inertia((moment, 0.0, 0.0, moment, 0.0, moment), h, com)
            f, a = sp.rigid_force(mass, h, J, acceleration, sp.load6(k.v, i)), i
            while a > 0:
                for l in range(m.dof[a], m.dof[a + 1]):
                    put(mine, l, get(mine, l) + sp.dot(sp.load6(k.S, l), f))
                a = m.parent[a]
    change, largest = 0.0, 0.0
    for j in range(m.nu):
        put(total, j, get(total, j) + get(mine, j) - get(before, j))
        change, largest = max(change, abs(get(mine, j) - get(before, j))), max(largest, abs(get(mine, j)))
    return change / largest if largest > 0.0 else 0.0


# ---------------------------------------------------------------- what is lent


def lent_armature(system: System) -> dict[int, float]:
    """Armature lent to joint coordinates (kg m^2 or kg), by their number; found once for a System."""
    known = system.workspaces.found.get("lent")
    if known is None:
        rows = live_rows(system)
        held = rows.count > 0 and not system.flexible
        known = system.workspaces.found["lent"] = _without_inertia(system, rows) if held else {}
    return known


def lend(system: System, memory: np.ndarray) -> np.ndarray:
    """The memory of a System, in which the passes find lent armature and the equations of motion do not."""
    lent = lent_armature(system)
    if lent:
        resist = array_in(system, memory, "resist")
        resist[list(lent)] += list(lent.values())
    return memory


def array_in(system: System, memory: np.ndarray, name: str) -> np.ndarray:
    """An array of the System that is packed at the start of a memory."""
    counts = lengths(system.nb, system.nu, system.nc)
    at = COUNTS + sum(counts[before] for before in list(counts)[: list(counts).index(name)])
    return memory[at : at + counts[name]]


def _without_inertia(system: System, rows: LiveRows) -> dict[int, float]:
    """Coordinates whose pivot vanishes, the outermost first: with armature lent to it, others may be regular."""
    found: dict[int, float] = {}
    prepare(pivots, 1, 1)
    memory, D = pivot_workspace(system), np.zeros(system.nu)
    armature = array_in(system, memory, "armature")
    for q in (system.q0.copy(), some_pose(system)):
        M = _diagonal(system, q)
        for _ in range(system.nu):
            pivots(memory, q, D, 0, 1)
            vanished = np.flatnonzero(~(D > VANISHED * M))
            if not vanished.size:
                break
            j = int(vanished[-1])
            found[j] = _typical(system, rows, q)[j]
            armature[j] += found[j]
    return found


def _diagonal(system: System, q: np.ndarray) -> np.ndarray:
    """(nu) Of the mass matrix; zeros where that takes longer than what it is for."""
    if system.nu > MOST_WEIGHED:
        return np.zeros(system.nu)
    return evaluate(mass_matrices, mass_workspace, system, [q], system.nu**2)[:: system.nu + 1]


def _typical(system: System, rows: LiveRows, q: np.ndarray) -> np.ndarray:
    """(nu) SHARE of the median inertia of coordinates in the same unit, else of all by the size of the mechanism."""
    M = _diagonal(system, q)
    S = loop_geometry(system, rows, q, np.zeros(1 + 3 * system.forces.signals)).S[: system.nu]
    rotates = np.abs(S[:, :3]).max(axis=1) > 0.0
    unit = np.where(rotates, rows.size**2, 1.0)  # kg m^2 of a kg
    masses = M / unit
    same = [masses[(rotates == kind) & (M > 0.0)] for kind in (False, True)]
    known = masses[M > 0.0] if (M > 0.0).any() else np.ones(1)
    medians = [float(np.median(x if x.size else known)) for x in same]
    return SHARE * unit * np.where(rotates, medians[1], medians[0])
