"""Mechanisms that are hard on purpose, drawn onto a Sketch: each class is a function of it, or a law of its numbers."""

import numpy as np

from sketch import Sketch, log_uniform, quaternion, tiny, turn, unit
from whippletree.errors import ModelError
from whippletree.model import Pose, Sine
from whippletree_lab.bench.loop_families import lattice, tower

Z = (0.0, 0.0, 1.0)


# ---- parts of mechanisms


def tilted(rng, tilt):
    """The z axis, tilted by an angle to any side."""
    side = rng.uniform(0, 2 * np.pi)
    return unit([tilt * np.cos(side), tilt * np.sin(side), 1.0])


def base_of(s, floating=None):
    """Ground, or a body that moves freely."""
    floating = s.rng.random() < 0.4 if floating is None else floating
    return s.carry("free", "ground", at=(0, 0, 0)) if floating else "ground"


def hinge_loop(s, tilts, random=6, floating=None, order=None):
    """A loop of hinges: one for every tilt against z, and some about random axes."""
    rng = s.rng
    base = base_of(s, floating)
    axes = [tilted(rng, t) for t in tilts] + [unit(rng.normal(size=3)) for _ in range(random)]
    order = order or str(rng.choice(("parallel first", "random first", "mixed")))
    if order == "random first":
        axes = axes[len(tilts) :] + axes[: len(tilts)]
    elif order == "mixed":
        axes = [axes[i] for i in rng.permutation(len(axes))]
    near = base
    for axis in axes[:-1]:
        near = s.carry("revolute", near, at=s.point() if near != "ground" else (0, 0, 0), axis=axis)
    s.close("revolute", near, base, at=s.point(), axis=axes[-1])


def flat_loops(s, base, loops, tilt=0.0, lift=0.0, kinds=("revolute",)):
    """Loops of bars hinged about z, each on bodies that are there; axes are tilted and points lifted by little."""
    rng, names = s.rng, [base]
    for _ in range(loops):
        near, far = (str(x) for x in rng.choice(names, 2)) if len(names) > 1 else (base, base)
        start = near
        for _ in range(2 if near != far and rng.random() < 0.5 else 3):
            length = s.length()
            at = (*s.point(length)[:2], lift * rng.normal())
            start = s.carry("revolute", start, at=at, axis=tilted(rng, tilt), solid=s.bar(length))
            names.append(start)
        kind = str(rng.choice(kinds))
        axis = tilted(rng, tilt) if kind != "prismatic" else unit([*rng.normal(size=2), 0.0])
        s.close(kind, start, far, at=(*s.point()[:2], lift * rng.normal()), axis=axis)


def random_tree(s, bodies, kinds=("revolute", "prismatic", "universal", "spherical", "cylindrical"), base="ground"):
    names = [base]
    for _ in range(bodies):
        near = names[int(s.rng.integers(max(0, len(names) - 3), len(names)))]
        names.append(s.carry(str(s.rng.choice(kinds)), near))
    return names


def chain(s, bodies, kinds=("revolute",), base="ground"):
    names = [base]
    for _ in range(bodies):
        names.append(s.carry(str(s.rng.choice(kinds)), names[-1]))
    return names


def crank_rods(s, cranks, base="ground", angle=None, tilt=0.0):
    """One rod on parallel cranks of equal length: all but two of them are redundant."""
    rng = s.rng
    angle, long, gap = (s.laws.angle(rng) if angle is None else angle), s.length(), s.length()
    axis = tilted(rng, tilt)
    first = s.carry("revolute", base, at=(0, 0, 0), axis=axis, q=angle, solid=s.bar(long))
    rod = s.carry("revolute", first, at=(long, 0, 0), axis=axis, q=-angle, solid=s.bar(gap * cranks))
    for i in range(1, cranks):
        crank = s.carry(
            "revolute", rod, at=(i * gap, 0, 0), child_at=(long, 0, 0), axis=axis, q=angle, solid=s.bar(long)
        )
        s.close(
            "revolute",
            base,
            crank,
            at=np.array([i * gap, 0, 0]) + (s.far if base == "ground" else 0.0),
            q=angle,
            axis=axis,
        )


