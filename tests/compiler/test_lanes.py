"""The register type: arithmetic, memory, sine and cosine, and hosts without registers."""

import math
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest

from whippletree.algebra.trig import LARGEST, sincos
from whippletree.compiler.lanes import LANES, entry, get, put, take, view_integers
from whippletree.kernels.blocks import checksum, gather, scatter

rng = np.random.default_rng(7)


@entry
def arithmetic(x, y, out):
    a, b = get(x, 0), get(y, 0)
    put(out, 0, a + b)
    put(out, 1, a - b)
    put(out, 2, a * b)
    put(out, 3, a / b)
    put(out, 4, -a)
    put(out, 5, math.sqrt(b))
    put(out, 6, 2.0 * a + 1)  # a float and an integer go to all lanes
    put(out, 7, 3.0)


@entry
def sines(x, s, c):
    for i in range(x.shape[0]):
        si, ci = sincos(get(x, i))
        put(s, i, si)
        put(c, i, ci)


@entry
def round_trip(states, buffer, out):
    total = 0.0
    for first in range(0, states.shape[0], LANES):
        block = gather(states, first, buffer)
        scatter(block, first, out)
        total += checksum(block)
    return total


@entry
def views(buffer):
    head, n = take(buffer, 0, 2)
    tail, n = take(buffer, n, 3)
    put(tail, 0, 9.0)
    return head.shape[0] + tail.shape[0] + n


@entry
def integers(packed):
    return view_integers(packed, 1, 1)[0]


def as_rows(values):
    """Floats as one lane row each, all lanes different."""
    return np.ascontiguousarray(values).reshape(-1, LANES) if LANES > 1 else np.ascontiguousarray(values)


def test_arithmetic_in_each_lane_is_the_arithmetic_of_floats():
    x, y = rng.normal(size=(1, LANES)), rng.uniform(0.5, 2, size=(1, LANES))
    if LANES == 1:
        x, y = x[0], y[0]
    out = np.zeros((8, LANES)) if LANES > 1 else np.zeros(8)
    arithmetic(x, y, out)
    a, b = x.ravel(), y.ravel()
    expected = [a + b, a - b, a * b, a / b, -a, np.sqrt(b), 2 * a + 1, np.full(LANES, 3.0)]
    np.testing.assert_array_equal(out.reshape(8, LANES)[:6], expected[:6])
    np.testing.assert_allclose(out.reshape(8, LANES)[6:], expected[6:], rtol=3e-16)  # fused multiply-add may round once


SAMPLES = np.concatenate(
    [
        rng.uniform(-4, 4, 400),
        rng.uniform(-LARGEST, LARGEST, 400),
        np.arange(-200, 200) * (math.pi / 2),  # next to the zeros, where reduction loses digits
        10.0 ** rng.uniform(-300, 300, 200),
        [0.0, -0.0, 5e-324, LARGEST, np.nextafter(LARGEST, 2e9), 1e22, -1e22, 1.7976931348623157e308],
    ]
)
SAMPLES = np.concatenate([SAMPLES, np.zeros(-len(SAMPLES) % LANES)])


@pytest.mark.parametrize("shape", ["floats", "lanes"])
def test_sine_and_cosine_are_right_to_two_units_in_the_last_place(shape):
    x = SAMPLES.copy() if shape == "floats" else as_rows(SAMPLES)
    s, c = np.empty_like(x), np.empty_like(x)
    sines(x, s, c)
    with mpmath.workprec(1400):  # enough to reduce 1e308 by pi
        for value, si, ci in zip(SAMPLES, s.ravel(), c.ravel(), strict=True):
            for function, got in ((mpmath.sin, si), (mpmath.cos, ci)):
                exact = function(mpmath.mpf(float(value)))
                ulp = math.ulp(float(exact))
                error = abs(float((mpmath.mpf(float(got)) - exact) / ulp))
                assert error < 2.0, (value, function)  # two roundings of the reduced angle, two of the polynomial


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_sine_of_no_number_is_no_number(bad):
    x = np.full(LANES, bad)
    x = as_rows(x)
    s, c = np.zeros_like(x), np.zeros_like(x)
    sines(x, s, c)
    assert np.isnan(s).all()
    assert np.isnan(c).all()


@pytest.mark.parametrize("count", [1, LANES, 2 * LANES + 1])
def test_states_survive_the_way_into_lanes_and_back(count):
    states = rng.normal(size=(count, 5))
    buffer = np.zeros((5, LANES)) if LANES > 1 else np.zeros(5)
    out = np.zeros_like(states)
    assert round_trip(states, buffer, out) == 0.0
    np.testing.assert_array_equal(out, states)


def test_a_checksum_sees_any_lane():
    for lane in range(LANES):
        states = np.zeros((LANES, 3))
        states[lane, 1] = np.inf
        buffer = np.zeros((3, LANES)) if LANES > 1 else np.zeros(3)
        assert math.isnan(round_trip(states, buffer, np.zeros_like(states)))


def test_views_share_memory():
    buffer = np.zeros((5, LANES)) if LANES > 1 else np.zeros(5)
    assert views(buffer) == 2 + 3 + 5
    assert (buffer[2] == 9.0).all()
    assert integers(np.array([1, -7, 3], np.int64).view(float)) == -7


def test_a_host_without_registers_gives_the_same_accelerations(tmp_path):
    program = """
import numpy as np, whippletree as wt
m = wt.Model("two")
a, b = (m.body(name, **wt.rod(mass=1.0, length=1.0, radius=0.1)) for name in "ab")
m.joint("p", "revolute", m.ground, a, axis="y")
m.joint("s", "spherical", a, b, at=(1, 0, 0))
q, u = np.tile([0.3, 0.8, 0.0, 0.6, 0.0], (5, 1)), np.tile([1.0, 2, 3, 4], (5, 1))
print(wt.LANES, *wt.forward_dynamics(m.compile(), q, u)[3])
"""
    results = []
    for lanes in ("1", str(LANES)):
        env = os.environ | {"WHIPPLETREE_LANES": lanes}
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True)
        results.append([float(x) for x in run.stdout.split()])
    assert results[0][0] == 1
    assert results[1][0] == LANES
    np.testing.assert_allclose(results[0][1:], results[1][1:], rtol=1e-12)
