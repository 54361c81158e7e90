"""How many additions and multiplications forward dynamics of a tree takes by our kernels, with kinematics.

tests/support/count_operations.py counts those of articulated and composite by running their source. Those of divide are
counted from its formulas; what a block of subchains does in registers is counted once for all its lanes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...joints import CODES, KINDS
from ...system.system import System
from ..divide.memory import Plan
from ..divide.options import Division
from ..two_handle.partition import Subchain, tips
from . import flexible_operations as flexible_cost
from .loop_operations import OF_BODY, OF_DOF

# frame, columns, velocity and bias acceleration of a body, by the kind of its joint
OF_KINEMATICS = {code: KINDS[name].operations for name, code in CODES.items()}
LOSS = 4, 16  # the loss of digits: of a body, and of a degree of freedom
BALANCE = 141, 25  # Newton-Euler forces: of a body, and of a DOF
MASS = (
    8,
    79,
    16,
)  # composite inertia, with sizes of terms: of a body, of a coordinate, and of one for each that carries it
ASIDE = 45  # of a body in a subchain: the motion of the subchain's carrier
TIP = 212  # of a DOF that moves the tip of a subchain: E, L, l, and the force there
JOIN, STAND = 4200, 250  # of two subchains, and of a subchain: where it stands


def of_kinematics(system: System) -> int:
    """Where bodies are and how they move."""
    return int(_kinematics(system)[1:].sum())


def _kinematics(system: System) -> np.ndarray:
    """The same, body by body; what modes and nodes take is in the paper's count of their body."""
    return np.array([OF_KINEMATICS.get(int(kind), 0) for kind in system.arrays["kind"]])


def _flexible(system: System) -> tuple[list[int], int, int]:
    """Modes of flexible bodies; and bodies and DOF that are not theirs."""
    modes = [body.modes.count for body in system.flexible.bodies.values()] if system.flexible else []
    rigid = int((system.arrays["kind"][1:] >= 0).sum())
    return modes, rigid, system.nu - sum(modes)


def of_articulated(system: System) -> float:
    """One inward and one outward pass."""
    modes, bodies, dofs = _flexible(system)
    rigid = of_kinematics(system) + (OF_BODY + LOSS[0]) * bodies + (OF_DOF + LOSS[1]) * dofs
    return rigid + flexible_cost.articulated(modes)


def of_composite(system: System) -> float:
    """Bias force, mass matrix and its factors: O(n d^2), d the depth of the tree; flexible ones as the paper's."""
    modes, bodies, dofs = _flexible(system)
    bias = of_kinematics(system) + BALANCE[0] * bodies + BALANCE[1] * dofs
    up = system.arrays["up"].tolist()
    above = np.zeros(system.nu)
    for j, l in enumerate(up):
        above[j] = above[l] + 1 if l >= 0 else 0
    solved = MASS[0] * bodies + MASS[1] * dofs + MASS[2] * above.sum() + (above * (above + 1)).sum()
    return float(bias + solved + (flexible_cost.composite(modes) if modes else 0.0))


class Cuts(Plan):
    """Subchains and blocks of a division, without the memory to solve it in."""

    def _lay_out(self) -> None:
        pass


class Divided(NamedTuple):
    """What ``divide`` does in turn: operations on registers and on floats, of the thread that has most."""

    registers: float
    floats: float
    subchains: int
    blunt: bool  # no subchain ends in a body that has no inertia about some axis

    @property
    def total(self) -> float:
        return self.registers + self.floats


def of_divide(system: System, choice: Division) -> Divided | None:
    """Of a tree of rigid bodies; others are not counted."""
    if system.constraints.count or system.flexible or system.nb < 2:
        return None
    plan = Cuts(system, choice)
    kinematics, dof = _kinematics(system), np.diff(system.arrays["dof"])
    wide: list[float] = []
    single: list[float] = []
    for block in plan.blocks:
        (wide if len(block) > 1 else single).append(_of_block(block, kinematics, dof))
    subchains = plan.subchains
    serial = JOIN * (len(subchains) - len(plan.families)) + STAND * len(subchains)
    in_turn = [sum(sorted(x, reverse=True)[:: choice.threads]) for x in (wide, single)]
    fit = tips(system)
    blunt = all(fit[s.path[-1]] == 2 for s in subchains if s.has_next)
    return Divided(in_turn[0], in_turn[1] + serial, len(subchains), blunt)


def _of_block(block: list[Subchain], kinematics: np.ndarray, dof: np.ndarray) -> float:
    """Of its longest subchain: the others are computed beside it."""
    longest, has_tip = block[0], any(s.has_next for s in block)
    bodies = longest.bodies
    total = (OF_BODY + ASIDE) * len(bodies) + kinematics[bodies].sum() + OF_DOF * dof[bodies].sum()
    return float(total + (TIP * dof[longest.path].sum() if has_tip else 0))
