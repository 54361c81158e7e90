"""Exudyn, built from our Model, and with its reduced-order floating-frame bodies from the same mass points and modes.

Every body has its own coordinates, and every joint is a constraint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from whippletree.model import Joint
from whippletree.model.pose import quaternion_from_matrix

from ..bench.flexible_families import DAMPING, GRAVITY, HINGES, LENGTH, Points
from ..bench.loop_families import AllJoints, Posed
from ..bench.measure import Call
from .exact import body_motions, joint_accelerations, relative_rates
from .links import CannotHold, z_along
from .loop_peers import planar

# of x, y, z and turns about them, what a joint with its axis along z holds
HELD = {"revolute": [1, 1, 1, 1, 1, 0], "prismatic": [1, 1, 0, 1, 1, 1], "spherical": [1, 1, 1, 0, 0, 0]}


class Engine:
    """An empty system of Exudyn, its items, and how it is solved: implicitly, with its sparse linear solver."""

    def __init__(self) -> None:
        import exudyn
        from exudyn import itemInterface

        self.items = itemInterface
        self.exudyn: Any = exudyn
        self.container = exudyn.SystemContainer()
        self.system = self.container.AddSystem()
        self.solver: Any = exudyn.MainSolverImplicitSecondOrder()

    def settings(self, step: float, until: float) -> Any:
        settings = self.exudyn.SimulationSettings()
        settings.linearSolver.solverType = self.exudyn.LinearSolverType.EigenSparse
        settings.solution.file.write = False
        time = settings.timeIntegration
        time.verboseMode, time.endTime, time.numberOfSteps = 0, until, max(1, round(until / step))
        time.generalizedAlpha.computeInitialAccelerations = True
        return settings

    def begin(self) -> Any:
        """Settings with which the solver is ready to find the first accelerations."""
        settings = self.settings(1e-3, 1e-3)
        if not self.solver.InitializeSolver(self.system, settings):
            raise CannotHold("its solver does not begin")
        return settings


class Exudyn(Engine):
    """The initial accelerations of its implicit solver, with its sparse linear solver.

    Planar mechanisms are of its planar bodies and hinges; others have Euler parameters.
    """

    name, package = "exudyn", "exudyn"
    HOW = "exudyn: what its implicit solver does for the accelerations at its start, with EigenSparse"

    def __init__(self, posed: Posed) -> None:
        super().__init__()
        self.posed = posed
        self.joints, self.planar = tuple(posed.model.joints), planar(posed.model)
        self.motions = body_motions(posed)
        self.bodies = {"ground": self.system.AddObject(self.items.ObjectGround())}
        for name in posed.model.bodies:
            self.bodies[name] = self._body(name)
        for joint in posed.model.joints.values():
            self._joint(joint)
        self.system.Assemble()
        self.start = self.begin()

    def _body(self, name: str) -> int:
        """A body whose reference point is its centre of mass."""
        items, mbs, body = self.items, self.system, self.posed.model.bodies[name]
        R, p, w, v = (np.array(x, float) for x in self.motions[name])
        if self.planar:
            angle = float(np.arctan2(R[1, 0], R[0, 0]))
            node = mbs.AddNode(
                items.NodeRigidBody2D(referenceCoordinates=[*p[:2], angle], initialVelocities=[*v[:2], w[2]])
            )
            made = items.ObjectRigidBody2D(mass=body.mass, inertia=body.inertia[2][2], nodeNumber=node)
        else:
            e = np.array(quaternion_from_matrix(R))
            rate = 0.5 * _columns(e) @ w
            node = mbs.AddNode(items.NodeRigidBodyEP(referenceCoordinates=[*p, *e], initialVelocities=[*v, *rate]))
            I = np.array(body.inertia)
            moments = [I[0, 0], I[1, 1], I[2, 2], I[1, 2], I[0, 2], I[0, 1]]
            made = items.ObjectRigidBody(mass=body.mass, inertia=moments, nodeNumber=node)
        number = mbs.AddObject(made)
        mark = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=number))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=mark, loadVector=list(self.posed.model.gravity)))
        return int(number)

    def _joint(self, joint: Joint) -> None:
        items, mbs, marks = self.items, self.system, []
        for body, pose in ((joint.parent, joint.at), (joint.child, joint.child_at)):
            com = np.array(self.posed.model.bodies[body].com) if body != "ground" else np.zeros(3)
            number, place = self.bodies[body], np.array(pose.position) - com
            if self.planar:
                mark = items.MarkerBodyPosition(bodyNumber=number, localPosition=place.tolist())
            else:
                align = np.eye(3) if joint.kind == "spherical" else z_along(joint.axis)
                frame = self.exudyn.HT(rotation=pose.rotation() @ align, translation=place)
                mark = items.MarkerBodyRigid(bodyNumber=number, localHT=frame)
            marks.append(mbs.AddMarker(mark))
        if self.planar:
            mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=marks))
        else:
            mbs.AddObject(items.ObjectJointGeneric(markerNumbers=marks, constrainedAxes=HELD[joint.kind]))

    def calls(self) -> list[Call]:
        accelerate, system, settings = self.solver.InitializeSolverInitialConditions, self.system, self.start
        every, rates = AllJoints(self.posed.model), relative_rates(self.posed.model, self.motions)

        def run() -> None:
            accelerate(system, settings)

        def value() -> np.ndarray:
            run()
            found = np.array(system.systemData.GetODE2Coordinates_tt())
            x = self._accelerations(found.reshape(len(self.posed.model.bodies), -1))
            return every.vector(joint_accelerations(self.posed.model, rates, x))

        return [Call("exudyn", run, value)]

    def _accelerations(self, found: np.ndarray) -> np.ndarray:
        """[angular; linear] of every body."""
        x = np.zeros((len(found), 6))
        if self.planar:
            x[:, 3:5], x[:, 2] = found[:, :2], found[:, 2]
            return x
        x[:, 3:] = found[:, :3]
        for k, name in enumerate(self.posed.model.bodies):
            e = np.array(quaternion_from_matrix(np.array(self.motions[name].R, float)))
            x[k, :3] = 2.0 * _columns(e).T @ found[k, 3:]
        return x


def _columns(e: np.ndarray) -> np.ndarray:
    """G of e' = G w / 2 for Euler parameters e and the angular velocity w in world axes; then also w' = 2 G' e''."""
    w, x, y, z = e
    return np.array([[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]])


