"""Motion so fast that its own terms drown the accelerations, and joints folded back: what pivots do not show.

Centrifugal terms are of the size of u^2. Where they cancel to less than 1e-5 of that, digits are lost; where they
cancel to rounding, u' is zero. Where a column of S is short, u' is what rounding leaves, over its length: pivots and
their terms are short alike.
"""

from ...algebra.compare import larger, smaller
from ...compiler.lanes import get, inline, kernel
from ...kernels.joint_columns import LOST

BEYOND = LOST  # a loss that no limit allows
FAST = 1e5  # u^2 over u'
NOTHING = 1e-13  # u' over u^2


@inline
def hidden_loss(k, u, udot):
    """BEYOND where the state is so fast, or a joint folded back, else 0"""
    folded = get(k.defect, 2)
    zero = 0.0 * folded
    speed, rate = zero, zero
    for j in range(u.shape[0]):
        uj, aj = get(u, j), get(udot, j)
        speed, rate = larger(speed, uj * uj), larger(rate, larger(aj, -aj))
    swift = smaller(zero + BEYOND, 1e200 * larger(zero, smaller(speed - FAST * rate, rate - NOTHING * speed)))
    return larger(folded, swift)


@kernel
def largest(x):
    """The size of the largest number"""
    most = 0.0
    for j in range(x.shape[0]):
        most = max(most, abs(get(x, j)))
    return most
