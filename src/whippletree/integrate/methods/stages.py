"""Stages of embedded Runge-Kutta methods, and the error of a step in units of what is allowed."""

import math

from ...compiler.lanes import LANES, get, get_run, inline, kernel, put_run, view
from .step_size import scale_of


@kernel
def first_broken(K, n):
    """The component that is not finite in the earliest stage where one is not"""
    for j in range(K.shape[0]):
        if not abs(get(K, j)) < math.inf:
            return j % n
    return 0


@inline
def weigh(weights, first, count, K, width, j):
    """weights[first] K_0 + ... of ``count`` stages, for the LANES components from j on"""
    total = weights[first] * get_run(K, j)
    for r in range(1, count):
        total = total + weights[first + r] * get_run(K, r * width + j)
    return total


@kernel
def stage(method, s, h, y, K, out):
    """out = y + h (A[s,0] K_0 + ... + A[s,s-1] K_(s-1))"""
    width, count = out.shape[0], method.stages + method.extra
    for j in range(0, width, LANES):
        put_run(out, j, get_run(y, j) + h * weigh(method.A, s * count, s, K, width, j))


@kernel
def error_of_step(method, ny, h, y, new, K, error, rtol, atol):
    """RMS of the error in units of what is allowed, its largest component, and whether that is not finite.

    With both estimates, err = e^2 / sqrt(e^2 + (e'/10)^2) as in DOP853; with the first alone, e.
    """
    width = y.shape[0]
    for j in range(0, width, LANES):
        put_run(error, j, weigh(method.E, 0, method.stages, K, width, j))
        put_run(error, width + j, weigh(method.E, method.stages, method.stages, K, width, j))
    total, tempered, largest, worst = 0.0, 0.0, -1.0, 0
    for j in range(ny):
        allowed = scale_of(get(y, j), get(new, j), rtol, atol)
        e, other = abs(h * get(error, j)) / allowed, abs(h * get(error, width + j)) / allowed
        if not e + other < math.inf:
            return math.inf, first_broken(view(K, 0, method.stages * width), width), True
        if e > largest:
            largest, worst = e, j
        total += e * e
        tempered += e * e + 0.01 * other * other
    if not tempered < math.inf:
        return math.inf, worst, False
    return method.margin * total / math.sqrt(max(tempered * ny, 1e-300)), worst, False


@kernel
def distance(ny, a, b, rtol, atol):
    """The largest component of b - a in units of what is allowed"""
    largest = 0.0
    for j in range(ny):
        largest = max(largest, abs(get(b, j) - get(a, j)) / scale_of(get(a, j), get(b, j), rtol, atol))
    return largest
