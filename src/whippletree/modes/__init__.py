"""Flexible structures and their modes: what a flexible body is before any system is made."""

from .modes import FIDELITIES, KINDS, Modes
from .points import Points

__all__ = ["FIDELITIES", "KINDS", "Modes", "Points"]
