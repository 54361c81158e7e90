"""Model to System: check, find the tree, and lay everything into flat arrays.

A system body's own frame is the frame of the joint that carries it, turned so that the joint's axis
is z; kernels then need no fixed transform behind the joint. Welded bodies share a system body.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..errors import warn
from ..joints import CODES, KINDS
from ..layout.system import MODES, NODE
from ..model import Joint, Model, Pose, check
from ..model.check_flexible import one_place
from ..model.forces import Motion
from ..model.pose import Vector, rotations
from .constraints import ANOTHER_CUT
from .joint_frames import joint_frame
from .system import System
from .topology import Edge, Topology, find_topology, rigid_names


def compile_model(model: Model) -> System:
    """Check the whole model and make its System."""
    check.whole(model)
    topology = find_topology(model)
    _warn_of_rotors(model, topology)
    turn, shift = _model_bodies_in_system_bodies(model, topology)
    arrays = _tree_arrays(model, topology, turn, shift)
    _add_inertias(model, topology, turn, shift, arrays)
    return System(model, topology, arrays, turn, shift)


def _warn_of_rotors(model: Model, topology: Topology) -> None:
    """A joint that is cut has no row in the mass matrix."""
    lost = [f"'{joint.name}'" for joint in topology.cuts if joint.armature]
    if lost:
        warn(f"'{model.name}': the armature of {', '.join(lost)}, where loops are cut, does not act; {ANOTHER_CUT}")


def _rotation_and_position(pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    return pose.rotation(), np.array(pose.position)


def _at(model: Model, name: str, pose: Pose | None = None) -> tuple[str, np.ndarray, np.ndarray]:
    """A pose on what is called so, on the body or node that it is: an inboard node is a place on its body's frame."""
    R, p = (np.eye(3), np.zeros(3)) if pose is None else _rotation_and_position(pose)
    body = one_place(model, name)
    if body != name:
        modes = model.flexibles[body].modes
        p = p + modes.r[modes.node(modes.inboard)]
    return body, R, p


def _joint_frame(joint: Joint, turned: bool) -> np.ndarray:
    return _frame_of(joint.kind, joint.axis, joint.axis2, turned)


@lru_cache(1024)  # there are a hundred thousand joints, and few directions
def _frame_of(kind: str, axis: Vector, axis2: Vector, turned: bool) -> np.ndarray:
    return joint_frame(Joint("", kind, "", "", axis, axis2), turned)


def _node_name(edge: Edge) -> str:
    return f"{edge.flexible}/{edge.node}"


