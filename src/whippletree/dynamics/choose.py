"""Which algorithm a system gets, and why."""

from __future__ import annotations

from types import ModuleType

from ..errors import ModelError, nearest
from ..system.system import System
from . import articulated, composite, divide, multipliers, nullspace, reduction, subchains
from .division_options import LEAVES, is_division
from .subchain_options import is_cutting

ALGORITHMS: dict[str, ModuleType] = {
    "articulated": articulated,
    "composite": composite,
    "reduction": reduction,
    "multipliers": multipliers,
    "nullspace": nullspace,
    "divide": divide,
    "subchains": subchains,
}
ALIASES = {"aba": "articulated", "crba": "composite", "rcr": "reduction"} | dict.fromkeys(LEAVES, "divide")
ALIASES |= {"hybrid": "subchains"}


def choose(system: System, algorithm: str = "auto") -> str:
    """The name of the algorithm to run; refuses what it cannot do and says which ones can."""
    able = [name for name, module in ALGORITHMS.items() if system.features <= module.SUPPORTS]
    if algorithm == "auto":
        if able:
            return able[0]
        raise _refusal(system, "no algorithm yet", able)
    name = "divide" if is_division(algorithm) else ALIASES.get(algorithm, algorithm)
    name = "subchains" if is_cutting(algorithm) else name
    if name not in ALGORITHMS:
        raise ModelError(
            f"algorithm '{algorithm}' is not known", hint=nearest(algorithm, ("auto", *ALGORITHMS, *ALIASES))
        )
    if name not in able:
        raise _refusal(system, f"algorithm '{name}'", able)
    return name


def _refusal(system: System, who: str, able: list[str]) -> ModelError:
    has: list[str] = []
    if system.model.flexibles:
        has.append("flexible bodies (" + ", ".join(f"'{f}'" for f in list(system.model.flexibles)[:5]) + ")")
    if system.topology.sideways:
        has.append(
            "loops over two nodes of one body (" + ", ".join(f"'{j.name}'" for j in system.topology.sideways[:5]) + ")"
        )
    if system.cut_joints:
        has.append("closed loops (" + ", ".join(f"'{j}'" for j in system.cut_joints[:5]) + ")")
    if system.model.couplings:
        has.append("joint couplings (" + ", ".join(f"'{c}'" for c in list(system.model.couplings)[:5]) + ")")
    if system.model.constraints:
        has.append("constraints (" + ", ".join(f"'{c}'" for c in list(system.model.constraints)[:5]) + ")")
    return ModelError(
        f"{who} can solve '{system.name}'" if who.startswith("no ") else f"{who} cannot solve '{system.name}'",
        expected="a tree of joints",
        got=" and ".join(has),
        hint=("these can: " + ", ".join(able))
        if able
        else "kinematics, mass_matrix and inverse_dynamics of the spanning tree still work",
    )


def reason(system: System, algorithm: str) -> str:
    """One line for ``explain``."""
    if algorithm == "articulated":
        return f"O(n): {system.nu} freedoms in one sweep in and one out, no matrix is formed"
    rows = system.constraints.count
    if algorithm == "multipliers":
        return f"O(n + n m^2 + m^3): {system.nu} freedoms, {rows} rows of constraints by undetermined multipliers"
    if algorithm == "nullspace":
        return f"O(n^3): {system.nu} freedoms, {rows} rows of constraints, motions in their null space"
    if algorithm == "divide":
        return f"O(n / p + log p): {system.nu} freedoms, subchains side by side on p lanes and threads"
    if algorithm == "subchains":
        return f"O(n / p + p): {system.nu} freedoms, subchains side by side, then the loads at the joints cut"
    if algorithm == "reduction":
        return f"O(n + m): {system.nu} freedoms and {rows} rows of loops in one sweep in and one out"
    return f"O(n d^2): factors the {system.nu} x {system.nu} mass matrix"