def scissors(s, stages, lean, long=1.0, solid=None, folds=None):
    """Bars crossed and pinned at mid length and ends, stage on stage: one foot pinned, the other on a slide.

    ``folds`` says of each stage whether it stands on the one below (1) or is folded back over it (-1).
    """
    bar, o = solid or (lambda: s.bar(long)), (0, 0, 0)
    s.carry("prismatic", "ground", at=o, axis="x", q=long * np.cos(lean), name="foot", solid=s.solid(0.1, mass=0.5))
    near = ("ground", o, 0.0), ("foot", o, 0.0)
    for k in range(stages):
        (below, at, angle), (other, other_at, other_angle) = near
        turned = lean * (folds[k] if folds else 1)
        left, right, mid = turned, np.pi - turned, (long / 2, 0, 0)
        a = s.carry("revolute", below, at=at, q=left - angle, axis=Z, name=f"left{k}", solid=bar())
        b = s.carry("revolute", a, at=mid, child_at=mid, q=right - left, axis=Z, name=f"right{k}", solid=bar())
        s.close("revolute", other, b, at=other_at, q=right - other_angle, axis=Z, name=f"end{k}")
        near = (b, (long, 0, 0), right), (a, (long, 0, 0), left)


def stewart(s, off):
    """A platform on six legs, turned by an angle ``off`` away from the quarter turn in which it loses a degree."""
    rng, high, legs = s.rng, 0.9, []
    spin = turn(Z, np.pi / 2 + off)[:3, :3].astype(float)
    for i in range(6):
        angle = np.deg2rad(60 * i + 17 * (-1) ** i)
        foot = 0.6 * np.array([np.cos(angle), np.sin(angle), 0.0])
        tip = spin @ (0.6 * foot) + [0, 0, high]
        z = unit(tip - foot)
        x = unit(np.cross([0.0, 1.0, 0.0], z))
        R = np.eye(4, dtype=np.longdouble)
        R[:3, :3] = np.column_stack([x, np.cross(z, x), z])
        at = Pose(tuple(foot), tuple(float(v) for v in quaternion(R)))
        long = float(np.linalg.norm(tip - foot))
        cylinder = s.carry("universal", "ground", at=at, axis="x", axis2="y", q=(0.0, 0.0), solid=s.solid(0.3))
        legs.append(s.carry("prismatic", cylinder, at=(0, 0, long), axis="z", q=0.0, solid=s.solid(0.3)))
    plate = s.carry("spherical", legs[0], at=(0, 0, 0), q=unit(rng.normal(size=4)), solid=s.solid(0.5))
    for leg in legs[1:]:
        s.close("spherical", leg, plate, at=(0, 0, 0))


# ---- classes


def nearly_parallel(s):
    """5 to 40 hinges parallel but for a tilt, and six about random axes, in one loop."""
    count = int(5 + 35 * s.rng.random() ** 4)
    tilt = tiny(s.rng)
    hinge_loop(s, [tilt * s.rng.uniform(0.2, 1.0) for _ in range(count)])


def near_planar(s):
    base = base_of(s)
    one = s.rng.random() < 0.5
    flat_loops(s, base, int(s.rng.integers(1, 4)), tiny(s.rng), 0.0 if one else tiny(s.rng))


def coinciding(s):
    """Axes that almost meet in one point, or hinges that almost lie on one another."""
    rng, off = s.rng, tiny(s.rng)
    base = base_of(s)
    near = base
    if rng.random() < 0.5:  # a spherical loop, but for the offsets
        for _ in range(int(rng.integers(3, 6))):
            near = s.carry("revolute", near, at=off * rng.normal(size=3))
        s.close("revolute", near, base, at=off * rng.normal(size=3))
        return
    for _ in range(int(rng.integers(2, 5))):
        for _ in range(3):
            at = s.point() if near != "ground" and rng.random() < 0.4 else off * rng.normal(size=3)
            near = s.carry("revolute", near, at=at)
    s.close(str(rng.choice(("revolute", "spherical", "universal"))), near, base, at=off * rng.normal(size=3))


