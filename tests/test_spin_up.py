"""Spin-up of a flexible beam: each fidelity beside a chain of rigid rods and springs, which is nonlinear by itself."""

from pathlib import Path

import numpy as np
import pytest

import whippletree as wt

MODEL = Path(__file__).parents[1] / "models" / "rotating_beam.toml"
LENGTH, EI, LINE = 10.0, 14000.0, 1.2
UNTIL = 8.0  # s: past the largest lag, at 6.8 s


def turned_by(model):
    model.force("spin", "motion", joint="hub", position=wt.load(MODEL).forces["spin"].position)
    return model.compile()


def lag_of_rods(n):
    """n rods on hinges with springs: between rods EI / l, and for the half one at the hub twice that."""
    m = wt.Model("rods", gravity=(0, 0, 0))
    m.body("hub", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.joint("hub", "revolute", "ground", "hub", axis="z")
    near, at, l = "hub", (0, 0, 0), LENGTH / n
    for i in range(n):
        m.body(f"rod{i}", **wt.rod(mass=LINE * l, length=l))
        m.joint(f"pin{i}", "revolute", near, f"rod{i}", axis="z", at=at, stiffness=(2 if i == 0 else 1) * EI / l)
        near, at = f"rod{i}", (l, 0, 0)
    m.frame("tip", near, at)
    run = wt.simulate(turned_by(m), UNTIL, rtol=1e-6, atol=1e-8)
    return np.einsum("tji,tj->ti", run["hub.rotation"], run["tip.position"])[:, 1].min()


def lag_of_modes(fidelity, count=4):
    modes = wt.beam(LENGTH, A=1e-3, Iy=5e-7, Iz=5e-7, E=28e9, rho=1200.0, deforms=["bending_y"]).modes(
        count=count, fidelity=fidelity
    )
    m = wt.Model("beam", gravity=(0, 0, 0))
    m.joint("hub", "revolute", m.ground, m.flexible("beam", modes), axis="z")
    run = wt.simulate(turned_by(m), UNTIL, rtol=1e-7, atol=1e-9)
    return modes.displacements(run["beam.q"])[:, modes.node("tip"), 1].min()


@pytest.fixture(scope="module")
def nonlinear():
    """The limit of many rods: their error goes with the square of the length of one."""
    coarse, fine = lag_of_rods(10), lag_of_rods(20)
    return fine + (fine - coarse) / 3


def test_stiffened_agrees_with_the_nonlinear_beam(nonlinear):
    """0.1 %: fourth order of the slope, which is 0.08, and what is left of the rods' error."""
    assert abs(lag_of_modes("stiffened") / nonlinear - 1) < 3e-3


def test_the_others_show_their_known_error(nonlinear):
    """Without stiffening spin only softens, and the beam bends away; without either it bends by a tenth too much."""
    assert lag_of_modes("full") < 3 * nonlinear
    assert 1.05 < lag_of_modes("ruthless") / nonlinear < 1.2
