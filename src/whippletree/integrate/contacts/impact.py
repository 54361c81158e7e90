"""The impulse of a contact with Coulomb friction: it may slip, come to rest, stick, or slip back while it lasts.

Paper    [stronge1990] Rigid body collisions with friction: the normal impulse P stands for time, as Routh had it. With
         the velocity v = (normal, slip) of the contact and the impulse p on it, v' = G p', p' = (1, -mu slip / |slip|),
         or (1, r) with |r| <= mu while it sticks. Compression ends where the normal velocity is zero; what the normal
         impulse gives back until the end is e^2 of what it took.
Symbols  G is the velocity of the contact for a unit impulse, all other constraints held; W = integral of v_n dP.
Differs  while p' is constant, as where slip keeps its direction, all is a parabola. Slip that turns in the plane is
         integrated over sigma, dP = |slip| dsigma, in which neither its end nor its turn is stiff. A contact that
         cannot move along its normal unless it slips, and sticks, is wedged: what it took is not given back.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from ...errors import SimulationError

NO_SLIP = 1e-11  # of the largest speed
STRAIGHT = 1e-13  # of what moves slip: across it, rounding
SETTLED = 1e-9  # rad, from the direction to which slip turns and then keeps
WEDGED = 1e-9  # of what a normal impulse does to a contact that slips freely
LARGE = 100.0  # logarithm of a slip that only a step goes to which is not taken
STAGES = 50  # at most, between changes of what happens


def impact(G: np.ndarray, v: np.ndarray, mu: float, restitution: float) -> np.ndarray:
    """The impulse (k), normal first, on a contact that comes in at v (k), v[0] < 0; k = 2 or 3, any without friction"""
    if mu == 0.0:
        return np.asarray(-(1.0 + restitution) * v[0] / G[0, 0] * np.eye(len(v))[0])
    size, p, W, target = float(np.linalg.norm(v)), np.zeros(len(v)), 0.0, math.nan  # while it is compressed
    now, ended = v.copy(), False
    for _ in range(STAGES):
        slip = float(np.linalg.norm(now[1:]))
        rests = ended or slip <= NO_SLIP * size
        way = None if rests else _straight(G, mu, now[1:] / slip)
        if rests or way is not None:
            push = np.append(1.0, _at_rest(G, mu) if way is None else -mu * way)
            rate = G @ push
            if rests and rate[0] <= WEDGED * G[0, 0]:
                return p
            P, along = _lasts(now[0], rate[0], W, target), 0.0 if way is None else float(rate[1:] @ way)
            ended = slip < -along * P
            P = -slip / along if ended else P
            p, W, over = p + P * push, W + now[0] * P + 0.5 * rate[0] * P * P, not ended
            now = now + P * rate
        else:
            now, p, W, over = _turning(G, now, mu, p, W, target, 0.5 * NO_SLIP * size)
        if not np.isfinite(p).all():
            break
        if over and (restitution == 0.0 or not math.isnan(target)):
            return p
        if over:
            target = (1.0 - restitution**2) * W
    raise _endless(G, mu)


def _turns(G: np.ndarray, mu: float, e: np.ndarray) -> tuple[float, float]:
    """How fast slip along the unit vector e turns, times its size, and the slope of that over the angle."""
    if len(e) == 1:
        return 0.0, 0.0
    side, rate = np.array([-e[1], e[0]]), G[1:, 0] - mu * G[1:, 1:] @ e
    return float(side @ rate), float(-e @ rate - mu * side @ G[1:, 1:] @ side)


def _straight(G: np.ndarray, mu: float, e: np.ndarray) -> np.ndarray | None:
    """The direction which slip along e keeps, or all but has, if there is one."""
    turn, slope = _turns(G, mu, e)
    if abs(turn) <= STRAIGHT * np.linalg.norm(G[1:]):
        return e
    if not abs(turn) <= -SETTLED * slope:
        return None
    for _ in range(3):
        turn, slope = _turns(G, mu, e)
        e = e - turn / slope * np.array([-e[1], e[0]])
        e = e / np.linalg.norm(e)
    return e


def _lasts(normal: float, rate: float, W: float, target: float) -> float:
    """Normal impulse until compression ends, or all is given back that will be, while the rate is constant."""
    if math.isnan(target):
        return -normal / rate if rate > 0.0 else math.inf
    root = normal * normal + 2.0 * rate * (target - W)
    return 2.0 * (target - W) / (normal + math.sqrt(root)) if root > 0.0 else math.inf


def _turning(
    G: np.ndarray, v: np.ndarray, mu: float, p: np.ndarray, W: float, target: float, still: float
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """v, p and W where slip has ended, turns no more, or the impact is over, and whether it is.

    Of slip the logarithm of its size and its angle are integrated: each is then known as well as it has to be.
    """

    def heading(y: np.ndarray) -> np.ndarray:
        return np.array([math.cos(y[1]), math.sin(y[1])])

    def rate(_: float, y: np.ndarray) -> np.ndarray:
        e, slip = heading(y), math.exp(min(y[0], LARGE))
        push = np.append(1.0, -mu * e)
        moved = G @ push
        return np.concatenate([[e @ moved[1:], _turns(G, mu, e)[0], slip * moved[0]], slip * push, [slip * y[2]]])

    def over(_: float, y: np.ndarray) -> float:
        return float(y[2] if math.isnan(target) else y[-1] - target)

    def rests(_: float, y: np.ndarray) -> float:
        return float(y[0] - math.log(still))

    def settles(_: float, y: np.ndarray) -> float:
        turn, slope = _turns(G, mu, heading(y))
        return abs(turn) + 0.5 * SETTLED * slope

    events = [over, rests, settles]
    for event, way in zip(events, (1.0, -1.0, -1.0), strict=True):
        event.terminal, event.direction = True, way  # type: ignore[attr-defined]
    largest, speed = float(np.linalg.norm(G)), float(np.linalg.norm(v))
    scale = np.array([1.0, 1.0, speed, *np.full(3, speed / largest), speed**2 / largest])
    begin = [math.log(np.linalg.norm(v[1:])), math.atan2(v[2], v[1]), v[0], *p, W]
    found = solve_ivp(rate, (0.0, 1e18 / largest), begin, "DOP853", events=events, rtol=1e-12, atol=1e-14 * scale)
    if found.status != 1:
        raise _endless(G, mu)
    y = found.y[:, -1]
    return np.append(y[2], math.exp(y[0]) * heading(y)), y[3:6], float(y[-1]), bool(found.t_events[0].size)


def _endless(G: np.ndarray, mu: float) -> SimulationError:
    return SimulationError("an impact with friction does not end", got=f"friction {mu:g}, G = {G.tolist()}")


def _at_rest(G: np.ndarray, mu: float) -> np.ndarray:
    """The force across on a contact without slip, for a unit of normal force: what sticking takes, or -mu e.

    It slips along the unit vector e where its friction lets it go: G_tn - mu G_tt e = k e, with the one k > 0 that
    makes (k + mu G_tt)^-1 G_tn a unit vector.
    """
    values, axes = np.linalg.eigh(G[1:, 1:])
    drawn = axes.T @ G[1:, 0]
    firm = values > 1e-9 * values.max(initial=0.0)
    across = np.where(firm, drawn / np.where(firm, values, 1.0), 0.0)
    if np.linalg.norm(across) <= mu:
        return np.asarray(-axes @ across)

    def beyond(k: float) -> float:
        return float(np.linalg.norm(drawn / (k + mu * np.where(firm, values, 0.0)))) - 1.0

    most = float(np.linalg.norm(drawn))
    e = drawn / (brentq(beyond, 1e-15 * most, most, xtol=1e-16 * most) + mu * np.where(firm, values, 0.0))
    return np.asarray(-mu * axes @ (e / np.linalg.norm(e)))
