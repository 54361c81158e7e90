"""How many operations forward dynamics of a chain of flexible bodies takes, as the paper counts them.

Paper    [jain1992] sec. VII, for ruthless bodies on hinges of one DOF; figure 2 is drawn from it.
Symbols  n is the paper's n_m(k), N its number of all DOF; k counts bodies from the tip.
Differs  multiplications and additions are added up. The paper prints N_m^2 in the count of R(k), where n_m^2 is meant.
"""

from __future__ import annotations

from collections.abc import Sequence

EXPLICIT = 7  # modes up to which D_f is inverted as it is, and (B3) does not pay


def composite(modes: Sequence[int]) -> float:
    """Composite-body algorithm, for the numbers of modes of all bodies from the tip to ground."""
    N = sum(n + 1 for n in modes)
    total = N + (N**3 / 6 + 1.5 * N**2 - 2 * N / 3) + (N**3 / 6 + N**2 - 7 * N / 6)  # 4) and 5): solve
    for k, n in enumerate(modes, start=1):
        total += (48 * n + 90) + (n**2 + 48.5 * n + 116)  # 1) R(k)
        total += k * ((12 * n**2 + 34 * n + 13) + (11 * n**2 + 24 * n + 13))  # 2) mass matrix
        total += (2 * n**2 + 54 * n + 206) + (2 * n**2 + 50 * n + 143)  # 3) C(k)
    return total


def articulated(modes: Sequence[int]) -> float:
    """Articulated-body algorithm, likewise; of the two ways to D_f^-1 the one that the paper takes."""
    return sum((explicit(n) if n <= EXPLICIT else indirect(n)) + _recursions(n) for n in modes)


def explicit(n: int) -> float:
    """1a) articulated quantities of a body, D_f inverted"""
    return (5 * n**3 / 6 + 12.5 * n**2 + 764 * n / 3 + 180) + (5 * n**3 / 6 + 10.5 * n**2 + 548 * n / 3 + 164)


def indirect(n: int) -> float:
    """1b) the same by (B3)"""
    return (12 * n**2 + 255 * n + 572) + (13 * n**2 + 182 * n + 445)


def _recursions(n: int) -> float:
    """2) tip to base, and 3) base to tip"""
    return (n**2 + 25 * n + 49) + (n**2 + 24 * n + 50) + (18 * n + 52) + (19 * n + 42)