class ExudynChain(Engine):
    """A chain of flexible bodies in Exudyn, with hinge velocities ``u`` from where it hangs straight down.

    The frame of a body is fixed to its base, as in ours: its modes do not move there.
    """

    HOW = (
        "exudyn: ObjectFFRFreducedOrder with Euler parameters; hinges are constraints; generalized-alpha (index 3, "
        "spectral radius 0.9), modified Newton, EigenSparse"
    )

    def __init__(self, bodies: int, strip: Points, u: np.ndarray) -> None:
        super().__init__()
        items, mbs = self.items, self.system
        self.u, self.strip = np.asarray(u, float), strip
        self.frames: list[int] = []  # nodes of the bodies' frames
        self.shapes: list[int] = []  # nodes of their modes
        ground = mbs.AddObject(items.ObjectGround())
        where = mbs.AddMarker(items.MarkerBodyRigid(bodyNumber=ground, localHT=self._turn(0)))
        v, w, reduced = np.zeros(3), np.zeros(3), _reduced(strip)
        for k in range(bodies):
            w = w + self.u[k] * _axis(k)
            where = self._body(k, reduced, where, v, w)
            v = v + np.cross(w, (0.0, 0.0, -LENGTH))
        self.position = self.exudyn.OutputVariableType.Position
        sensor = items.SensorMarker(markerNumber=where, outputVariableType=self.position, writeToFile=False)
        self.end = mbs.AddSensor(sensor)
        mbs.Assemble()

    def _turn(self, k: int) -> Any:
        return self.exudyn.HT(rotation=z_along(_axis(k)), translation=[0.0, 0.0, 0.0])

    def _body(self, k: int, reduced: Any, hung: int, v: np.ndarray, w: np.ndarray) -> int:
        """Body k on a marker; gives the marker of its tip."""
        items, mbs = self.items, self.system
        made = reduced.AddObjectFFRFreducedOrder(
            mbs, positionRef=[0.0, 0.0, -LENGTH * k], initialVelocity=v.tolist(), rotationMatrixRef=np.eye(3),
            initialAngularVelocity=w.tolist(), gravity=list(GRAVITY), stiffnessProportionalDamping=DAMPING,
        )  # fmt: skip
        self.frames.append(made["nRigidBody"])
        self.shapes.append(made["nGenericODE2"])
        base = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=made["nRigidBody"], localHT=self._turn(k)))
        mbs.AddObject(items.ObjectJointGeneric(markerNumbers=[hung, base], constrainedAxes=[1, 1, 1, 1, 1, 0]))
        tip = self.strip.tip
        marker = items.MarkerSuperElementRigid(
            bodyNumber=made["oFFRFreducedOrder"], meshNodeNumbers=tip, weightingFactors=[1.0 / len(tip)] * len(tip),
            localHT=self._turn(k + 1),
        )  # fmt: skip
        return int(mbs.AddMarker(marker))

    def settings(self, step: float, until: float) -> Any:
        settings = super().settings(step, until)
        time = settings.timeIntegration
        time.generalizedAlpha.spectralRadius = 0.9
        time.newton.useModifiedNewton, time.newton.relativeTolerance = True, 1e-10
        return settings

    def accelerations(self) -> np.ndarray:
        """eta'' of all bodies at the start, row by row."""
        self.solver.InitializeSolverInitialConditions(self.system, self.begin())
        kind = self.exudyn.OutputVariableType.Coordinates_tt
        return np.array([self.system.GetNodeOutput(n, kind) for n in self.shapes])

    def run(self, settings: Any) -> None:
        """A motion from the start."""
        if not self.system.SolveDynamic(settings):
            raise CannotHold("its solver does not end")

    def places(self) -> np.ndarray:
        """Where the tips of all bodies are."""
        found = [self.system.GetNodeOutput(n, self.position) for n in self.frames[1:]]
        return np.array([*found, self.system.GetSensorValues(self.end)])


