"""Forces: against a slow reference, laws of energy and MuJoCo; in lanes, in loops, and by a user's functions."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference_forces as reference
import whippletree as wt
from whippletree.dynamics.loads.applied import prescribed_motion
from whippletree.dynamics.registry import stepping
from whippletree.errors import ModelError, SimulationError
from whippletree.model import JOINT_KINDS, Limits
from whippletree_lab.reproduce.problems import flying_tree
from zoo import random_model, random_pose, random_state

WAVES = (
    2.5,
    wt.Ramp(1.5, start=0.2, value=-1.0, end=0.9),
    wt.Step(2.0, start=0.3, before=-1.0, rise=0.4),
    wt.Step(2.0, start=0.3),
    wt.Sine(1.5, 0.7, phase=0.4, offset=0.2),
    wt.Table((0.0, 0.3, 1.0), (1.0, -1.0, 2.0)),
    wt.Table((0.1, 0.4, 0.6, 1.0), (0.0, 1.0, -1.0, 0.5), smooth=True),
)
SMOOTH = (wt.Ramp(0.7, start=-1.0, value=0.2), wt.Sine(0.5, 0.9, 0.3), wt.Step(1.0, 0.1, rise=0.8), WAVES[-1], 0.3)


def gust(t, position, rotation, velocity, wrench):
    """A force that uses all it is reported."""
    wrench[3:] = np.sin(t) * position - 0.3 * velocity[3:]
    wrench[:3] = rotation[:, 2] * 0.7 - 0.2 * velocity[:3]


@numba.njit
def compiled_gust(t, position, rotation, velocity, wrench):
    for i in range(3):
        wrench[3 + i] = np.sin(t) * position[i] - 0.3 * velocity[3 + i]
        wrench[i] = rotation[i, 2] * 0.7 - 0.2 * velocity[i]


def passive_joints(model, rng):
    """Springs, dampers, friction and stops on the joints of a model."""
    for joint in model.joints.values():
        joint.damping, joint.friction = rng.uniform(0, 1), rng.uniform(0, 1)
        joint.friction_speed = 0.1
        if joint.kind != "free" and joint.kind != "fixed":
            joint.stiffness = rng.uniform(0, 5)
        if joint.kind not in ("free", "spherical", "fixed"):
            joint.rest = rng.uniform(-1, 1)
            joint.limits = Limits(lower=-0.3, upper=0.4, stiffness=8.0, damping=0.3)


def with_forces(model, rng, motions=True, custom=True):
    """One force of every kind, at random places; some on ground, frames and welded bodies."""
    places = [*model.bodies, *model.frames]
    bodies = [*places, "ground"]

    def two():
        a = str(rng.choice(places))
        return a, str(rng.choice([b for b in bodies if b != a and _body(model, b) != _body(model, a)] or ["ground"]))

    def point():
        return tuple(rng.uniform(-0.3, 0.3, 3))

    def wave():
        return WAVES[int(rng.integers(len(WAVES)))]

    a, b = two()
    model.force("strut", "spring", body=a, to=b, at=point(), to_at=point(), stiffness=30.0, damping=0.7, length=0.4)
    a, b = two()
    six = {
        name: tuple(rng.uniform(0, 9, 3))
        for name in ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
    }
    model.force("mount", "bushing", body=a, to=b, at=random_pose(rng), to_at=random_pose(rng), **six)
    for axes in ("world", "body"):
        loads = {"force": point(), "torque": point(), "axes": axes, "factor": wave()}
        model.force(f"push_{axes}", "wrench", body=str(rng.choice(places)), at=point(), **loads)
    model.force("air", "drag", body=str(rng.choice(places)), at=point(), linear=0.3, quadratic=0.8)
    if custom:
        model.force("gust", "function", body=str(rng.choice(places)), at=point(), function=compiled_gust)
    moving = [j for j in model.joints.values() if j.kind not in ("fixed", "free", "spherical")]
    for n, joint in enumerate(moving[:4]):
        dof = int(rng.integers(JOINT_KINDS[joint.kind][1]))
        if n == 0:
            gains = {"kp": 20.0, "kd": 2.0, "position": wave(), "limit": 6.0}
            model.force("servo", "motor", joint=joint.name, dof=dof, torque=wave(), **gains)
        elif n == 1:
            model.force("drive", "motor", joint=joint.name, dof=dof, torque=wave(), velocity=wave(), kd=0.5)
        elif motions:
            position = SMOOTH[int(rng.integers(len(SMOOTH)))]
            model.force(f"crank{n}", "motion", joint=joint.name, dof=dof, position=position)
    return model


def _body(model, name):
    """The welded group of a body, crudely: its name, or the body of a frame."""
    return model.frames[name].body if name in model.frames else name


def loaded(seed, bodies=7, **options):
    rng = np.random.default_rng(seed)
    model = random_model(rng, bodies=bodies, armature=True)
    passive_joints(model, rng)
    return with_forces(model, rng, **options).compile(), rng


# ---------------------------------------------------------------- against the slow reference


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("algorithm", wt.ALGORITHMS)
def test_forces_agree_with_the_reference(seed, algorithm):
    system, rng = loaded(seed)
    q, u, tau = random_state(system, rng)
    for t in (0.0, 0.25, 0.5, 2.0):
        slow = reference.applied(system, q, u, t)
        size = 1 + np.abs(slow).max()
        # differences of fourth order with h = 2e-5 leave some 1e-9 of energies of 100 J
        np.testing.assert_allclose(wt.applied_force(system, q, u, t=t), slow, atol=1e-7 * size)
        fast = wt.forward_dynamics(system, q, u, tau, t=t, algorithm=algorithm)
        expected = reference.accelerations(system, q, u, t, tau)
        np.testing.assert_allclose(fast, expected, atol=1e-6 * (1 + np.abs(expected).max()))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 2))
def test_forward_and_inverse_undo_each_other(seed, t):
    system, rng = loaded(seed, bodies=5, motions=False)
    q, u, tau = random_state(system, rng)
    udot = wt.forward_dynamics(system, q, u, tau, t=t)
    back = wt.inverse_dynamics(system, q, u, udot, t=t)
    # rounding grows with the largest force, friction and stops included
    np.testing.assert_allclose(back, tau, atol=1e-9 * (1 + np.abs(wt.applied_force(system, q, u, t=t)).max()))


def test_a_batch_has_a_time_for_each_state_and_equals_single_calls():
    system, rng = loaded(3)
    q, u, tau = random_state(system, rng, 11)
    t = np.linspace(0, 1, 11)
    batch = wt.forward_dynamics(system, q, u, tau, t=t)
    single = np.array([wt.forward_dynamics(system, *x[:3], t=x[3]) for x in zip(q, u, tau, t, strict=True)])
    np.testing.assert_allclose(batch, single, rtol=1e-10, atol=1e-10 * np.abs(single).max())
    elastic = np.array([wt.energy(system, a, b).elastic for a, b in zip(q, u, strict=True)])
    np.testing.assert_allclose(wt.energy(system, q, u).elastic, elastic, rtol=1e-12)


def test_elastic_energy_is_what_the_reference_says():
    system, rng = loaded(4)
    q, u, _ = random_state(system, rng)
    forces = system.model.forces
    named = sum(reference.energy_of(forces[name], system, q) for name in ("strut", "mount"))
    run = wt.Result(system, [0.0], [q], [u], work=[0.0])
    np.testing.assert_allclose(run["strut.energy"][0] + run["mount.energy"][0], named, rtol=1e-9)
    system.model.passive = False
    only = system.model.compile()
    np.testing.assert_allclose(wt.energy(only, q, u).elastic, named, rtol=1e-9)


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("seed", range(4))
def test_energy_balance_is_zero_up_to_integration_error(seed):
    """All kinds of forces at once: energy changes by the work that is accounted for, and by nothing else."""
    system, rng = loaded(seed + 20, bodies=5)
    q, u, _ = random_state(system, rng)
    run = wt.simulate(system, 1.0, q=q, u=0.3 * u, rtol=1e-9, atol=1e-11)
    turnover = 1 + np.abs(run["energy"]).max() + np.abs(np.diff(run["energy.work"])).sum()
    # jumps of Step and of friction cost the controller digits; 1e-9 a step over some hundred steps
    assert np.abs(run["energy.balance"]).max() < 1e-6 * turnover
    assert np.ptp(run["energy.work"]) > 0.01


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_balance_of_fixed_steps_falls_with_their_order(integrator):
    system, rng = loaded(31, bodies=4, motions=False, custom=False)
    for force in ("push_world", "push_body", "servo", "drive", "mount"):  # what may jump or is stiff
        system.model.forces.pop(force, None)
    for joint in system.model.joints.values():
        joint.friction, joint.damping, joint.limits = 0.0, 0.1, None
    system = system.model.compile()
    q, u, _ = random_state(system, rng)
    order, steps = {"rk4": (4, (1e-3, 5e-4)), "euler": (1, (2e-4, 1e-4))}[integrator]
    left = []
    for step in steps:
        run = wt.simulate(system, 0.25, q=q, u=0.2 * u, integrator=integrator, step=step)
        left.append(np.abs(run["energy.balance"]).max())
    assert left[1] < left[0] / 2 ** (order - 0.5)


def test_springs_alone_conserve_energy_of_the_floating_tree():
    """P08: a free base, three arms, a spring in every joint."""
    system, q, u = flying_tree()
    for tolerances, drift in (({}, 1e-7), ({"rtol": 1e-11, "atol": 1e-13}, 1e-10)):
        run = wt.simulate(system, 10.0, q=q, u=u, **tolerances)
        assert np.ptp(run["energy"]) < drift * abs(run["energy"][0])
        assert np.abs(run["momentum"] - run["momentum"][0]).max() < drift * np.abs(run["momentum"][0]).max()
    assert np.ptp(run["energy.elastic"]) > 0.1  # it is the springs that swing
    assert np.abs(run["energy.work"]).max() == 0.0


# ---------------------------------------------------------------- prescribed motions


@pytest.mark.parametrize("algorithm", [*stepping()])
@pytest.mark.parametrize("seed", range(3))
def test_prescribed_motions_are_followed_and_their_force_is_an_output(seed, algorithm):
    system, _ = loaded(seed + 40, bodies=6)
    motions = [f for f in system.model.forces.values() if type(f).__name__ == "Motion"]
    run = wt.simulate(system, 1.0, algorithm=algorithm, rtol=1e-10, atol=1e-12)
    for force in motions:
        q = run.q[:, system.q_index(force.joint).start + force.dof]
        expected = np.array([reference.value(force.position, t) for t in run.t])
        assert np.abs(q - expected).max() < 1e-8
        row = system.u_index(force.joint).start + force.dof
        load = np.zeros((len(run), system.nu))
        load[:, row] = run[f"{force.name}.force"]
        if len(motions) == 1:  # the same motion without the motion: its force as a joint force
            del system.model.forces[force.name]
            free = wt.forward_dynamics(system.model.compile(), run.q, run.u, load, t=run.t)
            assert np.abs(free - run.udot).max() < 1e-7 * np.abs(run.udot).max()


def test_a_swing_that_is_driven_by_hand():
    """One pendulum, position given: the force is m l^2 a + m g l sin, in closed form."""
    model = wt.Model("swing")
    model.body("bob", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model.joint("hinge", "revolute", "ground", "bob", axis="y", armature=0.3, damping=0.2)
    model.force("hand", "motion", joint="hinge", position=wt.Sine(0.8, 0.5, 0.2))
    run = wt.simulate(model.compile(), 3.0)
    w, x = np.pi, 0.8 * np.sin(np.pi * run.t + 0.2)
    v, a = 0.8 * w * np.cos(w * run.t + 0.2), -w * w * x
    inertia = 0.1 + 2.0 * 0.25 + 0.3
    expected = inertia * a + 2.0 * 9.81 * 0.5 * np.sin(x) + 0.2 * v
    np.testing.assert_allclose(run["hand.force"], expected, atol=1e-6)
    np.testing.assert_allclose(run["hand.power"], expected * v, atol=1e-5)
    assert np.abs(run["energy.balance"]).max() < 1e-6
    held = wt.equilibrium(model.compile())
    assert held.q[0] == pytest.approx(0.8 * np.sin(0.2))
    assert held.tau[0] == pytest.approx(2.0 * 9.81 * 0.5 * np.sin(held.q[0]))


# ---------------------------------------------------------------- in lanes


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_rollouts_feel_the_same_forces_as_simulate(integrator):
    """One compiled step in lanes and on floats: equal but for rounding, which chaos of 50 steps does not raise much."""
    system, rng = loaded(52, bodies=6)
    q, u, _ = random_state(system, rng, 5)
    u *= 0.2
    for n in range(5):
        prescribed_motion(system, 0.0, q[n], u[n])
    Q, U = wt.rollout(system, q, u, None, 1e-3, 50, integrator)
    for n in range(5):
        run = wt.simulate(system, 0.05, q=q[n], u=u[n], integrator=integrator, step=1e-3, output_step=1e-3)
        np.testing.assert_allclose(Q[n], run.q, atol=1e-9)
        np.testing.assert_allclose(U[n], run.u, atol=1e-7)


# ---------------------------------------------------------------- user's functions


def swing(function=None):
    model = wt.Model("swing")
    model.body("bob", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model.joint("hinge", "revolute", "ground", "bob", axis="y")
    if function is not None:
        model.force("gust", "function", body="bob", at=(0, 0, -1.0), function=function)
    return model.compile()


def test_a_plain_function_and_a_compiled_one_do_the_same():
    runs = [wt.simulate(swing(f), 1.0, u={"hinge": 2.0}) for f in (gust, compiled_gust)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)
    assert np.abs(runs[0].q - wt.simulate(swing(), 1.0, u={"hinge": 2.0}).q).max() > 0.01
    assert np.abs(runs[0]["energy.balance"]).max() < 1e-6


def brake(t, q, u, tau):
    tau[0] = -0.5 * u[0] + np.sin(3 * t)


def test_joint_forces_by_a_function_of_time_and_state():
    runs = [wt.simulate(swing(), 1.0, u={"hinge": 2.0}, tau=f) for f in (brake, numba.njit(brake))]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)
    model = wt.Model("swing")
    model.body("bob", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model.joint("hinge", "revolute", "ground", "bob", axis="y", damping=0.5)
    model.force("shake", "motor", joint="hinge", torque=wt.Sine(1.0, 3 / (2 * np.pi)))
    same = wt.simulate(model.compile(), 1.0, u={"hinge": 2.0})
    np.testing.assert_allclose(runs[0].q, same.q, atol=1e-8)
    np.testing.assert_allclose(runs[0].udot, same.udot, atol=1e-6)


def test_a_function_that_raises_is_named_and_what_was_computed_is_kept():
    def fails(t, position, rotation, velocity, wrench):
        if t > 0.5:
            raise ValueError("no wind today")

    with pytest.raises(SimulationError, match="gust") as caught:
        wt.simulate(swing(fails), 1.0, u={"hinge": 2.0})
    assert "no wind today" in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)
    assert 0.3 < caught.value.partial.t[-1] <= 0.5

    def fails_too(t, q, u, tau):
        raise ValueError("no torque today")

    with pytest.raises(SimulationError, match="no torque today"):
        wt.simulate(swing(), 1.0, tau=fails_too)


def test_a_function_that_does_not_compile_is_named():
    @numba.njit
    def wrong(t, position):
        return position.nothing

    with pytest.raises(ModelError, match="wrong"):
        swing(wrong)


def test_an_interrupt_inside_a_function_is_not_lost():
    def stops(t, q, u, tau):
        if t > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wt.simulate(swing(), 1.0, tau=stops)


# ---------------------------------------------------------------- against MuJoCo

SPRINGS = """
<mujoco>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <site name="anchor" pos="0.3 0.1 0.2"/>
    <body pos="0 0 0.5">
      <joint name="shoulder" type="hinge" axis="0 1 0" stiffness="3" springref="20" damping="0.7"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1.2"/>
      <body pos="0 0 -0.4">
        <joint name="slide" type="slide" axis="0.6 0 0.8" stiffness="40" damping="1.5"/>
        <geom type="box" size="0.05 0.06 0.1" mass="0.8"/>
        <site name="hook" pos="0.02 -0.03 0.1"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <spatial name="rope" stiffness="25" damping="0.9" springlength="0.1">
      <site site="hook"/><site site="anchor"/>
    </spatial>
  </tendon>
