"""A program at the controls: the arm of a spacecraft takes a satellite, turns it aside, and lets it go."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

system = wt.load("models/space_manipulator.toml").compile()
yaw = system.u_index("wrist_yaw")


def damp(t, q, u):
    """Joint forces (N m), asked for every 10 steps: the wrist gives way slowly."""
    tau = np.zeros(system.nu)
    tau[yaw] = -100.0 * u[yaw]
    return tau


commands = [(4.5, {"do": "motor", "name": "shoulder_yaw_motor", "position": 0.2, "rise": 3.0}),
            (7.5, {"do": "release", "name": "grip"})]  # fmt: skip
run = wt.live(system, controller=damp, every=10, commands=commands, realtime=False, until=9.0, integrator="rk4",
              u={"drift": (0.0, 0.0, 0.01, -0.06, 0.0, 0.0)})  # fmt: skip
for change in run.result.changes:
    print(f"{change.name} {change.what} at {change.t:.3f} s, {change.lost:.3f} J lost")
print(
    f"{run.statistics['steps']} steps, {run.ended}; momentum kept to {np.ptp(run.result['momentum'], axis=0).max():.0e}"
)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(run.result.t, run.result["satellite.position"], label=["x", "y", "z"])
axes.set(xlabel="time (s)", ylabel="position of the satellite (m)")
axes.legend(frameon=False)
figure.savefig("live.png", dpi=150)
print("wrote live.png")
