"""Sums of two doubles, (high, low): some 32 digits. For residuals, whose terms cancel.

Paper    [dekker1971] A floating-point technique for extending the available precision.
Differs  compiled without fused multiply-add, which would change what is lost in a rounding.
"""

from typing import Any

from numba import njit

EXACT: Any = {"error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
SPLIT = 134217729.0  # 2^27 + 1


@njit(forceinline=True, **EXACT)
def two_sum(a, b):
    """a + b and what its rounding loses"""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@njit(forceinline=True, **EXACT)
def two_product(a, b):
    """a b and what its rounding loses"""
    p = a * b
    c, d = SPLIT * a, SPLIT * b
    ah, bh = c - (c - a), d - (d - b)
    al, bl = a - ah, b - bh
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


@njit(**EXACT)
def add_to(high, low, n, a, b):
    """high[n] + low[n] grows by a + b"""
    s, e = two_sum(high[n], a)
    high[n], low[n] = two_sum(s, e + low[n] + b)


@njit(**EXACT)
def add_product(high, low, n, a, x, y):
    """It grows by a (x + y)"""
    p, e = two_product(a, x)
    add_to(high, low, n, p, e + a * y)


@njit(**EXACT)
def add_cross(high, low, n, sign, a, x, y, m):
    """Three of them from n on grow by sign a x (x + y), of the three of x and y from m on"""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        add_product(high, low, n + i, sign * a[j], x[m + k], y[m + k])
        add_product(high, low, n + i, -sign * a[k], x[m + j], y[m + j])