def _model_bodies_in_system_bodies(model: Model, topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Pose (turn, shift) of every name of a body in the frame of its system body; row 0 is ground."""
    names = rigid_names(model)
    row = {name: n for n, name in enumerate(names)}
    turn = np.tile(np.eye(3), (len(names), 1, 1))  # first in the frame of the group's first body
    shift = np.zeros((len(names), 3))
    for joint, backward in topology.welds:
        inboard, R1, p1 = _at(model, joint.parent, joint.at)
        outboard, R2, p2 = _at(model, joint.child, joint.child_at)
        R = R1 @ R2.T  # child in parent: at * child_at^-1
        p = p1 - R @ p2
        if backward:
            inboard, outboard, R, p = outboard, inboard, R.T, -(R.T @ p)
        turn[row[outboard]] = turn[row[inboard]] @ R
        shift[row[outboard]] = turn[row[inboard]] @ p + shift[row[inboard]]
    nb = len(topology.edges) + 1
    frame_R, frame_p = np.tile(np.eye(3), (nb, 1, 1)), np.zeros((nb, 3))
    some = [i for i, edge in enumerate(topology.edges, start=1) if edge.joint.kind != "modes"]
    joints = [(edge.joint, edge.turned) for edge in topology.edges if edge.joint.kind != "modes"]
    ends = [(j.parent, j.at) if turned else (j.child, j.child_at) for j, turned in joints]
    frame_R[some], frame_p[some] = _placed(model, row, turn, shift, ends, joints)
    body_of = np.array([topology.group[name] for name in names])
    R = frame_R[body_of]
    return np.einsum("nji,njk->nik", R, turn), np.einsum("nji,nj->ni", R, shift - frame_p[body_of])


def _placed(
    model: Model,
    row: dict[str, int],
    turn: np.ndarray,
    shift: np.ndarray,
    ends: list[tuple[str, Pose]],
    joints: list[tuple[Joint, bool]],
) -> tuple[np.ndarray, np.ndarray]:
    """Frames of joints, each turned or not, at places on named bodies: rotations and points, as (turn, shift) are."""
    n = np.array([row[one_place(model, name)] for name, _ in ends], int)
    R = rotations(np.array([pose.quaternion for _, pose in ends]).reshape(-1, 4))
    p = np.array([pose.position for _, pose in ends]).reshape(-1, 3)
    for k, (name, pose) in enumerate(ends) if model.flexibles else ():
        p[k] = _at(model, name, pose)[2]
    F = np.array([_joint_frame(*each) for each in joints]).reshape(-1, 3, 3)
    return turn[n] @ R @ F, (turn[n] @ p[..., None])[..., 0] + shift[n]


def _tree_arrays(model: Model, topology: Topology, turn: np.ndarray, shift: np.ndarray) -> dict[str, np.ndarray]:
    row = {name: n for n, name in enumerate(rigid_names(model))}
    nb = len(topology.edges) + 1
    sizes = np.array([(0, 0)] + [_dofs(e) for e in topology.edges])
    parent = np.array([0] + [e.parent for e in topology.edges])
    on_ground = np.flatnonzero(parent[1:] == 0) + 1
    component = np.zeros(nb, int)
    component[on_ground] = np.arange(len(on_ground))
    for i in range(1, nb):
        if parent[i]:
            component[i] = component[parent[i]]
    parameter, numbers = _parameters(topology)
    arrays = {
        "parent": parent,
        "kind": np.array([0] + [CODE_OF[e.joint.kind] for e in topology.edges]),
        "position": np.concatenate([[0], np.cumsum(sizes[:, 0])]),
        "dof": np.concatenate([[0], np.cumsum(sizes[:, 1])]),
        "component": component,
        "first": np.zeros(nb, bool),
        "parameter": parameter,
        "numbers": numbers,
        "sign": np.array([1.0] + [-1.0 if e.turned else 1.0 for e in topology.edges]),
        "armature": np.repeat([0.0] + [e.joint.armature for e in topology.edges], sizes[:, 1]),
        "gravity": np.array(model.gravity),
    }
    dof = arrays["dof"]
    arrays["resist"] = arrays["armature"].copy()
    first_row = {edge.joint.name: dof[i] for i, edge in enumerate(topology.edges, start=1)}
    for force in model.forces.values():
        if isinstance(force, Motion) and force.joint in first_row:
            arrays["resist"][first_row[force.joint] + force.dof] = np.inf
    arrays["up"] = np.arange(dof[-1]) - 1  # within a joint, and on from its first DOF to the parent's last
    last = np.full(nb, -1)  # DOF of a body or, of one that has none, of what carries it
    for i in range(1, nb):
        last[i] = last[parent[i]]
        if sizes[i, 1]:
            arrays["up"][dof[i]] = last[i]
            last[i] = dof[i + 1] - 1
    last_child = np.zeros(nb, int)
    last_child[parent[1:]] = np.arange(1, nb)  # the highest numbered child wins: it is met first going inward
    arrays["first"][last_child[last_child > 0]] = True
    Rt, pt = np.tile(np.eye(3), (nb, 1, 1)), np.zeros((nb, 3))
    some = [i for i, edge in enumerate(topology.edges, start=1) if edge.modes is None]
    joints = [(edge.joint, edge.turned) for edge in topology.edges if edge.modes is None]
    ends = [(j.child, j.child_at) if turned else (j.parent, j.at) for j, turned in joints]
    Rt[some], pt[some] = _placed(model, row, turn, shift, ends, joints)
    for i, edge in enumerate(topology.edges, start=1):
        if edge.modes is None:
            continue
        there = edge.modes.r[edge.modes.node(edge.node)]
        if edge.joint.kind == "node":
            pt[i] = there  # in its body's frame, at rest
            continue
        body, R, p = _at(model, _node_name(edge))  # the node that carries it, less its place
        n = row[body]
        Rt[i], pt[i] = turn[n] @ R @ _joint_frame(edge.joint, edge.turned), turn[n] @ (p - there) + shift[n]
    arrays["base"] = pt[on_ground]
    pt[on_ground] = 0.0
    return arrays | {"Rt": Rt, "pt": pt}


CODE_OF = CODES | {"node": NODE, "modes": MODES}


def _parameters(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """The parameter of each body's joint: a pitch, or where its kind's own numbers begin; and all of those."""
    parameter, numbers = [0.0], [np.zeros(0)]
    for edge in topology.edges:
        kind = KINDS.get(edge.joint.kind)
        if kind is None or kind.numbers is None:
            parameter.append(edge.joint.pitch)
            continue
        parameter.append(float(sum(map(len, numbers))))
        numbers.append(kind.numbers(edge.joint))
    return np.array(parameter), np.concatenate(numbers)


def _dofs(edge: Edge) -> tuple[int, int]:
    """Length of q and of u."""
    if edge.modes is None:
        return KINDS[edge.joint.kind].nq, KINDS[edge.joint.kind].nu
    return (edge.modes.count,) * 2 if edge.joint.kind == "modes" else (0, 0)


def _add_inertias(
    model: Model, topology: Topology, turn: np.ndarray, shift: np.ndarray, arrays: dict[str, np.ndarray]
) -> None:
    """Mass, centre of mass and inertia about it of every system body, from the model bodies that ride on it."""
    nb = len(topology.edges) + 1
    bodies = list(model.bodies.values())
    here = slice(1, 1 + len(bodies))
    on = np.array([topology.group[b.name] for b in bodies], int)
    R = turn[here]
    mass = np.array([b.mass for b in bodies])
    com = np.einsum("nij,nj->ni", R, np.array([b.com for b in bodies]).reshape(-1, 3)) + shift[here]
    inertia = np.einsum("nij,njk,nlk->nil", R, np.array([b.inertia for b in bodies]).reshape(-1, 3, 3), R)
    total, moment = np.zeros(nb), np.zeros((nb, 3))
    np.add.at(total, on, mass)
    np.add.at(moment, on, mass[:, None] * com)
    centre = moment / np.where(total > 0, total, 1.0)[:, None]
    d = com - centre[on]
    about = inertia + mass[:, None, None] * (
        np.einsum("ni,ni->n", d, d)[:, None, None] * np.eye(3) - d[:, :, None] * d[:, None, :]
    )
    tensor = np.zeros((nb, 3, 3))
    np.add.at(tensor, on, about)
    for i, edge in enumerate(topology.edges, start=1):
        if edge.modes is not None and edge.joint.kind == "modes":  # as it is undeformed
            total[i], centre[i] = edge.modes.mass, edge.modes.h0 / edge.modes.mass
            tensor[i] = edge.modes.J0 - total[i] * (centre[i] @ centre[i] * np.eye(3) - np.outer(centre[i], centre[i]))
    total[0], centre[0], tensor[0] = 0.0, 0.0, 0.0  # ground does not move
    upper = np.triu_indices(3)
    arrays |= {"mass": total, "com": centre, "inertia": tensor[:, upper[0], upper[1]]}
