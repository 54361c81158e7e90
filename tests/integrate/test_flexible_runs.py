"""Runs of flexible bodies: what they keep and tend to, what can be read and drawn, and what is said of bad input."""

import re
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from flexible_zoo import lag, spun_beam
from whippletree.cli.app import main
from whippletree.errors import ModelWarning
from whippletree_lab.reproduce.flexible_problems import hub_and_beam, p10

MODEL = Path(__file__).parents[2] / "models" / "rotating_beam.toml"
TUBE = {"section": "tube", "radius": 0.02, "wall": 0.002, "E": 70e9, "rho": 2700.0}


@pytest.fixture(scope="module")
def swung():
    """A hub that a torque turns, with a beam that bends by a decimetre"""
    system = hub_and_beam(3).compile()
    return wt.simulate(system, 1.0, tau={"pivot": 100.0}, output_step=0.05)


def tumbling(fidelity):
    """A body with a panel on either side, floating"""
    m = wt.Model("tumbling", gravity=(0, 0, 0))
    m.body("hull", mass=2.0, inertia=(0.3, 0.4, 0.5), com=(0.05, 0.0, 0.02))
    m.joint("base", "free", m.ground, "hull")
    for name, axis in (("left", "-y"), ("right", "y")):
        panel = wt.beam(2.0, section="rectangle", height=0.02, width=0.02, E=2e9, rho=1500.0, axis=axis)
        m.flexible(name, panel.modes(count=2, fidelity=fidelity))
        m.joint(f"{name} hinge", "revolute", "hull", name, axis="y", at=(0, 0.2 if axis == "y" else -0.2, 0))
        m.frame(f"{name} end", f"{name}/tip")
    return m.compile()


@pytest.mark.parametrize("fidelity", ["full", "stiffened"])
def test_a_flexible_system_floating_keeps_energy_and_momentum(fidelity):
    system = tumbling(fidelity)
    spin = {"base": [0.4, 0.9, -0.6, 0.1, 0.2, -0.3], "left": [0.3, -0.2], "right hinge": 0.5}
    run = wt.simulate(system, 10.0, u=spin, rtol=1e-11, atol=1e-13, output_step=0.1)
    assert run["energy.elastic"].max() > 0.01 * run["energy"][0]  # it does bend
    np.testing.assert_allclose(run["energy"], run["energy"][0], rtol=1e-8)  # as issue 5 asks
    size = np.linalg.norm(run["momentum"][0].reshape(2, 3), axis=1).repeat(3)
    assert (np.abs(run["momentum"] - run["momentum"][0]) / size).max() < 1e-8


def test_damping_of_modes_is_in_the_account():
    m = wt.Model("damped", gravity=(0, 0, -9.81))
    m.flexible("arm", wt.beam(1.0, **TUBE).modes(count=2, damping=0.05))
    m.joint("shoulder", "revolute", m.ground, "arm", axis="y")
    run = wt.simulate(m.compile(), 0.5, u={"arm": [0.5, 0.5]}, output_step=0.05, rtol=1e-10)
    lost = -run["energy.work"][-1]
    assert lost > 1e-2 * run["energy.kinetic"].max()
    assert np.abs(run["energy.balance"]).max() < 1e-8 * lost  # a hundred steps of rtol 1e-10


# ---- limits


def test_motion_tends_to_that_of_a_rigid_body_as_stiffness_grows():
    rigid = wt.Model("rod", gravity=(0, 0, -9.81))
    rigid.body("arm", **wt.rod(mass=1.2 * 10.0, length=10.0))
    rigid.joint("pivot", "revolute", rigid.ground, "arm", axis="y")
    want = wt.simulate(rigid.compile(), 1.0, output_step=0.1)["pivot.q"]
    off = []
    for E in (2.8e11, 2.8e13):
        m = wt.Model("beam", gravity=(0, 0, -9.81))
        m.flexible("arm", p10(1, plane="bending_z", E=E))
        m.joint("pivot", "revolute", m.ground, "arm", axis="y")
        off.append(np.abs(wt.simulate(m.compile(), 1.0, output_step=0.1)["pivot.q"] - want).max())
    # a swinging deflection is as large as the static one: it falls as 1 / E
    assert off[0] < 0.02
    assert off[1] == pytest.approx(off[0] / 100, rel=0.5)


# ---- stiff modes


