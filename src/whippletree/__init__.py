"""Whippletree: multibody dynamics. One model, many algorithms, the same answer.

The public names; each is imported when it is first used, so that the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .analysis.eigen import eigenmodes
    from .analysis.equilibrium import equilibrium
    from .analysis.linearize import linearize
    from .analysis.mobility import mobility
    from .analysis.reactions import reactions
    from .analysis.verify import verify
    from .compiler.lanes import LANES
    from .derivatives.functions import (
        ForwardDerivatives,
        InverseDerivatives,
        forward_dynamics_derivatives,
        inverse_dynamics_derivatives,
        jvp,
        vjp,
    )
    from .dynamics.accuracy.certificate import Certificate
    from .dynamics.functions import (
        applied_force,
        bias_force,
        forward_dynamics,
        inverse_dynamics,
        mass_factors,
        mass_matrix,
        mass_matrix_inverse,
        solve_mass,
    )
    from .dynamics.kinematics import centroid, coriolis_matrix, energy, jacobian, kinematics, momentum
    from .dynamics.registry import ALGORITHMS
    from .errors import ModelError, ModelWarning, SimulationError, WhippletreeError
    from .files import load, save
    from .integrate.assemble import assemble
    from .integrate.methods.registry import INTEGRATORS
    from .integrate.motion import advance, coordinate_rates
    from .integrate.rollout import rollout
    from .integrate.run.events import Event
    from .integrate.simulate import simulate
    from .integrate.warm_up import warm_up
    from .model import Limits, Model, Ramp, Sine, Step, Table, pose
    from .model.shapes import box, cylinder, mesh, point, rod, sphere
    from .modes import Modes, beam, nastran, solid, structure
    from .mpi.ranks import simulate_on_ranks
    from .realtime.live import live
    from .result.result import Result, load_result
    from .sweeps.study import Sweep
    from .sweeps.sweep import sweep
    from .system.system import System

_HOME = {
    "analysis.eigen": ("eigenmodes",),
    "analysis.equilibrium": ("equilibrium",),
    "analysis.linearize": ("linearize",),
    "analysis.mobility": ("mobility",),
    "analysis.reactions": ("reactions",),
    "analysis.verify": ("verify",),
    "compiler.lanes": ("LANES",),
    "derivatives.functions": (
        "ForwardDerivatives", "InverseDerivatives", "forward_dynamics_derivatives", "inverse_dynamics_derivatives",
        "jvp", "vjp",
    ),
    "dynamics.accuracy.certificate": ("Certificate",),
    "dynamics.registry": ("ALGORITHMS",),
    "dynamics.functions": (
        "applied_force", "bias_force", "forward_dynamics", "inverse_dynamics",
        "mass_factors", "mass_matrix", "mass_matrix_inverse", "solve_mass",
    ),
    "dynamics.kinematics": ("centroid", "coriolis_matrix", "energy", "jacobian", "kinematics", "momentum"),
    "errors": ("ModelError", "ModelWarning", "SimulationError", "WhippletreeError"),
    "files": ("load", "save"),
    "integrate.assemble": ("assemble",),
    "integrate.motion": ("advance", "coordinate_rates"),
    "integrate.rollout": ("rollout",),
    "integrate.run.events": ("Event",),
    "integrate.methods.registry": ("INTEGRATORS",),
    "integrate.simulate": ("simulate",),
    "integrate.warm_up": ("warm_up",),
    "model": ("Limits", "Model", "Ramp", "Sine", "Step", "Table", "pose"),
    "model.shapes": ("box", "cylinder", "mesh", "point", "rod", "sphere"),
    "modes": ("Modes", "beam", "nastran", "solid", "structure"),
    "mpi.ranks": ("simulate_on_ranks",),
    "realtime.live": ("live",),
    "result.result": ("Result", "load_result"),
    "sweeps.study": ("Sweep",),
    "sweeps.sweep": ("sweep",),
    "system.system": ("System",),
}  # fmt: skip
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "ALGORITHMS",
    "INTEGRATORS",
    "LANES",
    "Certificate",
    "Event",
    "ForwardDerivatives",
    "InverseDerivatives",
    "Limits",
    "Model",
    "ModelError",
    "ModelWarning",
    "Modes",
    "Ramp",
    "Result",
    "SimulationError",
    "Sine",
    "Step",
    "Sweep",
    "System",
    "Table",
    "WhippletreeError",
    "advance",
    "applied_force",
    "assemble",
    "beam",
    "bias_force",
    "box",
    "centroid",
    "coordinate_rates",
    "coriolis_matrix",
    "cylinder",
    "eigenmodes",
    "energy",
    "equilibrium",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "jvp",
    "kinematics",
    "linearize",
    "live",
    "load",
    "load_result",
    "mass_factors",
    "mass_matrix",
    "mass_matrix_inverse",
    "mesh",
    "mobility",
    "momentum",
    "nastran",
    "point",
    "pose",
    "reactions",
    "rod",
    "rollout",
    "save",
    "simulate",
    "simulate_on_ranks",
    "solid",
    "solve_mass",
    "sphere",
    "structure",
    "sweep",
    "verify",
    "vjp",
    "warm_up",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'whippletree' has no attribute '{name}'")
    value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
