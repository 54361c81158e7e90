"""All that other kernels ask of flexible bodies, behind one address for one state and one for lanes.

Compiled once, however many kernels call it: see compiler/function_pointers.py.
"""

from __future__ import annotations

from ...algebra.spatial import load3, load6
from ...compiler import function_pointers as pointers
from ...compiler.dual import DUALS, duals_at
from ...compiler.lanes import LANES, get, inline, kernel, view, view_integers
from ...kernels.kinematics import take_kinematics
from ...kernels.modes import place_deformed, place_ruthless
from ...kernels.unpack import unpack, unpack_modal
from ...layout.modes import RUTHLESS
from ...layout.system import MODAL_MOTION, MODAL_WORK
from ..tree.workspace import take_composite, take_work
from . import elimination as flexible
from . import paths as flexible_paths

MANY = 1 << 40  # rows of an array whose length is not needed


@inline
def dispatch(op, i, n, memory, buffer, a, b, c, d, e):
    m, end = unpack(memory)
    x = unpack_modal(memory, m, end)
    k, after = take_kinematics(m, buffer)
    P = view(buffer, after - m.header[MODAL_MOTION], m.header[MODAL_MOTION])
    return solve(op, i, n, m, x, k, P, a, b, c, d, e)


@kernel
def solve(op, i, n, m, x, k, P, a, b, c, d, e):
    w, after = take_work(m, a, 0)
    E = view(a, after - m.header[MODAL_WORK], m.header[MODAL_WORK])
    if op == pointers.ELIMINATE:
        flexible.eliminate_modes(m, x, k, P, w, E, 0.0, 0.0, i)
    elif op == pointers.STIFFEN:
        flexible.eliminate_modes(m, x, k, P, w, E, get(b, 0), get(b, 1), i)
    elif op == pointers.PRESS or op == pointers.PRESS_ALONE:
        flexible.press(m, x, k, P, w, E, c, n, b, op == pointers.PRESS, i)
    elif op == pointers.ACCELERATE:
        flexible.accelerate_modes(m, x, k, P, w, E, d, n, i)
    elif op == pointers.NEED:
        flexible.carry_out(m, x, k, P, a, b, i, c, d)
    elif op == pointers.NEED_IN:
        flexible.gather_in(m, x, P, a, i, c, d, e)
    elif op == pointers.PUSH:
        flexible.push_nodes(m, x, P, b, a, i)
    elif op == pointers.CARRY:
        flexible.carry_nodes(m, x, k, P, a, i, b)
    elif op == pointers.HOLD:
        flexible.hold_modes(m, x, P, b, a, i)
    elif op == pointers.MASS:
        flexible_paths.fill_mass_matrix(m, x, k, P, take_composite(m, a, 0)[0], b)
    elif op == pointers.ALONG:
        flexible_paths.along_path(m, x, k, P, i, load6(b, n), a, 0, 1)
    elif op == pointers.INNOVATE:
        flexible_paths.fill_innovations(m, x, k, P, w, E, b)
    elif op == pointers.BODY_OUTPUT:
        flexible_paths.output_modes(m, x, k, P, a, b, i, load3(k.point, m.component[i]), c)
    elif op == pointers.SETTLE:
        flexible.settle(m, x, E, b, c, i)
    return 0.0


def one_state(op, i, n, memory, k, a, b, rows, c, d, e):
    """For one state, and with it what takes one at a time"""
    whole, buffer = pointers.numbers_at(memory, MANY), pointers.numbers_at(k, MANY)
    A, B, C = pointers.numbers_at(a, MANY), pointers.numbers_at(b, rows), pointers.numbers_at(c, MANY)
    D, last = pointers.numbers_at(d, MANY), pointers.numbers_at(e, MANY)
    if op == pointers.HALF or op == pointers.HALF_BACK:
        m, end = unpack(whole)
        x = unpack_modal(whole, m, end)
        motion, after = take_kinematics(m, buffer)
        P = view(buffer, after - m.header[MODAL_MOTION], m.header[MODAL_MOTION])
        w, after = take_work(m, A, 0)
        E = view(A, after - m.header[MODAL_WORK], m.header[MODAL_WORK])
        if op == pointers.HALF:
            return flexible_paths.half_solve(m, x, motion, P, w, E, B, C, i)
        flexible_paths.half_solve_back(m, x, motion, P, w, E, B, C)
        return 0.0
    if op == pointers.MODAL:
        return add_to_front(i, n, whole, buffer, A, view_integers(B, 0, rows), C)
    return dispatch(op, i, n, whole, buffer, A, B, C, D, last)


