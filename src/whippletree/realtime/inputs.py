"""What a run is reported while it moves: other functions of time for motors and motions, and wrenches on bodies.

The numbers lie in the packed forces of a System. A run that has begun gets others in their place; whatever begins
later, such as the part after a latch has closed, is made with them.
"""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from ..errors import ModelError
from ..layout import forces as layout
from ..model import Motion
from ..system.constraints import functions_of, motions_of_cuts
from ..system.forces import Pieces
from ..system.system import System

SLOTS = 4  # bodies that wrenches may act on at the same time
PIECES = 3  # of a function, at least: on the way, and there
COUNTS, INTEGERS = 6, 9  # in packed forces: of the header, and of each element, whose signals are three
PARTS = {"torque": 0, "position": 1, "velocity": 2}  # of a motor; a motion has a position alone


class Inputs:
    """Functions that replace those of the model, by force and part, and wrenches, by body.

    ``slots`` is how many wrenches there is room for: none until one is asked for, since room takes time in every step.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.pieces: dict[tuple[str, str], Pieces] = {}
        self.wrenches: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.slots = 0

    def clear(self) -> None:
        """As the model has it."""
        self.pieces.clear()
        self.wrenches.clear()

    def move(self, name: str, part: str, target: float, t: float, rise: float) -> None:
        """A function goes from where it is at t to a target, smoothly over ``rise`` (s), and stays there."""
        now = self.now(name, part, t)
        if rise <= 0.0:
            self.pieces[name, part] = [(t, [target])]
        else:
            self.pieces[name, part] = [(t, quintic(now, target, rise)), (t + rise, [target])]

    def now(self, name: str, part: str, t: float) -> tuple[float, float, float]:
        """Value, rate and second derivative of a function."""
        forces, n = self.system.forces, _signal(self.system, name, part)
        if (name, part) in self.pieces:
            return _value(self.pieces[name, part], (0.0, 0.0, 0.0), t)
        return _value(_own(forces.arrays, n), tuple(forces.arrays["wave"][n].tolist()), t)

    def wrench(self, body: str, wrench: np.ndarray | None, at: np.ndarray) -> bool:
        """[torque; force] on a point of a body, in world axes, or no more; returns whether room has to be made."""
        if wrench is None:
            self.wrenches.pop(body, None)
            return False
        if body not in self.wrenches and len(self.wrenches) == SLOTS:
            raise ModelError(
                f"a wrench on '{body}' would be one too many",
                expected=f"at most {SLOTS} bodies at the same time",
                got=", ".join(f"'{name}'" for name in self.wrenches),
            )
        self.wrenches[body] = wrench, at
        fresh, self.slots = self.slots == 0, SLOTS
        return fresh

    def place_of(self, body: str) -> int:
        """Where the force (3) and torque (3) on a body lie in the packed forces."""
        rows = self.system.forces.rows + self.slots
        row = self.system.forces.rows + list(self.wrenches).index(body)
        return COUNTS + INTEGERS * rows + layout.NUMBERS * row + layout.FRAMES

    def on(self, system: System) -> System:
        """The same system with the forces as they are now."""
        base: Any = getattr(system.forces, "plain", system.forces)
        forces = copy.copy(base)
        forces.plain = base
        arrays = dict(base.arrays) | _functions(system, base.arrays, self.pieces)
        if self.slots:
            arrays |= self._with_wrenches(system, base.arrays)
        forces.arrays, forces.rows, forces.signals = arrays, base.rows + self.slots, base.signals + 1
        header = base.packed[:COUNTS].view(np.int64)
        forces.packed = layout.pack_forces(arrays, int(header[3]), int(header[4]) + self.slots)
        return system.acted_on(forces)

    def _with_wrenches(self, system: System, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The tables of elements, with rows for wrenches; their function is 1 at all times, the last of all."""
        nf, numbers = len(arrays["kind"]), np.zeros((self.slots, layout.NUMBERS))
        numbers[:, :18] = np.tile(np.eye(3).ravel(), 2)
        body = np.zeros(self.slots, int)
        for row, (name, (wrench, at)) in enumerate(self.wrenches.items()):
            body[row], R, p = system.place(name)
            numbers[row, 18:21] = R @ at + p
            numbers[row, layout.FRAMES : layout.FRAMES + 6] = np.concatenate([wrench[3:], wrench[:3]])
        found = {"numbers": np.concatenate([arrays["numbers"].reshape(nf, -1), numbers])}
        blank = np.zeros(self.slots, int)
        for key in ("to", "dof", "coordinate", "address"):
            found[key] = np.concatenate([arrays[key], blank])
        found["body"] = np.concatenate([arrays["body"], body])
        found["kind"] = np.concatenate([arrays["kind"], blank + layout.code("wrench")])
        last = len(arrays["wave"])
        found["signal"] = np.concatenate([arrays["signal"].ravel(), np.tile([last, -1, -1], self.slots)])
        return found


