"""Constraints that cannot be met end a run at the first step that fails, by name; redundant ones do not.

Times: a violation of 1e-6 is reached within 5 ms of where constraints begin to differ (contradictions.py), fixed steps
add one of 1 ms, and one output interval of at most 10 ms may lie before.
"""

import numpy as np
import pytest

import whippletree as wt
from contradictions import KINDS, REDUNDANT, arm_file, started
from whippletree.errors import SimulationError

EVERY = [("dopri5", "reduction"), ("dop853", "multipliers"), ("rk4", "reduction"), ("rk4", "divide")]
EVERY += [("euler", "multipliers"), ("dopri5", "divide"), ("dopri5", "multipliers"), ("scipy-RK45", "multipliers")]
LATE = 0.02  # s


def end_of(case, **options):
    system, start = started(case)
    with pytest.raises(SimulationError) as caught:
        wt.simulate(system, case.time + 0.3, **start, output_step=0.01, **options)
    return caught.value


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_contradictions_are_named_within_a_step(kind):
    for n, (integrator, algorithm) in enumerate(EVERY):
        is_named_within_a_step(kind(np.random.default_rng(n)), integrator, algorithm)


def is_named_within_a_step(case, integrator, algorithm):
    error = end_of(case, integrator=integrator, algorithm=algorithm)
    reported = str(error)
    assert [name for name in case.names if f"'{name}'" not in reported] == [], reported
    assert "contradict each other" in reported or "cannot be met" in reported
    t = float(reported.split("t = ")[1].split(" s")[0])
    assert case.time - LATE < t < case.time + LATE, (t, case.time)
    partial = error.partial
    assert not partial.attrs["complete"]
    assert case.time - LATE < partial.t[-1] < case.time + LATE
    assert partial["closure"].max() < 3e-6  # LOST, of velocities up to 2


@pytest.mark.parametrize("kind", REDUNDANT, ids=lambda kind: kind.__name__)
def test_redundant_constraints_that_agree_are_no_contradiction(kind):
    for n, (integrator, algorithm) in enumerate(EVERY):
        case = kind(np.random.default_rng(n))
        system, start = started(case)
        run = wt.simulate(system, 0.5, **start, output_step=0.05, integrator=integrator, algorithm=algorithm)
        assert run.attrs["complete"]
        assert run["closure"].max() < 1e-9


def test_a_release_ends_a_contradiction_before_it_begins():
    """The lock lets go at the moment at which the other constraint begins to move: both agree up to then."""
    for integrator in ("dopri5", "rk4", "scipy-RK45"):
        m = wt.Model("arm", gravity=(0, 0, 0))
        m.body("arm", **wt.rod(mass=1.0, length=1.0, axis="x"))
        m.joint("hinge", "revolute", m.ground, "arm", axis="y")
        m.constraint("lock", "relative", joint="hinge", position=0.0)
        m.constraint("turn", "relative", joint="hinge", position=wt.Step(1.0, 0.25, rise=0.5))
        m.temporary("lock", begins="active", release_at=0.25)
        run = wt.simulate(m.compile(), 1.0, integrator=integrator)
        assert run["hinge.q"][-1] == pytest.approx(1.0, abs=1e-9)


def test_a_run_names_all_algorithms_that_solved_it():
    m = wt.Model("brake")
    m.body("wheel", **wt.cylinder(mass=1.0, radius=0.1, length=0.05, axis="y"))
    m.joint("axle", "revolute", m.ground, "wheel", axis="y")
    m.constraint("brake", "speed", joint="axle", speed=0.0)
    m.temporary("brake", activate_at=0.2)
    run = wt.simulate(m.compile(), 0.5, u={"axle": 1.0})
    assert run.attrs["algorithm"].split(", ")[0] == "articulated"
    assert len(run.attrs["algorithm"].split(", ")) == 2
    assert run["axle.udot"].shape == (501,)


def test_closure_has_equations_of_velocities():
    m = wt.Model("sleigh")
    m.body("sleigh", **wt.box(mass=1.0, size=(1, 0.5, 0.1)))
    m.joint("ice", "planar", m.ground, "sleigh", axis="z")
    m.constraint("blade", "knife_edge", body="sleigh")
    system = m.compile()
    aside = wt.Result(system, [0.0, 1.0], np.zeros((2, 3)), [[1.0, 0.0, 0.0], [1.0, 0.25, 0.0]])
    assert aside["closure"] == pytest.approx([0.0, 0.25])


@pytest.mark.parametrize("kind", [KINDS[0], KINDS[1], KINDS[3]], ids=lambda kind: kind.__name__)
def test_a_rollout_ends_too(kind):
    case = kind(np.random.default_rng(3))
    system, start = started(case)
    with pytest.raises(SimulationError, match="contradict each other at t = ") as caught:
        wt.rollout(system, start["q"], start["u"], None, 1e-3, 600)
    assert all(f"'{name}'" in str(caught.value) for name in case.names)


def test_a_contradiction_leaves_its_file_and_exit_code(command, tmp_path):
    step = '{ kind = "step", start = 0.2, after = 2.0, rise = 0.5 }'
    arm_file(tmp_path / "reach.toml", *(f'kind = "relative"\nposition = {x}' for x in (0.0, step)))
    code, _, err = command("run", "reach.toml", "--until", 1.0, "--integrator", "rk4", "-o", "reach.nc")
    assert code == 1
    assert "'one'" in err
    assert "'other'" in err
    assert "at t = 0.2" in err
    assert not wt.load_result(tmp_path / "reach.nc").attrs["complete"]


def test_check_refuses_velocities_that_contradict(command, tmp_path):
    arm_file(tmp_path / "velocities.toml", 'kind = "speed"\nspeed = 1.0', 'kind = "speed"\nspeed = 2.0')
    code, _, err = command("check", "velocities.toml")
    assert code == 2
    assert "contradict each other in speed" in err
    assert "'one'" in err
    assert "'other'" in err
