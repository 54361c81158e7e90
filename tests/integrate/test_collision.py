"""Several contacts and ropes struck at one moment: one complementarity problem, whatever the order of declaration."""

import itertools
import math

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelWarning
from whippletree.integrate.contacts.collision import Struck, collision, inelastic

FEET = {"a": (0.5, 0.3, -0.5), "b": (0.5, -0.3, -0.5), "c": (-0.5, 0.3, -0.5), "d": (-0.5, -0.3, -0.5)}


def table(order, restitution, **more):
    """Four feet that reach the floor at once, and slip."""
    m = wt.Model("table")
    m.body("top", **wt.box(mass=3.0, size=(1.0, 0.6, 0.1)))
    m.joint("flight", "free", m.ground, "top")
    for name in order:
        m.constraint(name, "point_on_plane", body="top", at=FEET[name])
        m.temporary(name, unilateral=True, restitution=restitution.get(name, 0.4), **more)
    start = {"flight": (0, 0, 0.6, 1, 0, 0, 0)}, {"flight": (0, 0, 0.8, 1.0, 0.3, 0)}
    return wt.simulate(m.compile(), 0.5, q=start[0], u=start[1])


@pytest.mark.parametrize(
    ("restitution", "friction"),
    [({}, None), ({"a": 0.9, "d": 0.2}, None), ({}, 0.3), (dict.fromkeys("abcd", 0.0), 0.3)],
)
def test_the_order_of_feet_makes_no_difference(restitution, friction):
    runs = [table(order, restitution, friction=friction) for order in ("abcd", "dcba", "bdac", "cadb")]

    def taken(run):
        """Impulses of the first moment, by name."""
        some = [c for c in run.changes if c.t == run.changes[0].t]
        return np.array([sum((c.impulse for c in some if c.name == name), np.zeros(6)) for name in FEET])

    for run in runs:
        np.testing.assert_allclose(run.q[-1], runs[0].q[-1], atol=1e-11)
        np.testing.assert_allclose(run.u[-1], runs[0].u[-1], atol=1e-10)
        assert abs(run["energy.balance"]).max() < 1e-7
        assert sum(c.lost for c in run.changes if c.t == run.changes[0].t) > 0.0
        np.testing.assert_allclose(taken(run), taken(runs[0]), atol=1e-10)


def groove(restitution, tilts=(0.6, -0.6), order=(0, 1)):
    """A point mass falls at 1 m/s into a groove of two planes; velocities after it."""
    m = wt.Model("groove", gravity=(0, 0, 0))
    m.body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.body("slide", mass=1e-9, inertia=(1e-9, 1e-9, 1e-9))
    m.joint("x", "prismatic", m.ground, "slide", axis="x")
    m.joint("z", "prismatic", "slide", "ball", axis="z")
    for n in order:
        turn = (math.cos(tilts[n] / 2), 0, math.sin(tilts[n] / 2), 0)
        m.constraint(f"side{n}", "point_on_plane", body="ball", to_at={"position": (0, 0, 0), "quaternion": turn})
        m.temporary(f"side{n}", unilateral=True, restitution=restitution)
    return wt.simulate(m.compile(), 1.0, q={"z": 0.5}, u={"z": -1.0})


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_groove_throws_straight_back(restitution, order):
    """Taken in turn, the second side is struck by what the first one throws at it: 0.31 m/s sideways at e = 0.5."""
    run = groove(restitution, order=order)
    assert [c.t for c in run.changes[:2]] == pytest.approx([0.5, 0.5], abs=1e-10)
    np.testing.assert_allclose(run.u[-1], [0.0, restitution], atol=1e-9)


