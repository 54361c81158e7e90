"""The size of steps of an adaptive method: the first one, and the next one from the error of the last.

Paper    first step: [hairer1993] sec. II.4; PI controller: [hairer1996] sec. IV.2, form of the program DOPRI5.
Symbols  d0, d1, d2 as hairer1993; beta as hairer1996; y = (q, u, work).
Differs  a step whose error is no number is tried again with the smallest factor.
"""

import math
from typing import NamedTuple

from ...compiler.lanes import get, inline, kernel, put
from ...dynamics.stepping.mechanism import rates

SAFETY = 0.9
LEAST_PAST = 1e-4
SHORTEST = 1e-12  # s, to begin with where nothing better is known

# a record of control: time, next step, error of the last accepted step, whether the last was rejected, counts of both
TIME, STEP, PAST, REJECTED, ACCEPTED, REJECTIONS = range(6)


class Control(NamedTuple):
    order: float  # the error of a step is like its length to this power
    exponent: float  # of the error of this step, in the next one's length
    beta: float  # of the error of the step before
    shrink: float  # the step changes by no more at a time
    grow: float


@inline
def scale_of(a, b, rtol, atol):
    return atol + rtol * max(abs(a), abs(b))


@kernel
def norm(ny, x, y, rtol, atol):
    """RMS of x, each component in units of its tolerance"""
    total = 0.0
    for j in range(ny):
        e = get(x, j) / scale_of(get(y, j), get(y, j), rtol, atol)
        total += e * e
    return math.sqrt(total / max(1, ny))


@kernel
def first_step(m, x, t, y, f, spare, f_spare, rtol, atol, order):
    """A step to begin with, by one Euler step that shows how y' changes; the spares are overwritten"""
    ny = m.nq + m.nu + 1
    d0, d1 = norm(ny, y, y, rtol, atol), norm(ny, f, y, rtol, atol)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    for j in range(ny):
        put(spare, j, get(y, j) + h * get(f, j))
    rates(m, x, t + h, spare, f_spare)
    for j in range(ny):
        put(f_spare, j, get(f_spare, j) - get(f, j))
    d2 = norm(ny, f_spare, y, rtol, atol) / h
    most = max(d1, d2)
    if not most < math.inf:
        return max(1e-6 * h, SHORTEST)
    better = max(1e-6, 1e-3 * h) if most <= 1e-15 else (0.01 / most) ** (1.0 / order)
    return min(100.0 * h, better)


@inline
def cut(c, h):
    """Try a shorter step, whatever the error was"""
    c[STEP], c[REJECTED] = h, 1.0
    c[REJECTIONS] += 1


@kernel
def control(k, c, h, error):
    """Whether the step is accepted; the next one by Hairer's PI controller"""
    raw = error**k.exponent
    if error <= 1.0:
        factor = raw / c[PAST] ** k.beta / SAFETY
        h_new = h / max(1.0 / k.grow, min(1.0 / k.shrink, factor))
        c[PAST] = max(error, LEAST_PAST)
        c[STEP] = min(h_new, h) if c[REJECTED] != 0.0 else h_new
        c[REJECTED] = 0.0
        c[ACCEPTED] += 1
        return True
    c[STEP] = h * k.shrink if raw == math.inf else h / min(1.0 / k.shrink, raw / SAFETY)
    c[REJECTED] = 1.0
    c[REJECTIONS] += 1
    return False
