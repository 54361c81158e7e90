"""Numbers of twice the digits, and the residuals that kernels compute on them."""

import math

import mpmath
import numpy as np
import pytest
from numba import njit

from adversary import draw
from extended_reference import solve
from whippletree.algebra.compare import larger, smaller
from whippletree.algebra.trig import sincos
from whippletree.compiler.lanes import OPTIONS, get, put
from whippletree.compiler.twice import room
from whippletree.dynamics.accuracy.equations import Equations
from whippletree.dynamics.loads.applied import tiled_signals

UNIT = 2.0**-104  # a few units in the last place of 106 bits
COUNT = 300


@njit(**OPTIONS)
def compute(x, y, out):
    """Every operation, compiled as kernels are: what may be contracted there must not be here."""
    for i in range(x.shape[0]):
        a, b = get(x, i), get(y, i)
        sine, cosine = sincos(a)
        put(out, 9 * i, a + b)
        put(out, 9 * i + 1, a - b)
        put(out, 9 * i + 2, a * b)
        put(out, 9 * i + 3, a / b)
        put(out, 9 * i + 4, math.sqrt(a * a + 1.0))
        put(out, 9 * i + 5, sine)
        put(out, 9 * i + 6, cosine)
        put(out, 9 * i + 7, larger(a, b) - smaller(a, b))
        put(out, 9 * i + 8, 2 * a * b - (b * 0.5 + 3))


def drawn(seed):
    rng = np.random.default_rng(seed)
    high = rng.normal(size=COUNT) * 10 ** rng.uniform(-6, 6, COUNT)
    return np.stack([high, high * 2.0**-53 * rng.uniform(-0.9, 0.9, COUNT)], axis=-1)[:, None, :].copy()


def exact(pair):
    return mpmath.mpf(float(pair[0, 0])) + mpmath.mpf(float(pair[0, 1]))


def test_arithmetic_keeps_twice_the_digits():
    x, y, out = drawn(1), drawn(2), room(9 * COUNT)
    compute(x, y, out)
    with mpmath.workprec(300):
        for i in range(COUNT):
            a, b = exact(x[i]), exact(y[i])
            expected = (
                (a + b, abs(a + b)),
                (a - b, abs(a - b)),
                (a * b, abs(a * b)),
                (a / b, abs(a / b)),
                (mpmath.sqrt(a * a + 1), abs(a) + 1),
                (mpmath.sin(a), 1 + abs(a)),  # an angle is known to a share of itself
                (mpmath.cos(a), 1 + abs(a)),
                (abs(a - b), abs(a - b)),
                (2 * a * b - (b / 2 + 3), abs(a * b) + abs(b) + 3),
            )
            for n, (value, size) in enumerate(expected):
                assert abs(exact(out[9 * i + n]) - value) <= UNIT * size, (i, n)


def test_infinity_and_what_is_no_number_show():
    x = np.array([[[np.inf, 0.0]], [[np.nan, 0.0]], [[1e300, 0.0]], [[4.0, 0.0]]])
    y = np.array([[[2.0, 0.0]], [[2.0, 0.0]], [[1e300, 0.0]], [[0.0, 0.0]]])
    out = room(36)
    compute(x, y, out)
    assert out[0, 0, 0] == out[2, 0, 0] == np.inf
    assert np.isnan(out[9:13, 0, 0]).all()
    assert out[20, 0, 0] == np.inf  # 1e300 squared
    assert not np.isfinite(out[30, 0, 0])  # 4 / 0


@pytest.mark.parametrize("seed", [0, 2, 8, 24, 29, 36])
def test_residuals_of_exact_accelerations_are_what_their_rounding_leaves(seed):
    """A double is off by half a unit in the last place: M and C times that, and no more, is left of the equations."""
    d = draw(seed)
    answer = solve(*d.state, readings=False)
    system, none = d.system, np.zeros(d.system.constraints.count)
    equations = Equations(system, d.q, d.u, d.tau, tiled_signals(system, 0.0, d.q))
    M, C = equations.matrices()
    motion, rows = equations.residual(answer.udot, none)
    lam = np.linalg.lstsq(C.T, -motion, rcond=None)[0] if none.size else none
    motion, rows = equations.residual(answer.udot, lam)
    off = 2.0**-53 * (np.abs(answer.udot) + 1e-3 * np.abs(answer.udot).max())
    spread = np.abs(equations.roundings(answer.udot, lam, 20).rows).max(axis=1, initial=0.0)
    assert (np.abs(rows) <= np.abs(C) @ off + 10 * spread + 1e-25).all()
    assert np.abs(motion).max() <= 1e-11 * np.abs(M @ answer.udot).max() + 1e-12  # lam by least squares in doubles


def test_residuals_find_what_was_changed():
    d = draw(2)
    system, none = d.system, np.zeros(d.system.constraints.count)
    equations = Equations(system, d.q, d.u, d.tau, tiled_signals(system, 0.0, d.q))
    M, C = equations.matrices()
    udot, change = np.random.default_rng(0).normal(size=(2, system.nu))
    before, after = equations.residual(udot, none), equations.residual(udot + change, none)
    assert np.allclose(before.motion - after.motion, M @ change, rtol=1e-12, atol=1e-12 * np.abs(M).max())
    assert np.allclose(before.rows - after.rows, C @ change, rtol=1e-12, atol=1e-12)
