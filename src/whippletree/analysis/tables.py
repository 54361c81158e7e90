"""Studies as plain text: rows of words in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.constraints.consistency import motions_left
from ..dynamics.constraints.jacobian import rows_of
from ..result.columns import column_names
from ..system.system import System
from .eigen import Eigenmodes
from .equilibrium import Equilibrium
from .linearize import Linear
from .point import dof_names, free_rows, rotational

MOST_COLUMNS = 12  # of a matrix that is printed


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of words, the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(w.rjust(n) for w, n in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


class Assembly(NamedTuple):
    """A state in which all loops close, and the DOF that they leave there."""

    system: System
    q: np.ndarray
    u: np.ndarray
    dofs: int

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as ``whippletree assemble --json`` prints them."""
        s = self.system
        q, u = ({j: x[at(j)].tolist() for j in s.joints} for x, at in ((self.q, s.q_index), (self.u, s.u_index)))
        return {"system": s.name, "q": q, "u": u, "dof": self.dofs}

    def table(self) -> str:
        """Coordinates and velocities, the DOF, and what to give to ``run``."""
        reported = self.as_dict()
        rows = _values(self.system, "q", self.q) + _values(self.system, "u", self.u)
        left = str(self.dofs) if self.dofs else "0: it is locked, and nothing can move"
        options = [
            f"--{letter} '{joint}={','.join(f'{v:.12g}' for v in x)}'"
            for letter in ("q", "u")
            for joint, x in reported[letter].items()
            if letter == "q" or any(x)
        ]
        return columns(rows) + f"\nDOF       {left}\nrun with  " + " ".join(options)


def _values(system: System, letter: str, values: np.ndarray) -> list[tuple[str, ...]]:
    """Name, value and unit of each coordinate or speed."""
    named = zip(*column_names(system, letter), values, strict=True)
    return [(f"{name}.{letter}" if name in system.joints else name, f"{x:.9g}", unit) for name, unit, x in named]


def assembly(system: System, q: np.ndarray, u: np.ndarray) -> Assembly:
    """What there is to show of an assembled state."""
    left = motions_left(system, rows_of(system, q, u), free_rows(system, ())) if system.nu else np.zeros((0, 0))
    return Assembly(system, q, u, left.shape[1])


def equilibrium_table(found: Equilibrium) -> str:
    """Coordinates and joint forces, then how good and how firm it is."""
    system = found.system
    rows = _values(system, "q", found.q)
    forces = zip(dof_names(system, "tau"), found.tau, rotational(system), strict=True)
    rows += [(name, f"{x:.9g}", "N m" if turns else "N") for name, x, turns in forces]
    firm = "yes" if found.stable else "no" + (f", {found.neutral} directions are neutral" if found.neutral else "")
    more = [("residual", f"{found.residual:.1e}"), ("iterations", str(found.iterations)), ("stable", firm)]
    return columns(rows) + "\n" + columns(more)


def modes_table(modes: Eigenmodes) -> str:
    """One line for each mode, with the joint that moves most."""
    rows: list[tuple[str, ...]] = [("mode", "kind", "rad/s", "Hz", "damping", "growth (1/s)", "moves most")]
    for k, kind in enumerate(modes.kinds):
        most = max(modes.system.joints, key=lambda joint: np.abs(modes.shape(k)[joint]).max())
        numbers = (modes.frequencies[k], modes.hz[k], modes.damping[k], modes.growth[k])
        rows.append((str(k), kind, *(f"{x:.6g}" for x in numbers), most))
    return columns(rows)


def linear_table(linear: Linear) -> str:
    """The matrices, if they are small, and the poles."""
    states, inputs, outputs = linear.names
    parts = []
    for name, rows, across in (
        ("A", states, states),
        ("B", states, inputs),
        ("C", outputs, states),
        ("D", outputs, inputs),
    ):
        matrix = getattr(linear, name)
        if 0 < len(across) <= MOST_COLUMNS:
            table = [(name, *across), *((row, *(f"{x:.6g}" for x in xs)) for row, xs in zip(rows, matrix, strict=True))]
            parts.append(columns(table))
        else:
            parts.append(f"{name}  {matrix.shape[0]} x {matrix.shape[1]}, not shown")
    if linear.system.constraints.count:
        chosen = ", ".join(states[: len(states) // 2])
        parts.append(f"independent: {chosen}; the other joints follow from loops and constraints")
    poles = [("poles (1/s)", "real", "imaginary"), *(("", f"{p.real:.6g}", f"{p.imag:.6g}") for p in linear.poles)]
    return "\n\n".join([*parts, columns(poles)])
