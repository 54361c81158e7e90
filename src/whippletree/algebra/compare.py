"""Comparisons of floats, and of registers lane by lane."""

from functools import reduce
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ..compiler.dual import dual_type, value
from ..compiler.lanes import LANES, llvm_call
from ..compiler.twice import minus, parts, twice_type

NEGATIVE = -1e30  # times a loss that is negative: beyond all limits


def _compared(builder: Any, kind: Any, order: str, a: Any, b: Any) -> Any:
    """Whether a is in that order to b: one bit, or one for each lane."""
    if kind is dual_type:
        return builder.fcmp_ordered(order, value(builder, a), value(builder, b))
    if kind is not twice_type:
        return builder.fcmp_ordered(order, a, b)
    apart = parts(builder, minus(builder, a, b))[0]
    return builder.fcmp_ordered(order, apart, ir.Constant(apart.type, 0.0))


def _chosen(a: Any, name: str, order: str) -> Any:
    """Of two numbers of a type the smaller or the larger."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if a in (dual_type, twice_type):
            return builder.select(_compared(builder, a, order, *args), *args)
        return llvm_call(builder, name, list(args))

    return a(a, a), generate


@intrinsic
def where_larger(typing_context: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    """x where a > b, else y, of floats, or of registers lane by lane"""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(_compared(builder, a, ">", *args[:2]), *args[2:])

    return a(a, a, a, a), generate


@intrinsic
def smaller(typing_context: Any, a: Any, b: Any) -> Any:
    """The smaller of two floats, or of two registers lane by lane"""
    return _chosen(a, "minnum", "<")


@intrinsic
def larger(typing_context: Any, a: Any, b: Any) -> Any:
    """The larger of two floats, or of two registers lane by lane"""
    return _chosen(a, "maxnum", ">")


@intrinsic
def exceeds(typing_context: Any, x: Any, limit: Any) -> Any:
    """Whether any lane of x is beyond the limit in size, or not a number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if x is dual_type:
            size, most = llvm_call(builder, "fabs", [value(builder, args[0])]), value(builder, args[1])
            return builder.fcmp_unordered(">", size, most)
        beyond = builder.fcmp_unordered(">", llvm_call(builder, "fabs", [args[0]]), args[1])
        if x is types.float64:
            return beyond
        mask = builder.bitcast(beyond, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", mask, ir.Constant(ir.IntType(LANES), 0))

    return types.boolean(x, x), generate


@intrinsic
def lane_most(typing_context: Any, value: Any) -> Any:
    """The largest over lanes; a float is its own."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if value is types.float64:
            return args[0]
        parts = [builder.extract_element(args[0], ir.Constant(ir.IntType(32), n)) for n in range(LANES)]
        return reduce(lambda a, b: llvm_call(builder, "maxnum", [a, b]), parts)

    return types.float64(value), generate
