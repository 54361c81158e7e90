"""Exudyn, built from our Model: every body has its own coordinates, and every joint is a constraint."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model import Joint
from ..model.pose import quaternion_from_matrix
from .exact import body_motions, joint_accelerations, relative_rates
from .links import CannotHold, z_along
from .loop_families import AllJoints, Posed
from .loop_peers import planar
from .measure import Call

# of x, y, z and turns about them, what a joint with its axis along z holds
HELD = {"revolute": [1, 1, 1, 1, 1, 0], "prismatic": [1, 1, 0, 1, 1, 1], "spherical": [1, 1, 1, 0, 0, 0]}


class Exudyn:
    """The initial accelerations of its implicit solver, with its sparse linear solver.

    Planar mechanisms are of its planar bodies and hinges; others have Euler parameters.
    """

    name, package = "exudyn", "exudyn"
    HOW = "exudyn: what its implicit solver does for the accelerations at its start, with EigenSparse"

    def __init__(self, posed: Posed) -> None:
        import exudyn
        from exudyn import itemInterface

        self.posed, self.items = posed, itemInterface
        self.exudyn: Any = exudyn
        self.joints, self.planar = tuple(posed.model.joints), planar(posed.model)
        self.motions = body_motions(posed)
        self.container = exudyn.SystemContainer()
        self.system = self.container.AddSystem()
        self.bodies = {"ground": self.system.AddObject(itemInterface.ObjectGround())}
        for name in posed.model.bodies:
            self.bodies[name] = self._body(name)
        for joint in posed.model.joints.values():
            self._joint(joint)
        self.system.Assemble()
        self.settings = exudyn.SimulationSettings()
        self.settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
        self.settings.solution.file.write = False
        self.settings.timeIntegration.verboseMode = 0
        self.settings.timeIntegration.numberOfSteps = 1
        self.settings.timeIntegration.endTime = 1e-3
        self.settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = True
        self.solver = exudyn.MainSolverImplicitSecondOrder()
        begin: Any = self.solver.InitializeSolver
        if not begin(self.system, self.settings):
            raise CannotHold("its solver does not begin")

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
        accelerate: Any = self.solver.InitializeSolverInitialConditions
        system, settings = self.system, self.settings
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
