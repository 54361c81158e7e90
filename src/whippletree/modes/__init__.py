"""Flexible structures and their modes: what a flexible body is before any system is made.

SciPy's parts are named in full: they are loaded at their first use, and most models use none.
"""

from .beams.beam import beam
from .modes import FIDELITIES, KINDS, Modes
from .points import Points
from .readers.matrices import structure
from .readers.nastran import nastran
from .solid import solid
from .structure import Structure

__all__ = ["FIDELITIES", "KINDS", "Modes", "Points", "Structure", "beam", "nastran", "solid", "structure"]
