"""Straight beams of any section, uniform or tapered, as structures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.polynomial import legendre

from ...errors import ModelError
from .. import check
from ..mass import PointMass, rigid_motion
from ..structure import Structure
from .elements import DEFORMATIONS, Element
from .line import BeamLine
from .sections import Section, positive, section

THEORIES = ("euler-bernoulli", "timoshenko")
AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}
MOST_ELEMENTS = 500


def beam(
    length: float,
    *,
    section: str = "general",
    width: Any = None,
    height: Any = None,
    radius: Any = None,
    wall: Any = None,
    A: Any = None,
    Iy: Any = None,
    Iz: Any = None,
    J: Any = None,
    ky: Any = None,
    kz: Any = None,
    cy: Any = None,
    cz: Any = None,
    ct: Any = None,
    E: float = 210e9,
    G: float | None = None,
    nu: float | None = None,
    rho: float = 7850.0,
    axis: str | Sequence[float] = "x",
    up: str | Sequence[float] | None = None,
    theory: str = "euler-bernoulli",
    rotary: bool = True,
    deforms: Sequence[str] = tuple(DEFORMATIONS),
    elements: int = 8,
    degree: int = 7,
    stations: Mapping[str, float] | None = None,
) -> Structure:
    """A straight beam from the origin along ``axis``: nodes "base", "n1", "n2" ... "tip".

    ``section`` is a "rectangle" (``height`` along the beam's y, ``width`` along its z), "circle" (``radius``), "tube"
    (outer ``radius`` and ``wall``) or "general" (``A``, ``Iy``, ``Iz``). The torsion constant ``J``, shear factors
    ``ky``, ``kz`` and distances of the outer fibre ``cy``, ``cz`` (bending) and ``ct`` (torsion: the stress is torque
    times ct / J) follow from a named section and may be given. A list instead of a number is a taper: values at equal
    distances from base to tip, straight between them. ``E``, ``G`` (or Poisson's ratio ``nu``) and ``rho`` are steel's
    if left out. All is SI: m, m^2 (``A``), m^4 (``Iy``, ``Iz``, ``J``), Pa (``E``, ``G``), kg/m^3 (``rho``).

    The beam's y is ``up``, made perpendicular to the axis. ``theory`` is "euler-bernoulli" or, with shear,
    "timoshenko"; ``rotary=False`` leaves out the rotary inertia of bending. ``deforms`` says in which ways the beam
    deforms: "axial", "torsion", "bending_y", "bending_z". ``stations`` are more nodes by name, in metres from the base.
    Elements are polynomials of ``degree``: 8 of degree 7 give the first five modes of a uniform beam to 10 digits.

    >>> beam(1.0, section="tube", radius=0.02, wall=0.002, elements=2)
    Structure(3 nodes, 58 coordinates)
    """
    given = {k: v for k, v in locals().items() if v is not None}
    length = positive(length, "beam: length")
    sizes = {"width": width, "height": height, "radius": radius, "wall": wall, "A": A, "Iy": Iy, "Iz": Iz, "J": J}
    cut = _section(section, length, E, G, nu, rho, sizes | {"ky": ky, "kz": kz, "cy": cy, "cz": cz, "ct": ct})
    shape = _shape(cut, theory, rotary, deforms, degree)
    count = _whole(elements, "elements", 1, MOST_ELEMENTS)
    names, ends = _nodes(length, count, {} if stations is None else stations, cut)
    axes = _axes(axis, up)
    line, n, (M, K, mass) = _assembled(ends, shape, axes, cut, rotary, length)
    r, T = ends[:, None] * axes[:, 0], _motions(line, n)
    R = T.T @ rigid_motion(r, np.zeros(3))
    return Structure(names, r, M, K, T, R, mass, line=line, strain=line.largest, recipe=_recipe(given))


def _assembled(ends: np.ndarray, shape: Element, axes: np.ndarray, cut: Any, rotary: bool, length: float) -> Any:
    """The line of elements, the number of its coordinates, and its matrices."""
    with np.errstate(all="ignore"):
        line, n = _line(ends, shape, axes, cut)
        M, K, mass = _matrices(line, n, rotary)
        if not np.isfinite(M.sum() + abs(K).sum()):
            raise ModelError("beam: its mass or stiffness is beyond all numbers", got=f"a length of {length:g} m")
    return line, n, (M, K, mass)


def _shape(cut: Any, theory: str, rotary: Any, deforms: Sequence[str], degree: int) -> Element:
    """What an element can do, checked."""
    check.known(theory, THEORIES, "beam: theory")
    if theory == "timoshenko" and np.isnan(cut.at(np.zeros(1)).ky + cut.at(np.zeros(1)).kz)[0]:
        raise ModelError("beam: shear factors are missing", expected="ky and kz of a general section")
    ways = tuple(check.known(name, DEFORMATIONS, "beam: deformation") for name in check.names(deforms, "beam: deforms"))
    if not isinstance(rotary, bool):
        raise ModelError("beam: rotary is not true or false", got=repr(rotary)[:80])
    if not ways:
        raise ModelError("beam: it deforms in no way", expected="one of " + ", ".join(DEFORMATIONS))
    return Element(_whole(degree, "degree", 3, 12), theory == "timoshenko", ways)


_section = section  # the argument of beam has its name


def _recipe(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that are not their defaults, as plain numbers, texts and lists."""
    usual = beam.__kwdefaults__ or {}
    plain = {k: dict(v) if isinstance(v, Mapping) else np.asarray(v).tolist() for k, v in given.items()}
    return {"shape": "beam"} | {k: v for k, v in plain.items() if k not in usual or v != np.asarray(usual[k]).tolist()}


def _whole(value: Any, what: str, low: int, high: int) -> int:
    n = check.counted(value)
    if not low <= n <= high:
        raise ModelError(f"beam: {what} is no such number", expected=f"{low} to {high}", got=repr(value)[:80])
    return n


def _direction(value: Any, what: str) -> np.ndarray:
    if isinstance(value, str):
        return np.array(AXES[check.known(value, AXES, what)], dtype=float)
    v = check.numbers(value, (3,), what)
    if not np.linalg.norm(v) > 0.0:
        raise ModelError(f"{what} has no direction", expected="3 numbers that are not all zero", got=v.tolist())
    return v / np.linalg.norm(v)


def _axes(axis: Any, up: Any) -> np.ndarray:
    x = _direction(axis, "beam: axis")
    if up is None:  # z stays z where it can: a beam along x has y along y
        up = np.cross((0.0, 0.0, 1.0), x) if abs(x[2]) < 0.9 else (0.0, 1.0, 0.0)
    y = _direction(up, "beam: up")
    y = y - (y @ x) * x
    if np.linalg.norm(y) < 1e-6:
        raise ModelError(
            "beam: up lies along the axis", expected="a direction across the beam", got=np.array(up).tolist()
        )
    y /= np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _nodes(
    length: float, elements: int, stations: Mapping[str, Any], cut: Section
) -> tuple[tuple[str, ...], np.ndarray]:
    """Ends of elements, with a node at every station and wherever the section changes its slope."""
    named = {0.0: "base", length: "tip"}
    if not isinstance(stations, Mapping):
        raise ModelError("beam: stations are not places by name", expected="{mid = 0.5}", got=repr(stations)[:80])
    for name, value in stations.items():
        s = float(check.numbers(value, (), f"beam: station '{name}'"))
        if not 0.0 < s < length or s in named:
            raise ModelError(
                f"beam: station '{name}' is not between the ends, apart from others",
                expected=f"0 to {length:g} m",
                got=s,
            )
        named[s] = str(name)
    fixed = sorted({*named, *(k * length for k in cut.kinks)})
    ends = [0.0]
    for a, b in pairwise(fixed):
        parts = max(1, round((b - a) / length * elements))
        ends += [a + (b - a) * k / parts for k in range(1, parts)] + [b]
    names = [named.get(s, f"n{k}") for k, s in enumerate(ends)]
    return check.node_names(names, len(ends)), np.array(ends)


def _line(ends: np.ndarray, shape: Element, axes: np.ndarray, cut: Section) -> tuple[BeamLine, int]:
    """Coordinates: those of the nodes, node by node, then the bubbles, element by element."""
    per, bubbles, ne = len(shape.active), shape.size - 12, len(ends) - 1
    first = per * (ne + 1)
    columns = tuple(
        np.concatenate([np.arange(per * e, per * (e + 2)), first + bubbles * e + np.arange(bubbles)]) for e in range(ne)
    )
    gauss = legendre.leggauss(shape.degree + 3)[0]
    return BeamLine(ends, shape, columns, axes, cut, gauss), first + bubbles * ne


def _matrices(line: BeamLine, n: int, rotary: bool) -> tuple[np.ndarray, np.ndarray, PointMass]:
    weights = legendre.leggauss(len(line.gauss))[1]
    M, K = np.zeros((n, n)), np.zeros((n, n))
    r, mass, inertia, N, T = ([] for _ in range(5))  # type: ignore[var-annotated]
    for e, columns in enumerate(line.columns):
        a, b = line.ends[e], line.ends[e + 1]
        s = a + 0.5 * (b - a) * (line.gauss + 1.0)
        w, p = 0.5 * (b - a) * weights, line.section.at(s)
        f = line.element.fields(line.gauss, b - a)
        own = line.element.columns
        stiffness = p.stiffness() if line.element.shear else p.stiffness() * [1, 0, 0, 1, 1, 1]
        stiffness = np.nan_to_num(stiffness)  # no shear factor where there is no shear
        moments = np.stack([p.Iy + p.Iz, p.Iy * rotary, p.Iz * rotary], axis=1) * (p.rho * w)[:, None]
        B, shape, turn = f.B[:, :, own], f.N[:, :, own], f.T[:, :, own]
        K[np.ix_(columns, columns)] += np.einsum("p,pi,pia,pib->ab", w, stiffness, B, B, optimize=True)
        m = np.einsum("p,pia,pib->ab", w * p.rho * p.A, shape, shape, optimize=True)
        M[np.ix_(columns, columns)] += m + np.einsum("pi,pia,pib->ab", moments, turn, turn, optimize=True)
        C = line.axes
        r.append(s[:, None] * C[:, 0])
        mass.append(w * p.rho * p.A)
        inertia.append(np.einsum("ij,pj,kj->pik", C, moments, C))
        for out, x in ((N, shape), (T, turn)):
            full = np.zeros((len(s), 3, n))
            full[:, :, columns] = np.einsum("ij,pja->pia", C, x)
            out.append(full)
    return M, K, PointMass(*(np.concatenate(x) for x in (r, mass, inertia, N, T)))


def _motions(line: BeamLine, n: int) -> Any:
    """T: the motions of the nodes, turned into the structure's axes."""
    per, active = len(line.element.active), line.element.active
    both = np.kron(np.eye(2), line.axes)[:, active]
    rows = scipy.sparse.kron(scipy.sparse.eye_array(len(line.ends)), scipy.sparse.csr_array(both))
    return scipy.sparse.hstack([rows, scipy.sparse.csr_array((rows.shape[0], n - per * len(line.ends)))], format="csr")
