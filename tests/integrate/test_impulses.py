"""Every kind of impulsive event: momentum balances to rounding, and the energy lost is the one that is recorded."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import whippletree as wt
from closing import quaternion
from impulses import KINDS, account, check, floating, from_ground, happen, pose_in, touching, two_bodies
from reference import turn
from test_flexible import random_modes
from whippletree.model import Pose
from zoo import random_axes, random_joint_q, random_pose, random_solid, random_state, unit

SEEDS = st.integers(0, 2**32 - 1)
FINE = {"rtol": 1e-12, "atol": 1e-13}


def latched(model, rng, kind, gap, here):
    """``hold``, a latch of some kind between two bodies whose sides are so far apart: system, q, u."""
    tree = model.compile()
    q, u, _ = random_state(tree, rng)
    k, at = wt.kinematics(tree, q), random_pose(rng)
    a, b = two_bodies(model, rng)
    R, p = k.rotation(a) @ at.rotation(), k.position(a) + k.rotation(a) @ np.array(at.position)
    away = pose_in(k, b, R @ turn(unit(rng, 3), gap), p + gap * unit(rng, 3))
    model.constraint("hold", "latch", body=a, at=at, to=b, to_at=away, joint=kind, **random_axes(kind, rng))
    model.temporary("hold", here=here)
    return model.compile(), q, u


@example(seed=990, kind="fixed", here=True)  # two bodies that are welded: what moves its rows is rounding
@given(SEEDS, st.sampled_from(KINDS), st.booleans())
@settings(max_examples=25, deadline=None)
def test_latches_of_mechanisms_that_float(seed, kind, here):
    """Two bodies of random trees or of two of them; what is left open is closed, without a push from nowhere."""
    rng = np.random.default_rng(seed)
    system, q, u = latched(floating(rng, int(rng.integers(1, 5))), rng, kind, 0.3 if here else 0.01, here)
    found = happen(system, q, u, "hold")
    if found.changes[0].what == "activated":  # a loop of two bodies with few DOF may not close
        check(found)
        assert here is False or sum(c.lost for c in found.changes) > -1e-12 * found.before.kinetic


@given(SEEDS, st.sampled_from(("rope", "point", "ball", "sphere")), st.sampled_from((0.0, 0.5, 1.0)))
@settings(max_examples=30, deadline=None)
def test_contacts_and_ropes_without_friction(seed, kind, restitution):
    """Points and balls on planes and balls, that slide or roll from then on; nothing gains energy."""
    rng = np.random.default_rng(seed)
    system, q, u = touching(floating(rng, int(rng.integers(1, 5))), rng, kind, restitution)
    found = happen(system, q, u, "meet")
    check(found)
    lost = sum(c.lost for c in found.changes)
    assert lost > -1e-10 * found.before.kinetic
    slips = system.model.constraints["meet"].slip == "all" if kind in ("ball", "sphere") else True
    if restitution == 1.0 and slips:
        assert abs(lost) < 1e-10 * found.before.kinetic


@given(SEEDS, st.sampled_from(("point", "ball", "sphere")), st.sampled_from((0.0, 0.6, 1.0)), st.floats(0.05, 2.0))
@settings(max_examples=30, deadline=None)
def test_contacts_with_friction_that_stick_and_slip(seed, kind, restitution, friction):
    rng = np.random.default_rng(seed)
    system, q, u = touching(floating(rng, int(rng.integers(1, 5))), rng, kind, restitution, friction)
    found = happen(system, q, u, "meet")
    check(found)
    assert sum(c.lost for c in found.changes) > -1e-10 * found.before.kinetic


@given(SEEDS, st.sampled_from(("rope", "point", "ball", "sphere")), st.sampled_from((None, 0.3)))
@settings(max_examples=20, deadline=None)
def test_ground_gives_the_impulse_that_is_recorded(seed, kind, friction):
    rng = np.random.default_rng(seed)
    friction = None if kind == "rope" else friction
    system, q, u = touching(floating(rng, int(rng.integers(1, 5))), rng, kind, 0.5, friction, to="ground")
    found = happen(system, q, u, "meet")
    check(found, from_ground(found, q))


@pytest.mark.parametrize("fidelity", ["full", "stiffened"])
@pytest.mark.parametrize("how", ["latch", "closes", "contact", "lock"])
def test_flexible_bodies(fidelity, how):
    """An arm of two flexible bodies takes a guest, strikes it, or locks its hinge; modes take their share."""
    rng = np.random.default_rng(7)
    m = wt.Model("flexible", gravity=(0.0, 0.0, -3.0))
    for name, count in (("a", 3), ("b", 2)):
        m.flexible(name, random_modes(rng, count, fidelity))
    m.joint("root", "free", "ground", "a")
    m.joint("hinge", "revolute", "a/tip", "b", axis="y")
    m.body("guest", **random_solid(rng))
    m.joint("flight", "free", "ground", "guest")
    m.frame("hand", "b/tip")
    tree = m.compile()
    q, u = tree.q0.copy(), rng.normal(size=tree.nu)
    for name in ("a", "b"):
        q[tree.q_index(name)] = 0.1 * rng.normal(size=tree.q_index(name).stop - tree.q_index(name).start)
    q[tree.q_index("flight")] = random_joint_q("free", rng)
    q[tree.q_index("root")] = random_joint_q("free", rng)
    k = wt.kinematics(tree, q)
    R, p = k.rotation("guest"), k.position("guest")
    off = 0.02 if how == "closes" else 0.0
    if how == "lock":
        m.constraint("event", "relative", joint="hinge")
        m.temporary("event", here=True)
    elif how == "contact":
        n = unit(rng, 3)
        x = np.cross(n, unit(rng, 3))
        x /= np.linalg.norm(x)
        pose = pose_in(k, "hand", np.column_stack([x, np.cross(n, x), n]), p)
        m.constraint("event", "point_on_plane", body="guest", to="hand", to_at=pose)
        m.temporary("event", unilateral=True, restitution=0.5, friction=0.4)
    else:
        Rh = k.rotation("hand")
        at = Pose(tuple(Rh.T @ (p + off - k.position("hand"))), tuple(quaternion(Rh.T @ R @ turn(unit(rng, 3), off))))
        m.constraint("event", "latch", body="guest", to="hand", to_at=at)
        m.temporary("event", activate_within=1.0)
    system = m.compile()
    found = happen(system, q, u, "event")
    if not found.changes:  # it was not coming nearer
        found = happen(system, q, -u, "event")
    assert found.changes[0].what in ("activated", "bounced")
    check(found)


@pytest.mark.parametrize("kind", ["relative", "speed", "gear", "knife_edge", "point_on_line", "rolls"])
def test_whatever_else_is_made_at_speed(kind):
    """A hinge that locks, a clutch that grips at once, a gear, a blade, a pin in a slot, a ball that rolls at once."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        if kind == "rolls":
            system, q, u = touching(floating(rng, 3), rng, "sphere", 0.0)
        else:
            m = wt.Model("floating", gravity=(0.0, 0.0, 0.0))
            m.body("hull", **random_solid(rng))
            m.joint("flight", "free", "ground", "hull")
            for n in range(2):
                m.body(f"arm{n}", **random_solid(rng))
                m.joint(f"hinge{n}", "revolute", "hull", f"arm{n}", axis=unit(rng, 3), at=random_pose(rng))
            given = {
                "relative": {"joint": "hinge0"},
                "speed": {"joint": "hinge0", "of": "hinge1", "ratio": -1.5},
                "gear": {"joint": "hinge0", "of": "hinge1", "ratio": 0.7},
                "knife_edge": {"body": "arm0", "to": "arm1", "at": random_pose(rng)},
                "point_on_line": {"body": "arm0", "to": "arm1", "at": (0.1, 0.2, 0.1)},
            }[kind]
            if kind == "point_on_line":
                k = wt.kinematics(m.compile(), np.r_[0, 0, 0, 1, 0, 0, 0, 0.3, 0.4])
                p = k.position("arm0") + k.rotation("arm0") @ np.array([0.1, 0.2, 0.1])
                given["to_at"] = pose_in(k, "arm1", np.eye(3), p + 0.01 * np.eye(3)[1])
            m.constraint("meet", kind, **given)
            m.temporary("meet", here=kind == "relative")
            system = m.compile()
            q, u = np.r_[0, 0, 0, 1, 0, 0, 0, 0.3, 0.4], rng.normal(size=8)
        found = happen(system, q, u, "meet")
        assert found.changes[0].what == "activated"
        check(found)


