"""Validation cases of trees and of constraints that are not loops: P05 to P09 and P11."""

from __future__ import annotations

import numpy as np

from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.functions import bias_force, forward_dynamics, inverse_dynamics, mass_matrix
from whippletree.dynamics.kinematics import energy, kinematics, momentum
from whippletree.integrate.simulate import simulate

from . import problems
from .checks import Curve, Outcome
from .problems import case, columns, table

RODS = (1, 2, 4, 16, 128, 1024)
TURNING = {6: "N<=16", 16: "N<=16", 128: "N=128", 1024: "N=1024"}  # lengths, and how their tolerance is called
LONG = ("articulated", "divide", "subchains")  # algorithms that long chains are solved by


def same_side(q: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) with the sign of the reference: a quaternion and its opposite are one rotation."""
    return np.sign((q * reference).sum(axis=1))[:, None] * q


def top() -> Outcome:
    """P05: 150 rad/s about its axis, through two nutations and a half."""
    out, given, rows = Outcome(), case("P05"), table("p05_heavytop")
    system, q, u = problems.heavy_top()
    period = given["reference"]["analytic"]["nutation_period"]
    with out.timed():
        run = simulate(system, 2.0, q=q, u=u, output_step=0.01)
        nutation = simulate(system, period, q=q, u=u, rtol=1e-11, atol=1e-13, output_step=period / 2)
    at, tol = np.rint(rows["t"] / 0.01).astype(int), given["tolerance"]
    attitude = columns(rows, [f"e{i}" for i in range(4)])
    com = run["top.position"] + run["top.rotation"] @ np.array(given["model"]["com_body"])
    out.compare("Euler parameters, to 2 s", same_side(run.q[at], attitude), attitude, tol["euler"])
    out.compare("centre of mass (m), to 2 s", com[at], columns(rows, [f"com_{x}" for x in "xyz"]), tol["com"])
    omega = columns(rows, [f"w{x}_global" for x in "xyz"])
    out.compare("angular velocity (rad/s), to 2 s", run["top.velocity"][at, :3], omega, tol["omega"])
    spin = given["reference"]["analytic"]["spin_rate_body_y"]
    out.compare("spin about its axis (rad/s)", nutation["ball.u"][:, 1], spin, 1e-12 * spin)
    low, high = given["reference"]["analytic"]["com_z_turning_values"]
    height = nutation["top.rotation"][:, 2, 1]
    out.compare("lowest height, by elliptic functions (m)", height[1], low, 1e-9)
    out.compare("height after one nutation (m)", height[2], high, 1e-9)
    out.curves.append(Curve("P05 heavy top", ("t (s)", "height (m)"), (run.t, com[:, 2]), (rows["t"], rows["com_z"])))
    return out


def puma() -> Outcome:
    """P06: two engines' numbers, and four digits as they were published."""
    out, given = Outcome(), case("P06")
    bare, geared = problems.puma560(rotors=False).compile(), problems.puma560().compile()
    known = given["reference"]["recomputed"]
    qn, q1, v1, a1 = (np.array(given["states"][k]) for k in ("qn", "q1", "v1", "a1"))
    v, zero, tol = np.array([1.0, 2, 3, 1, 2, 3]), np.zeros(6), given["tolerance"]["recomputed"]
    forward = known["forward_qdd_q1_v1_with_rotor"]
    with out.timed():
        gravity = bias_force(bare, qn, zero)
        found = {
            "gravity torque (N m)": (gravity, known["gravity_torque_qn"]),
            "mass matrix at qn": (mass_matrix(bare, qn), known["M_qn_without_rotor"]),
            "mass matrix at q1": (mass_matrix(bare, q1), known["M_q1_without_rotor"]),
            "torque of velocities (N m)": (bias_force(bare, qn, v) - gravity, known["velocity_torque_qn_v123123"]),
            "inverse dynamics (N m)": (inverse_dynamics(bare, q1, v1, a1), known["tau_q1_v1_a1_without_rotor"]),
            "forward dynamics, with rotors": (forward_dynamics(geared, q1, v1, forward["tau"]), forward["qdd"]),
        }
    for what, (ours, reference) in found.items():
        out.compare(what, ours, reference, tol)
    printed, tol = given["reference"]["published_4_digits"], given["tolerance"]["published"]
    out.compare("gravity torque, published", bias_force(geared, qn, zero), printed["gravload_qn"], tol)
    torque = inverse_dynamics(geared, qn, zero, np.ones(6))
    out.compare("inverse dynamics, published", torque, printed["rne_qn_0_ones_with_rotor"], tol)
    out.compare("mass matrix, published", mass_matrix(geared, qn), printed["inertia_qn_with_rotor"], tol)
    return out


def chains() -> Outcome:
    """P07: level rods by a closed form, and chains of turning axes by three computations."""
    out, given, rows = Outcome(), case("P07"), table("p07_chain3d")
    for n in RODS:
        system = problems.rod_chain(n).compile()
        with out.timed():
            udot = forward_dynamics(system, np.zeros(n), np.zeros(n))
        out.compare(f"{n} rods falling", np.cumsum(udot), problems.falling_rods(n), given["tolerance"]["part_a"])
    for n, name in TURNING.items():
        system, state = problems.chain3d(n).compile(), problems.chain3d_state(n)
        expected = rows[f"udot_N{n}"][:n]
        for algorithm in LONG if n > 16 else LONG[:1]:
            with out.timed():
                udot = forward_dynamics(system, *state, algorithm=algorithm)
            size = np.abs(expected).max()
            label = f"{n} turning axes, {algorithm}, relative"
            out.compare(label, udot / size, expected / size, given["tolerance"]["part_b_rel"][name])
    return out


