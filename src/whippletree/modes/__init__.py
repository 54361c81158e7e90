"""Flexible structures and their modes: what a flexible body is before any system is made."""

from .beam import beam
from .modes import FIDELITIES, KINDS, Modes
from .points import Points
from .structure import Structure

__all__ = ["FIDELITIES", "KINDS", "Modes", "Points", "Structure", "beam"]
