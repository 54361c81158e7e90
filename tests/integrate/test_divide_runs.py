"""Runs by divide and conquer equal those by other algorithms; loops of divided trees equal those of whole ones."""

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from scipy.spatial.transform import Rotation

import whippletree as wt
from bridge import error
from loop_zoo import MECHANISMS, four_bar, four_bar_angles, four_bar_model, onto_rows, random_loops
from reference import Reference
from test_divide import binary_tree, caterpillar
from whippletree.dynamics.divide.algorithm import planned_run
from whippletree.integrate.run.task import make_task
from whippletree.model import Model
from whippletree_lab.reproduce.loop_problems import start
from whippletree_lab.reproduce.problems import floating_tree
from zoo import chain, random_solid, random_state

FORMS = ("divide", "dca", "dcat", "divide(pieces=3, lanes=False)", "divide(threads=2)")
FINE = {"rtol": 1e-10, "atol": 1e-12}
SAME = 1e-9  # of the largest: runs by steps of equal tolerance, whose evaluations differ by rounding


def close_to(run, expected):
    return max(error(run.q, expected.q), error(run.u, expected.u))


# ---------------------------------------------------------------- trees


@pytest.fixture(scope="module")
def tree():
    return floating_tree().compile()


@pytest.mark.parametrize("form", FORMS)
def test_a_run_equals_that_of_the_articulated_recursion(tree, form):
    start = {"u": np.linspace(-1, 1, tree.nu), "tau": np.linspace(0.1, 0, tree.nu)}
    usual = wt.simulate(tree, 0.5, algorithm="articulated", output_step=0.05, **start, **FINE)
    run = wt.simulate(tree, 0.5, algorithm=form, output_step=0.05, **start, **FINE)
    assert close_to(run, usual) < SAME
    assert run.attrs["algorithm"] == form
    np.testing.assert_allclose(run["energy.work"], usual["energy.work"], atol=1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "dop853", "scipy-Radau"])
def test_every_integrator_runs_divided(tree, integrator):
    how = {"integrator": integrator} | ({} if wt.INTEGRATORS[integrator].ADAPTIVE else {"step": 1e-3})
    start = {"u": np.linspace(-1, 1, tree.nu), "output_step": 0.01}
    usual = wt.simulate(tree, 0.05, algorithm="articulated", **start, **how)
    assert close_to(wt.simulate(tree, 0.05, algorithm="divide(pieces=3)", **start, **how), usual) < SAME


def loaded():
    """A caterpillar on which everything acts: springs, a motor, drag, and a motion that is given."""
    model = caterpillar(6)
    model.force("hand", "motion", joint=next(iter(model.joints)), position=wt.Sine(0.4, 2.0))
    model.force("rope", "spring", body="rod5", to_at=(2.0, 0.3, -1.0), stiffness=40.0, damping=0.5, length=1.0)
    model.force("servo", "motor", joint="hip3_joint", position=0.2, kp=5.0, kd=0.2)
    return model


@pytest.mark.parametrize("form", ["divide(pieces=3)", "dca", "divide(pieces=4, threads=2)"])
def test_forces_and_prescribed_motions_act_in_divided_runs(form):
    system = loaded().compile()
    usual = wt.simulate(system, 0.3, algorithm="articulated", output_step=0.03, **FINE)
    run = wt.simulate(system, 0.3, algorithm=form, output_step=0.03, **FINE)
    assert close_to(run, usual) < SAME
    assert np.abs(run["energy.balance"]).max() < 1e-7  # the work of the hand is in the account


def test_events_stop_a_divided_run():
    system = chain(9).compile()
    event = wt.Event("level", "rod4.position.z", direction="falling", then="stop")
    runs = [wt.simulate(system, 1.0, q=np.full(9, -0.1), events=[event], algorithm=a) for a in ("aba", "divide")]
    assert runs[0].attrs["stopped"] == runs[1].attrs["stopped"] == "level"
    assert runs[1].t[-1] == pytest.approx(runs[0].t[-1], abs=1e-9)


