"""Against Pinocchio: every zoo member, and every robot of the example-robot-data wheel that loads in both.

Relative tolerance 1e-10. Accelerations are judged twice. By the residual M udot + b - tau with Pinocchio's M and b,
which a good solver keeps at rounding whatever the conditioning; and by their own difference, which any two solvers let
grow with cond(M): the small links of hands and grippers bring that to 1e6 and more.
"""

import sysconfig
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import whippletree as wt
from bridge import EPS, case_of, coordinates, error, solve_tolerance
from pin_model import PinModel
from zoo import ZOO, random_state

TOL = 1e-10
# nullspace solves with the whole mass matrix, and so loses its conditioning: chains of 1,024, links of no mass
TREES = [a for a, module in wt.ALGORITHMS.items() if "trees" in module.SUPPORTS and a != "nullspace"]
ROBOTS = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
FILES = {str(path.relative_to(ROBOTS)): path for path in sorted(ROBOTS.rglob("*.urdf"))}

# What the wheel holds and a strict reader refuses, with the words of the reason (an unknown joint is one mimicked)
NEGATIVE = "inertia is not positive definite"  # -3.5e-8 kg m^2, of an antenna
REFUSED = {
    "alex_description/urdf/alex_psyonic_hands.urdf": "joint 'index_q1' is not known",
    "romeo_description/urdf/romeo_laas_small.urdf": "the mesh path leads out of the model's folder",
    "tiago_description/robots/tiago.urdf": NEGATIVE,
    "tiago_description/robots/tiago_dual.urdf": NEGATIVE,
    "tiago_description/robots/tiago_no_hand.urdf": NEGATIVE,
    "ur_description/urdf/ur3.urdf": "has no links",
}


@pytest.mark.parametrize("name", ZOO)
def test_zoo_equals_pinocchio(name):
    case = case_of(name)
    system, order = case.system, case.columns
    peer = PinModel(system.model, case.reference)
    back = np.argsort(order)  # the reference's columns in the System's numbering
    for q, u, tau, udot, M in zip(case.q[:2], case.u, case.tau, case.udot, case.M, strict=False):
        where, _ = coordinates(system, q, u)
        assert error(wt.mass_matrix(system, q), peer.mass_matrix(where)[np.ix_(order, order)]) < TOL
        assert error(wt.bias_force(system, q, u), peer.bias(where, u[back])[order]) < TOL
        assert error(wt.inverse_dynamics(system, q, u, udot), peer.inverse(where, u[back], udot[back])[order]) < TOL
        for body in system.model.bodies:
            assert error(wt.jacobian(system, q, body), peer.jacobian(where, body)[:, order]) < TOL
        expected = peer.forward(where, u[back], tau[back])[order]
        for algorithm in TREES:
            got = wt.forward_dynamics(system, q, u, tau, algorithm=algorithm)
            assert error(got, expected) < solve_tolerance(M)


