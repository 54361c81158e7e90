"""Mechanisms in which loops and other constraints meet. Each gives ``system, q, u`` that all of them allow."""

from functools import cache

import numpy as np

import whippletree as wt
from whippletree_lab.reproduce.loop_problems import n_four_bar_model

WHEEL = 0.25


def onto(model, seed, spread=0.05, speed=0.5):
    """The state nearest to a random one about the start."""
    system = model.compile()
    rng = np.random.default_rng([seed, 91])
    q = system.q0 + spread * rng.normal(size=system.nq)
    for name in system.joints:
        if model.joints[name].kind in ("free", "spherical"):
            turn = q[system.q_index(name)][-4:]
            turn /= np.linalg.norm(turn)
    found = wt.assemble(system, q, speed * rng.normal(size=system.nu))
    return system, found.q, found.u


def cart_model(rigid=False):
    """Four wheels that roll, each on a double wishbone, a four-bar; or rigid axles under a four-bar that swings.

    Rolling wheels on rigid axles are redundant twice over: three contacts carry a body, one axle holds it sideways.
    """
    m = wt.Model("rigid cart" if rigid else "cart on wishbones")
    m.body("chassis", mass=20.0, inertia=(1.0, 3.0, 3.5))
    m.joint("flight", "free", "ground", "chassis", at=(0, 0, WHEEL + 0.05))
    disc = {"mass": 1.0, "inertia": (0.02, 0.035, 0.02)}
    for n, (x, y) in enumerate([(0.6, 0.4), (0.6, -0.4), (-0.6, 0.4), (-0.6, -0.4)]):
        m.body(f"wheel{n}", **disc)
        if rigid:
            m.joint(f"axle{n}", "revolute", "chassis", f"wheel{n}", axis="y", at=(x, y, -0.05))
        else:
            for arm, z in (("lower", -0.1), ("upper", 0.1)):
                m.body(f"{arm}{n}", **wt.rod(mass=0.4, length=0.25, axis="y" if y > 0 else "-y"))
                m.joint(f"{arm}{n}", "revolute", "chassis", f"{arm}{n}", axis="x", at=(x, y - np.sign(y) * 0.25, z))
            m.body(f"hub{n}", mass=0.6, inertia=(0.004, 0.003, 0.003))
            for arm, z in (("lower", -0.1), ("upper", 0.1)):
                ends = {"at": (0, np.sign(y) * 0.25, 0), "child_at": (0, 0, z)}
                m.joint(f"{arm}_pin{n}", "revolute", f"{arm}{n}", f"hub{n}", axis="x", **ends)
            m.joint(f"axle{n}", "revolute", f"hub{n}", f"wheel{n}", axis="y", at=(0, 0, -0.05))
            m.force(
                f"strut{n}", "spring", body=f"hub{n}", to="chassis", to_at=(x, y, 0.4), stiffness=2000.0, length=0.43
            )
        side = "none" if n == 0 or rigid else "side"
        m.constraint(f"tread{n}", "roll", body=f"wheel{n}", radius=WHEEL, axis="y", slip=side)
    if rigid:
        swing(m, "chassis")
    return m


def swing(m, base):
    """A four-bar that hangs from a body, in its plane x-z."""
    for name, x in (("fore", 0.2), ("aft", -0.2)):
        m.body(name, **wt.rod(mass=0.5, length=0.3, axis="-z"))
        m.joint(name, "revolute", base, name, axis="y", at=(x, 0, 0.2))
    m.body("seat", **wt.rod(mass=2.0, length=0.4, axis="x"))
    m.joint("aft_pin", "revolute", "aft", "seat", axis="y", at=(0, 0, -0.3))
    m.joint("fore_pin", "revolute", "seat", "fore", axis="y", at=(0.4, 0, 0), child_at=(0, 0, -0.3))


def rolling_five_bar_model():
    """Two wheels on the ground, joined by two bars off their centres; in the plane x-z, so that sideways rows say it
    all again."""
    m = wt.Model("rolling five-bar")
    for n, x in ((1, -0.5), (2, 0.5)):
        m.body(f"wheel{n}", mass=2.0, inertia=(0.04, 0.07, 0.04))
        m.joint(f"plane{n}", "planar", "ground", f"wheel{n}", axis="y", at=(x, 0, WHEEL))
        m.body(f"bar{n}", **wt.rod(mass=0.8, length=0.7, axis="x" if n == 1 else "-x"))
        m.joint(f"crank{n}", "revolute", f"wheel{n}", f"bar{n}", axis="y", at=(0, 0, 0.15))
        m.constraint(f"tread{n}", "roll", body=f"wheel{n}", radius=WHEEL, axis="y")
    m.joint("elbow", "revolute", "bar1", "bar2", axis="y", at=(0.7, 0, 0), child_at=(-0.7, 0, 0))
    return m


def geared_ladder_model(rungs=4):
    """Cranks in a row, a fan geared to the first one, a gear that says what the loops do, and a bob that hangs from a
    coupler by a rod of no mass: a branch of its own."""
    m = n_four_bar_model(rungs)
    m.body("fan", mass=0.3, com=(0.05, 0, 0), inertia=(0.01, 0.01, 0.02))
    m.joint("fan", "revolute", "ground", "fan", axis="z", at=(-1, 0, 0))
    m.constraint("belt", "gear", joint="fan", of="foot0", ratio=3.0)
    m.constraint("again", "gear", joint="left1", of="foot0", ratio=-1.0)
    m.body("bob", mass=0.7, inertia=(0.01, 0.02, 0.03))
    m.joint("bob", "free", "ground", "bob", at=(0.5, 0.2, 0))
    m.constraint("rod", "distance", body="bob", to="coupler1", at=(0, 0.1, 0), to_at=(0.5, 0, 0), length=0.7)
    return m


MEETINGS = {
    "cart on wishbones": cache(lambda: onto(cart_model(), 1)),
    "rigid cart": cache(lambda: onto(cart_model(rigid=True), 2, spread=0.02)),
    "rolling five-bar": cache(lambda: onto(rolling_five_bar_model(), 3)),
    "geared ladder": cache(lambda: onto(geared_ladder_model(), 4)),
}
