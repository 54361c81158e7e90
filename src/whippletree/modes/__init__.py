"""Flexible structures and their modes: what a flexible body is before any system is made.

SciPy's parts are named in full: they are loaded by whoever first uses one, and most models use none.
"""

from .beam import beam
from .matrices import structure
from .modes import FIDELITIES, KINDS, Modes
from .nastran import nastran
from .points import Points
from .solid import solid
from .structure import Structure

__all__ = ["FIDELITIES", "KINDS", "Modes", "Points", "Structure", "beam", "nastran", "solid", "structure"]
