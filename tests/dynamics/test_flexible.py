"""Flexible bodies in trees: every algorithm against a slow reference, against each other, and against the laws."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whippletree as wt
from reference_flexible import STEP, Nodal, Reference
from whippletree.modes import FIDELITIES, Modes
from zoo import random_pose, random_solid, unit

TREES = ("articulated", "composite")
CLOSE = 1e-10  # of the largest: some 1e5 roundings, for random bodies whose mass matrices have conditions of 1e4


def random_modes(rng, modes, fidelity, nodes=3, kind="cantilever"):
    """A cloud of points that moves in any way, but not at the first unless they are free, of which the last two are
    used; its data are kept for the reference"""
    r = rng.uniform(-0.5, 0.5, (nodes, 3))
    shapes = [0.3 * rng.normal(size=(nodes, 3, modes)) for _ in range(2)]
    Q = 0.2 * rng.normal(size=(nodes, 3, modes, modes)) / modes if fidelity == "stiffened" else None
    Q = None if Q is None else Q + Q.swapaxes(2, 3)
    for x in (*shapes, *([] if Q is None else [Q])):
        x[0] *= 0.5 if kind == "free" else 0.0
    cloud = rng.normal(size=(nodes, 3, 5))
    inertia = np.einsum("nik,njk->nij", cloud, cloud) * 0.01
    inertia = np.trace(inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3) - inertia
    stiff = rng.normal(size=(modes, modes))
    K = stiff @ stiff.T + 20 * np.eye(modes)
    names = ["base", *(f"n{k}" for k in range(1, nodes - 1)), "tip"]
    masses = rng.uniform(0.2, 1.0, nodes)
    more = rng.normal(size=(8, nodes, 3, modes))  # more points than modes, so that their mass is definite
    r, masses = np.vstack([r, *(r + 0.1 for _ in more)]), np.tile(masses, 9)
    phi, psi = (np.concatenate([x, *(0.3 * s * more)]) for x, s in zip(shapes, (1, 0.5), strict=True))
    Q = None if Q is None else np.concatenate([Q, *([0.5 * Q] * 8)])
    names, inertia = [*names, *(f"x{k}" for k in range(len(r) - nodes))], np.tile(inertia, (9, 1, 1))
    psi2 = None if Q is None else 0.2 * Q[:, ::-1]
    made = Modes.from_nodes(
        r, masses, phi, K, inertia=inertia, psi=psi, Q=Q, psi2=psi2, D=0.02 * K,
        nodes=names, inboard="base", kind=kind, fidelity=fidelity,
    )  # fmt: skip
    none = np.zeros((len(r), 3, modes, modes))
    nodal = Nodal(r, masses, inertia, phi, psi, none if Q is None else Q, none if psi2 is None else psi2)
    object.__setattr__(made, "nodal", nodal)
    return made


def flexible_tree(rng, bodies, fidelities, most_modes, kinds=("revolute", "prismatic", "spherical", "free", "fixed")):
    """Flexible and rigid bodies in turn, on ground, on bodies, or on any node of what is there."""
    model = wt.Model("flexible tree", gravity=tuple(rng.uniform(-10, 10, 3)))
    places = ["ground"]
    for i in range(bodies):
        name, near = f"b{i}", places[int(rng.integers(len(places)))]
        kind = str(rng.choice(kinds[:-1] if i == 0 else kinds))
        axis = {"axis": unit(rng, 3)} if kind in ("revolute", "prismatic") else {}
        if i % 3 == 2:
            model.body(name, **random_solid(rng))
            places.append(name)
        else:
            count = int(rng.integers(1, most_modes + 1))
            of_modes = str(rng.choice(("cantilever", "free")))
            model.flexible(name, random_modes(rng, count, str(rng.choice(fidelities)), kind=of_modes))
            places += [name, f"{name}/base", f"{name}/n1", f"{name}/tip"]
        poses = {"at": random_pose(rng), "child_at": random_pose(rng)}
        model.joint(f"j{i}", kind, near, name, **poses, **axis, armature=rng.uniform(0, 0.1))
    for name in places:
        if name.endswith("/tip"):
            model.frame(f"mark of {name}", name)
    return model


def state(system, rng, count=None):
    if count:
        return tuple(np.array(x) for x in zip(*(state(system, rng) for _ in range(count)), strict=True))
    q = 0.3 * rng.normal(size=system.nq)
    for name, joint in system.model.joints.items():
        if joint.kind in ("spherical", "free"):
            q[system.q_index(name)][-4:] = unit(rng, 4)
    return q, rng.normal(size=system.nu), 5 * rng.normal(size=system.nu)


def relative(a, b):
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-3)


@st.composite
def trees(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    fidelities = draw(st.lists(st.sampled_from(FIDELITIES), min_size=1, max_size=3, unique=True))
    most = draw(st.sampled_from((1, 3, 16)))
    return flexible_tree(rng, draw(st.integers(1, 5)), fidelities, most), rng


FEW = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@FEW
@given(trees())
def test_inverse_dynamics_and_mass_matrix_are_those_of_the_reference(drawn):
    model, rng = drawn
    system = model.compile()
    slow = Reference(model, system)
    q, u, udot = state(system, rng)
    names = [name for name in ("b0", "b0/tip", "b1") if name in system.bodies]
    wrenches = {name: rng.normal(size=6) for name in names}
    assert relative(wt.mass_matrix(system, q), slow.mass_matrix(q)) < CLOSE
    tau = wt.inverse_dynamics(system, q, u, udot, wrenches=wrenches)
    assert relative(tau, slow.torques(q, u, udot, wrenches)) < CLOSE
    frames = slow.motion(q, u)
    k = wt.kinematics(system, q, u)
    for name in system.bodies:
        frame = frames[name]
        assert relative(k.position(name), frame.p) < CLOSE
        assert relative(k.rotation(name), frame.R) < CLOSE
        V = np.concatenate([frame.R @ frame.V[:3], frame.R @ frame.V[3:]])
        assert relative(k.velocity(name), V) < CLOSE
        assert relative(k.jacobian(name) @ u, V) < CLOSE


@FEW
@given(trees())
def test_algorithms_agree(drawn):
    model, rng = drawn
    system = model.compile()
    q, u, tau = state(system, rng, 5)
    wrenches = {"b0": rng.normal(size=6)}
    batch = {a: wt.forward_dynamics(system, q, u, tau, wrenches=wrenches, algorithm=a) for a in TREES}
    assert relative(batch["articulated"], batch["composite"]) < CLOSE
    one = wt.forward_dynamics(system, q[2], u[2], tau[2], wrenches=wrenches)
    assert relative(batch["articulated"][2], one) < CLOSE
    M, bias = wt.mass_matrix(system, q[2]), wt.bias_force(system, q[2], u[2])
    udot = wt.forward_dynamics(system, q[2], u[2], tau[2])
    needed = np.abs(M) @ np.abs(udot) + np.abs(bias)
    assert (np.abs(M @ udot + bias - tau[2]) < CLOSE * needed.max()).all()
    assert relative(wt.solve_mass(system, q[2], tau[2] - bias), udot) < CLOSE
    assert relative(wt.mass_matrix_inverse(system, q[2]) @ (tau[2] - bias), udot) < CLOSE
    L, D = wt.mass_factors(system, q[2])
    assert relative(L @ np.diag(D) @ L.T, M) < CLOSE
    assert relative(wt.mass_matrix(system, q)[2], M) < CLOSE
    assert wt.energy(system, q[2], u[2]).kinetic == pytest.approx(0.5 * u[2] @ M @ u[2], rel=1e-10)


def test_the_reference_moves_as_it_says():
    """Its twists are the rates of its places, so that it can be trusted."""
    rng = np.random.default_rng(3)
    model = flexible_tree(rng, 4, ("full", "stiffened"), 3)
    system = model.compile()
    slow = Reference(model, system)
    q, u, _ = state(system, rng)
    frames, ahead = slow.motion(q, u), slow.motion(q + 1j * STEP * slow.rates(q, u), u + 0j)
    for name, frame in frames.items():
        np.testing.assert_allclose(ahead[name].p.imag / STEP, frame.R @ frame.V[3:], atol=1e-12)
        np.testing.assert_allclose(ahead[name].R.imag / STEP, frame.R @ np.cross(np.eye(3), frame.V[:3]).T.T, atol=1e-9)
