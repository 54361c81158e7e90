"""Sine and cosine of numbers of twice the digits: x = n pi/2 + r with |r| <= pi/4, and the series of both in r."""

import math
from fractions import Fraction

from ..compiler.lanes import inline, kernel
from ..compiler.twice import high

PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")
TWO_OVER_PI = float(2 / PI)
TERMS = 14  # r^28 / 28! is 2^-107 of 1


def doubles(x: Fraction, count: int) -> tuple[float, ...]:
    """Whose sum is x, each as near to what is left as it can be."""
    found = []
    for _ in range(count):
        found.append(float(x))
        x -= Fraction(found[-1])
    return tuple(found)


HALF_PI = doubles(PI / 2, 4)
SINE = tuple(doubles(Fraction((-1) ** k, math.factorial(2 * k + 1)), 2) for k in range(TERMS))
COSINE = tuple(doubles(Fraction((-1) ** k, math.factorial(2 * k)), 2) for k in range(TERMS))


@inline
def series(coefficients, z):
    """The sum of c_k z^k"""
    zero = 0.0 * z
    total = zero
    for k in range(TERMS - 1, -1, -1):
        total = total * z + (zero + coefficients[k][0] + coefficients[k][1])
    return total


@kernel
def sincos_twice(x):
    """(sin x, cos x), of angles up to 1e15"""
    n, zero = math.floor(high(x) * TWO_OVER_PI + 0.5), 0.0 * x
    r = x
    for k in range(4):
        r = r - (zero + n) * HALF_PI[k]
    z = r * r
    s, c = r * series(SINE, z), series(COSINE, z)
    quadrant = int(n - 4.0 * math.floor(0.25 * n))
    if quadrant == 0:
        return s, c
    if quadrant == 1:
        return c, -s
    if quadrant == 2:
        return -s, -c
    return -c, s
