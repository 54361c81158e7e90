"""Stiff systems: what explicit methods cannot follow at any reasonable step, and generalized_alpha and cvode can."""

import builtins

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import MissingExtra, SimulationError
from whippletree.integrate.methods.generalized_alpha import RHO

STIFF = 1e9  # N/m


def hanging(stiffness=STIFF):
    """A pendulum on a slide that a stiff spring holds: 5 kHz beside 0.5 Hz."""
    model = wt.Model("hanging")
    model.body("slider", mass=1.0, inertia=(0.01, 0.01, 0.01))
    model.body("rod", **wt.rod(mass=1.0, length=1.0, axis="-z", radius=0.02))
    model.joint("slide", "prismatic", "ground", "slider", axis="x", stiffness=stiffness)
    model.joint("hinge", "revolute", "slider", "rod", axis="y")
    return model.compile()


def mounted():
    """A pendulum on a block in flight that a stiff bushing holds, with some damping."""
    model = wt.Model("mounted")
    model.body("block", mass=2.0, inertia=(0.02, 0.03, 0.04))
    model.body("rod", **wt.rod(mass=1.0, length=1.0, axis="-z", radius=0.02))
    model.joint("flight", "free", "ground", "block")
    model.joint("ball", "spherical", "block", "rod")
    six = {
        "stiffness": (STIFF,) * 3,
        "damping": (1e3,) * 3,
        "rotational_stiffness": (1e7,) * 3,
        "rotational_damping": (1e2,) * 3,
    }
    model.force("mount", "bushing", body="block", to="ground", **six)
    return model.compile()


def pendulum(gravity=9.81):
    """What remains of both when the spring gives way to nothing."""
    model = wt.Model("pendulum", gravity=(0, 0, -gravity))
    model.body("rod", **wt.rod(mass=1.0, length=1.0, axis="-z", radius=0.02))
    model.joint("hinge", "revolute", "ground", "rod", axis="y")
    return model.compile()


def oscillator(rate):
    """One mass on a spring, rate in rad/s."""
    model = wt.Model("oscillator", gravity=(0, 0, 0))
    model.body("mass", mass=1.0, inertia=(1, 1, 1))
    model.joint("slide", "prismatic", "ground", "mass", axis="x", stiffness=rate**2)
    return model.compile()


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_explicit_methods_fail_at_this_step(integrator):
    """Else the tests below would show nothing: h w = 30 or more, and Runge-Kutta is stable to 2.8."""
    with pytest.raises(SimulationError, match="ceased to be finite"):
        wt.simulate(hanging(), 1.0, q={"hinge": 1.0}, integrator=integrator, step=1e-3)


@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_the_stiff_part_gives_way_to_the_slow_one(step):
    """A spring of 1e9 N/m stretches by 1e-8 m: the rod swings like one without it, as well as order 2 has it."""
    run = wt.simulate(hanging(), 2.0, q={"hinge": 1.0}, integrator="generalized_alpha", step=step, output_step=0.1)
    exact = wt.simulate(pendulum(), 2.0, q={"hinge": 1.0}, output_step=0.1)
    assert np.abs(run["hinge.q"] - exact["hinge.q"]).max() < 10 * step**2
    assert np.abs(run["slide.q"]).max() < 1e-7


def test_a_stiff_bushing_under_a_free_body():
    """Quaternions and a mount of 1e9 N/m and 1e7 N m/rad, against CVODE, which chooses its steps."""
    system = mounted()
    start = {"u": {"ball": (0.0, 2.0, 1.0)}, "output_step": 0.05}
    exact = wt.simulate(system, 0.5, integrator="cvode", rtol=1e-9, atol=1e-12, **start)
    errors = []
    for step in (2e-3, 1e-3):
        run = wt.simulate(system, 0.5, integrator="generalized_alpha", step=step, **start)
        errors.append(np.abs(run["ball.q"] - exact["ball.q"]).max())
        assert np.abs(np.linalg.norm(run["ball.q"], axis=1) - 1).max() < 1e-14
    assert errors[1] < 1e-5
    assert 3 < errors[0] / errors[1] < 5  # order 2: 4
    assert exact.attrs["accepted"] > 10


