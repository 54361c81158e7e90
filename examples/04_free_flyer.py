"""A spacecraft that turns itself over by moving its arms: momentum stays, attitude does not."""

import numpy as np

import whippletree as wt

m = wt.Model("free flyer", gravity=(0, 0, 0))
hub = m.body("hub", **wt.box(mass=50.0, size=(1.0, 0.6, 0.6)))
m.joint("base", "free", m.ground, hub)
for side, y in (("left", 0.3), ("right", -0.3)):
    arm = m.body(f"{side} arm", **wt.rod(mass=4.0, length=1.2, axis="x", radius=0.04))
    m.joint(f"{side} shoulder", "spherical", hub, arm, at=(0.5, y, 0))
system = m.compile()

spin = {"base": [0.3, 0.0, 0.1, 0, 0, 0], "left shoulder": [0, 2.0, 0], "right shoulder": [0, -1.5, 0.5]}
run = wt.simulate(system, until=20.0, u=spin)

p = run["momentum"]
print(f"momentum at the start {np.round(p[0], 3)}")
print(f"change in {run.t[-1]:g} s       {np.abs(p - p[0]).max():.1e}")
energy = run["energy"]
print(f"energy drift          {np.abs(energy - energy[0]).max() / energy[0]:.1e} of {energy[0]:.2f} J")
print(f"quaternion length - 1 {abs(np.linalg.norm(run['base.q'][-1, 3:]) - 1):.1e}")
run.plot("base.q", "base.u", "momentum", path="free_flyer.svg")
print("wrote free_flyer.svg")
