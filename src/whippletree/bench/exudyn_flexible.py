"""Exudyn's reduced-order floating-frame bodies, built from the same mass points and modes, on constraints as hinges."""

from __future__ import annotations

from typing import Any

import numpy as np

from .flexible_families import DAMPING, GRAVITY, HINGES, LENGTH, Points
from .links import CannotHold, z_along


class ExudynChain:
    """A chain of flexible bodies in Exudyn, with hinge speeds ``u`` from where it hangs straight down.

    The frame of a body is fixed to its base, as in ours: its modes do not move there.
    """

    HOW = (
        "exudyn: ObjectFFRFreducedOrder with Euler parameters; hinges are constraints; generalized-alpha (index 3, "
        "spectral radius 0.9), modified Newton, EigenSparse"
    )

    def __init__(self, bodies: int, strip: Points, u: np.ndarray) -> None:
        import exudyn
        from exudyn import itemInterface

        self.items = itemInterface
        self.exudyn: Any = exudyn
        self.u, self.strip = np.asarray(u, float), strip
        self.container = exudyn.SystemContainer()
        self.system = self.container.AddSystem()
        self.frames: list[int] = []  # nodes of the bodies' frames
        self.shapes: list[int] = []  # nodes of their modes
        ground = self.system.AddObject(itemInterface.ObjectGround())
        where = self.system.AddMarker(itemInterface.MarkerBodyRigid(bodyNumber=ground, localHT=self._turn(0)))
        v, w, reduced = np.zeros(3), np.zeros(3), _reduced(strip)
        for k in range(bodies):
            w = w + self.u[k] * _axis(k)
            where = self._body(k, reduced, where, v, w)
            v = v + np.cross(w, (0.0, 0.0, -LENGTH))
        position = exudyn.OutputVariableType.Position
        self.end = self.system.AddSensor(
            itemInterface.SensorMarker(markerNumber=where, outputVariableType=position, writeToFile=False)
        )
        self.system.Assemble()

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
        settings = self.exudyn.SimulationSettings()
        settings.linearSolver.solverType = self.exudyn.LinearSolverType.EigenSparse
        settings.solution.file.write = False
        time = settings.timeIntegration
        time.verboseMode, time.endTime, time.numberOfSteps = 0, until, max(1, round(until / step))
        time.generalizedAlpha.spectralRadius, time.generalizedAlpha.computeInitialAccelerations = 0.9, True
        time.newton.useModifiedNewton, time.newton.relativeTolerance = True, 1e-10
        return settings

    def accelerations(self) -> np.ndarray:
        """eta'' of all bodies at the start, row by row."""
        solver: Any = self.exudyn.MainSolverImplicitSecondOrder()
        settings = self.settings(1e-3, 1e-3)
        if not solver.InitializeSolver(self.system, settings):
            raise CannotHold("its solver does not begin")
        solver.InitializeSolverInitialConditions(self.system, settings)
        kind = self.exudyn.OutputVariableType.Coordinates_tt
        return np.array([self.system.GetNodeOutput(n, kind) for n in self.shapes])

    def run(self, settings: Any) -> None:
        """A motion from the start."""
        if not self.system.SolveDynamic(settings):
            raise CannotHold("its solver does not end")

    def places(self) -> np.ndarray:
        """Where the tips of all bodies are."""
        position: Any = self.exudyn.OutputVariableType.Position
        found = [self.system.GetNodeOutput(n, position) for n in self.frames[1:]]
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