@pytest.mark.parametrize("rate", [1.0, 1e2, 1e5])
def test_energy_of_an_oscillator_falls_and_never_grows(rate):
    """RHO is left of each step where the oscillation is much faster than the step; what is slow keeps its energy."""
    step, steps = 0.01, 100
    system = oscillator(rate)
    run = wt.simulate(
        system, step * steps, u={"slide": 1.0}, integrator="generalized_alpha", step=step, output_step=step
    )
    energy = np.asarray(run["energy"])
    size = np.sqrt(energy / energy[0])
    assert energy.max() < energy[0] * 1.001
    if rate == 1.0:
        assert size[-1] > 1 - 1e-5
    if rate == 1e5:
        assert size[-1] < 10 * RHO ** (steps - 10)
        assert np.all(size[20:] < size[:-20])


def test_soft_systems_agree_with_dopri5():
    """Every kind of joint in the order test; here forces of every sort, prescribed motions, and a user's function."""

    def push(t, q, u, tau):
        tau[0] = 0.3 * np.cos(3 * t) - 0.2 * u[0]

    model = wt.Model("soft")
    soft = {"stiffness": 1.0, "damping": 0.1, "friction": 0.1}
    for i, axis in enumerate("yxy"):
        model.body(f"rod{i}", **wt.rod(mass=1.0, length=0.5, axis="-z", radius=0.02))
        near, at = (f"rod{i - 1}", (0, 0, -0.5)) if i else ("ground", (0, 0, 0))
        model.joint(f"hinge{i}", "revolute", near, f"rod{i}", axis=axis, at=at, **soft)
    model.force("drive", "motion", joint="hinge2", position=wt.Sine(0.5, 1.0, 0.0))
    model.force("string", "spring", body="rod1", to="ground", to_at=(1, 0, 0), stiffness=10.0, damping=0.5, length=0.3)
    system = model.compile()
    start = {"q": {"hinge0": 0.5, "hinge1": -0.3}, "tau": push, "output_step": 0.1}
    exact = wt.simulate(system, 1.0, rtol=1e-10, atol=1e-12, **start)
    errors = []
    for step in (2e-3, 1e-3):
        run = wt.simulate(system, 1.0, integrator="generalized_alpha", step=step, **start)
        errors.append(max(np.abs(run.q - exact.q).max(), np.abs(run.u - exact.u).max()))
        np.testing.assert_allclose(run["hinge2.q"], exact["hinge2.q"], atol=1e-12)
    assert errors[1] < 1e-4
    assert 3.5 < errors[0] / errors[1] < 4.5
    balance = np.asarray(run["energy.balance"])
    assert np.abs(balance - balance[0]).max() < 1e-4  # work by the trapezoidal rule: order 2


def test_the_iteration_matrix_is_kept():
    """A linear system needs one; a pendulum some, far fewer than steps."""
    one = wt.simulate(oscillator(1e3), 1.0, u={"slide": 1.0}, integrator="generalized_alpha", step=1e-3).attrs
    assert one["factorizations"] == 1
    assert one["residuals"] < 3.5 * 1000
    few = wt.simulate(hanging(), 1.0, q={"hinge": 1.0}, integrator="generalized_alpha", step=1e-3).attrs
    assert few["factorizations"] < 100


def strips(fidelity, stiffness=0.0, driven=False):
    """Two flexible strips that hang from each other: 40 Hz and more beside 1 Hz."""
    model = wt.Model("strips", gravity=(3.0, 0, -9.0))
    strip = wt.beam(0.5, section="circle", radius=0.005, E=70e9, rho=2700.0, axis="-z", elements=4)
    modes = strip.modes(count=4, fidelity=fidelity, damping=0.02, nodes=["tip"])
    for k, near in enumerate(("ground", "b0/tip")):
        model.flexible(f"b{k}", modes)
        model.joint(f"j{k}", "revolute", near, f"b{k}", axis="yx"[k], stiffness=stiffness * k)
    if driven:
        model.force("drive", "motion", joint="j1", position=wt.Sine(0.2, 1.0, 0.0))
    return model.compile()


