"""Rows of constraints: C is the derivative of the residual, gamma its second one; found by differences on the manifold.

Central differences with a step h = 1e-5 (first) and 3e-4 (second) lose about h^2 and rounding / h or / h^2: 1e-8 and
1e-6 relative to numbers of the size of the mechanism.
"""

import numpy as np
import pytest

import whippletree as wt
from closing import closed_chain, consistent_velocities
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.model import JOINT_KINDS, Model
from whippletree.system.joint_frames import joint_frame
from zoo import random_model, random_pose, random_solid, random_state

COUNT = {kind: 6 - velocities for kind, (_, velocities) in JOINT_KINDS.items()}


def residual(system, q, t=0.0):
    return rows_of(system, q, np.zeros(system.nu), t).g


def matrix_by_differences(system, q, h=1e-5):
    """Of the fourth order: a curve may bend so sharply that those of the second are off by 2e-7."""

    def across(e, step):
        return residual(system, wt.advance(system, q, e, step)) - residual(system, wt.advance(system, q, e, -step))

    return np.array([8 * across(e, h) - across(e, 2 * h) for e in np.eye(system.nu)]).T / (12 * h)


def second_derivative(system, q, u, a, t=0.0, h=3e-4):
    """Of g along a motion with velocities u and accelerations a."""
    after = residual(system, wt.advance(system, q, h * u + h * h / 2 * a), t + h)
    before = residual(system, wt.advance(system, q, -h * u + h * h / 2 * a), t - h)
    return (after - 2 * residual(system, q, t) + before) / h**2


def check_rows(system, q, u, rng, t=0.0):
    rows, a = rows_of(system, q, u, t), rng.normal(size=system.nu)
    size = 1 + np.abs(u).max() ** 2
    assert np.abs(rows.g).max() < 1e-12 * size
    assert np.abs(rows.rate).max() < 1e-11 * size
    assert np.abs(rows.C - matrix_by_differences(system, q)).max() < 1e-7
    assert np.abs(second_derivative(system, q, u, a, t) - (rows.C @ a - rows.gamma)).max() < 1e-5 * size


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in JOINT_KINDS if kind not in ("free", "fixed", "curve")])
def test_rows_of_a_cut_joint_are_derivatives_of_its_residual(kind, reverse):
    rng = np.random.default_rng([41, list(JOINT_KINDS).index(kind), reverse])
    system, q, u = closed_chain(kind, rng, reverse=reverse)
    assert system.constraints.count == COUNT[kind] == len(system.constraints.what)
    assert set(system.constraints.owner) == {"cut"}
    check_rows(system, q, u, rng)


def test_a_weld_makes_another_joint_the_cut():
    rng = np.random.default_rng(42)
    system, q, u = closed_chain("fixed", rng)
    assert system.cut_joints != ("cut",)
    check_rows(system, q, u, rng)


@pytest.mark.parametrize("kind", ["prismatic", "universal", "screw"])
def test_rows_of_a_loop_based_on_a_moving_body(kind):
    rng = np.random.default_rng(43)
    check_rows(*closed_chain(kind, rng, base="body1"), rng)


def test_a_free_cut_joint_holds_nothing():
    system, *_ = closed_chain("free", np.random.default_rng(44))
    assert system.constraints.count == 0


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "universal", "spherical", "planar", "cylindrical"])
def test_the_matrix_is_exact_where_the_loop_is_open(kind):
    """So that Newton's method converges from afar."""
    rng = np.random.default_rng(45)
    system, q, _ = closed_chain(kind, rng)
    q = wt.advance(system, q, 0.3 * rng.normal(size=system.nu))
    assert np.abs(residual(system, q)).max() > 0.05
    assert np.abs(rows_of(system, q, np.zeros(system.nu)).C - matrix_by_differences(system, q)).max() < 1e-7


def test_residual_of_rotation_grows_up_to_half_a_turn():
    """2 sin(angle / 2), so that no other root is near."""
    angles = np.linspace(-3.1, 3.1, 21)
    for kind, axis in (("revolute", "z"), ("prismatic", "x")):
        model = Model("loop")
        model.body("door", mass=1.0, inertia=(1, 1, 1))
        model.joint("hinge", "revolute", "ground", "door", axis="x")
        model.joint("lock", kind, "ground", "door", axis=axis)
        system = model.compile()
        g = np.array([residual(system, np.array([a])) for a in angles])
        turns = [n for n, what in enumerate(system.constraints.what) if what.startswith("rotation")]
        assert np.allclose(np.linalg.norm(g[:, turns], axis=1), 2 * abs(np.sin(angles / 2)), atol=1e-9)


