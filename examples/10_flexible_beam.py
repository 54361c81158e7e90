"""A beam on a hub that is spun up: three fidelities beside a nonlinear beam, made of rigid links on springs."""

import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

LENGTH, EI, LINKS, SPEED, T = 10.0, 14000.0, 20, 6.0, 15.0  # m, N m^2, rad/s, s
t = np.linspace(0, 30, 121)
s = np.minimum(t, T)
angle = SPEED / T * (s**2 / 2 + (T / 2 / np.pi) ** 2 * (np.cos(2 * np.pi * s / T) - 1)) + SPEED * (t - s)
rod = wt.beam(LENGTH, A=1e-3, Iy=5e-7, Iz=5e-7, E=EI / 5e-7, rho=1200.0, deforms=["bending_y"])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")

for kind, until, line in (("links", 20, "k:"), ("stiffened", 20, "C0"), ("ruthless", 20, "C1"), ("full", 9, "C3")):
    m = wt.Model(f"spin-up, {kind}", gravity=(0, 0, 0))
    if kind == "links":
        root, h = m.body("root", mass=1.0, inertia=(1, 1, 1)), LENGTH / LINKS
        inner, at = root, 0.0
        for i in range(LINKS):
            link = m.body(f"link{i}", **wt.rod(mass=1.2 * h, length=h))
            m.joint(f"pin{i}", "revolute", inner, link, axis="z", at=(at, 0, 0), stiffness=EI / h * (1 + (i == 0)))
            inner, at = link, h
        m.frame("tip", inner, at=(h, 0, 0))
    else:
        root = m.flexible("beam", rod.modes(count=3, fidelity=kind))
        m.frame("tip", "beam/tip")
    m.joint("hub", "revolute", m.ground, root, axis="z")
    m.force("spin", "motion", joint="hub", position=wt.Table(t, angle, smooth=True))
    run = wt.simulate(m.compile(), until, output_step=0.05)
    lag = run["tip.position.y"] * np.cos(run["hub.q"]) - run["tip.position.x"] * np.sin(run["hub.q"])
    axes.plot(run.t, lag, line, linewidth=3 if kind == "links" else 1.5, label=kind)
    print(f"{kind}: the tip lags behind its hub by up to {np.abs(lag).max():.3f} m")
axes.set(xlabel="time (s)", ylabel="tip beside the line of the hub (m)", ylim=(-1.2, 0.2))
axes.legend()
figure.savefig("flexible_beam.png", dpi=150)
print("wrote flexible_beam.png")
