"""Two frames that something holds together: how one moves in the other, and rows of constraints made from that."""

from typing import Any, NamedTuple

from ..algebra import spatial as sp
from ..algebra.places import place_on, velocity_at
from ..compiler.lanes import inline, put
from ..layout.constraints import NUMBERS


class RelativeMotion(NamedTuple):
    """Two frames that a joint holds together; vectors with no word on axes are in the world's."""

    a: Any  # the first body
    b: Any  # the second
    R: Any  # (9)       axes of A
    there: Any  # (3)   B's point, from the point of A's component
    rb: Any  # (3)      the same, from the point of B's component
    d: Any  # (3)       from A's point to B's, in A
    rate: Any  # (3)    velocity of B's point in A, in A
    bend: Any  # (3)    its acceleration in A at u' = 0, in A


class Turning(NamedTuple):
    """How two frames turn against each other."""

    Q: Any  # (9)       axes of B in A
    w: Any  # (3)       angular velocity in A, in A
    rate: Any  # (3)    its rate at u' = 0, in A


@inline
def acceleration_at(k, i, r):
    """Of the point r of body i at u' = 0, on a ground that rises at -gravity"""
    v, b = sp.load6(k.v, i), sp.load6(k.b, i)
    w = sp.angular(v)
    return sp.add3(
        sp.add3(sp.linear(b), sp.cross(sp.angular(b), r)), sp.cross(w, sp.add3(sp.linear(v), sp.cross(w, r)))
    )


@inline
def motion_at(k, i, r):
    """Velocity of the point r of body i, and acceleration at u' = 0; of ground, which most loops end on, at once"""
    if i == 0:
        b = sp.linear(sp.load6(k.b, 0))
        return sp.scale3(0.0, b), b
    return velocity_at(k, i, r), acceleration_at(k, i, r)


@inline
def meet(m, E, k, n):
    a, b = E.body[n], E.to[n]
    c = NUMBERS // 3 * n
    ra, pa = place_on(m, k, a, sp.load3(E.numbers, c + 6))
    rb, pb = place_on(m, k, b, sp.load3(E.numbers, c + 7))
    R = sp.matmul(sp.load9(k.R, a), frame(E, n, 0))
    d = sp.sub3(pb, pa)
    there = sp.add3(ra, d)
    vb, bb = motion_at(k, b, rb)
    va, ba = motion_at(k, a, there)
    rate = sp.sub3(vb, va)
    bend = sp.sub3(sp.sub3(bb, ba), sp.scale3(2.0, sp.cross(sp.angular(sp.load6(k.v, a)), rate)))
    return RelativeMotion(a, b, R, there, rb, sp.mul33t(R, d), sp.mul33t(R, rate), sp.mul33t(R, bend))


@inline
def turning(E, k, n, c):
    wa, wb = sp.angular(sp.load6(k.v, c.a)), sp.angular(sp.load6(k.v, c.b))
    w = sp.sub3(wb, wa)
    rate = sp.sub3(sp.sub3(sp.angular(sp.load6(k.b, c.b)), sp.angular(sp.load6(k.b, c.a))), sp.cross(wa, w))
    Q = sp.matmul(sp.transpose(c.R), sp.matmul(sp.load9(k.R, c.b), frame(E, n, 1)))
    return Turning(Q, sp.mul33t(c.R, w), sp.mul33t(c.R, rate))


@inline
def frame(E, n, which):
    """Rotation of an element's frame on the first or second body"""
    return sp.load9(E.numbers, NUMBERS // 9 * n + which)


@inline
def put_row(x, r, g, wa, wb, rate, prescribed, bend):
    sp.store6(x.w, 2 * r, wa)
    sp.store6(x.w, 2 * r + 1, wb)
    put(x.g, r, g)
    put(x.prescribed, r, prescribed)
    put(x.rate, r, rate - prescribed)
    put(x.gamma, r, -bend)


@inline
def put_turn_row(x, r, c, t, g, T, bend):
    """A torque T, in A, on the second body and its opposite on the first"""
    zero = sp.scale3(0.0, T)
    w = sp.join(sp.mul33(c.R, T), zero)
    put_row(x, r, g, sp.scale(-1.0, w), w, sp.dot3(T, t.w), zero[0], bend + sp.dot3(T, t.rate))


@inline
def force_at(r, e):
    return sp.join(sp.cross(r, e), e)


@inline
def put_shift_row(x, r, c, g, e, rate, prescribed, bend):
    """A force along e on the second body at its point, and its opposite there on the first"""
    put_row(x, r, g, sp.scale(-1.0, force_at(c.there, e)), force_at(c.rb, e), rate, prescribed, bend)