@pytest.mark.parametrize("fidelity", ["ruthless", "full", "stiffened"])
def test_stiff_modes_are_solved_by_sweeps(fidelity):
    """No iteration matrix of differences, few corrections a step, and the same answer to second order."""
    system, start = strips(fidelity), {"u": {"j0": 1.0, "j1": -1.0}, "output_step": 0.1}
    exact = wt.simulate(system, 0.3, integrator="dopri5", rtol=1e-9, atol=1e-11, **start)
    errors = []
    for step in (1e-3, 5e-4):
        run = wt.simulate(system, 0.3, integrator="generalized_alpha", step=step, **start)
        assert run.attrs["factorizations"] == 0
        assert run.attrs["residuals"] < 8 * 0.3 / step
        errors.append(np.abs(run.q - exact.q).max())
    assert errors[1] < 1e-4
    assert 3.0 < errors[0] / errors[1] < 5.0


def test_a_step_without_an_end_is_named():
    """A force that jumps with the position it causes: no u' solves the step, and none is made up."""

    def flip(t, q, u, tau):
        tau[0] = -1e3 if q[0] >= 0.3 else 1e3

    with pytest.raises(SimulationError, match=r"finds no end of a step of 0\.001 s at t = ") as caught:
        wt.simulate(oscillator(1.0), 1.0, q={"slide": 0.3}, tau=flip, integrator="generalized_alpha", step=1e-3)
    assert "joint 'slide'" in caught.value.where
    assert "smaller step" in caught.value.hint
    assert len(caught.value.partial) >= 1


def test_dense_equations_are_solved():
    """The factors that the step stands on, against NumPy: rows must be exchanged."""
    from numba import njit

    from whippletree.algebra.dense import factorize, solve_factors

    @njit
    def solve(n, A, pivot, b):
        factorize(n, A, pivot)
        solve_factors(n, A, pivot, b)

    rng = np.random.default_rng(3)
    for n in (1, 2, 7):
        A, b = rng.normal(size=(n, n)), rng.normal(size=n)
        A[0, 0] = 0.0 if n > 1 else 2.0
        x = b.copy()
        solve(n, A.ravel().copy(), np.zeros(n), x)
        np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=1e-11)


# ---------------------------------------------------------------- CVODE


def test_cvode_goes_by_name():
    run = wt.simulate(pendulum(), 1.0, q={"hinge": 1.0}, integrator="cvode", rtol=1e-8, atol=1e-10)
    exact = wt.simulate(pendulum(), 1.0, q={"hinge": 1.0}, rtol=1e-11)
    assert np.abs(run.q - exact.q).max() < 1e-6  # of some hundred steps, each within 1e-8
    assert run.attrs["integrator"] == "cvode"
    assert 0 < run.attrs["accepted"] < run.attrs["evaluations"]


def test_cvode_without_its_package_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *more, **options):
        if name.startswith("sksundae"):
            raise ImportError(name)
        return real(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="scikit-sundae") as caught:
        wt.simulate(pendulum(), 1.0, integrator="cvode")
    assert "whippletree[sundae]" in caught.value.hint


@pytest.mark.parametrize("how", [{"stiffness": 1e6}, {"driven": True}])
def test_what_the_sweeps_do_not_know_is_solved_too(how):
    """A stiff spring at a hinge, and a prescribed motion."""
    system = strips("full", **how)
    run = wt.simulate(system, 0.1, u={"j0": 1.0}, integrator="generalized_alpha", step=2e-4, output_step=0.02)
    exact = wt.simulate(system, 0.1, u={"j0": 1.0}, integrator="dopri5", rtol=1e-7, atol=1e-9, output_step=0.02)
    assert np.abs(run["j0.q"] - exact["j0.q"]).max() < 1e-5
