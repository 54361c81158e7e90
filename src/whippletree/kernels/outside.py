"""Calls from compiled loops to a user's functions, by address; and one lane of a block as numbers."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .blocks import ALWAYS
from .lanes import LANES

GIVEN, ANSWERED = 18, 6  # numbers that a force on a body is told, and that it answers


def read_lane(block, j, lane):
    """Number j of one lane; where registers are off, a block is one state."""


def write_lane(block, j, lane, value):
    """The way back of :func:`read_lane`."""


@overload(read_lane, jit_options=ALWAYS)
def _read_lane(block, j, lane):
    if block.ndim == 1:
        return lambda block, j, lane: block[j]
    return lambda block, j, lane: block[j, lane]


@overload(write_lane, jit_options=ALWAYS)
def _write_lane(block, j, lane, value):
    if block.ndim == 1:

        def one(block, j, lane, value):
            block[j] = value

        return one

    def many(block, j, lane, value):
        block[j, lane] = value

    return many


@intrinsic
def call_policy(typing_context: Any, address: Any, t: Any, q: Any, u: Any, tau: Any) -> Any:
    """Call a function of joint forces, policy(t, q, u, tau). 0 if all went well."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        arrays = [context.make_array(a)(context, builder, v) for a, v in zip(sig.args[2:], args[2:], strict=True)]
        counts = [arrays[0].nitems, arrays[1].nitems]
        numbers = ir.DoubleType().as_pointer()
        word = args[0].type
        shape = ir.FunctionType(word, [ir.DoubleType(), numbers, numbers, numbers, word, word])
        function = builder.inttoptr(args[0], shape.as_pointer())
        return builder.call(function, [args[1], *(a.data for a in arrays), *counts])

    return types.int64(types.int64, types.float64, q, u, tau), generate


@intrinsic
def call_force(typing_context: Any, address: Any, t: Any, block: Any, lane: Any) -> Any:
    """Call a force on a body with one lane of a block: GIVEN numbers, then room for ANSWERED. 0 if all went well."""
    width = 1 if block.ndim == 1 else LANES

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = context.make_array(sig.args[2])(context, builder, args[2]).data
        word = args[0].type
        room = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), GIVEN + ANSWERED))
        first = builder.bitcast(room, ir.DoubleType().as_pointer())

        def places(n: int) -> tuple[Any, Any]:
            row = builder.add(ir.Constant(word, n * width), args[3])
            return builder.gep(data, [row]), builder.gep(first, [ir.Constant(word, n)])

        for n in range(GIVEN + ANSWERED):
            there, here = places(n)
            builder.store(builder.load(there), here)
        shape = ir.FunctionType(word, [ir.DoubleType(), first.type])
        status = builder.call(builder.inttoptr(args[0], shape.as_pointer()), [args[1], first])
        for n in range(GIVEN, GIVEN + ANSWERED):
            there, here = places(n)
            builder.store(builder.load(here), there)
        return status

    return types.int64(types.int64, types.float64, block, types.intp), generate
