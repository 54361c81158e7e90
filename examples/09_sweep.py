"""A tower in the wind and the mass that calms it: 576 runs find the spring that Den Hartog's formula gives."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

TOWER, ABSORBER, HZ = 1000.0, 50.0, 1.0  # kg, kg, and the tower alone
mu, w = ABSORBER / TOWER, 2 * np.pi * HZ
best = ABSORBER * (w / (1 + mu)) ** 2  # N/m; and damping that makes both peaks flat
damping = 2 * ABSORBER * w / (1 + mu) * np.sqrt(3 * mu / (8 * (1 + mu)))

m = wt.Model("tower", gravity=(0, 0, 0))
tower = m.body("tower", **wt.box(mass=TOWER, size=(1, 1, 5)))
mass = m.body("mass", **wt.box(mass=ABSORBER, size=(1, 1, 1)))
m.joint("sway", "prismatic", m.ground, tower, axis="x", stiffness=TOWER * w**2, damping=0.02 * TOWER * w)
m.joint("slide", "prismatic", tower, mass, axis="x", at=(0, 0, 3), stiffness=best, damping=damping)
m.force("wind", "wrench", body=tower, force=(100, 0, 0), factor=wt.Sine(amplitude=1.0, frequency=HZ))

springs = best * np.linspace(0.5, 1.6, 24)
parameters = {"forces.wind.factor.frequency": np.linspace(0.7, 1.3, 24), "joints.slide.stiffness": springs}
study = wt.sweep(m, parameters, until=30.0, rtol=1e-6, extremes="sway.q", output_step=0.05)

sway = 1000 * np.maximum(study["sway.q.max"], -study["sway.q.min"])  # mm
worst = sway.max("forces.wind.factor.frequency")
found = float(springs[worst.values.argmin()])
print(f"{study.runs} runs: least sway {float(worst.min()):.1f} mm with {found:.0f} N/m; Den Hartog: {best:.0f} N/m")

figure, axes = plt.subplots(figsize=(7.5, 5), layout="constrained")
image = axes.pcolormesh(parameters["forces.wind.factor.frequency"], springs, sway.T, shading="gouraud", cmap="magma")
axes.axhline(best, color="white", linestyle="--", linewidth=1)
axes.text(0.71, best * 1.01, "Den Hartog", color="white", va="bottom")
axes.set(xlabel="frequency of the wind (Hz)", ylabel="spring of the absorber (N/m)", title="sway of the tower")
figure.colorbar(image, label="largest sway (mm)")
figure.savefig("sweep.png", dpi=150)
print("wrote sweep.png")