def any_structure(s):
    """A chain, a tree, or loops of some kind, all of them benign but for the laws of the numbers."""
    rng, which = s.rng, int(s.rng.integers(6))
    if which == 0:
        chain(s, int(rng.integers(2, 20)), base=base_of(s))
    elif which == 1:
        random_tree(s, int(rng.integers(3, 10)), base=base_of(s))
    elif which == 2:
        hinge_loop(s, [], random=int(rng.integers(7, 12)))
    elif which == 3:
        flat_loops(s, base_of(s), int(rng.integers(1, 4)), kinds=("revolute", "prismatic"))
    elif which == 4:
        nested(s)
    else:
        closing_kinds(s)


def massless_last(s):
    """Loops in which a link has no mass: its neighbours, or the loop, move it."""
    rng = s.rng
    base, names, bodies = base_of(s), [], int(rng.integers(6, 10))
    light = int(rng.choice([bodies - 1, bodies - 1, rng.integers(bodies)]))
    names = [base]
    flat = rng.random() < 0.5
    count = 3 if flat else bodies
    light = min(light, count - 1)
    for i in range(count):
        axes = {"axis": Z} if flat else {}
        at = (*s.point()[:2], 0.0) if flat else s.point()
        solid = {"mass": 0.0, "inertia": (0.0, 0.0, 0.0), "idealized": True} if i == light else None
        names.append(s.carry("revolute", names[-1], at=at, solid=solid, **axes))
    s.close(
        "revolute", names[-1], base, at=(*s.point()[:2], 0.0) if flat else s.point(), **({"axis": Z} if flat else {})
    )


def redundant(s):
    """Equations that say the same, or almost the same: doubled hinges, parallel cranks, gears along loops."""
    rng, which = s.rng, int(s.rng.integers(4))
    if which == 0:
        crank_rods(s, int(rng.integers(3, 12)), base_of(s), tilt=tiny(rng) if rng.random() < 0.3 else 0.0)
        return
    base = base_of(s)
    names = random_tree(s, int(rng.integers(4, 8)), kinds=("revolute", "prismatic", "cylindrical"), base=base)
    off = tiny(rng)
    for name in rng.choice(names[1:], min(2, len(names) - 1), replace=False):
        joint = s.model.joints[str(name)]
        axis = np.asarray(joint.axis)
        along = joint.at.rotation() @ (axis * rng.uniform(0.3, 1.0)) + off * rng.normal(size=3)
        at = Pose(tuple(np.asarray(joint.at.position) + along), joint.at.quaternion)
        s.close(joint.kind, joint.parent, joint.child, at=at, q=s.q[str(name)], axis=axis)
    if which == 2:
        pair_of_gears(s, off)


def pair_of_gears(s, off):
    """The same gear twice, the second ratio off by little."""
    plain = s.tree_coordinates()
    if len(plain) < 2:
        return
    (joint, k), (of, l) = (plain[i] for i in s.rng.choice(len(plain), 2, replace=False))
    x, y = np.atleast_1d(s.q[joint])[k], np.atleast_1d(s.q[of])[l]
    for n, ratio in enumerate((0.7, 0.7 * (1 + off))):
        s.model.constraint(
            f"gear{n}", "gear", joint=joint, dof=k, of=of, of_dof=l, ratio=ratio, offset=float(x - ratio * y)
        )


def contradicting(s):
    """Two constraints on one coordinate that ask for different accelerations at velocities that both allow."""
    rng = s.rng
    if rng.random() < 0.5:
        hinge_loop(s, [], random=8)
    else:
        random_tree(s, int(rng.integers(2, 6)), base=base_of(s))
    plain = s.tree_coordinates()
    if not plain:
        raise ModelError("no single coordinate")
    joint, k = plain[int(rng.integers(len(plain)))]
    now = float(np.atleast_1d(s.q[joint])[k])
    kind = str(rng.choice(("speed", "relative")))
    for n, size in enumerate(rng.permutation([0.0, log_uniform(rng, -1, 2)])):
        if kind == "speed":  # the same velocity now, other rates
            s.model.constraint(f"speed{n}", "speed", joint=joint, dof=k, speed=Sine(float(size), 0.5, 0.0, 0.3))
        else:
            wave = Sine(float(size), 0.5, np.pi / 2, now - float(size))
            s.model.constraint(f"relative{n}", "relative", joint=joint, dof=k, position=wave)