# ---------------------------------------------------------------- several at once, and what holds besides


@pytest.mark.parametrize("friction", [None, 0.3])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_a_box_falls_on_all_its_feet(restitution, friction):
    """Four contacts reached at one moment, on a raft that floats or on ground: what the raft gets the box lost."""
    for to in ("raft", "ground"):
        m = wt.Model("box")
        m.body("box", **wt.box(mass=2.0, size=(0.4, 0.3, 0.2)))
        m.joint("flight", "free", "ground", "box")
        m.body("raft", **wt.box(mass=5.0, size=(2.0, 2.0, 0.2)))
        m.joint("drift", "free", "ground", "raft")
        for n, (x, y) in enumerate([(0.2, 0.15), (0.2, -0.15), (-0.2, -0.15), (-0.2, 0.15)]):
            m.constraint(f"foot{n}", "point_on_plane", body="box", to=to, at=(x, y, -0.1))
            m.temporary(f"foot{n}", unilateral=True, restitution=restitution, friction=friction)
        system = m.compile()
        q = np.r_[0.1, 0.0, 0.1, 1, 0, 0, 0, np.zeros(3), 1, 0, 0, 0]
        u = np.r_[0.0, 0.1, 0.4, 0.7, -0.2, -2.0, np.zeros(6)]
        found = happen(system, q, u, "foot0", settle=True)
        assert len([c for c in found.changes if c.what in ("activated", "bounced")]) >= 3  # no more can be reported
        check(found, from_ground(found, q) if to == "ground" else 0.0)


