"""A pendulum from Python: the period of a large swing against the exact elliptic integral."""

import numpy as np
from scipy.special import ellipk

import whippletree as wt

LENGTH, START = 1.0, 2.5  # m, rad

m = wt.Model("pendulum")
bob = m.body("bob", mass=1.0, com=(0, 0, -LENGTH), inertia=(1e-9, 1e-9, 1e-9))
m.joint("hinge", "revolute", m.ground, bob, axis="y")
run = wt.simulate(m.compile(), until=10.0, q={"hinge": START}, output_step=1e-3)

# the speed changes sign twice in a period; where, by linear interpolation
t, u = run.t, run["hinge.u"]
k = np.flatnonzero((u[:-1] < 0) & (u[1:] >= 0))
turns = t[k] - u[k] * (t[k + 1] - t[k]) / (u[k + 1] - u[k])
exact = 4 * np.sqrt(LENGTH / 9.81) * ellipk(np.sin(START / 2) ** 2)
print(f"period {np.diff(turns).mean():.6f} s, exact {exact:.6f} s")

energy = run["energy"]
print(f"energy drift {np.abs(energy - energy[0]).max():.1e} J in {run.t[-1]:g} s")
run.plot("hinge.q", "hinge.u", "energy.kinetic", "energy.potential", "energy", path="pendulum.svg")
print("wrote pendulum.svg")
