"""Mechanisms with loops for the tests: those of the papers, with a start that closes, and seeded random ones.

Every function returns ``system, q, u`` with loops closed and velocities that keep them closed. Which joint of a loop is
cut is the topology's choice, so a start is given for all joints and a System takes what it needs (``start``).
"""

import numpy as np
from scipy.spatial.transform import Rotation

from loop_reference import constraint_rows
from reference import Reference, matrix, relative
from whippletree.model import JOINT_KINDS, Joint, Model, Pose, Sine, Visual
from whippletree.model.pose import quaternion_from_matrix
from whippletree.system.topology import find_topology
from whippletree_lab.reproduce.loop_problems import andrews, bricard, five_bar, n_four_bar, start
from zoo import four_bar as four_bar_model
from zoo import random_axes, random_joint_q, random_model, random_pose, random_solid, unit

Z = (0.0, 0.0, 1.0)


# ---- mechanisms of the tests


def slider_crank_model():
    """A crank 0.2, a rod 0.6 and a block on the x axis, in the plane x-z; q = 0 is stretched out along x."""
    model = Model("slider crank")
    for name, long in (("crank", 0.2), ("rod", 0.6)):
        I = long**3 / 12
        model.body(name, mass=long, com=(long / 2, 0, 0), inertia=(1e-4, I, I))
    model.body("block", mass=0.5, inertia=(1e-3,) * 3)
    model.joint("shaft", "revolute", "ground", "crank", axis="y")
    model.joint("pin", "revolute", "crank", "rod", axis="y", at=(0.2, 0, 0))
    model.joint("wrist", "revolute", "rod", "block", axis="y", at=(0.6, 0, 0))
    model.joint("slider", "prismatic", "ground", "block", axis="x", at=(0.8, 0, 0))
    return model


def slider_crank(angle=0.7, speed=5.0):
    system = slider_crank_model().compile()
    lean = np.arcsin(0.2 * np.sin(angle) / 0.6)  # of the rod against the x axis, the other way round
    rate = 0.2 * np.cos(angle) * speed / (0.6 * np.cos(lean))
    q = {"shaft": angle, "pin": -angle - lean, "wrist": lean, "slider": 0.2 * np.cos(angle) + 0.6 * np.cos(lean) - 0.8}
    way = -0.2 * np.sin(angle) * speed - 0.6 * np.sin(lean) * rate
    return system, *start(system, q, {"shaft": speed, "pin": -speed - rate, "wrist": rate, "slider": way})


def four_bar_angles(crank, coupler, rocker, base, angle):
    """Absolute angles about y of coupler and rocker: circles about the crank's tip and the rocker's foot meet above."""
    tip = np.array([crank * np.cos(angle), -crank * np.sin(angle)])  # x and z: a turn about y takes x to -z
    d = np.array([base, 0.0]) - tip
    far = np.hypot(*d)
    along = (coupler**2 - rocker**2 + far**2) / (2 * far)
    wrist = tip + along * d / far + np.sqrt(coupler**2 - along**2) * np.array([-d[1], d[0]]) / far
    return [np.arctan2(-v[1], v[0]) for v in (wrist - tip, wrist - [base, 0.0])]


def four_bar(angle=1.0, speed=3.0):
    """A crank-rocker, closed."""
    system = four_bar_model().compile()
    coupler, rocker = four_bar_angles(0.2, 0.6, 0.5, 0.7, angle)
    q = {"shaft": angle, "pin": coupler - angle, "wrist": rocker - coupler, "pivot": rocker}
    full, _ = start(system, q)
    return system, full, with_velocities(system, full, {"shaft": speed})


STEWART_HEIGHT = 0.9


