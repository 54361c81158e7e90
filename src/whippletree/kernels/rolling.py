"""Rows of constraints on velocities: wheels and balls that roll, blades that do not slip aside.

All is seen from the frame A that carries the surface. A wheel has its centre in d, its axle along a, a rim of a radius
and a tyre around it, a torus; a ball is all tyre. With n the normal of the surface and m the direction from the axle to
the highest point of the rim, the lowest point lies rho from the centre, and the wheel's material moves there at s:

    m = (n - (n.a) a) / |..|,   rho = -radius m - tyre n,   s = d' + w x rho,   s' = d'' + w' x rho + w x rho'

Along e a row holds e.s = 0 by a force at that point, and gamma = -(e.s' + e'.s) at u' = 0. Along n it is the rate of
the height above the surface, which has a residual g; the others have none: no pose tells how a wheel came there.

What slides has a row of friction instead, that holds nothing: a force against the slip, along -e, whose size follows
the normal force. ``prescribed`` is its speed, so that the work of friction is counted with that of motions. Slip that
goes through zero keeps its e within a step; where it ends, the run begins anew with another.
"""

import math

from ..algebra import spatial as sp
from ..algebra.compare import larger, smaller
from ..compiler.lanes import inline, kernel
from ..layout import constraints as layout
from ..layout.forces import TINY
from .relative_kinematics import force_at, meet, put_row, put_shift_row, put_turn_row, turning

SLOW = 1e-12  # m/s: where something begins to slide, the direction is the one that is given


@inline
def across(v, e):
    """The part of v that turns a unit vector along which e lies, for e not of unit length: (v - e e.v / e.e) / |e|"""
    size = sp.dot3(e, e) + TINY
    return sp.scale3(1.0 / math.sqrt(size), sp.sub3(v, sp.scale3(sp.dot3(e, v) / size, e)))


@inline
def unit(e):
    return sp.scale3(1.0 / math.sqrt(sp.dot3(e, e) + TINY), e)


@inline
def normal(d, rate, on, to_radius):
    """n and n' of the surface below d: of a plane z; of a sphere outward; of a bowl, with a radius < 0, inward"""
    zero = 0.0 * d[0]
    if on == layout.SPHERE:
        sign = 1.0 if to_radius > 0.0 else -1.0
        return sp.scale3(sign, unit(d)), sp.scale3(sign, across(rate, d))
    return (zero, zero, zero + 1.0), (zero, zero, zero)


@inline
def put_contact_row(x, r, c, rho, e, g, rate, bend):
    """A force along e, in A, on the wheel where it touches, and its opposite on what it touches"""
    at, along = sp.mul33(c.R, rho), sp.mul33(c.R, e)
    push = force_at(sp.add3(c.rb, at), along)
    back = force_at(sp.add3(c.there, at), sp.scale3(-1.0, along))
    put_row(x, r, g, back, push, rate, 0.0 * rate, bend)


