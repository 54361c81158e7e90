"""Beam elements of any degree: displacement, turn and strain as matrices on the coordinates of the element.

Axes      x along the beam, y and z across; coordinates of an element are [u v w θx θy θz] of its two ends, then the
          amplitudes of bubbles: functions that leave the ends where they are (a hierarchic basis of Legendre integrals)
Strains   [u', v' - θz, w' + θy; θx', θy', θz']. Euler-Bernoulli sets θz = v', θy = -w', so that shear is zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import legendre

DEFORMATIONS = {"axial": (0,), "torsion": (3,), "bending_y": (1, 5), "bending_z": (2, 4)}


@dataclass(frozen=True, eq=False)
class Basis:
    """Functions of xi on [-1, 1] as Legendre coefficients, one column each."""

    ends: np.ndarray  # 2 of value, or 4 of value and slope (Hermite)
    bubbles: np.ndarray


def lagrange(degree: int) -> Basis:
    ends = np.array([[0.5, 0.5], [-0.5, 0.5]])
    made = [legendre.legint(np.eye(k)[k - 1], lbnd=-1) * np.sqrt(k - 0.5) for k in range(2, degree + 1)]
    return Basis(ends, _columns(made, degree))


def hermite(degree: int) -> Basis:
    """Value and slope at -1, value and slope at 1; slopes by xi."""
    powers = np.array(
        [[0.5, -0.75, 0.0, 0.25], [0.25, -0.25, -0.25, 0.25], [0.5, 0.75, 0.0, -0.25], [-0.25, -0.25, 0.25, 0.25]]
    )
    ends = np.stack([legendre.poly2leg(p) for p in powers], axis=1)
    made = [legendre.legint(np.eye(k - 1)[k - 2], m=2, lbnd=-1) * np.sqrt(k - 1.5) for k in range(4, degree + 1)]
    return Basis(ends, _columns(made, degree))


def _columns(made: list[np.ndarray], degree: int) -> np.ndarray:
    out = np.zeros((degree + 1, len(made)))
    for k, c in enumerate(made):
        out[: len(c), k] = c
    return out


@dataclass(frozen=True, eq=False)
class Fields:
    """At points of one element: displacement N (n, 3, nd), turn T (n, 3, nd), its rate dT, strain B (n, 6, nd)."""

    N: np.ndarray
    T: np.ndarray
    dT: np.ndarray
    B: np.ndarray


class Element:
    """The shape functions of one element; all elements of a beam share them, but for their length."""

    def __init__(self, degree: int, shear: bool, deforms: tuple[str, ...]) -> None:
        self.shear, self.degree = shear, degree
        line, bent = lagrange(degree), (lagrange(degree) if shear else hermite(degree))
        active = [i for name in DEFORMATIONS if name in deforms for i in DEFORMATIONS[name]]
        self.active = sorted(active)
        # Euler-Bernoulli bends with the bubbles of v and w; their turns follow
        own = [i for i in self.active if shear or i not in (4, 5)]
        self.bases = {i: bent if i in (1, 2) else line for i in own}
        self.start, at = {}, 12
        for i in own:
            self.start[i] = at
            at += self.bases[i].bubbles.shape[1]
        self.size = at
        self.columns = np.array([*self.active, *(6 + i for i in self.active), *range(12, at)])

    def fields(self, xi: np.ndarray, length: float) -> Fields:
        """The matrices at points xi, with all 12 end coordinates and the bubbles as columns."""
        up = 2.0 / length  # d xi / d x
        n = len(xi)
        value, first, second = (np.zeros((6, n, self.size)) for _ in range(3))
        for i, basis in self.bases.items():
            hermite_slopes = i in (1, 2) and not self.shear
            for order, out in enumerate((value, first, second)):
                out[i, :, self.start[i] : self.start[i] + basis.bubbles.shape[1]] = _at(basis.bubbles, xi, order, up)
                ends = _at(basis.ends, xi, order, up)
                if hermite_slopes:
                    turn, sign = (5, 1.0) if i == 1 else (4, -1.0)  # θz = v', θy = -w'
                    columns, ends = [i, turn, 6 + i, 6 + turn], ends * [1.0, sign / up, 1.0, sign / up]
                else:
                    columns = [i, 6 + i]
                out[i][:, columns] = ends
        if not self.shear:
            value[5], first[5] = first[1], second[1]
            value[4], first[4] = -first[2], -second[2]
        N, T, dT = (x.transpose(1, 0, 2) for x in (value[:3], value[3:], first[3:]))
        B = np.concatenate([first[:1], first[1:2] - value[5:6], first[2:3] + value[4:5], first[3:]]).transpose(1, 0, 2)
        return Fields(N, T, dT, B)


def _at(coefficients: np.ndarray, xi: np.ndarray, order: int, up: float) -> np.ndarray:
    """A derivative by x of the columns, (n, columns)."""
    if not coefficients.shape[1]:
        return np.zeros((len(xi), 0))
    c = legendre.legder(coefficients, order) if order else coefficients
    return up**order * legendre.legval(xi, c).T.reshape(len(xi), -1)
