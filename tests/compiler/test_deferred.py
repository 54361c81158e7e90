"""Inner kernels have no machine code of their own; who calls them has, by whatever way."""

import gc

import numba
import numpy as np

from whippletree.compiler.deferred import InnerLibrary
from whippletree.compiler.lanes import LANES, entry, get, inline, kernel, put


@inline
def square(x):
    return x * x


@kernel
def power(x, n):
    y = square(x)
    for _ in range(n):
        y = y * x
    return y


@kernel
def both(x):
    return power(x, 1) + square(x)  # a function that stands on two ways


@entry
def fill(a, out):
    for j in range(a.shape[0]):
        put(out, j, both(get(a, j)) + power(get(a, j), 2))


def library(function):
    compiled, *_ = function.overloads.values()
    return compiled.library


def test_only_the_entry_has_machine_code():
    a, out = np.array([2.0, -3.0]), np.zeros(2)
    fill(a, out)
    fill.recompile()  # it may have come from disk
    fill(a, out)
    assert np.array_equal(out, a**3 + a**2 + a**4)
    for inner in (square, power, both):
        assert isinstance(library(inner), InnerLibrary)
        name = next(f.name for f in library(inner)._final_module.functions if not f.is_declaration)
        assert library(inner).get_pointer_to_function(name) == 0
    assert not isinstance(library(fill), InnerLibrary)


def test_the_same_kernel_in_lanes():
    a = np.arange(3.0 * LANES).reshape(3, LANES)
    out = np.zeros_like(a)
    if LANES > 1:
        fill(a, out)
        assert np.array_equal(out, a**3 + a**2 + a**4)


def test_a_function_of_others_may_call_it():
    @numba.njit
    def theirs(x):
        return both(x) + 1.0

    assert theirs(3.0) == 37.0


def test_garbage_is_collected_again_after_compiling():
    assert gc.isenabled()
    numba.njit(lambda x: x + 1)(1)
    assert gc.isenabled()
