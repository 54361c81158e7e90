"""Named mechanisms for the tests, seeded random ones, and states of them.

``ZOO`` are trees and ``LOOPS`` have closed loops: dicts name -> function of no arguments that returns a Model.
"""

from functools import partial

import numpy as np
from hypothesis import strategies as st

from whippletree.model import JOINT_KINDS, Model, Pose
from whippletree_lab.reproduce.problems import chain3d, floating_tree, puma560, rod_chain

MOVING = tuple(kind for kind in JOINT_KINDS if kind != "fixed")
PRINCIPAL = ("x", "y", "z", "-x", "-y", "-z")


def unit(rng, n):
    x = rng.normal(size=n)
    return x / np.linalg.norm(x)


def random_pose(rng, reach=0.5):
    return Pose(tuple(rng.uniform(-reach, reach, 3)), tuple(unit(rng, 4)))


def random_solid(rng):
    """Mass, centre and inertia of a cloud of points, so that every rule of a solid holds."""
    points = rng.normal(size=(6, 3)) * rng.uniform(0.1, 0.4, 3)
    mass, spread = rng.uniform(0.5, 3.0), np.cov(points.T, bias=True)
    return {
        "mass": mass,
        "com": rng.uniform(-0.3, 0.3, 3),
        "inertia": mass * (np.trace(spread) * np.eye(3) - spread),
    }


def random_axes(kind, rng, principal=False):
    """The axis arguments of a joint of this kind."""
    if kind in ("fixed", "spherical", "free"):
        return {}
    if kind == "curve":
        return random_curve(rng)
    if kind == "universal":
        first = unit(rng, 3)
        second = np.cross(first, unit(rng, 3))
        return {"axis": first, "axis2": second / np.linalg.norm(second)}
    axes = {"axis": str(rng.choice(PRINCIPAL)) if principal else unit(rng, 3)}
    if kind == "screw":
        axes["pitch"] = rng.uniform(-0.3, 0.3)
    return axes


def random_curve(rng):
    """Open along x or closed round z, of either orientation; up is across both."""
    count = int(rng.integers(6, 9))
    closed = bool(rng.random() < 0.5)
    angle = np.linspace(0.0, 2 * np.pi, count, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0.3 * np.cos(2 * angle)], axis=-1)
    line = np.stack([0.5 * np.arange(count), *np.zeros((2, count))], axis=-1)
    points = (ring if closed else line) + rng.uniform(-0.08, 0.08, (count, 3))
    up = np.array([0.0, 0.0, 1.0]) + rng.uniform(-0.3, 0.3, (count, 3))
    shape = {"points": points.tolist(), "closed": closed, "up": up.tolist() if rng.random() < 0.5 else (0.1, 0.1, 1.0)}
    return shape | {"orientation": str(rng.choice(("fixed", "tangent")))}


def random_model(rng, bodies=8, kinds=MOVING, reversed_joints=True, branching=True, armature=False, welds=0.0):
    """A random tree. Kinds are taken in turn, so all of them occur when there are bodies enough.

    ``reversed_joints``: every other joint, on average, is written from the body towards ground.
    ``welds``: probability that a joint is fixed instead. A few named frames are added.
    """
    model = Model("random", gravity=tuple(rng.uniform(-10, 10, 3)))
    names = ["ground"]
    order = list(rng.permutation(kinds)) * (bodies // len(kinds) + 1)
    for i in range(bodies):
        name = f"body{i}"
        near = names[int(rng.integers(len(names)))] if branching else names[-1]
        model.body(name, **random_solid(rng))
        kind = "fixed" if i and rng.random() < welds else str(order[i])
        axes = random_axes(kind, rng, principal=rng.random() < 0.5)
        ends = (name, near) if reversed_joints and rng.random() < 0.5 else (near, name)
        rotor = rng.uniform(0.0, 0.5) if armature and kind != "free" else 0.0
        places = {"at": random_pose(rng), "child_at": random_pose(rng)}
        model.joint(f"{kind}{i}", kind, *ends, armature=rotor, **places, **axes)
        names.append(name)
    model.frame("tip", names[-1], random_pose(rng))
    model.frame("mark", names[int(rng.integers(len(names)))], random_pose(rng))
    return model


@st.composite
def models(draw, most_bodies=9):
    """Random trees for hypothesis: it shrinks the number of bodies, the kinds and the options."""
    kinds = draw(st.lists(st.sampled_from(MOVING), min_size=1, max_size=8, unique=True))
    return random_model(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        bodies=draw(st.integers(1, most_bodies)),
        kinds=kinds,
        reversed_joints=draw(st.booleans()),
        branching=draw(st.booleans()),
        armature=draw(st.booleans()),
        welds=draw(st.sampled_from((0.0, 0.3))),
    )


def random_joint_q(kind, rng):
    """Coordinates of one joint; quaternions are unit and angles go more than once round."""
    if kind == "spherical":
        return unit(rng, 4)
    if kind == "free":
        return np.concatenate([rng.uniform(-2, 2, 3), unit(rng, 4)])
    if kind == "homokinetic":  # folded back, at pi, it is singular
        return rng.uniform(-1.5, 1.5, 2)
    return rng.uniform(-4, 4, JOINT_KINDS[kind][0])


def random_state(system, rng, count=None):
    """q, u and tau of a System, as (n,) or with ``count`` as (count, n)."""
    if count is not None:
        return tuple(np.array(x) for x in zip(*(random_state(system, rng) for _ in range(count)), strict=True))
    q = np.empty(system.nq)
    for name in system.joints:
        q[system.q_index(name)] = random_joint_q(system.model.joints[name].kind, rng)
    return q, rng.normal(size=system.nu), 10 * rng.normal(size=system.nu)


def random_coordinates(model, rng):
    """q and u as dicts joint name -> numbers, without a System."""
    moving = [j for j in model.joints.values() if j.kind != "fixed"]
    q = {j.name: random_joint_q(j.kind, rng) for j in moving}
    return q, {j.name: rng.normal(size=JOINT_KINDS[j.kind][1]) for j in moving}


def pendulum():
    model = Model("pendulum")
    model.body("bob", mass=1.5, com=(0, 0, -0.8), inertia=(0.02, 0.03, 0.01))
    model.joint("hinge", "revolute", "ground", "bob", axis="y")
    return model


def chain(n, axis="y"):
    """Uniform rods end to end, hinged about one axis."""
    model = Model(f"chain {n}")
    for i in range(n):
        model.body(f"rod{i}", mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 1 / 12, 1 / 12))
        near, place = (f"rod{i - 1}", (1.0, 0, 0)) if i else ("ground", (0.0, 0, 0))
        model.joint(f"hinge{i}", "revolute", near, f"rod{i}", axis=axis, at=place)
    return model


