"""Points of bodies: where they are, how fast they move, and forces that act there."""

from ..compiler.lanes import inline
from . import spatial as sp


@inline
def place_on(m, k, i, p):
    """A point of body i, from the point of its component and from the world's origin"""
    r = sp.add3(sp.load3(k.o, i), sp.mul33(sp.load9(k.R, i), p))
    if i > 0:
        return r, sp.add3(r, sp.load3(k.point, m.component[i]))
    return r, r


@inline
def velocity_at(k, i, r):
    v = sp.load6(k.v, i)
    return sp.add3(sp.linear(v), sp.cross(sp.angular(v), r))


@inline
def push(wrench, i, r, force, torque):
    """Add a force at r and a torque to body i"""
    if i > 0:
        sp.store6(wrench, i, sp.add(sp.load6(wrench, i), sp.join(sp.add3(torque, sp.cross(r, force)), force)))