def has_part(system: System, name: str, part: str) -> bool:
    """Whether a motor or motion takes that: a torque, a position or a velocity."""
    force = system.forces.elements[name]
    if isinstance(force, Motion):
        return part == "position"
    gain = {"torque": True, "position": force.kp != 0.0, "velocity": force.kd != 0.0}
    return getattr(force, part) is not None and gain[part]


def _signal(system: System, name: str, part: str) -> int:
    """The number of a function among all of a system."""
    names = list(system.forces.elements)
    force, row = system.forces.elements[name], names.index(name)
    cuts = motions_of_cuts(system)
    if isinstance(force, Motion) and force in cuts:  # theirs are the last of the functions in the rows
        return len(functions_of(system)) - len(cuts) + cuts.index(force)
    which = 0 if isinstance(force, Motion) else PARTS[part]
    return int(system.forces.arrays["signal"].reshape(-1, 3)[row, which])


def _own(arrays: dict[str, np.ndarray], n: int) -> Pieces:
    """The n-th function as the model has it."""
    rows = slice(arrays["first"][n], arrays["first"][n + 1])
    return [(float(t), c.tolist()) for t, c in zip(arrays["time"][rows], arrays["piece"][rows], strict=True)]


def _functions(
    system: System, arrays: dict[str, np.ndarray], given: dict[tuple[str, str], Pieces]
) -> dict[str, np.ndarray]:
    """All functions of time, each with room for PIECES, some replaced; and one more that is 1."""
    replaced = {_signal(system, name, part): pieces for (name, part), pieces in given.items()}
    first, time, piece, wave = [0], [], [], []
    for n in range(len(arrays["wave"])):
        own = _own(arrays, n)
        pieces = replaced.get(n, own)
        room = max(PIECES, len(own)) - len(pieces)
        wave.append([0.0, 0.0, 0.0] if n in replaced else arrays["wave"][n].tolist())
        time += [t for t, _ in pieces] + [math.inf] * room
        piece += [[*c, *[0.0] * (6 - len(c))] for _, c in pieces] + [[0.0] * 6] * room
        first.append(len(time))
    one = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    return {
        "first": np.array([*first, len(time) + 1]),
        "time": np.array([*time, 0.0]),
        "piece": np.array([*piece, one]),
        "wave": np.array([*wave, [0.0, 0.0, 0.0]]),
    }


def _value(pieces: Pieces, wave: tuple[float, ...], t: float) -> tuple[float, float, float]:
    start, c = [p for p in pieces if p[0] <= t or p is pieces[0]][-1]
    p = np.polynomial.Polynomial(c)
    x, (amplitude, w, phase) = t - start, wave
    angle = w * t + phase
    value = p(x) + amplitude * math.sin(angle)
    rate = p.deriv()(x) + amplitude * w * math.cos(angle)
    return float(value), float(rate), float(p.deriv(2)(x) - amplitude * w * w * math.sin(angle))


def quintic(now: tuple[float, float, float], target: float, rise: float) -> list[float]:
    """The polynomial from value, rate and bend to rest at a target: all three are met at both ends."""
    v, r, b = now
    c = [v, r, b / 2]
    left = [target - (v + r * rise + b / 2 * rise**2), -(r + b * rise), -b]
    powers = np.array([[rise**n, n * rise ** (n - 1), n * (n - 1) * rise ** (n - 2)] for n in (3, 4, 5)])
    return [*c, *np.linalg.solve(powers.T, left).tolist()]