def test_contacts_that_do_not_move_each_other_are_struck_as_if_alone():
    """Stronge's impact with friction, of two balls at one moment and of one."""

    def thrown(count):
        m, q, u = wt.Model("balls"), {}, {}
        for n in range(count):
            m.body(f"ball{n}", **wt.sphere(mass=0.1 + n, radius=0.05))
            m.joint(f"flight{n}", "free", m.ground, f"ball{n}")
            m.constraint(f"floor{n}", "roll", body=f"ball{n}", radius=0.05)
            m.temporary(f"floor{n}", unilateral=True, restitution=0.6, friction=0.2)
            q[f"flight{n}"] = (0, n, 0.35, 1, 0, 0, 0)
            u[f"flight{n}"] = (0, 9.0, 0, 1.0, 0.5, 0)
        return wt.simulate(m.compile(), 0.3, q=q, u=u)

    alone, both = thrown(1), thrown(2)
    assert len(both.changes) == 2 * len(alone.changes)
    np.testing.assert_allclose(both.u[-1][:6], alone.u[-1], atol=1e-9)


def test_a_cradle_is_struck_from_both_ends():
    """Each round strikes what comes nearer together, so that blows of both ends go through the row."""
    m = wt.Model("cradle", gravity=(0, 0, 0))
    for n in range(5):
        m.body(f"ball{n}", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
        m.joint(f"x{n}", "prismatic", m.ground, f"ball{n}", axis="x")
    for n in (2, 0, 3, 1):
        m.constraint(
            f"hit{n}", "roll", body=f"ball{n + 1}", radius=0.05, on="sphere", to=f"ball{n}", to_radius=0.05, slip="all"
        )
        m.temporary(f"hit{n}", unilateral=True, restitution=1.0)
    q = {f"x{n}": 0.1 * n + {0: -0.2, 4: 0.2}.get(n, 0.0) for n in range(5)}
    run = wt.simulate(m.compile(), 0.5, q=q, u={"x0": 1.0, "x4": -1.0})
    np.testing.assert_allclose(run.u[-1], [-1, 0, 0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("seed", [*range(60), 875, 1495, 1888])
def test_drawn_impacts_are_solved_together(seed):
    """In the last three, the path from contacts without friction ends where one jams."""
    assert follows_the_law(seed)


def follows_the_law(seed):
    """Signs, complementarity, cones and energy, of drawn matrices of full and of lower rank; whether it was solved."""
    rng = np.random.default_rng(seed)
    sizes, at, contacts = rng.integers(1, 4, rng.integers(2, 5)), 0, []
    one = float(rng.uniform(0, 1))
    for size in sizes:
        mu = float(rng.choice([0.1, 0.5, 1.0, np.inf]))
        contacts.append(Struck(slice(at, at + int(size)), mu, one if seed % 2 else float(rng.uniform(0, 1))))
        at += int(size)
    A = rng.normal(size=(at, rng.integers(2, at + 4))) * np.exp(rng.normal(size=(at, 1)))
    G, u = A @ A.T, rng.normal(size=A.shape[1])
    v = A @ u
    for c in contacts:
        n = c.rows.start
        if v[n] > 0.0:
            A[n], v[n] = -A[n], -v[n]
    G = A @ A.T
    p, scale = inelastic(G, v, contacts), np.abs(v).max()
    if p is None:
        return False
    after = v + G @ p
    for c in contacts:
        n, across = c.rows.start, slice(c.rows.start + 1, c.rows.stop)
        assert p[n] >= 0.0
        assert after[n] > -1e-11 * scale
        assert p[n] * after[n] <= 1e-10 * scale * (p[n] + scale)
        slip, push = np.linalg.norm(after[across]), np.linalg.norm(p[across])
        if c.mu == np.inf:
            assert slip < 1e-11 * scale
        else:
            assert push <= c.mu * p[n] * (1 + 1e-9)
            assert p[across] @ after[across] == pytest.approx(-c.mu * p[n] * slip, abs=1e-9 * scale * (p[n] + scale))
    whole = collision(G, v, contacts)
    assert whole @ v + 0.5 * whole @ G @ whole <= 1e-12 * scale**2
    if seed % 2:
        np.testing.assert_allclose(whole, (1 + one) * p, rtol=1e-12)
    turned = list(itertools.chain(*(range(c.rows.start, c.rows.stop) for c in contacts[::-1])))
    again, at = [], 0
    for c in contacts[::-1]:
        again.append(c._replace(rows=slice(at, at + c.rows.stop - c.rows.start)))
        at = again[-1].rows.stop
    H = G[np.ix_(turned, turned)]
    np.testing.assert_allclose((G @ p)[turned], H @ inelastic(H, v[turned], again), atol=1e-9 * scale)
    return True


CORNERS = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]


def box(order, restitution, friction):
    m = wt.Model("box")
    m.body("box", **wt.box(mass=2.0, size=(0.4, 0.3, 0.2)))
    m.joint("flight", "free", m.ground, "box")
    for n in order:
        m.constraint(f"corner{n}", "point_on_plane", body="box", at=CORNERS[n])
        m.temporary(f"corner{n}", unilateral=True, restitution=restitution, friction=friction)
    return m.compile()


@pytest.mark.parametrize("friction", [None, 0.1, 0.3, 0.8])
@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.8])
def test_a_box_that_falls_from_edge_to_edge_does_not_turn_aside(restitution, friction):
    """Two corners rest, two are struck; all is symmetric, so it neither yaws nor rolls nor moves sideways."""
    tilt = 0.3
    height = 0.1 * np.cos(tilt) + 0.2 * np.sin(tilt)
    q = {"flight": (0, 0, height, np.cos(tilt / 2), 0, -np.sin(tilt / 2), 0)}
    for order in ((0, 1, 2, 3), (3, 1, 2, 0)):
        run = wt.simulate(box(order, restitution, friction), 0.25, q=q, output_step=0.01)
        assert np.abs(run.u[:, [0, 2, 4]]).max() < 1e-9
        assert abs(run["energy.balance"]).max() < 1e-7
        for c in run.changes:
            assert c.impulse[5] > -1e-9, c
            for load in c.besides.values():  # those at rest push, within their cones
                assert load[5] > -1e-9
                assert np.hypot(*load[3:5]) <= (friction or 0.0) * load[5] + 1e-9


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_corners_makes_no_difference(seed):
    """Boxes that are dropped: corners are struck while others rest, slip, and stick."""
    draw = np.random.default_rng(seed)
    restitution, friction = (0.3, 0.0)[seed % 2], (0.3, 0.1)[seed // 2 % 2]
    turn = np.array([0.0, draw.uniform(-0.5, 0.5), draw.normal()]) if seed % 3 == 0 else draw.normal(size=3) * 0.2
    angle = np.linalg.norm(turn)
    q = {"flight": (0, 0, 0.25, np.cos(angle / 2), *(np.sin(angle / 2) * turn / angle))}
    u = {"flight": np.concatenate([draw.normal(size=3) * (seed % 3 > 0), 0.5 * draw.normal(size=3)])}
    runs = []
    for order in ((0, 1, 2, 3), (3, 2, 1, 0)):
        system = box(order, restitution, friction)
        runs.append(wt.simulate(system, 0.35, q=q, u=u, rtol=1e-10, atol=1e-12, output_step=0.01))
    np.testing.assert_allclose(runs[0].q[-1], runs[1].q[-1], atol=1e-9)
    np.testing.assert_allclose(runs[0].u[-1], runs[1].u[-1], atol=1e-8)


def test_a_common_impulse_that_is_not_found_is_reported(monkeypatch):
    """Then feet are struck one after the other, which may depend on their order."""
    monkeypatch.setattr("whippletree.integrate.contacts.activation.collision", lambda G, v, contacts: None)
    with pytest.warns(
        ModelWarning, match=r"contacts 'a', 'b', 'c', 'd' are struck one after the other at t = 0\.142784 s"
    ):
        table("abcd", {}, friction=0.3)
