"""Points of bodies: where they are, how fast they move, and forces that act there."""

from ..compiler.lanes import inline
from .spatial import add, add3, angular, cross, join, linear, load3, load6, load9, mul33, store6


@inline
def place_on(m, k, i, p):
    """A point of body i, from the point of its component and from the world's origin"""
    r = add3(load3(k.o, i), mul33(load9(k.R, i), p))
    if i > 0:
        return r, add3(r, load3(k.point, m.component[i]))
    return r, r


@inline
def velocity_at(k, i, r):
    v = load6(k.v, i)
    return add3(linear(v), cross(angular(v), r))


@inline
def push(wrench, i, r, force, torque):
    """Add a force at r and a torque to body i"""
    if i > 0:
        store6(wrench, i, add(load6(wrench, i), join(add3(torque, cross(r, force)), force)))
