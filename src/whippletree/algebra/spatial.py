"""Vectors and inertias as tuples: 3, 6 [angular; linear], 9 (row by row), and the two kinds of spatial inertia.

A rigid inertia is its mass ``m``, first moment ``h = m c`` (3) and inertia ``J`` about the common
point (6: xx xy xz yy yz zz). An articulated inertia is symmetric 6 x 6, 21 numbers: J (6), the
coupling H (9, angular rows, linear columns) and M (6).
"""

from ..compiler.lanes import get, inline, put

# ---------------------------------------------------------------- 3-vectors and 3 x 3 matrices


@inline
def add3(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@inline
def sub3(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@inline
def neg3(a):
    return (-a[0], -a[1], -a[2])


@inline
def scale3(x, a):
    return (x * a[0], x * a[1], x * a[2])


@inline
def axpy3(x, a, b):
    """x a + b"""
    return (x * a[0] + b[0], x * a[1] + b[1], x * a[2] + b[2])


@inline
def dot3(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inline
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inline
def mul33(R, a):
    """R a"""
    return (
        R[0] * a[0] + R[1] * a[1] + R[2] * a[2],
        R[3] * a[0] + R[4] * a[1] + R[5] * a[2],
        R[6] * a[0] + R[7] * a[1] + R[8] * a[2],
    )


@inline
def mul33t(R, a):
    """R' a"""
    return (
        R[0] * a[0] + R[3] * a[1] + R[6] * a[2],
        R[1] * a[0] + R[4] * a[1] + R[7] * a[2],
        R[2] * a[0] + R[5] * a[1] + R[8] * a[2],
    )


@inline
def mulsym(J, a):
    """J a, J symmetric (6 numbers)"""
    return (
        J[0] * a[0] + J[1] * a[1] + J[2] * a[2],
        J[1] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[2] * a[0] + J[4] * a[1] + J[5] * a[2],
    )


@inline
def matmul(A, B):
    """A B"""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@inline
def transpose(A):
    return (A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8])


# ---------------------------------------------------------------- 6-vectors


@inline
def join(a, b):
    return (a[0], a[1], a[2], b[0], b[1], b[2])


@inline
def angular(v):
    return (v[0], v[1], v[2])


@inline
def linear(v):
    return (v[3], v[4], v[5])


@inline
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@inline
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])


@inline
def scale(x, a):
    return (x * a[0], x * a[1], x * a[2], x * a[3], x * a[4], x * a[5])


@inline
def sub_scaled(a, x, b):
    """a - x b"""
    return (a[0] - x * b[0], a[1] - x * b[1], a[2] - x * b[2], a[3] - x * b[3], a[4] - x * b[4], a[5] - x * b[5])


@inline
def axpy(x, a, b):
    """x a + b"""
    return (
        x * a[0] + b[0],
        x * a[1] + b[1],
        x * a[2] + b[2],
        x * a[3] + b[3],
        x * a[4] + b[4],
        x * a[5] + b[5],
    )


