"""The pose of a curve joint with two derivatives, in any arithmetic, from the table of its polynomials.

The doubles of the table count as exact, as those of q do; tests/curves.py judges how they are made. A jet is a value
with two derivatives by the coordinate. Numbers may be extended doubles or balls of Arb.
"""

from math import floor, perm

from whippletree.joints.curve import HEAD, numbers

POWERS = 6


def times(f, g):
    return f[0] * g[0], f[1] * g[0] + f[0] * g[1], f[2] * g[0] + 2 * (f[1] * g[1]) + f[0] * g[2]


def minus(f, g):
    return tuple(x - y for x, y in zip(f, g, strict=True))


def plus(f, g):
    return tuple(x + y for x, y in zip(f, g, strict=True))


def cross(a, b):
    return [minus(times(a[i - 2], b[i - 1]), times(a[i - 1], b[i - 2])) for i in range(3)]


def unit(a):
    s = plus(plus(times(a[0], a[0]), times(a[1], a[1])), times(a[2], a[2]))
    r = s[0] ** 0.5
    k = 1 / r, -s[1] / (2 * s[0] * r), 3 * s[1] * s[1] / (4 * s[0] * s[0] * r) - s[2] / (2 * s[0] * r)
    return [times(k, x) for x in a]


def derivative(c, t, n):
    """Derivative n of a polynomial by rising powers."""
    total = 0 * t
    for power in range(POWERS - 1, n - 1, -1):
        total = total * t + perm(power, n) * c[power]
    return total


def curve_frame(joint, q, number):
    """Columns of the rotation, or None where it does not turn, and the place: vectors of jets; ``number`` makes one."""
    table = numbers(joint)
    count, period = int(table[0]), float(table[1])
    begin, rows = table[HEAD : HEAD + count], table[HEAD + count :].reshape(count, 6, POWERS)
    turns = floor(q / period) if period else 0
    x = number(q) - turns * number(period)
    piece = max(sum(1 for b in begin if b <= float(x)) - 1, 0)
    t = x - number(begin[piece])
    c = [[[number(k) for k in rows[piece, axis]] for axis in part] for part in ((0, 1, 2), (3, 4, 5))]
    place, slope, up = (
        [tuple(derivative(k, t, n + m) for m in range(3)) for k in c[part]] for part, n in ((0, 0), (0, 1), (1, 0))
    )
    if not table[2]:
        return None, place
    along, side = unit(slope), unit(cross(up, slope))
    return [along, side, cross(along, side)], place
