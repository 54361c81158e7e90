"""Quaternions of rotations: no digits are lost at any angle, in floats and in lanes."""

import numpy as np
import pytest

from whippletree.algebra.rotation import matrix, quaternion
from whippletree.compiler.lanes import LANES, entry, get, put


@entry
def there_and_back(x, found, again):
    e = quaternion((get(x, 0), get(x, 1), get(x, 2), get(x, 3), get(x, 4), get(x, 5), get(x, 6), get(x, 7), get(x, 8)))
    R = matrix(e[0], e[1], e[2], e[3])
    for n in range(4):
        put(found, n, e[n])
    for n in range(9):
        put(again, n, R[n])


def drawn(rng):
    """A unit quaternion, one in two near a half turn about an axis that is near one of the frame's."""
    e = rng.normal(size=4) * 10.0 ** rng.uniform(-12, 0, 4) if rng.random() < 0.5 else rng.normal(size=4)
    return e / np.linalg.norm(e)


@pytest.mark.parametrize("lanes", [1, LANES])
def test_a_quaternion_of_a_rotation_keeps_its_digits(lanes):
    rng = np.random.default_rng(5)
    for _ in range(200):
        given = [drawn(rng) for _ in range(lanes)]
        x = np.array([matrix.py_func(*e) if hasattr(matrix, "py_func") else matrix(*e) for e in given]).T
        x, found, again = (np.ascontiguousarray(a) for a in (x, np.zeros((4, lanes)), np.zeros((9, lanes))))
        if lanes == 1:
            x, found, again = x[:, 0].copy(), found[:, 0].copy(), again[:, 0].copy()
        there_and_back(x, found, again)
        found, again, x = (a.reshape(len(a), -1) for a in (found, again, x))
        assert np.abs(again - x).max() < 4e-15
        assert np.abs(np.square(found).sum(axis=0) - 1.0).max() < 4e-15
        for lane, e in enumerate(given):
            sign = np.sign(found[:, lane] @ e)
            assert np.abs(sign * found[:, lane] - e).max() < 4e-15