def _axis(k: int) -> np.ndarray:
    return np.eye(3)["xyz".index(HINGES[k % 2])]


def _reduced(strip: Points) -> Any:
    """Exudyn's data of a body, which it would make of a finite-element mesh, from mass points and modes."""
    import exudyn
    from exudyn.FEM import ObjectFFRFreducedOrderInterface
    from exudyn.utilities import ComputeSkewMatrix as skew

    modes, count = strip.modes, len(strip.mass)
    data = ObjectFFRFreducedOrderInterface()
    Psi, x, m = np.array(modes.phi).reshape(3 * count, -1), np.array(modes.r).ravel(), np.repeat(strip.mass, 3)[:, None]
    unit = np.tile(np.eye(3), (count, 1))
    X, PsiTilde = skew(x), skew(Psi)
    data.modeBasis, data.xRef, data.trigList, data.postProcessingModes = Psi, x, [], {}
    data.nModes, data.nNodes, data.dim3D = modes.count, count, 3
    data.rigidBodyNodeType = exudyn.NodeType.RotationEulerParameters
    data.nODE2rot, data.nODE2rigid, data.nODE2FFRFreduced = 4, 7, 7 + modes.count
    data.massMatrixReduced, data.stiffnessMatrixReduced = Psi.T @ (m * Psi), np.array(modes.K)
    data.inertiaLocal, data.Mtt = X.T @ (m * X), unit.T @ (m * unit)
    data.totalMass = data.Mtt[0, 0]
    data.chiU = unit.T @ (m[:, 0] * x) / data.totalMass
    data.chiUtilde, data.PsiTilde = skew(data.chiU), PsiTilde
    data.mPsiTildePsi, data.mPsiTildePsiTilde = PsiTilde.T @ (m * Psi), PsiTilde.T @ (m * PsiTilde)
    data.mPhitTPsi, data.mPhitTPsiTilde = unit.T @ (m * Psi), unit.T @ (m * PsiTilde)
    data.mXRefTildePsi, data.mXRefTildePsiTilde = X.T @ (m * Psi), X.T @ (m * PsiTilde)
    data.massMatrixFFRFreduced = np.zeros((data.nODE2FFRFreduced,) * 2)
    return data
