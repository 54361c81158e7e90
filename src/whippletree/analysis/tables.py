"""Studies as plain text: rows of words in columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..result.columns import column_names
from .eigen import Eigenmodes
from .equilibrium import Equilibrium
from .linearize import Linear
from .point import freedom_names, turning

MOST_COLUMNS = 12  # of a matrix that is printed


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows of words, the first column to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(w.rjust(n) for w, n in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def equilibrium_table(found: Equilibrium) -> str:
    """Coordinates and joint forces, then how good and how firm it is."""
    system = found.system
    named = zip(*column_names(system, "q"), found.q, strict=True)
    rows = [(f"{name}.q" if name in system.joints else name, f"{x:.9g}", unit) for name, unit, x in named]
    forces = zip(freedom_names(system, "tau"), found.tau, turning(system), strict=True)
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
    poles = [("poles (1/s)", "real", "imaginary"), *(("", f"{p.real:.6g}", f"{p.imag:.6g}") for p in linear.poles)]
    return "\n\n".join([*parts, columns(poles)])
