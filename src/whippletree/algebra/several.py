"""Numbers of one kind that a kernel sums up, such as points of a body.

LANES of them go at once where the arrays hold one state, one by one where a register is full of states or tangents.
Arrays have room for a multiple of MANY (layout/modes.py).
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..compiler.lanes import LANES, LINE, NUMBERS, VECTOR, pointer_to


def _some(array: Any) -> Any:
    """What is taken from an array at once."""
    return NUMBERS[max(array.ndim, 2)]


@intrinsic
def at_once(typing_context: Any, array: Any) -> Any:
    """How many of them :func:`get_some` takes: LANES from a 1-D array, 1 from an (n, LANES) array."""
    count = LANES if array.ndim == 1 else 1

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(64), count)

    return types.intp(array), generate


@intrinsic
def next_line(typing_context: Any, array: Any, index: Any) -> Any:
    """The first index from ``index`` on that begins a cache line: no register is then loaded from two."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        word = args[1].type
        address = builder.ptrtoint(pointer_to(context, builder, sig.args[0], *args), word)
        left = builder.and_(builder.neg(address), ir.Constant(word, 8 * LINE - 1))
        width = math.prod(NUMBERS[sig.args[0].ndim].shape)
        return builder.add(args[1], builder.udiv(left, ir.Constant(word, 8 * width)))

    return types.intp(array, types.intp), generate


@intrinsic
def get_some(typing_context: Any, array: Any, index: Any) -> Any:
    """A register of neighbours from a 1-D array, of one number of all states from an (n, LANES) array."""

    some = _some(array)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], *args)
        return builder.load(builder.bitcast(pointer, some.stored.as_pointer()), align=8)

    return some.numba_type(array, types.intp), generate


@intrinsic
def put_some(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """The way back of :func:`get_some`."""

    some = _some(array)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(pointer, some.stored.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, some.numba_type), generate


@intrinsic
def get_constants(typing_context: Any, numbers: Any, index: Any, array: Any) -> Any:
    """Of a 1-D array of numbers those that belong to what :func:`get_some` takes from ``array``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        if sig.args[2].ndim == 1:
            return builder.load(builder.bitcast(pointer, VECTOR.as_pointer()), align=8)
        return context.cast(builder, builder.load(pointer, align=8), types.float64, some.numba_type)

    some = _some(array)
    return some.numba_type(numbers, types.intp, array), generate


@intrinsic
def sum_some(typing_context: Any, value: Any, array: Any) -> Any:
    """The sum of what :func:`get_some` takes at once: a float, or the register as it is."""
    one = array.ndim == 1

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        total, count = args[0], LANES
        if not one:
            return total
        while count > 1:
            count //= 2
            word = ir.IntType(32)
            halves = [
                builder.shuffle_vector(
                    total, total, ir.Constant(ir.VectorType(word, count), list(range(first, first + count)))
                )
                for first in (0, count)
            ]
            total = builder.fadd(*halves)
        return builder.extract_element(total, ir.Constant(ir.IntType(32), 0))

    return (types.float64 if one else value)(value, array), generate