@inline
def dot(a, b):
    """a . b, as two short sums: half the latency of one long one."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@inline
def cross_motion(v, s):
    """v x s: how a motion s changes that is carried along by v"""
    w, l, a, b = angular(v), linear(v), angular(s), linear(s)
    return join(cross(w, a), add3(cross(w, b), cross(l, a)))


# ---------------------------------------------------------------- inertias


@inline
def mul_rigid(mass, h, J, v):
    """I v of a rigid body"""
    w, l = angular(v), linear(v)
    return join(add3(mulsym(J, w), cross(h, l)), sub3(scale3(mass, l), cross(h, w)))


@inline
def rigid_force(mass, h, J, a, v):
    """I a + v x* I v, in the shorter form with the ordinary acceleration a + w x v"""
    w, e = angular(v), angular(a)
    l = add3(linear(a), cross(w, linear(v)))
    wh = cross(w, h)
    return join(
        add3(add3(mulsym(J, e), cross(w, mulsym(J, w))), cross(h, l)),
        add3(sub3(scale3(mass, l), cross(h, e)), cross(w, wh)),
    )


@inline
def mul(A, v):
    """A v of an articulated inertia"""
    w, l = angular(v), linear(v)
    J, H, M = A[0:6], A[6:15], A[15:21]
    return join(add3(mulsym(J, w), mul33(H, l)), add3(mul33t(H, w), mulsym(M, l)))


@inline
def add_rigid(A, mass, h, J):
    """A + I, an articulated and a rigid inertia"""
    return (
        A[0] + J[0],
        A[1] + J[1],
        A[2] + J[2],
        A[3] + J[3],
        A[4] + J[4],
        A[5] + J[5],
        A[6],
        A[7] - h[2],
        A[8] + h[1],
        A[9] + h[2],
        A[10],
        A[11] - h[0],
        A[12] - h[1],
        A[13] + h[0],
        A[14],
        A[15] + mass,
        A[16],
        A[17],
        A[18] + mass,
        A[19],
        A[20] + mass,
    )


@inline
def sub_outer(A, d, U):
    """A - U d U'"""
    a, b, c, e, f, g = scale(d, U)
    return (
        A[0] - a * U[0],
        A[1] - a * U[1],
        A[2] - a * U[2],
        A[3] - b * U[1],
        A[4] - b * U[2],
        A[5] - c * U[2],
        A[6] - a * U[3],
        A[7] - a * U[4],
        A[8] - a * U[5],
        A[9] - b * U[3],
        A[10] - b * U[4],
        A[11] - b * U[5],
        A[12] - c * U[3],
        A[13] - c * U[4],
        A[14] - c * U[5],
        A[15] - e * U[3],
        A[16] - e * U[4],
        A[17] - e * U[5],
        A[18] - f * U[4],
        A[19] - f * U[5],
        A[20] - g * U[5],
    )


# ---------------------------------------------------------------- memory: item i of an array of 3, 6, 9 or 21 each


@inline
def load3(a, i):
    i *= 3
    return (get(a, i), get(a, i + 1), get(a, i + 2))


@inline
def load6(a, i):
    return load3(a, 2 * i) + load3(a, 2 * i + 1)


@inline
def load9(a, i):
    i *= 3
    return load3(a, i) + load3(a, i + 1) + load3(a, i + 2)


@inline
def load21(a, i):
    i *= 7
    first, second = load3(a, i) + load3(a, i + 1) + load3(a, i + 2), load3(a, i + 3) + load3(a, i + 4)
    return first + second + load3(a, i + 5) + load3(a, i + 6)


@inline
def store3(a, i, x):
    i *= 3
    put(a, i, x[0])
    put(a, i + 1, x[1])
    put(a, i + 2, x[2])


@inline
def load_at3(a, n):
    """3 numbers from the n-th on"""
    return (get(a, n), get(a, n + 1), get(a, n + 2))


@inline
def load_at6(a, n):
    return load_at3(a, n) + load_at3(a, n + 3)


@inline
def put_at6(a, n, x):
    for i in range(6):
        put(a, n + i, x[i])


@inline
def store6(a, i, x):
    store3(a, 2 * i, x[0:3])
    store3(a, 2 * i + 1, x[3:6])


@inline
def store9(a, i, x):
    i *= 3
    store3(a, i, x[0:3])
    store3(a, i + 1, x[3:6])
    store3(a, i + 2, x[6:9])


@inline
def store21(a, i, x):
    i *= 7
    store3(a, i, x[0:3])
    store3(a, i + 1, x[3:6])
    store3(a, i + 2, x[6:9])
    store3(a, i + 3, x[9:12])
    store3(a, i + 4, x[12:15])
    store3(a, i + 5, x[15:18])
    store3(a, i + 6, x[18:21])


@inline
def add21(a, b):
    return add(a[0:6], b[0:6]) + add(a[6:12], b[6:12]) + add(a[12:18], b[12:18]) + add3(a[18:21], b[18:21])
