"""Systems whose constraints agree up to a known time and cannot be met from then on; and redundant ones that can.

Each function draws one with a generator and returns a Case. Functions of time begin to differ with a rate of 0.5 to 2
in units of the constraint per second or second squared, so that a violation of 1e-6 is reached within some 20 ms.
"""

from typing import NamedTuple

import numpy as np

import whippletree as wt


class Case(NamedTuple):
    model: wt.Model
    names: tuple[str, ...]  # all of them are named
    time: float  # s: until then all constraints can be met
    q: dict = {}  # noqa: RUF012  of the start, to be assembled


def arm_file(path, one, other):
    """A model file: an arm on a hinge, with two constraints on it, each by its lines."""
    arm = 'name = "arm"\n[bodies.arm]\nmass = 1.0\ncom = [0.5, 0, 0]\ninertia = [0.1, 0.1, 0.1]\n'
    hinge = '[joints.hinge]\nkind = "revolute"\nparent = "ground"\nchild = "arm"\naxis = "z"\n'
    held = "".join(f'[constraints.{n}]\njoint = "hinge"\n{x}\n' for n, x in (("one", one), ("other", other)))
    path.write_text(arm + hinge + held)


def drawn_time(rng):
    return float(rng.uniform(0.1, 0.3))


def later(rng, time):
    """A position that stays zero until a time and then leaves."""
    return wt.Step(float(rng.choice([-1, 1]) * rng.uniform(0.5, 2.0)), time, rise=0.2)


def faster(rng, time):
    """A velocity that stays zero until a time and then grows."""
    return wt.Ramp(float(rng.choice([-1, 1]) * rng.uniform(0.5, 2.0)), time)


def arm(rng, links=2):
    m = wt.Model("arm")
    before, length = m.ground, 0.0
    for i in range(links):
        at, length = (length, 0, 0), float(rng.uniform(0.3, 0.6))
        m.body(f"b{i}", **wt.rod(mass=float(rng.uniform(0.5, 2.0)), length=length, axis="x"))
        m.joint(f"j{i}", "revolute", before, f"b{i}", axis="y", at=at)
        before = f"b{i}"
    return m


def four_bar(crank=0.2, coupler=0.6, rocker=0.5, base=0.7):
    m = wt.Model("four-bar")
    for name, length in (("crank", crank), ("coupler", coupler), ("rocker", rocker)):
        m.body(name, **wt.rod(mass=1.0, length=length, axis="x"))
    m.joint("shaft", "revolute", m.ground, "crank", axis="y")
    m.joint("pin", "revolute", "crank", "coupler", axis="y", at=(crank, 0, 0))
    m.joint("wrist", "revolute", "coupler", "rocker", axis="y", at=(coupler, 0, 0), child_at=(rocker, 0, 0))
    m.joint("pivot", "revolute", m.ground, "rocker", axis="y", at=(base, 0, 0))
    return m


# ---------------------------------------------------------------- contradictions


def two_velocities(rng):
    m, t = arm(rng), drawn_time(rng)
    m.constraint("one", "speed", joint="j0", speed=0.0)
    m.constraint("other", "speed", joint="j0", speed=faster(rng, t))
    return Case(m, ("one", "other"), t)


def two_relatives(rng):
    m, t = arm(rng), drawn_time(rng)
    m.constraint("one", "relative", joint="j1", position=0.0)
    m.constraint("other", "relative", joint="j1", position=later(rng, t))
    return Case(m, ("one", "other"), t)


def overdriven_loop(rng):
    m, t = four_bar(), drawn_time(rng)
    shaft, pin, _ = wt.assemble(four_bar().compile(), {"shaft": 1.0}).q
    m.constraint("drive", "relative", joint="shaft", position=wt.Step(shaft + 1.0, t, shaft, rise=0.3))
    m.constraint("hold", "relative", joint="pin", position=float(pin))
    return Case(m, ("drive", "hold"), t, {"shaft": 1.0})


