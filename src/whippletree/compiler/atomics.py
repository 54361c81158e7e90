"""Memory that threads share: atomic reads and writes of integers, pauses while waiting, and arrays by their address."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .lanes import borrow

ORDER = "seq_cst"


def _place(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    return builder.gep(context.make_array(array_type)(context, builder, array).data, [index])


@intrinsic
def read_shared(typing_context: Any, array: Any, index: Any) -> Any:
    """What another thread wrote last."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load_atomic(_place(context, builder, sig.args[0], *args), ORDER, 8)

    return types.int64(array, types.intp), generate


@intrinsic
def write_shared(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Seen by other threads behind all that was written before it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _place(context, builder, sig.args[0], *args[:2]), ORDER, 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


@intrinsic
def add_shared(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Add at once; returns what was there before."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _place(context, builder, sig.args[0], *args[:2]), args[2], ORDER)

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def swap_shared(typing_context: Any, array: Any, index: Any, expected: Any, value: Any) -> Any:
    """Write a value if the expected one is there, at once; whether it was."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _place(context, builder, sig.args[0], *args[:2])
        return builder.extract_value(builder.cmpxchg(place, args[2], args[3], ORDER, ORDER), 1)

    return types.boolean(array, types.intp, types.int64, types.int64), generate


@intrinsic
def fence(typing_context: Any) -> Any:
    """What stands before it is read and written before what stands behind it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.fence(ORDER)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def pause(typing_context: Any) -> Any:
    """Tell the core that this thread only waits, where it can be reported."""
    machine = llvm.get_default_triple().split("-")[0]

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if machine in ("x86_64", "i686", "amd64"):
            shape = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, shape, "llvm.x86.sse2.pause"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def give_way(typing_context: Any, place: Any) -> Any:
    """Let another thread have the core, by a function of the system at an address; without one, go on."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        with builder.if_then(builder.icmp_unsigned("!=", args[0], ir.Constant(args[0].type, 0))):
            shape = ir.FunctionType(ir.IntType(32), [])
            builder.call(builder.inttoptr(args[0], shape.as_pointer()), [])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def address(typing_context: Any, array: Any) -> Any:
    """Where an array of doubles lies."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ptrtoint(context.make_array(sig.args[0])(context, builder, args[0]).data, ir.IntType(64))

    return types.int64(array), generate


@intrinsic
def doubles_at(typing_context: Any, place: Any, count: Any) -> Any:
    """The way back of :func:`address`: so many doubles, borrowed."""
    numbers = types.Array(types.float64, 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = builder.inttoptr(args[0], ir.DoubleType().as_pointer())
        return borrow(context, builder, numbers, data, ir.Constant(args[1].type, 0), args[1])

    return numbers(types.int64, types.intp), generate


@intrinsic
def integers_at(typing_context: Any, place: Any, count: Any) -> Any:
    """So many integers, borrowed."""
    numbers = types.Array(types.int64, 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return borrow(context, builder, numbers, data, ir.Constant(args[1].type, 0), args[1])

    return numbers(types.int64, types.intp), generate
