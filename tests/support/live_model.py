"""Two carts that a hook couples, one driven by a motor, and a wheel whose motion is prescribed."""

import whippletree as wt


def carts():
    m = wt.Model("two carts", gravity=(0, 0, 0))
    small = {"inertia": (0.1, 0.1, 0.1)}
    for name, mass in (("engine", 2.0), ("wagon", 3.0), ("wheel", 1.0)):
        m.body(name, mass=mass, **small)
    m.joint("track", "prismatic", m.ground, "engine", axis="x", limits=wt.Limits(lower=-2.0, upper=2.0))
    m.joint("siding", "prismatic", m.ground, "wagon", axis="x", at=(1.0, 0, 0))
    m.joint("axle", "revolute", m.ground, "wheel", axis="y", at=(0, 1, 0))
    m.force("drive", "motor", joint="track", position=0.0, kp=400.0, kd=60.0)
    m.force("turn", "motion", joint="axle", position=0.0)
    m.constraint("hook", "latch", body="wagon", to="engine")
    m.constraint("clamp", "latch", body="wagon", to="engine", at=(0.5, 0, 0))
    m.temporary("hook", activate_within=0.2, activate_below=1.0, here=True, begins="open")
    m.temporary("clamp", begins="open")
    return m.compile()
