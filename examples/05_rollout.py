"""A thousand double pendulums within a ten-thousandth of a degree swing as one, and then each its own way."""

import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

m = wt.Model("double pendulum")
near, place = m.ground, (0, 0, 0)
for name in ("upper", "lower"):
    rod = m.body(name, **wt.rod(mass=1.0, length=1.0, axis="z"))
    m.joint(f"{name} hinge", "revolute", near, rod, axis="y", at=place)
    near, place = rod, (0, 0, 1.0)
system = m.compile()

count, step, every = 1000, 2e-3, 10
q = np.radians((60.0, -90.0)) * np.ones((count, 2))  # from upright
q[:, 0] += np.radians(np.linspace(0, 1e-4, count))
Q, U = wt.rollout(system, q, None, None, step, steps=6000, every=every, threads=0)

t = step * every * np.arange(Q.shape[1])
apart = np.degrees(np.ptp(Q[:, :, 0], axis=0))
for k in range(0, len(t), 100):
    print(f"t = {t[k]:4.1f} s: the upper rods are within {apart[k]:.1e} degrees")
begin, end = (wt.energy(system, Q[:, k], U[:, k]).total for k in (0, -1))
print(f"energy changed by at most {np.abs(end - begin).max():.1e} J")

x = np.sin(Q[:, :, 0]) + np.sin(Q.sum(axis=2))
figure, (above, below) = plt.subplots(2, sharex=True, layout="constrained")
above.plot(t, x[::10].T, color="#0072B2", linewidth=0.3)
above.set_ylabel("lower end, sideways (m)")
below.semilogy(t, apart, color="#D55E00")
below.set(xlabel="time (s)", ylabel="upper rods within (degrees)")
figure.savefig("rollout.png", dpi=160)
print("wrote rollout.png")