def _beyond_reach(rng, drive):
    """The crank's tip leaves the circle that coupler and rocker reach."""
    crank, coupler, rocker, base = 0.6, 0.4, float(rng.uniform(0.4, 0.6)), 0.7
    m = four_bar(crank, coupler, rocker, base)
    most = np.arccos((crank**2 + base**2 - (coupler + rocker) ** 2) / (2 * crank * base))
    rate, start = float(rng.uniform(0.5, 2.0)), float(most - rng.uniform(0.1, 0.4))
    position = wt.Ramp(rate, -1.0, start - rate)
    if drive == "motion":
        m.force("drive", "motion", joint="shaft", position=position)
    else:
        m.constraint("drive", "relative", joint="shaft", position=position)
    return Case(m, ("drive", "pivot"), (most - start) / rate, {"shaft": start})


def prescribed_beyond_reach(rng):
    return _beyond_reach(rng, "motion")


def relative_beyond_reach(rng):
    return _beyond_reach(rng, "relative")


def rod_too_short(rng):
    """A rod from the tip of two links to ground, whose first link is turned away from it."""
    m, rate = arm(rng), float(rng.uniform(0.5, 2.0))
    first, second = (float(2 * m.bodies[f"b{i}"].com[0]) for i in range(2))
    m.constraint("rod", "distance", body="b1", at=(second, 0, 0), to_at=(1.0, 0, 0), length=0.5)
    # elbow at first (cos, 0, -sin), at most 0.5 + second from the anchor
    most = np.arccos((first**2 + 1.0 - (0.5 + second) ** 2) / (2 * first))
    start = float(most - rng.uniform(0.1, 0.3))
    m.force("drive", "motion", joint="j0", position=wt.Ramp(rate, -1.0, start - rate))
    return Case(m, ("rod", "drive"), (most - start) / rate, {"j0": start, "j1": -1.0})


def motion_against_constraint(rng):
    m, t = arm(rng), drawn_time(rng)
    m.force("drive", "motion", joint="j0", position=later(rng, t))
    m.constraint("hold", "relative", joint="j0", position=0.0)
    return Case(m, ("hold", "drive"), t)


def gear_against_velocities(rng):
    m, t = arm(rng), drawn_time(rng)
    m.constraint("mesh", "gear", joint="j1", of="j0", ratio=float(rng.uniform(-3, -0.5)))
    m.constraint("one", "speed", joint="j0", speed=0.0)
    m.constraint("other", "speed", joint="j1", speed=faster(rng, t))
    return Case(m, ("mesh", "one", "other"), t)


