"""A beam on a hub that is spun up: bodies of three fidelities beside a nonlinear beam, made of rigid links on springs."""

import matplotlib

matplotlib.use("Agg")
import warnings

import matplotlib.pyplot as plt
import numpy as np

import whippletree as wt

LENGTH, EI, LINKS, SPEED, T = 10.0, 14000.0, 20, 6.0, 15.0  # m, N m^2, rad/s, s
t = np.linspace(0, 30, 121)
s = np.minimum(t, T)
angle = SPEED / T * (s**2 / 2 + (T / 2 / np.pi) ** 2 * (np.cos(2 * np.pi * s / T) - 1)) + SPEED * (t - s)


def spun(root, build, until):
    m = wt.Model("spin-up", gravity=(0, 0, 0))
    m.frame("tip", *build(m))
    m.joint("hub", "revolute", m.ground, root, axis="z")
    m.force("spin", "motion", joint="hub", position=wt.Table(t, angle, smooth=True))
    run = wt.simulate(m.compile(), until, output_step=0.05)
    x, y, _ = run["tip.position"].T
    return run.t, y * np.cos(run["hub.q"]) - x * np.sin(run["hub.q"])  # beside the line that turns with the hub


def links(m, h=LENGTH / LINKS):
    inner, at = m.body("root", mass=1.0, inertia=(1, 1, 1)), 0.0
    for i in range(LINKS):
        link = m.body(f"link{i}", **wt.rod(mass=1.2 * h, length=h))
        m.joint(f"pin{i}", "revolute", inner, link, axis="z", at=(at, 0, 0), stiffness=EI / h * (1 + (i == 0)))
        inner, at = link, h
    return inner, (h, 0, 0)


def beam(fidelity):
    rod = wt.beam(LENGTH, A=1e-3, Iy=5e-7, Iz=5e-7, E=EI / 5e-7, rho=1200.0, deforms=["bending_y"])
    return lambda m: (m.flexible("beam", rod.modes(count=3, fidelity=fidelity)) and "beam/tip",)


warnings.simplefilter("ignore")  # "full" bends without end, and says so
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.plot(*spun("root", links, 20.0), "k", linewidth=3, alpha=0.3, label=f"nonlinear: {LINKS} rigid links")
for fidelity, until in (("stiffened", 20.0), ("ruthless", 20.0), ("full", 10.0)):
    times, lag = spun("beam", beam(fidelity), until)
    axes.plot(times, lag, label=fidelity)
    print(f"{fidelity}: lags by up to {np.abs(lag).max():.3f} m")
axes.set(xlabel="time (s)", ylabel="tip beside the hub's line (m)", ylim=(-1.2, 0.4))
axes.legend()
figure.savefig("flexible_beam.png", dpi=150)
print("wrote flexible_beam.png")
