"""All steps of one evaluation in one call, where one process has all subchains and eliminates the loads at the cuts."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...compiler.lanes import entry, view
from ...kernels.blocks import checksum
from .cut_forces import answer_pieces, copy_rows, inward_pieces, make_elements, open_cuts, place_pieces, push_ends
from .cut_frames import compose_bases, show_faces
from .cut_joints import connect
from .cut_layout import SUBCHAIN
from .elements import eliminate, gather_rows, gather_weights, scale_elements


class Room(NamedTuple):
    """The arrays of Pieces and of its solver, by the names that they have there."""

    memory: Any
    table: Any
    cuts: Any
    blocks: Any
    tree: Any
    lending: Any
    centre: Any
    origin: Any
    faces: Any
    moves: Any
    joints: Any
    ends: Any
    Y: Any
    q: Any
    u: Any
    tau: Any
    udot: Any
    own_q: Any
    own_u: Any
    q_rows: Any
    u_rows: Any
    q_here: Any
    u_here: Any
    where: Any
    K: Any
    g: Any
    weight: Any
    units: Any
    psi: Any
    total: Any
    loads: Any
    f: Any
    work: Any
    X: Any
    y: Any
    mine: Any


@entry
def evaluate_whole(a, q, u, tau, wrench, udot, width):
    """u' of the System. Returns 0 if all is well, 1 + the cut whose pivot is lost, or what is not a number"""
    subchains = a.table.shape[0] // SUBCHAIN
    copy_rows(q, a.q_rows, a.q, a.q_here)
    copy_rows(u, a.u_rows, a.u, a.u_here)
    copy_rows(tau, a.u_rows, a.tau, a.u_here)
    place_pieces(a.memory, a.table, a.blocks, a.q, a.u, a.tau, a.centre)  # III, IV
    compose_bases(a.memory, a.table, a.cuts, a.tree, a.centre, a.origin, q, u, a.faces, a.own_q, a.own_u)  # II
    show_faces(a.memory, a.table, a.cuts, a.origin, a.faces, 0, subchains)
    connect(a.cuts, a.tree, a.lending, q, u, tau, a.faces, a.joints, a.mine)  # VII
    inward_pieces(a.memory, a.blocks, wrench)  # V
    make_elements(a.memory, a.table, a.cuts, a.joints, a.ends, a.Y, a.K, a.g, a.weight, width, 0, subchains)  # VI
    for n in range(a.total.shape[0]):
        a.total[n] = 0.0
    gather_weights(a.where, a.weight, a.total, width, 0, subchains)
    scale_elements(a.where, a.total, a.K, a.g, a.units, width, 0, subchains)
    gather_rows(a.where, a.g, a.psi, width, 0, subchains)
    lost = eliminate(a.table, a.cuts, a.where, a.K, a.g, a.work, a.X, a.y, a.f, width)  # VIII
    if lost > 0:
        return float(lost)
    for n in range(a.loads.shape[0]):
        a.loads[n] = a.f[n] * a.units[n]
    push_ends(a.memory, a.table, a.where, a.ends, a.Y, a.loads, a.moves, width, False, 0, subchains)  # IX
    answer_pieces(a.memory, a.blocks, a.udot)
    copy_rows(a.udot, a.u_here, udot, a.u_rows)
    open_cuts(a.cuts, a.tree, a.joints, a.moves, udot, a.mine)
    return checksum(view(udot, 0, udot.shape[0]))