def test_generalized_alpha_steps_over_fast_modes():
    """Axial modes swing at 755 rad/s and more; steps of 0.02 s see them not, and the bending none the less"""
    system = hub_and_beam(3, plane="bending_y").compile()
    fine = wt.simulate(system, 2.0, tau={"pivot": 100.0}, output_step=0.1)
    run = wt.simulate(system, 2.0, tau={"pivot": 100.0}, output_step=0.1, integrator="generalized_alpha", step=2e-3)
    # second order: (omega h)^2 / 12 of a swing of 26 rad/s, 2e-4 of it for every radian
    np.testing.assert_allclose(run["pivot.q"], fine["pivot.q"], atol=1e-4)
    stiff = hub_and_beam(3, E=2.8e16).compile()  # the first mode swings at 3.8e3 rad/s
    run = wt.simulate(stiff, 2.0, tau={"pivot": 100.0}, output_step=0.1, integrator="generalized_alpha", step=0.02)
    np.testing.assert_allclose(run["pivot.q"], 0.5 * 100.0 / 450.0 * run.t**2, atol=1e-6)  # as if rigid


def test_quasi_static_modes_follow_their_loads():
    system = hub_and_beam(3).compile()
    still = wt.simulate(system, 1.0, tau={"pivot": 100.0}, quasi_static=0.0, output_step=0.1)
    # a hub and a bar: nothing swings, and the modes hold the beam against its acceleration: K eta = -Cr theta''
    angle = 0.5 * 100.0 / 450.0 * still.t**2
    np.testing.assert_allclose(
        still["pivot.q"], angle, atol=1e-4
    )  # the deformed beam's inertia differs by 1e-4 of itself
    modes = p10(3)
    static = -modes.Cr0[2] * still["pivot.udot"][:, None] / np.diag(modes.K)
    # and against the turn, at which a mode of K is one of K - speed^2
    turned = static / (1.0 - still["pivot.u"][:, None] ** 2 / np.diag(modes.K))
    np.testing.assert_allclose(still["arm.q"], turned, rtol=2e-3, atol=1e-6)
    assert not still["arm.u"].any()
    assert not still["arm.udot"].any()
    balance = wt.inverse_dynamics(system, still.q, still.u, still.udot)  # forces on modes are in balance
    assert np.abs(balance[:, 1:]).max() < 1e-9
    assert still.attrs["evaluations"] < 100


def test_slow_modes_stay_as_they_are_beside_quasi_static_ones(swung):
    run = wt.simulate(swung.system, 1.0, tau={"pivot": 100.0}, quasi_static={"arm": 30.0}, output_step=0.05)
    # the third mode swings at 67 rad/s: its share of the motion, without its swing
    np.testing.assert_allclose(run["pivot.q"], swung["pivot.q"], atol=2e-3 * swung["pivot.q"].max())
    assert run["arm.u"][:, :2].any()
    assert not run["arm.u"][:, 2].any()
    assert run.attrs["evaluations"] < 0.7 * swung.attrs["evaluations"]


def test_quasi_static_modes_of_a_body_whose_motion_is_prescribed():
    """Slow against the first mode, a beam that is spun up lags almost as if it never swung"""
    system = spun_beam("stiffened").compile()
    swinging = lag(wt.simulate(system, 8.0, output_step=0.1))
    run = wt.simulate(system, 8.0, output_step=0.1, quasi_static=0.0)
    assert np.abs(lag(run) - swinging).max() < 0.05 * np.abs(swinging).max()
    needed = wt.inverse_dynamics(system, run.q, run.u, run.udot, t=run.t)
    assert np.abs(needed[:, 1:]).max() < 1e-9


def test_quasi_static_modes_without_loads_stay_straight(swung):
    run = wt.simulate(swung.system, 0.5, u={"pivot": 1.0}, quasi_static=0.0)
    assert np.abs(run["arm.q"]).max() < 1e-12


# ---- what can be read


def test_names_of_modes_and_nodes(swung):
    assert swung["arm.q"].shape == swung["arm.u"].shape == (21, 3)
    np.testing.assert_array_equal(swung["arm.q.2"], swung.q[:, 2])
    assert {"arm.q", "arm.udot", "arm.position", "arm/tip.velocity", "root.reaction"} <= set(swung.names())
    k = wt.kinematics(swung.system, swung.q[-1], swung.u[-1])
    np.testing.assert_array_equal(swung["arm/tip.position"][-1], k.position("arm/tip"))
    np.testing.assert_array_equal(swung["arm/tip.velocity"][-1], k.velocity("arm/tip"))


