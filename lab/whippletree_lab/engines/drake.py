"""Drake, built from our Model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from whippletree.model import Model

from ..bench.measure import Call
from .links import CannotHold, Coordinates, Held, Link, links, rotation


class Drake:
    """A continuous MultibodyPlant: ``EvalTimeDerivatives``, ``CalcInverseDynamics`` and ``CalcMassMatrix``."""

    name, package = "drake", "drake"

    def __init__(self, model: Model, system: Any) -> None:
        tree = links(model)
        math, parts = import_module("pydrake.math"), import_module("pydrake.multibody.tree")
        plant = import_module("pydrake.multibody.plant").MultibodyPlant(0.0)
        self.math, self.parts, self.plant = math, parts, plant
        plant.mutable_gravity_field().set_gravity_vector(np.array(model.gravity))
        bodies: list[Any] = []
        joints: list[Any] = []
        for k, x in enumerate(tree):
            body = plant.AddRigidBody(f"link{k}", self._inertia(x))
            on = bodies[x.parent] if x.parent >= 0 else plant.world_body()
            place = math.RigidTransform(math.RotationMatrix(x.at.R), x.at.p)
            at = plant.AddFrame(parts.FixedOffsetFrame(f"at{k}", on.body_frame(), place))
            joints.append(plant.AddJoint(self._joint(x, at, body.body_frame())))
            bodies.append(body)
            if x.armature:
                self._armature(x, joints[-1])
        plant.Finalize()
        self.context = plant.CreateDefaultContext()
        self.to = Coordinates(tree, system, [(j.position_start(), j.velocity_start()) for j in joints], self._hold)

    def _inertia(self, x: Link) -> Any:
        I, parts = x.inertia, self.parts
        central = parts.RotationalInertia(I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2])
        try:
            return parts.SpatialInertia.MakeFromCentralInertia(x.mass, x.com, central)
        except RuntimeError:
            raise CannotHold(f"inertia of the body on joint '{x.joint}', which no solid has") from None

    def _joint(self, x: Link, at: Any, on: Any) -> Any:
        if x.kind == "revolute":
            return self.parts.RevoluteJoint(x.joint, at, on, (0, 0, 1))
        if x.kind == "prismatic":
            return self.parts.PrismaticJoint(x.joint, at, on, (0, 0, 1))
        kind = self.parts.BallRpyJoint if x.kind == "spherical" else self.parts.QuaternionFloatingJoint
        return kind(x.joint, at, on)

    def _armature(self, x: Link, joint: Any) -> None:
        if joint.num_velocities() != 1:
            raise CannotHold(f"armature of a {x.kind} joint")
        actuator = self.plant.AddJointActuator(x.joint, joint)
        actuator.set_default_rotor_inertia(x.armature)
        actuator.set_default_gear_ratio(1.0)

    def _hold(self, link: Link, q: np.ndarray) -> Held:
        """Ball joints by roll-pitch-yaw, free ones by [quaternion, position]; velocities in axes of the parent's
        side.
        """
        R = rotation(q[-4:])
        if link.kind == "spherical":
            return Held(self.math.RollPitchYaw(self.math.RotationMatrix(R)).vector(), R)
        return Held(np.roll(q, 4), np.kron(np.eye(2), R), still=True)

    def _state(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.concatenate((self.to.q(q), self.to.turn(q, u)))

    def forward(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> list[Call]:
        plant, context, to, x = self.plant, self.plant.CreateDefaultContext(), self.to, self._state(q, u)
        plant.get_applied_generalized_force_input_port().FixValue(context, to.turn(q, tau))

        def run() -> Any:
            context.SetContinuousState(x)  # as a new state would: drops what is cached
            return plant.EvalTimeDerivatives(context)

        return [Call("drake", run, lambda: to.back_udot(q, u, run().CopyToVector()[plant.num_positions() :]))]

    def inverse(self, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> list[Call]:
        plant, context, to, x = self.plant, self.context, self.to, self._state(q, u)
        forces, vdot = self.parts.MultibodyForces(plant), to.turn_udot(q, u, udot)

        def run() -> np.ndarray:
            context.SetContinuousState(x)
            plant.CalcForceElementsContribution(context, forces)  # gravity
            return plant.CalcInverseDynamics(context, vdot, forces)

        return [Call("drake", run, lambda: to.back(q, run()))]

    def mass(self, q: np.ndarray) -> list[Call]:
        plant, context, to, x = self.plant, self.context, self.to, self._state(q, np.zeros(self.to.nu))

        def run() -> np.ndarray:
            context.SetContinuousState(x)
            return plant.CalcMassMatrix(context)

        return [Call("drake", run, lambda: to.back_mass(q, run()))]
