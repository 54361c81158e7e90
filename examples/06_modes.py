"""A hanging chain of 60 rods: its natural modes beside the Bessel functions that Daniel Bernoulli found in 1732."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import jn_zeros

import whippletree as wt

RODS, LENGTH, G, SHOWN = 60, 3.0, 9.81, 5

m = wt.Model("chain")
above, at = m.ground, (0, 0, 0)
for i in range(RODS):
    rod = m.body(f"rod{i}", **wt.rod(mass=0.1, length=LENGTH / RODS, axis="-z"))
    m.joint(f"pin{i}", "revolute", above, rod, axis="y", at=at)
    above, at = rod, (0, 0, -LENGTH / RODS)
modes = wt.eigenmodes(m.compile())

exact = jn_zeros(0, SHOWN) / 2 * np.sqrt(G / LENGTH)  # of a chain without stiffness
for k in range(SHOWN):
    print(f"mode {k + 1}: {modes.hz[k]:.5f} Hz, {RODS} rods {modes.frequencies[k] / exact[k] - 1:+.1e} off the chain")

figure, panels = plt.subplots(1, SHOWN, figsize=(9, 5), sharey=True, layout="constrained")
for k, axes in enumerate(panels):
    angle = np.cumsum(modes.shapes[k])  # of each rod from the vertical
    x = np.concatenate([[0.0], np.cumsum(-angle)]) / np.abs(np.cumsum(angle)).max()
    z = -np.linspace(0, LENGTH, RODS + 1)
    for phase in np.linspace(0, np.pi, 13):
        axes.plot(x * np.cos(phase), z, color=plt.cm.viridis(phase / np.pi), alpha=0.7, linewidth=1.2)
    axes.set(title=f"{modes.hz[k]:.3f} Hz", xlim=(-1.2, 1.2), xticks=[])
panels[0].set_ylabel("z (m)")
figure.savefig("modes.png", dpi=150)
print("wrote modes.png")
