"""Every run compares its energy balance with the energy exchanged, and warns where its steps gained or lost."""

import warnings

import numpy as np
import pytest

import whippletree as wt
from whippletree.integrate.run.balance import EVEN, UNUSUAL, rows_to_look_at


def stop(stiffness):
    """A ball runs at 1 m/s against a stop after 1 s."""
    m = wt.Model("ball", gravity=(0, 0, 0))
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    limits = wt.Limits(lower=-1e6, upper=1.0, stiffness=stiffness)
    m.joint("z", "prismatic", m.ground, "b", axis="z", limits=limits)
    return m.compile()


def balances(system, until, **options):
    """What a run warns of its balance, and the run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = wt.simulate(system, until, **options)
    return [text for text in run.attrs["warnings"] if text.startswith("the energy balance")], run


@pytest.mark.parametrize(
    ("integrator", "stiffness", "gains"),
    [("rk4", 1e8, 500.0), ("euler", 1e8, 4000.0), ("generalized_alpha", 1e6, 0.05), ("generalized_alpha", 1e8, 3.0)],
)
def test_a_stop_that_is_too_stiff_for_the_step_is_named(integrator, stiffness, gains):
    (text,), run = balances(stop(stiffness), 2.0, u={"z": 1.0}, integrator=integrator, step=1e-3)
    assert abs(run["energy.balance"]).max() > gains  # J, of 0.5 J
    for part in ("'ball'", f"'{integrator}'", "steps of 0.001 s", " J at t = ", "of the energy exchanged", "too stiff"):
        assert part in text
    with pytest.warns(wt.ModelWarning, match="energy balance") as caught:
        wt.simulate(stop(stiffness), 2.0, u={"z": 1.0}, integrator=integrator, step=1e-3)
    assert caught[0].filename == __file__
    assert balances(stop(stiffness), 2.0, u={"z": 1.0}, integrator=integrator, step=1e-5)[0] == []


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
def test_a_prescribed_motion_that_steps_jump_over_is_named(integrator):
    """A cart moves by 1 m within 50 ms, with 10 s of rest around."""
    m = wt.Model("cart", gravity=(0, 0, 0))
    m.body("c", **wt.box(mass=1.0, size=(1, 1, 1)))
    m.joint("x", "prismatic", m.ground, "c", axis="x")
    m.force("mo", "motion", joint="x", position=wt.Step(1.0, 5.0, rise=0.05))
    found, run = balances(m.compile(), 10.0, integrator=integrator, step=10.0)
    missed = abs(run["energy.balance"]).max() > 1e-3 * run["energy.kinetic"].max()
    assert len(found) == missed
    assert balances(m.compile(), 10.0, integrator=integrator, step=0.01)[0] == []


def oscillator(damping=0.0):
    m = wt.Model("spring")
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("z", "prismatic", m.ground, "b", axis="z", stiffness=1e4, damping=damping)
    return m.compile()


def beam():
    m = wt.Model("beam")
    m.flexible("beam", wt.beam(length=1.0, section="tube", radius=0.02, wall=0.002, E=70e9, rho=2700.0).modes(count=4))
    m.joint("hinge", "revolute", m.ground, "beam", axis="y")
    return m.compile()


def dropped(restitution):
    m = wt.Model("drop")
    m.body("b", **wt.sphere(mass=0.3, radius=0.05))
    m.joint("f", "free", m.ground, "b")
    m.constraint("c", "roll", body="b", radius=0.05)
    m.temporary("c", unilateral=True, restitution=restitution, friction=0.3)
    return m.compile()


SLIDE = {"q": {"f": (0, 0, 1.0, 1, 0, 0, 0)}, "u": {"f": (0, 20.0, 0, 1.0, 0.3, 0)}}
FINE = {
    "in balance": (oscillator(), {"q": [-9.81e-4]}),
    "in balance, loosely": (oscillator(), {"q": [-9.81e-4], "rtol": 1e-3, "atol": 1e-5}),
    "settles": (oscillator(50.0), {}),
    "in balance by rk4": (oscillator(), {"q": [-9.81e-4], "integrator": "rk4"}),
    "beam": (beam(), {"q": {"hinge": 0.3}, "rtol": 1e-4, "atol": 1e-6}),
    "impacts": (dropped(0.7), SLIDE),
    "impacts by rk4": (dropped(0.7), {**SLIDE, "integrator": "rk4"}),
    "plastic": (dropped(0.0), {**SLIDE, "rtol": 1e-5, "atol": 1e-7}),
}


@pytest.mark.parametrize(("system", "options"), FINE.values(), ids=FINE)
def test_runs_that_are_exact_do_not_warn(system, options):
    assert balances(system, 2.0, **options)[0] == []


def test_damping_by_the_method_and_modes_without_inertia_do_not_warn():
    m = wt.Model("fast", gravity=(0, 0, 0))
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("z", "prismatic", m.ground, "b", axis="z", stiffness=1e6)
    found, run = balances(m.compile(), 1.0, u={"z": 1.0}, integrator="generalized_alpha", step=0.01)
    assert found == []
    assert run["energy"][-1] < 0.01 * run["energy"][0]
    assert balances(beam(), 2.0, u={"hinge": 3.0}, quasi_static=1.0)[0] == []


@pytest.mark.parametrize("force", [(20.0, 3.0, 1.0), (1e-3, 0.0, 0.0)])
def test_what_is_held_does_not_warn(force):
    """All that moves is rounding, and so is its energy and the work of the force."""
    m = wt.Model("held", gravity=(0, 0, 0))
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("x", "free", m.ground, "b")
    m.constraint("l", "latch", body="b")
    m.temporary("l", begins="active", release_force=1e9)
    m.force("f", "wrench", body="b", force=force, torque=(1.0, 2.0, 3.0))
    for integrator in ("dopri5", "rk4"):
        _, run = balances(m.compile(), 1.0, integrator=integrator)
        (text,) = run.attrs["warnings"]
        assert "'held' is locked" in text  # and nothing of digits


def test_forces_of_the_user_events_and_subchains_are_in_the_balance():
    def push(t, q, u, tau):
        tau[0] = 3.0 * np.cos(5.0 * t) - 0.5 * u[0]

    def kick(t, q, u):
        u[0] *= -2.0

    pendulum = wt.load("models/pendulum.toml").compile()
    events = [wt.Event("kick", "hinge.q", value=0.5, then=kick)]
    assert balances(pendulum, 3.0, q=[1.0], tau=push, events=events)[0] == []
    links = wt.load("models/ten_link.toml").compile()
    assert balances(links, 0.5, u=np.full(links.nu, 0.5), algorithm="subchains")[0] == []


@pytest.mark.parametrize("stabilization", ["projection", "baumgarte", "none"])
def test_loops_do_not_warn(stabilization):
    system = wt.load("models/four_bar.toml").compile()
    state = wt.assemble(system, u={"shaft": 3.0})
    assert balances(system, 3.0, q=state.q, u=state.u, stabilization=stabilization)[0] == []


def test_a_handful_of_rows_is_looked_at():
    U = np.zeros((5000, 3))
    U[:, 0] = 1.0
    U[1234, 1] = 1e-3  # the one row in which the second coordinate moves
    rows = rows_to_look_at(U)
    assert {0, 1234, 4999} <= set(rows.tolist())
    assert len(rows) <= EVEN + UNUSUAL
    assert (np.diff(rows) > 0).all()
    assert rows_to_look_at(np.zeros((1, 0))).tolist() == [0]


def test_ruthless_linearization_is_no_error_of_steps():
    """The motion lacks terms that the energy has: 0.5 % of a beam in 0.2 s, whatever the tolerance."""
    modes = wt.beam(1.0, section="rectangle", width=0.002, height=0.03, E=210e9, rho=7850.0).modes(
        count=3, fidelity="ruthless"
    )
    m = wt.Model("strip")
    m.flexible("strip", modes)
    m.joint("hinge", "revolute", m.ground, "strip", axis="y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = wt.simulate(m.compile(), 0.2, u={"hinge": 3.0})
    assert np.abs(run["energy.balance"]).max() > 1e-6 * np.ptp(run["energy.kinetic"])
