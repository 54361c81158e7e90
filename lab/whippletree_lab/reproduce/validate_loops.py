"""Validation cases with loops, P01 to P04, as a user runs them: no algorithm named, nothing to tune."""

from __future__ import annotations

import numpy as np

from whippletree.dynamics.functions import forward_dynamics
from whippletree.dynamics.kinematics import kinematics
from whippletree.integrate.simulate import simulate
from whippletree.result.result import Result

from .checks import Curve, Outcome
from .loop_problems import ANDREWS, andrews, andrews_angles, bricard, five_bar, n_four_bar
from .problems import case, columns, table

LADDERS = (1, 2, 10)  # four-bars side by side
SECONDS, APART = 100.0, 0.05  # s: of their motion, and between rows of it


def energy_drift(run: Result) -> float:
    """The largest change of energy, relative to the largest energy."""
    energy = run["energy"]
    return float(np.abs(energy - energy[0]).max() / np.abs(energy).max())


def five_bars() -> Outcome:
    """P01, both variants; what depends on what has to change on the way."""
    out, given = Outcome(), case("P01")
    for variant in "AB":
        system, q, u = five_bar(variant)
        rows = table(f"p01_fivebar_{variant}")
        with out.timed():
            udot = forward_dynamics(system, q, u)
            run = simulate(system, 3.0, q=q, u=u, rtol=1e-10, atol=1e-12, output_step=float(rows["t"][1]))
        exact = given["reference"]["initial_accelerations"][variant]["udot"]
        out.compare(f"{variant}: accelerations at the start", udot, exact[: system.nu], 1e-12)
        for kind, unit in (("q", "coordinates"), ("u", "velocities")):
            found = np.column_stack([run[f"q{i}.{kind}"] for i in range(1, 6)])
            names = [f"{kind}{i}" for i in range(1, 6)]
            out.compare(f"{variant}: {unit}, 0 to 3 s", found, columns(rows, names), given["tolerance"][kind])
        out.bound(f"{variant}: drift of energy, relative", energy_drift(run), given["tolerance"]["energy_drift"])
        title, shown = f"P01 five-bar, variant {variant}", (rows["t"], rows["q1"])
        out.curves.append(Curve(title, ("t (s)", "q1 (rad)"), (run.t, run["q1.q"]), shown))
    return out


def squeezer() -> Outcome:
    """P02 against the published end state."""
    out, given = Outcome(), case("P02")
    system, q, u = andrews()
    with out.timed():
        udot = forward_dynamics(system, q, u)
        run = simulate(system, 0.03, q=q, u=u, output_step=1e-3)
    first = andrews_angles(given["initial"]["qdd_published"])
    turned = [j for j in ANDREWS if j in system.joints]
    at = np.concatenate([udot[system.u_index(j)] for j in turned])
    # ten digits are printed
    out.compare("accelerations at the start", at, [first[j] for j in turned], 1e-5 * abs(first["beta"]) / 1e4)
    end = {name: andrews_angles(given["reference"][f"published_{name}"]) for name in ("q", "qd", "qdd")}
    for name, column, joints in (("q", "q", ANDREWS), ("qd", "u", ANDREWS), ("qdd", "udot", turned)):
        words = {"q": "angles", "qd": "velocities, relative", "qdd": "accelerations, relative"}[name]
        found = [run[f"{j}.{column}"][-1] for j in joints]
        tolerance = given["tolerance"]["q" if name == "q" else f"{name}_rel"]
        out.compare(f"{words}, at 0.03 s", found, [end[name][j] for j in joints], tolerance, relative=name != "q")
    rows = table("p02_andrews")
    shown = (rows["t"] * 1e3, rows["gamma"])
    out.curves.append(Curve("P02 Andrews' squeezer", ("t (ms)", "gamma (rad)"), (run.t * 1e3, run["gamma.q"]), shown))
    return out


def bricard_swing() -> Outcome:
    """P03: five rows of six would do, and which one is idle no count of DOF tells."""
    out, given = Outcome(), case("P03")
    system, q, u = bricard()
    rows, known = table("p03_bricard"), given["reference"]
    with out.timed():
        udot = forward_dynamics(system, q, u)
        run = simulate(system, float(rows["t"][-1]), q=q, u=u, output_step=float(rows["t"][1]))
        swing = simulate(system, known["swing_period"], q=q, u=u, output_step=known["half_swing"])
    k = kinematics(system, run.q)
    corner = k.position("bar3") + k.rotation("bar3")[:, :, 2]
    first = [known["initial_joint_accelerations"][int(j[1]) - 1] for j in system.joints]
    out.compare("accelerations at the start", udot, first, 5e-9)  # nine digits are given
    path = columns(rows, ["P3x", "P3y", "P3z"])
    out.compare("path of P3 (m), 0 to 10 s", corner, path, given["tolerance"]["P3"])
    far = [np.pi * (int(j[1]) % 2) for j in system.joints]
    out.compare("half a swing later: odd joints at pi", np.abs(swing.q[1]), far, given["tolerance"]["P3"])
    out.compare("a swing later: at the start again", swing.q[2], q, given["tolerance"]["P3"])
    out.bound("drift of energy, relative", energy_drift(run), given["tolerance"]["energy"])
    out.bound("loop open by", run["closure"], given["tolerance"]["closure"])
    shown = (rows["t"], rows["P3x"])
    out.curves.append(Curve("P03 Bricard", ("t (s)", "P3, x (m)"), (run.t, corner[:, 0]), shown))
    return out


def ladders() -> Outcome:
    """P04: some hundred times through the pose where all loops lose rank, and never off the branch."""
    out, given, rows = Outcome(), case("P04"), table("p04_nfourbar")
    for n in LADDERS:
        system, q, u = n_four_bar(n)
        with out.timed():
            run = simulate(system, SECONDS, q=q, u=u, output_step=APART)
        known = rows[rows["N"] == n]
        at = np.rint(known["t"] / APART).astype(int)
        k = kinematics(system, run.q)
        tip = k.position("crank0") + k.rotation("crank0")[:, :, 1]
        label, path = f"{n} four-bar{'s' * (n > 1)}", columns(known, ["B0x", "B0y"])
        out.compare(f"{label}: tip B0 (m), 1 to 100 s", tip[at, :2], path, given["tolerance"]["B0"])
        change = np.abs(run["energy"] - run["energy"][0]).max()
        out.bound(f"{label}: change of energy (J), 100 s", change, given["tolerance"]["energy_J"])
        out.bound(f"{label}: loops open by", run["closure"], 1e-9)
        if n == LADDERS[-1]:
            early, first = run.t <= 10.0, known[known["t"] <= 10]
            line, shown = (run.t[early], tip[early, 0]), (first["t"], first["B0x"])
            out.curves.append(Curve(f"P04 ladder of {n}", ("t (s)", "B0, x (m)"), line, shown))
    return out