def test_displacements_and_places_of_nodes(swung):
    modes = swung.system.model.flexibles["arm"].modes
    moved, at = swung.displacements("arm"), swung.node_positions("arm")
    assert moved.shape == at.shape == (21, len(modes.nodes), 3)
    assert not moved[:, modes.node("base")].any()
    assert 0.05 < np.abs(moved[:, modes.node("tip"), 1]).max() < 1.0
    np.testing.assert_allclose(at[:, modes.node("tip")], swung["arm/tip.position"], atol=1e-12)


def test_stress_of_a_beam_at_rest_is_that_of_its_weight():
    m = wt.Model("hung out", gravity=(0, 0, -9.81))
    m.flexible("arm", wt.beam(1.0, **TUBE).modes("craig-bampton", outboard="tip", count=6))
    m.joint("shoulder", "revolute", m.ground, "arm", axis="y")
    m.body("load", mass=1.0, inertia=(1e-3,) * 3)
    m.joint("grip", "fixed", "arm/tip", "load")
    system = m.compile()
    rest = wt.equilibrium(system, fixed=["shoulder"])
    run = wt.Result(system, [0.0], rest.q[None], np.zeros((1, system.nu)))
    beam = np.pi * (0.02**2 - 0.018**2) * 2700.0  # kg
    moment = run.stresses("arm", at=[0.5])["bending_y"][0, 0]
    assert abs(moment) == pytest.approx(9.81 * (0.5 + beam / 8), rel=0.02)  # modes tell the beam's own weight in part
    assert rest.tau[0] == pytest.approx(-9.81 * (1.0 + beam / 2), rel=1e-3)  # the weight of what is deformed down


def test_accelerations_that_joints_cannot_make_are_refused(swung):
    """T_f is not zero: modes would need forces of their own"""
    system, q, u = swung.system, swung.q[-1], swung.u[-1]
    needed = wt.inverse_dynamics(system, q, u, [1.0, 0.0, 0.0, 0.0])
    assert np.abs(needed[1:]).max() > 1.0
    with pytest.raises(wt.ModelError, match="the joints that are actuated cannot drive the motion") as e:
        wt.inverse_dynamics(system, q, u, [1.0, 0.0, 0.0, 0.0], actuated=["pivot"])
    assert "at 'arm'" in str(e.value)
    possible = wt.forward_dynamics(system, q, u, [7.0, 0.0, 0.0, 0.0])
    driven = wt.inverse_dynamics(system, q, u, possible, actuated=["pivot"])
    np.testing.assert_allclose(driven, [7.0, 0.0, 0.0, 0.0], atol=1e-8)


def test_a_run_is_saved_with_its_modes(swung, tmp_path):
    swung.save(tmp_path / "run.nc")
    back = wt.load_result(tmp_path / "run.nc")
    np.testing.assert_array_equal(back["arm.q"], swung["arm.q"])
    np.testing.assert_allclose(back["arm/tip.position"], swung["arm/tip.position"], atol=1e-9)
    assert swung.dataset["energy_elastic"].values[-1] == swung["energy.elastic"][-1]


# ---- pictures


def test_drawings_show_the_beam_deformed_by_a_factor(swung, tmp_path):
    from whippletree.result.deformation import exaggerated

    more = exaggerated(swung, 5.0)
    np.testing.assert_allclose(more.displacements("arm"), 5.0 * swung.displacements("arm"))
    np.testing.assert_array_equal(more["pivot.q"], swung["pivot.q"])
    moved = (more["arm/tip.position"] - swung["arm/tip.position"])[-1]  # and what is on the tip with it
    turned = swung["arm.rotation"][-1] @ swung.displacements("arm")[-1, -1]
    np.testing.assert_allclose(moved, 4.0 * turned, atol=1e-12)
    swung.animate(tmp_path / "five.html", scale=5.0)
    assert "deformations 5 times as large" in (tmp_path / "five.html").read_text()
    swung.plot(path=tmp_path / "five.svg", scale=5.0)
    assert "deformations 5 times as large" in (tmp_path / "five.svg").read_text()
    swung.report(tmp_path / "five.html", scale=5.0)
    assert "deformations 5 times as large" in (tmp_path / "five.html").read_text()
    swung.animate(tmp_path / "five.gif", scale=5.0)
    assert (tmp_path / "five.gif").stat().st_size > 1000


