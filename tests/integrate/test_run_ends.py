"""What a run leaves and says: times of rows, files that show its accuracy, messages that say what to do."""

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError, SimulationError


@pytest.fixture(scope="module")
def pendulum():
    return wt.load("models/pendulum.toml").compile()


@pytest.mark.parametrize("integrator", ["dopri5", "rk4", "euler", "generalized_alpha", "scipy-RK45"])
def test_rows_stand_at_multiples_of_the_output_step(pendulum, integrator):
    fine = {} if integrator in ("dopri5", "scipy-RK45") else {"step": 1e-3}
    options = {"q": {"hinge": 1.0}, "integrator": integrator} | fine
    run = wt.simulate(pendulum, 1.0, output_step=0.3, **options)
    assert run.t == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.0], abs=1e-15)
    even = wt.simulate(pendulum, 1.0, output_step=0.1, **options)
    # the same steps of 1 ms, or dense output to the tolerance
    np.testing.assert_allclose(run.q, even.q[[0, 3, 6, 9, 10]], atol=1e-7)
    assert wt.simulate(pendulum, 1.0, output_step=3.0, **options).t.tolist() == [0.0, 1.0]


def test_a_shorter_last_interval_resumes(pendulum, tmp_path):
    path = tmp_path / "run.nc"
    options = {"q": {"hinge": 1.0}, "output_step": 0.3, "integrator": "rk4"}

    def stop(t):
        if t > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wt.simulate(pendulum, 1.0, output=path, progress=stop, **options)
    again = wt.simulate(pendulum, 1.0, output=path, resume=True, **options)
    assert np.array_equal(again.q, wt.simulate(pendulum, 1.0, **options).q)


def test_files_show_the_residual_of_the_run(tmp_path):
    system = wt.load("models/four_bar.toml").compile()
    start = wt.assemble(system, q={"shaft": 1.0}, u={"shaft": 3.0})
    run = wt.simulate(system, 0.5, q=start.q, u=start.u, algorithm="multipliers", output_step=0.1)
    run.attrs["warnings"] = ["what was", "warned of"]
    run.save(tmp_path / "run.nc")
    again = wt.load_result(tmp_path / "run.nc")
    assert np.array_equal(again.samples.rows[1:], run.samples.rows[1:])
    assert again["residual"] == pytest.approx(run["residual"], rel=10.0)  # rounding of the model, read again
    assert again.attrs["warnings"] == ["what was", "warned of"]


MESSAGES = {
    "path": (lambda s, p: wt.simulate("models/pendulum.toml", 1.0), r"wt.load\('models/pendulum.toml'\).compile\(\)"),
    "model": (lambda s, p: wt.simulate(wt.load("models/pendulum.toml"), 1.0), "compile it first"),
    "number": (lambda s, p: wt.assemble(3.0), "no System"),
    "no algorithm": (lambda s, p: wt.simulate(s, 1.0, algorithm=None), "algorithm is not a name"),
    "ABA": (lambda s, p: wt.simulate(s, 1.0, algorithm="ABA"), "did you mean 'articulated'"),
    "CRBA": (lambda s, p: wt.simulate(s, 1.0, algorithm="CRBA"), "did you mean 'composite'"),
    "RNEA": (lambda s, p: wt.simulate(s, 1.0, algorithm="RNEA"), "wt.inverse_dynamics"),
    "no integrator": (lambda s, p: wt.simulate(s, 1.0, integrator=None), "integrator 'None' is not known"),
    "result": (lambda s, p: wt.load(p / "run.nc"), "wt.load_result reads it"),
    "columns": (lambda s, p: wt.load_result(p / "run.csv"), "no model"),
}


@pytest.mark.parametrize(("call", "reported"), MESSAGES.values(), ids=MESSAGES)
def test_mistakes_are_reported_with_what_to_do(pendulum, tmp_path, call, reported):
    run = wt.simulate(pendulum, 0.01)
    run.save(tmp_path / "run.nc")
    run.save(tmp_path / "run.csv")
    with pytest.raises(ModelError, match=reported):
        call(pendulum, tmp_path)


def test_arrays_of_a_system_cannot_be_changed(pendulum):
    for array in (pendulum.q0, pendulum.gravity, *pendulum.arrays.values()):
        assert not array.flags.writeable


@pytest.mark.parametrize("count", [6, 12])
def test_a_turned_tube_without_gravity_is_in_equilibrium(count):
    """Forces along some modes are the rounding of those along others."""
    modes = wt.beam(length=1.0, section="tube", radius=0.02, wall=0.002, E=70e9, rho=2700.0).modes(count=count)
    rng = np.random.default_rng(count)
    for rpy in [(0.0, -0.7, 0.0), (np.pi / 2, 0.0, 0.0), *rng.uniform(-3, 3, (6, 3))]:
        for force in np.eye(3) * 10.0:
            m = wt.Model("tube", gravity=(0, 0, 0))
            m.flexible("tube", modes)
            m.joint("clamp", "fixed", m.ground, "tube", at={"position": (0, 0, 0), "rpy": tuple(rpy)})
            m.force("load", "wrench", body="tube/tip", force=tuple(force))
            found = wt.equilibrium(m.compile())
            assert found.stable
            assert found.residual < 1e-9  # of 10 N


def test_equilibrium_raises_no_error_of_linear_algebra(pendulum, monkeypatch):
    from whippletree.analysis import balance

    def fails(*given):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(balance, "stiffness", fails)
    with pytest.raises(SimulationError, match="singular or not finite"):
        wt.equilibrium(pendulum, q={"hinge": 1.0})


@pytest.mark.parametrize(("joint", "angle"), [("foot0", 0.6), ("foot0", 1.0), ("left1", -1.2), ("right20", 1.5)])
def test_one_joint_leads_a_ladder(joint, angle):
    """All cranks turn alike: the branch of the closed pose q = 0, from which no bar has lain flat."""
    system = wt.load("models/ladder.toml").compile()
    q = wt.assemble(system, {joint: angle}).q
    assert q[system.q_index(joint)] == pytest.approx([angle], abs=1e-12)
    assert np.abs(q) == pytest.approx(np.full(system.nq, abs(angle)), abs=1e-8)