def test_batch_equals_single_states():
    rng = np.random.default_rng(47)
    system, _, _ = closed_chain("screw", rng)
    q, u, _ = random_state(system, rng, 11)
    batch = rows_of(system, q, u)
    for n in (0, 7, 10):
        for one, many in zip(rows_of(system, q[n], u[n]), batch, strict=True):
            assert np.allclose(one, many[n], rtol=0, atol=1e-12 * (1 + np.abs(one).max()))


def test_rows_of_constraints_that_are_not_joints():
    """A constraint of every kind, within a tree and between two."""
    rng = np.random.default_rng(53)
    model = random_model(rng, 7, ("revolute", "prismatic", "revolute", "universal", "planar"))
    model.body("post", **random_solid(rng))
    model.joint("flight", "free", "ground", "post")
    system = model.compile()
    q, _, _ = random_state(system, rng)
    k = wt.kinematics(system, q)
    a, b = rng.uniform(-1, 1, (2, 3))
    rod = k.position("body6") + k.rotation("body6") @ a - k.position("post") - k.rotation("post") @ b
    model.constraint("rod", "distance", body="body6", at=a, to="post", to_at=b, length=np.linalg.norm(rod))
    for kind, body, to in (("point_on_line", "body5", "post"), ("point_on_plane", "body4", "body2")):
        place = random_pose(rng)
        world = k.position(to) + k.rotation(to) @ np.array(place.position)
        model.constraint(kind, kind, body=body, to=to, at=k.rotation(body).T @ (world - k.position(body)), to_at=place)
    turning = [n for n in system.joints if n.startswith("revolute")]
    sliding = next(n for n in system.joints if n.startswith("prismatic"))
    first, second, third = (q[system.q_index(n)][0] for n in (turning[0], turning[1], sliding))
    model.constraint("gear", "gear", joint=turning[0], of=turning[1], ratio=1.7, offset=first - 1.7 * second)
    model.constraint("rack", "rack", joint=sliding, of=turning[1], radius=0.3, offset=third - 0.3 * second)
    model.couple(sliding, turning[0], ratio=-2.0, offset=third + 2.0 * first)
    f = wt.Sine(amplitude=0.3, frequency=0.7, phase=0.4, offset=second - first - 0.3 * np.sin(0.4))
    model.constraint("dance", "relative", joint=turning[1], of=turning[0], position=f)
    system = model.compile()
    assert system.constraints.owner == [
        sliding, "rod", *["point_on_line"] * 2, "point_on_plane", "gear", "rack", "dance",
    ]  # fmt: skip
    assert system.features == {"trees", "constraints", "couplings"}
    kept = rows_of(system, q, np.zeros(system.nu))
    assert np.abs(kept.g).max() < 1e-12
    del model.couplings[sliding]  # with it the gears leave no motion that the function of time asks for
    del model.constraints["rack"]
    system = model.compile()
    check_rows(system, q, consistent_velocities(system, q, rng), rng)


def own_coordinate(system, q, dof):
    """Of the joint "cut", by its definition."""
    k, joint = wt.kinematics(system, q), system.model.joints["cut"]
    F = joint_frame(joint, False)
    A, B = (k.rotation(b) @ p.rotation() @ F for b, p in ((joint.parent, joint.at), (joint.child, joint.child_at)))
    a, b = (
        k.position(b) + k.rotation(b) @ np.array(p.position)
        for b, p in ((joint.parent, joint.at), (joint.child, joint.child_at))
    )
    along, Q = (A.T @ (b - a))[2], A.T @ B
    if joint.kind == "screw":
        return along / joint.pitch
    return along if joint.kind == "prismatic" or dof else np.arctan2(Q[1, 0], Q[0, 0])


@pytest.mark.parametrize(("kind", "dof"), [("revolute", 0), ("prismatic", 0), ("screw", 0), ("cylindrical", 1)])
def test_a_motion_given_to_a_joint_that_closes_a_loop_is_a_row(kind, dof):
    rng = np.random.default_rng(59)
    system, q, _ = closed_chain(kind, rng)
    model, own = system.model, rows_of(system, q, np.zeros(system.nu))
    assert np.abs(own.g).max() < 1e-12
    value = own_coordinate(system, q, dof)
    f = wt.Sine(amplitude=0.2, frequency=0.5, phase=0.3, offset=value - 0.2 * np.sin(0.3))
    model.force("drive", "motion", joint="cut", dof=dof, position=f)
    driven = model.compile()
    assert driven.constraints.count == COUNT[kind] + 1
    check_rows(driven, q, consistent_velocities(driven, q, rng), rng)