def test_a_blow_on_what_rests():
    """What holds besides takes its share: balls that touch, between a raft and the one that strikes."""
    m = wt.Model("pile", gravity=(0.0, 0.0, 0.0))
    for n, mass in enumerate((5.0, 1.0, 2.0)):
        m.body(f"ball{n}", **wt.sphere(mass=mass, radius=0.1))
        m.joint(f"flight{n}", "free", "ground", f"ball{n}")
        if n:
            touch = {"body": f"ball{n}", "to": f"ball{n - 1}", "radius": 0.1, "to_radius": 0.1}
            m.constraint(f"hit{n}", "roll", on="sphere", **touch)
            m.temporary(f"hit{n}", unilateral=True, friction=0.4, begins="active" if n == 1 else "open")
    system = m.compile()
    q = np.concatenate([[0, 0, 0.2 * n, 1, 0, 0, 0] for n in range(3)])
    u = np.zeros(18)
    u[12:] = 3.0, 1.0, -2.0, 0.5, 0.1, -1.0
    found = happen(system, q, u, "hit2")
    assert found.of("hit2").what == "activated"
    check(found)
    assert np.abs(found.u[:6]).max() > 0.1  # the blow went through


def test_newtons_cradle_in_flight():
    """Five free balls in a row, hit off centre: pushed on from one to the next at one moment."""
    m = wt.Model("cradle", gravity=(0.0, 0.0, 0.0))
    for n in range(5):
        m.body(f"ball{n}", **wt.sphere(mass=1.0 + 0.1 * n, radius=0.05))
        m.joint(f"flight{n}", "free", "ground", f"ball{n}")
        if n:
            touch = {"body": f"ball{n}", "to": f"ball{n - 1}", "radius": 0.05, "to_radius": 0.05}
            m.constraint(f"hit{n}", "roll", on="sphere", slip="all", **touch)
            m.temporary(f"hit{n}", unilateral=True, restitution=0.9)
    q = np.concatenate([[0.1 * n, 0, 0, 1, 0, 0, 0] for n in range(5)])
    u = np.zeros(30)
    u[:6] = 2.0, 0.0, 1.0, 3.0, 0.4, 0.0
    found = happen(m.compile(), q, u, "hit1", settle=True)
    assert {c.name for c in found.changes} == {f"hit{n}" for n in range(1, 5)}
    check(found)