def rolling_against_a_lock(rng):
    t, radius = drawn_time(rng), float(rng.uniform(0.1, 0.4))
    m = wt.Model("wheel")
    m.body("axle", **wt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
    m.body("wheel", **wt.cylinder(mass=1.0, radius=radius, length=0.05, axis="y"))
    m.joint("rail", "prismatic", m.ground, "axle", axis="x", at=(0, 0, radius))
    m.joint("hub", "revolute", "axle", "wheel", axis="y")
    m.constraint("floor", "roll", body="wheel", radius=radius, axis="y", slip="side")
    m.constraint("lock", "speed", joint="hub", speed=0.0)
    m.constraint("pull", "speed", joint="rail", speed=faster(rng, t))
    return Case(m, ("floor", "lock", "pull"), t)


def temporary_lock_against_motion(rng):
    m, t = arm(rng), drawn_time(rng)
    m.force("drive", "motion", joint="j0", position=later(rng, t))
    m.constraint("lock", "speed", joint="j0", speed=0.0)
    m.temporary("lock", activate_at=0.5 * t)
    return Case(m, ("lock", "drive"), t)


def slider_beyond_reach(rng):
    """A motion of the joint that closes the loop."""
    m, t, way = wt.Model("slider-crank"), drawn_time(rng), float(rng.uniform(0.1, 0.3))
    m.body("crank", **wt.rod(mass=1.0, length=0.2, axis="x"))
    m.body("rod", **wt.rod(mass=1.0, length=0.6, axis="x"))
    m.body("block", **wt.box(mass=0.5, size=(0.1, 0.1, 0.1)))
    m.joint("shaft", "revolute", m.ground, "crank", axis="y")
    m.joint("pin", "revolute", "crank", "rod", axis="y", at=(0.2, 0, 0))
    m.joint("wrist", "revolute", "rod", "block", axis="y", at=(0.6, 0, 0))
    m.joint("slider", "prismatic", m.ground, "block", axis="x")
    rate = way / t
    m.force("push", "motion", joint="slider", position=wt.Ramp(rate, -1.0, 0.8 - way - rate))
    return Case(m, ("slider",), t, {"shaft": 1.0, "pin": -1.3})


def blade_against_speed(rng):
    m, t = wt.Model("sleigh"), drawn_time(rng)
    m.body("sleigh", **wt.box(mass=1.0, size=(1, 0.5, 0.1)))
    m.joint("ice", "planar", m.ground, "sleigh", axis="z")
    m.constraint("blade", "knife_edge", body="sleigh")
    for n, name in enumerate(("ahead", "aside", "turn")):
        m.constraint(name, "speed", joint="ice", dof=n, speed=faster(rng, t) if name == "aside" else 0.0)
    return Case(m, ("blade", "aside"), t)


def plane_against_motions(rng):
    m, t = arm(rng), drawn_time(rng)
    second = float(2 * m.bodies["b1"].com[0])
    m.constraint("table", "point_on_plane", body="b1", at=(second, 0, 0))
    m.force("drive", "motion", joint="j0", position=later(rng, t))
    m.constraint("hold", "relative", joint="j1", position=0.0)
    return Case(m, ("table", "drive", "hold"), t)


def rack_against_relative(rng):
    t = drawn_time(rng)
    m = wt.Model("rack")
    m.body("bar", **wt.box(mass=1.0, size=(0.5, 0.05, 0.05)))
    m.body("pinion", **wt.cylinder(mass=1.0, radius=0.1, length=0.05, axis="y"))
    m.joint("slide", "prismatic", m.ground, "bar", axis="x")
    m.joint("turn", "revolute", m.ground, "pinion", axis="y")
    m.constraint("mesh", "rack", joint="slide", of="turn", radius=0.1)
    m.constraint("one", "relative", joint="slide", position=0.0)
    m.constraint("other", "relative", joint="turn", position=later(rng, t))
    return Case(m, ("mesh", "one", "other"), t)


KINDS = (
    two_velocities,
    two_relatives,
    overdriven_loop,
    prescribed_beyond_reach,
    relative_beyond_reach,
    rod_too_short,
    motion_against_constraint,
    gear_against_velocities,
    rolling_against_a_lock,
    temporary_lock_against_motion,
    slider_beyond_reach,
    blade_against_speed,
    plane_against_motions,
    rack_against_relative,
)


# ---------------------------------------------------------------- redundant, and consistent


def agreeing_relatives(rng):
    m, wave = arm(rng), wt.Sine(float(rng.uniform(0.2, 1.0)), 1.0)
    m.constraint("one", "relative", joint="j0", position=wave)
    m.constraint("other", "relative", joint="j0", position=wave)
    return Case(m, (), 1.0)


def agreeing_gears(rng):
    m, ratio = arm(rng, 3), float(rng.uniform(-2, -0.5))
    m.constraint("a", "gear", joint="j1", of="j0", ratio=ratio)
    m.constraint("b", "gear", joint="j2", of="j1", ratio=ratio)
    m.constraint("c", "gear", joint="j2", of="j0", ratio=ratio * ratio)
    return Case(m, (), 1.0)


def motion_and_its_speed(rng):
    m, rate = arm(rng), float(rng.uniform(0.5, 2.0))
    m.force("drive", "motion", joint="j0", position=wt.Ramp(rate, -1.0, -rate))
    m.constraint("same", "speed", joint="j0", speed=rate)
    return Case(m, (), 1.0)


def two_wheels(rng):
    m = wt.load("models/cart.toml")
    return Case(m, (), 1.0)


def doubled_rod(rng):
    m = four_bar()
    q = wt.assemble(four_bar().compile(), {"shaft": 1.0}).q
    assert q.size == 3
    m.constraint("rod", "distance", body="crank", at=(0.2, 0, 0), to="rocker", to_at=(0.5, 0, 0), length=0.6)
    return Case(m, (), 1.0, {"shaft": 1.0})


REDUNDANT = (agreeing_relatives, agreeing_gears, motion_and_its_speed, two_wheels, doubled_rod)


def started(case):
    """The System and a consistent start."""
    system = case.model.compile()
    state = wt.assemble(system, case.q)
    return system, {"q": state.q, "u": state.u}
