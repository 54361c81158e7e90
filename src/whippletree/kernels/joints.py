"""The formulas of the joint table as kernels that branch on the code of a kind."""

from ..compiler.lanes import inline, kernel
from ..joints import FIRST_CARRIED, FIRST_QUATERNION, MOVING


def either(code, formula, others):
    """The formula for bodies whose joint has this code, the others for the rest."""

    @inline
    def choose(m, i, *more):
        if m.kind[i] == code:
            return formula(m, i, *more)
        return others(m, i, *more)

    return choose


def by_kind(formulas):
    """One formula out of (code, formula), by the joint of body i."""
    *first, (_, chosen) = formulas
    for code, formula in reversed(first):
        chosen = either(code, formula, chosen)
    return chosen


FORMULAS = [kind.kernels() for kind in MOVING if kind.kernels]
place_first = FORMULAS[0].place  # that of code 0, the most frequent kind, which callers inline
_place = by_kind([(code, f.place) for code, f in enumerate(FORMULAS) if code > 0])
_bias = by_kind([(code, f.bias) for code, f in enumerate(FORMULAS) if f.bias is not None])
_read = by_kind([(code, f.read) for code, f in enumerate(FORMULAS)])


@kernel
def place_other(m, i, q, k, R, o):
    """Frame and columns of every kind but the first"""
    return _place(m, i, q, k, R, o)


@inline
def has_bias(m, i):
    """Whether an axis of the joint is carried by the joint itself"""
    return FIRST_CARRIED <= m.kind[i] < FIRST_QUATERNION


@kernel
def joint_bias(m, i, q, u, k):
    """(6) S' u of a joint that has_bias"""
    return _bias(m, i, q, u, k)


@kernel
def read_coordinates(m, i, R, d, q):
    """q of the joint of body i from its frame R, d after the joint's as it is at q = 0; near the q that is there"""
    _read(m, i, R, d, q)


@inline
def quaternion_at(m, i):
    """Where the quaternion of body i's joint begins in q; -1 without one"""
    return m.position[i + 1] - 4 if m.kind[i] >= FIRST_QUATERNION else -1