def nested(s):
    """Loops inside loops on bases that move; complete graphs; lattices; towers."""
    rng, which = s.rng, int(s.rng.integers(5))
    if which == 0:
        names = random_tree(s, int(rng.integers(7, 11)), kinds=("universal", "spherical"), base=base_of(s))
        for _ in range(int(rng.integers(2, 4))):
            a, b = (str(x) for x in rng.choice(names, 2, replace=False))
            s.close(str(rng.choice(("spherical", "cylindrical", "planar"))), a, b)
    elif which == 1:
        names = [base_of(s)]
        for _ in range(4):
            names.append(s.carry("free", names[int(rng.integers(len(names)))]))
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                if s.model.joints[b].parent != a:
                    s.close(str(rng.choice(("spherical", "planar"))), a, b)
    elif which == 2:
        flat_loops(s, base_of(s), int(rng.integers(3, 6)))
    else:
        posed = (
            lattice(int(rng.integers(1, 4)), int(rng.integers(1000))) if which == 3 else tower(int(rng.integers(1, 6)))
        )
        s.model, s.q = posed.model, {name: np.atleast_1d(q) for name, q in posed.q.items()}


def closing_kinds(s):
    """Every joint kind as the one that closes a loop."""
    rng = s.rng
    kind = str(
        rng.choice(("fixed", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical"))
    )
    base = base_of(s)
    names = chain(s, int(rng.integers(4, 7)), ("universal", "revolute", "cylindrical", "spherical", "screw"), base)
    s.close(kind, names[-1], base)


def on_top(s):
    """Loops with gears, racks, rods, points on lines and planes, wheels, blades and prescribed motions."""
    rng = s.rng
    which = int(rng.integers(3))
    if which == 0:
        hinge_loop(s, [], random=9)
    elif which == 1:
        flat_loops(s, base_of(s), 2)
    else:
        random_tree(s, 6, base=base_of(s))
    for n in range(int(rng.integers(1, 4))):
        ADDED[int(rng.integers(len(ADDED)))](s, f"added{n}")
    if rng.random() < 0.3:
        plain = s.tree_coordinates()
        if plain:
            joint, k = plain[int(rng.integers(len(plain)))]
            now = float(np.atleast_1d(s.q[joint])[k])
            s.model.force("drive", "motion", joint=joint, dof=k, position=Sine(0.3, 0.7, 0.0, now))


def add_gear(s, name):
    plain = s.tree_coordinates()
    if len(plain) < 2:
        return
    (joint, k), (of, l) = (plain[i] for i in s.rng.choice(len(plain), 2, replace=False))
    ratio = float(s.rng.choice([-1, 1]) * log_uniform(s.rng, -2, 2))
    offset = float(np.atleast_1d(s.q[joint])[k] - ratio * np.atleast_1d(s.q[of])[l])
    s.model.constraint(name, "gear", joint=joint, dof=k, of=of, of_dof=l, ratio=ratio, offset=offset)


def add_distance(s, name):
    a, b = (str(x) for x in s.rng.choice(list(s.poses), 2, replace=False))
    at, to_at = s.point(), s.point()
    length = float(np.linalg.norm(s.seen(a, b, at) - to_at))
    s.model.constraint(name, "distance", body=a, to=b, at=at, to_at=to_at, length=length)


def add_point(s, name):
    a, b = (str(x) for x in s.rng.choice(list(s.poses), 2, replace=False))
    at = s.point()
    pose = Pose(tuple(s.seen(a, b, at)), tuple(unit(s.rng.normal(size=4))))
    s.model.constraint(name, str(s.rng.choice(("point_on_line", "point_on_plane"))), body=a, to=b, at=at, to_at=pose)


def add_roll(s, name):
    """A ball or a wheel that touches a plane of ground or of another body."""
    a, b = (str(x) for x in s.rng.choice(list(s.poses), 2, replace=False))
    if a == "ground":
        a, b = b, a
    at, radius = s.point(), float(s.rng.uniform(0.05, 0.3))
    turned = Pose((0.0, 0.0, 0.0), tuple(unit(s.rng.normal(size=4))))
    up, wheel = turned.rotation()[:, 2], {}
    centre = s.seen(a, b, at)
    lowest = centre - radius * up
    if s.rng.random() < 0.5:
        axis, share = unit(s.rng.normal(size=3)), s.rng.uniform(0.0, 0.5)
        tyre = radius * (share if share < 0.45 else 1.0)  # a ball with an axle
        axle = unit(s.seen(a, b, at + axis) - centre)
        lowest = centre - (radius - tyre) * unit(up - (up @ axle) * axle) - tyre * up
        wheel = {"axis": axis, "tyre": tyre}
    slips = ("none", "side", "all") if wheel else ("none", "all")
    wheel |= {"slip": str(s.rng.choice(slips)), "to_at": Pose(tuple(lowest), turned.quaternion)}
    s.model.constraint(name, "roll", body=a, to=b, at=at, radius=radius, **wheel)


def add_blade(s, name):
    a = str(s.rng.choice([x for x in s.poses if x != "ground"]))
    s.model.constraint(name, "knife_edge", body=a, at=s.place())


def add_speed(s, name):
    plain = s.tree_coordinates()
    if plain:
        joint, k = plain[int(s.rng.integers(len(plain)))]
        s.model.constraint(name, "speed", joint=joint, dof=k, speed=Sine(1.0, 0.5, 0.2, 0.3))


def add_relative(s, name):
    plain = s.tree_coordinates()
    if len(plain) > 1:
        (joint, k), (of, l) = (plain[i] for i in s.rng.choice(len(plain), 2, replace=False))
        now = float(np.atleast_1d(s.q[joint])[k] - np.atleast_1d(s.q[of])[l])
        wave = Sine(0.3, 0.7, 0.0, now)
        s.model.constraint(name, "relative", joint=joint, dof=k, of=of, of_dof=l, position=wave)


ADDED = (add_gear, add_distance, add_point, add_roll, add_blade, add_speed, add_relative)


def scissor_stages(s, power=6):
    """1 to 50 stages, some of them folded; few are long."""
    rng = s.rng
    stages = int(1 + 49 * rng.random() ** power)
    lean = float(rng.uniform(0.1, 1.4))
    if rng.random() < 0.3:
        lean = float(rng.choice([log_uniform(rng, -6, -1), np.pi / 2 - log_uniform(rng, -6, -1)]))
    folds = [int(x) for x in rng.choice([-1, 1], stages)] if rng.random() < 0.3 else None
    scissors(s, stages, lean, folds=folds)


def random_scissors(rng):
    """system, q, u, tau of scissors with as many long as short ones."""
    s = Sketch(rng)
    scissor_stages(s, power=1.5)
    return s.finish()


def near_singular(s):
    """Poses in which the constraint Jacobian is about to lose rank: flat parallelograms, change points, Stewart."""
    rng, which = s.rng, int(s.rng.integers(4))
    off = float(rng.choice([-1, 1]) * log_uniform(rng, -12, -3))
    s.rank = 1e-14
    if which == 0:
        crank_rods(s, int(rng.integers(2, 5)), base_of(s), angle=off + float(rng.choice([0.0, np.pi])))
    elif which == 1:
        change_point(s, off)
    elif which == 2:
        stewart(s, off)
    else:
        loop = int(rng.integers(3, 6))  # bars in line, but for little
        near = base = base_of(s)
        for _ in range(loop):
            near = s.carry("revolute", near, at=(s.length(), 0, 0), axis=Z, q=off * rng.normal(), solid=s.bar(1.0))
        s.close("revolute", near, base, at=(s.length(), 0, 0), axis=Z)


def change_point(s, off):
    """A four-bar whose bars almost lie in line: crank + coupler = rocker + base."""
    base, (a, b, c) = base_of(s), (s.length() for _ in range(3))
    crank = s.carry("revolute", base, at=(0, 0, 0), axis=Z, q=off, solid=s.bar(a))
    coupler = s.carry("revolute", crank, at=(a, 0, 0), axis=Z, q=-1.7 * off, solid=s.bar(b))
    rocker = s.carry("revolute", coupler, at=(b, 0, 0), axis=Z, q=np.pi + 0.3 * off, solid=s.bar(c))
    s.close("revolute", rocker, base, at=(c, 0, 0), axis=Z)


# ---- laws of numbers


def extreme_masses(rng, laws):
    """Alternating, all at random, or one of its own, from 1e-12 to 1e12."""
    which, size = int(rng.integers(3)), log_uniform(rng, -12, 12)
    turns = [0]

    def mass(draw):
        turns[0] += 1
        if which == 0:
            return size if turns[0] % 2 else 1.0
        if which == 1:
            return log_uniform(draw, -12, 12)
        return size if turns[0] == odd else 1.0

    odd = int(rng.integers(1, 6))
    laws.mass = mass


def extreme_lengths(rng, laws):
    low, high = sorted(rng.uniform(-6, 6, 2))
    laws.length = lambda draw: log_uniform(draw, low, high)


def half_turns(rng, laws):
    """Rotations by pi, and by as little as rounding away from it."""
    off = float(rng.choice([0.0, 1e-16, 1e-12, 1e-8]))
    laws.angle = lambda draw: float(draw.choice([-np.pi, np.pi, np.pi / 2])) + off * draw.normal()
    laws.turn = lambda draw: unit([off * draw.normal(), *(draw.normal(size=3) * draw.choice([0, 1, 1], 3) + 1e-9)])


def fast(rng, laws):
    laws.speed = log_uniform(rng, 2, 4)


def far_away(rng, laws):
    laws.far = log_uniform(rng, 3, 5)


def large_angles(rng, laws):
    high = log_uniform(rng, 2, 6)
    laws.angle = lambda draw: draw.uniform(-high, high)


def exchanged(rng, kind):
    """Now and then a constant-velocity joint for a universal one, and a curve for a straight line."""
    other = {"universal": "homokinetic", "prismatic": "curve"}.get(kind, kind)
    return other if rng.random() < 0.4 else kind


def shafts_and_curves(s):
    """Trees of homokinetic joints and curves, loops that a homokinetic joint closes, shafts in line or folded back."""
    rng, which, base = s.rng, int(s.rng.integers(4)), base_of(s)
    kinds = ("homokinetic", "curve", "homokinetic", "revolute", "spherical")
    if which == 0:
        random_tree(s, int(rng.integers(2, 9)), kinds, base)
    elif which == 1:
        names = chain(s, int(rng.integers(4, 8)), kinds, base)
        s.close("homokinetic", names[-1], base)
    elif which == 2:  # shafts in two bearings, deformed by little between them
        near = s.carry("revolute", base, at=(0, 0, 0), axis=Z)
        for _ in range(int(rng.integers(1, 4))):
            bend = tiny(rng) * rng.normal(size=2) + (np.pi - 1e-3 if rng.random() < 0.1 else 0.0)
            near = s.carry("homokinetic", near, at=(0, 0, s.length()), axis=Z, q=bend)
        s.close(str(rng.choice(("revolute", "cylindrical"))), near, base, at=(0, 0, s.length()), axis=Z)
    else:  # two beads of a body on two wires
        first = s.carry("curve", base)
        rod = s.carry("spherical", first)
        second = s.carry("curve", base)
        s.close(str(rng.choice(("homokinetic", "spherical", "universal"))), rod, second)


STRUCTURES = {
    "nearly parallel": (nearly_parallel, 0.1),
    "near planar": (near_planar, 0.08),
    "coinciding points": (coinciding, 0.06),
    "massless link": (massless_last, 0.04),
    "redundant": (redundant, 0.06),
    "contradicting": (contradicting, 0.03),
    "nested": (nested, 0.07),
    "closing kinds": (closing_kinds, 0.06),
    "on top": (on_top, 0.08),
    "scissors": (scissor_stages, 0.05),
    "near singular": (near_singular, 0.09),
}
LATER = {"shafts and curves": (shafts_and_curves, 0.08)}
LAWS = {
    "masses": (extreme_masses, 0.07),
    "lengths": (extreme_lengths, 0.05),
    "half turns": (half_turns, 0.03),
    "fast": (fast, 0.02),
    "far": (far_away, 0.02),
    "large angles": (large_angles, 0.02),
}
