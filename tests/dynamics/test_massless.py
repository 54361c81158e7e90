"""Loops with links without mass: M of the spanning tree is singular, the equations with constraints are not.

The reference is the same mechanism in which a distance constraint takes the place of the link: a massless rod. Both are
solved to rounding, so accelerations agree to 1e-10; motions to what rtol = 1e-8 leaves after a second, 1e-6.
"""

import numpy as np
import pytest

import whippletree as wt
from whippletree.dynamics.constraints.massless import lent_armature
from whippletree.errors import SimulationError
from whippletree.model import Pose

ALL = ("reduction", "multipliers", "nullspace", "divide")
RUNS = ("reduction", "multipliers", "divide")
NOTHING = {"mass": 0.0, "inertia": (0.0, 0.0, 0.0), "idealized": True}


def planar(rod, floating=False):
    """Crank and coupler with mass, and a rocker without: a link, or a distance."""
    m = wt.Model("rod", gravity=(0, -9.81, 0))
    base = m.ground
    if floating:
        base = m.body("base", **wt.box(mass=3.0, size=(2, 0.3, 0.4)))
        m.joint("base", "free", m.ground, base)
    m.body("crank", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.body("coupler", mass=2.0, com=(0.7, 0.1, 0), inertia=(0.4, 0.4, 0.4))
    m.joint("a", "revolute", base, "crank", axis="z")
    m.joint("b", "revolute", "crank", "coupler", axis="z", at=(1, 0, 0))
    if not rod:
        m.constraint("rod", "distance", body="coupler", at=(1.5, 0, 0), to=base, to_at=(2, 0, 0), length=1.2)
        return m.compile()
    m.body("rocker", **NOTHING)
    m.joint("c", "revolute", "coupler", "rocker", axis="z", at=(1.5, 0, 0))
    m.joint("d", "revolute", "rocker", base, axis="z", at=(1.2, 0, 0), child_at=(2, 0, 0))
    return m.compile()


def spatial(rod, floating=False):
    """A body on a ball joint that a rod holds: universal on one side, so that it cannot spin, a ball on the other."""
    m = wt.Model("strut", gravity=(1, -9.81, 2))
    base = m.ground
    if floating:
        base = m.body("base", **wt.box(mass=3.0, size=(2, 0.3, 0.4)))
        m.joint("base", "free", m.ground, base)
    m.body("arm", mass=1.5, com=(0.4, 0.1, 0.2), inertia=(0.1, 0.2, 0.15))
    m.joint("a", "spherical", base, "arm")
    if not rod:
        m.constraint("rod", "distance", body="arm", at=(0.8, 0.1, 0), to=base, to_at=(1, 1, 0.5), length=1.1)
        return m.compile()
    m.body("link", **NOTHING)
    m.joint("u", "universal", "arm", "link", at=(0.8, 0.1, 0))
    m.joint("s", "spherical", "link", base, at=(0, 0, 1.1), child_at=(1, 1, 0.5))
    return m.compile()


def pair(make, floating, seed):
    """The two mechanisms in one state: joints that both have are there as they are."""
    link, rod = make(True, floating), make(False, floating)
    rng = np.random.default_rng(seed)
    guess = {name: rng.uniform(-0.5, 0.5) for name in link.joints if link.model.joints[name].kind == "revolute"}
    start = wt.assemble(link, q=guess | {"a": 1.0} if make is planar else None, u=rng.normal(size=link.nu))
    shared = list(rod.joints)
    q = np.concatenate([start.q[link.q_index(name)] for name in shared])
    u = np.concatenate([start.u[link.u_index(name)] for name in shared])
    tau = rng.normal(size=rod.nu)
    full = np.zeros(link.nu)
    for name in shared:
        full[link.u_index(name)] = tau[rod.u_index(name)]
    return (link, start.q, start.u, full), (rod, q, u, tau)


def both_in_common(link, rod, x):
    return np.concatenate([x[..., link.u_index(name)] for name in rod.joints], axis=-1)


@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("make", [planar, spatial])
def test_accelerations_are_those_with_a_massless_rod(make, floating):
    for seed in range(5):
        (link, *state), (rod, *other) = pair(make, floating, seed)
        assert lent_armature(link)
        best = wt.forward_dynamics(rod, *other, algorithm="nullspace")
        for name in ALL:
            udot = wt.forward_dynamics(link, *state, algorithm=name)
            assert np.abs(both_in_common(link, rod, udot) - best).max() < 1e-10 * np.abs(best).max(), name
        whole = wt.forward_dynamics(link, *state, algorithm="nullspace")
        udot = wt.forward_dynamics(link, *state, algorithm="multipliers")
        assert np.abs(udot - whole).max() < 1e-10 * np.abs(whole).max()


@pytest.mark.parametrize("algorithm", RUNS)
@pytest.mark.parametrize("floating", [False, True])
@pytest.mark.parametrize("make", [planar, spatial])
def test_runs_move_as_with_a_massless_rod(make, floating, algorithm):
    (link, q, u, _), (rod, q1, u1, _) = pair(make, floating, 3)
    run = wt.simulate(link, 0.5, q=q, u=u, algorithm=algorithm, output_step=0.1)
    other = wt.simulate(rod, 0.5, q=q1, u=u1, output_step=0.1)
    assert np.abs(both_in_common(link, rod, run.u) - other.u).max() < 1e-6 * np.abs(other.u).max()
    assert np.abs(run["energy.balance"]).max() < 1e-7 * max(1.0, np.abs(run["energy"]).max())
    assert run["closure"].max() < 1e-11
    assert run["residual"].max() < 1e-9


def test_velocities_that_are_named_are_completed():
    (link, q, _, _), _ = pair(planar, False, 1)
    run = wt.simulate(link, 0.1, q=q, u={"a": 1.0})
    assert run.u[0, 0] == pytest.approx(1.0)
    assert np.isfinite(run.u).all()


def thread(links):
    """A body with mass, and a loop through links without."""
    m = wt.Model("thread", gravity=(0, -9.81, 0))
    m.body("bob", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.joint("a", "revolute", m.ground, "bob", axis="z")
    near = "bob"
    for n in range(links):
        m.body(f"link{n}", **NOTHING)
        m.joint(f"l{n}", "revolute", near, f"link{n}", axis="z", at=(1, 0, 0))
        near = f"link{n}"
    m.joint("d", "revolute", near, m.ground, axis="z", at=(1, 0, 0), child_at=(2, 0, 0))
    system = m.compile()
    return system, wt.assemble(system, q={"a": 0.3, "l0": 0.5}, u={"a": 1.0})


def test_two_links_without_mass_behind_each_other():
    system, start = thread(2)
    assert len(lent_armature(system)) == 2
    best = wt.forward_dynamics(system, start.q, start.u, algorithm="nullspace")
    for name in ("multipliers", "reduction"):
        udot = wt.forward_dynamics(system, start.q, start.u, algorithm=name)
        assert np.abs(udot - best).max() < 1e-10 * np.abs(best).max()


def test_links_without_mass_that_fold_are_refused_by_name():
    """The equations are singular, not the mass matrix alone."""
    system, start = thread(3)
    for name in ("multipliers", "reduction"):
        with pytest.raises(SimulationError, match="singular") as caught:
            wt.forward_dynamics(system, start.q, start.u, algorithm=name)
        assert "link" in caught.value.where


def test_a_rod_between_balls_may_spin_and_is_refused_by_name():
    m = wt.Model("tie rod", gravity=(0, 0, -9.81))
    m.body("arm", mass=1.5, com=(0.4, 0.1, 0.2), inertia=(0.1, 0.2, 0.15))
    m.joint("a", "spherical", m.ground, "arm")
    m.body("link", **NOTHING)
    m.joint("u", "spherical", "arm", "link", at=(0.8, 0.1, 0))
    m.joint("s", "spherical", "link", m.ground, at=(0, 0, 1.1), child_at=(1, 1, 0.5))
    system = m.compile()
    start = wt.assemble(system)
    with pytest.raises(SimulationError, match="singular") as caught:
        wt.forward_dynamics(system, start.q, start.u, algorithm="multipliers")
    assert "'link'" in caught.value.where
    for name in ("multipliers", "divide"):
        with pytest.raises(SimulationError) as caught:
            wt.simulate(system, 0.1, q=start.q, u=start.u, algorithm=name)
        assert "'link'" in caught.value.where


def test_ordinary_systems_are_lent_nothing():
    for name in ("four_bar", "stewart", "ladder", "slider_crank"):
        assert not lent_armature(wt.load(f"models/{name}.toml").compile())


def test_friction_follows_the_loads_of_a_loop_with_a_massless_link():
    """A base that slides on two feet, with a crank, a coupler and a rocker without mass on it."""
    m = wt.Model("press", gravity=(0, -9.81, 0))
    base = m.body("base", **wt.box(mass=3.0, size=(2, 0.3, 0.4)))
    m.joint("base", "planar", m.ground, base)
    m.body("crank", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    m.body("coupler", mass=2.0, com=(0.7, 0.1, 0), inertia=(0.4, 0.4, 0.4))
    m.body("rocker", **NOTHING)
    m.joint("a", "revolute", base, "crank", axis="z")
    m.joint("b", "revolute", "crank", "coupler", axis="z", at=(1, 0, 0))
    m.joint("c", "revolute", "coupler", "rocker", axis="z", at=(1.5, 0, 0))
    m.joint("d", "revolute", "rocker", base, axis="z", at=(1.2, 0, 0), child_at=(2, 0, 0))
    floor = Pose((0.0, 0.0, 0.0), (0.5**0.5, -(0.5**0.5), 0.0, 0.0))  # its z is upward, along y
    for n, x in enumerate((-1.0, 3.0)):
        m.constraint(f"foot{n}", "point_on_plane", body=base, at=(x, 0, 0), to_at=floor)
        m.temporary(f"foot{n}", unilateral=True, friction=0.3, begins="active")
    system = m.compile()
    start = wt.assemble(system, q={"a": 1.0})
    slides = system.holding(system.held, {f"foot{n}": (1.0, 0.0, 0.0) for n in range(2)})
    u = np.zeros(system.nu)
    best = wt.forward_dynamics(slides, start.q, u, algorithm="nullspace")
    udot = wt.forward_dynamics(slides, start.q, u, algorithm="multipliers")
    assert lent_armature(slides)
    assert abs(best[system.u_index("base")]).max() > 0.1
    assert np.abs(udot - best).max() < 1e-10 * np.abs(best).max()