def stewart_model():
    """A platform on six legs: universal joints on ground, slides, balls at the platform. q0 is level and closed."""
    model = Model("stewart")
    plate = Visual("cylinder", (0.3, 0.03))
    model.body("platform", mass=20.0, inertia=(0.6, 0.6, 1.2), visuals=[plate])
    for i in range(6):
        side = 1 if i % 2 else -1
        low = np.deg2rad(120 * (i // 2) + 50 * side)
        high = np.deg2rad(120 * (i // 2) + 15 * side)
        foot = np.array([0.6 * np.cos(low), 0.6 * np.sin(low), 0.0])
        ball = np.array([0.3 * np.cos(high), 0.3 * np.sin(high), STEWART_HEIGHT])
        long = np.linalg.norm(ball - foot)
        z = (ball - foot) / long
        x = np.cross([0.0, 1.0, 0.0], z)
        x /= np.linalg.norm(x)
        R = np.column_stack([x, np.cross(z, x), z])
        turn = quaternion_from_matrix(R)
        model.body(f"cylinder{i}", mass=2.0, com=(0, 0, 0.25), inertia=(0.04, 0.04, 0.001))
        model.body(f"rod{i}", mass=1.0, com=(0, 0, -0.25), inertia=(0.02, 0.02, 0.0002))
        model.joint(f"foot{i}", "universal", "ground", f"cylinder{i}", axis="x", axis2="y", at=Pose(tuple(foot), turn))
        model.joint(f"slide{i}", "prismatic", f"cylinder{i}", f"rod{i}", axis="z", at=(0, 0, long))
        back = Pose((0.0, 0.0, 0.0), quaternion_from_matrix(R.T))
        place = tuple(ball - [0, 0, STEWART_HEIGHT])
        model.joint(f"ball{i}", "spherical", f"rod{i}", "platform", at=back, child_at=place)
    return model


def stewart(seed=3):
    """At the level pose, moving in all six DOF."""
    system = stewart_model().compile()
    q, _ = start(system, {})
    velocities = np.random.default_rng(seed).normal(size=system.nu)
    return system, q, onto_rows(system, q, velocities)


def leg_model():
    """A robot's leg on a stand: a motor on the thigh turns the shank through a crank and a rod beside the thigh."""
    model = Model("leg")
    model.body("trunk", mass=8.0, inertia=(0.06, 0.08, 0.1))
    model.body("hip", mass=1.2, com=(0, 0.03, 0), inertia=(1e-3, 1e-3, 1e-3))
    model.body("thigh", mass=1.5, com=(0, 0, -0.12), inertia=(0.012, 0.012, 1e-3))
    model.body("shank", mass=0.6, com=(0.005, 0, -0.14), inertia=(6e-3, 6e-3, 2e-4))
    model.body("crank", mass=0.2, com=(0.03, 0, 0), inertia=(2e-5, 1e-4, 1e-4))
    model.body("rod", mass=0.15, com=(0, 0, -0.15), inertia=(1.2e-3, 1.2e-3, 1e-5))
    model.joint("rail", "prismatic", "ground", "trunk", axis="z", at=(0, 0, 0.7))
    model.joint("abduction", "revolute", "trunk", "hip", axis="x")
    model.joint("thigh_motor", "revolute", "hip", "thigh", axis="y", at=(0, 0.06, 0), armature=0.02)
    model.joint("crank_motor", "revolute", "thigh", "crank", axis="y", at=(0, 0.03, 0), armature=0.02)
    model.joint("rod_top", "universal", "crank", "rod", axis="y", axis2="x", at=(0.06, 0, 0))
    model.joint("rod_end", "spherical", "rod", "shank", at=(0, 0, -0.3), child_at=(0.06, 0.03, 0))
    model.joint("knee", "revolute", "thigh", "shank", axis="y", at=(0, 0, -0.3))
    model.frame("foot", "shank", (0, 0, -0.3))
    model.force("bungee", "spring", body="trunk", to_at=(0, 0, 2.0), stiffness=300.0, damping=20.0, length=0.95)
    model.force("hold", "motor", joint="abduction", position=0.0, kp=80.0, kd=2.0)
    for joint in ("thigh_motor", "crank_motor"):
        model.force(f"{joint}_drive", "motor", joint=joint, position=Sine(0.3, 1.0), kp=120.0, kd=3.0, limit=60.0)
    return model


def leg(seed=4):
    system = leg_model().compile()
    q, _ = start(system, {})
    return system, q, onto_rows(system, q, np.random.default_rng(seed).normal(size=system.nu))


MECHANISMS = {
    "four_bar": four_bar,
    "slider_crank": slider_crank,
    "five_bar_A": five_bar,
    "five_bar_B": lambda: five_bar("B"),
    "andrews": andrews,
    "bricard": bricard,
    "n_four_bar_1": lambda: n_four_bar(1, 0.8),
    "n_four_bar_5": lambda: n_four_bar(5, 2.0),
    "stewart": stewart,
    "leg": leg,
}


# ---- velocities that keep loops closed


def onto_rows(system, q, u, t=0.0):
    """The velocities nearest to u that keep every row where it is."""
    _, C, _, speed = constraint_rows(system.model, system, q, u, t)
    return u - np.linalg.pinv(C, rcond=1e-9) @ speed


def with_velocities(system, q, given):
    """Velocities that keep loops closed, some of them given by joint."""
    _, C, _, _ = constraint_rows(system.model, system, q, np.zeros(system.nu))
    pick = np.array([np.eye(system.nu)[system.u_index(name).start] for name in given])
    target = np.concatenate([np.zeros(len(C)), list(given.values())])
    return np.linalg.lstsq(np.vstack([C, pick]), target, rcond=1e-9)[0]


# ---- random loops


FAMILIES = ("spatial", "planar", "turned_planar", "floating_planar", "spherical", "doubled", "welded", "constrained")
CLOSING = ("revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical")
SMALLEST, CLEAR = 1e-11, 1e-5  # singular values below are zero, above are not; in between a model is drawn again


def random_loops(rng, family=None, bodies=None, loops=None):
    """A random mechanism with loops, closed at a random pose: system, q, u, tau.

    Made by joining bodies of a random tree once more where they are. Spatial families take every joint kind in turn;
    planar ones have redundant rows, exactly (planar) or to rounding (turned, on ground or on a body that moves);
    spherical loops turn about one point; doubled ones have two hinges on one axis; welded ones close by a weld;
    constrained ones by what is not a joint. At least one DOF is left, and the rank is clear.
    """
    family = family or str(rng.choice(FAMILIES))
    while True:
        size = bodies or int(rng.integers(4, 9))
        count = loops or int(rng.integers(1, 4))
        model, q = MAKERS[family](rng, size)
        motions = Reference(model).motion(q)
        closed = sum(_close(rng, family, model, q, motions, f"close{i}") for i in range(count))
        if not closed:
            continue
        cuts = {joint.name for joint in find_topology(model).cuts}
        if any({getattr(c, "joint", None), getattr(c, "of", None)} & cuts for c in model.constraints.values()):
            continue  # gears are between joints of the tree
        for name in cuts:
            model.joints[name].armature = 0.0  # which would not act
        system = model.compile()
        full, _ = start(system, q)
        velocities = rng.normal(size=system.nu)
        _, C, gap, _ = constraint_rows(model, system, full, velocities)
        if not len(C):
            continue
        scale = np.linalg.norm(C, axis=1)
        values = np.linalg.svd(C / np.where(scale > 1e-9, scale, np.inf)[:, None], compute_uv=False)
        values = values[values > SMALLEST * max(values[0], 1e-9)]
        if len(values) in (0, system.nu) or values[-1] < CLEAR * values[0]:
            continue
        assert np.abs(gap).max() < 1e-10, "closed by construction"  # two ways to make a curve differ by 1e-11 m
        return system, full, onto_rows(system, full, velocities), 10 * rng.normal(size=system.nu)


def _coordinates(model, rng):
    q = {}
    for joint in model.joints.values():
        q[joint.name] = np.clip(random_joint_q(joint.kind, rng), -2.5, 2.5)
    return q


def _spatial(rng, bodies):
    model = random_model(rng, bodies, armature=rng.random() < 0.3, welds=0.1)
    return model, _coordinates(model, rng)


def _planar(rng, bodies, turned=False, floating=False):
    """A tree in the plane x-y of ground, or in a plane that is turned, or in that of a body that moves in space."""
    model = Model("planar", gravity=tuple(rng.uniform(-10, 10, 3)))
    base, plane = "ground", Rotation.from_quat(unit(rng, 4)) if turned else Rotation.identity()
    if floating:
        base, kind = "frame", str(rng.choice(("free", "spherical", "universal", "cylindrical")))
        model.body(base, **random_solid(rng))
        model.joint("carry", kind, "ground", base, at=random_pose(rng), **random_axes(kind, rng))
    model.frame("plane", base, Pose((0.0, 0.0, 0.0), quaternion_from_matrix(plane.as_matrix())))
    names = [base]
    for i in range(bodies):
        near = names[int(rng.integers(len(names)))]
        model.body(f"link{i}", **random_solid(rng))
        names.append(f"link{i}")
        kind = str(rng.choice(("revolute", "revolute", "revolute", "prismatic", "planar")))
        ends = (near, f"link{i}") if rng.random() < 0.5 else (f"link{i}", near)
        places = [_flat_pose(rng, model, name) for name in ends]
        model.joint(f"{kind}{i}", kind, *ends, axis=_flat_axis(rng, kind), at=places[0], child_at=places[1])
    return model, _coordinates(model, rng)


def _flat_axis(rng, kind):
    angle = rng.uniform(-3, 3)
    return (np.cos(angle), np.sin(angle), 0.0) if kind == "prismatic" else "z"


def _flat_pose(rng, model, name):
    """A pose turned about z in the mechanism's plane."""
    half = rng.uniform(-1.5, 1.5)
    flat = Pose((*rng.uniform(-0.6, 0.6, 2), 0.0), (np.cos(half), 0.0, 0.0, np.sin(half)))
    plane = model.frames["plane"]
    if name != plane.body:
        return flat
    R = plane.at.rotation()
    return Pose(tuple(R @ flat.position), quaternion_from_matrix(R @ flat.rotation()))


def _spherical(rng, bodies):
    """All axes pass through the bodies' common origin."""
    model = Model("spherical", gravity=tuple(rng.uniform(-10, 10, 3)))
    names = ["ground"]
    for i in range(bodies):
        near = names[int(rng.integers(max(len(names) - 2, 0), len(names)))]
        model.body(f"link{i}", **random_solid(rng))
        names.append(f"link{i}")
        kind = str(rng.choice(("revolute", "revolute", "revolute", "universal")))
        turned = {key: Pose((0.0, 0.0, 0.0), tuple(unit(rng, 4))) for key in ("at", "child_at")}
        model.joint(f"{kind}{i}", kind, near, f"link{i}", **turned, **random_axes(kind, rng))
    return model, _coordinates(model, rng)


MAKERS = {
    "spatial": _spatial,
    "planar": _planar,
    "turned_planar": lambda rng, n: _planar(rng, n, turned=True),
    "floating_planar": lambda rng, n: _planar(rng, n, turned=True, floating=True),
    "spherical": _spherical,
    "doubled": _spatial,
    "welded": _spatial,
    "constrained": _spatial,
}


def _close(rng, family, model, q, motions, name):
    """Join two bodies once more, where they are; False if it was not worth it."""
    if family == "constrained" and rng.random() < 0.8:
        return _constrain(rng, model, q, motions, name)
    if family == "doubled" and rng.random() < 0.6:
        return _double(rng, model, q, name)
    flat = "planar" in family
    if flat:
        names = [n for n in motions if n != "ground" or model.frames["plane"].body == "ground"]
        kind = str(rng.choice(("revolute", "revolute", "prismatic", "planar", "cylindrical")))
    elif family == "spherical":
        names, kind = list(motions), str(rng.choice(("revolute", "universal", "spherical")))
    else:
        names, kind = list(motions), "fixed" if family == "welded" else str(rng.choice(CLOSING))
    a, b = (str(n) for n in rng.choice(names, 2, replace=False))
    welds = [j for j in model.joints.values() if j.kind == "fixed"]
    if family == "welded" and welds and rng.random() < 0.4:
        a, b = welds[0].parent, welds[0].child  # once more
    elif path_dofs(model, a, b) + JOINT_KINDS[kind][1] < (4 if flat or family == "spherical" else 7):
        return False
    axes = random_axes(kind, rng)
    if flat:
        at, axes = _flat_pose(rng, model, a), {"axis": _flat_axis(rng, kind)}
    elif family == "spherical":
        at = Pose((0.0, 0.0, 0.0), tuple(unit(rng, 4)))
    else:
        at = random_pose(rng)
    joint = model.joint(name, kind, a, b, at=at, **axes)
    q[name] = np.clip(random_joint_q(kind, rng), -2.5, 2.5)
    _shut(joint, q[name], motions)
    return True


def _shut(joint, q, motions):
    """The place on the child where the joint's child frame is."""
    A, B = motions[joint.parent], motions[joint.child]
    rel = relative(joint, np.atleast_1d(q), np.zeros(JOINT_KINDS[joint.kind][1]))
    RF = A.R @ matrix(joint.at.quaternion)
    RG, rG = RF @ rel.E, A.r + A.R @ np.array(joint.at.position) + RF @ rel.p
    joint.child_at = Pose(tuple(map(float, B.R.T @ (rG - B.r))), quaternion_from_matrix(B.R.T @ RG))


def path_dofs(model, a, b):
    """DOF of the tree's joints between two bodies."""
    towards, waiting = {a: 0}, [a]
    while waiting:
        body = waiting.pop()
        for j in model.joints.values():
            if body in (j.parent, j.child) and not j.name.startswith("close"):
                other = j.child if body == j.parent else j.parent
                if other not in towards:
                    towards[other] = towards[body] + JOINT_KINDS[j.kind][1]
                    waiting.append(other)
    return towards[b]


def _double(rng, model, q, name):
    """A second joint of the same motion: its frames are moved along, or turned about, the axis of the first."""
    kinds = ("revolute", "cylindrical", "prismatic", "planar")
    found: list[Joint] = [j for j in model.joints.values() if j.kind in kinds and not j.name.startswith("close")]
    if not found:
        return False
    first = found[int(rng.integers(len(found)))]
    step = rng.uniform(0.2, 1.0) * np.array(first.axis)
    places = {}
    for key in ("at", "child_at"):
        pose = getattr(first, key)
        places[key] = Pose(tuple(map(float, pose.position + pose.rotation() @ step)), pose.quaternion)
    model.joint(name, first.kind, first.parent, first.child, axis=first.axis, **places)
    q[name] = q[first.name]
    return True


def _constrain(rng, model, q, motions, name):
    """One constraint that is not a joint, which holds where the bodies are at t = 0."""
    plain = [(j.name, n) for j in model.joints.values() for n in range(len(np.atleast_1d(q[j.name])))
             if j.kind not in ("spherical", "free", "fixed")]  # fmt: skip
    kind = str(rng.choice(("distance", "point_on_line", "point_on_plane", "gear", "relative")))
    if kind in ("gear", "relative"):
        if len(plain) < 2:
            return False
        i, k = rng.choice(len(plain), 2, replace=False)
        (joint, dof), (of, of_dof) = plain[i], plain[k]
        given = {"joint": joint, "dof": dof, "of": of, "of_dof": of_dof}
        now, other = np.atleast_1d(q[joint])[dof], np.atleast_1d(q[of])[of_dof]
        if kind == "gear":
            ratio = rng.uniform(0.5, 2.0)
            model.constraint(name, kind, **given, ratio=ratio, offset=now - ratio * other)
        else:
            model.constraint(name, kind, **given, position=Sine(0.7, 0.4, 0.0, now - other))
        return True
    a, b = (str(n) for n in rng.choice(list(motions), 2, replace=False))
    if path_dofs(model, a, b) < 3:
        return False
    at = tuple(rng.uniform(-0.5, 0.5, 3))
    point = motions[a].r + motions[a].R @ at
    seen = motions[b].R.T @ (point - motions[b].r)  # in the axes of b
    if kind == "distance":
        to_at = tuple(rng.uniform(-0.5, 0.5, 3))
        model.constraint(name, kind, body=a, to=b, at=at, to_at=to_at, length=np.linalg.norm(seen - to_at))
        return True
    pose = Rotation.from_quat(unit(rng, 4))
    along = pose.apply([rng.uniform(-0.5, 0.5), 0.0, 0.0])
    to_at = Pose(tuple(map(float, seen - along)), quaternion_from_matrix(pose.as_matrix()))
    model.constraint(name, kind, body=a, to=b, at=at, to_at=to_at)
    return True