def test_a_stopped_run_goes_on_with_the_same_bits(tree, tmp_path):
    def stop(reached):
        if reached >= 0.3:
            raise KeyboardInterrupt

    how = {"u": np.linspace(-1, 1, tree.nu), "algorithm": "divide(pieces=3, threads=2)"}
    with pytest.raises(KeyboardInterrupt):
        wt.simulate(tree, 1.0, output=tmp_path / "run.nc", progress=stop, **how)
    run = wt.simulate(tree, 1.0, output=tmp_path / "run.nc", resume=True, **how)
    whole = wt.simulate(tree, 1.0, **how)
    assert np.array_equal(run.q, whole.q)
    assert np.array_equal(run.u, whole.u)
    other = how | {"algorithm": "divide(pieces=2)"}
    with pytest.raises(wt.ModelError, match="algorithm differs"):
        wt.simulate(tree, 1.0, output=tmp_path / "run.nc", resume=True, **other)


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_of_divided_runs_allocate_nothing(tree, threads):
    q, u, tau = random_state(tree, np.random.default_rng(1))
    task = make_task(tree, f"divide(threads={threads})", "dopri5", np.array([0, 1e3]), q, u, tau=tau, step=1e-4)
    run = wt.INTEGRATORS["dopri5"].begin(task)
    run.proceed(5)
    _nrt_python.memsys_enable_stats()
    before = rtsys.get_allocation_stats()
    run.proceed(100)
    after = rtsys.get_allocation_stats()
    _nrt_python.memsys_disable_stats()
    assert after.alloc == before.alloc


def test_a_run_that_fails_says_where():
    system = binary_tree(3).compile()
    with pytest.raises(wt.SimulationError, match="finite"):
        wt.simulate(system, 1.0, u=np.full(system.nu, 1e200), algorithm="divide")


# ---------------------------------------------------------------- loops


def braced(n, gap, span, whole=False):
    """A chain with legs, and short loops along it: distances over ``span`` bodies, and ball joints to the ends of legs.

    With ``whole`` its end is joined to ground too.
    """
    rng = np.random.default_rng(7)
    model, near, q = Model("braced", gravity=(1.0, 2.0, -9.0)), "ground", {}
    for k in range(n):
        model.body(f"b{k}", **random_solid(rng))
        model.joint(f"j{k}", "revolute", near, f"b{k}", axis="xyz"[k % 3], at=(0.4, 0.1, 0))
        near, q[f"j{k}"] = f"b{k}", rng.uniform(-1, 1)
        if k % 5 == 2:
            for part, on, kind in ((f"hip{k}", f"b{k}", "universal"), (f"foot{k}", f"hip{k}", "cylindrical")):
                model.body(part, **random_solid(rng))
                model.joint(f"{part}_joint", kind, on, part, at=(0.1, 0.3, 0))
                q[f"{part}_joint"] = rng.uniform(-0.5, 0.5, 2)
    motions = Reference(model).motion(q)
    closing = [(f"b{k}", f"foot{k + 2}") for k in range(0, n - span, gap) if f"foot{k + 2}" in model.bodies]
    for a, b in [*closing, ("ground", f"b{n - 1}")][: None if whole else -1]:
        at = tuple(rng.uniform(-0.3, 0.3, 3))
        there = motions[a].r + motions[a].R @ at
        model.joint(f"{a} {b}", "spherical", a, b, at=at, child_at=tuple(motions[b].R.T @ (there - motions[b].r)))
        turned = Rotation.from_matrix(motions[a].R.T @ motions[b].R).as_quat(scalar_first=True)
        q[f"{a} {b}"] = turned
    for k in range(0, n - span, gap):
        a, b, at, to_at = motions[f"b{k}"], motions[f"b{k + span}"], *rng.uniform(-0.5, 0.5, (2, 3))
        long = np.linalg.norm(a.r + a.R @ at - b.r - b.R @ to_at)
        ends = {"body": f"b{k}", "to": f"b{k + span}", "at": tuple(at), "to_at": tuple(to_at)}
        model.constraint(f"rod{k}", "distance", length=float(long), **ends)
    system = model.compile()
    full, _ = start(system, q)
    return system, full, onto_rows(system, full, rng.normal(size=system.nu)), 10 * rng.normal(size=system.nu)


# bodies, loops every so many and over so many, and whether the whole is closed
BRACED = {
    "apart": (30, 6, 3, False),
    "around": (30, 6, 3, True),
    "in a row": (24, 2, 3, False),
    "long": (24, 8, 7, False),
}


@pytest.mark.parametrize("name", BRACED)
def test_loops_inside_subchains_and_across_them(name):
    """1e-9 as the issue asks; seen are errors of 1e-14."""
    system, q, u, tau = braced(*BRACED[name])
    usual = wt.forward_dynamics(system, q, u, tau, algorithm="multipliers")
    wrenches = {"b7": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}
    pushed = wt.forward_dynamics(system, q, u, tau, wrenches=wrenches, algorithm="multipliers")
    for form in (*FORMS, "divide(pieces=1)", "divide(pieces=5)", "divide(pieces=4, lanes=False, threads=2)"):
        assert error(wt.forward_dynamics(system, q, u, tau, algorithm=form), usual) < 1e-9, form
        got = wt.forward_dynamics(system, q, u, tau, wrenches=wrenches, algorithm=form)
        assert error(got, pushed) < 1e-9, form