class Robot:
    """One URDF file in both libraries. ``order``: for each of our DOF its place in Pinocchio's v."""

    def __init__(self, path, free):
        root = (pin.JointModelFreeFlyer(),) if free else ()
        self.pin = pin.buildModelFromUrdf(str(path), *root)
        self.data = self.pin.createData()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # meshes that lie outside the wheel
            model = wt.load(path, base="free" if free else None)
        model.couplings.clear()  # Pinocchio's model has mimic joints as free ones
        self.system = model.compile()
        self.joints = {name: self.pin.joints[self._id(name)] for name in self.system.joints}
        self.order = np.empty(self.system.nu, int)
        for name, joint in self.joints.items():
            places = np.arange(joint.idx_v, joint.idx_v + joint.nv)
            kind = model.joints[name].kind
            self.order[self.system.u_index(name)] = np.roll(places, 3) if kind == "free" else places  # linear first

    def _id(self, name):
        return 1 if self.system.model.joints[name].kind == "free" else self.pin.getJointId(name)

    def q(self, q):
        out = np.empty(self.pin.nq)
        for name, joint in self.joints.items():
            x = q[self.system.q_index(name)]
            if joint.nq == 7:
                x = np.concatenate([x[:3], x[4:], x[3:4]])
            elif joint.nq == 2:  # Pinocchio keeps cosine and sine of an unbounded angle
                x = [np.cos(x[0]), np.sin(x[0])]
            out[joint.idx_q : joint.idx_q + joint.nq] = x
        return out

    def v(self, u):
        out = np.empty(self.pin.nv)
        out[self.order] = u
        return out

    def mass_matrix(self, q):
        M = pin.crba(self.pin, self.data, self.q(q))
        return (np.triu(M) + np.triu(M, 1).T)[np.ix_(self.order, self.order)]

    def inverse(self, q, u, udot):
        return pin.rnea(self.pin, self.data, self.q(q), self.v(u), self.v(udot))[self.order]

    def forward(self, q, u, tau):
        return pin.aba(self.pin, self.data, self.q(q), self.v(u), self.v(tau))[self.order]

    def frame(self, body):
        link = "ground" if body == "ground_link" else body  # a body cannot be called ground
        return self.pin.getFrameId(link, pin.FrameType.BODY)

    def jacobian(self, q, body):
        where = self.frame(body)
        J = pin.computeFrameJacobian(self.pin, self.data, self.q(q), where, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        J = J.reshape(6, self.pin.nv)
        return np.vstack([J[3:], J[:3]])[:, self.order]


@cache
def robot_of(name, free):
    return Robot(FILES[name], free)


KEPT = [(name, free) for name in FILES for free in (False, True) if name not in REFUSED]


@pytest.fixture(params=KEPT, ids=lambda p: f"{p[0]}-{'free' if p[1] else 'fixed'}")
def robot(request):
    robot = robot_of(*request.param)
    if robot.system.nu == 0:
        pytest.skip("nothing moves")
    return robot


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", REFUSED)
def test_robots_that_are_refused_say_why(name):
    with pytest.raises(wt.ModelError, match=REFUSED[name]):
        wt.load(FILES[name])


def test_robot_has_the_dofs_of_pinocchio(robot):
    assert sorted(robot.order) == list(range(robot.pin.nv))
    assert len(robot.joints) == robot.pin.njoints - 1


def test_robot_equals_pinocchio(robot):
    system, count = robot.system, 3
    rng = np.random.default_rng(system.nu)
    q, u, tau = random_state(system, rng, count)
    udot, zero = rng.normal(size=u.shape), np.zeros(system.nu)
    M = np.array([robot.mass_matrix(x) for x in q])
    b = np.array([robot.inverse(x, y, zero) for x, y in zip(q, u, strict=True)])
    expected = np.array([robot.inverse(x, y, z) for x, y, z in zip(q, u, udot, strict=True)])
    assert error(wt.mass_matrix(system, q), M) < TOL
    assert error(wt.mass_matrix(system, q[0]), M[0]) < TOL
    assert error(wt.bias_force(system, q, u), b) < TOL
    assert error(wt.inverse_dynamics(system, q, u, udot), expected) < TOL
    assert error(wt.inverse_dynamics(system, q[0], u[0], udot[0]), expected[0]) < TOL
    compare_accelerations(robot, q, u, tau, M, b)


def compare_accelerations(robot, q, u, tau, M, b):
    condition = np.linalg.cond(M).max()
    if condition > 1 / EPS:
        return refuses_singular(robot, q, u, tau, M)
    expected = np.array([robot.forward(*state) for state in zip(q, u, tau, strict=True)])
    tol = max(TOL, EPS * condition)  # larger than 1e-10 for iCub, PR2, Talos, TIAGo Pro; only iCub needs it (3e-10)
    for algorithm in TREES:
        got = wt.forward_dynamics(robot.system, q, u, tau, algorithm=algorithm)
        one = wt.forward_dynamics(robot.system, q[0], u[0], tau[0], algorithm=algorithm)
        residual = (M @ got[..., None])[..., 0] + b - tau
        scale = np.abs(M).max() * np.abs(got).max() + np.abs(b).max() + np.abs(tau).max()
        assert np.abs(residual).max() / scale < TOL
        assert error(got, expected) < tol
        assert error(one, expected[0]) < tol


def refuses_singular(robot, q, u, tau, M):
    """DOF that move no mass have no acceleration: the message names one of them."""
    massless = [n for n in robot.system.joints if not np.diagonal(M[0])[robot.system.u_index(n)].any()]
    for algorithm in TREES:
        with pytest.raises(wt.SimulationError, match="is singular") as caught:
            wt.forward_dynamics(robot.system, q[0], u[0], tau[0], algorithm=algorithm)
        assert any(f"'{name}'" in str(caught.value) for name in massless)


def test_robot_jacobians_and_places_equal_pinocchio(robot):
    system = robot.system
    q, _, _ = random_state(system, np.random.default_rng(1))
    k = wt.kinematics(system, q)
    pin.framesForwardKinematics(robot.pin, robot.data, robot.q(q))
    bodies = list(system.model.bodies)
    for name in bodies:
        place = robot.data.oMf[robot.frame(name)]
        assert np.abs(k.position(name) - place.translation).max() < TOL
        assert np.abs(k.rotation(name) - place.rotation).max() < TOL
    for name in bodies[:: max(1, len(bodies) // 5)] + bodies[-1:]:
        assert error(wt.jacobian(system, q, name), robot.jacobian(q, name)) < TOL