def in_lanes(op, i, n, memory, k, a, b, rows, c, d, e):
    whole, buffer = pointers.numbers_at(memory, MANY), pointers.rows_at(k, MANY)
    A, B, C, D = (
        pointers.rows_at(a, MANY),
        pointers.rows_at(b, rows),
        pointers.rows_at(c, MANY),
        pointers.rows_at(d, MANY),
    )
    if op == pointers.MODAL:
        return add_to_front(i, n, whole, buffer, A, view_integers(pointers.numbers_at(b, rows), 0, rows), C)
    return dispatch(op, i, n, whole, buffer, A, B, C, D, pointers.rows_at(e, MANY))


def in_duals(op, i, n, memory, k, a, b, rows, c, d, e):
    """What takes derivatives: balance, forces of nodes, rows along a path"""
    whole, buffer, A, B = pointers.numbers_at(memory, MANY), duals_at(k, MANY), duals_at(a, MANY), duals_at(b, rows)
    m, end = unpack(whole)
    x = unpack_modal(whole, m, end)
    motion, after = take_kinematics(m, buffer)
    P = view(buffer, after - m.header[MODAL_MOTION], m.header[MODAL_MOTION])
    C, D = duals_at(c, MANY), duals_at(d, MANY)
    if op == pointers.NEED:
        flexible.carry_out(m, x, motion, P, A, B, i, C, D)
    elif op == pointers.NEED_IN:
        flexible.gather_in(m, x, P, A, i, C, D, duals_at(e, MANY))
    elif op == pointers.PUSH:
        flexible.push_nodes(m, x, P, B, A, i)
    return 0.0


@kernel
def add_to_front(i, bias, memory, buffer, w, slots, tau):
    m, end = unpack(memory)
    x = unpack_modal(memory, m, end)
    _, after = take_kinematics(m, buffer)
    P = view(buffer, after - m.header[MODAL_MOTION], m.header[MODAL_MOTION])
    flexible.add_modes(m, x, P, w, slots, tau, float(bias), i)
    return 0.0


@inline
def place(i, memory, buffer, q, u):
    m, end = unpack(memory)
    k, after = take_kinematics(m, buffer)
    P = view(buffer, after - m.header[MODAL_MOTION], m.header[MODAL_MOTION])
    x = unpack_modal(memory, m, end)
    if x.flags[i] & RUTHLESS:
        place_ruthless(m, x, k, P, q, u, i)
    else:
        place_deformed(m, x, k, P, q, u, i)
    return 0.0


def place_one_state(op, i, n, memory, k, a, b, rows, c, d, e):
    return place(
        i,
        pointers.numbers_at(memory, MANY),
        pointers.numbers_at(k, MANY),
        pointers.numbers_at(a, MANY),
        pointers.numbers_at(b, rows),
    )


def place_in_lanes(op, i, n, memory, k, a, b, rows, c, d, e):
    return place(
        i,
        pointers.numbers_at(memory, MANY),
        pointers.rows_at(k, MANY),
        pointers.rows_at(a, MANY),
        pointers.rows_at(b, rows),
    )


def place_in_duals(op, i, n, memory, k, a, b, rows, c, d, e):
    return place(i, pointers.numbers_at(memory, MANY), duals_at(k, MANY), duals_at(a, MANY), duals_at(b, rows))


def address(lanes: int, placing: bool) -> int:
    """Of what solves, or places, the bodies of one state, of LANES of them, or of one with its tangents (DUALS)."""
    functions = (place_one_state, place_in_lanes, place_in_duals) if placing else (one_state, in_lanes, in_duals)
    return pointers.address_of(functions[2 if lanes == DUALS else lanes > 1 and LANES > 1], pointers.FLEXIBLE_CALL)
