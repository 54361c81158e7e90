"""Counts the arithmetic of an algorithm: its own source, run by Python on numbers that count.

    NUMBA_DISABLE_JIT=1 python count_operations.py articulated 100 200 400

prints the additions, multiplications and divisions of forward dynamics of branched trees of so many bodies.
"""

import sys
from types import FunctionType

import numpy as np

import whippletree as wt
from whippletree.compiler.lanes import LINE
from zoo import random_model, random_state

KINDS = ("revolute", "spherical", "universal", "free", "planar")


class Number:
    """A float that counts what is done with it."""

    __array_ufunc__ = None  # so that NumPy's scalars leave the operation to us
    __slots__ = ("x",)
    count = 0

    def __init__(self, x):
        self.x = float(x)

    def __float__(self):
        return self.x


def counted(name):
    def operation(self, other):
        Number.count += 1
        return Number(getattr(self.x, name)(float(other)))

    return operation


for operator in ("add", "sub", "mul", "truediv"):
    for name in (f"__{operator}__", f"__r{operator}__"):
        setattr(Number, name, counted(name))
Number.__neg__ = lambda self: Number(-self.x)


def put(array, index, value):
    array[index] = float(value)


def sincos_all(angles, sines, cosines):
    sines[:], cosines[:] = np.sin(angles), np.cos(angles)


# what only compiled code can do, said in Python for one state
PLAIN = {
    "get": lambda array, index: Number(array[index]),
    "put": put,
    "view": lambda buffer, start, count: buffer[start : start + count],
    "view_integers": lambda buffer, start, count: buffer[start : start + count].view(np.int64),
    "lane_sum": float,
    "lane_most": float,
    "larger": lambda a, b: a if float(a) > float(b) else b,
    "smaller": lambda a, b: a if float(a) < float(b) else b,
    "exceeds": lambda x, limit: not abs(float(x)) <= limit,
    "states_per_block": lambda buffer: 1,
    "gather": lambda states, first, buffer: states,
    "scatter": lambda buffer, first, states: None,
    "target": lambda states, buffer: states,
    "sincos_all": sincos_all,
    "scratch": lambda memory, used, states: memory[-(-used // LINE) * LINE :],
}


def interpret():
    """Every module of the package that knows one of these names gets the plain one, and so do formulas of joints."""
    for module_name, module in list(sys.modules.items()):
        if module_name.startswith("whippletree."):
            vars(module).update({name: plain for name, plain in PLAIN.items() if name in vars(module)})
    for function in vars(sys.modules["whippletree.kernels.joints"]).values():
        interpret_closure(function)


def interpret_closure(function):
    """The same of what a function that another one made has taken from it."""
    names = function.__code__.co_freevars if isinstance(function, FunctionType) else ()
    for name, cell in zip(names, function.__closure__ if names else (), strict=True):
        if name in PLAIN:
            cell.cell_contents = PLAIN[name]
        else:
            interpret_closure(cell.cell_contents)


def operations(algorithm, bodies):
    """Operations of one evaluation."""
    system = random_model(np.random.default_rng(bodies), bodies, KINDS).compile()
    q, u, tau = random_state(system, np.random.default_rng(1))
    udot, module = np.empty(system.nu), wt.ALGORITHMS[algorithm]
    Number.count = 0
    module.accelerations(module.workspace(system), q, u, tau, udot, 0, 1)
    assert np.isfinite(udot).all()
    return Number.count


if __name__ == "__main__":
    wt.forward_dynamics  # noqa: B018  imports what it names
    interpret()
    print(*(operations(sys.argv[1], int(n)) for n in sys.argv[2:]))
