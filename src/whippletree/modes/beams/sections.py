"""Cross sections of beams: areas, moments, shear factors and outer fibres along the length.

Axes      x along the beam, y and z across it. A rectangle has its height along y and its width along z. Iz belongs to
          bending along y, Iy to bending along z. Shear factors are Cowper's (J. Appl. Mech. 33, 1966).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from .. import check

# what each section is described by, and what may be added
DIMENSIONS = {
    "rectangle": ("width", "height"),
    "circle": ("radius",),
    "tube": ("radius", "wall"),
    "general": ("A", "Iy", "Iz"),
}
ADDED = ("J", "ky", "kz", "cy", "cz", "ct")
MOST_VALUES = 1000  # along the length


@dataclass(frozen=True, eq=False)
class Properties:
    """A section at places along the beam: of one material, every other number is (n)."""

    E: float
    G: float
    rho: float
    A: np.ndarray
    Iy: np.ndarray
    Iz: np.ndarray
    J: np.ndarray
    ky: np.ndarray
    kz: np.ndarray
    cy: np.ndarray
    cz: np.ndarray
    ct: np.ndarray
    round: bool

    def stiffness(self) -> np.ndarray:
        """EA, k GA along y and z, GJ, E Iy, E Iz: (n, 6)."""
        E, G, A = self.E, self.G, self.A
        return np.stack([E * A, self.ky * G * A, self.kz * G * A, G * self.J, E * self.Iy, E * self.Iz], axis=1)


@dataclass(frozen=True)
class Section:
    """A named section; each dimension is a list of values at equal distances from base to tip."""

    shape: str
    length: float
    E: float
    G: float
    rho: float
    values: dict[str, tuple[float, ...]]

    @property
    def kinks(self) -> list[float]:
        """Where the section changes its slope, as parts of the length."""
        counts = {len(v) for v in self.values.values() if len(v) > 1}
        return sorted({k / (n - 1) for n in counts for k in range(n)})

    def value(self, key: str, part: np.ndarray) -> np.ndarray:
        """A dimension at parts of the length."""
        v = self.values[key]
        return np.interp(part, np.linspace(0.0, 1.0, len(v)), v) if len(v) > 1 else np.full_like(part, v[0])

    def at(self, s: np.ndarray) -> Properties:
        """At places s (m along the beam)."""
        s = np.asarray(s, dtype=float) / self.length
        given = {key: self.value(key, s) for key in self.values}
        nu = self.E / (2.0 * self.G) - 1.0
        made = SHAPES[self.shape](given, nu) | {k: given[k] for k in ADDED if k in given}
        return Properties(self.E, self.G, self.rho, **made, round=self.shape in ("circle", "tube"))


def _rectangle(d: dict[str, np.ndarray], nu: float) -> dict[str, np.ndarray]:
    w, h = d["width"], d["height"]
    a, b = np.maximum(w, h), np.minimum(w, h)
    odd = np.arange(1, 40, 2)[:, None]  # tanh and 1/cosh are 1 and 0 to rounding long before
    slender = np.minimum(odd * np.pi * a / (2.0 * b), 300.0)
    J = a * b**3 / 3.0 * (1.0 - 192.0 / np.pi**5 * (b / a) * (np.tanh(slender) / odd**5).sum(axis=0))
    ct = b * (1.0 - 8.0 / np.pi**2 * (1.0 / (odd**2 * np.cosh(slender))).sum(axis=0))
    k = np.full_like(w, 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu))
    I = {"Iy": h * w**3 / 12.0, "Iz": w * h**3 / 12.0}
    return {"A": w * h, **I, "J": J, "ky": k, "kz": k, "cy": 0.5 * h, "cz": 0.5 * w, "ct": ct}


def _tube(d: dict[str, np.ndarray], nu: float) -> dict[str, np.ndarray]:
    r = d["radius"]
    inner = r - d["wall"] if "wall" in d else np.zeros_like(r)
    m2 = (inner / r) ** 2
    k = 6.0 * (1.0 + nu) * (1.0 + m2) ** 2 / ((7.0 + 6.0 * nu) * (1.0 + m2) ** 2 + (20.0 + 12.0 * nu) * m2)
    I = 0.25 * np.pi * (r**4 - inner**4)
    A = np.pi * (r**2 - inner**2)
    return {"A": A, "Iy": I, "Iz": I, "J": 2.0 * I, "ky": k, "kz": k, "cy": r, "cz": r, "ct": r}


def _general(d: dict[str, np.ndarray], nu: float) -> dict[str, np.ndarray]:
    unknown = np.full_like(d["A"], np.nan)
    found = {k: d[k] for k in ("A", "Iy", "Iz")} | {"J": d["Iy"] + d["Iz"]}
    return found | dict.fromkeys(("ky", "kz", "cy", "cz", "ct"), unknown)


SHAPES = {"rectangle": _rectangle, "circle": _tube, "tube": _tube, "general": _general}


def section(shape: str, length: float, E: Any, G: Any, nu: Any, rho: Any, given: dict[str, Any]) -> Section:
    """A section from what the user wrote, every number checked."""
    check.known(shape, SHAPES, "beam: section")
    for key in DIMENSIONS[shape]:
        if given.get(key) is None:
            raise ModelError(f"beam: {key} of the {shape} is missing", expected=", ".join(DIMENSIONS[shape]))
    allowed = (*DIMENSIONS[shape], *ADDED)
    for key, value in given.items():
        if value is not None and key not in allowed:
            raise ModelError(f"beam: a {shape} takes no {key}", expected=", ".join(DIMENSIONS[shape]), got=value)
    values = {key: _along(value, f"beam: {key}") for key, value in given.items() if value is not None}
    E, rho = positive(E, "beam: E"), positive(rho, "beam: rho")
    if G is not None and nu is not None:
        raise ModelError("beam: G and nu say the same", expected="one of them", got="both")
    if G is None:
        ratio = 0.3 if nu is None else float(check.numbers(nu, (), "beam: nu"))
        if not -1.0 < ratio <= 0.5:
            raise ModelError("beam: nu is no Poisson ratio", expected="more than -1, at most 0.5", got=ratio)
        G = E / (2.0 * (1.0 + ratio))
    made = Section(shape, length, E, positive(G, "beam: G"), rho, values)
    parts = np.array(made.kinks or [0.0])
    if shape == "tube" and (made.value("wall", parts) > made.value("radius", parts)).any():
        raise ModelError(
            "beam: wall of the tube is thicker than its radius",
            expected=f"at most {values['radius'][0]:g}, the outer radius",
            got=values["wall"][0],
        )
    return made


def _along(value: Any, what: str) -> tuple[float, ...]:
    """One number, or a list of numbers at equal distances."""
    if check.is_list(value) and not any(check.is_list(x) for x in value):
        if not 1 <= len(value) <= MOST_VALUES:
            raise ModelError(f"{what} has the wrong length", expected=f"1 to {MOST_VALUES} numbers", got=len(value))
        return tuple(positive(x, what) for x in value)
    return (positive(value, what),)


def positive(value: Any, what: str) -> float:
    if isinstance(value, bool | str):
        raise ModelError(f"{what} is not a number", expected="a number > 0", got=repr(value))
    x = float(check.numbers(value, (), what))
    if not 0.0 < x <= 1e100:
        raise ModelError(f"{what} must be positive", expected="a number > 0", got=x)
    return x
