"""How well rows hold behind a solve by passes.py: a row that its plan takes for redundant and is not shows here."""

from ...algebra.compare import larger
from ...algebra.spatial import dot, load6, load_at6
from ...compiler.lanes import get, inline
from ...layout.constraints import FIRST, NUMBERS, SECOND
from .front import places, right_side

AMISS = 1e-11  # of what a row could be: rounding leaves less, a row that the plan takes for redundant and is not, more
PER_GAP = 100.0  # the same, for a gap of the size of the mechanism


@inline
def inner_body(E, r):
    """The base of the loop that a row is of"""
    e = E.element[r]
    return min(E.body[e], E.to[e])


@inline
def missed(k, E, x, given, share, w, at, rest, start, stop, side, key, i, slack):
    """How far the rows of a loop are from holding, beyond a share of what they could be"""
    z, zr = load_at6(w, at + 27), places(at, rest)[3]
    b = load6(k.b, i)
    large = dot(z, z) + dot(b, b)
    worst = 0.0 * large
    for r in range(start, stop):
        own, other = load6(x.w, 2 * r + side), load6(x.w, 2 * r + 1 - side)
        gamma = right_side(x, given, r, own, other, i, inner_body(E, r), slack)
        left = gamma - dot(own, z)
        if key >= 0:
            left = left - dot(other, load_at6(w, zr + key))
        if slack != 0:
            s = get(w, zr + abs(slack) - 1 + r - start)
            left = left - s if slack > 0 else left + s
        worst = larger(worst, left * left - share * (dot(own, own) * large + gamma * gamma))
    return worst


@inline
def missed_coupling(E, x, share, w, zr, r, first, second):
    """The same of a coupling"""
    c, gamma = NUMBERS * E.element[r], get(x.gamma, r)
    left, large = gamma, gamma * gamma
    if first >= 0:
        part = E.numbers[c + FIRST] * get(w, zr + first)
        left, large = left - part, large + part * part
    if second >= 0:
        part = E.numbers[c + SECOND] * get(w, zr + second)
        left, large = left - part, large + part * part
    return left * left - share * large


@inline
def allowed(E, x, zero):
    """The share, squared: more where loops are open, by their largest residual against the size of the mechanism"""
    largest = zero
    for r in range(E.nr):
        largest = larger(largest, get(x.g, r) * get(x.g, r))
    return AMISS * AMISS + PER_GAP * PER_GAP * (largest * max(1.0, 1.0 / (E.size * E.size)))