def spatial_chain(n=10, seed=3):
    """Revolute and prismatic joints about random axes at random poses."""
    rng = np.random.default_rng(seed)
    return random_model(rng, n, ("revolute", "revolute", "prismatic"), reversed_joints=False, branching=False)


def tree(seed=5, bodies=16):
    """A branched tree with all joint kinds, half of the joints written towards ground."""
    return random_model(np.random.default_rng(seed), bodies, MOVING, armature=True, welds=0.1)


def free_body():
    model = Model("free body")
    model.body(
        "stone", mass=2.0, com=(0.1, -0.2, 0.3), inertia=((0.3, 0.02, -0.01), (0.02, 0.4, 0.03), (-0.01, 0.03, 0.5))
    )
    model.joint("flight", "free", "ground", "stone")
    return model


def floating_pair():
    """Two bodies in space, joined by a hinge, without gravity."""
    rng = np.random.default_rng(11)
    model = Model("floating pair", gravity=(0, 0, 0))
    model.body("one", **random_solid(rng))
    model.body("two", **random_solid(rng))
    model.joint("flight", "free", "ground", "one")
    model.joint("hinge", "revolute", "one", "two", axis=(1, 2, 3), at=random_pose(rng), child_at=random_pose(rng))
    return model


def spherical_chain(n=5):
    rng = np.random.default_rng(13)
    return random_model(rng, n, ("spherical",), reversed_joints=False, branching=False)


def one_kind(kind, reverse=False, principal=True):
    """Three bodies in a row, all joints of one kind, with poses on both sides."""
    rng = np.random.default_rng(100 + MOVING.index(kind))
    model = Model(f"{kind} row" + (" reversed" if reverse else ""))
    near = "ground"
    for i in range(3):
        model.body(f"link{i}", **random_solid(rng))
        ends = (f"link{i}", near) if reverse else (near, f"link{i}")
        axes = random_axes(kind, rng, principal)
        model.joint(f"joint{i}", kind, *ends, at=random_pose(rng), child_at=random_pose(rng), **axes)
        near = f"link{i}"
    return model


def reversed_kinds():
    """One chain with a joint of every kind, each written from the outer body to the inner one."""
    rng = np.random.default_rng(17)
    model = Model("reversed kinds")
    near = "ground"
    for i, kind in enumerate(MOVING):
        model.body(f"link{i}", **random_solid(rng))
        places = {"at": random_pose(rng), "child_at": random_pose(rng)}
        model.joint(kind, kind, f"link{i}", near, **places, **random_axes(kind, rng))
        near = f"link{i}"
    return model


def welds():
    """Fixed joints on ground, in the middle, in a row, at leaves, and written towards ground."""
    rng = np.random.default_rng(19)
    model = Model("welds")
    joints = (
        ("fixed", "ground", "post"),
        ("revolute", "post", "upper"),
        ("fixed", "upper", "plate"),
        ("fixed", "knob", "plate"),
        ("universal", "knob", "lower"),
        ("spherical", "plate", "side"),
        ("fixed", "lower", "tip"),
        ("fixed", "flag", "side"),
        ("fixed", "flag", "pole"),
        ("prismatic", "pole", "slide"),
    )
    for i, (kind, parent, child) in enumerate(joints):
        for name in (parent, child):
            if name != "ground" and name not in model.bodies:
                model.body(name, **random_solid(rng))
        places = {"at": random_pose(rng), "child_at": random_pose(rng)}
        model.joint(f"{kind}{i}", kind, parent, child, **places, **random_axes(kind, rng))
    model.frame("tool", "tip", random_pose(rng))
    model.frame("corner", "post", random_pose(rng))
    return model


