"""States of one batch that move in models with numbers of their own: a System for each set of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.constraints.consistency import require_consistent
from ..dynamics.loads.applied import prescribed_motion
from ..errors import ModelError, nearest
from ..model.numbers import changed, find_number, numbers_of
from ..system.system import System


class Variants(NamedTuple):
    """Systems that differ in numbers only, and which of them each state moves in."""

    systems: list[System]
    of: np.ndarray  # (B)

    def system(self, state: int) -> System:
        """That of a state."""
        return self.systems[int(self.of[state])]

    def members(self) -> list[np.ndarray]:
        """The states of each System."""
        return np.split(np.argsort(self.of, kind="stable"), np.cumsum(np.bincount(self.of))[:-1])

    def closed(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Starts (B, n) with prescribed motions in them, in place; refuses one that its System does not allow."""
        for n in range(len(q)):
            prescribed_motion(self.system(n), 0.0, q[n], u[n])
        if len(self.systems) == 1:
            require_consistent(self.systems[0], q, u, who="the start")
            return q, u
        for n in range(len(q)):
            require_consistent(self.system(n), q[n], u[n], who=f"start {n} of the batch,")
        return q, u


def count_of(parameters: Mapping[str, Any] | None, batch: int | None) -> int | None:
    """How many states there are, where starts are ``batch``, None for one; None if that is all there is."""
    if parameters is None:
        return batch
    if not isinstance(parameters, Mapping):
        raise ModelError("parameters is not a mapping", expected="{path: numbers (B,)}", got=repr(parameters)[:80])
    counts = {name: len(x) for name, x in _arrays(parameters).items() if x.ndim}
    known = set(counts.values()) | ({batch} if batch is not None else set())
    if len(known) > 1:
        given = ", ".join(f"'{name}' {n}" for name, n in counts.items())
        raise ModelError(
            "parameters and starts differ in their number of states",
            expected="one number, or as many as there are states",
            got=given + (f", starts {batch}" if batch is not None else ""),
        )
    return known.pop() if known else None


def variants(system: System, parameters: Mapping[str, Any] | None, count: int) -> Variants:
    """The Systems that ``count`` states move in; those of the last call are known."""
    if not parameters:
        return Variants([system], np.zeros(count, int))
    columns = np.column_stack([np.broadcast_to(x, count) for x in _arrays(parameters).values()])
    names, found = tuple(parameters), system.workspaces.found
    last = found.get("variants")
    if last is None or last[0] != names or not np.array_equal(last[1], columns):
        targets = [find_number(name, system.model) or _unknown(name, system) for name in names]
        sets, of = np.unique(columns, axis=0, return_inverse=True)
        systems = [changed(system.model, dict(zip(targets, row.tolist(), strict=True))).compile() for row in sets]
        last = found["variants"] = names, columns, Variants(systems, of.reshape(-1))
    return last[2]


def _arrays(parameters: Mapping[str, Any]) -> dict[str, np.ndarray]:
    arrays = {}
    for name, given in parameters.items():
        try:
            x = arrays[name] = np.asarray(given, float)
        except (TypeError, ValueError):
            x = np.empty((0, 0))
        if x.ndim > 1 or not np.isfinite(x).all():
            raise ModelError(
                f"parameter '{name}' has no number for each state",
                expected="one finite number, or one for each state (B,)",
                got=str(x.shape) if x.size else repr(given)[:80],
            )
    return arrays


def _unknown(name: str, system: System) -> Any:
    raise ModelError(
        f"parameter '{name}' is not known",
        expected="a path as bodies.NAME.mass, joints.NAME.damping, forces.NAME.stiffness or gravity",
        hint=nearest(name, numbers_of(system.model)),
    )