# ---------------------------------------------------------------- along whole runs


def along(run):
    """Energy and momentum at every row, by the reference."""
    found = [account(run.system, q, u) for q, u in zip(run.q, run.u, strict=True)]
    return np.array([a.energy for a in found]), np.array([a.momentum for a in found])


def test_the_account_of_a_long_run_is_closed():
    """Balls that bounce, rub, spin and roll on a raft in space, push each other off, and are caught by a rope."""
    m = wt.Model("juggling", gravity=(0.0, 0.0, 0.0))
    m.body("raft", **wt.box(mass=20.0, size=(2.0, 2.0, 0.2)))
    m.joint("drift", "free", "ground", "raft")
    for n in range(2):
        m.body(f"ball{n}", **wt.sphere(mass=0.5, radius=0.1))
        m.joint(f"flight{n}", "free", "ground", f"ball{n}")
        m.force(f"pull{n}", "spring", body=f"ball{n}", to="raft", stiffness=6.0, length=0.0)
        m.constraint(f"floor{n}", "roll", body=f"ball{n}", to="raft", radius=0.1)
        m.temporary(f"floor{n}", unilateral=True, restitution=0.5, friction=0.2 + 0.2 * n)
    m.constraint("rope", "distance", body="ball0", to="ball1", length=0.6)
    m.temporary("rope", unilateral=True, restitution=0.3)
    q = {"flight0": (0.2, 0.1, 0.3, 1, 0, 0, 0), "flight1": (-0.3, 0.0, 0.4, 1, 0, 0, 0)}
    u = {"flight0": (3.0, -5.0, 1.0, 0.4, 0.3, 0.0), "flight1": (-2.0, 6.0, 0.0, 0.3, -0.2, 0.0)}
    run = wt.simulate(m.compile(), 2.5, q=q, u=u, output_step=0.05, **FINE)
    assert len(run.changes) > 20
    energy, momentum = along(run)
    whole = energy + run["energy.elastic"] - run["energy.work"]
    assert np.abs(whole - whole[0]).max() < 1e-10 * np.abs(energy + run["energy.elastic"]).max()
    assert np.abs(momentum - momentum[0]).max() < 1e-9 * account(run.system, run.q[0], run.u[0]).size.max()
    assert np.abs(run["energy.balance"]).max() < 1e-10 * np.abs(energy + run["energy.elastic"]).max()
    k = wt.kinematics(run.system, run.q)
    for n in range(2):  # nobody has gone through the raft
        away = k.position(f"ball{n}") - k.position("raft")
        assert np.einsum("ti,ti->t", away, k.rotation("raft")[:, :, 2]).min() > 0.1 - 1e-9


def test_an_event_that_changes_velocities_is_in_the_account():
    """A kick gives what it says; the rest goes on as before."""
    m = wt.Model("kick", gravity=(0.0, 0.0, -9.81))
    m.body("ball", **wt.sphere(mass=0.5, radius=0.1))
    m.joint("flight", "free", "ground", "ball")
    m.constraint("floor", "roll", body="ball", radius=0.1)
    m.temporary("floor", unilateral=True, restitution=0.6, friction=0.3)

    def kick(t, q, u):
        u[3] += 1.5

    events = [wt.Event("kick", lambda t, q, u: t - 0.7, 0.0, "rising", then=kick)]
    run = wt.simulate(m.compile(), 2.0, q={"flight": (0, 0, 0.6, 1, 0, 0, 0)}, events=events, **FINE)
    energy, _ = along(run)
    assert np.abs(energy - run["energy.work"] - energy[0]).max() < 1e-10 * np.abs(energy).max()
    (kicked,) = run.events
    gained = 0.5 * 0.5 * ((kicked.u[3] + 1.5) ** 2 - kicked.u[3] ** 2)
    row = int(np.searchsorted(run.t, 0.7, side="right"))
    lost = -sum(c.lost for c in run.changes if run.t[row - 1] < c.t <= run.t[row])
    assert run["energy.work"][row] - run["energy.work"][row - 1] == pytest.approx(gained + lost, abs=1e-9)