def floating() -> Outcome:
    """P08: ten seconds of a tree in space, with springs in its arms."""
    out, given, rows = Outcome(), case("P08"), table("p08_tree")
    system, q, u = problems.flying_tree()
    with out.timed():
        run = simulate(system, 10.0, q=q, u=u, rtol=1e-10, atol=1e-12, output_step=0.05)
    at = np.rint(rows["t"] / 0.05).astype(int)
    known, tol, base = given["reference"], given["tolerance"], run.q[at, system.q_index("flight")]
    out.compare("place of the base (m), 0 to 10 s", base[:, :3], columns(rows, ["x", "y", "z"]), tol["position"])
    attitude = columns(rows, ["qw", "qx", "qy", "qz"])
    out.compare("attitude of the base", same_side(base[:, 3:], attitude), attitude, tol["q"])
    arms = [f"joint{k}" for k in range(1, 7)]
    for kind, tolerance in (("q", tol["q"]), ("u", 1e-5)):
        found = np.column_stack([run[f"{j}.{kind}"][at] for j in arms])
        out.compare(f"arms, {kind}", found, columns(rows, [f"{kind}{k}" for k in range(1, 7)]), tolerance)
    h, bodies = momentum(system, run.q, run.u), list(system.model.bodies.values())
    k, mass = kinematics(system, run.q), sum(b.mass for b in bodies)
    com = sum(b.mass / mass * (k.position(b.name) + k.rotation(b.name) @ np.array(b.com)) for b in bodies)
    out.compare("linear momentum (N s)", h[:, 3:], known["linear_momentum"], tol["momentum"])
    about = h[:, :3] - np.cross(com, h[:, 3:])
    out.compare("angular momentum (N m s)", about, known["angular_momentum_about_com"], tol["momentum"])
    out.compare("energy (J)", energy(system, run.q, run.u).total, known["energy"], tol["energy"])
    shown = (rows["t"], rows["q1"])
    out.curves.append(Curve("P08 floating tree", ("t (s)", "joint 1 (rad)"), (run.t, run["joint1.q"]), shown))
    return out


def gliding() -> Outcome:
    """P09: a blade on ice, by Chaplygin's closed form."""
    out, given, rows = Outcome(), case("P09"), table("p09_sleigh")
    system, q, u = problems.sleigh()
    with out.timed():
        run = simulate(system, float(rows["t"][-1]), q=q, u=u, rtol=1e-10, atol=1e-12, output_step=0.05)
    at, tol = np.rint(rows["t"] / 0.05).astype(int), given["tolerance"]
    pose = columns(rows, ["x_contact", "y_contact", "heading"])
    out.compare("place and heading of the blade", run.q[at], pose, tol["state"])
    heading = run.q[:, 2]
    forward = (run.u[:, :2] * np.column_stack([np.cos(heading), np.sin(heading)])).sum(axis=1)
    v, w = problems.sleigh_solution(run.t)
    out.compare("speed along the blade (m/s)", forward, v, tol["state"])
    out.compare("angular velocity (rad/s)", run.u[:, 2], w, tol["state"])
    out.bound("speed across the blade (m/s)", rows_of(system, run.q, run.u, run.t).rate, tol["constraint_velocity"])
    total = energy(system, run.q, run.u).total
    out.compare("energy (J)", total, given["reference"]["energy"], tol["state"])
    shown = (rows["x_contact"], rows["y_contact"])
    out.curves.append(Curve("P09 Chaplygin's sleigh", ("x (m)", "y (m)"), (run.q[:, 0], run.q[:, 1]), shown))
    return out


def docked() -> Outcome:
    """P11: a plastic weld at once, five seconds as one body, release, two seconds as two."""
    out, given, fine = Outcome(), case("P11"), problems.docking_start() | {"rtol": 1e-12, "atol": 1e-13}
    with out.timed():
        run = simulate(problems.docking().compile(), 7.0, **fine, output_step=0.5)
        ball = simulate(problems.docking("spherical").compile(), 1e-9, **fine, output_step=1e-9)
    known, tol = given["reference"], given["tolerance"]
    made, weld = run.changes[0], known["weld"]
    out.compare("energy lost by the weld (J)", made.lost, weld["kinetic_before"] - weld["kinetic_after"], 1e-12)
    impulse = given["model"]["B"]["mass"] * (np.array(weld["vB_plus"]) - given["initial"]["vB"])
    out.compare("impulse of the weld (N s)", made.impulse[3:], impulse, tol["post_impact"])
    # A and B move on for a nanosecond before their velocities can be read
    for body in "AB":
        v = ball[f"{body}.velocity"][-1]
        after = [*known["spherical"][f"w{body}"], *known["spherical"][f"v{body}"]]
        out.compare(f"ball joint: velocities of {body} after it", v, after, 1e-9)
    for row, key in ((10, "t5"), (14, "t7")):
        for body in "AB":
            where = run[f"{body}.position"][row]
            out.compare(f"place of {body} (m), at {key[1]} s", where, known[key][f"r{body}"], tol["t5_t7"])
    total = [*known["angular_momentum_about_origin"], *known["linear_momentum"]]
    size = float(np.abs(total).max())  # the tolerance is relative to it
    out.compare("momentum, relative", run["momentum"] / size, np.array(total) / size, tol["momentum"])
    out.bound("balance of energy (J)", run["energy.balance"], 1e-10)
    shown = (np.array([5.0, 7.0]), np.array([known[k]["rB"][1] for k in ("t5", "t7")]))
    out.curves.append(Curve("P11 docking", ("t (s)", "y of B (m)"), (run.t, run["B.position"][:, 1]), shown))
    return out
