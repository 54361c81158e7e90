"""Validation case P10: beams against exact roots, Galerkin's values with the same modes, and published tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.analysis.eigen import eigenmodes
from whippletree.analysis.equilibrium import equilibrium
from whippletree.analysis.linearize import linearize
from whippletree.dynamics.kinematics import kinematics
from whippletree.integrate.simulate import simulate
from whippletree.model import Model

from .checks import Curve, Outcome
from .flexible_problems import UNIT, hub_and_beam, p10, turned_at
from .problems import case

TURNED = ("1", "2", "4", "8", "12")  # velocities of rotation, in units of the table
RITZ = 14  # modes of a beam that turns


def turning_frequencies(speed: float, fidelity: str, plane: str, count: int = RITZ) -> tuple[np.ndarray, float]:
    """Of small motions about steady rotation, and the largest growth; both and the speed in units of the table."""
    poles = linearize(turned_at(speed / UNIT, count, fidelity, plane).compile()).poles * UNIT
    return np.sort(poles.imag[poles.imag > 1e-6]), float(poles.real.max())


def beams() -> Outcome:
    """P10."""
    out, given = Outcome(), case("P10")
    known, tol = given["reference"], given["tolerance"]
    turning = known["rotating_cantilever"]
    published = turning["published_flap_first"]
    with out.timed():
        clamped = Model("clamped", gravity=(0, 0, 0))
        clamped.flexible("arm", p10(5))
        clamped.joint("root", "fixed", clamped.ground, "arm")
        found = eigenmodes(clamped.compile()).frequencies
        exact = known["clamped_free"]["omega"]
        out.compare("clamped beam, 5 frequencies, relative", found, exact, tol["modes_rel"], relative=True)
        for tip, first in ((0, 5e-7), (5, 2.2e-4)):  # the error of 5 modes, by P10's own values
            swing = eigenmodes(hub_and_beam(5, tip=tip).compile()).frequencies[1:]
            want = known["truncated_clamped_modes"][f"galerkin_Jh50_mt{tip}_n5"]
            label = f"on a hub, {tip} kg at the tip"
            out.compare(f"{label}: as Galerkin, relative", swing, want, tol["truncated_rel"], relative=True)
            root = known["hub_pivot_free"][f"Jh50_tip{tip}"]["omega"][0]
            out.compare(f"{label}: first exact root, relative", swing[0], root, first, relative=True)
        _forces(out, known, tol)
        flaps = []
        for speed in TURNED:
            for plane, name in (("bending_z", "flap"), ("bending_y", "chord")):
                swing, _ = turning_frequencies(float(speed), "stiffened", plane)
                what = f"turning at {speed}, {name}, relative"
                out.compare(what, swing[:3], turning[name][speed], tol["rotating_rel"], relative=True)
                if name == "flap":
                    flaps.append(swing[0])
                    printed = published[speed]
                    out.compare(f"turning at {speed}, flap, published", swing[0], printed, 1e-4 * printed + 5e-5)
    shown = (np.array([float(s) for s in published]), np.array(list(published.values())))
    line = (np.array([float(s) for s in TURNED]), np.array(flaps))
    out.curves.append(Curve("P10 turning beam, flap", ("speed of rotation", "first frequency"), line, shown))
    return out


def _forces(out: Outcome, known: dict[str, Any], tol: dict[str, Any]) -> None:
    """A load at the tip, and a torque that begins on the hub."""
    pulled = hub_and_beam(5)
    pulled.force("pull", "wrench", body="arm/tip", force=(0, 10.0, 0))
    system = pulled.compile()
    rest = equilibrium(system, fixed=["pivot"])
    want = known["static_tip_load_10N"]["n_modes"]["5"]
    where = kinematics(system, rest.q).position("end")[1]
    out.compare("10 N at the tip, 5 modes (m), relative", where, want, tol["truncated_rel"], relative=True)
    run = simulate(hub_and_beam(3).compile(), 5.0, tau=[0.1, 0.0, 0.0, 0.0], output_step=0.5, rtol=1e-10, atol=1e-14)
    steps = known["hub_step_torque_0p1Nm"]["three_clamped_modes_theta_and_tip_y"]
    at = [round(2 * float(t)) for t in steps]
    angles, tips = np.array(list(steps.values())).T
    out.compare("step torque, 3 modes: hub, relative", run["pivot.q"][at], angles, tol["step_rel"], relative=True)
    # the tip's y is that of P10's linear theory up to theta squared
    bound = tol["step_rel"] + float(angles.max()) ** 2
    out.compare("step torque, 3 modes: tip, relative", run["end.position.y"][at], tips, bound, relative=True)
    linear = linearize(hub_and_beam(10).compile(), inputs=["pivot"], outputs=["pivot.q", "end.position"])
    response = linear.response(np.linspace(0.0, 5.0, 501), np.array([0.1]))
    exact = known["hub_step_torque_0p1Nm"]["exact_theta_hub_and_tip_y"]
    found = response[[round(100 * float(t)) for t in exact]][:, [0, 2]]
    # P10's own beam has 80 elements, which err by 2e-6; the modes that are left out add 1e-6
    out.compare("step torque, linear, 10 modes, relative", found, list(exact.values()), 5e-6, relative=True)
