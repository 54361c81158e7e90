"""The impulse of a contact with Coulomb friction: it may slip, come to rest, stick, or slip back while it lasts.

Paper    [stronge1990] Rigid body collisions with friction: the normal impulse P stands for time, as Routh had it. With
         the velocity v = (normal, slip) of the contact and the impulse p on it, v' = G p', p' = (1, -mu slip / |slip|),
         or (1, r) with |r| <= mu while it sticks. Compression ends where the normal velocity is zero; what the normal
         impulse gives back until the end is e^2 of what it took.
Symbols  G is the velocity of the contact for a unit impulse, all other constraints held; W = integral of v_n dP.
Differs  the slip may turn in the plane, so that this is integrated, not drawn.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from ..errors import SimulationError

NO_SLIP = 1e-11  # of the largest speed
STAGES = 50  # at most, between changes of what happens


def impact(G: np.ndarray, v: np.ndarray, mu: float, restitution: float) -> np.ndarray:
    """The impulse (k), normal first, on a contact that comes in at v (k), v[0] < 0; k = 2 or 3."""
    k, size = len(v), np.linalg.norm(v)
    p, v, W = np.zeros(k), v.copy(), 0.0
    closing, target = True, 0.0
    for _ in range(STAGES):
        rests = np.linalg.norm(v[1:]) <= NO_SLIP * size
        toward, sticks = _at_rest(G, mu) if rests else (v[1:] / np.linalg.norm(v[1:]), None)

        def rate(
            _: float, y: np.ndarray, toward: np.ndarray = toward, sticks: np.ndarray | None = sticks
        ) -> np.ndarray:
            across = sticks if sticks is not None else -mu * direction(y[1:k], toward)
            push = np.concatenate([[1.0], across])
            return np.concatenate([G @ push, push, [y[0]]])

        def over(_: float, y: np.ndarray, closing: bool = closing, target: float = target) -> float:
            return float(y[0] if closing else y[-1] - target)

        def turns(_: float, y: np.ndarray, toward: np.ndarray = toward) -> float:
            return float(y[1:k] @ toward - 0.5 * np.linalg.norm(y[1:k]))

        over.terminal, over.direction = True, 1.0  # type: ignore[attr-defined]
        turns.terminal, turns.direction = True, -1.0  # type: ignore[attr-defined]
        events = [over] if sticks is not None else [over, turns]
        whole = 1e3 * size / _least(G)
        scale = np.concatenate([np.full(k, size), np.full(k, whole), [size * whole]])
        found = solve_ivp(rate, (0.0, whole), [*v, *p, W], "DOP853", events=events, rtol=1e-13, atol=1e-15 * scale)
        if found.status != 1:
            raise SimulationError("an impact with friction does not end", got=f"friction {mu:g}, G = {G.tolist()}")
        y = found.y[:, -1]
        v, p, W = y[:k], y[k:-1], float(y[-1])
        if found.t_events[0].size:
            if not closing or restitution == 0.0:
                return p
            closing, target = False, (1.0 - restitution**2) * W
    raise SimulationError("an impact with friction does not end", got=f"friction {mu:g}, G = {G.tolist()}")


def direction(slip: np.ndarray, toward: np.ndarray) -> np.ndarray:
    """Of a slip; one that has gone through zero keeps it."""
    size = np.linalg.norm(slip)
    return toward if size == 0.0 else np.copysign(1.0, slip @ toward) * slip / size


def _least(G: np.ndarray) -> float:
    """Normal velocity for a unit of normal impulse while the contact sticks: it is never more easily moved."""
    return float(G[0, 0] - G[0, 1:] @ np.linalg.pinv(G[1:, 1:], hermitian=True, rcond=1e-9) @ G[1:, 0])


def _at_rest(G: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray | None]:
    """Where a contact without slip will slip to, and the force across if it sticks."""
    across = -np.linalg.pinv(G[1:, 1:], hermitian=True, rcond=1e-9) @ G[1:, 0]
    size = np.linalg.norm(across)
    if size <= mu:
        return np.eye(len(across))[0], across
    toward = -across / size
    for _ in range(100):
        rate = G[1:, 0] - mu * G[1:, 1:] @ toward
        new = rate / np.linalg.norm(rate)
        if np.linalg.norm(new - toward) < 1e-14:
            break
        toward = new
    return toward, None