def test_loops_that_stay_inside_a_subchain_are_nobody_elses_affair():
    system, *_ = braced(*BRACED["apart"])
    plan = planned_run(system, "divide(pieces=5)").plan
    assert len(plan.inside) == system.constraints.count
    assert not plan.shared  # cuts are made where no loop is
    assert [len(s.clusters) > 0 for s in plan.subchains] == [True] * 5
    plan = planned_run(braced(*BRACED["around"])[0], "divide(pieces=5)").plan
    assert len(plan.shared) == 3  # of the ball joint that closes the whole
    assert len(planned_run(system, "dca").plan.shared) == system.constraints.count


@pytest.mark.parametrize("name", ["apart", "around"])
def test_braced_chains_move_as_by_multipliers(name):
    system, q, u, _ = braced(*BRACED[name])
    options = {"q": q, "u": 0.1 * u, "output_step": 0.01, "rtol": 1e-9}
    usual = wt.simulate(system, 0.05, algorithm="multipliers", **options)
    for form in ("divide(pieces=3)", "divide(pieces=2, threads=2)"):
        run = wt.simulate(system, 0.05, algorithm=form, **options)
        assert close_to(run, usual) < 1e-8  # a tenth of what rtol lets each step be off, over the run
        assert np.abs(run["closure"]).max() < 1e-11


@pytest.mark.parametrize("drive", ["a joint of the tree", "the joint that is cut", "a constraint"])
def test_a_driven_loop_is_in_the_account(drive):
    """What holds the loop is inside a subchain, or shared; the work of the drive is that by multipliers."""
    model, (system, q, _) = four_bar_model(), four_bar()
    joint = "shaft" if drive != "the joint that is cut" else system.cut_joints[0]
    angle = 1.0 if joint == "shaft" else four_bar_angles(0.2, 0.6, 0.5, 0.7, 1.0)[1]
    position = wt.Sine(0.3, 0.5, offset=angle)
    if drive == "a constraint":
        model.constraint("drive", "relative", joint="shaft", position=position)
    else:
        model.force("drive", "motion", joint=joint, position=position)
    driven = model.compile()
    state = wt.assemble(driven, q)
    options = {"q": state.q, "u": state.u, "output_step": 0.05}
    usual = wt.simulate(driven, 0.5, algorithm="multipliers", **options)
    for form in ("divide", "dca"):
        run = wt.simulate(driven, 0.5, algorithm=form, **options)
        assert close_to(run, usual) < 1e-9
        assert np.abs(run["energy.balance"]).max() < 1e-6  # rtol 1e-8 of some joules
        assert np.abs(run["energy.work"] - usual["energy.work"]).max() < 1e-9


@pytest.mark.parametrize("family", ["spatial", "planar", "floating_planar", "spherical", "doubled", "constrained"])
def test_loops_equal_however_the_tree_is_divided(family):
    """1e-9 as the issue asks, for each unit of conditioning of test_random_loops.py, here below 1e3."""
    for seed in range(3):
        system, q, u, tau = random_loops(np.random.default_rng([seed, 5]), family)
        usual = wt.forward_dynamics(system, q, u, tau, algorithm="multipliers")
        for form in ("divide", "dcat", "divide(pieces=2, lanes=False)", "divide(pieces=3, threads=2)"):
            if system.nb > 3:
                assert error(wt.forward_dynamics(system, q, u, tau, algorithm=form), usual) < 1e-9, form


@pytest.mark.parametrize("mechanism", ["four_bar", "bricard", "stewart", "leg", "n_four_bar_5"])
@pytest.mark.parametrize("how", [{}, {"stabilization": "baumgarte"}, {"integrator": "rk4", "step": 1e-3}])
def test_loops_move_as_by_multipliers(mechanism, how):
    system, q, u = MECHANISMS[mechanism]()
    options = {"q": q, "u": u, "output_step": 0.02} | how
    usual = wt.simulate(system, 0.1, algorithm="multipliers", **options)
    run = wt.simulate(system, 0.1, algorithm="divide(pieces=2)", **options)
    assert close_to(run, usual) < 1e-9  # steps of equal tolerance
