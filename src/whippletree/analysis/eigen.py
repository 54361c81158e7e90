"""Natural frequencies, damping ratios and mode shapes about a static equilibrium."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.functions import forward_dynamics
from ..errors import ModelError
from ..system.system import System
from .balance import Search
from .equilibrium import equilibrium
from .modal import Small, poles_and_shapes
from .point import free_rows


@dataclass(frozen=True)
class Eigenmodes:
    """Small motions x(t) = shape exp(pole t) about the pose ``q``; made by :func:`eigenmodes`.

    Modes that grow come first, the fastest before; then those that nothing resists; then by frequency. With loops there
    are as many as DOF are left, and the shapes tell the motion of all joints.

    Attributes
    ----------
    q, tau : (nq), (nu) the equilibrium, and the joint forces that hold it (N m, N).
    poles : (k) rad/s, one of each pair: i omega, or a growth rate, or 0; with damping a complex number.
    shapes : (k, nu) displacements of the DOF, rad and m; the largest is 1 rad, or one length of the mechanism.
    """

    system: System
    q: np.ndarray
    tau: np.ndarray
    poles: np.ndarray
    shapes: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """(k) Natural angular frequencies (rad/s); 0 for modes that do not oscillate."""
        return np.where(self.poles.imag > 0, np.abs(self.poles), 0.0)

    @property
    def hz(self) -> np.ndarray:
        """(k) The same in cycles per second."""
        return self.frequencies / (2 * np.pi)

    @property
    def damping(self) -> np.ndarray:
        """(k) Damping ratios -Re / |pole|: 0 undamped, 1 and above 1 do not swing, negative grows."""
        size = np.abs(self.poles)
        return np.where(size > 0, -self.poles.real / np.where(size > 0, size, 1.0), 0.0) + 0.0

    @property
    def growth(self) -> np.ndarray:
        """(k) Growth rates of unstable modes (1/s); 0 for the others."""
        return np.maximum(self.poles.real, 0.0)

    @property
    def kinds(self) -> list[str]:
        """ "grows", "neutral", "oscillates" or "decays", for each mode."""
        return [
            "neutral" if p == 0 else "grows" if p.real > 0 else "oscillates" if p.imag > 0 else "decays"
            for p in self.poles
        ]

    def shape(self, mode: int) -> dict[str, np.ndarray]:
        """Displacements of one mode by joint name: rad and m, along the child's axes for spherical and free joints."""
        if not -len(self) <= mode < len(self):
            raise ModelError(f"there is no mode {mode}", expected=f"0 to {len(self) - 1}", got=mode)
        return {joint: self.shapes[mode, self.system.u_index(joint)] for joint in self.system.joints}

    def __len__(self) -> int:
        return self.poles.size

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as ``whippletree modes --json`` prints them."""
        s = self.system
        modes = [
            {
                "kind": self.kinds[k],
                "frequency_rad_s": float(self.frequencies[k]),
                "frequency_hz": float(self.hz[k]),
                "damping": float(self.damping[k]),
                "growth": float(self.growth[k]),
                "shape": {joint: np.real(x).tolist() for joint, x in self.shape(k).items()},
                "shape_imaginary": {joint: np.imag(x).tolist() for joint, x in self.shape(k).items()},
            }
            for k in range(len(self))
        ]
        pose = {joint: self.q[s.q_index(joint)].tolist() for joint in s.joints}
        return {"system": s.name, "q": pose, "modes": modes}


def eigenmodes(
    system: System,
    q: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | Mapping[str, Any] | None = None,
    *,
    fixed: Iterable[str] = (),
) -> Eigenmodes:
    """Natural modes about a static equilibrium, under constant joint forces ``tau`` (nu,) (N m, N).

    It is the equilibrium that :func:`equilibrium` finds from ``q``: ``q`` itself, if that is one. Joints
    named in ``fixed`` do not move.

    Undamped modes are those of K x = omega^2 M x, with the mass matrix M and the stiffness K, the slope of
    the force that holds the system still. Constant torques on spherical and free joints turn with the
    child's axes; then K is not symmetric, and flutter is found too.
    """
    fixed = fixed if isinstance(fixed, str) else tuple(fixed)
    rest = equilibrium(system, q, tau, fixed=fixed)
    free = free_rows(system, fixed)
    if not free.size:
        raise ModelError(f"all joints of '{system.name}' are held: there are no modes", got=f"fixed = {list(fixed)}")
    forward_dynamics(system, rest.q, np.zeros(system.nu), rest.tau)  # says which DOF moves no mass, if one does
    here = Search(system, rest.q, rest.tau, free).at(rest.q)
    if not here.chart.rows.size:
        raise ModelError(
            f"'{system.name}' has no degree of freedom left: loops, constraints and what is held determine it",
            got=f"fixed = {list(fixed)}" if fixed else None,
        )
    poles, found = poles_and_shapes(Small(*here.matrices(), here.scale, here.units))
    shapes = found @ here.chart.motions(rest.q).T
    largest = np.abs(shapes / here.chart.units).argmax(axis=1)[:, None]
    shapes = shapes / np.take_along_axis(shapes / here.chart.units, largest, axis=1)
    return Eigenmodes(system, rest.q, rest.tau, poles, shapes)