@kernel  # not inline: joints that close loops share the code, and there are more of them
def roll_rows(m, E, k, x, n):
    """All rows of a wheel or ball: height, then slip along and aside, then pivoting, as far as they are held"""
    c = meet(m, E, k, n)
    t = turning(E, k, n, c)
    on, slip, r, z = E.shift[n], E.turn[n], E.row[n], layout.NUMBERS * n
    radius, tyre, to_radius = E.numbers[z + layout.FIRST], E.numbers[z + layout.SECOND], E.numbers[z + layout.LENGTH]
    a = (t.Q[2], t.Q[5], t.Q[8])
    up, up_rate = normal(c.d, c.rate, on, to_radius)
    a_rate = sp.cross(t.w, a)
    rise = sp.dot3(up, a)
    lean, lean_rate = sp.sub3(up, sp.scale3(rise, a)), sp.dot3(up_rate, a) + sp.dot3(up, a_rate)
    lean_rate = sp.sub3(sp.sub3(up_rate, sp.scale3(lean_rate, a)), sp.scale3(rise, a_rate))
    rho = sp.sub3(sp.scale3(-radius, unit(lean)), sp.scale3(tyre, up))
    rho_rate = sp.sub3(sp.scale3(-radius, across(lean_rate, lean)), sp.scale3(tyre, up_rate))
    s = sp.add3(c.rate, sp.cross(t.w, rho))
    bend = sp.add3(sp.add3(c.bend, sp.cross(t.rate, rho)), sp.cross(t.w, rho_rate))
    g = sp.dot3(up, sp.add3(c.d, rho)) - (to_radius if on == layout.SPHERE else 0.0)
    put_contact_row(x, r, c, rho, up, g, sp.dot3(up, s), sp.dot3(up, bend) + sp.dot3(up_rate, s))
    r += 1
    zero = 0.0 * s[0]
    if on == layout.LINE:  # its centre stays above the line
        side = (zero, zero + 1.0, zero)
        put_shift_row(x, r, c, c.d[1], sp.mul33(c.R, side), c.rate[1], zero, c.bend[1])
        r += 1
    along, along_rate = (zero + 1.0, zero, zero), (zero, zero, zero)
    if on == layout.SPHERE:
        along = tangent(up)  # nothing slips on a sphere, so that its rate is not needed
    elif on == layout.PLANE and slip & layout.AXLE:
        heading, heading_rate = sp.cross(a, up), sp.cross(a_rate, up)
        along, along_rate = unit(heading), across(heading_rate, heading)
    if (slip & layout.SLIP_ALL) == 0:
        put_contact_row(x, r, c, rho, along, zero, sp.dot3(along, s), sp.dot3(along, bend) + sp.dot3(along_rate, s))
        r += 1
        if (slip & layout.SLIP_SIDE) == 0 and on != layout.LINE:
            side, side_rate = sp.cross(up, along), sp.cross(up, along_rate)
            put_contact_row(x, r, c, rho, side, zero, sp.dot3(side, s), sp.dot3(side, bend) + sp.dot3(side_rate, s))
            r += 1
    if slip & layout.PIVOT_HELD:
        put_turn_row(x, r, c, t, zero, up, sp.dot3(up_rate, t.w))
        r += 1
    if E.drive[n] == layout.SLIDES:
        toward = sp.load3(E.numbers, (z + layout.TOWARD) // 3)
        along, v = slide(up, on, s, (zero + toward[0], zero + toward[1], zero + toward[2]))
        at, along = sp.mul33(c.R, rho), sp.mul33(c.R, along)
        push, back = force_at(sp.add3(c.rb, at), sp.scale3(-1.0, along)), force_at(sp.add3(c.there, at), along)
        put_row(x, r, zero, back, push, -v, -v, zero)


@inline
def slide(up, on, s, toward):
    """Unit vector along which a point with the velocity s slips, and its speed along it"""
    zero = 0.0 * s[0]
    if on == layout.LINE:
        s, toward = (s[0], zero, zero), (toward[0], zero, zero)
    s, toward = sp.sub3(s, sp.scale3(sp.dot3(up, s), up)), sp.sub3(toward, sp.scale3(sp.dot3(up, toward), up))
    way = larger(smaller(1e308 * (sp.dot3(s, toward) + TINY), zero + 1.0), zero - 1.0)
    along = unit(sp.add3(sp.scale3(way, s), sp.scale3(SLOW, toward)))
    return along, sp.dot3(along, s)


@inline
def tangent(n):
    """A unit vector across another: x, turned by the shortest rotation that takes z to it, or -z, which is nearer"""
    x, y, z = n
    zero = 0.0 * x
    sign = larger(smaller(1e308 * (z + TINY), zero + 1.0), zero - 1.0)
    f = -sign / (sign + z)
    return (1.0 + f * x * x, f * x * y, -sign * x)


@kernel
def blade_row(m, E, k, x, n):
    """The blade's point does not move along the blade's y axis"""
    c = meet(m, E, k, n)
    t = turning(E, k, n, c)
    side = (t.Q[1], t.Q[4], t.Q[7])
    bend = sp.dot3(side, c.bend) + sp.dot3(sp.cross(t.w, side), c.rate)
    zero = 0.0 * bend
    put_shift_row(x, E.row[n], c, zero, sp.mul33(c.R, side), sp.dot3(side, c.rate), zero, bend)