def two_arms():
    """Two arms on ground that share nothing: the mass matrix has two blocks."""
    rng = np.random.default_rng(23)
    model = Model("two arms")
    for side in ("left", "right"):
        near = "ground"
        for i, kind in enumerate(("revolute", "universal", "cylindrical")):
            model.body(f"{side}{i}", **random_solid(rng))
            at, axes = random_pose(rng), random_axes(kind, rng)
            model.joint(f"{side}_{kind}", kind, near, f"{side}{i}", at=at, **axes)
            near = f"{side}{i}"
    return model


def offset_frames():
    """The joint sits far from the child's origin: only child_at is given."""
    rng = np.random.default_rng(29)
    model = Model("offset frames")
    near = "ground"
    for i, kind in enumerate(("revolute", "planar", "spherical", "screw")):
        model.body(f"link{i}", **random_solid(rng))
        axes = random_axes(kind, rng, principal=True)
        model.joint(kind, kind, near, f"link{i}", child_at=random_pose(rng, reach=2.0), **axes)
        near = f"link{i}"
    return model


def armature():
    """Rotors on joints of all kinds but free, of the size of the links' own inertia."""
    rng = np.random.default_rng(31)
    kinds = tuple(k for k in MOVING if k != "free")
    return random_model(rng, 7, kinds, armature=True)


def far_base():
    """A gantry a kilometre from the world origin: digits are lost unless the dynamics move along."""
    rng = np.random.default_rng(37)
    model = Model("far base")
    near, place = "ground", (1e3, -1e3, 1e3)
    for i, kind in enumerate(("prismatic", "prismatic", "revolute", "universal", "revolute")):
        model.body(f"link{i}", **random_solid(rng))
        axes = random_axes(kind, rng)
        model.joint(f"{kind}{i}", kind, near, f"link{i}", at=place, child_at=random_pose(rng), **axes)
        near, place = f"link{i}", random_pose(rng)
    return model


def four_bar():
    model = Model("four bar")
    for name, length in (("crank", 0.2), ("coupler", 0.6), ("rocker", 0.5)):
        model.body(name, mass=length, com=(length / 2, 0, 0), inertia=(1e-4, length**3 / 12, length**3 / 12))
    model.joint("shaft", "revolute", "ground", "crank", axis="y")
    model.joint("pin", "revolute", "crank", "coupler", axis="y", at=(0.2, 0, 0))
    model.joint("wrist", "revolute", "coupler", "rocker", axis="y", at=(0.6, 0, 0), child_at=(0.5, 0, 0))
    model.joint("pivot", "revolute", "ground", "rocker", axis="y", at=(0.7, 0, 0))
    return model


def ladder(n):
    """Two rails of n rods each, with n rungs between them: n coupled loops."""
    model = Model(f"ladder {n}")
    rod = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (1e-4, 1 / 12, 1 / 12)}
    for i in range(n):
        for part in ("left", "right", "rung"):
            model.body(f"{part}{i}", **rod)
        for side, y in (("left", 0.0), ("right", 1.0)):
            near, place = (f"{side}{i - 1}", (1.0, 0, 0)) if i else ("ground", (0.0, y, 0.0))
            model.joint(f"{side}_hinge{i}", "revolute", near, f"{side}{i}", axis="z", at=place)
        turned = {"position": (1.0, 0, 0), "rpy": (0, 0, np.pi / 2)}
        model.joint(f"rung_pin{i}", "revolute", f"left{i}", f"rung{i}", axis="z", at=turned)
        model.joint(f"rung_end{i}", "revolute", f"rung{i}", f"right{i}", axis="z", at=(1.0, 0, 0), child_at=(1.0, 0, 0))
    return model


ZOO = {
    "pendulum": pendulum,
    "double_pendulum": partial(chain, 2),
    "chain_20": partial(chain, 20),
    "spatial_chain": spatial_chain,
    "tree_5": tree,
    "tree_6": partial(tree, 6, 24),
    "free_body": free_body,
    "floating_pair": floating_pair,
    "spherical_chain": spherical_chain,
    **{f"{kind}_row": partial(one_kind, kind) for kind in ("screw", "cylindrical", "universal", "planar")},
    "planar_row_any_axis": partial(one_kind, "planar", principal=False),
    **{f"{kind}_row_reversed": partial(one_kind, kind, reverse=True) for kind in MOVING},
    "reversed_kinds": reversed_kinds,
    "welds": welds,
    "two_arms": two_arms,
    "offset_frames": offset_frames,
    "armature": armature,
    "far_base": far_base,
    "puma560": puma560,
    "rod_chain": rod_chain,
    "chain3d": chain3d,
    "floating_tree": floating_tree,
}

LOOPS = {"four_bar": four_bar, "ladder_3": partial(ladder, 3)}
