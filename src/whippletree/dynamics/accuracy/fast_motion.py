"""Motion so fast that its own terms drown the accelerations: what a pass that looks at pivots does not see.

Centrifugal terms are of the size of u^2. Where they cancel to less than 1e-5 of that, digits are lost; where they
cancel to rounding, u' is zero.
"""

from ...algebra.compare import larger, smaller
from ...compiler.lanes import get, inline, kernel

BEYOND = 1e30  # a loss that no limit allows
FAST = 1e5  # u^2 over u'
NOTHING = 1e-13  # u' over u^2


@inline
def swift_loss(u, udot, zero):
    """BEYOND where the state is so fast, else 0"""
    speed, rate = zero, zero
    for j in range(u.shape[0]):
        uj, aj = get(u, j), get(udot, j)
        speed, rate = larger(speed, uj * uj), larger(rate, larger(aj, -aj))
    return smaller(zero + BEYOND, 1e200 * larger(zero, smaller(speed - FAST * rate, rate - NOTHING * speed)))


@kernel
def largest(x):
    """The size of the largest number"""
    most = 0.0
    for j in range(x.shape[0]):
        most = max(most, abs(get(x, j)))
    return most
