"""From a structure and a choice to its modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ModelError
from . import check
from .choose import Choice
from .modes import FIDELITIES, KINDS, Modes
from .reference import finished
from .report import Report
from .second import second_order
from .solve import lowest, not_rigid, part, solver
from .structure import Structure

USUAL = {"kind": "cantilever", "fidelity": "full", "damping": 0.0}


def modes(structure: Structure, kind: str, choice: Choice, given: dict[str, Any]) -> Modes:
    """The modes that :meth:`Structure.modes` describes."""
    check.known(kind, KINDS, "kind of modes")
    fidelity = check.known(given["fidelity"], FIDELITIES, "fidelity")
    base = structure.node(structure.names[0] if given["inboard"] is None else given["inboard"])
    ends = [structure.node(name) for name in check.names(given["outboard"] or (), "modes: outboard nodes")]
    if not ends and len(structure.names) > 1:
        ends = [len(structure.names) - 1 if base != len(structure.names) - 1 else 0]
    if fidelity == "stiffened" and structure.geometric is None and structure.line is None:
        raise check.no_second_order("a structure of which only mass and stiffness are known")
    held = Held(structure, base)
    squares, V, report = held.chosen(kind, choice, ends)
    keep = _kept(structure, base, ends, given["nodes"])
    made = _made(held, kind, fidelity, squares, V, keep, _ratios(given["damping"], len(squares)))
    reported = {k: np.asarray(v).tolist() for k, v in {"kind": kind, **given}.items() if v is not None}
    reported = {k: v for k, v in reported.items() if v != USUAL.get(k)}
    return replace(made, report=report, recipe=None if structure.recipe is None else structure.recipe | reported)


class Held:
    """A structure held at its inboard node."""

    def __init__(self, structure: Structure, base: int) -> None:
        self.structure, self.base, self.columns = structure, base, structure.held(base)
        n = structure.K.shape[0]
        self.inner = np.setdiff1d(np.arange(n), self.columns)
        self.rigid = structure.rigid_about(base)
        if len(self.columns):
            check.free_of_ground(structure.K, self.rigid)
        self.K, self.M = (part(x, self.inner, self.inner) for x in (structure.K, structure.M))
        self.static = solver(self.K)

    def chosen(self, kind: str, choice: Choice, ends: list[int]) -> tuple[np.ndarray, np.ndarray, Report]:
        """Squares of frequencies, modes with V' M V = 1, and what they leave out."""
        if kind == "craig-bampton":
            squares, V, rest = self._craig_bampton(choice, ends)
            return squares, V, self._report(squares, V, *rest, ends)
        squares, V = self._free(choice) if kind == "free" else self._cantilever(choice.wanted, choice.limit)
        shares = self._shares(V) if kind == "cantilever" else np.full((len(squares), 6), np.nan)
        taken = choice.take(squares, shares)
        after = _next(squares, taken)
        available = len(squares) if isinstance(self.K, np.ndarray) else len(self.inner)
        squares, V = squares[taken], _signed(V[:, taken])
        return squares, V, self._report(squares, V, available, after, ends)

    def _cantilever(self, wanted: int, limit: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        squares, v = lowest(self.K, self.M, 0.0, wanted, limit)
        V = np.zeros((self.structure.K.shape[0], len(squares)))
        V[self.inner] = v
        return squares, V

    def _free(self, choice: Choice) -> tuple[np.ndarray, np.ndarray]:
        if not len(self.columns):
            raise ModelError(
                "free modes need a structure that is free",
                expected="an inboard node that moves in mass and stiffness",
                got=f"node '{self.structure.names[self.base]}' without coordinates",
            )
        size = abs(self.rigid).max(axis=0)
        rank = int(np.linalg.matrix_rank(self.rigid / np.where(size > 0.0, size, 1.0), tol=1e-9))
        shift = float(self._cantilever(1)[0][0])  # of the size of the first elastic ones
        squares, V = lowest(self.structure.K, self.structure.M, shift, choice.wanted + rank, choice.limit)
        return not_rigid(squares, V, rank, shift)

    def _craig_bampton(self, choice: Choice, ends: list[int]) -> tuple[np.ndarray, np.ndarray, tuple[int, float]]:
        """Static shapes of the outboard nodes and modes with these held too, made orthogonal to each other."""
        s, n = self.structure, self.structure.K.shape[0]
        outer = np.unique(np.concatenate([s.held(k) for k in ends]).astype(int))
        outer = np.setdiff1d(outer, self.columns)
        inner = np.setdiff1d(self.inner, outer)
        K, M = part(s.K, inner, inner), part(s.M, inner, inner)
        static = np.zeros((n, len(outer)))
        static[outer] = np.eye(len(outer))
        coupling = part(s.K, inner, outer)
        coupling = coupling if isinstance(coupling, np.ndarray) else coupling.toarray()
        static[inner] = -solver(K)(coupling)
        squares, v = lowest(K, M, 0.0, choice.wanted, choice.limit)
        taken = choice.take(squares, np.zeros((len(squares), 6)))
        fixed = np.zeros((n, len(taken)))
        fixed[inner] = v[:, taken]
        basis = np.concatenate([static, fixed], axis=1)
        k, m = basis.T @ (s.K @ basis), basis.T @ (s.M @ basis)
        found, mix = lowest(0.5 * (k + k.T), 0.5 * (m + m.T), 0.0, len(m))
        return found, _signed(basis @ mix), (len(self.inner), _next(squares, taken))

    def _shares(self, V: np.ndarray) -> np.ndarray:
        """Effective mass of each mode in six directions, over that of the whole: (nm, 6)."""
        MR = self.structure.M @ self.rigid
        whole = np.einsum("nd,nd->d", self.rigid, MR)
        return (V.T @ MR) ** 2 / np.where(whole > 0.0, whole, np.nan)

    def _report(self, squares: np.ndarray, V: np.ndarray, available: int, after: float, ends: list[int]) -> Report:
        s = self.structure
        shares = self._shares(V) if not V[self.columns].any() else np.full((len(squares), 6), np.nan)
        seen = s.shapes(V - self.rigid @ s.shapes(V)[self.base])
        flexibility = {}
        for k in ends:
            loads = s.T[6 * k : 6 * k + 3].toarray().T[self.inner]  # (inner, 3)
            whole = np.einsum("nd,nd->d", loads, self.static(loads))
            held = (seen[k, :3] ** 2 / squares).sum(axis=1)
            flexibility[s.names[k]] = held / np.where(whole > 0.0, whole, np.nan)
        return Report(np.sqrt(squares), shares, flexibility, len(squares), available, after)


def _made(
    held: Held,
    kind: str,
    fidelity: str,
    squares: np.ndarray,
    V: np.ndarray,
    keep: np.ndarray,
    ratios: np.ndarray,
) -> Modes:
    structure, base = held.structure, held.base
    floating = kind == "free" and fidelity != "stiffened"
    if kind == "free" and not floating:  # the second order is found in the frame of the inboard node
        V = V - held.rigid @ structure.shapes(V)[base]
    shapes = structure.shapes(V)
    second = second_order(held, V) if fidelity == "stiffened" else None
    nm, frequencies = len(squares), check.sensible(np.sqrt(squares))
    strain = check.slopes(structure.r, shapes[:, :3]) if structure.strain is None else structure.strain(V)
    nothing = np.zeros((len(keep), 3, nm, nm))
    name = structure.names[base]
    made = Modes(
        kind=kind,
        fidelity=fidelity,
        frequencies=frequencies,
        **structure.mass.integrals(V, shapes, second, strain),
        K=np.diag(squares),
        D=np.diag(2.0 * ratios * frequencies),
        nodes=tuple(structure.names[k] for k in keep),
        r=structure.r[keep],
        phi=np.ascontiguousarray(shapes[keep, :3]),
        psi=np.ascontiguousarray(shapes[keep, 3:]),
        Q=nothing if second is None else second.Q[keep],
        inboard="" if floating else name,
        psi2=nothing if second is None else second.psi2[keep],
        strain=strain,
        beam=None if structure.line is None else structure.line.recovery(V),
    )
    return finished(made, name)


def _kept(structure: Structure, base: int, ends: list[int], given: str | Sequence[str] | None) -> np.ndarray:
    if given is None or given == "all":
        asked = list(range(0 if given == "all" else structure.mesh, len(structure.names)))
    else:
        asked = [structure.node(name) for name in check.names(given, "modes: nodes")]
    return np.array(sorted({base, *ends, *asked}))


def _ratios(damping: Any, count: int) -> np.ndarray:
    ratios = check.numbers(damping, () if np.ndim(damping) == 0 else (count,), "modes: damping")
    if ratios.min(initial=0.0) < 0.0:
        raise ModelError("modes: damping is negative", expected="ratios >= 0", got=float(ratios.min()))
    return np.broadcast_to(ratios, (count,))


def _next(squares: np.ndarray, taken: np.ndarray) -> float:
    """The frequency of the first mode that is not taken."""
    return float(np.sqrt(next(iter(np.delete(squares, taken)), np.nan)))


def _signed(V: np.ndarray) -> np.ndarray:
    """Modes whose largest entry is positive, so that they come out the same every time."""
    largest = np.argmax(abs(V).round(12), axis=0)
    return V * np.where(V[largest, np.arange(V.shape[1])] < 0.0, -1.0, 1.0)
