"""6 x 6 matrices without symmetry, as tuples of 36 numbers, row by row; and the change of a force's frame."""

from ..compiler.lanes import get, inline, put
from . import spatial as sp
from .rotation import column


@inline
def store36(a, i, x):
    i *= 6
    sp.store6(a, i, x[0:6])
    sp.store6(a, i + 1, x[6:12])
    sp.store6(a, i + 2, x[12:18])
    sp.store6(a, i + 3, x[18:24])
    sp.store6(a, i + 4, x[24:30])
    sp.store6(a, i + 5, x[30:36])


@inline
def load_column(a, j):
    """Column j of a matrix in memory"""
    return (get(a, j), get(a, j + 6), get(a, j + 12), get(a, j + 18), get(a, j + 24), get(a, j + 30))


@inline
def store_column(a, j, x):
    put(a, j, x[0])
    put(a, j + 6, x[1])
    put(a, j + 12, x[2])
    put(a, j + 18, x[3])
    put(a, j + 24, x[4])
    put(a, j + 30, x[5])


@inline
def force_frame(R, o):
    """[R, o x R; 0, R]: makes a force about the point o in axes R one about the origin. Transposed: motions, back"""
    a, b, c = sp.cross(o, column(R, 0)), sp.cross(o, column(R, 1)), sp.cross(o, column(R, 2))
    z = 0.0 * R[0]
    right = ((a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2]))
    top = R[0:3] + right[0] + R[3:6] + right[1] + R[6:9] + right[2]
    none = (z, z, z)
    return top + none + R[0:3] + none + R[3:6] + none + R[6:9]


@inline
def motion_in(R, o, v):
    """A motion about the origin, seen about the point o in axes R"""
    w, l = v[0:3], v[3:6]
    return sp.mul33t(R, w) + sp.mul33t(R, sp.add3(l, sp.cross(w, o)))


@inline
def force_in(R, o, f):
    """A force about the origin, seen about the point o in axes R"""
    n, l = f[0:3], f[3:6]
    return sp.mul33t(R, sp.sub3(n, sp.cross(o, l))) + sp.mul33t(R, l)


@inline
def force_from(R, o, f):
    """The way back of :func:`force_in`"""
    l = sp.mul33(R, f[3:6])
    return sp.add3(sp.mul33(R, f[0:3]), sp.cross(o, l)) + l
