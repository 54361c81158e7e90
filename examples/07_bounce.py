"""A ball is thrown into the wind: it bounces off the floor, every touch found to rounding, until it reaches a wall."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

RADIUS, KEEP, WALL = 0.1, 0.85, 4.0  # m, share of the speed that a bounce leaves, m

m = wt.Model("ball")
ball = m.body("ball", **wt.sphere(mass=0.4, radius=RADIUS))
m.joint("flight", "free", m.ground, ball)
m.force("air", "drag", body=ball, quadratic=0.02)
m.force("gust", "wrench", body=ball, force=(-1.0, 0, 0), factor=wt.Step(1.0, start=1.0, rise=0.5))
system = m.compile()


def bounce(t, q, u):
    u[5] *= -KEEP  # [angular; linear] in body axes, and the ball does not turn


touch = wt.Event("touch", "ball.position.z", value=RADIUS, direction="falling", then=bounce)
wall = wt.Event("wall", "ball.position.x", value=WALL - RADIUS, then="stop")
start = {"q": {"flight": [0, 0, 1.5, 1, 0, 0, 0]}, "u": {"flight": [0, 0, 0, 3.0, 0, 1.0]}}
run = wt.simulate(system, 10.0, **start, events=[touch, wall])

for event in run.events:
    print(f"{event.name:5} at {event.t:.9f} s, x = {event.q[0]:.6f} m, z = {event.q[2]:.6f} m")
print(f"energy balance, impacts included: {np.abs(run['energy.balance']).max():.1e} J")
figure, axes = plt.subplots(figsize=(8, 3.5), layout="constrained")
axes.plot(run["ball.position.x"], run["ball.position.z"])
axes.axvline(WALL, color="gray")
axes.set(xlabel="x (m)", ylabel="z (m)", ylim=(0, None), aspect="equal")
figure.savefig("bounce.png", dpi=150)
print("wrote bounce.png")
