"""Rotations as 3 x 3 matrices (9 numbers, row by row) and unit quaternions (4 numbers, scalar first)."""

import math

from ..compiler.lanes import inline
from .compare import where_larger


@inline
def turn_x(R, s, c):
    """R Rx, with the sine and cosine of the angle"""
    return (
        R[0],
        R[1] * c + R[2] * s,
        R[2] * c - R[1] * s,
        R[3],
        R[4] * c + R[5] * s,
        R[5] * c - R[4] * s,
        R[6],
        R[7] * c + R[8] * s,
        R[8] * c - R[7] * s,
    )


@inline
def turn_y(R, s, c):
    """R Ry"""
    return (
        R[0] * c - R[2] * s,
        R[1],
        R[2] * c + R[0] * s,
        R[3] * c - R[5] * s,
        R[4],
        R[5] * c + R[3] * s,
        R[6] * c - R[8] * s,
        R[7],
        R[8] * c + R[6] * s,
    )


@inline
def turn_z(R, s, c):
    """R Rz"""
    return (
        R[0] * c + R[1] * s,
        R[1] * c - R[0] * s,
        R[2],
        R[3] * c + R[4] * s,
        R[4] * c - R[3] * s,
        R[5],
        R[6] * c + R[7] * s,
        R[7] * c - R[6] * s,
        R[8],
    )


@inline
def column(R, j):
    """Axis j of the frame"""
    return (R[j], R[j + 3], R[j + 6])


@inline
def quaternion(R):
    """A unit quaternion e of a rotation, or its opposite: the row of 4 e e' with the largest pivot, over its root

    No digits are lost at any angle; e is (w, x, y, z), with w > 0 up to 90 degrees.
    """
    w, x, y, z = 1.0 + R[0] + R[4] + R[8], 1.0 + R[0] - R[4] - R[8], 1.0 - R[0] + R[4] - R[8], 1.0 - R[0] - R[4] + R[8]
    wx, wy, wz = R[7] - R[5], R[2] - R[6], R[3] - R[1]
    yz, xz, xy = R[5] + R[7], R[2] + R[6], R[1] + R[3]
    largest, e = w, (w, wx, wy, wz)
    for pivot, row in ((x, (wx, x, xy, xz)), (y, (wy, xy, y, yz)), (z, (wz, xz, yz, z))):
        e = (
            where_larger(pivot, largest, row[0], e[0]),
            where_larger(pivot, largest, row[1], e[1]),
            where_larger(pivot, largest, row[2], e[2]),
            where_larger(pivot, largest, row[3], e[3]),
        )
        largest = where_larger(pivot, largest, pivot, largest)
    s = 0.5 / math.sqrt(largest)
    return (s * e[0], s * e[1], s * e[2], s * e[3])


@inline
def matrix(w, x, y, z):
    """The rotation matrix of a quaternion; divided by its squared length, so that rounding does not scale"""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    xx, yy, zz = s * x * x, s * y * y, s * z * z
    xy, xz, yz = s * x * y, s * x * z, s * y * z
    wx, wy, wz = s * w * x, s * w * y, s * w * z
    return (
        1.0 - (yy + zz),
        xy - wz,
        xz + wy,
        xy + wz,
        1.0 - (xx + zz),
        yz - wx,
        xz - wy,
        yz + wx,
        1.0 - (xx + yy),
    )


@inline
def quaternion_product(a, b):
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@inline
def normalize(a):
    s = 1.0 / math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2] + a[3] * a[3])
    return (s * a[0], s * a[1], s * a[2], s * a[3])