</mujoco>
"""


def test_springs_and_dampers_agree_with_mujoco(tmp_path):
    """qfrc_passive of joint springs, dampers and a spatial tendon, which is our spring between two points."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "springs.xml"
    path.write_text(SPRINGS)
    engine = mujoco.MjModel.from_xml_path(str(path))
    with pytest.warns(wt.errors.ModelWarning):  # the tendon is not imported
        model = wt.load(path, passive=True)
    child = model.joints["slide"].child
    model.force(
        "rope", "spring", body=child, at=(0.02, -0.03, 0.1), to_at=(0.3, 0.1, 0.2),
        stiffness=25.0, damping=0.9, length=0.1,
    )  # fmt: skip
    system, state = model.compile(), mujoco.MjData(engine)
    rng = np.random.default_rng(1)
    for _ in range(20):
        state.qpos, state.qvel = rng.uniform(-1, 1, (2, 2))
        mujoco.mj_forward(engine, state)
        order = [system.u_index(name).start for name in ("shoulder", "slide")]
        ours = wt.applied_force(system, state.qpos[np.argsort(order)], state.qvel[np.argsort(order)])[order]
        np.testing.assert_allclose(ours, state.qfrc_passive, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            wt.forward_dynamics(system, state.qpos, state.qvel, t=0.0)[order], state.qacc, rtol=1e-9, atol=1e-9
        )
