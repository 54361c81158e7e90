"""Forces in the degrees of freedom of joints that close loops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..joints import KINDS
from ..layout import forces as kernels
from ..layout.forces import WAY
from ..model import Joint, Limits
from .joint_frames import put_joint_ends

if TYPE_CHECKING:
    from .system import System


def of_dof(value: Any, n: int) -> float:
    """One number for each DOF, or the same for all."""
    return float(value[n] if isinstance(value, tuple) else value)


def passive_numbers(joint: Joint, n: int) -> list[float] | None:
    """Stiffness, rest, damping, friction, its speed, lower, upper, stop and its damping of a DOF; None for none."""
    k, rest, c, f = (of_dof(x, n) for x in (joint.stiffness, joint.rest, joint.damping, joint.friction))
    k = (
        0.0 if joint.kind in KINDS and KINDS[joint.kind].spring != "each" else k
    )  # the spring of a ball is an element of its own
    stop = joint.limits if joint.limits is not None and joint.limits.stiffness else Limits()
    if not (k or c or f or stop.stiffness):
        return None
    lower = -math.inf if stop.lower is None else stop.lower
    upper = math.inf if stop.upper is None else stop.upper
    return [k, rest, c, f, joint.friction_speed, lower, upper, stop.stiffness, stop.damping]


def cut_dof(system: System, joint: Joint, n: int, numbers: np.ndarray) -> dict[str, int]:
    """Bodies, axis and measure of a DOF of a joint that closes a loop; its frames go into the numbers."""
    axis, measure = KINDS[joint.kind].dofs[n]
    numbers[kernels.SCALE] = 1.0
    if joint.pitch:
        measure, numbers[kernels.SCALE] = WAY, joint.pitch
    return put_joint_ends(system, joint, numbers) | {"dof": axis, "coordinate": measure}


def cut_passive(system: System, joint: Joint, n: int) -> dict[str, Any] | None:
    """The element of springs, dampers, friction and joint limits in such a DOF; its stops count from between them."""
    passive = passive_numbers(joint, n)
    if passive is None:
        return None
    numbers = np.zeros(kernels.NUMBERS)
    numbers[kernels.FRAMES : kernels.FRAMES + 9] = passive
    bounds = numbers[kernels.FRAMES + 5 : kernels.FRAMES + 7]
    at = bounds[np.isfinite(bounds)]
    numbers[kernels.MIDDLE] = at.mean() if at.size else 0.0
    bounds -= numbers[kernels.MIDDLE]
    return {"kind": kernels.CUT_PASSIVE, "numbers": numbers} | cut_dof(system, joint, n, numbers)


def cut_ball(system: System, joint: Joint) -> dict[str, Any]:
    """The spring of a spherical joint that closes a loop: a bushing of the child on the parent that only turns back."""
    numbers = np.zeros(kernels.NUMBERS)
    ends = put_joint_ends(system, joint, numbers)
    numbers[:18], numbers[18:24] = np.roll(numbers[:18], 9), np.roll(numbers[18:24], 3)
    numbers[kernels.FRAMES + 6 : kernels.FRAMES + 9] = of_dof(joint.stiffness, 0)
    return {"kind": kernels.code("bushing"), "numbers": numbers, "body": ends["to"], "to": ends["body"]}
