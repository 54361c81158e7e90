"""Numbers of one kind that a kernel sums up, such as points of a body.

LANES of them go at once where the arrays hold one state, one by one where a register is full of states. Arrays have
room for a multiple of MANY (layout/modes.py).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..compiler.lanes import LANES, LINE, VECTOR, lanes_type, pointer_to, splat


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
        return builder.add(args[1], builder.udiv(left, ir.Constant(word, 8 if sig.args[0].ndim == 1 else 8 * LANES)))

    return types.intp(array, types.intp), generate


@intrinsic
def get_some(typing_context: Any, array: Any, index: Any) -> Any:
    """A register of neighbours from a 1-D array, of one number of all states from an (n, LANES) array."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], *args)
        return builder.load(builder.bitcast(pointer, VECTOR.as_pointer()), align=8)

    return lanes_type(array, types.intp), generate


@intrinsic
def put_some(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """The way back of :func:`get_some`."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        builder.store(args[2], builder.bitcast(pointer, VECTOR.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), generate


@intrinsic
def get_constants(typing_context: Any, numbers: Any, index: Any, array: Any) -> Any:
    """Of a 1-D array of numbers those that belong to what :func:`get_some` takes from ``array``."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = pointer_to(context, builder, sig.args[0], args[0], args[1])
        if sig.args[2].ndim == 1:
            return builder.load(builder.bitcast(pointer, VECTOR.as_pointer()), align=8)
        return splat(builder, builder.load(pointer, align=8))

    return lanes_type(numbers, types.intp, array), generate


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

    return (types.float64 if one else lanes_type)(lanes_type, array), generate
