"""What a choice of modes holds of the structure, and what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DIRECTIONS = ("x", "y", "z", "about x", "about y", "about z")


@dataclass(frozen=True, eq=False)
class Report:
    """Shares of a choice of modes.

    ``mass`` (nm, 6) is the effective mass (moment of inertia) of each mode along and about x, y, z, over that of the
    whole; ``flexibility`` what the modes give of the static displacement of each outboard node under a unit load on it,
    in x, y, z. NaN where there is nothing to share. ``next_frequency`` (rad/s) is that of the first mode left out.
    """

    frequencies: np.ndarray
    mass: np.ndarray
    flexibility: dict[str, np.ndarray]
    taken: int
    available: int
    next_frequency: float

    @property
    def mass_left_out(self) -> np.ndarray:
        """1 minus the sum over the modes, in six directions."""
        return 1.0 - self.mass.sum(axis=0)

    def __str__(self) -> str:
        span = f"{self.frequencies.min():.4g} to {self.frequencies.max():.4g} rad/s"
        after = f"; the next is at {self.next_frequency:.4g}" if np.isfinite(self.next_frequency) else ""
        lines = [f"{self.taken} of {self.available} modes, {span}{after}"]
        shares = [f"{d} {100 * s:.1f} %" for d, s in zip(DIRECTIONS, self.mass_left_out, strict=True) if np.isfinite(s)]
        if shares:
            lines.append("effective mass left out: " + ", ".join(shares))
        for node, share in self.flexibility.items():
            left = [f"{d} {100 * (1 - s):.3g} %" for d, s in zip("xyz", share, strict=True) if np.isfinite(s)]
            if left:
                lines.append(f"static flexibility of '{node}' left out: " + ", ".join(left))
        return "\n".join(lines)
