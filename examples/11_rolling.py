"""A coin is set rolling, leans over, and runs in circles: where it touches the floor, and how upright it is."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

RADIUS = 0.25
system = wt.load("models/rolling_disc.toml").compile()
figure, (floor, lean) = plt.subplots(1, 2, figsize=(11, 5), layout="constrained", width_ratios=(1.2, 1))
for turning, colour in ((0.3, "#1f4e79"), (1.0, "#d1495b"), (2.0, "#edae49")):
    run = wt.simulate(system, until=8.0, u={"flight": (0.0, 6.0, turning, 6.0 * RADIUS, 0.0, 0.0)})
    axle = run["disc.rotation"][:, :, 1]
    down = axle * axle[:, 2:] - [0.0, 0.0, 1.0]  # across the axle, to the lowest point of the rim
    touch = run["disc.position"] + RADIUS * down / np.linalg.norm(down, axis=1, keepdims=True)
    floor.plot(touch[:, 0], touch[:, 1], color=colour, linewidth=1.4, label=f"turned at {turning:g} rad/s")
    lean.plot(run.t, np.degrees(np.arcsin(axle[:, 2])), color=colour, linewidth=1.4)
    loss = abs(run["energy.balance"]).max() / run["energy"].max()
    print(f"turned at {turning:g} rad/s: energy kept to {loss:.0e}, touching to {abs(touch[:, 2]).max():.0e} m")
floor.set(xlabel="x (m)", ylabel="y (m)", title="where the coin touches the floor", aspect="equal")
floor.legend(frameon=False)
lean.set(xlabel="time (s)", ylabel="lean (degrees)", title="how far it leans")
for axes in (floor, lean):
    axes.grid(alpha=0.3)
figure.savefig("rolling.png", dpi=150)
print("wrote rolling.png")
