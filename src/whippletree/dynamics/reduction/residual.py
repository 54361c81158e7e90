"""How well rows hold behind a solve by passes.py: a row that its plan takes for redundant and is not shows here."""

from ...algebra.compare import larger
from ...algebra.spatial import dot, load6, load_at6
from ...compiler.lanes import get, inline
from ...layout.constraints import FIRST, NUMBERS, SECOND
from .front import Z, base_of, right_side

RESIDUAL = (
    1e-11  # of what a row could be: rounding leaves less, a row that the plan takes for redundant and is not, more
)
PER_VIOLATION = 100.0  # the same, for a gap of the size of the mechanism


@inline
def missed(k, E, x, prescribed, share, w, at, zr, i, loop):
    """How far the rows of a loop are from holding, beyond a share of what they could be"""
    z, b = load_at6(w, at + Z), load6(k.b, i)
    large = dot(z, z) + dot(b, b)
    worst = 0.0 * large
    for r in range(loop.start, loop.stop):
        own, other = load6(x.w, 2 * r + loop.side), load6(x.w, 2 * r + 1 - loop.side)
        gamma = right_side(x, prescribed, r, own, other, i, base_of(E, r), loop.slack)
        left = gamma - dot(own, z)
        if loop.key >= 0:
            left = left - dot(other, load_at6(w, zr + loop.key))
        if loop.slack != 0:
            s = get(w, zr + abs(loop.slack) - 1 + r - loop.start)
            left = left - s if loop.slack > 0 else left + s
        worst = larger(worst, left * left - share * (dot(own, own) * large + gamma * gamma))
    return worst


@inline
def missed_coupling(E, x, share, w, zr, pair):
    """The same of a coupling"""
    c, gamma = NUMBERS * E.element[pair.start], get(x.gamma, pair.start)
    left, large = gamma, gamma * gamma
    if pair.first >= 0:
        part = E.numbers[c + FIRST] * get(w, zr + pair.first)
        left, large = left - part, large + part * part
    if pair.second >= 0:
        part = E.numbers[c + SECOND] * get(w, zr + pair.second)
        left, large = left - part, large + part * part
    return left * left - share * large


@inline
def allowed(E, x, zero):
    """The share, squared: more where loops are open, by their largest residual against the size of the mechanism"""
    largest = zero
    for r in range(E.nr):
        largest = larger(largest, get(x.g, r) * get(x.g, r))
    return RESIDUAL * RESIDUAL + PER_VIOLATION * PER_VIOLATION * (largest * max(1.0, 1.0 / (E.size * E.size)))