def test_the_command_line_takes_what_runs_and_drawings_take(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["whippletree", *arguments])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code

    call("run", str(MODEL), "--until", "1", "--quasi-static", "0", "-o", "run.nc")
    assert not wt.load_result("run.nc")["beam.u"].any()
    call("plot", "run.nc", "-o", "run.svg", "--scale", "7")
    assert "deformations 7 times as large" in (tmp_path / "run.svg").read_text()


# ---- complaints


def test_strains_past_the_small_are_reported_once():
    system = hub_and_beam(3).compile()
    with pytest.warns(ModelWarning) as reported:
        wt.simulate(system, 0.3, tau={"pivot": 20000.0}, output_step=0.01)
    assert len(reported) == 1
    assert re.fullmatch(
        r"flexible body 'arm' is bent or twisted by 0\.3\d+ rad at t = 0\.\d+ s, by more than 0\.3: .*",
        str(reported[0].message),
    )
    assert reported[0].filename == __file__


def test_a_strain_is_reported_before_a_run_ends_in_failure():
    """When it comes there, so whoever interrupts the run or sees it fail knows."""
    system = hub_and_beam(3).compile()
    reported = []

    def stop(reached):
        reported.append(len(seen))
        raise KeyboardInterrupt

    with pytest.warns(ModelWarning, match="is bent or twisted by") as seen, pytest.raises(KeyboardInterrupt):
        wt.simulate(system, 0.3, tau={"pivot": 20000.0}, output_step=0.01, progress=lambda t: t > 0.2 and stop(t))
    assert reported == [1]


def test_what_cannot_be_quasi_static_is_reported(swung):
    def run(**options):
        return wt.simulate(swung.system, 0.1, **options)

    with pytest.raises(wt.ModelError, match="quasi_static: there is no flexible body 'amr'") as e:
        run(quasi_static={"amr": 1.0})
    assert e.value.hint == "did you mean 'arm'?"
    with pytest.raises(wt.ModelError, match="quasi_static of 'arm'"):
        run(quasi_static=-1.0)
    with pytest.raises(wt.ModelError, match="'generalized_alpha' takes all modes with their inertia"):
        run(quasi_static=1.0, integrator="generalized_alpha")
    with pytest.raises(wt.SimulationError, match="quasi-static modes of 'hub and beam' do not settle"):
        run(quasi_static=0.0, u={"pivot": 10.0}, tau={"pivot": 1.0})  # faster than the first mode swings
    rigid = wt.Model("rigid")
    rigid.body("bar", mass=1.0, inertia=(1, 1, 1))
    rigid.joint("pin", "revolute", rigid.ground, "bar")
    with pytest.raises(wt.ModelError, match="'rigid' has no flexible body: nothing is quasi-static"):
        wt.simulate(rigid.compile(), 0.1, quasi_static=1.0)
    rigid.flexible("arm", p10(1))
    rigid.joint("root", "revolute", "bar", "arm", axis="z")
    rigid.constraint("tie", "distance", body="arm/tip", to_at=(0, 5, 0), length=12.0)
    with pytest.raises(wt.ModelError, match="quasi_static: 'rigid' has loops or constraints"):
        wt.simulate(rigid.compile(), 0.1, quasi_static=1.0)


def test_what_is_no_flexible_body_is_reported(swung):
    with pytest.raises(wt.ModelError, match="'hub' is no flexible body of 'hub and beam'"):
        swung.displacements("hub")
    with pytest.raises(wt.ModelError, match="scale of the deformation"):
        swung.animate("x.html", scale=-1.0)


def test_a_slender_beam_that_is_bent_far_is_warned_of_by_its_rotation():
    """2 mm thick under 5 N: the strain is 0.0016, and the tip sinks by a quarter more than the elastica."""
    strip = wt.beam(1.0, section="rectangle", width=0.002, height=0.03, E=210e9, rho=7850.0)
    m = wt.Model("strip")
    m.flexible("strip", strip.modes(count=2, damping=0.5))
    m.joint("root", "fixed", m.ground, "strip")
    m.force("load", "wrench", body="strip/tip", force=(0, 0, -5.0))
    with pytest.warns(ModelWarning, match=r"bent or twisted by 0\.3\d* rad at t = .* by more than 0\.3"):
        wt.simulate(m.compile(), 0.5)
